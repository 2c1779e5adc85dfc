"""The barrier at the start of a job: all members are here, and have the same flags.

The first member that comes reads the documents of all and compares them. What it has found is a
record of the log, which all others read: so a check costs as many reads as there are members.
Members that may not write the log compare each for itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet import _document, _flags
from paddle_flags.fleet._difference import Difference, Holder, differences_of, shown_all
from paddle_flags.fleet._record import CHECK, TELL, Record
from paddle_flags.fleet._status import answers_of
from paddle_flags.fleet._store import FleetError, ReadOnlyError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from paddle_flags.fleet._clock import Clock
    from paddle_flags.fleet._presence import Presence

_POLL = 0.1  # seconds between two looks at what was read of the log
_LOOK = 0.002  # seconds for each member between two looks at all documents
_GRACE = 10.0  # seconds for others to say what they have, after a difference was found
_LONGEST = 1 << 16  # bytes of the differences that a record has
_MOST_LISTED = 64  # members with one value: all members read the record

Documents = dict[str, dict[str, Any]]

# Stages of a check, as records have them.
COMPARES = "compares"  # a member compares for all
ALIKE = "alike"
DIFFERENT = "different"


class CheckError(FleetError):
    """Members of a fleet differ, or are missing. `differences` has all that was found."""

    __module__ = "paddle_flags.fleet"

    differences: tuple[Difference, ...] = ()
    """One for each flag or environment variable. Of many members with one value, 64 are listed."""
    missing: tuple[str, ...] = ()
    """Members that were expected and did not come, as far as anybody knows them."""

    def __str__(self) -> str:
        """Return the message and a line for each difference; all is escaped."""
        return "\n  ".join([super().__str__(), *(str(FleetError(each)) for each in self.args[1:])])


class Barrier:
    """One call of `check`.

    Members count their calls. One that was started again passes where the others have passed, if it
    has what they have.
    """

    def __init__(
        self,
        member: Presence,
        environment: list[str],
        expect: int | None,
        timeout: float,
        clock: Clock,
    ) -> None:
        self._member = member
        self._patterns = environment
        self._expect = expect
        self._clock = clock
        self._deadline = clock.now() + timeout
        self._timeout = timeout
        self._round = member.next_check()
        self._since = 0
        self._alone: dict[str, Any] = {}  # what was found here, if it can't be written

    def wait(self) -> None:
        """Wait for the others and compare; raise CheckError."""
        self._publish()
        self._since = self._member.revision
        seen_alive = self._clock.now()
        while True:
            said = self._heard()
            stage, who = said.get("stage"), said.get("who")
            if stage in (ALIKE, DIFFERENT):
                self._conclude(said)
                return
            if who == self._member.name:
                self._compare()
                continue
            if self._clock.now() >= self._deadline:
                raise self._missing(self._member.documents())
            if who is None or self._is_gone(who, seen_alive):
                self._offer(said)
                seen_alive = self._clock.now()
            self._clock.sleep(_POLL)

    def _is_gone(self, who: str, seen: float) -> bool:
        """Return whether the member that compares has gone; it is looked at once a lease."""
        if self._clock.now() - seen < self._member.ttl:
            return False
        return _document.document_of(self._member.store, who) is None

    def _heard(self) -> Mapping[str, Any]:
        """Return what was said last about this check; {}: nothing."""
        if self._alone:
            return self._alone
        for revision, record in reversed(self._member.notes()):
            said: Mapping[str, Any] = record.check
            if said.get("round") != self._round:
                continue
            if said.get("stage") == COMPARES or revision > self._since:
                return said
            return {}  # of a check before this process began
        return {}

    def _offer(self, heard: Mapping[str, Any]) -> None:
        """Compare for all, unless another one has said that it does since `heard`."""
        self._say(COMPARES, lambda: self._heard() == heard)

    def _say(self, stage: str, is_wanted: Callable[[], bool] = lambda: True, **more: Any) -> None:
        said = {"round": self._round, "stage": stage, "who": self._member.name, **more}
        try:
            self._member.write(Record(CHECK, by=self._member.name, check=said), is_wanted)
        except ReadOnlyError:
            self._alone = said

    def _publish(self) -> None:
        variables = self._member.variables(self._patterns)
        digest = _document.digest(variables)
        self._member.publish({"round": self._round, "environment": digest, "expect": self._expect})

    # ---- The one that compares ----

    def _compare(self) -> None:
        """Compare the documents of all, and say what was found."""
        while True:
            documents = self._gather()
            if _are_alike(documents) and not _rejections(documents):
                own = documents[self._member.name]
                self._say(ALIKE, **_facts_of(own))
                return
            if _is_settled(documents) or self._clock.now() >= self._deadline:
                break
            self._clock.sleep(_POLL)
        rejections = _rejections(documents)
        found = [] if _are_alike(documents) else differences_of(self._with_details(documents))
        lines = [*rejections, *shown_all(found)]
        if not lines:
            lines = ["their digests differ, and they did not say why in time"]
        self._say(DIFFERENT, lines=lines, differences=_cut(found))

    def _gather(self) -> Documents:
        """Wait until as many members as expected are here; raise CheckError in the end."""
        while True:
            every = self._member.documents()
            here = {name: each for name, each in every.items() if self._is_here(each)}
            wanted = len(every) if self._expect is None else self._expect
            if len(here) >= wanted and here:
                return here
            if self._clock.now() >= self._deadline:
                error = self._missing(every)
                self._say(DIFFERENT, lines=[str(error)], missing=list(error.missing))
                raise error
            self._clock.sleep(max(_POLL, _LOOK * len(every)))

    def _is_here(self, document: Mapping[str, Any]) -> bool:
        check = document.get("check", {})
        return int(check.get("round", 0)) >= self._round

    def _with_details(self, documents: Documents) -> Documents:
        """Let all say what they have, and wait a moment for it."""
        self._say(TELL, environment=self._patterns)
        asked = 0 if self._alone else self._member.revision
        if self._alone:  # as all others do that find the difference
            self._member.publish_details(asked, self._patterns)
        end = self._clock.now() + _GRACE
        while True:
            every = self._member.documents()
            now = {name: each for name, each in every.items() if name in documents}
            told = [n for n, each in now.items() if each["details"].get("of", -1) >= asked]
            whole = len(told) == len(now) and _is_settled(now)
            if whole or self._clock.now() >= end:
                return {name: now[name] for name in told} if len(told) > 1 else now
            self._clock.sleep(max(_POLL, _LOOK * len(now)))

    def _missing(self, every: Documents) -> CheckError:
        here = {name for name, each in every.items() if self._is_here(each)}
        slow = sorted(every.keys() - here)
        absent = _absent_ranks(every, self._expect)
        parts = [f"{name} is a member and has not called check" for name in slow]
        parts += [f"{each} has not joined" for each in absent]
        count = f"{len(here)} of {self._expect or len(every)} members are here"
        why = "; ".join(parts) or "nothing says who is missing"
        error = CheckError(f"{self._member.url}: {count} after {self._timeout:g} s: {why}")
        error.missing = (*slow, *absent)
        return error

    # ---- All others ----

    def _conclude(self, said: Mapping[str, Any]) -> None:
        """Return if all is well, or raise CheckError."""
        if said.get("stage") == ALIKE:
            alike = {key: said.get(key) for key in _FACTS}
            if any(_facts_of(each) == alike for each in self._member.compared()):
                return  # also if a change has come since
            self._say(COMPARES)  # this one was not among those that were compared
            self._since = self._member.revision
            self._compare()
            self._conclude(self._heard())
            return
        lines = [str(each) for each in said.get("lines", ())]
        missing = tuple(str(each) for each in said.get("missing", ()))
        if missing:
            error = CheckError("; ".join(lines))
        else:
            error = CheckError(f"{self._member.url}: the members differ:", *lines)
        error.missing = missing
        error.differences = tuple(
            Difference(name, tuple(Holder(v, s, tuple(m)) for v, s, m in holders))
            for name, holders in said.get("differences", ())
        )
        raise error


_FACTS = ("digest", "selected", "environment")


def _facts_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be the same in all members."""
    environment = document.get("check", {}).get("environment", "")
    selected = document.get("selected", [])
    return {"digest": document.get("digest"), "selected": selected, "environment": environment}


def _is_settled(documents: Documents) -> bool:
    """Return whether no change is on its way to some of the members."""
    return len({each.get("changed") for each in documents.values()}) == 1


def _are_alike(documents: Documents) -> bool:
    if len({json.dumps(_facts_of(each)) for each in documents.values()}) > 1:
        return False
    selected = {name for each in documents.values() for name in each.get("selected", ())}
    return not differences_of(documents, among=selected)


def _rejections(documents: Documents) -> list[str]:
    """Return the values of the fleet that members could not take."""
    return [
        f"{name}: revision {revision}: rejected: {answer.why}"
        for name, document in sorted(documents.items())
        for revision, answer in sorted(answers_of(document).items())
        if answer.state == _flags.REJECTED and revision in document.get("standing", ())
    ]


def _cut(found: list[Difference]) -> list[Any]:
    """Return differences as JSON, as many as a record has room for."""
    listed: list[Any] = []
    size = 0
    for name, holders in found:
        each = [name, [[v, s, members[:_MOST_LISTED]] for v, s, members in holders]]
        size += len(json.dumps(each))
        if size > _LONGEST:
            break
        listed.append(each)
    return listed


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
