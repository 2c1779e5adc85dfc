"""Reading of command lines: from tokens to values of flags."""

from __future__ import annotations

from paddle_flags import errors
from paddle_flags._core.status import new_error, to_text
from paddle_flags._input.options import HELP_KINDS, Call, ParseOptions, raise_token_error
from paddle_flags._native import ffi, lib

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable


class HelpWanted:
    """The help that a command line asks for."""

    def __init__(self, kind: str, pattern: str) -> None:
        self.kind = kind  # "help", "helpfull", ..., "version"
        self.pattern = pattern  # of --helpon=<pattern> and the like, or ""


def read_argv(tokens: list[str], options: ParseOptions) -> list[str] | HelpWanted:
    """Set the flags of a command line that begins with the program; return its other arguments.

    Raises FlagParseError; no flag has changed then.
    """
    options.check()
    files = None
    config = ffi.NULL
    if options.config is not None or options.config_flag is not None or options.problems:
        from paddle_flags._input import named_files

        files = named_files.find_config_files(tokens, options)
        config = named_files.read_files_into_config(files, options)
    call = Call(options)
    err = new_error()
    rest = call.parse_argv_tokens(tokens, config, err)
    if rest is None:
        raise_token_error(tokens)
    if rest == lib.PD_HELP:
        pattern = to_text(call.help.pattern) if call.help.pattern else ""
        return HelpWanted(HELP_KINDS[call.help.kind], pattern)
    if not isinstance(rest, list):
        raise call.found.to_exception(err, errors.FlagParseError)
    if files:
        from paddle_flags._input.config import remember_files

        remember_files(files)
    if options.env_prefix is not None:
        remember_prefix(options.env_prefix)
    for function in after_reading:
        function()
    return rest


before_reading: list[Callable[[list[str], ParseOptions], list[str]]] = []
"""Functions that return the tokens of a line of `parse` as it is to read them, one for each."""

after_reading: list[Callable[[], None]] = []
"""Functions that are called when a command line has been read and its flags are set."""


# ---- what dump() needs ----

_prefix = "FLAGS_"


def remember_prefix(prefix: str) -> None:
    """Let this be the prefix of environment variables that was used last."""
    global _prefix  # one command line, one process
    _prefix = prefix


def get_last_env_prefix() -> str:
    """Return the prefix of environment variables that was used last."""
    return _prefix
