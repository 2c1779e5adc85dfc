"""The barrier at the start of a job: all members are here, and have the same flags.

The first member that comes compares the documents of all, and writes what it has found into the
log, for all others. Members that may not write the log compare each for itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet import _document
from paddle_flags.fleet._clock import SYSTEM, Clock
from paddle_flags.fleet._document import UNCHECKED, Difference, Documents, Holder, read_alive
from paddle_flags.fleet._flags import REJECTED
from paddle_flags.fleet._record import CHECK, TELL, Record
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from paddle_flags.fleet._membership import Membership

_POLL = 0.1  # seconds between two looks at what was read of the log
_LOOK = 0.002  # seconds for each member between two looks at all documents
_GRACE = 10.0  # seconds for others to say what they have, after a difference was found
_LONGEST = 1 << 16  # bytes of the differences that a record has
_MOST_LISTED = 64  # members with one value: all members read the record

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


@dataclass
class Barrier:
    """One call of `check`.

    Members count their calls. One that was started again passes where the others have passed, if it
    has what they have.
    """

    _member: Membership
    _patterns: list[str]  # of environment variables
    _expect: int | None
    _timeout: float
    _clock: Clock = SYSTEM

    def wait(self) -> None:
        """Wait for the others and compare; raise CheckError."""
        self._deadline = self._clock.monotonic() + self._timeout
        self._round = self._member.announce_check(self._patterns, self._expect)
        self._since = self._member.revision  # records up to here are of an earlier process
        seen_alive = self._clock.monotonic()
        while True:
            note = self._find_latest_note()
            stage, who = note.get("stage"), note.get("who")
            if stage == DIFFERENT:
                raise self._error_of(note)
            if stage == ALIKE and self._is_confirmed_by(note):
                return  # also if a change has come since
            if who == self._member.name and stage != ALIKE:
                self._compare_and_write()
                continue
            if stage != ALIKE and self._clock.monotonic() >= self._deadline:
                every = read_alive(self._member.store)
                raise self._missing_error(every, self._expect or len(every))
            if who is None or stage == ALIKE or self._is_gone(who, seen_alive):
                self._try_to_lead_comparison(note)
                seen_alive = self._clock.monotonic()
            self._clock.sleep(_POLL)

    def _is_confirmed_by(self, note: Mapping[str, Any]) -> bool:
        """Return whether this member is like those that were compared, and enough were."""
        is_alike = not {note.get("digest"), UNCHECKED}.isdisjoint(self._member.compared)
        return is_alike and note.get("count", 0) >= (self._expect or 0)

    def _is_gone(self, who: str, seen: float) -> bool:
        """Return whether the member that compares has gone; it is looked at once a lease."""
        is_due = self._clock.monotonic() - seen >= self._member.ttl
        return is_due and _document.read_if_alive(self._member.store, who) is None

    def _find_latest_note(self) -> Mapping[str, Any]:
        """Return what was written last about this check; {}: nothing."""
        notes = [each for each in self._member.notes if each.check.get("round") == self._round]
        if notes and (notes[-1].check.get("stage") == COMPARES or notes[-1].revision > self._since):
            return notes[-1].check
        return {}

    def _try_to_lead_comparison(self, note: Mapping[str, Any]) -> None:
        """Compare for all, unless another one has written that it does since `note`."""
        self._write_note(COMPARES, lambda: self._find_latest_note() == note)

    def _write_note(
        self, stage: str, is_wanted: Callable[[], bool] = lambda: True, **more: Any
    ) -> None:
        note = {"round": self._round, "stage": stage, "who": self._member.name, **more}
        self._member.write_note(Record(CHECK, by=self._member.name, check=note), is_wanted)

    def _compare_and_write(self) -> None:
        """Compare the documents of all, and write what was found."""
        while True:
            here = self._wait_for_members()
            documents = {n: each for n, each in here.items() if each.get("digest") != UNCHECKED}
            is_alike, lines = _has_no_differences(documents), _rejections(documents)
            if is_alike and not lines:
                digest = next(iter(_digests_of(documents)), UNCHECKED)
                self._write_note(ALIKE, digest=digest, count=len(here))
                return
            if _document.is_settled(documents) or self._clock.monotonic() >= self._deadline:
                break
            self._clock.sleep(_POLL)
        found = [] if is_alike else _document.diff_members(self._request_details(documents))
        lines += _document.summarize_differences(found)
        if not lines:
            lines = ["their digests differ, and they did not say why in time"]
        self._write_note(DIFFERENT, lines=lines, differences=_make_holder_rows(found))

    def _wait_for_members(self) -> Documents:
        """Wait until as many members as expected are here; raise CheckError in the end."""
        while True:
            every = read_alive(self._member.store)
            here = {name: each for name, each in every.items() if self._has_reached_round(each)}
            expected = [each["check"].get("expect") or 0 for each in here.values()]
            wanted = max([len(every) if self._expect is None else self._expect, *expected])
            if len(here) >= wanted and here:
                return here
            if self._clock.monotonic() >= self._deadline:
                error = self._missing_error(every, wanted)
                self._write_note(DIFFERENT, lines=[str(error)], missing=list(error.missing))
                raise error
            self._clock.sleep(max(_POLL, _LOOK * len(every)))

    def _has_reached_round(self, document: Mapping[str, Any]) -> bool:
        return bool(document["check"].get("round", 0) >= self._round)

    def _request_details(self, documents: Documents) -> Documents:
        """Let all say what they have, and wait a moment for it."""
        self._write_note(TELL, environment=self._patterns)
        asked = self._member.revision
        store = self._member.store
        now = _document.wait_for_details(store, self._clock, asked, _GRACE, documents)
        told = {n: each for n, each in now.items() if each["details"].get("of", -1) >= asked}
        return told if len(told) > 1 else now

    def _missing_error(self, every: Documents, wanted: int) -> CheckError:
        here = {name for name, each in every.items() if self._has_reached_round(each)}
        slow = sorted(every.keys() - here)
        role, ranks = _document.absent_ranks(every, wanted)
        absent = [f"{role or 'rank'} {rank}" for rank in ranks]
        parts = [f"{name} is a member and has not called check" for name in slow]
        parts += [f"{each} has not joined" for each in absent]
        count = f"{len(here)} of {wanted} members are here"
        why = "; ".join(parts) or "nothing says who is missing"
        error = CheckError(f"{self._member.url}: {count} after {self._timeout:g} s: {why}")
        error.missing = (*slow, *absent)
        return error

    def _error_of(self, note: Mapping[str, Any]) -> CheckError:
        """Return the error that members have found."""
        lines, missing = note.get("lines", ()), tuple(note.get("missing", ()))
        title = f"{self._member.url}: the members differ:"
        error = CheckError("; ".join(lines)) if missing else CheckError(title, *lines)
        found: dict[str, list[Holder]] = {}
        for name, value, source, *members in (r for r in note.get("differences", ()) if len(r) > 2):
            found.setdefault(str(name), []).append(
                Holder(value, str(source), tuple(map(str, members)))
            )
        error.missing = missing
        error.differences = tuple(Difference(name, tuple(each)) for name, each in found.items())
        return error


def _digests_of(documents: Documents) -> set[str]:
    return {each.get("digest", "unknown") for each in documents.values()}


def _has_no_differences(documents: Documents) -> bool:
    if len(_digests_of(documents)) > 1:
        return False
    selected = {name for each in documents.values() for name in each.get("selected", ())}
    return not _document.diff_members(documents, among=selected)


def _rejections(documents: Documents) -> list[str]:
    return [
        f"{name}: revision {revision}: rejected: {answer.why}"
        for name, document in sorted(documents.items())
        for revision, answer in sorted(document["answers"].items())
        if answer.state == REJECTED and revision in document.get("standing", ())
    ]


def _make_holder_rows(found: list[Difference]) -> list[list[str | None]]:
    """Return the holders in differences as JSON, as many as a record has room for."""
    rows: list[list[str | None]] = []
    size = 0
    for name, holders in found:
        some = [[name, v, source, *members[:_MOST_LISTED]] for v, source, members in holders]
        size += len(json.dumps(some))
        if size > _LONGEST:
            break
        rows += some
    return rows
