"""What an operator's change is made of: the record, the votes, the decision, the answers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.fleet import _apply, _document
from paddle_flags.fleet._apply import Answer
from paddle_flags.fleet._follow import Follower, verdict_text
from paddle_flags.fleet._member import ACCEPT
from paddle_flags.fleet._outcome import Outcome
from paddle_flags.fleet._record import Change, Record, check_batch, new_id
from paddle_flags.fleet._state import ABORT, COMMIT, Selected, Step, concerned
from paddle_flags.fleet._status import answers_of
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from paddle_flags.fleet._state import Tables
    from paddle_flags.fleet._store import Store

    Documents = dict[str, dict[str, Any]]

_POLL = 0.03
_TRIES = 100  # of appends that others were faster than
_MOST_NAMED = 5


class ConflictError(FleetError):
    """The fleet isn't at the expected revision. `records` has the changes since, as `Fleet.log`."""

    __module__ = "paddle_flags.fleet"

    records: tuple[Step, ...] = ()


class SensitiveError(FleetError):
    """A value was refused unwritten, since its flag is sensitive in some member."""


class UnconfirmedError(FleetError):
    """A change of unsafe flags was refused unwritten; `names` has those to be confirmed."""

    __module__ = "paddle_flags.fleet"

    names: tuple[str, ...] = ()


class AbortedError(FleetError):
    """A change was not made, since not all members have accepted it. `outcome` says why."""

    __module__ = "paddle_flags.fleet"

    outcome: Outcome


class Pending(NamedTuple):
    """A record that was written, and who was there then."""

    revision: int
    record: Record
    members: dict[str, Selected]
    """Of those that it concerns."""


def documents_of(store: Store) -> Documents:
    """Return the documents of the members."""
    return _document.documents_of(store)


def write(
    follower: Follower, record: Record, expect: int | None, confirm: Collection[str] = ()
) -> Pending:
    """Write a record behind all others, or raise ConflictError if `expect` isn't the last."""
    for _ in range(_TRIES):
        news = follower.catch_up()
        if expect is not None and follower.state.revision != expect:
            raise _conflict(follower, expect, news)
        documents = documents_of(follower.store)
        _check_allowed(record, documents, confirm)
        whole = _with_other_names(record, documents, follower.state.tables)
        fleet = follower.state.fleet or new_id()
        full = whole._replace(
            id=new_id(), fleet=fleet, time=time.time(), members=tuple(sorted(documents))
        )
        revision = follower.append(full)
        if revision:
            follower.catch_up()
            return Pending(revision, full, _concerned(full, documents))
    message = f"{follower.store.url}: others were faster {_TRIES} times in a row"
    raise FleetError(message)


def _concerned(record: Record, documents: Documents) -> dict[str, Selected]:
    found = {
        name: Selected(name, document.get("role"), str(document.get("host", "")))
        for name, document in documents.items()
    }
    everybody = record.reset is not None
    return {n: each for n, each in found.items() if everybody or concerned(record, each)}


def _with_other_names(record: Record, documents: Documents, tables: Tables) -> Record:
    """Return a record that takes a flag back by each name by which it was set.

    Values are written by the names that operators give, which may be aliases and former names:
    members find their flags by them, also older programs that know only the former name.
    """
    changes = list(record.changes)
    given = {(each.name, each.on) for each in changes}
    for name, value, on in record.changes:
        if value is None:
            others = _document.names_like(name, documents) & tables.get(on, {}).keys()
            changes += [Change(other, None, on) for other in others if (other, on) not in given]
    return record._replace(changes=check_batch(dict.fromkeys(changes)))


def _check_allowed(record: Record, documents: Documents, confirm: Collection[str]) -> None:
    """Raise all that forbids a batch, before anything of it is written anywhere."""
    found = [*_unconfirmed(record, documents, confirm), *_sensitive(record, documents)]
    if found:
        found[0]._errors = tuple(found)  # noqa: SLF001 - of the package
        raise found[0]


def _unconfirmed(
    record: Record, documents: Documents, confirm: Collection[str]
) -> Iterator[FleetError]:
    """Yield an error if somebody may not mean what the flags of a batch do."""
    unsafe = {name for each in documents.values() for name in each.get("unsafe", ())}
    changed = {each.name for each in record.changes} if record.reset is None else set()
    left = tuple(sorted((changed & unsafe) - {each.replace("-", "_") for each in confirm}))
    if left:
        error = UnconfirmedError(f"{', '.join(left)}: unsafe to change, and not in confirm")
        error.names = left
        yield error


def _sensitive(record: Record, documents: Documents) -> Iterator[FleetError]:
    """Yield an error for each sensitive flag that is to have a value."""
    for change in record.changes:
        owners = [n for n, each in documents.items() if change.name in each.get("sensitive", ())]
        if owners and change.value is not None:
            where = _document_names(owners)
            yield SensitiveError(
                f"{change.name}: is sensitive in {where}, and a fleet publishes all values"
            )


def _conflict(follower: Follower, expect: int, news: list[Step]) -> ConflictError:
    log = news if news and news[0].revision <= expect + 1 else follower.log()
    since = [step for step in log if step.revision > expect]
    lines = [
        f"revision {step.revision} by {step.record.by}: {changes_text(step.record)}"
        for step in since
    ]
    at = f"is at revision {follower.state.revision}, expected {expect}"
    error = ConflictError("; ".join([f"{follower.store.url}: {at}", *lines]))
    error.records = tuple(since)
    return error


def changes_text(record: Record) -> str:
    """Return what a record changes: `lr=0.1, -fast (role:trainer)`."""
    if record.reset is not None:
        return f"reset to revision {record.reset}"
    parts = []
    for name, value, on in record.changes:
        text = f"-{name}" if value is None else f"{name}={value}"
        parts.append(text if on == "all" else f"{text} ({on})")
    return ", ".join(parts) or record.reason


# ---- Proposals ----


def decide(follower: Follower, pending: Pending, patience: float) -> Outcome:
    """Wait for the votes on a proposal and decide; raise AbortedError if it is aborted."""
    votes, why = _votes(follower, pending, patience)
    dry = pending.record.dry_run
    verdict = COMMIT if not why and not dry else f"{ABORT}: {'dry run' if dry else why}"
    holds = follower.decide(pending.revision, verdict)
    answers = {name: _answer_of(vote) for name, vote in votes.items()}
    silent = {n: "has not voted" for n in pending.members if n not in votes}
    if dry:
        return Outcome(pending.revision, "dry run", answers, silent)
    outcome = Outcome(pending.revision, verdict_text(holds), answers, silent)
    if holds != COMMIT:
        message = f"{follower.store.url}: revision {pending.revision} is {outcome.verdict}"
        error = AbortedError(message)
        error.outcome = outcome
        raise error
    return outcome


def _votes(follower: Follower, pending: Pending, patience: float) -> tuple[dict[str, str], str]:
    """Return the votes, and why they allow no commit."""
    end = time.monotonic() + patience
    votes: dict[str, str] = {}
    key = str(pending.revision)
    while True:
        documents = documents_of(follower.store)
        wanted = {**pending.members, **_concerned(pending.record, documents)}
        for name in wanted.keys() & documents.keys():
            vote = documents[name].get("votes", {}).get(key)
            if vote is not None:
                votes[name] = vote
        missing = sorted(wanted.keys() - votes.keys())
        rejecting = [
            f"{n} rejects it: {_why(vote)}" for n, vote in sorted(votes.items()) if vote != ACCEPT
        ]
        gone = [name for name in missing if name not in documents]
        if rejecting and not pending.record.dry_run:
            return votes, "; ".join(rejecting[:_MOST_NAMED])
        if not missing:
            return votes, ""
        if gone and not pending.record.dry_run:
            return votes, f"{_document_names(gone)} went before it voted"
        if time.monotonic() >= end:
            return votes, f"no vote of {_document_names(missing)} after {patience:g} s"
        time.sleep(_POLL)


def _answer_of(vote: str) -> Answer:
    if vote == ACCEPT:
        return Answer(_apply.APPLIED, "")
    return Answer(_apply.REJECTED, _why(vote))


def _why(vote: str) -> str:
    """Return the reason of `reject: reason`."""
    return vote.partition(": ")[2] or vote


# ---- Answers ----


def wait(follower: Follower, pending: Pending, seconds: float) -> Outcome:
    """Wait until all members that a change concerns have answered, or `seconds` are over."""
    end = time.monotonic() + seconds
    answers: dict[str, Answer] = {}
    while True:
        documents = documents_of(follower.store)
        wanted = {**pending.members, **_concerned(pending.record, documents)}
        answers.update(_answered(pending.revision, wanted, documents))
        silent = {n: _silence(n, pending.revision, documents) for n in wanted if n not in answers}
        if not [name for name in silent if name in documents] or time.monotonic() >= end:
            return Outcome(pending.revision, "committed", answers, silent)
        time.sleep(_POLL)


def _answered(
    revision: int, wanted: dict[str, Selected], documents: Documents
) -> dict[str, Answer]:
    found = {}
    for name in wanted.keys() & documents.keys():
        document = documents[name]
        answer = answers_of(document).get(revision)
        if answer is not None:
            found[name] = answer
    return found


def _silence(name: str, revision: int, documents: Documents) -> str:
    if name not in documents:
        return "gone: its lease has ended, or it left"
    seen = int(documents[name].get("revision", 0))
    if documents[name].get("problem"):
        return str(documents[name]["problem"])
    if seen < revision:
        return f"slow: it has read revision {seen}"
    return "it has read the change, and not answered yet"


def _document_names(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    text = ", ".join(names[:_MOST_NAMED])
    return f"{text} and {more} more" if more > 0 else text
