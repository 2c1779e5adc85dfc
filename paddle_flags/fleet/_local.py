"""The flags of this process, as the rules of a fleet see them."""

from __future__ import annotations

import hmac
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddle_flags import errors
from paddle_flags._core.flag import names_in
from paddle_flags._core.registry import FLAGS, all_flags, find
from paddle_flags._core.status import ErrorList, new_error, take_failure, to_bytes
from paddle_flags._input.config import new_config
from paddle_flags._native import ffi, lib
from paddle_flags.fleet._document import Fact, Facts, short
from paddle_flags.fleet._flags import Look, Steps, Values, cut_reason, text_in
from paddle_flags.fleet._record import Record, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paddle_flags._core.flag import Flag
    from paddle_flags.fleet._state import Entry

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
        found = Facts({}, [], [], {})
        for flag in all_flags():
            with suppress(errors.UndefinedFlagError):  # its plugin may leave, on another thread
                _add_facts(found, flag, key)
        return found.complete()

    def look(self, names: Iterable[str]) -> dict[str, Look]:
        runs = self.is_ticking or bool(lib.pd_startup_over())
        found = {}
        for name in names:
            with suppress(errors.UndefinedFlagError):
                flag = find(name)
                info = flag._info()  # noqa: SLF001 - of the package; C is asked once for all
                closed = bool(info.frozen or (runs and not info.runtime))
                definition = (info.generation, info.validators)
                found[name] = Look(flag.source, bool(info.sensitive), closed, definition)
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
        is_main = threading.current_thread() is threading.main_thread()
        if failure is not None and not isinstance(failure, Exception) and is_main:
            raise failure  # Ctrl+C, while the program joins or ticks
        return None if done else cut_reason(found.gather(err, errors.FlagParseError).errors)

    def _report(self, before: Values, last: Record | None) -> None:
        """Add what was changed to the audits of the servers of this process."""
        live: Any = sys.modules.get("paddle_flags.live._serve")
        if live is None or not live.open_servers():
            return
        news: dict[int, list[tuple[str, str | None, str | None]]] = {}
        for name in sorted({*before, *_given}):
            old, new = text_in(before, name), text_in(_given, name)
            if old != new:
                entry = _given.get(name) or before[name]
                news.setdefault(entry.revision, []).append((name, old, new))
        for changes in news.values():
            about = _given.get(changes[0][0]) or last
            live.report_change(
                changes,
                fleet=self._url,
                by=about.by if about else "",
                reason=about.reason if about else "",
                until=about.time + about.duration if about and about.duration else 0.0,
            )


def _add_facts(facts: Facts, flag: Flag[Any], key: bytes | None) -> None:
    info = flag._info()  # noqa: SLF001 - of the package; C is asked once for all
    others = [*names_in(info.aliases), *names_in(info.old_names)]
    facts.add(flag.name, others, sensitive=bool(info.sensitive), unsafe=bool(info.unsafe))
    if info.per_process or (info.sensitive and key is None):
        return
    text, source, place, default = flag.text, flag.source, None, ""
    if info.sensitive:
        data = f"{flag.name}={text}".encode("utf-8", "surrogateescape")
        text = f"hmac:{hmac.new(key or b'', data, 'sha256').hexdigest()[:32]}"
    elif source == "default":
        default = text
    else:
        place, value = flag.history[0].place, flag.history[-1].value
        default = "" if value is None else text_of(flag.name, value)
    facts.values[flag.name] = Fact(short(text), source, short(place or ""), short(default))
