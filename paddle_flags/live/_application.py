"""What answers requests: the library's own pd_live_* functions, without any transport."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._core.hooks import AUDIT, held_for_good
from paddle_flags._core.status import (
    check,
    expect,
    new_error,
    settle,
    take_failure,
    to_bytes,
    to_text,
)
from paddle_flags._core.unraisable import report
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagError
from paddle_flags.live import _fleet
from paddle_flags.live._body import BodyError, Field, read_body

if TYPE_CHECKING:
    from collections.abc import Callable

    from paddle_flags.live._sockets import Peer
    from paddle_flags.live._tokens import Token

_ASSET = re.compile(r"(?:schemas/)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+")

_IGNORED = "Exception ignored in a hook of a flag that a client changes"

# If even the library has no memory for an answer.
_LAST = b'{"type": "urn:paddle-flags:problem:internal", "title": "out of memory", "status": 500}\n'


class Request(NamedTuple):
    """A request, without its body."""

    method: bytes
    target: bytes
    headers: list[tuple[bytes, bytes]]
    who: Peer
    may: int
    """What the transport grants without a token: PD_LIVE_READ and the like."""


class Judged(NamedTuple):
    """What the library says of a request of the fleet that may be answered."""

    label: str | None
    duration: float | None


class Response(NamedTuple):
    """A response, as the library made it."""

    status: int
    """0: read the body of the request and ask again with it."""

    headers: list[tuple[bytes, bytes]]
    body: bytes
    streams: bool = False
    """Events follow the body, from `revision` on."""

    revision: int = 0
    fleet: Judged | None = None
    """The fleet makes the body."""


class Application:
    """What one server allows. `answer` may be called on any thread."""

    def __init__(
        self,
        *,
        settable: str = "",
        hosts: str | None = None,
        tokens: dict[str, Token] | None = None,
        audit: Callable[[bytes], object] | None = None,
        polls: bool = False,
    ) -> None:
        kept = _Kept()
        rows = [
            (kept.text(token.text), kept.text(label), token.bits)
            for label, token in (tokens or {}).items()
        ]
        fields = {
            "size": ffi.sizeof("pd_live_options"),
            "program": kept.text(_program()),
            "settable": kept.text(settable or None),
            "hosts": kept.text(hosts),
            "tokens": kept.array("pd_live_token[]", rows),
            "token_count": len(rows),
            "polls": polls,
            "resumes": True,  # after_fork of _core.hooks does it
            "answers": lib.PD_LIVE_FLEET,
        }
        self._audit = audit
        if audit is not None:  # for good: temporary changes end after the server
            fields.update(audit=AUDIT, context=held_for_good(audit))
        options, out, err = ffi.new("pd_live_options *", fields), ffi.new("pd_live **"), new_error()
        check(lib.pd_live_open(options, out, err), err)
        self._live = ffi.gc(out[0], lib.pd_live_close)

    def answer(self, request: Request, body: bytes | None = None) -> Response:
        """Answer a request; without its body first, and with it if the status is 0.

        Validators and watchers run meanwhile, so this may take any time. What they raise is
        reported as in a thread.
        """
        live = self._live  # keeps it until the end, also if the server is closed meanwhile
        if live is None:
            return refuse(503, "the server has been closed")
        try:
            kept = _Kept()
            fields = _head_of(kept, request)
            if body is not None:
                fields.update(_body_of(kept, body))
            asked, err = ffi.new("pd_live_request *", fields), new_error()
            made = _collect(lambda out: lib.pd_live_answer(live, asked, out, err), err)
        finally:
            _settle()
        return self._ask_fleet(request, body, made, made.fleet) if made.fleet else made

    def _ask_fleet(
        self, request: Request, body: bytes | None, made: Response, judged: Judged
    ) -> Response:
        who = _who_of(request.who, judged.label)
        fields = None if body is None else read_body(body)
        reply = _fleet.answer(_fleet.Asked(fields, judged.duration, who))
        if reply.event is not None and self._audit is not None:
            self._audit(json.dumps({**reply.event, "who": who}).encode("ascii"))
        if reply.document is None:
            return refuse(reply.status, reply.detail)
        return made._replace(body=json.dumps(reply.document).encode("ascii"))

    def close(self) -> None:
        """Free what C has, as soon as no request is being answered."""
        self._live = None


def _program() -> str | None:
    """Return the name of the program; None where the system knows it best."""
    place, name = os.path.split(sys.argv[0] if sys.argv else "")
    if name == "__main__.py":
        name = os.path.basename(place)
    return name if name not in ("", "-c", "-m") and "\0" not in name else None


class _Kept:
    """What C borrows during a call."""

    def __init__(self) -> None:
        self._all: list[Any] = []

    def text(self, text: str | bytes | None) -> Any:
        if text is None:
            return ffi.NULL
        return self.array("char[]", to_bytes(text) if isinstance(text, str) else text)

    def array(self, kind: str, items: object) -> Any:
        self._all.append(ffi.new(kind, items))
        return self._all[-1]


def _head_of(kept: _Kept, request: Request) -> dict[str, Any]:
    rows = [(kept.text(name), kept.text(value)) for name, value in request.headers]
    who = request.who
    return {
        "size": ffi.sizeof("pd_live_request"),
        "method": kept.text(request.method),
        "target": kept.text(request.target),
        "headers": kept.array("pd_live_header[]", rows),
        "header_count": len(rows),
        "may": request.may,
        "who": (who.uid, who.pid, *map(kept.text, (who.command, who.host, who.label))),
    }


def _who_of(who: Peer, label: str | None) -> dict[str, Any]:
    """Return who asks, as the library writes it."""
    return {
        "uid": who.uid if who.uid >= 0 else None,
        "pid": who.pid if who.pid >= 0 else None,
        "command": _plain(who.command),
        "host": who.host,
        "label": _plain(label),
    }


def _plain(text: str | None) -> str | None:
    """Return text of the system without what isn't UTF-8."""
    return text and text.encode("utf-8", "replace").decode()


def _body_of(kept: _Kept, body: bytes) -> dict[str, Any]:
    problem: str | None = None
    found: list[Field] = []
    try:
        found = read_body(body)
    except BodyError as error:
        problem = str(error)
    rows = [(kept.text(each.path), each.kind, kept.text(each.text)) for each in found]
    return {
        "has_body": True,
        "body_error": kept.text(problem),
        "fields": kept.array("pd_live_field[]", rows),
        "field_count": len(rows),
    }


def _settle() -> None:
    """Report what hooks have raised, and issue their warnings: nobody is there to catch them."""
    failure = take_failure()
    if failure is not None and not isinstance(failure, ValueError):
        report(failure, _IGNORED, None)
    try:
        settle()
    except BaseException as error:  # noqa: BLE001 - a thread of ours goes on
        report(error, _IGNORED, None)


# ---- Responses ----


def _collect(ask: Callable[[Any], int], err: Any) -> Response:
    """Call a function of C that fills a pd_live_response; return that."""
    out = ffi.new("pd_live_response *", {"size": ffi.sizeof("pd_live_response")})
    status = ask(out)
    try:
        expect(status, err)
        asset = ffi.string(out.asset).decode() if out.asset else None
        made = Response(
            out.status,
            [
                (ffi.string(out.headers[i].name), ffi.string(out.headers[i].value))
                for i in range(out.header_count)
            ],
            ffi.buffer(out.body, out.length)[:] if out.body else b"",
            out.streams,
            out.revision,
            _judged(out) if out.fleet else None,
        )
    finally:
        lib.pd_live_response_free(out)
    return made if asset is None else _with_asset(made, asset)


def _judged(out: Any) -> Judged:
    label = to_text(out.label) if out.label else None
    return Judged(label, out.duration_ms / 1000 if out.duration_ms else None)


def _with_asset(made: Response, name: str) -> Response:
    from importlib import resources  # noqa: PLC0415 - seldom used

    if _ASSET.fullmatch(name):
        file = resources.files("paddle_flags.live").joinpath(*name.split("/"))
        with suppress(OSError):
            return made._replace(body=file.read_bytes())
    return refuse(404, f"{name}: not in this package")


def refuse(status: int, detail: str) -> Response:
    """Return the response to a request that the transport refuses."""
    text, err = ffi.new("char[]", to_bytes(detail)), new_error()
    try:
        return _collect(lambda out: lib.pd_live_refuse(status, text, out, err), err)
    except FlagError:
        return Response(500, [(b"Content-Type", b"application/problem+json")], _LAST)


# ---- Events ----


def get_revision() -> int:
    """Return the revision of now, which every change moves."""
    return int(lib.pd_live_revision())


def get_events(since: int) -> tuple[bytes, int]:
    """Return what happened after a revision, as server-sent events, and where to go on."""
    err = new_error()
    made = _collect(lambda out: lib.pd_live_events(since, out, err), err)
    return made.body, made.revision if made.body else since
