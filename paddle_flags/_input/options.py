"""How a command line is read: the options of `parse`, as C takes them."""

from __future__ import annotations

from paddle_flags import errors
from paddle_flags._core.status import (
    ErrorList,
    address_of,
    check_bool,
    encode_env_prefix,
    encode_variable_name,
    new_struct,
    quote_value,
    to_argument,
    to_bytes,
)
from paddle_flags._fast import parse_argv
from paddle_flags._native import ffi, lib

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal

    from paddle_flags._input.config import Path
    from paddle_flags._input.named_plugins import Plugins

    Order = Literal["remove", "leave", "reorder"]


# "helpfull" and the others by their numbers.
HELP_KINDS: dict[int, str] = {
    number: {"ALL": "help", "VERSION": "version"}.get(name[8:], f"help{name[8:].lower()}")
    for number, name in sorted(ffi.typeof("pd_help_kind").elements.items())
}
_ORDERS = {
    "remove": lib.PD_ARRANGE_REMOVE,
    "leave": lib.PD_ARRANGE_LEAVE,
    "reorder": lib.PD_ARRANGE_REORDER,
}
_SWITCHES = (
    "env_ignore_empty",
    "env_files",
    "warn_unknown_env",
    "allow_pending",
    "known_only",
    "arguments",
    "stop_at_argument",
    "keep_startup",
)


class ParseOptions:
    """How a command line is read: the parameters of `parse` that say so."""

    ENVIRONMENT = ("env_prefix", "env_flags", "env_ignore_empty", "env_files", "warn_unknown_env")
    """Those that are about the environment."""

    def __init__(
        self,
        *,
        env_prefix: str | None = None,
        env_flags: str | None = None,
        env_ignore_empty: bool = False,
        env_files: bool = False,
        warn_unknown_env: bool = False,
        config: Path | Sequence[Path] | None = None,
        config_flag: str | None = None,
        plugins: Plugins | None = None,
        plugin_flag: str | None = None,
        allow_pending: bool = False,
        known_only: bool = False,
        arguments: bool = True,
        stop_at_argument: bool = False,
        order: Order = "remove",
        usage: str | None = None,
        version: str | None = None,
        keep_startup: bool = False,  # another command line will follow
    ) -> None:
        self.env_prefix = env_prefix
        self.env_flags = env_flags
        self.env_ignore_empty = env_ignore_empty
        self.env_files = env_files
        self.warn_unknown_env = warn_unknown_env
        self.config = config
        self.config_flag = config_flag
        self.plugins = plugins
        self.plugin_flag = plugin_flag
        self.allow_pending = allow_pending
        self.known_only = known_only
        self.arguments = arguments
        self.stop_at_argument = stop_at_argument
        self.order = order
        self.usage = usage
        self.version = version
        self.keep_startup = keep_startup
        # Of programs with commands.
        self.commands = 0  # how many arguments at the beginning are commands
        self.former: list[Any] = []  # handles of flags that the command line before gave
        self.problems: list[str] = []  # errors to report with those of the line
        self.resolve_flag_in_file: Callable[[str], str | None] | None = (
            None  # None: is of another command
        )
        # What usage, first and without of help_text are.
        self.get_help_arguments: Callable[[], tuple[str, str, str]] | None = None

    def check(self) -> None:
        """Raise an error for invalid arguments of `parse`, whatever the command line is."""
        for name, text in (("usage", self.usage), ("version", self.version)):
            if text is not None:
                to_argument(name, text)
        for name in _SWITCHES:
            check_bool(name, getattr(self, name))
        self._check_environment()
        if self.known_only and (self.allow_pending or not self.arguments):
            other = "allow_pending=True" if self.allow_pending else "arguments=False"
            message = f"known_only: returns undefined flags, expected it without {other}"
            raise errors.FlagArgumentError(message)
        for name, flag in (("config_flag", self.config_flag), ("plugin_flag", self.plugin_flag)):
            if flag is not None:
                to_argument(name, flag)

    def _check_environment(self) -> None:
        if self.env_prefix is not None:
            encode_env_prefix("env_prefix", self.env_prefix)
        if self.env_flags is not None:
            encode_variable_name("env_flags", self.env_flags)
        if self.warn_unknown_env and not self.env_prefix:
            message = "warn_unknown_env: needs an env_prefix that is not empty"
            raise errors.FlagArgumentError(message)
        for name in ("env_ignore_empty", "env_files"):
            if getattr(self, name) and self.env_prefix is None:
                raise errors.FlagArgumentError(f"{name}: needs an env_prefix")


def raise_token_error(tokens: Sequence[object]) -> None:
    """Raise an error for a token that cannot be passed to C."""
    for token in tokens:
        if not isinstance(token, str):
            message = f"argv has {quote_value(token)}: expected str, not {type(token).__name__}"
            raise errors.FlagTypeError(message)
        to_bytes(token, "argv: ")
    raise errors.FlagMemoryError("argv: out of memory")


class Call:
    """A call of pd_parse_argv and the memory it needs."""

    def __init__(self, options: ParseOptions, look: Any = ffi.NULL) -> None:
        self.found = ErrorList()
        self.help = new_struct("pd_help")
        self._look = look
        self._prefix = ffi.NULL
        self._former = ffi.new("pd_flag *[]", options.former) if options.former else ffi.NULL
        if options.env_prefix is not None:
            self._prefix = ffi.new("char[]", encode_env_prefix("env_prefix", options.env_prefix))
        self._variable = ffi.NULL
        if options.env_flags is not None:
            self._variable = ffi.new("char[]", encode_variable_name("env_flags", options.env_flags))
        self._options = ffi.new(
            "pd_parse_options *",
            {
                "size": ffi.sizeof("pd_parse_options"),
                "arrange": _parse_order_option(options.order),
                "stop_at_argument": options.stop_at_argument,
                "keep_startup": options.keep_startup,
                "allow_pending": options.allow_pending,
                "env_prefix": self._prefix,
                "env_flags": self._variable,
                "env_ignore_empty": options.env_ignore_empty,
                "env_files": options.env_files,
                "warn_unknown_env": options.warn_unknown_env,
                "errors": self.found.pointer,
                "help": self.help,
                "no_arguments": not options.arguments,
                "known_only": options.known_only,
                "commands": options.commands,
                "look": look,
                "former": self._former,
                "former_count": len(options.former),
            },
        )

    def parse_argv_tokens(self, tokens: list[str], config: Any, err: Any) -> list[str] | int | None:
        """Return the remaining tokens, or the status; None if a token cannot be passed to C."""
        self._options.config = config
        return parse_argv(tokens, address_of(self._options), address_of(err))


def _parse_order_option(order: str) -> int:
    if not isinstance(order, str) or order not in _ORDERS:
        message = f"order is {quote_value(order)}: expected 'remove', 'leave' or 'reorder'"
        raise errors.FlagArgumentError(message)
    return int(_ORDERS[order])
