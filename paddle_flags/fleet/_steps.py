"""Steps of a program's loop: changes that are to happen at one step wait here."""

from __future__ import annotations

from paddle_flags.fleet._store import FleetError

NEVER = float("inf")


class TickTimeoutError(FleetError):
    """A change was to happen at this step, and nobody decided in time whether it does."""

    __module__ = "paddle_flags.fleet"


class Steps:
    """The step that a program has reached, and the next one at which something is to happen.

    `reach` and `close` may run at the same moment: each writes first and looks then, so at least
    one of them sees the other.
    """

    function = "fleet.tick"
    """By which a program begins a step."""

    def __init__(self) -> None:
        self.last: int | None = None
        """The last step that the program has begun; None: it counts none."""
        self.gate: float = NEVER
        """A tick of this step or a later one must look what is to be done; see `move_gate`."""

    def move_gate(self, step: float) -> None:
        """Let ticks of a step and later ones look what is to be done; raise FleetError."""
        self.gate = step

    def reach(self, step: int) -> bool:
        """Note a step; return whether there is something to be done first."""
        if self.last is None or step > self.last:
            self.last = step
        return step >= self.gate

    def close(self, step: int) -> str:
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
