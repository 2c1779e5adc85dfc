"""Reference text about all flags: JSON, Markdown, a manual page, XML."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.shared_flags import joined_libraries, library_title_of
from paddle_flags._core.status import check_bool, quote_value, to_argument
from paddle_flags._report import facts
from paddle_flags._report.help import help_text, json_text
from paddle_flags.errors import FlagArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Wanted(NamedTuple):
    program: str  # its path
    full: bool  # hidden flags too
    usage: str | None
    version: str | None

    @property
    def name(self) -> str:
        return os.path.basename(self.program)

    def groups(self) -> dict[str, list[facts.FlagSnapshot]]:
        return facts.group_by_heading(facts.listed_flags(hidden=self.full), self.name)


# ---- Markdown ----


def _escape_markdown(text: str) -> str:
    """Return text for a cell of a table."""
    escaped = re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", text)
    return "<br>".join(facts.escape_controls(line) for line in escaped.splitlines())


def _code_span(text: str) -> str:
    """Return text in backticks, more of them than it has in a row."""
    most = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (most + 1)
    blank = " " if most else ""
    return f"{fence}{blank}{text}{blank}{fence}".replace("|", "\\|")


def _md_row(flag: facts.FlagSnapshot) -> str:
    *others, last = flag.option_names
    holder = flag.placeholder
    heads = [*others, f"{last}={holder}" if holder else last]
    notes = _escape_markdown("; ".join(flag.notes))
    about = _escape_markdown(flag.help.strip()) + (f" *({notes})*" if notes else "")
    default = _code_span(facts.format_value(flag, flag.default))
    return f"| {', '.join(map(_code_span, heads))} | {default} | {about.strip()} |"


def _to_markdown(wanted: _Wanted) -> str:
    lines = [f"# Flags of {_escape_markdown(wanted.name)}"]
    if wanted.version:
        lines.append(f"\nVersion {_escape_markdown(wanted.version)}")
    if wanted.usage:
        lines.append(f"\n{wanted.usage}")
    for heading, flags in wanted.groups().items():
        lines += [
            f"\n## {_escape_markdown(heading)}\n",
            "| flag | default | what it is for |",
            "|---|---|---|",
        ]
        lines += map(_md_row, flags)
    return "\n".join(lines)


# ---- a manual page ----


def _escape_roff(text: str) -> str:
    """Return text for groff: nothing in it is taken for a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return escaped.replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga")


def _roff_lines(text: str) -> Iterator[str]:
    """Return lines that stay lines; an empty one begins a paragraph."""
    for index, line in enumerate(text.splitlines()):
        found = _escape_roff(facts.escape_controls(line.strip()))
        if index > 0:
            yield ".br" if found else ".sp"
        if found:
            yield f"\\&{found}"


def _roff_quoted(text: str) -> str:
    return '"' + _escape_roff(facts.escape_controls(text)).replace('"', "\\(dq") + '"'


def _man_flag(flag: facts.FlagSnapshot) -> Iterator[str]:
    holder = _escape_roff(flag.placeholder)
    heads = ", ".join(f"\\fB{_escape_roff(name)}\\fR" for name in flag.option_names)
    yield ".TP"
    yield f"{heads}=\\fI{holder}\\fR" if holder else heads
    yield from _roff_lines(flag.help.strip())
    if "\n" in flag.help.strip():
        yield ".br"
    notes = [*flag.notes, f"default: {facts.format_value(flag, flag.default)}"]
    yield from _roff_lines(" ".join(f"[{note}]" for note in notes))


def _to_man(wanted: _Wanted) -> str:
    version = wanted.version or ""
    lines = [
        f'.TH {_roff_quoted(wanted.name.upper())} 1 "" {_roff_quoted(version)} "Flags"',
        ".SH NAME",
        f"{_escape_roff(facts.escape_controls(wanted.name))} \\- program with flags",
        ".SH SYNOPSIS",
    ]
    if wanted.usage is None:
        lines.append(
            f"\\fB{_escape_roff(facts.escape_controls(wanted.name))}\\fR"
            " [\\-\\-flag=value ...] [argument ...]"
        )
    else:
        lines += _roff_lines(wanted.usage)
    lines.append(".SH OPTIONS")
    for heading, flags in wanted.groups().items():
        lines.append(f".SS {_roff_quoted(heading)}")
        for flag in flags:
            lines += _man_flag(flag)
    return "\n".join(lines)


# ---- JSON ----

_NAME, _MODULE = '      "name": ', '      "module": '  # in the lines of a flag


def _add_libraries_to_json(text: str) -> str:
    """Add "shared_with" to the flags of other libraries: C does not know them."""
    if not any(each.names for each in list(joined_libraries.values())):
        return text
    import json

    lines, name = [], ""
    for line in text.split("\n"):
        lines.append(line)
        if line.startswith(_NAME):
            name = json.loads(line[len(_NAME) :].rstrip(","))
        elif line.startswith(_MODULE) and (library := library_title_of(name)):
            lines.append(f'      "shared_with": {json.dumps(library)},')
    return "\n".join(lines)


_FORMATS: dict[str, Callable[[_Wanted], str]] = {
    "markdown": _to_markdown,
    "man": _to_man,
}
_KINDS = {"text": "help", "xml": "helpxml"}  # which C writes, as it does JSON
FORMATS = (*_KINDS, "json", *_FORMATS)


def _check_arguments(format: str, full: bool, texts: dict[str, str | None]) -> None:
    if format not in FORMATS:
        message = f"format {quote_value(format)}: expected one of {', '.join(FORMATS)}"
        raise FlagArgumentError(message)
    check_bool("full", full)
    for name, text in texts.items():
        if text is not None:
            to_argument(name, text)


@hides_internal_frames
def describe(
    format: str = "text",
    *,
    program: str | None = None,
    full: bool = False,
    usage: str | None = None,
    version: str | None = None,
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return reference documentation of all flags; `full=True` includes hidden ones.

    | format | returns |
    |---|---|
    | `"text"` | the text of `--help`, `width` columns wide |
    | `"xml"` | the text of `--helpxml`, in the format of gflags |
    | `"json"` | all properties of each flag, and all values that it was given |
    | `"markdown"` | tables by module and category |
    | `"man"` | a manual page for groff |

    `program` is the path of the program; the default is `sys.argv[0]`. `usage` is the
    text above the flags. `width` defaults to that of the terminal; `color=True` adds ANSI
    escapes to text. Sensitive values are shown as `<redacted>`.
    """
    path = program or (sys.argv or [""])[0] or "program"
    _check_arguments(format, full, {"program": path, "usage": usage, "version": version})
    if format in _KINDS:
        kind = "helpfull" if full and format == "text" else _KINDS[format]
        return help_text(path, kind, usage=usage, version=version, width=width, color=color)
    if format == "json":
        return _add_libraries_to_json(json_text(path, version=version, full=full))
    return _FORMATS[format](_Wanted(path, full, usage, version))
