"""The audit of changes from outside: where each event goes, and what is said at the end.

The library hands over each event as one JSON object; docs/how-to/audit-changes.md lists its fields.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
from typing import TYPE_CHECKING, Any

from paddle_flags._core.unraisable import report
from paddle_flags.errors import FlagTypeError
from paddle_flags.live._audit_file import AuditFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Event = Mapping[str, Any]
    Callback = Callable[[dict[str, Any]], object]
    OneAudit = str | os.PathLike[str] | AuditFile | Callback
    Audit = OneAudit | Iterable[OneAudit]

__all__ = ["Audit", "AuditFile", "logger", "make_sink"]

logger = logging.getLogger("paddle_flags.live")
"""Gets each event, with the level INFO, or WARNING if the change was refused."""

logger.addHandler(logging.NullHandler())  # a library doesn't print: the program decides

_LONGEST = 200  # characters of a text in a message; `extra` has all of it
_WORD = re.compile(r"[\w.:/@*?-]{1,200}", re.ASCII)
_MOST = 10  # flags in a message


def make_sink(audit: Audit | None = None) -> Callable[[bytes], None]:
    """Return what takes each event as JSON in UTF-8. It raises nothing, whatever happens.

    `audit` is a path, an AuditFile, a function that takes the event as a dictionary, or several of
    them. Each event goes to `logger` too; so does a warning for each temporary change that is on
    when the program ends. Raises FlagTypeError and FlagFileError.
    """
    several = isinstance(audit, (list, tuple, set, frozenset))
    wanted: Any = audit if several else [] if audit is None else [audit]
    sinks = [_log, *map(_sink_of, wanted)]
    tell_at_exit()

    def sink(text: bytes) -> None:
        event = _parsed(text)
        for each in sinks:
            try:
                each(text, event)
            except BaseException as error:  # noqa: BLE001 - the change has happened
                report(error, "Exception ignored in an audit of changes", each)

    return sink


def _sink_of(wanted: Any) -> Callable[[bytes, dict[str, Any]], object]:
    if isinstance(wanted, (str, os.PathLike)):
        wanted = AuditFile(wanted)
    if isinstance(wanted, AuditFile):
        return lambda text, _: wanted.write(text)
    if not callable(wanted):
        what = type(wanted).__name__
        message = f"audit: expected a path, an AuditFile or a function, not {what}"
        raise FlagTypeError(message)
    return lambda _, event: wanted(json.loads(json.dumps(event)))  # its own: it may change it


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        event = json.loads(text)
    except ValueError:
        event = None
    return event if isinstance(event, dict) else {"event": "unreadable", "text": repr(text)}


# ---- Logging ----


def _log(_: bytes, event: dict[str, Any]) -> None:
    level = logging.WARNING if event.get("result") == "refused" else logging.INFO
    if logger.isEnabledFor(level):
        logger.log(level, message_of(event), extra={"paddle_flags": event})


def message_of(event: Event) -> str:
    """Return an event as one line, in which no text of a client passes for another part."""
    kind = str(event.get("event"))
    heads = {"set": "change", "ended": "end of change", "fleet": "change of the fleet"}
    head = heads.get(kind, _word(kind))
    if kind == "fleet":
        head += f" {_word(event.get('fleet'))} for {_word(event.get('on'))}"
    if event.get("change") is not None:
        head += f" {event['change']}"
    if event.get("undoes") is not None:
        head += f" of change {event['undoes']}"
    return _line(head, event)


def _line(head: str, event: Event) -> str:
    parts = [head + _listed(event)]
    if isinstance(event.get("who"), dict):
        parts.append(f"by {_who(event['who'])}")
    if event.get("until"):
        parts.append(f"until {_word(event['until'])}")
    if event.get("reason"):
        parts.append(f"reason {_quoted(event['reason'])}")
    if event.get("detail"):
        parts.append(f"status {event.get('status')} {_quoted(event['detail'])}")
    return "; ".join(parts)


def _listed(event: Event) -> str:
    flags = event.get("flags") or []
    show = _change_of if event.get("event") != "ended" else _name_of  # what it was is long ago
    shown = [show(flag) for flag in flags[:_MOST] if isinstance(flag, dict)]
    if len(flags) > _MOST:
        shown.append(f"and {len(flags) - _MOST} more flags")
    return ": " + ", ".join(shown) if shown else ""


def _name_of(flag: Event) -> str:
    return _word(flag.get("name"))


def _change_of(flag: Event) -> str:
    name = _name_of(flag)
    if "new" not in flag:
        return name
    old = f"from {_quoted(flag['old'])} " if "old" in flag else ""
    return f"{name} {old}to {_quoted(flag['new'])}"


def _who(who: Event) -> str:
    known = [f"{key} {who[key]}" for key in ("uid", "pid") if who.get(key) not in {None, -1}]
    known += [_word(who[key]) for key in ("command", "host") if who.get(key)]
    if who.get("label"):
        known.append(f"token {_word(who['label'])}")
    return ", ".join(known) or "somebody unknown"


def _word(text: object) -> str:
    """Return the text, in quotes if it isn't one word."""
    return str(text) if _WORD.fullmatch(str(text)) else _quoted(text)


def _quoted(value: object) -> str:
    """Return text in quotes; control characters, and those that reorder a line, are escaped."""
    if value is None:
        return "no value"
    text = str(value)
    shown = "".join(map(_escaped, text[:_LONGEST]))
    return f"'{shown}...'" if len(text) > _LONGEST else f"'{shown}'"


def _escaped(character: str) -> str:
    if character in {"'", "\\"}:
        return f"\\{character}"
    return character if character.isprintable() else ascii(character)[1:-1]


# ---- The end of the program ----

_told: list[bool] = []  # that `_tell` is registered


def tell_at_exit() -> None:
    """Warn, when the program ends, of temporary changes that are still on."""
    if not _told:
        _told.append(True)
        atexit.register(_tell)


def _tell() -> None:
    from paddle_flags.live._look import look  # noqa: PLC0415 - seldom used

    try:
        for change in look(b"/v1/changes")["changes"]:
            if change["state"] == "on":
                _tell_of(change)
    except Exception as error:  # noqa: BLE001 - the program ends in any case
        report(error, "Exception ignored while temporary changes were listed", _tell)


def _tell_of(change: Event) -> None:
    text = _line(f"the program ends and temporary change {change['change']} is on", change)
    logger.warning(text, extra={"paddle_flags": {**change, "event": "exit"}})
