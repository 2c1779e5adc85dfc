"""A record of a fleet's log, as JSON, and its checks.

docs/explanation/fleet-rules.md has what each kind of record does.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.errors import FlagArgumentError, FlagTypeError
from paddle_flags.extend import format_argument, normalize_name, quote_value
from paddle_flags.fleet import _json
from paddle_flags.fleet._store import FleetError
from paddle_flags.live._documents import find_invalid_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CHANGE = "change"
ASK = "ask"
ABORT = "abort"
END = "end"
CHECK = "check"
TELL = "tell"  # the stage of a check at which all members are to publish what they have

ALL = "all"
_WIDEST = 60  # letters of changes in a message
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,254}")
_ON = re.compile(r"all|(role|host|member):.+", re.DOTALL)
_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # for some engine or some language


class Change(NamedTuple):
    """One flag in a batch: its name, its new value, and for whom."""

    name: str
    value: str | None
    """As on a command line; None drops the value that this selector has."""
    on: str = ALL
    """`"all"`, or `"role:ROLE"`, `"host:HOST"` or `"member:NAME"`."""


class Record(NamedTuple):
    """One entry of the log."""

    kind: str
    changes: tuple[Change, ...] = ()
    """Of a change or a question: all of it takes effect, or nothing."""
    id: str = ""
    """By which the writer finds it again, if the answer to its `append` was lost."""
    fleet: str = ""
    """The identity of the log: an engine that lost its state begins another one."""
    by: str = ""
    time: float = 0.0
    """Seconds since 1970, by the clock of the writer."""
    reason: str = ""
    duration: float | None = None
    """Seconds until the values end."""
    at_step: int | None = None
    dry_run: bool = False
    """Of a question: no change will follow."""
    patience: float = 0.0
    """Of a question: seconds after which anybody may abort it."""
    of: int = 0
    """Of a change or an abort: the revision of the question that it decides; 0: of none. Of an end:
    the revision of the change that is over."""
    peers: int = 0
    """How many members there were when it was written."""
    check: Mapping[str, Any] = {}
    revision: int = 0
    """Its number in the log, if it was read there."""

    @property
    def is_lasting(self) -> bool:
        """Whether what it changes neither expires nor waits for a step."""
        return self.duration is None and self.at_step is None


def new_id() -> str:
    return uuid.uuid4().hex[:16]


def encode(record: Record) -> bytes:
    """Return a record as JSON, without lone surrogates, which command lines may have."""
    kept = fields_of(record._replace(revision=0))
    data = json.dumps(kept, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    try:
        decode(data, 0)  # what readers would take for nothing is an error of the writer
    except FleetError:
        message = "a change has a number that no fleet stores: expected 64 bits, and finite ones"
        raise FlagArgumentError(message) from None
    return data


def fields_of(record: Record) -> dict[str, Any]:
    """Return the fields of a record for JSON; what has its default is left out."""
    defaults = Record._field_defaults
    return {k: v for k, v in record._asdict().items() if k == "kind" or v != defaults[k]}


def decode(data: bytes, revision: int) -> Record:
    """Return the record of JSON; raise FleetError if somebody else wrote something else."""
    try:
        return parse_record_fields(_json.read(data))._replace(revision=revision)
    except (TypeError, ValueError, KeyError, AttributeError):
        what = f"{quote_value(data[:80])}: expected a record of paddle_flags"
        raise FleetError(f"revision {revision}: {what}") from None


_FORM: dict[str, Any] = {  # of a record, in which nothing has its default
    "kind": str,
    "changes": list[list[str | None]],
    **dict.fromkeys(("id", "fleet", "by", "reason"), str),
    **dict.fromkeys(("time", "patience", "duration"), float),
    **dict.fromkeys(("at_step", "of", "peers", "revision"), int),
    "dry_run": bool,
    "check": dict[str, Any],
}

_CHECK: dict[str, Any] = {
    **dict.fromkeys(("round", "count"), int),
    **dict.fromkeys(("stage", "who", "digest"), str),
    **dict.fromkeys(("lines", "missing"), list[str]),
    "environment": list[str],
    "differences": list[list[str | None]],
}


def parse_record_fields(fields: Any) -> Record:
    """Return the record of such fields; raise an error of Python if they aren't those of one."""
    if fields["kind"] not in (CHANGE, ASK, ABORT, END, CHECK):
        raise ValueError
    known = {key: fields[key] for key in _FORM.keys() & fields}  # later versions may add some
    if filter_valid_fields(known, _FORM) != known:
        raise TypeError
    known["changes"] = tuple(check_change(Change(*each)) for each in known.get("changes", []))
    known["check"] = filter_valid_fields(known.get("check"), _CHECK)
    return Record(**known)


def filter_valid_fields(fields: Any, form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have the form that they should."""
    if not isinstance(fields, dict):
        return {}
    return {
        n: fields[n] for n in form.keys() & fields if find_invalid_field(fields[n], form[n]) is None
    }


def check_change(change: Change) -> Change:
    """Return a change with the name as the registry writes it, or raise FlagArgumentError."""
    name, value, on = change
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        what = "expected the name of a flag, of at most 255 characters"
        raise FlagArgumentError(f"{quote_value(name)}: {what}")
    if value is not None:
        check_text(name, value)
    return Change(normalize_name(name), value, _check_selector(on))


def text_of(name: str, value: object) -> str:
    """Return a value as on a command line."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (int, list, tuple)):
        return format_argument(tuple(value) if isinstance(value, list) else value)
    what = "expected bool, int, float, str or a list of them"
    raise FlagTypeError(f"{name}: {quote_value(value)}: {what}")


def check_text(name: str, text: str) -> str:
    """Return a text that a record can have, the parameter `name` of a function."""
    if isinstance(text, str) and not _NO_TEXT.search(text):
        return text
    what = "expected text without NUL and lone surrogates"
    raise FlagArgumentError(f"{name} is {quote_value(text)}: {what}")


def _check_selector(on: str) -> str:
    if isinstance(on, str) and _ON.fullmatch(on) and not _NO_TEXT.search(on):
        return on
    raise FlagArgumentError(f"{quote_value(on)}: expected all, role:ROLE, host:HOST or member:NAME")


def selector(role: str | None = None, host: str | None = None, member: str | None = None) -> str:
    """Return the selector of the argument that is given, of which there may be one."""
    given = {"role": role, "host": host, "member": member}
    chosen = [f"{kind}:{which}" for kind, which in given.items() if which is not None]
    if len(chosen) > 1:
        raise FlagArgumentError(f"{' and '.join(chosen)}: expected one of role, host and member")
    return _check_selector(chosen[0]) if chosen else ALL


def check_batch(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return the changes of one record, each flag once for each selector."""
    found: dict[tuple[str, str], Change] = {}
    for change in map(check_change, changes):
        if (change.name, change.on) in found:
            raise FlagArgumentError(f"{change.name}: is given twice for {change.on}")
        found[change.name, change.on] = change
    return tuple(found.values())


def changes_text(record: Record) -> str:
    """Return what a record changes: `lr=0.1, -fast (role:trainer)`."""
    parts = []
    for name, value, on in record.changes:
        text = f"-{name}" if value is None else f"{name}={value}"
        parts.append(text if on == ALL else f"{text} ({on})")
    return ", ".join(parts) or record.reason


def question_text(question: Record) -> str:
    """Return what a question asks, who asks, and until when."""
    what = changes_text(question)
    what = what if len(what) <= _WIDEST else f"{what[: _WIDEST - 3]}..."
    end = moment_text(question.time + question.patience)
    return f"revision {question.revision} by {question.by} ({what}), which ends at {end}"


def moment_text(seconds: float) -> str:
    """Return a moment as local time, to the second."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (ValueError, OverflowError, OSError):  # somebody wrote nonsense
        return ""
