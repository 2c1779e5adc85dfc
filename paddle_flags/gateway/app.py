"""The API and the page of a gateway: an application on Starlette that trusts whoever asks."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from paddle_flags.gateway.fleets import WatchedFleet
from paddle_flags.gateway.openapi import openapi
from paddle_flags.gateway.problems import JsonResponse, Refusal, problem_response
from paddle_flags.gateway.processes import Processes, run_in_thread
from paddle_flags.live._errors import LiveConnectionError, LiveError
from paddle_flags.live._rest import ROUTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from paddle_flags.gateway.processes import Paths
    from paddle_flags.live._documents import Event
    from paddle_flags.live._rpc import Connection

TIMEOUT = 10.0
"""Seconds for a process to answer."""

_PROCESS = "/v1/processes/{pid:int}"
_LONGEST = 3600.0  # seconds that a change may wait
_ALIVE = 45.0  # seconds without a sign of life of a process; one comes every 15
_POLL = 0.2  # seconds in which a stream that can't stay open waits for events
_COMMENT = b":\n\n"


class Gateway:
    """What answers the requests of one application."""

    def __init__(
        self, paths: Paths = None, fleets: Sequence[str] = (), *, polls: bool = False
    ) -> None:
        """With `polls`, streams of events end soon, and clients come back."""
        self._processes = Processes(paths)
        self._fleets = [WatchedFleet(url) for url in fleets]
        self._polls = polls

    def application(self) -> Starlette:
        """Return the ASGI application, which trusts whoever asks."""
        routes: list[BaseRoute] = [
            Route(_PROCESS + path, partial(self._relay, method), methods=[verb])
            for method, (verb, path) in ROUTES.items()
        ]
        routes += [
            Route("/v1/processes", self._list_processes),
            Route(f"{_PROCESS}/events", self._stream),
            Route("/v1/fleets", self._list_fleets),
            Route("/v1/fleets/{fleet:int}", self._show_fleet),
            Route("/v1/fleets/{fleet:int}/changes", self._change_fleet, methods=["POST"]),
            Route("/v1/openapi.json", self._show_openapi),
            Mount("/", StaticFiles(packages=[("paddle_flags.gateway", "page")], html=True)),
        ]
        handlers = {
            LiveError: _handle_refusal,
            HTTPException: _handle_http_error,
            Exception: _handle_failure,
        }
        made = Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]
        made.router.redirect_slashes = False
        return made

    # ---- Processes ----

    async def _list_processes(self, request: Request) -> Response:
        _read_query_parameters(request)
        return JsonResponse(
            {
                "processes": await self._processes.list_processes(),
                "you": _describe_client_rights(request),
            }
        )

    async def _relay(self, method: str, request: Request) -> Response:
        """Answer what the process answers to a method of its protocol."""
        params: Any = _read_query_parameters(request, *["since"] * (method == "flags.list"))
        seconds = 0.0
        if request.method == "POST":  # passed on as it is: the process has the rules
            params, seconds = _make_relayed_parameters(
                await request.body(), _client_identity(request)
            )
        elif method == "flags.get":
            params["name"] = request.path_params["name"]
        elif method == "changes.list":
            params["on_behalf_of"] = _client_identity(request)  # who may undo them depends on it
        answer = await self._processes.ask(request, seconds + TIMEOUT, method, params)
        return JsonResponse(
            {**answer, "you": _describe_client_rights(request)} if method == "hello" else answer
        )

    async def _stream(self, request: Request) -> Response:
        """Stream what changes from now on."""
        since = _read_query_parameters(request, "since").get("since")
        since = request.headers.get("last-event-id") or since
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        connection = await self._processes.connection(request, TIMEOUT)
        stream = _Stream(connection, since, _POLL if self._polls else _ALIVE)
        await stream.start(
            _describe_client_rights(request), b"retry: 1000\n\n" if self._polls else b""
        )
        return stream

    # ---- Fleets ----

    async def _list_fleets(self, request: Request) -> Response:
        _read_query_parameters(request)
        listed = [{"fleet": n, "url": each.url} for n, each in enumerate(self._fleets, 1)]
        return JsonResponse({"fleets": listed, "you": _describe_client_rights(request)})

    async def _show_fleet(self, request: Request) -> Response:
        _read_query_parameters(request)
        return JsonResponse(await run_in_thread(self._find_fleet(request).document))

    async def _change_fleet(self, request: Request) -> Response:
        _read_query_parameters(request)
        by = _client_identity(request) or {}
        who = " at ".join(filter(None, [by.get("label"), by.get("host")]))
        return JsonResponse(
            await run_in_thread(self._find_fleet(request).change, await request.body(), who)
        )

    def _find_fleet(self, request: Request) -> WatchedFleet:
        number: int = request.path_params["fleet"]
        if 1 <= number <= len(self._fleets):
            return self._fleets[number - 1]
        raise Refusal(404, "unknown", f"there is no fleet {number}")

    async def _show_openapi(self, request: Request) -> Response:
        _read_query_parameters(request)
        return JsonResponse(openapi())


# ---- Requests ----


def _read_query_parameters(request: Request, *known: str) -> dict[str, str]:
    """Return the parameters in the query, none of which is unknown or there twice."""
    given = request.query_params.multi_items()
    for name, _ in given:
        if name not in known:
            raise Refusal(400, "malformed", f"unknown parameter {name!r}")
    if len(given) > len(dict(given)):
        raise Refusal(400, "malformed", "a parameter is there twice")
    return dict(given)


def _describe_client_rights(request: Request) -> dict[str, Any]:
    """Return who asks, and what they may do."""
    may = ["read", "change"] if request.user.may == "change" else ["read"]
    return {**(_client_identity(request) or {}), "may": may}


def _client_identity(request: Request) -> dict[str, str] | None:
    """Return for whom the gateway asks; None: for the user that it runs as."""
    label = request.user.label
    if not label:
        return None
    host = request.client.host if request.client else ""
    return {"label": label[:200], **({"host": host[:200]} if host else {})}


def _make_relayed_parameters(body: bytes, behalf: dict[str, str] | None) -> tuple[bytes, float]:
    """Return the parameters of a request from its body, and for how long it may wait.

    The members stay as they are, and the process refuses one that is there twice. Line breaks
    become blanks, as they can only stand between the tokens of JSON.
    """
    try:
        document = json.loads(body.decode("utf-8")) if body else {}
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "malformed", f"expected JSON: {error}"[:200]) from None
    if not isinstance(document, dict):
        raise Refusal(400, "malformed", "expected one JSON object")
    rest = body.translate(bytes.maketrans(b"\r\n", b"  ")).strip(b" \t")[1:] if document else b"}"
    wait = document.get("timeout")
    seconds = float(wait) if isinstance(wait, (int, float)) and 0 < wait <= _LONGEST else TIMEOUT
    head = json.dumps({"on_behalf_of": behalf})[:-1] + "," * bool(document)
    return head.encode("ascii") + rest, seconds


# ---- Answers ----


def _event_message(event: Event) -> bytes:
    text = json.dumps(event.data, allow_nan=False)
    return f"event: {event.kind}\nid: {event.id}\ndata: {text}\n\n".encode("ascii")


class _Stream(StreamingResponse):
    """Events of a process, whose connection ends with the answer."""

    def __init__(self, connection: Connection, since: str | None, alive: float) -> None:
        self._connection = connection
        self._events = connection.events(since, alive)

    async def start(self, you: dict[str, Any], end: bytes) -> None:
        """Wait until the process sends events, as until then it may refuse to."""
        try:
            first = await run_in_thread(self._events.__next__)
        except BaseException:
            self._close()
            raise
        if first.kind == "hello":
            first = first._replace(data={**first.data, "you": you})
        super().__init__(self._messages(first, end), media_type="text/event-stream")

    async def _messages(self, event: Event, end: bytes) -> AsyncIterator[bytes]:
        with suppress(LiveConnectionError):  # the process has ended, or said nothing for long
            while True:
                yield _COMMENT if event.kind == "alive" else _event_message(event)
                event = await run_in_thread(self._events.__next__)
        if end:
            yield end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them, as Starlette does."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._close()

    def _close(self) -> None:
        self._connection.abort()
        with suppress(ValueError):  # a thread waits for an event: it notices
            self._events.close()


async def _handle_refusal(_: Request, error: LiveError) -> Response:
    return problem_response(error)


async def _handle_http_error(request: Request, error: HTTPException) -> Response:
    root = request.scope.get("root_path", "")
    if root and request.scope["path"] in ("", root):  # the page's own links are below the slash
        return RedirectResponse(f"/{root.lstrip('/')}/", 308)
    kind = {404: "unknown", 405: "method"}.get(error.status_code, "malformed")
    detail = "no such resource" if kind == "unknown" else error.detail
    answer = problem_response(Refusal(error.status_code, kind, detail))
    answer.headers.update(error.headers or {})
    return answer


async def _handle_failure(_: Request, __: Exception) -> Response:
    return problem_response(Refusal(500, "internal", "the gateway has failed; its log says more"))
