"""The documents of the live protocol as types, and the check that an answer is one of them.

docs/reference/live-protocol.md describes their fields. All of them are checked: an answer may come
from any program that listens there. What `Annotated` adds isn't: it is for the description of the
API that a gateway makes from the types.
"""
# Without `annotations` of `__future__`, as the check reads the types.

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from paddle_flags.extend import C_TYPES, MARK_MEANINGS
from paddle_flags.live._errors import LiveError

UNIONS = (Union, UnionType)
"""The origins of `A | B`, of which the first one has a part that is annotated."""

# ---- Parts ----


class Rule:
    """What JSON Schema says of a type beyond its name."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords


Count = Annotated[int, Rule(minimum=0)]
Number = Annotated[int, Rule(minimum=1)]
Seconds = Annotated[float, Rule(minimum=0)]
Name = Annotated[str, Rule(pattern="^[A-Za-z_][A-Za-z0-9_.-]*$", maxLength=255)]
Type = Annotated[str, Rule(enum=list(C_TYPES))]
Mark = Annotated[str, Rule(enum=list(MARK_MEANINGS))]
Epoch = Annotated[str, Rule(pattern="^[0-9a-f]{16}$"), "another text in each process"]
Revision = Annotated[Count, "of the last change of a flag"]
Time = Annotated[str, Rule(format="date-time", pattern=r"T[0-9:]{8}\.[0-9]{3}Z$"), "in UTC"]
Source = Annotated[
    str,
    Rule(enum="default,file,environment,argv,fleet,run time,override,scope,live".split(",")),
    "where a value came from",
]
Value = bool | int | float | str | list[Any] | None


class LongText(TypedDict):
    """What stands for a text of more than 4 KiB."""

    length: Annotated[Count, "bytes"]
    sha256: str


Text = str | LongText | None


class Person(TypedDict, total=False):
    """For whom a client asks."""

    label: Annotated[str, "of the token or user"]
    host: Annotated[str, "the address of the client"]


class Who(TypedDict, total=False):
    """Who makes a change, or asks; a gateway says for whom it asks, and what they may do."""

    uid: Annotated[int | None, "of the process that connected to the socket"]
    pid: int | None
    command: str | None
    on_behalf_of: Person
    label: str
    host: str
    may: list[Literal["read", "change"]]


# ---- Answers and events ----


class ProcessState(TypedDict):
    """What a process is, whoever asks."""

    api: Annotated[int, Rule(const=1)]
    version: Annotated[str, "of the library"]
    program: str
    pid: Number
    host: str
    epoch: Epoch
    revision: Revision
    flags: Annotated[Count, "how many are defined"]
    temporary: Annotated[Count, "how many temporary changes are on"]
    startup_over: Annotated[
        bool, "a command line was parsed: from then on only flags with the mark `runtime` change"
    ]
    dropped: Annotated[Count, "how many values of a fleet flags have refused"]


class Process(ProcessState):
    """What a process is."""

    you: Who


class Temporary(TypedDict):
    """That a value is a temporary one."""

    change: Number
    until: Time
    left: Annotated[Seconds, "seconds"]
    below: NotRequired[Annotated[Text, "the value when it ends"]]


class Entry(TypedDict):
    """A value in the history of a flag."""

    value: NotRequired[Value]
    text: NotRequired[Text]
    source: Source
    place: NotRequired[str]
    replaced: bool


class FlagEvent(TypedDict):
    """What happened to a flag."""

    revision: Revision
    at: Time
    name: Name
    kind: Literal["value", "defined", "removed", "frozen"]
    old: NotRequired[Text]
    new: NotRequired[Text]
    source: NotRequired[Source]
    place: NotRequired[str]
    change: NotRequired[Number]
    who: NotRequired[Who]
    reason: NotRequired[str | None]
    until: NotRequired[Time | None]


class FlagState(TypedDict):
    """A flag with its value; if it is sensitive, without."""

    name: Name
    type: Type
    help: str
    items: NotRequired[Annotated[Type, "of a list"]]
    value: NotRequired[
        Annotated[Value, "null: an optional flag without a value; infinities and NaN are text"]
    ]
    text: NotRequired[Annotated[Text, "sets the value again"]]
    default: NotRequired[Value]
    default_text: NotRequired[Text]
    source: Source
    place: NotRequired[Annotated[str, "in the source: a file with the line, a variable, a client"]]
    revision: NotRequired[Revision]
    min: NotRequired[Annotated[float | str, "infinities are text"]]
    max: NotRequired[float | str]
    choices: NotRequired[list[str]]
    unit: NotRequired[Annotated[str, Rule(enum=["bytes", "seconds"])]]
    category: NotRequired[str]
    aliases: NotRequired[list[Name]]
    old_names: NotRequired[list[Name]]
    deprecated: NotRequired[str]
    retired: NotRequired[str]
    metavar: NotRequired[str]
    module: str
    file: str
    line: Annotated[Count, "0: unknown"]
    marks: list[Mark]
    frozen: NotRequired[bool]
    settable: Annotated[bool, "whether a client may change it here"]
    refusal: NotRequired[Annotated[str, "why not"]]
    temporary: NotRequired[Temporary]


class FlagDetails(FlagState):
    """A flag with its history, the current value first, and with its latest changes."""

    history: NotRequired[list[Entry]]
    log: NotRequired[Annotated[list[FlagEvent], "the latest first"]]


class Flag(TypedDict):
    """One flag."""

    epoch: Epoch
    revision: Revision
    flag: FlagDetails


class Flags(TypedDict):
    """All flags, or those that changed after a revision."""

    epoch: Epoch
    revision: Revision
    complete: Annotated[bool, "all flags are here, not only those that changed"]
    flags: list[FlagState]
    removed: Annotated[list[Name], "what is no longer defined"]


class Changed(TypedDict):
    """A flag in a change; a sensitive one has no texts."""

    name: Name
    old: NotRequired[Text]
    new: NotRequired[Text]


class NewlyChanged(Changed):
    """A flag that was just changed."""

    source: Source
    hidden: Annotated[bool, "an override of the program hides the new value"]


class ChangeResult(TypedDict):
    """What a change did."""

    change: Annotated[Number | None, "its number; null in a dry run"]
    revision: Revision
    dry_run: bool
    until: Time | None
    flags: list[NewlyChanged]


class Change(TypedDict):
    """A change by a client."""

    change: Number
    at: Time
    kind: Literal["set", "undo", "fleet"]
    undoes: Number | None
    who: Who
    reason: str | None
    until: Time | None
    state: Literal["on", "kept", "ended", "undone"]
    undoable: Annotated[bool, "whether you can take it back now"]
    flags: list[Changed]


class Changes(TypedDict):
    """The changes by clients, the latest first."""

    epoch: Epoch
    revision: Revision
    changes: list[Change]


# Functions, as `from` is a keyword.
Gap = TypedDict("Gap", {"epoch": Epoch, "from": Revision, "revision": Revision})
FlagEvents = TypedDict(
    "FlagEvents",
    {"epoch": Epoch, "from": Revision, "revision": Revision, "changes": list[FlagEvent]},
)


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
    "flags.get": Flag,
    "flags.set": ChangeResult,
    "changes.list": Changes,
    "changes.undo": ChangeResult,
    "steps.get": {"step": int | None},
    "steps.gate": {"step": int | None},
    "steps.wait": {"step": int | None},
}
"""The results of the methods; an object has at least the fields in braces."""

EVENTS: Mapping[str, Any] = {"hello": Process, "changes": FlagEvents, "gap": Gap}
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
    if type(value) in _plain_types_of(form):
        return None
    kind, kinds = get_origin(form), get_args(form)
    if kind in UNIONS:
        fits = any(find_invalid_field(value, each, name) is None for each in kinds)
        return None if fits else name
    if kind in (list, dict) and isinstance(value, kind):
        parts = value.values() if isinstance(value, dict) else value
        faults = (find_invalid_field(each, kinds[-1], name) for each in parts)
        return next((each for each in faults if each is not None), None)
    return None if form is Any else name


@cache
def _plain_types_of(form: Any) -> frozenset[type]:
    """Return the types of which each value has a form."""
    if get_origin(form) in UNIONS:
        return frozenset().union(*map(_plain_types_of, get_args(form)))
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
