"""The documents of the live protocol as types, and the check that an answer is one of them.

docs/reference/live-protocol.md describes their fields. All of them are checked: an answer may come
from any program that listens there.
"""
# Without `annotations` of `__future__`, as the check reads the types.

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    TypedDict,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from paddle_flags.live._errors import LiveError

Value = bool | int | float | str | list[Any] | None


Text = str | dict[str, Any] | None
"""In place of a long one, its length and digest."""


class Who(TypedDict, total=False):
    """Who makes a change, or asks; a gateway says for whom it asks, and what they may do."""

    uid: int | None
    pid: int | None
    command: str | None
    on_behalf_of: dict[str, str]
    label: str
    host: str
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
    you: Who
    temporary: int
    startup_over: bool
    dropped: int


class Temporary(TypedDict):
    """That a value is a temporary one."""

    change: int
    until: str
    left: float
    below: NotRequired[Text]


class Entry(TypedDict):
    """A value in the history of a flag."""

    value: NotRequired[Value]
    text: NotRequired[Text]
    source: str
    place: NotRequired[str]
    replaced: NotRequired[bool]


class FlagEvent(TypedDict):
    """What happened to a flag."""

    revision: int
    at: str
    name: str
    kind: Literal["value", "defined", "removed", "frozen"]
    old: NotRequired[Text]
    new: NotRequired[Text]
    source: NotRequired[str]
    place: NotRequired[str]
    change: NotRequired[int]
    who: NotRequired[Who]
    reason: NotRequired[str | None]
    until: NotRequired[str | None]


class FlagState(TypedDict):
    """A flag with its value."""

    name: str
    type: str
    help: NotRequired[str]
    items: NotRequired[str]
    value: NotRequired[Value]
    text: NotRequired[Text]
    default: NotRequired[Value]
    default_text: NotRequired[Text]
    source: str
    place: NotRequired[str]
    revision: NotRequired[int]
    min: NotRequired[float | str]
    max: NotRequired[float | str]
    choices: NotRequired[list[str]]
    unit: NotRequired[str]
    category: NotRequired[str]
    aliases: NotRequired[list[str]]
    old_names: NotRequired[list[str]]
    deprecated: NotRequired[str]
    retired: NotRequired[str]
    metavar: NotRequired[str]
    module: NotRequired[str]
    file: NotRequired[str]
    line: NotRequired[int]
    marks: NotRequired[list[str]]
    frozen: NotRequired[bool]
    settable: bool
    refusal: NotRequired[str]
    temporary: NotRequired[Temporary]


class FlagDetails(FlagState):
    """A flag with its history, the current value first, and with its latest changes."""

    history: NotRequired[list[Entry]]
    log: NotRequired[list[FlagEvent]]


class Flags(TypedDict):
    """All flags, or those that changed after a revision."""

    epoch: str
    revision: int
    complete: bool
    flags: list[FlagState]
    removed: list[str]


class Changed(TypedDict):
    """A flag in a change."""

    name: str
    old: NotRequired[Text]
    new: NotRequired[Text]
    source: NotRequired[str]
    hidden: NotRequired[bool]


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


class Event(NamedTuple):
    """One of the stream of events."""

    kind: str
    """`"hello"`, `"changes"`, `"gap"`, or one that a later version has."""
    id: str
    """`EPOCH-REVISION`, which `Client.events` takes to go on from there."""
    data: dict[str, Any]


ANSWERS: Mapping[str, Any] = {
    "hello": Process,
    "flags.list": Flags,
    "flags.get": {"flag": FlagDetails},
    "flags.set": ChangeResult,
    "changes.list": {"changes": list[Change]},
    "changes.undo": ChangeResult,
    "steps.get": {"step": int | None},
    "steps.gate": {"step": int | None},
    "steps.wait": {"step": int | None},
}
"""The results of the methods; an object has at least the fields in braces."""

EVENTS: Mapping[str, Any] = {
    "hello": Process,
    "changes": {"changes": list[FlagEvent]},
    "gap": {"revision": int},
}
"""The data of events by their kinds."""


def check_document(document: Any, form: Any) -> Any:
    """Return a document if it has a form, one of the above; raise LiveError if not."""
    fault = find_invalid_field(document, form)
    if fault is None:
        return document
    what = f": its field {fault!r} is missing or of another type" if fault else ""
    raise LiveError(f"the answer isn't one of the live protocol{what}")


def find_invalid_field(value: object, form: Any, name: str = "") -> str | None:
    """Return the name of a field in a value that hasn't its type; None if there is none."""
    if isinstance(form, dict) or is_typeddict(form):
        return _fault_in_object(value, form, name)
    if type(value) in _types_of(form):
        return None
    kind, kinds = get_origin(form), get_args(form)
    if kind is UnionType:
        fits = any(find_invalid_field(value, each, name) is None for each in kinds)
        return None if fits else name
    if kind in (list, dict) and isinstance(value, kind):
        parts = value.values() if isinstance(value, dict) else value
        faults = (find_invalid_field(each, kinds[-1], name) for each in parts)
        return next((each for each in faults if each is not None), None)
    return None if form is Any else name


@cache
def _types_of(form: Any) -> frozenset[type]:
    """Return the types of which each value has a form."""
    if get_origin(form) is UnionType:
        return frozenset().union(*map(_types_of, get_args(form)))
    if get_origin(form) is Literal:  # a later version may have others
        return frozenset([str])
    return frozenset([int, float] if form is float else {form} & {str, int, bool, NoneType})


_fields = cache(get_type_hints)


def _fault_in_object(value: object, form: Any, name: str) -> str | None:
    if not isinstance(value, dict):
        return name
    needed = getattr(form, "__required_keys__", form)
    for key, each in (form if isinstance(form, dict) else _fields(form)).items():
        fault = None
        if key in value:
            fault = find_invalid_field(value[key], each, key)
        elif key in needed:
            fault = key
        if fault is not None:
            return fault
    return None
