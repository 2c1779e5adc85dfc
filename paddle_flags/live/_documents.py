"""The documents of the live API as types, and the check that an answer is one of them.

docs/reference/live-protocol.md describes their fields. What a client relies on is checked: an
answer may come from any program that listens there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.live._errors import LiveError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, TypedDict

    Value = bool | int | float | str | list[Any] | None

    class Digest(TypedDict):
        """In place of a long text."""

        length: int
        sha256: str

    Text = str | Digest | None

    class Behalf(TypedDict, total=False):
        """For whom a client asks that serves others."""

        label: str
        host: str

    class Who(TypedDict, total=False):
        """Who makes a change."""

        uid: int
        pid: int
        command: str
        on_behalf_of: Behalf

    class You(Who, Behalf, total=False):
        """Who asks; a gateway says what is allowed, instead of which process asks."""

        may: list[str]

    class Process(TypedDict):
        """What a process is."""

        api: int
        version: str
        program: str
        pid: int
        host: str
        epoch: str
        revision: int
        flags: int
        you: You
        temporary: int

    class Temporary(TypedDict):
        """That a value is a temporary one."""

        change: int
        until: str
        left: float
        below: Text

    class _FlagBase(TypedDict):
        name: str
        type: str
        source: str
        settable: bool

    class FlagState(_FlagBase, total=False):
        """A flag with its value."""

        help: str
        items: str
        value: Value
        text: Text
        default: Value
        default_text: Text
        place: str
        revision: int
        min: float
        max: float
        choices: list[str]
        unit: str
        category: str
        aliases: list[str]
        old_names: list[str]
        deprecated: str
        retired: str
        metavar: str
        module: str
        file: str
        line: int
        marks: list[str]
        frozen: bool
        refusal: str
        temporary: Temporary

    class Entry(TypedDict, total=False):
        """A value in the history of a flag."""

        value: Value
        text: Text
        source: str
        place: str
        replaced: bool

    class FlagDetails(FlagState, total=False):
        """A flag with its history, the current value first, and with its latest changes."""

        history: list[Entry]
        log: list[FlagEvent]

    class Flags(TypedDict):
        """All flags, or those that changed after a revision."""

        epoch: str
        revision: int
        complete: bool
        flags: list[FlagState]
        removed: list[str]

    class _ChangedBase(TypedDict):
        name: str

    class Changed(_ChangedBase, total=False):
        """A flag in a change."""

        old: Text
        new: Text
        source: str
        hidden: bool

    class ChangeResult(TypedDict):
        """What a change did."""

        change: int | None
        revision: int
        dry_run: bool
        until: str | None
        flags: list[Changed]

    class Change(TypedDict):
        """A change by a client."""

        change: int
        at: str
        kind: Literal["set", "undo", "fleet"]
        undoes: int | None
        who: Who
        reason: str | None
        until: str | None
        state: Literal["on", "kept", "ended", "undone"]
        undoable: bool
        flags: list[Changed]

    class _EventBase(TypedDict):
        revision: int
        at: str
        name: str
        kind: Literal["value", "defined", "removed", "frozen"]

    class FlagEvent(_EventBase, total=False):
        """What happened to a flag."""

        old: Text
        new: Text
        source: str
        place: str
        change: int
        who: Who
        reason: str | None
        until: str | None


class Event(NamedTuple):
    """One of the stream of events."""

    kind: str
    """`"hello"`, `"changes"`, `"gap"`, or one that a later version has."""
    id: str
    """`EPOCH-REVISION`, which `Client.events` takes to go on from there."""
    data: dict[str, Any]


_TEXT = (str,)
_MAYBE_TEXT = (str, type(None))
_VALUE = (str, dict, type(None))
_INTEGER = (int,)
_MAYBE_INTEGER = (int, type(None))
_NUMBER = (int, float)
_LIST = (list,)
_SWITCH = (bool,)
_OBJECT = (dict,)

_PLACE = {"epoch": _TEXT, "revision": _INTEGER}
_WHO = {
    "uid": _MAYBE_INTEGER,
    "pid": _MAYBE_INTEGER,
    "command": _MAYBE_TEXT,
    "on_behalf_of": _OBJECT,
}
_PROCESS = {
    **_PLACE,
    "program": _TEXT,
    "pid": _INTEGER,
    "host": _TEXT,
    "flags": _INTEGER,
    "temporary": _INTEGER,
}
_FLAG = {"name": _TEXT, "type": _TEXT, "source": _TEXT, "settable": _SWITCH}
_FLAG_MORE = {
    **dict.fromkeys(("help", "place", "unit", "module"), _TEXT),
    **dict.fromkeys(("text", "default_text"), _VALUE),
    **dict.fromkeys(("items", "category", "deprecated", "retired", "refusal", "file"), _TEXT),
    **dict.fromkeys(("marks", "choices", "aliases", "old_names", "history", "log"), _LIST),
    "line": _INTEGER,
    "temporary": _OBJECT,
}
_TEMPORARY = {"change": _INTEGER, "until": _TEXT, "left": _NUMBER, "below": _VALUE}
_HISTORY_MORE = {"text": _VALUE, "place": _TEXT, "replaced": _SWITCH}
_CHANGED = {"name": _TEXT}
_CHANGED_MORE = {"old": _VALUE, "new": _VALUE, "source": _TEXT, "hidden": _SWITCH}
_RESULT = {
    "change": _MAYBE_INTEGER,
    "dry_run": _SWITCH,
    "until": _MAYBE_TEXT,
    "flags": _LIST,
}
_CHANGE = {
    "change": _INTEGER,
    "at": _TEXT,
    "kind": _TEXT,
    "undoes": _MAYBE_INTEGER,
    "who": _OBJECT,
    "reason": _MAYBE_TEXT,
    "until": _MAYBE_TEXT,
    "state": _TEXT,
    "flags": _LIST,
}
_EVENT = {"revision": _INTEGER, "at": _TEXT, "name": _TEXT, "kind": _TEXT}
_EVENT_MORE = {
    **dict.fromkeys(("source", "place"), _TEXT),
    **dict.fromkeys(("old", "new"), _VALUE),
    **dict.fromkeys(("reason", "until"), _MAYBE_TEXT),
    "change": _MAYBE_INTEGER,
}


def check_process(document: Any) -> Process:
    """Return the document if it is that of `hello`."""
    return _checked(document, _PROCESS)  # type: ignore[return-value]


def check_flags(document: Any) -> Flags:
    """Return the document if it is that of `flags.list`."""
    _checked(document, {**_PLACE, "flags": _LIST})
    for each in document["flags"]:
        _check_flag(each)
    return document  # type: ignore[no-any-return]


def check_details(document: Any) -> FlagDetails:
    """Return the flag in the document if that is one of `flags.get`."""
    flag = _checked(document, {**_PLACE, "flag": _OBJECT})["flag"]
    _check_flag(flag)
    for each in flag.get("history", ()):
        _checked(each, {"source": _TEXT}, _HISTORY_MORE)
    for each in flag.get("log", ()):
        _check_event(each)
    return flag  # type: ignore[no-any-return]


def check_result(document: Any) -> ChangeResult:
    """Return the document if it is the answer to a change."""
    _checked(document, _RESULT)
    for each in document["flags"]:
        _checked(each, _CHANGED, _CHANGED_MORE)
    return document  # type: ignore[no-any-return]


def check_changes(document: Any) -> list[Change]:
    """Return the changes in the document if it is that of `changes.list`."""
    changes: list[Any] = _checked(document, {**_PLACE, "changes": _LIST})["changes"]
    for change in changes:
        _checked(change, _CHANGE)
        _checked(change["who"], {}, _WHO)
        for each in change["flags"]:
            _checked(each, _CHANGED, _CHANGED_MORE)
    return changes


def check_stream(kind: str, document: Any) -> dict[str, Any]:
    """Return the document if it is one of an event of this kind."""
    if kind == "hello":
        return _checked(document, _PROCESS)
    if kind == "gap":
        return _checked(document, {"revision": _INTEGER})
    if kind == "changes":
        for each in _checked(document, {"changes": _LIST})["changes"]:
            _check_event(each)
    return _checked(document, {})


def _check_flag(flag: Any) -> None:
    _checked(flag, _FLAG, _FLAG_MORE)
    if "temporary" in flag:
        _checked(flag["temporary"], {}, _TEMPORARY)
    for name in ("marks", "choices", "aliases", "old_names"):
        if not all(isinstance(each, str) for each in flag.get(name, ())):
            raise _wrong(name)


def _check_event(event: Any) -> None:
    _checked(event, _EVENT, _EVENT_MORE)
    if event.get("who") is not None:
        _checked(event["who"], {}, _WHO)


def _checked(
    document: Any,
    needed: Mapping[str, tuple[type, ...]],
    allowed: Mapping[str, tuple[type, ...]] | None = None,
) -> dict[str, Any]:
    """Return an object that has the fields that are needed; the others have the right types."""
    if not isinstance(document, dict):
        raise _wrong()
    for name, types in needed.items():
        if not isinstance(document.get(name), types) or name not in document:
            raise _wrong(name)
    for name, types in (allowed or {}).items():
        if name in document and not isinstance(document[name], types):
            raise _wrong(name)
    return document


def _wrong(name: str = "") -> LiveError:
    return LiveError(
        "the answer isn't one of the live API"
        + (f": its field {name!r} is missing or of another type" if name else "")
    )
