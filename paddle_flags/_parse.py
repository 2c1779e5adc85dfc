"""The command line."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Any

from paddle_flags import errors
from paddle_flags._native import ffi, lib
from paddle_flags._status import ErrorList, new_error, to_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Argv:
    """A command line in C's memory, which gives the same words back as objects."""

    def __init__(self, words: Sequence[str]) -> None:
        self._texts = [ffi.new("char[]", _encode(word)) for word in words]
        self._words = {_address(text): word for text, word in zip(self._texts, words)}
        self.argc = ffi.new("int *", len(words))
        self.argv = ffi.new("char *[]", [*self._texts, ffi.NULL])

    def rest(self) -> list[str]:
        """Give the words behind the first that are still there."""
        return [self._words[_address(self.argv[i])] for i in range(1, self.argc[0])]


def _encode(word: str) -> bytes:
    if not isinstance(word, str):
        message = f"argv has {word!r}: expected str, not {type(word).__name__}"
        raise errors.FlagTypeError(message)
    return to_bytes(word)


def _address(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


def read_flags(
    words: Sequence[str],
    env_prefix: str | None,
    *,
    stop_at_argument: bool = False,
    allow_pending: bool = False,
    keep_startup: bool = False,
) -> list[str]:
    """Do what `parse` does, raise its errors, and don't end startup on request."""
    line = _Argv(words)
    found = ErrorList()
    prefix = ffi.NULL if env_prefix is None else ffi.new("char[]", to_bytes(env_prefix))
    options = ffi.new("pd_parse_options *", {"size": ffi.sizeof("pd_parse_options")})
    options.env_prefix = prefix
    options.errors = found.pointer
    options.stop_at_argument = stop_at_argument
    options.allow_pending = allow_pending
    options.keep_startup = keep_startup
    err = new_error()
    status = lib.pd_parse_argv(line.argc, line.argv, options, err)
    if status == lib.PD_OK:
        return line.rest()
    if status == lib.PD_HELP:
        from paddle_flags._report import help_text  # noqa: PLC0415 - seldom used

        raise errors.HelpRequested(help_text(words[0]))
    raise found.gather(err, errors.FlagParseError)


def print_text(text: str) -> None:
    """Print to stdout; whoever reads it may stop early, and may not know all letters."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Python's own flush at the end must find something that takes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


def parse(
    argv: Sequence[str] | None = None,
    *,
    env_prefix: str | None = None,
    allow_pending: bool = False,
    stop_at_argument: bool = False,
    exit: bool = True,  # noqa: A002 - as in argparse
) -> list[str]:
    """Read flags from a command line and give its other arguments.

    `argv` is `sys.argv` or a list whose first item is the program. With
    `env_prefix="FLAGS_"` the environment gives a value to each flag that has a
    variable FLAGS_<name>, below those of the command line, for flags that are
    defined later too. `stop_at_argument` leaves everything behind the first word
    that is no flag alone, as a program with subcommands needs it.

    With `allow_pending`, values for unknown flags wait until a plugin or `define`
    brings the flag; only `--name=value`, `--name` and `--noname` can.
    `check_pending` tells which still wait.

    A bad value, an unknown flag: nothing is changed, all errors are printed
    together to stderr, and the program ends with status 2. `--help` prints the
    flags and ends it with status 0. With `exit=False` FlagParseError or
    HelpRequested is raised instead.
    """
    if "_PD_FLAGS_COMPLETE" in os.environ:  # a shell asks what could be typed
        from paddle_flags._completion import answer_shell  # noqa: PLC0415 - seldom used

        answer_shell(stop_at_argument=stop_at_argument)
    words = list(sys.argv) if argv is None else _check_argv(argv)
    try:
        return read_flags(
            words, env_prefix, stop_at_argument=stop_at_argument, allow_pending=allow_pending
        )
    except errors.FlagParseError as error:
        if not exit:
            raise
        why = error
    sys.exit(_tell(os.path.basename(words[0]) if words else "", why))


def _check_argv(argv: Sequence[str]) -> list[str]:
    if isinstance(argv, str):
        message = f"argv is {argv!r:.60}: expected a list of words, the program first"
        raise errors.FlagTypeError(message)
    words = list(argv)
    if words and isinstance(words[0], str) and words[0].startswith("--"):
        message = f"argv[0] is {words[0]!r}: expected the program, as in sys.argv"
        raise errors.FlagArgumentError(message)
    return words


def _tell(program: str, why: errors.FlagParseError) -> int:
    """Print help or errors; give the exit status."""
    if isinstance(why, errors.HelpRequested):
        print_text(str(why))
        return 0
    for error in why.errors:
        print(f"{program}: error: {error}", file=sys.stderr)
    print(f"Try '{program} --help'.", file=sys.stderr)
    return 2
