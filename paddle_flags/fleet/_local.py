"""The flags of this process, as the rules of a fleet see them."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from paddle_flags import errors
from paddle_flags._core.registry import FLAGS, find
from paddle_flags._core.status import ErrorList, new_error, take_failure, to_bytes
from paddle_flags._input.config import new_config
from paddle_flags._native import ffi, lib
from paddle_flags.fleet._document import facts_of
from paddle_flags.fleet._flags import Look, text_in
from paddle_flags.fleet._steps import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paddle_flags.fleet._document import Facts
    from paddle_flags.fleet._flags import Values
    from paddle_flags.fleet._record import Record
    from paddle_flags.fleet._state import Entry

_LONGEST = 1000  # characters of a reason

_given: Values = {}  # also when a membership has ended, and in a forked child


def entry_of(*names: str) -> Entry | None:
    """Return the latest value that the fleet has given to a flag, by any of its names."""
    found = [_given[name] for name in names if name in _given]
    return max(found, key=lambda each: each.revision, default=None)


class LocalFlags:
    """The flags of this process. It implements `Flags`."""

    def __init__(self, url: str) -> None:
        self.is_ticking = False
        self.steps = Steps()
        self._url = url
        self._place = ffi.new("char[]", to_bytes(url))

    @property
    def values(self) -> Values:
        return _given

    @property
    def pid(self) -> int:
        return os.getpid()

    def end_program(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    def facts(self, key: bytes | None) -> Facts:
        return facts_of(key)

    def look(self, names: Iterable[str]) -> dict[str, Look]:
        runs = self.is_ticking or bool(lib.pd_startup_over())
        found = {}
        for name in names:
            try:
                flag = find(name)
                info = flag._info()  # noqa: SLF001 - of the package; C is asked once for all
                closed = bool(info.frozen or (runs and not info.runtime))
                definition = (info.generation, info.validators)
                found[name] = Look(flag.source, bool(info.sensitive), closed, definition)
            except errors.UndefinedFlagError:  # or its plugin leaves, on another thread
                continue
        return found

    def describe_missing(self, name: str) -> str:
        try:
            FLAGS[name]
        except errors.FlagError as error:
            return str(error)
        return f"{name}: was defined just now"

    def check(self, values: Values) -> str | None:
        return self._give(values, lib.pd_config_check)

    def apply(
        self,
        values: Values,
        about: Record | None,
        trail: Sequence[Values],  # noqa: ARG002 - the member itself gives the one before
    ) -> str | None:
        global _given
        problem = self._give(values, lib.pd_config_apply)
        if problem is None:
            before, _given = _given, dict(values)
            self._report(before, about)
        return problem

    def count_dropped(self) -> int:
        return int(lib.pd_config_count_dropped(lib.PD_SOURCE_FLEET))

    def _give(self, values: Values, function: Callable[..., int]) -> str | None:
        config = new_config(lib.PD_SOURCE_FLEET)
        origin = ffi.new("pd_origin *", {"source": lib.PD_SOURCE_FLEET, "place": self._place})
        err = new_error()
        for name, entry in sorted(values.items(), key=lambda each: each[1].revision):
            origin.line = entry.revision & 0xFFFFFFFF
            lib.pd_config_add(config, to_bytes(name), to_bytes(entry.value), 0, origin, err)
        found = ErrorList()
        done = function(config, True, found.pointer, err) == lib.PD_OK  # noqa: FBT003 - of C
        failure = take_failure()
        if failure is not None and not isinstance(failure, Exception) and _is_main():
            raise failure  # Ctrl+C, while the program joins or ticks
        if done:
            return None
        listed = found.gather(err, errors.FlagParseError).errors
        text = "; ".join(str(each) for each in listed)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."

    def _report(self, before: Values, last: Record | None) -> None:
        """Add what was changed to the audits of the servers of this process."""
        live: Any = sys.modules.get("paddle_flags.live._serve")
        if live is None or not live.open_servers():
            return
        news: dict[int, list[str]] = {}
        for name in sorted({*before, *_given}):
            if text_in(before, name) != text_in(_given, name):
                entry = _given.get(name) or before[name]
                news.setdefault(entry.revision, []).append(name)
        for names in news.values():
            about = _given.get(names[0]) or last
            live.report_change(
                [(name, text_in(before, name), text_in(_given, name)) for name in names],
                fleet=self._url,
                by=about.by if about else "",
                reason=about.reason if about else "",
                until=about.time + about.duration if about and about.duration else 0.0,
            )


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
