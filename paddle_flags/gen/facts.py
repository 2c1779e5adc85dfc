"""What a reference says about a flag besides its help."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.extend import MARK_MEANINGS
from paddle_flags.gen.values import format_flag_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags.gen.model import Change
    from paddle_flags.gen.view import View


class Fact(NamedTuple):
    """Something that is said of a flag; code is what one may write."""

    label: str
    texts: list[str]
    code: bool = True


def facts(view: View) -> list[tuple[str, Fact]]:
    """Give what there is to say."""
    return [(fact.label, fact) for fact in _all_facts(view) if any(fact.texts)]


def _all_facts(view: View) -> Iterator[Fact]:
    flag = view.flag
    of = f" (a list of {flag.items})" if flag.items else ""
    yield Fact("type", [flag.type + of], code=False)
    if "sensitive" not in flag.attributes:
        yield Fact("default", [view.default or '""'])
    if flag.min is not None or flag.max is not None:
        yield Fact("range", [_format_range(flag.min, flag.max)], code=False)
    yield Fact("choices", [format_flag_argument(choice) for choice in flag.choices])
    yield Fact("unit", [flag.unit or ""], code=False)
    yield Fact("aliases", view.aliases)
    yield Fact("former names", view.old_names)
    yield Fact("note", [MARK_MEANINGS[each] for each in flag.attributes], code=False)
    for each in view.implies:
        sets = [f"--{setting.flag}={format_flag_argument(setting.value)}" for setting in each.sets]
        yield Fact(f"{format_flag_argument(each.value)} implies", sets)
    if view.deprecated:
        since = f" (since {view.deprecated_in})"
        yield Fact("deprecated", [view.deprecated + since], code=False)
    yield Fact("since", [flag.since], code=False)
    yield Fact("owner", [flag.owner], code=False)


def _format_range(low: Any, high: Any) -> str:
    if low is None:
        return f"at most {format_flag_argument(high)}"
    return (
        f"at least {format_flag_argument(low)}"
        if high is None
        else f"{format_flag_argument(low)} to {format_flag_argument(high)}"
    )


def format_change_side(change: Change, which: str) -> str:
    """Give one side of a change as text."""
    value = getattr(change, which)
    if change.change == "meaning":
        return ""
    if change.change == "range":
        return _format_range(*value) if any(bound is not None for bound in value) else "any"
    return "none" if value is None else format_flag_argument(value)


_MARKDOWN = re.compile(r"([\\`*_\[\]<>&|~])")
_BEGINS = re.compile(r"^(\s*)([#+=-]|[0-9]+(?=[.)]))")


def escape_markdown(text: str) -> str:
    """Give text for Markdown; nothing in it means anything."""
    lines = (_MARKDOWN.sub(r"\\\1", line.strip()) for line in text.splitlines())
    return "\n".join(
        _BEGINS.sub(r"\1\\\2" if not line[:1].isdigit() else r"\1\2\\", line) for line in lines
    )


def md_cell(text: str) -> str:
    """Give text for a cell of a table."""
    return escape_markdown(text).replace("\n", "<br>")


def md_fact(fact: Fact) -> str:
    """Give a fact in Markdown."""
    return ", ".join(_md_code(text) if fact.code else md_cell(text) for text in fact.texts)


def _md_code(text: str) -> str:
    """Give code: between more backquotes than it has."""
    runs = re.findall("`+", text)
    fence = "`" * (max(map(len, runs), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{pad}{' '.join(text.splitlines())}{pad}{fence}"


def html_fact(fact: Fact) -> Any:
    """Give a fact in HTML."""
    from markupsafe import Markup

    escaped = [html.escape(text) for text in fact.texts]
    return Markup(", ".join(f"<code>{text}</code>" if fact.code else text for text in escaped))  # noqa: S704
