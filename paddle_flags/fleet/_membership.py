"""What a program sees of its membership in a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._core.frames import public_class
from paddle_flags.fleet import _role
from paddle_flags.fleet._clock import SYSTEM, Clock
from paddle_flags.fleet._member import Member
from paddle_flags.fleet._state import Selected, State

if TYPE_CHECKING:
    from typing import Literal

    from paddle_flags.fleet._flags import Answer, Flags
    from paddle_flags.fleet._store import Store

    OnLost = Literal["keep", "default", "exit"]
    OnLate = Literal["raise", "keep"]


class Options(NamedTuple):
    """What a member was asked for."""

    name: str
    role: str | None
    rank: int | None
    world: int | None
    ttl: float
    on_lost: OnLost
    on_late: OnLate
    tick_timeout: float
    snapshot: str | None
    key: bytes | None
    observe: bool = False


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
        raise NotImplementedError

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
        return self._member.revision

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
