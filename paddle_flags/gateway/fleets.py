"""The fleets that a gateway shows: it looks at them as an operator, without being a member."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from paddle_flags.errors import FlagArgumentError, FlagError, FlagTypeError
from paddle_flags.fleet._arguments import parse_seconds
from paddle_flags.fleet._fleet import Fleet
from paddle_flags.fleet._open import open_store, parse_url
from paddle_flags.fleet._operate import ConflictError, SensitiveError, UnconfirmedError
from paddle_flags.fleet._record import Change, selector
from paddle_flags.fleet._status import View
from paddle_flags.fleet._store import ReadOnlyError, UnreachableError
from paddle_flags.gateway.documents import FleetChangeRequest
from paddle_flags.gateway.fleet_documents import fleet_document, outcome_document
from paddle_flags.gateway.problems import Refusal
from paddle_flags.live._documents import find_invalid_field

if TYPE_CHECKING:
    from paddle_flags.fleet._store import Store

_FIRST = 0.5  # seconds to wait for the first look
_LINGER = 10.0  # seconds after a request in which a next one is expected
_WAIT = 5.0  # seconds for members to answer, if nobody says how long
_LONGEST_WAIT = 30.0

_PROBLEMS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], int, str], ...] = (
    ((FlagArgumentError, FlagTypeError), 400, "malformed"),
    ((ReadOnlyError, SensitiveError), 403, "forbidden"),
    (UnconfirmedError, 428, "confirm"),
    (ConflictError, 409, "conflict"),
    ((UnreachableError, OSError), 504, "unreachable"),
    (FlagError, 422, "rejected"),
)

_SWITCHES = {True: "true", False: "false"}
_FIELDS = FleetChangeRequest.__annotations__


class WatchedFleet:
    """A fleet that is looked at while somebody asks."""

    def __init__(self, url: str) -> None:
        self._address = url
        self._store: Store | None = None
        self._lock = threading.Lock()
        self.url = parse_url(url).text  # without a password
        self._view = View(self.url, self._connect)

    def _connect(self) -> Store:
        """Return the store, which is opened on first use."""
        with self._lock:
            if self._store is None:
                self._store = open_store(self._address, create=False)
            return self._store

    def document(self) -> dict[str, Any]:
        """Return what was seen last."""
        return fleet_document(self._view, self._view.refresh(wait=_FIRST, linger=_LINGER))

    def change(self, body: bytes, by: str) -> dict[str, Any]:
        """Make the change that the body of a request describes."""
        try:
            return self._run_change(_read_request(body), by)
        except (FlagError, OSError) as error:
            status, kind = next(each[1:] for each in _PROBLEMS if isinstance(error, each[0]))
            names = error.names if isinstance(error, UnconfirmedError) else ()
            errors = tuple({"name": each, "kind": kind, "detail": str(error)} for each in names)
            raise Refusal(status, kind, str(error), errors) from error

    def _run_change(self, given: dict[str, Any], by: str) -> dict[str, Any]:
        on = selector(given["role"], given["host"], given["member"])
        wait = _WAIT if given["wait"] is None else given["wait"]
        if not 0 <= wait <= _LONGEST_WAIT:
            _raise_field_error("wait", f"expected seconds, at most {_LONGEST_WAIT:g}")
        fleet = Fleet(self._connect(), by=f"{by} through a gateway" if by else None)
        outcome = fleet.change(
            [Change(name, value, on) for name, value in given["set"].items()],
            wait=wait or None,
            force=bool(given["force"]),
            at_step=given["at_step"],
            duration=parse_seconds(given["for"], "for"),
            reason=given["reason"],
            dry_run=bool(given["dry_run"]),
            expect=given["expect"],
            confirm=given["confirm"] or (),
        )
        return outcome_document(outcome)


# ---- Bodies ----


def _read_request(body: bytes) -> dict[str, Any]:
    """Return the fields of a body, each with None if it isn't there, and the values as text."""
    given = _parse_json(body)
    if not isinstance(given, dict):
        _raise_field_error("body", "expected one JSON object")
    for name in given.keys() - _FIELDS.keys():
        _raise_field_error(name, f"unknown member; expected one of {', '.join(_FIELDS)}")
    given = {**dict.fromkeys(_FIELDS), **given}
    fault = find_invalid_field(given, FleetChangeRequest)
    if fault is not None or not given["reason"]:
        _raise_field_error(fault or "reason", "is missing, or has another type")
    texts = _parse_json(body, parse_int=str, parse_float=str)["set"]  # digits as they stand there
    return {**given, "set": {name: _SWITCHES.get(text, text) for name, text in texts.items()}}


def _parse_json(body: bytes, **options: Any) -> Any:
    try:
        return json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_build_unique_key_dict,
            parse_constant=lambda each: _raise_field_error("body", f"{each} is not JSON"),
            **options,
        )
    except (ValueError, RecursionError) as error:
        return _raise_field_error("body", f"expected JSON: {error}"[:200])


def _build_unique_key_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        _raise_field_error("body", "a member is there twice")
    return made


def _raise_field_error(name: str, why: str) -> NoReturn:
    raise FlagArgumentError(f"{name}: {why}")
