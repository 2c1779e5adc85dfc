"""Values of the fleet in the registry: a record applies as a whole, or is refused with reasons."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags import errors
from paddle_flags._core.registry import FLAGS
from paddle_flags._core.status import ErrorList, new_error, take_failure, to_bytes
from paddle_flags._input.config import new_config
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from paddle_flags._core.flag import Flag
    from paddle_flags.fleet._record import Record
    from paddle_flags.fleet._state import Entry

    Values = dict[str, Entry]

APPLIED = "applied"
REJECTED = "rejected"
RESTART = "needs a restart"
HELD = "held"
PENDING = "pending"
ENDED = "ended"
WAITS = "waits for its step"

_LONGEST = 1000  # characters of a reason
_ABOVE = ("run time", "live", "override")

GOOD = (APPLIED, ENDED, PENDING)
"""Answers after which nothing is left to do."""


class Answer(NamedTuple):
    """What a member answers to one change."""

    state: str
    """`"applied"`, `"rejected"`, `"needs a restart"`, `"held"` by a value of higher rank,
    `"pending"` until the flag is defined, `"waits for its step"`, or `"ended"`."""
    why: str = ""


_given: Values = {}
"""What the registry has of a fleet, also when its membership has ended, and in a forked child."""


class Applier:
    """The values that the fleet gives this process. Used by one thread at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._place = ffi.new("char[]", to_bytes(url))
        self._about: Record | None = None
        self.wanted: Values = {}
        """What the log says."""
        self.held: Values = _given
        """What the registry has: former values stay where a record was refused."""
        self.started = False
        """Whether the program runs, so that only flags with `runtime` change."""

    def start(self, wanted: Values) -> dict[int, Answer]:
        """Give all values at once; if some are refused, record by record."""
        self.wanted = wanted
        self._drop_others(wanted)
        together = {**self.held, **wanted}
        if not self._limits(wanted, wanted) and self._hold(together) is None:
            return {
                revision: self._answer(names, wanted)
                for revision, names in _by_revision(wanted).items()
            }
        answers: dict[int, Answer] = {}
        for revision, names in sorted(_by_revision(wanted).items()):
            answers[revision] = self._apply({name: wanted[name] for name in names}, names)
        return answers

    def change(self, wanted: Values, about: Record | None = None) -> tuple[set[str], Answer]:
        """Give what is different from before; return those names, and the answer.

        `about` is the record that makes the difference.
        """
        names = self._changed(wanted)
        self.wanted = wanted
        if not names:
            return names, Answer(APPLIED)
        self._about = about
        answer = self._apply({n: wanted[n] for n in names if n in wanted}, names)
        self._about = None
        return names, answer

    def check(self, wanted: Values) -> Answer:
        """Return what `change` would answer; nothing changes."""
        names = self._changed(wanted)
        attempt = self._attempt({n: wanted[n] for n in names if n in wanted}, names)
        limit = self._limits(names, attempt)
        if limit:
            return limit
        problem = self._give(attempt, lib.pd_config_check)
        return self._answer(names, attempt) if problem is None else Answer(REJECTED, problem)

    def review(self, names: Iterable[str]) -> Answer:
        """Return the answer for a batch that was applied before: what held it may have gone."""
        return self._answer(names, self.held)

    def sift(self) -> dict[int, Answer]:
        """Give up the batches with values that flags, defined since, did not take.

        Return what is wrong with them, by revision; they would stop all that come later.
        """
        secret = [name for name in self.held if _has(name, _is_sensitive)]
        if not secret and self._give(self.held, lib.pd_config_check) is None:
            return {}
        bad: dict[int, Answer] = {}
        kept = {name: entry for name, entry in self.held.items() if self._must_stay(name)}
        for revision, names in sorted(_by_revision(self.held).items()):
            attempt = {**kept, **{name: self.held[name] for name in names}}
            secret = [name for name in names if _has(name, _is_sensitive)]
            problem = None if secret else self._give(attempt, lib.pd_config_check)
            if secret:
                bad[revision] = _secret(secret)
            elif problem is not None:
                bad[revision] = Answer(REJECTED, problem)
            else:
                kept = attempt
        self._hold(kept)
        return bad

    def _must_stay(self, name: str) -> bool:
        flag = _find(name)
        return self._runs() and flag is not None and _is_closed(flag) and flag.source == "fleet"

    def drop(self) -> None:
        """Take all values back of flags that can change now."""
        self._drop_others(())

    def _drop_others(self, names: Collection[str]) -> None:
        closed = self._runs()
        kept = {
            name: entry
            for name, entry in self.held.items()
            if name in names or (closed and _has(name, _is_closed))
        }
        if kept != self.held:
            self._hold(kept)

    def _hold(self, values: Values) -> str | None:
        """Give exactly these values; return what is wrong, or None."""
        global _given  # noqa: PLW0603 - one process, one registry
        problem = self._give(values, lib.pd_config_apply)
        if problem is None:
            before, self.held = self.held, values
            _given = values
            self._report(before, values)
        return problem

    def _report(self, before: Values, values: Values) -> None:
        """Add what was changed to the audits of the servers of this process."""
        live: Any = sys.modules.get("paddle_flags.live._serve")
        news: dict[int, list[str]] = {}
        for name in sorted({*before, *values} if live and live.open_servers() else ()):
            if _text(before, name) != _text(values, name):
                entry = values.get(name) or before[name]
                news.setdefault(entry.revision, []).append(name)
        for names in news.values():
            about = self._about or values.get(names[0])
            live.report_change(
                [(name, _text(before, name), _text(values, name)) for name in names],
                fleet=self._url,
                by=about.by if about else "",
                reason=about.reason if about else "",
                until=about.time + about.duration if about and about.duration else 0.0,
            )

    def _runs(self) -> bool:
        return self.started or bool(lib.pd_startup_over())

    def _changed(self, wanted: Values) -> set[str]:
        names = {*wanted, *self.wanted}
        return {name for name in names if _key(wanted.get(name)) != _key(self.wanted.get(name))}

    def _attempt(self, values: Values, names: Iterable[str]) -> Values:
        attempt = {name: entry for name, entry in self.held.items() if name not in names}
        attempt.update(values)
        return attempt

    def _apply(self, values: Values, names: set[str]) -> Answer:
        attempt = self._attempt(values, names)
        limit = self._limits(names, attempt)
        if limit:
            return limit
        problem = self._hold(attempt)
        if problem is not None:
            return Answer(REJECTED, problem)
        return self._answer(names, attempt)

    def _limits(self, names: Iterable[str], attempt: Values) -> Answer | None:
        """Return why the flags of a batch can't change here, whatever their values."""
        secret = [name for name in names if name in attempt and _has(name, _is_sensitive)]
        if secret:
            return _secret(secret)
        if not self._runs():
            return None
        differ = [name for name in names if _text(attempt, name) != _text(self.held, name)]
        closed = [name for name in differ if _has(name, _is_closed)]
        if closed:
            return Answer(RESTART, f"{_listed(closed)}: has no attribute runtime")
        return None

    def _answer(self, names: Iterable[str], values: Values) -> Answer:
        """Return whether values take effect that passed all checks."""
        holding: list[str] = []
        pending: list[str] = []
        for name in sorted(names):
            if name not in values:
                continue
            try:
                flag = FLAGS[name]
            except errors.FlagError as error:
                pending.append(str(error))
                continue
            if flag.source in _ABOVE:
                holding.append(f"{name} by {flag.source}")
        if holding:
            return Answer(HELD, ", ".join(holding))
        return Answer(PENDING, "; ".join(pending)) if pending else Answer(APPLIED)

    def _give(self, values: Values, function: Callable[..., int]) -> str | None:
        """Call pd_config_apply or pd_config_check; return what is wrong, or None."""
        config = new_config(lib.PD_SOURCE_FLEET)
        origin = ffi.new("pd_origin *", {"source": lib.PD_SOURCE_FLEET, "place": self._place})
        err = new_error()
        for name, entry in sorted(values.items(), key=lambda each: each[1].revision):
            origin.line = entry.revision & 0xFFFFFFFF
            text = to_bytes(entry.value or "")
            lib.pd_config_add(config, to_bytes(name), text, 0, origin, err)
        found = ErrorList()
        done = function(config, True, found.pointer, err) == lib.PD_OK  # noqa: FBT003 - of C
        failure = take_failure()
        if failure is not None and not isinstance(failure, Exception) and _is_main():
            raise failure  # Ctrl+C, while the program joins or ticks
        if done:
            return None
        listed = found.gather(err, errors.FlagParseError).errors
        return _cut("; ".join(str(each) for each in listed))


def _cut(text: str) -> str:
    """Return what others read in a line, and engines store."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _secret(names: Iterable[str]) -> Answer:
    return Answer(REJECTED, f"{_listed(names)}: is sensitive, and a fleet publishes values")


def _key(entry: Entry | None) -> tuple[int, str | None] | None:
    return None if entry is None else (entry.revision, entry.value)


def _text(values: Values, name: str) -> str | None:
    return values[name].value if name in values else None


def _by_revision(values: Values) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for name, entry in values.items():
        found.setdefault(entry.revision, set()).add(name)
    return found


def _find(name: str) -> Flag[Any] | None:
    try:
        return FLAGS[name]
    except errors.FlagError:
        return None


def _has(name: str, asked: Callable[[Flag[Any]], bool]) -> bool:
    flag = _find(name)
    try:
        return flag is not None and asked(flag)
    except errors.UndefinedFlagError:  # its plugin may leave, on another thread
        return False


def _is_sensitive(flag: Flag[Any]) -> bool:
    return flag.sensitive


def _is_closed(flag: Flag[Any]) -> bool:
    return not flag.runtime


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
