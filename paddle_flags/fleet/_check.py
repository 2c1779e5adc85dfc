"""The barrier at the start of a job: all members are here, and have the same flags."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet import _document
from paddle_flags.fleet._difference import Difference, differences_of, shown_all
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from paddle_flags.fleet._presence import Presence

_POLL = 0.1
_GRACE = 10.0  # seconds for others to see that all is well, or to say what they have

Documents = dict[str, dict[str, Any]]

HERE = 1  # the member has reached the barrier
DETAILS = 2  # there is a difference, and this member has published what it has
PASSED = 3  # this member has seen that all have the same


class CheckError(FleetError):
    """Members of a fleet differ, or are missing. `differences` has all that was found."""

    __module__ = "paddle_flags.fleet"

    differences: tuple[Difference, ...] = ()
    """One for each flag or environment variable."""
    missing: tuple[str, ...] = ()
    """Members that were expected and did not come, as far as anybody knows them."""


class Barrier:
    """One call of `check`.

    Members count their calls. One that was started again passes where the others have passed:
    their documents still say so, and what they have now.
    """

    def __init__(
        self, member: Presence, environment: list[str], expect: int | None, timeout: float
    ) -> None:
        self._member = member
        self._patterns = environment
        self._expect = expect
        self._deadline = time.monotonic() + timeout
        self._timeout = timeout
        self._facts = member.facts()
        self._variables = _document.variables_of(environment, member.secrets())
        self._round = member.next_check()

    def wait(self) -> None:
        """Wait for the others and compare; raise CheckError."""
        self._publish(HERE)
        documents = self._wait_for(HERE)
        while not self._are_alike(documents):
            if self._late() or _one_revision(documents):
                self._raise(self._with_details(documents))
                return
            documents = self._look()  # a change is on its way to some of them
            self._publish(HERE)
        self._publish(PASSED)
        self._linger(set(documents))

    def _publish(self, stage: int) -> None:
        self._facts = self._member.facts()
        said: dict[str, Any] = {
            "round": self._round,
            "stage": stage,
            "environment": _document.digest(self._variables),
            "patterns": self._patterns,
            "expect": self._expect,
        }
        if stage == DETAILS:
            said["values"] = {name: list(fact) for name, fact in self._facts.items()}
        if stage >= DETAILS:
            said["variables"] = self._variables
        self._member.publish({"check": said})

    def _look(self) -> Documents:
        time.sleep(_POLL)
        return {n: d for n, d in self._member.documents().items() if self._stage(d) >= HERE}

    def _stage(self, document: dict[str, Any]) -> int:
        """Return how far a member is in this call, the first one or the second."""
        check = document.get("check")
        if not isinstance(check, dict) or check.get("round", 0) < self._round:
            return 0
        return PASSED if check["round"] > self._round else int(check.get("stage", 0))

    def _late(self) -> bool:
        return time.monotonic() >= self._deadline

    def _wait_for(self, stage: int) -> Documents:
        """Wait until as many members as expected are here; raise CheckError in the end."""
        while True:
            every = self._member.documents()
            here = {name: each for name, each in every.items() if self._stage(each) >= stage}
            wanted = len(every) if self._expect is None else self._expect
            if len(here) >= wanted and here:
                return here
            if self._late():
                raise self._missing(every, here)
            time.sleep(_POLL)

    def _missing(self, every: Documents, here: Documents) -> CheckError:
        slow = sorted(every.keys() - here.keys())
        absent = _absent_ranks(every, self._expect)
        parts = [f"{name} is a member and has not called check" for name in slow]
        parts += [f"{each} has not joined" for each in absent]
        count = f"{len(here)} of {self._expect or len(every)} members are here"
        why = "; ".join(parts) or "nothing says who is missing"
        message = f"{self._member.url}: {count} after {self._timeout:g} s: {why}"
        error = CheckError(message)
        error.missing = (*slow, *absent)
        return error

    def _are_alike(self, documents: Documents) -> bool:
        if not _one_revision(documents):
            return False
        if len({(d.get("digest"), json.dumps(d.get("selected"))) for d in documents.values()}) > 1:
            return False
        if len({d["check"].get("environment") for d in documents.values()}) > 1:
            return False
        return not differences_of(documents, among=_selected(documents))

    def _with_details(self, documents: Documents) -> Documents:
        """Say what this member has, and wait a moment until the others have said it."""
        self._publish(DETAILS)
        end = min(time.monotonic() + _GRACE, max(self._deadline, time.monotonic() + _POLL))
        names = documents.keys()
        while True:
            now = self._look()
            told = {name: each for name, each in now.items() if self._stage(each) == DETAILS}
            documents = {**documents, **told}
            silent = [name for name in names & now.keys() if self._stage(now[name]) == HERE]
            if not silent or time.monotonic() >= end:
                time.sleep(3 * _POLL)  # others have yet to see what this member said last
                all_told = all(self._stage(each) == DETAILS for each in documents.values())
                return documents if all_told else _without_details(documents)

    def _raise(self, documents: Documents) -> None:
        found = differences_of(documents)
        lines = shown_all(found)
        if not found:
            lines = ["their digests differ, and they did not say why in time"]
        message = "\n  ".join([f"{self._member.url}: the members differ:", *lines])
        error = CheckError(message)
        error.differences = tuple(found)
        raise error

    def _linger(self, names: set[str]) -> None:
        """Stay until the others have seen this member, so that nobody misses one that ends soon."""
        end = time.monotonic() + _GRACE
        while time.monotonic() < end:
            now = self._member.documents()
            left = [n for n in names & now.keys() if self._stage(now[n]) == HERE]
            if not left:
                return
            time.sleep(_POLL)


def _without_details(documents: Documents) -> Documents:
    """Return what members say all the time: some have passed, and don't list their defaults."""
    found = {}
    for name, each in documents.items():
        check = {key: value for key, value in each["check"].items() if key != "values"}
        found[name] = {**each, "check": check}
    return found


def _one_revision(documents: Documents) -> bool:
    return len({each.get("revision") for each in documents.values()}) == 1


def _selected(documents: Documents) -> set[str]:
    return {name for each in documents.values() for name in each.get("selected", ())}


def _absent_ranks(every: Documents, expect: int | None) -> list[str]:
    """Return the ranks that nobody has."""
    ranks: dict[str, set[int]] = {}
    for each in every.values():
        if isinstance(each.get("rank"), int):
            ranks.setdefault(each.get("role") or "rank", set()).add(each["rank"])
    if len(ranks) != 1 or expect is None:
        return []
    [(role, present)] = ranks.items()
    return [f"{role} {rank}" for rank in range(expect) if rank not in present]
