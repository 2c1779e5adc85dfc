"""The command line."""

from __future__ import annotations

import os
import sys
from _collections_abc import Iterable  # as collections.abc, without what that imports

from paddle_flags import errors
from paddle_flags._fast import parse_argv
from paddle_flags._native import ffi, lib
from paddle_flags._output import print_error, print_text
from paddle_flags._status import (
    ErrorList,
    new_error,
    settle,
    take_warnings,
    to_argument,
    to_bytes,
    to_prefix,
    to_switch,
    to_text,
    warn,
)

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal, Union

    from paddle_flags._settings import Path, Sources

    Order = Literal["remove", "leave", "reorder"]
    Exit = Union[bool, Literal["gflags"]]

# "helpfull" and the others by their numbers.
_HELP_KINDS = {
    number: {"ALL": "help", "VERSION": "version"}.get(name[8:], f"help{name[8:].lower()}")
    for number, name in ffi.typeof("pd_help_kind").elements.items()
}
_ORDERS = {
    "remove": lib.PD_ARRANGE_REMOVE,
    "leave": lib.PD_ARRANGE_LEAVE,
    "reorder": lib.PD_ARRANGE_REORDER,
}


_NAMELESS = "program"  # in messages, where sys.argv doesn't tell it


class Reading:
    """How a command line is read."""

    def __init__(  # noqa: PLR0913 - as parse()
        self,
        *,
        env_prefix: str | None = None,
        config: Path | Sequence[Path] | None = None,
        allow_pending: bool = False,
        stop_at_argument: bool = False,
        order: Order = "remove",
        usage: str | None = None,
        version: str | None = None,
        keep_startup: bool = False,  # another command line will follow
    ) -> None:
        self.env_prefix = env_prefix
        self.config = config
        self.allow_pending = allow_pending
        self.stop_at_argument = stop_at_argument
        self.order = order
        self.usage = usage
        self.version = version
        self.keep_startup = keep_startup


def _check(how: Reading) -> None:
    """Refuse what is a mistake of the program, whatever its user typed."""
    if how.env_prefix is not None:
        to_prefix("env_prefix", how.env_prefix)
    for name, text in (("usage", how.usage), ("version", how.version)):
        if text is not None:
            to_argument(name, text)
    for name in ("allow_pending", "stop_at_argument", "keep_startup"):
        to_switch(name, getattr(how, name))


def _check_words(words: Sequence[object]) -> None:
    """Refuse words that are no text for C."""
    for word in words:
        if not isinstance(word, str):
            message = f"argv has {word!r}: expected str, not {type(word).__name__}"
            raise errors.FlagTypeError(message)
        to_bytes(word, "argv: ")
    message = "argv: out of memory"
    raise errors.FlagMemoryError(message)


def read_flags(words: list[str], how: Reading) -> list[str]:
    """Do what `parse` does, and raise its errors."""
    _check(how)
    program = words[0] if words else ""
    sources = _sources(program, how)
    call = _Call(how)
    err = new_error()
    rest = call.run(words, sources.read() if sources else ffi.NULL, err)
    if rest is None:
        _check_words(words)
    if rest == lib.PD_HELP:
        raise _help(program or _NAMELESS, call.help, how)
    if not isinstance(rest, list):
        raise call.found.gather(err, errors.FlagParseError)
    _remember(sources, how)
    return rest


def _sources(program: str, how: Reading) -> Sources | None:
    if how.config is None:
        return None
    from paddle_flags._settings import Sources  # noqa: PLC0415 - many programs read no files

    return Sources(how.config, program, allow_pending=how.allow_pending)


def _remember(sources: Sources | None, how: Reading) -> None:
    """Keep what `reload` and `dump` need."""
    if sources is None and how.env_prefix is None:
        return
    from paddle_flags._settings import remember, remember_prefix  # noqa: PLC0415 - as above

    if sources:
        remember(sources)
    if how.env_prefix is not None:
        remember_prefix(how.env_prefix)


class _Call:
    """A call of pd_parse_argv, with the memory that it needs."""

    def __init__(self, how: Reading) -> None:
        self.found = ErrorList()
        self.help = ffi.new("pd_help *", {"size": ffi.sizeof("pd_help")})
        self._prefix = ffi.NULL
        if how.env_prefix is not None:
            self._prefix = ffi.new("char[]", to_prefix("env_prefix", how.env_prefix))
        self._options = ffi.new(
            "pd_parse_options *",
            {
                "size": ffi.sizeof("pd_parse_options"),
                "arrange": _arrange(how.order),
                "stop_at_argument": how.stop_at_argument,
                "keep_startup": how.keep_startup,
                "allow_pending": how.allow_pending,
                "env_prefix": self._prefix,
                "errors": self.found.pointer,
                "help": self.help,
            },
        )

    def run(self, words: list[str], settings: Any, err: Any) -> list[str] | int | None:
        self._options.config = settings
        return parse_argv(words, _address(self._options), _address(err))


def _address(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


def _arrange(order: str) -> int:
    if not isinstance(order, str) or order not in _ORDERS:
        message = f"order is {order!r:.60}: expected 'remove', 'leave' or 'reorder'"
        raise errors.FlagArgumentError(message)
    return int(_ORDERS[order])


def _help(program: str, asked: Any, how: Reading) -> errors.HelpRequested:
    from paddle_flags._help import help_text  # noqa: PLC0415 - seldom used

    kind, pattern = _HELP_KINDS[asked.kind], to_text(asked.pattern) if asked.pattern else ""
    text = help_text(program, kind, pattern, usage=how.usage, version=how.version)
    requested = errors.HelpRequested(text)
    requested.kind = kind
    return requested


def check_modules() -> None:
    """Raise the first refusal of a module that came past `load_plugin`.

    Libraries that are linked, preloaded, opened by ctypes or imported as an
    extension module join by themselves. When a definition in one is refused, all
    of its flags keep their defaults; `errors` has every reason.
    """
    found = ErrorList()
    handle = lib.pd_module_next(ffi.NULL)
    while handle:
        lib.pd_module_get_errors(handle, found.pointer, ffi.NULL)
        handle = lib.pd_module_next(handle)
    if lib.pd_error_list_count(found.pointer):
        raise found.gather(ffi.NULL)


def check_pending() -> None:
    """Raise UndefinedFlagError if values still wait for flags that nobody has defined.

    Its `errors` has each of them, with the nearest known name. Call it when all
    plugins are loaded.
    """
    found = ErrorList()
    err = new_error()
    if lib.pd_pending_check(found.pointer, err) != lib.PD_OK:
        raise found.gather(err)


def parse(  # noqa: PLR0913 - each is a part of its meaning, and most have a default
    argv: Sequence[str] | None = None,
    *,
    env_prefix: str | None = None,
    config: Path | Sequence[Path] | None = None,
    allow_pending: bool = False,
    stop_at_argument: bool = False,
    order: Order = "remove",
    usage: str | None = None,
    version: str | None = None,
    exit: Exit = True,  # noqa: A002 - as in argparse
) -> list[str]:
    """Read flags from a command line and give its other arguments.

    `argv` is `sys.argv` or a list whose first item is the program. With
    `env_prefix="FLAGS_"` the environment gives a value to each flag that has a
    variable FLAGS_<name>, below those of the command line, for flags that are
    defined later too.

    `config` is the path of a configuration file, or a list of them, of which a later
    one wins: TOML, YAML or JSON, where a table is a namespace, or a flagfile (.flags,
    .flagfile, .conf). Their values are below those of the environment. `reload` reads
    the files again.

    With `allow_pending`, values for unknown flags wait until a plugin or `define`
    brings the flag; only `--name=value`, `--name` and `--noname` can.
    `check_pending` tells which still wait. `stop_at_argument` leaves everything behind
    the first word that is no flag alone, as a program with subcommands needs it.

    `order` tells what comes back: the arguments alone ("remove"), all words as they
    were ("leave"), or the flags, `--` and the arguments ("reorder").

    A bad value, an unknown flag: nothing is changed, all errors are printed
    together to stderr, and the program ends with status 2. `--help` prints `usage`
    and the flags, `--version` the program and `version`; they end it with status 0.
    With `exit=False` FlagParseError or HelpRequested is raised instead; with
    `exit="gflags"` help and errors end it with 1, as in programs that use gflags.
    A shell that asks for completions is answered, whatever the line, and that ends
    the program with status 0.
    """
    if exit not in (True, False, "gflags"):
        message = f"exit is {exit!r:.60}: expected True, False or 'gflags'"
        raise errors.FlagArgumentError(message)
    if "_PD_FLAGS_COMPLETE" in os.environ:  # a shell asks what could be typed
        from paddle_flags._completion import answer_shell  # noqa: PLC0415 - seldom used

        answer_shell(stop_at_argument=stop_at_argument)
    words = list(sys.argv) if argv is None else _check_argv(argv)
    how = Reading(
        env_prefix=env_prefix,
        config=config,
        allow_pending=allow_pending,
        stop_at_argument=stop_at_argument,
        order=order,
        usage=usage,
        version=version,
    )
    try:
        rest = read_flags(words, how)
    except errors.FlagParseError as error:
        if not exit:
            warn()
            raise
        print_warnings(_program(words))
        why = error
    else:
        if exit:
            print_warnings(_program(words))
        settle()
        return rest
    sys.exit(_tell(_program(words), why, gflags=exit == "gflags"))


def _program(words: Sequence[str]) -> str:
    return os.path.basename(words[0] if words else "") or _NAMELESS


def print_warnings(program: str) -> None:
    """Tell the user of a program which deprecated names the command line has."""
    for message in take_warnings():
        print_error(f"{program}: warning: {message}")


def _check_argv(argv: Sequence[str]) -> list[str]:
    if isinstance(argv, (str, bytes)) or not isinstance(argv, Iterable):
        message = f"argv is {argv!r:.60}: expected a list of words, the program first"
        raise errors.FlagTypeError(message)
    words = list(argv)
    if words and isinstance(words[0], str) and words[0].startswith("--"):
        message = f"argv[0] is {words[0]!r}: expected the program, as in sys.argv"
        raise errors.FlagArgumentError(message)
    return words


def _tell(program: str, why: errors.FlagParseError, *, gflags: bool) -> int:
    """Print help or errors; give the exit status."""
    if isinstance(why, errors.HelpRequested):
        print_text(str(why))
        return 1 if gflags and why.kind != "version" else 0
    for error in why.errors:
        print_error(f"{program}: error: {error}")
    print_error(f"Try '{program} --help'.")
    return 1 if gflags else 2
