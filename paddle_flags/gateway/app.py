"""The API and the page of a gateway: an application on Starlette that trusts whoever asks."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from paddle_flags.gateway.api import ROUTES, openapi
from paddle_flags.gateway.fleets import Watched
from paddle_flags.gateway.problems import Json, Refusal, problem
from paddle_flags.live._errors import LiveConnectionError, LiveError
from paddle_flags.live._rpc import encode, mark_of, one, steps_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Sequence

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from paddle_flags.gateway.processes import Processes
    from paddle_flags.live._rpc_async import AsyncConnection

TIMEOUT = 10.0
"""Seconds for a process to answer."""

_LONGEST = 3600.0  # seconds that a change may wait
_ALIVE = 45.0  # seconds without a sign of life of a process; one comes every 15
_POLL = 0.2  # seconds in which a stream that can't stay open waits for events
_COMMENT = b":\n\n"


class Gateway:
    """What answers the requests of one application."""

    def __init__(
        self, processes: Processes, urls: Sequence[str] = (), *, polls: bool = False
    ) -> None:
        """With `polls`, streams of events end soon, and clients come back."""
        self._processes = processes
        self._fleets: list[Watched] = [Watched(url) for url in urls]
        self._polls = polls

    def application(self) -> Starlette:
        """Return the ASGI application, which trusts whoever asks."""
        handlers = {
            Refusal: _refused,
            LiveError: _live_error,
            HTTPException: _http_error,
            Exception: _failed,
        }
        routes: list[BaseRoute] = [
            Route(each.path, getattr(self, each.handler), methods=[each.method]) for each in ROUTES
        ]
        files = StaticFiles(packages=[("paddle_flags.gateway", "page")], html=True)
        routes = [*routes, Mount("/", files)]
        made = Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]
        made.router.redirect_slashes = False
        return made

    # ---- Processes ----

    async def processes(self, request: Request) -> Response:
        """List the processes."""
        _parameters(request)
        return Json({"processes": await self._processes.list(), "you": _you(request)})

    async def process(self, request: Request) -> Response:
        """Say what a process is."""
        _parameters(request)
        hello = await self._ask(request, "hello", {})
        return Json({**hello, "you": _you(request)})

    async def flags(self, request: Request) -> Response:
        """List its flags."""
        return Json(await self._ask(request, "flags.list", _parameters(request, "since")))

    async def flag(self, request: Request) -> Response:
        """Return one flag."""
        _parameters(request)
        name = request.path_params["name"]
        return Json(await self._ask(request, "flags.get", {"name": name}))

    async def changes(self, request: Request) -> Response:
        """List what was changed."""
        _parameters(request)
        behalf = {"on_behalf_of": _behalf(request)}  # who may undo them depends on it
        return Json(await self._ask(request, "changes.list", behalf))

    async def change(self, request: Request) -> Response:
        """Change flags."""
        return await self._pass_on(request, "flags.set")

    async def undo(self, request: Request) -> Response:
        """Undo a change."""
        return await self._pass_on(request, "changes.undo")

    async def _ask(self, request: Request, method: str, params: dict[str, Any]) -> Any:
        async with await self._connect(request) as connection:
            return await connection.run(steps_of(method, params))

    async def _connect(self, request: Request, seconds: float = TIMEOUT) -> AsyncConnection:
        return await self._processes.connect(request.path_params["pid"], seconds)

    async def _pass_on(self, request: Request, method: str) -> Response:
        """Pass a body on as it is: the process has the rules."""
        _parameters(request)
        params, seconds = _spliced(await request.body(), encode(_behalf(request)))
        async with await self._connect(request, seconds + TIMEOUT) as connection:
            return Json(await _unless_gone(request, connection.ask(method, params)))

    # ---- Events ----

    async def events(self, request: Request) -> Response:
        """Stream what changes from now on."""
        since = _parameters(request, "since").get("since")
        since = request.headers.get("last-event-id") or since
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        connection = await self._connect(request)
        async with connection:
            first = b""
            if not since:
                hello = await connection.run(one("hello"))
                since = mark_of(hello)
                first = _event("hello", since, {**hello, "you": _you(request)})
            await connection.run(one("events.subscribe", {"since": since}))
            stream = _Stream(self._messages(connection, first))
            await stream(request.scope, request.receive, request._send)  # noqa: SLF001
        return _Done()

    async def _messages(self, connection: AsyncConnection, first: bytes) -> AsyncIterator[bytes]:
        yield first or _COMMENT
        try:
            async for event in connection.events(_POLL if self._polls else _ALIVE):
                yield _COMMENT if event is None else _event(event.kind, event.id, event.data)
        except LiveConnectionError:  # the process has ended, or said nothing for long
            pass
        if self._polls:
            yield b"retry: 1000\n\n"

    # ---- Fleets ----

    async def fleets(self, request: Request) -> Response:
        """List the fleets."""
        _parameters(request)
        listed = [{"fleet": n, "url": each.url} for n, each in enumerate(self._fleets, 1)]
        return Json({"fleets": listed, "you": _you(request)})

    async def fleet(self, request: Request) -> Response:
        """Return what was seen of a fleet last."""
        _parameters(request)
        return Json(await self._watched(request).document())

    async def change_fleet(self, request: Request) -> Response:
        """Change flags of the members of a fleet."""
        _parameters(request)
        by = _behalf(request) or {}
        who = " at ".join(filter(None, [by.get("label"), by.get("host")]))
        return Json(await self._watched(request).change(await request.body(), who))

    def _watched(self, request: Request) -> Watched:
        number: int = request.path_params["fleet"]
        if 1 <= number <= len(self._fleets):
            return self._fleets[number - 1]
        raise Refusal(404, "unknown", f"there is no fleet {number}")

    async def openapi(self, request: Request) -> Response:
        """Describe this API."""
        _parameters(request)
        return Json(openapi())


# ---- Requests ----


def _parameters(request: Request, *known: str) -> dict[str, str]:
    """Return the parameters in the query, none of which is unknown or there twice."""
    given = request.query_params.multi_items()
    for name, _ in given:
        if name not in known:
            raise Refusal(400, "malformed", f"unknown parameter {name!r}")
    if len(given) > len(dict(given)):
        raise Refusal(400, "malformed", "a parameter is there twice")
    return dict(given)


def _you(request: Request) -> dict[str, Any]:
    """Return who asks, and what they may do."""
    user = request.user
    may = ["read", "change"] if user.may == "change" else ["read"]
    return {**(_behalf(request) or {}), "may": may}


def _behalf(request: Request) -> dict[str, str] | None:
    """Return for whom the gateway asks; None: for the user that it runs as."""
    label = request.user.label
    if not label:
        return None
    host = request.client.host if request.client else ""
    return {"label": label[:200], **({"host": host[:200]} if host else {})}


def _spliced(body: bytes, behalf: bytes) -> tuple[bytes, float]:
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
    comma = b"," if document else b""
    return b'{"on_behalf_of":' + behalf + comma + rest, seconds


async def _unless_gone(request: Request, work: Coroutine[Any, Any, Any]) -> Any:
    """Return what is awaited; give it up if the client goes, as the process does then."""
    task, left = asyncio.ensure_future(work), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({task, left}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Refusal(408, "timeout", "the client has gone")
    finally:
        task.cancel()
        left.cancel()


# ---- Answers ----


def _event(kind: str, mark: str, data: dict[str, Any]) -> bytes:
    text = json.dumps(data, allow_nan=False)
    return f"event: {kind}\nid: {mark}\ndata: {text}\n\n".encode("ascii")


class _Stream(StreamingResponse):
    media_type = "text/event-stream"


class _Done(Response):
    """The answer was sent already."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send nothing."""


async def _refused(_: Request, error: Refusal) -> Response:
    return problem(error)


async def _live_error(_: Request, error: LiveError) -> Response:
    found = error.problem
    if found is None:
        unreachable = isinstance(error, LiveConnectionError)
        return problem(Refusal(502, "unreachable" if unreachable else "internal", str(error)))
    more = {"title": found.title, "errors": list(found.errors), "current": found.current}
    return problem(Refusal(found.status, found.type, found.detail, **more))


async def _http_error(request: Request, error: HTTPException) -> Response:
    root = request.scope.get("root_path", "")
    if root and request.scope["path"] in ("", root):  # the page's own links are below the slash
        return RedirectResponse(f"/{root.lstrip('/')}/", 308)
    kinds = {404: "unknown", 405: "method"}
    kind = kinds.get(error.status_code, "malformed")
    answer = problem(
        Refusal(error.status_code, kind, "no such resource" if kind == "unknown" else error.detail)
    )
    answer.headers.update(error.headers or {})
    return answer


async def _failed(_: Request, __: Exception) -> Response:
    return problem(Refusal(500, "internal", "the gateway has failed; its log says more"))
