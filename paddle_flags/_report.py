"""Text for people: help, and tables of flags."""

from __future__ import annotations

import os
import shutil
import textwrap
from typing import TYPE_CHECKING, Any

from paddle_flags._registry import all_flags

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paddle_flags._flag import Flag

_LEFT = 26  # columns before the help text


def _width() -> int:
    return max(shutil.get_terminal_size().columns - 2, 2 * _LEFT)


def _allowed(flag: Flag[Any]) -> str:
    """Give what may follow `--name=`."""
    if flag.choices:
        return "{" + ",".join(flag.choices) + "}"
    return flag.type.upper()


def _limits(flag: Flag[Any]) -> str:
    if flag.min is not None and flag.max is not None:
        return f"{flag.min} to {flag.max}; "
    if flag.min is not None:
        return f"at least {flag.min}; "
    return f"at most {flag.max}; " if flag.max is not None else ""


def _describe(flag: Flag[Any]) -> list[str]:
    """Give the lines of one flag in the help."""
    is_bool = flag.type == "bool"
    head = f"  --[no]{flag.name}" if is_bool else f"  --{flag.name}={_allowed(flag)}"
    notes = [f"also --{alias}" for alias in flag.aliases]
    notes += ["read-only"] * flag.read_only + ["startup only"] * flag.startup_only
    default = f'"{flag.default}"' if flag.type == "string" else _plain(flag.default)
    notes.append(f"{_limits(flag)}default: {default}")
    text = f"{flag.help} ({'; '.join(notes)})".strip()
    lines = textwrap.wrap(text, _width() - _LEFT)
    if len(head) + 2 > _LEFT:
        return [head, *(" " * _LEFT + line for line in lines)]
    return [head.ljust(_LEFT) + lines[0], *(" " * _LEFT + line for line in lines[1:])]


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _groups(flags: Iterable[Flag[Any]]) -> dict[str, list[Flag[Any]]]:
    groups: dict[str, list[Flag[Any]]] = {}
    for flag in flags:
        heading = os.path.basename(flag.module) or "other"
        if flag.category:
            heading += f", {flag.category}"
        groups.setdefault(heading, []).append(flag)
    return groups


def help_text(
    program: str,
    kind: str = "help",
    pattern: str = "",  # noqa: ARG001
    *,
    usage: str | None = None,
    version: str | None = None,
) -> str:
    """Give the text that `--help` shows: every flag that isn't hidden, by module."""
    name = os.path.basename(program)
    if kind == "version":
        return f"{name} version {version}" if version else name
    usage = usage or f"usage: {name} [--flag=value ...] [argument ...]"
    return f"{usage}\n\n{flags_help()}".rstrip()


def flags_help(*, hidden: bool = False) -> str:
    """Give the help of every flag, by module."""
    sections = [
        "\n".join([f"{heading}:", *(line for flag in flags for line in _describe(flag))])
        for heading, flags in _groups(f for f in all_flags() if hidden or not f.hidden).items()
    ]
    return "\n\n".join(sections)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Give aligned columns with a title each."""
    lines = [list(titles), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    padded = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines
    )
    return "\n".join(padded)


def one_line(text: str) -> str:
    """Give text as it can stand in a line: control and stray bytes escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def flags_table(*, hidden: bool = False) -> str:
    """Give the table of all flags with value, source and module."""
    shown = [flag for flag in all_flags() if hidden or not flag.hidden]
    rows = [
        (
            flag.name,
            flag.type,
            one_line(flag.text) or '""',
            flag.source,
            os.path.basename(flag.module),
        )
        for flag in shown
    ]
    return table(("flag", "type", "value", "source", "module"), rows)


def explanation(flag: Flag[Any]) -> str:
    """Tell what a flag is and where its value comes from."""
    lines = [f"{flag.name} = {one_line(flag.text) or chr(34) * 2}", ""]
    facts = {
        "type": flag.type,
        "help": flag.help,
        "allowed": ", ".join(flag.choices) if flag.choices else _limits(flag).rstrip("; "),
        "aliases": ", ".join(flag.aliases),
        "category": flag.category,
        "module": flag.module,
        "defined at": f"{flag.file}:{flag.line}" if flag.file else "",
        "attributes": ", ".join(
            word
            for word, holds in {
                "hidden": flag.hidden,
                "read-only": flag.read_only,
                "startup-only": flag.startup_only,
                "frozen": flag.frozen,
            }.items()
            if holds
        ),
    }
    lines += [f"  {name + ':':<12}{one_line(fact)}" for name, fact in facts.items() if fact]
    lines += ["", "values, the one that holds first:"]
    rows = [
        (f"  {one_line(_plain(value)) or chr(34) * 2}", source, one_line(place or ""))
        for value, source, place, _ in flag.history
    ]
    lines.append(table(("  value", "source", "place"), rows))
    return "\n".join(lines)
