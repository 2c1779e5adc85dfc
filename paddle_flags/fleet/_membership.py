"""What a program sees of its membership in a fleet."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._core.frames import public_class
from paddle_flags.errors import FlagTypeError
from paddle_flags.fleet import _role
from paddle_flags.fleet._arguments import check_choice, check_count, check_seconds
from paddle_flags.fleet._clock import SYSTEM, Clock
from paddle_flags.fleet._document import documents_of
from paddle_flags.fleet._member import Member
from paddle_flags.fleet._record import check_text
from paddle_flags.fleet._state import Selected, State
from paddle_flags.fleet._store import check_name

if TYPE_CHECKING:
    from typing import Literal

    from paddle_flags.fleet._flags import Answer, Flags
    from paddle_flags.fleet._store import Store

    OnLost = Literal["keep", "default", "exit"]
    OnLate = Literal["raise", "keep"]

_BIGGEST_RANK = (1 << 31) - 1


class Options(NamedTuple):
    """What a member was asked for."""

    name: str
    role: str | None
    rank: int | None
    world: int | None
    ttl: float = 10.0
    on_lost: OnLost = "keep"
    on_late: OnLate = "raise"
    tick_timeout: float = 60.0
    snapshot: str | None = None
    key: bytes | None = None
    observe: bool = False


def options_of(
    role: str | None,
    rank: int | None,
    name: str | None,
    key: str | bytes | None = None,
    **others: Any,
) -> Options:
    """Return what a member is, by what it is given and by the variables of its launcher."""
    for parameter, text in (("role", role), ("name", name)):
        if text is not None:
            check_text(parameter, text)
    check_count("rank", rank, _BIGGEST_RANK)
    place = _role.place_of()
    role = place.role if role is None else role
    rank = place.rank if rank is None else rank
    name = check_name(_role.name_for(role, rank) if name is None else name)
    options = Options(name, role, rank, place.world, key=_key_of(key), **others)
    check_seconds("ttl", options.ttl, needed=True)
    check_seconds("tick_timeout", options.tick_timeout, needed=True)
    check_choice("on_lost", options.on_lost, ("keep", "default", "exit"))
    check_choice("on_late", options.on_late, ("raise", "keep"))
    return options


def _key_of(key: str | bytes | None) -> bytes | None:
    given = os.environ.get("PADDLE_FLAGS_FLEET_KEY") if key is None else key
    if not isinstance(given, (str, bytes, type(None))):
        message = f"key: expected text or bytes, not {type(given).__name__}"
        raise FlagTypeError(message)
    data = given.encode("utf-8", "surrogateescape") if isinstance(given, str) else given
    return data or None


@public_class
class Membership:
    """This process as a member of a fleet, until `leave` or its end.

    It comes from `paddle_flags.fleet.join`. A forked child has the values, but is no member: the
    thread that follows the fleet isn't in it. It may join itself. Any thread may use a Membership.
    """

    def __init__(self, store: Store, options: Options, flags: Flags, clock: Clock = SYSTEM) -> None:
        self._store = store
        self._options = options
        self._flags = flags
        self._clock = clock
        self._lock = clock.lock()  # of the member, and of what is published
        self._stopped = False
        self._problem = ""
        self._note = ""
        self._file_problem = ""
        self._lost_since: float | None = None
        self._host = _role.host_name()
        self._member = self._new_member()

    def _new_member(self, state: State | None = None) -> Member:
        selected = Selected(self._options.name, self._options.role, self._host)
        member = Member(self._store, selected, self._flags, state=state, clock=self._clock)
        member.counts_elsewhere = self._counts_elsewhere
        return member

    def _counts_elsewhere(self, revision: int) -> bool:
        """Return whether another member has seen a temporary value begin."""
        others = documents_of(self._store)
        others.pop(self.name, None)
        return any(revision in each.get("counting", ()) for each in others.values())

    def __repr__(self) -> str:
        state = "left" if self._stopped else f"revision {self.revision}"
        return f"<Membership of {self.name} in {self.url}: {state}>"

    @property
    def url(self) -> str:
        """The fleet, without a password."""
        return self._store.url

    @property
    def name(self) -> str:
        """By which operators know this member."""
        return self._options.name

    @property
    def role(self) -> str | None:
        """Such as `"trainer"`; None if nothing says it."""
        return self._options.role

    @property
    def rank(self) -> int | None:
        """The number among the processes of the role; None if nothing says it."""
        return self._options.rank

    @property
    def world(self) -> int | None:
        """How many processes the job has; None if nothing says it."""
        return self._options.world

    @property
    def host(self) -> str:
        """The name of this machine."""
        return self._host

    @property
    def revision(self) -> int:
        """The last revision of the fleet that was read."""
        return self._member.state.revision

    @property
    def values(self) -> dict[str, str]:
        """The texts that the fleet gives to this process, by flag."""
        return {name: entry.value for name, entry in self._member.values.items()}

    @property
    def answers(self) -> dict[int, Answer]:
        """What became of the latest changes here, by revision."""
        return dict(self._member.answers)

    @property
    def stale(self) -> float | None:
        """For how many seconds the engine has been out of reach; None: it answers."""
        since = self._lost_since
        return None if since is None else self._clock.now() - since

    @property
    def problem(self) -> str:
        """What keeps the member from following the fleet, or `""`."""
        return self._problem + self._note if self._problem else self._file_problem

    @property
    def left(self) -> bool:
        """Whether this process is no member any longer."""
        return self._stopped
