"""The documents of the API that are the gateway's own, as types.

docs/reference/live-api.md describes them. Those of a process are in `live._documents`.
"""
# Without `annotations` of `__future__`, as the description of the API is made from the types.

from typing import Annotated, Literal, NotRequired, TypedDict

from paddle_flags.live._documents import Count, Number, ProcessState, Rule, Seconds, Time, Who
from paddle_flags.live._errors import TITLES
from paddle_flags.live._rest import PROBLEM

_NewValue = str | bool | float | None
_NewValues = Annotated[
    dict[str, _NewValue], "the new values by name; null takes back what was set from outside"
]
_Duration = Annotated[str | float | None, "seconds, or a quantity as 10m; 0.1 s to 30 days"]
_Reason = Annotated[str | None, Rule(maxLength=1000), "at most 1,000 bytes"]
_Confirmed = Annotated[list[str] | None, "unsafe flags that are meant"]
_Patience = Annotated[
    float | None,
    Rule(exclusiveMinimum=0, maximum=3600),
    "seconds to wait for validators and earlier changes",
]


class ProblemPart(TypedDict):
    """One thing that is wrong."""

    name: NotRequired[Annotated[str | None, "null: it is about all of them"]]
    code: NotRequired[Annotated[str | None, Rule(pattern="^PD_[A-Z_]+$")]]
    detail: str
    kind: NotRequired[Annotated[str, Rule(enum=list(TITLES))]]


class Problem(TypedDict):
    """What is wrong with a request (RFC 9457)."""

    type: Annotated[str, Rule(enum=[PROBLEM + each for each in TITLES])]
    title: str
    status: Annotated[int, Rule(minimum=400, maximum=599)]
    detail: str
    errors: NotRequired[Annotated[list[ProblemPart], "all that was wrong"]]
    current: NotRequired[Annotated[dict[str, str | None], "the texts that the flags have, by name"]]


# ---- Processes ----


class ServingProcess(ProcessState):
    """A process that serves its flags."""

    uid: Annotated[int | None, "whose socket it is"]
    socket: Annotated[str, "its path"]


class SilentProcess(TypedDict):
    """One that doesn't answer."""

    pid: Annotated[Count, "by the name of its socket; else 0"]
    uid: Annotated[int | None, "whose socket it is"]
    socket: Annotated[str, "its path"]
    problem: str


class Processes(TypedDict):
    """The processes of a machine."""

    processes: list[ServingProcess | SilentProcess]
    you: Who


ChangeRequest = TypedDict(
    "ChangeRequest",
    {
        "set": NotRequired[Annotated[_NewValues, Rule(maxProperties=1000)]],
        "unset": NotRequired[
            Annotated[
                list[str] | None, Rule(maxItems=1000), "names: take back what was set from outside"
            ]
        ],
        "expect": NotRequired[Annotated[dict[str, _NewValue], "values that the flags must have"]],
        "reason": NotRequired[_Reason],
        "for": NotRequired[_Duration],
        "dry_run": NotRequired[bool | None],
        "confirm": NotRequired[_Confirmed],
        "timeout": NotRequired[_Patience],
    },
)


class UndoRequest(TypedDict, total=False):
    """A change to take back."""

    change: Annotated[Number | None, "its number; left out or null: your last one"]
    reason: _Reason
    dry_run: bool | None
    timeout: _Patience


# ---- Fleets ----


class ListedFleet(TypedDict):
    """A fleet that the gateway shows."""

    fleet: Annotated[Number, "its number"]
    url: Annotated[str, "without a password"]


class Fleets(TypedDict):
    """The fleets of a gateway."""

    fleets: list[ListedFleet]
    you: Who


class MemberAnswer(TypedDict):
    """What a member answers to a change."""

    revision: Count
    state: Annotated[
        str,
        "accepted, applied, rejected, needs a restart, held, pending, ended or waits for its step",
    ]
    why: str
    missing: Annotated[list[str], "flags that are not defined there"]


class Member(TypedDict):
    """A member of a fleet."""

    name: str
    state: Literal["current", "behind", "slow", "gone", "left", "missing", "lost"]
    role: str | None
    rank: Count | None
    host: str
    pid: Count | None
    revision: Annotated[Count, "the last one that it has read"]
    step: Count | None
    why: Annotated[str, "of the state"]
    answers: Annotated[list[MemberAnswer], "its latest answers to changes"]
    problems: Annotated[
        list[MemberAnswer],
        "those to changes that did not take effect in it and that later ones have not replaced",
    ]


class Holders(TypedDict):
    """Members that have the same value of a flag."""

    value: Annotated[str | None, "null: it isn't defined, or is sensitive"]
    source: str
    members: list[str]


class DifferingFlag(TypedDict):
    """A flag in which members differ."""

    name: Annotated[str, "of the flag, or $NAME of an environment variable"]
    sensitive: bool
    holders: list[Holders]


class Assignment(TypedDict):
    """A value of one flag in a change."""

    on: Annotated[str, "all, role:ROLE, host:HOST or member:NAME"]
    name: str
    value: Annotated[str | None, "null: taken back, or sensitive"]


FleetChange = TypedDict(
    "FleetChange",
    {
        "revision": Number,
        "at": Time | None,
        "by": str,
        "reason": str,
        "state": Literal["committed", "undecided", "aborted", "dry run", "ended"],
        "verdict": Annotated[str, "with the reason"],
        "for": Annotated[Seconds | None, "seconds"],
        "at_step": Count | None,
        "ends": Annotated[Number | None, "the revision of the temporary change that is over"],
        "changes": list[Assignment],
    },
)
FleetValue = TypedDict(
    "FleetValue",
    {
        "on": str,
        "name": str,
        "value": str | None,
        "revision": Count,
        "by": str,
        "reason": str,
        "for": Annotated[Seconds | None, "seconds"],
        "at_step": Count | None,
    },
)


class Fleet(TypedDict):
    """What the gateway has seen of a fleet last."""

    url: Annotated[str, "without a password"]
    fleet: Annotated[str, "the identity of its log; empty: nothing was written yet"]
    revision: Count
    ok: Annotated[bool, "all members are here and have taken everything, and no flag differs"]
    age: Annotated[Seconds | None, "seconds since this was seen; null: nothing was seen yet"]
    problem: Annotated[str, "why nothing newer is seen"]
    count: Annotated[Count, "how many members are known, absent ones too"]
    present: Annotated[Count, "how many of them are here"]
    members: Annotated[list[Member], "at most 1000"]
    differing: Annotated[Count, "how many flags differ"]
    differences: Annotated[list[DifferingFlag], "at most 500"]
    changes: Annotated[list[FleetChange], "the last 20, the latest first"]
    values: Annotated[list[FleetValue], "what the fleet says, at most 1000"]


FleetChangeRequest = TypedDict(
    "FleetChangeRequest",
    {
        "set": _NewValues,
        "reason": Annotated[str, Rule(minLength=1, maxLength=1000), "at most 1,000 bytes"],
        "role": NotRequired[Annotated[str | None, "for members of this role"]],
        "host": NotRequired[Annotated[str | None, "for members of this host"]],
        "member": NotRequired[Annotated[str | None, "for this member"]],
        "for": NotRequired[_Duration],
        "at_step": NotRequired[Annotated[Count | None, "the step at whose begin it happens"]],
        "expect": NotRequired[
            Annotated[
                Count | None,
                "the last revision that was seen: nothing changes if flags were changed since",
            ]
        ],
        "force": NotRequired[
            Annotated[
                bool | None,
                "don't ask the members first: those that can't take it keep their values",
            ]
        ],
        "dry_run": NotRequired[Annotated[bool | None, "only ask the members"]],
        "confirm": NotRequired[_Confirmed],
        "wait": NotRequired[
            Annotated[
                float | None,
                Rule(minimum=0, maximum=30),
                "seconds to wait for the members, by default 5",
            ]
        ],
    },
)


class Answered(TypedDict):
    """A member that has answered."""

    name: str
    state: str
    why: str


class Silent(TypedDict):
    """A member that hasn't."""

    name: str
    why: str


class FleetChangeResult(TypedDict):
    """What became of changes for a fleet."""

    revision: Number
    verdict: Annotated[str, "committed or dry run"]
    ok: Annotated[bool, "it took effect in all members that it concerns"]
    members: Annotated[
        list[Answered], "that have answered: to the question, or, if there was time, to the change"
    ]
    silent: Annotated[list[Silent], "that have not"]
    is_checked: Annotated[
        bool, "the members were asked first; not with force, or if there are none"
    ]
