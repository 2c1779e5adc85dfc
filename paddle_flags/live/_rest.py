"""A process behind a gateway, as a client sees it: requests by HTTP, on a loop of their own.

A deadline for a whole request, from the look-up of the name to the last byte, also over TLS, is
what event loops do well. So all requests of a program run on one loop, in a thread.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import ssl
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from paddle_flags.errors import FlagArgumentError, FlagUnsupportedError
from paddle_flags.live import _sse
from paddle_flags.live._documents import Event
from paddle_flags.live._errors import LiveConnectionError, LiveError, refusal
from paddle_flags.live._rpc import lost

try:
    import httpx
except ImportError:
    message = "a URL needs the package httpx: pip install 'paddle_flags[live]'"
    raise FlagUnsupportedError(message) from None

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

    from paddle_flags.live._find import Endpoint

_LARGEST = 256 << 20  # bytes of an answer
_TYPES = ("application/json", "application/problem+json")
_WAITING = 256  # events that are read before somebody takes them

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a forked child has no threads


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = asyncio.new_event_loop()
            name = "paddle_flags requests"
            threading.Thread(target=loop.run_forever, name=name, daemon=True).start()
            _loops[os.getpid()] = loop
        return loop


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    """Return what a coroutine returns; end it if the caller is interrupted."""
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


class RestLink:
    """A process behind a gateway. See Link of client.py."""

    def __init__(self, endpoint: Endpoint, token: str | None, timeout: float) -> None:
        found = re.fullmatch(r"(.*?)(?:/v1/processes)?/([0-9]{1,10})", endpoint.prefix)
        self._pid = found[2] if found else None
        self._base = endpoint._replace(prefix=found[1] if found else endpoint.prefix)
        self._where = str(endpoint)
        self._timeout = timeout
        self._verify = ssl.create_default_context() if endpoint.secure else False
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "paddle-flags"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """See Link."""
        body = None
        if method in _POSTS:
            path, body = _POSTS[method], json.dumps(params, allow_nan=False)
        else:
            path = _GETS[method].format(name=quote(str(params.get("name", "")), safe=""))
            path += f"?since={quote(str(params['since']), safe='')}" if "since" in params else ""
        return _run(self._ask(path, body))

    async def _ask(self, path: str, body: str | None) -> Any:
        try:
            async with asyncio.timeout(self._timeout), self._client() as client:
                where = await self._process(client)
                return await self._request(client, where + path, body)
        except (OSError, httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._lost(error) from error

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            headers=self._headers,
            verify=self._verify,
            timeout=None,  # noqa: S113 - each request has its deadline
            trust_env=False,
        )

    async def _process(self, client: httpx.AsyncClient) -> str:
        """Return the URL of the process; a gateway that shows a single one means that."""
        if self._pid is not None:
            return f"{self._base}/v1/processes/{self._pid}"
        found = await self._request(client, f"{self._base}/v1/processes", None)
        listed = found.get("processes") if isinstance(found, dict) else None
        pids = [each["pid"] for each in listed or () if isinstance(each.get("pid"), int)]
        if len(pids) != 1:
            which = ", ".join(f"{self._base}/{pid}" for pid in pids[:20]) or "none"
            text = f"{self._base}: expected one process, as in {self._base}/PID; there are: {which}"
            raise LiveError(text)
        return f"{self._base}/v1/processes/{pids[0]}"

    async def _request(self, client: httpx.AsyncClient, url: str, body: str | None) -> Any:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        method = "GET" if body is None else "POST"
        async with client.stream(method, url, content=body, headers=headers) as answer:
            return await _document(answer)

    def _lost(self, error: Exception) -> LiveError:
        if isinstance(error, httpx.InvalidURL):
            raise FlagArgumentError(f"{self._where}: {error}") from error
        if isinstance(error, httpx.RemoteProtocolError):
            cut = "closed" in str(error) or "disconnected" in str(error)
            why = "the connection was closed" if cut else "the answer isn't HTTP"
            return LiveConnectionError(f"{self._where}: {why}")
        return lost(self._where, _cause_of(error))

    # ---- Events ----

    def events(self, since: str | None, alive: float) -> Iterator[Event]:
        """See Link."""
        found: queue.Queue[Event | Exception | None] = queue.Queue(_WAITING)
        task = asyncio.run_coroutine_threadsafe(self._follow(found, since, alive), _loop())
        try:
            while (event := found.get()) is not None:
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            task.cancel()

    async def _follow(
        self, found: queue.Queue[Event | Exception | None], since: str | None, alive: float
    ) -> None:
        """Put the events of one connection into a queue, and at last an exception or None."""
        last: Exception | None = None
        try:
            async for event in self._stream(since, alive):
                await _put(found, event)
        except (LiveError, httpx.HTTPError, OSError) as error:
            last = error if isinstance(error, LiveError) else self._lost(error)
        except Exception as error:  # noqa: BLE001 - who reads the queue raises it
            last = error
        await _put(found, last)

    async def _stream(self, since: str | None, alive: float) -> AsyncIterator[Event]:
        parser = _sse.Parser()
        parser.last_id = since or ""
        while parser.retry is None:
            async for event in self._read(parser, alive):
                yield event
            if parser.retry is None:
                raise ConnectionResetError
            await asyncio.sleep(parser.retry)  # the server can't keep a stream open
            parser.retry = None

    async def _read(self, parser: _sse.Parser, alive: float) -> AsyncIterator[Event]:
        """Yield the events of one answer."""
        headers = {"Accept": "text/event-stream"}
        if parser.last_id:
            headers["Last-Event-ID"] = parser.last_id
        async with self._client() as client:
            async with asyncio.timeout(self._timeout):
                url = f"{await self._process(client)}/events"
                request = client.build_request("GET", url, headers=headers)
                answer = await client.send(request, stream=True)
                if answer.status_code != httpx.codes.OK:
                    await _document(answer)
            parts = answer.aiter_raw()
            while True:
                async with asyncio.timeout(alive):
                    part = await anext(parts, b"")
                if not part:
                    return
                for message in parser.feed(part):
                    yield Event(message.kind, message.id, _parse(message.data))


def _cause_of(error: BaseException) -> BaseException:
    """Return the error of the system behind one of httpx."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, TimeoutError):
        if isinstance(cause, OSError) and cause.errno:
            return cause
        cause = cause.__cause__ or cause.__context__
    return cause or error


async def _put(
    found: queue.Queue[Event | Exception | None], item: Event | Exception | None
) -> None:
    """Put something into a queue of bounded length, when there is room."""
    while True:
        try:
            found.put_nowait(item)
        except queue.Full:
            await asyncio.sleep(0.05)
        else:
            return


async def _document(answer: httpx.Response) -> Any:
    """Return the document in an answer; raise LiveError for a problem."""
    kind = answer.headers.get("content-type", "").partition(";")[0].strip()
    if kind not in _TYPES:
        text = f"the answer isn't one of a gateway: HTTP status {answer.status_code}"
        raise LiveError(text)
    data = bytearray()
    async for part in answer.aiter_raw():
        data += part
        if len(data) > _LARGEST:
            text = f"the answer is larger than {_LARGEST} bytes"
            raise LiveError(text)
    document = _parse(bytes(data))
    if answer.status_code != httpx.codes.OK:
        raise refusal(answer.status_code, document)
    return document


def _parse(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        why = "the answer isn't one of a gateway: it isn't JSON"
        raise LiveError(why) from None


_GETS = {
    "hello": "",
    "flags.list": "/flags",
    "flags.get": "/flags/{name}",
    "changes.list": "/changes",
}
_POSTS = {"flags.set": "/changes", "changes.undo": "/undo"}
