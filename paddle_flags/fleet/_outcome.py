"""What became of a change: the answers of the members."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from paddle_flags.fleet import _flags

if TYPE_CHECKING:
    from paddle_flags.fleet._flags import Answer


class Outcome(NamedTuple):
    """What became of a change, as far as its writer waited for it."""

    revision: int
    """Of the change; 0 if nothing had to be changed."""
    verdict: str
    """`"committed"`, `"dry run"`, or `"aborted"` with the reason."""
    answers: dict[str, Answer]
    """By member, of those that the change concerns and that have answered."""
    silent: dict[str, str]
    """By member, why there is no answer: it is slow, or gone."""
    is_checked: bool = True
    """Whether the members were asked first. They aren't by force, and if there are none."""

    @property
    def ok(self) -> bool:
        """Whether the change took effect in all members that it concerns, as far as is known.

        Values that are pending have done so if they aren't pending in all members.
        """
        return (
            not self.silent
            and not self.verdict.startswith("aborted")
            and not self.unknown
            and all(answer.state in _flags.GOOD for answer in self.answers.values())
        )

    @property
    def unknown(self) -> bool:
        """Whether no member that has answered has defined all the flags: a name may be misspelt."""
        states = {answer.state for answer in self.answers.values()}
        return states == {_flags.PENDING}
