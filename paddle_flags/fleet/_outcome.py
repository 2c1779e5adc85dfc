"""What became of a change, or of the question about it: the answers of the members."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags.fleet import _document, _flags
from paddle_flags.fleet._state import Selected

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paddle_flags.fleet._document import Documents
    from paddle_flags.fleet._flags import Answer
    from paddle_flags.fleet._record import Record
    from paddle_flags.fleet._store import Store


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
    note: str = ""
    """Why there is none, if there are members: such as that none of them has a role."""

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


class Replies:
    """What members have published by now about one revision of the log of `fleet`."""

    def __init__(
        self, fleet: str, revision: int, record: Record, members: Iterable[str] = ()
    ) -> None:
        self.answers: dict[str, Answer] = {}
        self.silent: dict[str, str] = {}
        """Why there is no answer, by member."""
        self.count = 0
        """Of all members, when their documents were read last."""
        self.revision = revision
        self._fleet = fleet
        self._record = record
        self._wanted = set(members)

    def read(self, store: Store) -> list[str]:
        """Read the documents of all; return the members that are here and have not answered."""
        documents = _document.documents_of(store)
        self.count = len(documents)
        self._wanted |= members_for(self._record, documents)
        for name in self._wanted & documents.keys():
            answer = documents[name]["answers"].get(self.revision)
            if answer is not None and not _document.find_other_log(documents[name], self._fleet):
                self.answers[name] = answer
        missing = sorted(self._wanted - self.answers.keys())
        self.silent = {name: self._silence(documents.get(name)) for name in missing}
        return [name for name in missing if name in documents]

    def outcome(self, verdict: str) -> Outcome:
        """Return what became of the question."""
        is_checked = bool(self.answers or self.silent)
        return Outcome(self.revision, verdict, self.answers, self.silent, is_checked)

    def _silence(self, document: _document.Document | None) -> str:
        """Return why a member has not answered."""
        if document is None:
            return "gone: its lease has ended, or it left"
        if document.get("problem"):
            return str(document["problem"])
        if other := _document.find_other_log(document, self._fleet):
            return f"lost: {other}"
        seen = document.get("revision", 0)
        if seen < self.revision:
            return f"slow: it has read revision {seen}"
        return "it has read the change, and not answered yet"


def describe_nobody(record: Record, documents: Documents) -> str:
    """Return why a record is for none of the members that there are, with the nearest name."""
    found = []
    for kind, _, name in sorted({each.on.partition(":") for each in record.changes}):
        field = "name" if kind == "member" else kind
        known = sorted({str(each[field]) for each in documents.values() if each.get(field)})
        near = difflib.get_close_matches(name, known, n=1)
        what = f"no member has {kind} {name}" if field == kind else f"there is no member {name}"
        found.append(what + (f"; did you mean {near[0]}?" if near else ""))
    return "; ".join(found)


def members_for(record: Record, documents: Documents) -> set[str]:
    """Return the members that a record is for."""
    return {
        name
        for name, document in documents.items()
        if Selected(name, document.get("role"), document.get("host", "")).is_concerned(
            record.changes
        )
    }
