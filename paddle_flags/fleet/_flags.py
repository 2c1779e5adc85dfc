"""The flags of the program that a member stands for, as the rules of a fleet see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from paddle_flags.fleet._state import ENDED, Entry
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paddle_flags.fleet._document import Facts
    from paddle_flags.fleet._record import Record

Values = dict[str, Entry]

APPLIED = "applied"
ACCEPTED = "accepted"
REJECTED = "rejected"
RESTART = "needs a restart"
HELD = "held"
PENDING = "pending"
WAITS = "waits for its step"

NEVER = float("inf")
_LONGEST = 1000  # characters of a reason

GOOD = (APPLIED, ACCEPTED, ENDED, PENDING, WAITS)  # an operator has nothing to do


class Answer(NamedTuple):
    """What a member answers to one change, or to the question whether it would take it."""

    state: str
    """`"applied"`; `"accepted"`: it would be; `"rejected"`, `"needs a restart"`; `"held"` by a
    value of higher rank; `"pending"` until its flag is defined; `"waits for its step"`; `"ended"`.
    """
    why: str = ""
    missing: tuple[str, ...] = ()
    """Names of flags that aren't defined, if it is pending."""


class Traits(NamedTuple):
    """What a member must know of a flag that is defined."""

    source: str  # of its value
    sensitive: bool
    closed: bool  # whether its value can't change any more in this process
    definition: object
    """Equal as long as nobody has defined it anew, or added or removed a validator."""


class TickTimeoutError(FleetError):
    """A change was to happen at this step, and nobody decided in time whether it does."""

    __module__ = "paddle_flags.fleet"


class Steps:
    """The step that a program has reached, and the next one at which something is to happen.

    `reach_and_test_gate` and `close_gate_at` may run at the same moment: each writes first and
    looks then, so at least one of them sees the other.
    """

    function = "fleet.tick"  # by which a program begins a step

    def __init__(self) -> None:
        self.last: int | None = None  # the last step that has begun; None: it counts none
        self.gate: float = NEVER  # from which step on a tick must look what is to be done

    def move_gate(self, step: float) -> None:
        """Let ticks of a step and later ones look what is to be done; raise FleetError."""
        self.gate = step

    def reach_and_test_gate(self, step: int) -> bool:
        """Note a step; return whether there is something to be done first."""
        if self.last is None or step > self.last:
            self.last = step
        return step >= self.gate

    def close_gate_at(self, step: int) -> str:
        """Let ticks of `step` and later ones wait; return why that is impossible, or ""."""
        before = self.gate
        self.move_gate(min(before, step))
        last = self.last
        if last is not None and last < step:
            return ""
        self.move_gate(before)
        if last is None:
            return f"counts no steps: it doesn't call {self.function}"
        return f"has begun step {last}"

    def is_reached(self, step: int | None) -> bool:
        """Return whether the program has begun a step; None is before all steps."""
        return step is None or (self.last is not None and self.last >= step)


def join_errors(errors: Iterable[object]) -> str:
    """Return errors as a reason of at most 1,000 characters."""
    text = "; ".join(map(str, errors))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def text_in(values: Values, name: str) -> str | None:
    """Return the text that values have for a flag; None if there is none."""
    return values[name].value if name in values else None


class Flags(Protocol):
    """The flags of a program. All methods are called by one thread at a time."""

    is_ticking: bool  # whether it has begun its steps: then it runs, and not all flags can change
    steps: Steps

    @property
    def pid(self) -> int:
        """The process of the program."""
        ...

    @property
    def fleet_values(self) -> Values:
        """What the program has of a fleet, also from before it became a member."""
        ...

    def collect_public_facts(self, key: bytes | None) -> Facts:
        """Return what other members may know of the flags; `key` is for sensitive ones."""
        ...

    def read_flag_traits(self, names: Iterable[str]) -> dict[str, Traits]:
        """Return what is known of those that are defined."""
        ...

    def explain_undefined_flag(self, name: str) -> str:
        """Return why there is no flag of this name, with the nearest one that there is."""
        ...

    def check(self, values: Values) -> str | None:
        """Return why these can't be all values of the fleet; None: they can. Nothing changes."""

    def replace(self, values: Values, about: Record | None, trail: Sequence[Values]) -> str | None:
        """Make these all values of the fleet, or return why that is impossible.

        `about` is the change that was read last, which may have taken values back; None: an end.
        `trail` has the values after each change, up to these: a flag that refuses the last has the
        one before.
        """

    def terminate_program(self) -> None:
        """Send it SIGTERM."""

    def count_dropped_values(self) -> int:
        """Return how many values of the fleet a definition or a validator has refused so far."""
        ...
