"""What is logged of changes from outside, to the logger `paddle_flags.live`."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from paddle_flags.extend import quote_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    Event = Mapping[str, Any]

__all__ = ["format_event", "log_event", "logger", "warn_change_at_exit"]

logger = logging.getLogger("paddle_flags.live")
"""Gets each event, with the level INFO, or WARNING if the change was refused."""

logger.addHandler(logging.NullHandler())  # a library doesn't print: the program decides

_WORD = re.compile(r"[\w.:/@*?-]{1,200}", re.ASCII)
_MOST = 10  # flags in a message


def log_event(event: Event) -> None:
    """Log an event of the audit; docs/how-to/audit-and-metrics.md lists its fields."""
    level = logging.WARNING if event.get("result") == "refused" else logging.INFO
    if logger.isEnabledFor(level):
        logger.log(level, format_event(event), extra={"paddle_flags": event})


def format_event(event: Event) -> str:
    """Return an event as one line, in which no text of a client passes for another part."""
    kind = str(event.get("event"))
    heads = {"set": "change", "ended": "end of change", "fleet": "fleet change"}
    head = heads.get(kind, _quote_unless_word(kind))
    if event.get("change") is not None:
        head += f" {event['change']}"
    if event.get("undoes") is not None:
        head += f" of change {event['undoes']}"
    return _event_line(head, event)


def warn_change_at_exit(change: Event) -> None:
    """Warn of a temporary change that is on when the program ends."""
    text = _event_line(f"the program ends and temporary change {change['change']} is on", change)
    logger.warning(text, extra={"paddle_flags": {**change, "event": "exit"}})


def _event_line(head: str, event: Event) -> str:
    flags = event.get("flags") or []
    is_over = event.get("event") == "ended"  # what it was is long ago
    listed = [
        _quote_unless_word(each.get("name")) if is_over else _change_text(each)
        for each in flags[:_MOST]
    ]
    listed += [f"and {len(flags) - _MOST} more flags"] * (len(flags) > _MOST)
    parts = [f"{head}: {', '.join(listed)}" if listed else head]
    if event.get("who") is not None:
        parts.append(f"by {_who_text(event['who'])}")
    if event.get("until"):
        parts.append(f"until {_quote_unless_word(event['until'])}")
    if event.get("reason"):
        parts.append(f"reason {_quote_or_no_value(event['reason'])}")
    if event.get("detail"):
        parts.append(
            f"{_quote_unless_word(event.get('kind'))} {_quote_or_no_value(event['detail'])}"
        )
    return "; ".join(parts)


def _change_text(flag: Event) -> str:
    name = _quote_unless_word(flag.get("name"))
    if "new" not in flag:
        return name
    old = f"from {_quote_or_no_value(flag['old'])} " if "old" in flag else ""
    return f"{name} {old}to {_quote_or_no_value(flag['new'])}"


def _who_text(who: Event) -> str:
    known = [f"{key} {who[key]}" for key in ("uid", "pid") if who.get(key) not in {None, -1}]
    known += [_quote_unless_word(who["command"])] if who.get("command") else []
    behalf = who.get("on_behalf_of") or {}
    parts = [_quote_unless_word(behalf[key]) for key in ("label", "host") if behalf.get(key)]
    known += [f"on behalf of {' at '.join(parts)}"] if behalf else []
    return ", ".join(known) or "somebody unknown"


def _quote_unless_word(text: object) -> str:
    """Return the text, in quotes if it isn't one word."""
    return str(text) if _WORD.fullmatch(str(text)) else _quote_or_no_value(text)


def _quote_or_no_value(value: object) -> str:
    """Return text in quotes; control characters, and those that reorder a line, are escaped."""
    return "no value" if value is None else quote_value(str(value))
