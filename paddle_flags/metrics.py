"""Metrics about the flags of the process, for Prometheus.

    import paddle_flags.metrics

    paddle_flags.metrics.register(values=["alpha_*"])

It needs the extra `metrics`.
"""

from __future__ import annotations

import fnmatch
import hashlib
import hmac
import re
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.missing import optional_import
from paddle_flags._core.names import normalize_name
from paddle_flags._core.registry import all_flags
from paddle_flags._core.status import quote_value, to_text
from paddle_flags._core.validators import watch
from paddle_flags._core.values import BY_NAME, decode_native_value, get_native_kind
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagArgumentError, FlagError, FlagTypeError

with optional_import("paddle_flags.metrics", "prometheus_client", "metrics"):
    from prometheus_client import REGISTRY
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
    from prometheus_client.registry import Collector as _Collector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import CollectorRegistry

    from paddle_flags._core.flag import Flag

__all__ = ["MOST_VALUES", "Collector", "register"]

MOST_VALUES = 1000
"""The largest number of flags whose values are exported; further ones are left out."""

_SHORTEST_KEY = 16  # bytes
_DIGEST_BITS = 48  # which a double holds exactly
_SOURCES = [
    to_text(lib.pd_source_name(number))
    for number in sorted(ffi.typeof("pd_source").elements)
    if number != lib.PD_SOURCE_SCOPE  # of one thread or task
]


class _Now(NamedTuple):
    """What one look at all flags has found."""

    defined: int
    changed: int
    digest: int
    values: list[tuple[str, float]]


@hides_internal_frames
class Collector(_Collector):
    """Collects the metrics, for a registry of prometheus_client.

    | metric | type | what it is |
    |---|---|---|
    | `paddle_flags_info{version}` | info | the version of paddle_flags |
    | `paddle_flags_defined` | gauge | how many flags are defined |
    | `paddle_flags_changed` | gauge | how many of them have a value other than by default |
    | `paddle_flags_changes_total{source}` | counter | changes since the collector exists |
    | `paddle_flags_digest` | gauge | equal in two processes that have the same flags and values |
    | `paddle_flags_revision` | gauge | grows with each change since flags were first served |
    | `paddle_flags_temporary_changes` | gauge | those of clients of a server that are on |
    | `paddle_flags_value{name}` | gauge | the value of a number, or of a bool as 0 or 1 |
    | `paddle_flags_fleet_revision` | gauge | the last change of the fleet that was read here |
    | `paddle_flags_fleet_stale_seconds` | gauge | since when its engine is out of reach, or 0 |
    | `paddle_flags_fleet_members` | gauge | how many members the fleet has |
    | `paddle_flags_fleet_members_with_problems` | gauge | those that are not well, or behind |
    | `paddle_flags_fleet_differing_flags` | gauge | how many flags differ between members |

    Those of the fleet are there in its members. A scrape never waits for the engine: members
    and flags that differ are what was seen after the scrape before.

    `values` lists names and patterns with `*` and `?`: only flags that match one are exported by
    `paddle_flags_value`, at most MOST_VALUES, and never a sensitive one.

    The digest is an integer of 48 bits. The values of sensitive flags are a part of it only with a
    `key` of at least 16 bytes, a secret that the processes to be compared share: from a digest
    without a key, a short secret could be guessed.

    `close` ends counting; so does deleting the collector.
    """

    def __init__(self, values: Iterable[str] = (), *, key: bytes | None = None) -> None:
        self._wanted = _make_matcher(values)
        self._key = _check_key(key)
        self._lock = threading.Lock()
        self._changes = dict.fromkeys(_SOURCES, 0)
        self._hook = watch(self._count_change, weak=True)

    def close(self) -> None:
        """Count no more changes. It doesn't unregister the collector."""
        self._hook.remove()

    def describe(self) -> Iterator[Metric]:
        """Yield the metrics without samples, from which a registry learns their names."""
        return self._metrics(None)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, as they are now."""
        return self._metrics(self._sample_flags())

    def _count_change(self, flag: Flag[Any]) -> None:
        try:
            source = flag.source
        except FlagError:  # its module is leaving
            return
        with self._lock:
            self._changes[source] = self._changes.get(source, 0) + 1

    def _metrics(self, now: _Now | None) -> Iterator[Metric]:
        yield _info_metric(now)
        yield from _live_metrics(now)
        yield from _fleet_metrics(described=now is None)
        yield _gauge("defined", "Flags that are defined.", now and now.defined)
        yield _gauge("changed", "Flags whose value is not by default.", now and now.changed)
        yield _gauge("digest", "Number made of the names and values of flags.", now and now.digest)
        changes = CounterMetricFamily(
            "paddle_flags_changes", "Changes of values, by their source.", labels=["source"]
        )
        values = GaugeMetricFamily("paddle_flags_value", "Values of flags.", labels=["name"])
        if now is not None:
            with self._lock:
                counted = list(self._changes.items())
            for source, count in counted:
                changes.add_metric([source], count)
            for name, value in now.values:
                values.add_metric([name], value)
        yield changes
        yield values

    def _sample_flags(self) -> _Now:
        changed = 0
        texts: list[bytes] = []
        values: list[tuple[str, float]] = []
        flags = sorted(all_flags(), key=lambda flag: flag.name)
        for flag in flags:
            try:
                entry = flag._entry_without_scopes()
            except FlagError:  # its module has left
                continue
            value = _value_of(entry)
            changed += entry.origin.source != lib.PD_SOURCE_DEFAULT
            texts.append(self._digest_line(flag.name, value, sensitive=entry.sensitive))
            number = isinstance(value, (bool, int, float)) and not entry.sensitive
            if number and len(values) < MOST_VALUES and self._wanted(flag.name):
                values.append((flag.name, float(value)))
        digest = hashlib.sha256(b"".join(texts)).digest()
        return _Now(len(texts), changed, int.from_bytes(digest[: _DIGEST_BITS // 8], "big"), values)

    def _digest_line(self, name: str, value: Any, *, sensitive: bool) -> bytes:
        """Return what the digest is made of; no text of a flag contains a NUL."""
        text = b"" if value is None else str(value).encode("utf-8", "surrogateescape") + b"\0"
        head = name.encode() + b"\0"
        if not sensitive:
            return head + text + b"\0"
        if self._key is None:
            return head + b"\0\0"
        return head + hmac.new(self._key, head + text, "sha256").hexdigest().encode() + b"\0\0\0"


@hides_internal_frames
def register(
    registry: CollectorRegistry | None = None,
    *,
    values: Iterable[str] = (),
    key: bytes | None = None,
) -> Collector:
    """Register a `Collector` in a registry, by default that of prometheus_client; return it."""
    collector = Collector(values, key=key)
    (REGISTRY if registry is None else registry).register(collector)
    return collector


def _info_metric(now: _Now | None) -> InfoMetricFamily:
    version = {"version": to_text(lib.PD_VERSION)}
    return InfoMetricFamily("paddle_flags", "The library of flags.", value=version if now else None)


def _live_metrics(now: _Now | None) -> Iterator[Metric]:
    """Yield what is known once the flags were served, and one has changed."""
    revision = lib.pd_journal_get_revision()
    if now is not None and not revision:
        return
    temporary = _count_temporary() if now else None
    yield _gauge("revision", "Changes of flags since they were first served.", now and revision)
    yield _gauge("temporary_changes", "Temporary changes from outside that are on.", temporary)


def _count_temporary() -> int:
    from paddle_flags.live._serve import count_temporary_changes

    return count_temporary_changes()


def _fleet_metrics(*, described: bool) -> Iterator[Metric]:
    """Yield what is known if this process is a member of a fleet."""
    joined = sys.modules.get("paddle_flags.fleet._join")  # nobody has joined without it
    member = joined.member() if joined is not None else None
    if member is None and not described:
        return
    seen = member and member.view.refresh()
    yield _gauge("fleet_revision", "Last change of the fleet.", member and member.revision)
    yield _gauge(
        "fleet_stale_seconds",
        "Seconds for which the engine of the fleet is out of reach.",
        member and (member.stale or 0.0),
    )
    if seen is None and not described:
        return
    yield _gauge("fleet_members", "Members of the fleet.", seen and seen.present)
    yield _gauge(
        "fleet_members_with_problems",
        "Members of the fleet that are slow or gone, or did not take a change.",
        seen and seen.problems,
    )
    yield _gauge(
        "fleet_differing_flags",
        "Flags that differ between members of the fleet.",
        seen and len(seen.differences),
    )


def _gauge(name: str, about: str, value: float | None) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"paddle_flags_{name}", about, value=value)


def _value_of(entry: Any) -> Any:
    """Return the value as C holds it, a list as its text; None if there is none."""
    return (
        None
        if entry.unset
        else decode_native_value(BY_NAME[get_native_kind(entry).name], entry.value)
    )


def _make_matcher(values: Iterable[str]) -> Any:
    patterns = [values] if isinstance(values, str) else list(values)
    for pattern in patterns:
        if not isinstance(pattern, str):
            what = type(pattern).__name__
            message = f"values: {quote_value(pattern)}: expected the name of a flag, not {what}"
            raise FlagTypeError(message)
    alike = "|".join(fnmatch.translate(normalize_name(pattern)) for pattern in patterns)
    matches = re.compile(alike or "(?!)").match
    return lambda name: matches(normalize_name(name))


def _check_key(key: bytes | None) -> bytes | None:
    if key is None:
        return None
    if not isinstance(key, bytes):
        raise FlagTypeError(f"key: expected bytes, not {type(key).__name__}")
    if len(key) < _SHORTEST_KEY:
        raise FlagArgumentError(f"key: expected at least {_SHORTEST_KEY} bytes, not {len(key)}")
    return key
