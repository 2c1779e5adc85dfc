"""The fleets that a gateway shows: it looks at them as an operator, without being a member."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from typing import TYPE_CHECKING, Any, NoReturn, cast

from paddle_flags.errors import FlagArgumentError, FlagError, FlagTypeError
from paddle_flags.fleet._fleet import Fleet
from paddle_flags.fleet._live_document import document_of
from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._operate import ConflictError, SensitiveError, UnconfirmedError
from paddle_flags.fleet._record import Change, selector
from paddle_flags.fleet._store import ReadOnlyError, UnreachableError
from paddle_flags.fleet._url import split
from paddle_flags.fleet._view import View
from paddle_flags.gateway.problems import Refusal

if TYPE_CHECKING:
    from paddle_flags.fleet._outcome import Outcome
    from paddle_flags.fleet._store import Store

_FIRST = 0.5  # seconds to wait for the first look
_LINGER = 10.0  # seconds after a request in which a next one is expected
_WAIT = 5.0  # seconds for members to answer, if nobody says how long
_LONGEST_WAIT = 30.0
_LONGEST = 366 * 86400.0  # seconds that a value can last
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,3})?(?:d|h|ms|m|s))+")

_PROBLEMS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], int, str], ...] = (
    ((FlagArgumentError, FlagTypeError), 400, "malformed"),
    ((ReadOnlyError, SensitiveError), 403, "forbidden"),
    (UnconfirmedError, 428, "confirm"),
    (ConflictError, 409, "conflict"),
    ((UnreachableError, OSError), 504, "unreachable"),
    (FlagError, 422, "rejected"),
)


class _Number(str):
    """A number as the body writes it."""

    __slots__ = ()


_FIELDS: dict[str, tuple[type, ...]] = {
    "set": (dict,),
    "reason": (str,),
    "role": (str,),
    "host": (str,),
    "member": (str,),
    "for": (str,),
    "at_step": (_Number,),
    "all_or_none": (bool,),
    "expect": (_Number,),
    "dry_run": (bool,),
    "confirm": (list,),
    "wait": (_Number,),
}


class _Observer:
    """What a view of a fleet needs where a member has its membership."""

    name = ""
    left = False

    def __init__(self, url: str) -> None:
        self._address = url
        self._store: Store | None = None
        self._lock = threading.Lock()
        self.url = split(url).text  # without a password

    @property
    def store(self) -> Store:
        """The store, which is opened on first use."""
        with self._lock:
            if self._store is None:
                self._store = open_store(self._address, create=False)
            return self._store


class Watched:
    """A fleet that is looked at while somebody asks."""

    def __init__(self, url: str) -> None:
        self._observer = _Observer(url)
        self._view = View(cast("Any", self._observer))
        self.url = self._observer.url

    async def document(self) -> dict[str, Any]:
        """Return what was seen last."""
        seen = await asyncio.to_thread(self._view.look, wait=_FIRST, linger=_LINGER)
        return document_of(self._view, seen)

    async def change(self, body: bytes, by: str) -> dict[str, Any]:
        """Make the change that the body of a request describes."""
        try:
            return await asyncio.to_thread(self._change, _read(body), by)
        except (FlagError, OSError) as error:
            status, kind = next(each[1:] for each in _PROBLEMS if isinstance(error, each[0]))
            names = error.names if isinstance(error, UnconfirmedError) else ()
            errors = [{"name": name, "kind": kind, "detail": str(error)} for name in names]
            raise Refusal(status, kind, str(error), errors=errors) from error

    def _change(self, given: dict[str, Any], by: str) -> dict[str, Any]:
        on = selector(given.get("role"), given.get("host"), given.get("member"))
        wait = float(given.get("wait", _WAIT))
        if not 0 <= wait <= _LONGEST_WAIT:
            _fail("wait", f"expected seconds, at most {_LONGEST_WAIT:g}")
        fleet = Fleet(self._observer.store, by=f"{by} through a gateway" if by else None)
        outcome = fleet.change(
            [Change(name, _text(name, value), on) for name, value in given["set"].items()],
            wait=wait or None,
            all_or_none=given.get("all_or_none", False),
            at_step=_whole(given, "at_step"),
            duration=_duration(given.get("for")),
            reason=given["reason"],
            dry_run=given.get("dry_run", False),
            expect=_whole(given, "expect"),
            confirm=given.get("confirm", ()),
        )
        return _result_of(outcome)


def _result_of(outcome: Outcome) -> dict[str, Any]:
    members = [
        {"name": name, "state": each.state, "why": each.why}
        for name, each in sorted(outcome.answers.items())
    ]
    silent = [{"name": name, "why": why} for name, why in sorted(outcome.silent.items())]
    return {
        "revision": outcome.revision,
        "verdict": outcome.verdict,
        "ok": outcome.ok,
        "members": members,
        "silent": silent,
    }


# ---- Bodies ----


def _read(body: bytes) -> dict[str, Any]:
    """Return the fields of a body; raise FlagArgumentError for what isn't one."""
    try:
        text = body.decode("utf-8")
        given = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=lambda each: _fail("body", f"{each} is not JSON"),
        )
    except (ValueError, RecursionError) as error:
        _fail("body", f"expected JSON: {error}"[:200])
    if not isinstance(given, dict):
        _fail("body", "expected one JSON object")
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        if name not in _FIELDS:
            _fail(name, f"unknown member; expected one of {', '.join(_FIELDS)}")
        is_text = str in _FIELDS[name] and name != "for"
        if not isinstance(value, _FIELDS[name]) or (is_text and isinstance(value, _Number)):
            _fail(name, "has another type")
    for name in ("set", "reason"):
        if not given.get(name):
            _fail(name, "required")
    return given


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        _fail("body", "a member is there twice")
    return made


def _text(name: str, value: object) -> str | None:
    """Return a value as on a command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    return _fail(name, "expected text, a bool, a number or null")


def _whole(given: dict[str, Any], name: str) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 15:  # noqa: PLR2004 - exact in JavaScript
        return int(text)
    return _fail(name, "expected an integer, 0 or more")


def _duration(text: str | None) -> float | None:
    """Return the seconds of 90, 90s, 10m or 1h30m."""
    if text is None:
        return None
    seconds = 0.0
    if isinstance(text, _Number):
        seconds = float(text)
    elif _DURATION.fullmatch(text):
        parts = re.findall(r"([0-9.]+)(d|h|ms|m|s)", text)
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if 0 < seconds <= _LONGEST:
        return seconds
    return _fail("for", "expected a time such as 90s, 10m or 1h30m, at most 366d")


def _fail(name: str, why: str) -> NoReturn:
    raise FlagArgumentError(f"{name}: {why}")
