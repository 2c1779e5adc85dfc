"""Reports that C writes: the help text, for this terminal, and JSON."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from paddle_flags._core.status import (
    check_bool,
    check_status,
    new_error,
    new_struct,
    quote_value,
    to_argument,
)
from paddle_flags._fast import new_text_collector, pop_collected_text
from paddle_flags._input.options import HELP_KINDS
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagArgumentError, FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Callable


def collect_output(report: Callable[..., int], *arguments: Any) -> str:
    """Return what a pd_report function writes."""
    writer, context = new_text_collector()
    err = new_error()
    status = report(*arguments, ffi.cast("pd_writer", writer), ffi.cast("void *", context), err)
    text = pop_collected_text(context)
    check_status(status, err)
    return text.decode("utf-8", "surrogateescape")


KINDS: dict[str, int] = {name: number for number, name in HELP_KINDS.items()}
"""The kinds of help: `"help"`, `"helpfull"`, ..., `"version"`."""


def help_text(
    program: str,
    kind: str = "help",
    pattern: str = "",
    *,
    usage: str | None = None,
    version: str | None = None,
    arguments: bool = True,
    known_only: bool = False,
    first: str = "",
    without: str = "",
    width: int | None = None,
    color: bool | None = None,
) -> str:
    """Return the text of `--<kind>`, or of `--<kind>=<pattern>`.

    `program` is `sys.argv[0]`, and `usage` the text above the flags; by default, a line that
    says whether there are `arguments`, and another if only known flags are read. The flags
    of the modules in `first` come first, and those in `without` are left out; `|` separates
    modules. `width` and `color` default to those of the terminal.
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise FlagArgumentError(f"help {quote_value(kind)}: expected one of {', '.join(KINDS)}")
    kept: list[Any] = []  # what C points to

    def new_c_text(name: str, value: str | None) -> Any:
        kept.append(ffi.NULL if value is None else ffi.new("char[]", to_argument(name, value)))
        return kept[-1]

    wanted = ffi.new(
        "pd_help *", (ffi.sizeof("pd_help"), KINDS[kind], new_c_text("pattern", pattern))
    )
    options = new_struct("pd_report_options")
    options.help = wanted
    options.program = new_c_text("program", program)
    line = _usage_text(program, kind, arguments=arguments, known_only=known_only)
    options.usage = new_c_text("usage", line if usage is None else usage)
    options.version = new_c_text("version", version)
    options.first = new_c_text("first", first)
    options.without = new_c_text("without", without)
    columns = _terminal_columns() if width is None else _check_integer("width", width)
    options.width = min(max(columns, 1), 10000)
    options.color = can_use_color() if color is None else check_bool("color", color)
    return collect_output(lib.pd_report_help, options).removesuffix("\n")


def json_text(program: str, *, version: str | None, full: bool) -> str:
    """Return all properties of all flags as JSON; `full` includes hidden flags."""
    named = ffi.new("char[]", to_argument("program", program))
    numbered = ffi.NULL if version is None else ffi.new("char[]", to_argument("version", version))
    kind = KINDS["helpfull" if full else "help"]
    wanted = ffi.new("pd_help *", (ffi.sizeof("pd_help"), kind, ffi.NULL))
    options = new_struct("pd_report_options")
    options.help, options.program, options.version = wanted, named, numbered
    return collect_output(lib.pd_report_json, options).removesuffix("\n")


def _check_integer(name: str, value: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise FlagTypeError(f"{name}: {quote_value(value)}: expected int, not {type(value).__name__}")


def _usage_text(program: str, kind: str, *, arguments: bool, known_only: bool) -> str | None:
    """Return the usage line; None: C writes its own."""
    if kind == "helpxml":
        return None
    if _get_run_module_name(program) is None and arguments and not known_only:
        return None
    behind = " [argument ...]" if arguments else ""
    line = f"usage: {program_command(program)} [--flag=value ...]{behind}"
    return f"{line}\nOther flags are passed on." if known_only else line


def program_command(program: str) -> str:
    """Return what users type to start the program."""
    module = _get_run_module_name(program)
    return os.path.basename(program) if module is None else f"python -m {module}"


def _get_run_module_name(program: str) -> str | None:
    """Return the name of a program that was started by `python -m`.

    That of a zip file or a directory, as in `python app.pyz`, is "__main__".
    """
    name = getattr(getattr(sys.modules.get("__main__"), "__spec__", None), "name", None)
    if name in (None, "__main__") or [program] != sys.argv[:1]:
        return None
    return str(name).removesuffix(".__main__")


def _terminal_columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def can_use_color() -> bool:
    """Return whether stdout takes ANSI escapes; NO_COLOR and FORCE_COLOR decide if set."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    if sys.stdout is None or sys.stdout.closed:
        return False
    return os.environ.get("TERM") not in (None, "", "dumb") and sys.stdout.isatty()
