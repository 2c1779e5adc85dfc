"""A process behind a gateway, as a client sees it: requests by HTTP."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import threading
import time
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from paddle_flags.live._documents import ANSWERS, EVENTS, Event, check_document
from paddle_flags.live._errors import LiveConnectionError, LiveError, make_problem_error
from paddle_flags.live._rpc import LONGEST, connection_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Send = Callable[..., http.client.HTTPResponse]

ROUTES = {
    "hello": ("GET", ""),
    "flags.list": ("GET", "/flags"),
    "flags.get": ("GET", "/flags/{name}"),
    "flags.set": ("POST", "/changes"),
    "changes.list": ("GET", "/changes"),
    "changes.undo": ("POST", "/undo"),
}
"""How a gateway takes the methods of the live protocol, below the path of a process."""

PROBLEM = "urn:paddle-flags:problem:"
"""What the types of problems begin with."""

_LARGEST = 256 << 20  # bytes of an answer
_LONGEST_RETRY = 6  # digits: a quarter of an hour


def make_gateway_page_url(url: str) -> str:
    """Return the URL of a gateway's page, which shows the process that `url` names, if any."""
    parts = urlsplit(url)
    prefix, pid = _split_off_pid(parts.path)
    return f"{parts.scheme}://{parts.netloc}{prefix}/" + (f"?pid={pid}" if pid else "")


def _split_off_pid(path: str) -> tuple[str, str | None]:
    """Return the path of a gateway, and the PID of the process, if there is one."""
    found = re.fullmatch(r"(.*?)(?:/v1/processes)?/([0-9]{1,10})", path)
    return (found[1], found[2]) if found else (path, None)


class RestLink:
    """A process behind a gateway."""

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        self._url = url
        self._parts = urlsplit(url)
        self._prefix, self._pid = _split_off_pid(self._parts.path)
        self._timeout = timeout
        self._tls = ssl.create_default_context() if self._parts.scheme == "https" else None
        self._headers = {"User-Agent": "paddle-flags", "Connection": "close"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Return the answer to a method of the live protocol."""
        verb, path = ROUTES[method]
        path = path.format(name=quote(str(params.get("name", "")), safe=""))
        path += f"?since={quote(str(params['since']), safe='')}" if "since" in params else ""
        body = json.dumps(params, allow_nan=False) if verb == "POST" else None

        def request_document(send: Send) -> Any:
            return _read_document(send(verb, self._find_process_path(send) + path, body))

        return check_document(self._run_in_thread(request_document, self._timeout), ANSWERS[method])

    def events(self, since: str | None, alive: float) -> Iterator[Event]:
        """Yield the events of one connection, until it is lost.

        Return when the server can't keep it open, and expects another one.
        """

        def open_stream(send: Send) -> http.client.HTTPResponse:
            answer = send("GET", f"{self._find_process_path(send)}/events", None, since or "")
            if answer.status != http.client.OK:
                _read_document(answer)
            return answer

        with self._run_in_thread(open_stream, alive) as answer:
            try:
                yield from _read_events(answer, since or "")
            except (OSError, http.client.HTTPException) as error:
                raise self._connection_error(error) from error

    def _run_in_thread(self, work: Callable[[Send], Any], patience: float) -> Any:
        """Return what is done with requests, whose connections may be silent for some seconds.

        It is done in a thread, which is left alone when the time is over, whether it looks up a
        name, shakes hands, or reads what comes byte by byte.
        """
        opened: list[socket.socket] = []
        done: Future[Any] = Future()
        connection = self._make_connection(patience)

        def send(
            verb: str, path: str, body: str | None = None, last_id: str = ""
        ) -> http.client.HTTPResponse:
            connection.connect()
            opened.append(connection.sock)
            if done.cancelled():  # nobody waits any more: a change must not happen later
                raise TimeoutError
            headers = {**self._headers, **({"Last-Event-ID": last_id} if last_id else {})}
            if body is not None:
                headers["Content-Type"] = "application/json"
            connection.request(verb, path, body, headers)
            answer = connection.getresponse()
            opened[-1].close()  # with the answer
            return answer

        def run_work() -> None:
            with suppress(InvalidStateError):  # nobody waits any more
                try:
                    done.set_result(work(send))
                except BaseException as error:  # for the thread that waits
                    connection.close()
                    done.set_exception(error)

        threading.Thread(target=run_work, name="paddle_flags request", daemon=True).start()
        try:
            return done.result(self._timeout)
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            raise self._connection_error(error) from error
        finally:
            if done.cancel():
                for each in opened:
                    with suppress(OSError):  # not as TLS does, which would wait
                        socket.socket.shutdown(each, socket.SHUT_RDWR)

    def _make_connection(self, patience: float) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=patience)
        return http.client.HTTPSConnection(host, port, timeout=patience, context=self._tls)

    def _find_process_path(self, send: Send) -> str:
        """Return the path of the process; a gateway that shows a single one means that."""
        processes = f"{self._prefix}/v1/processes"
        if self._pid is not None:
            return f"{processes}/{self._pid}"
        found = self._list_processes(send, processes)
        listed = found.get("processes") if isinstance(found, dict) else None
        pids = [each["pid"] for each in listed or () if isinstance(each.get("pid"), int)]
        if len(pids) == 1:
            return f"{processes}/{pids[0]}"
        which = ", ".join(f"{self._url}/{pid}" for pid in pids[:20]) or "none"
        text = f"{self._url}: expected one process, as in {self._url}/PID; there are: {which}"
        raise LiveError(text)

    def _list_processes(self, send: Send, processes: str) -> Any:
        """Return the list of its processes; where there is none, the URL is wrong."""
        try:
            return _read_document(send("GET", processes))
        except LiveError as error:
            if error.problem is None or error.problem.type != "unknown":
                raise
        text = f"{self._url}: is no process of a gateway, expected http://HOST:PORT/PID"
        raise LiveError(text)

    def _connection_error(self, error: Exception) -> LiveConnectionError:
        if isinstance(error, http.client.IncompleteRead):
            error = ConnectionResetError()
        elif isinstance(error, http.client.HTTPException) and not isinstance(error, OSError):
            return LiveConnectionError(f"{self._url}: the answer isn't HTTP")
        elif isinstance(error, ssl.SSLCertVerificationError):
            why = f"the certificate isn't trusted: {error.verify_message}"
            return LiveConnectionError(f"{self._url}: {why}")
        elif isinstance(error, ssl.SSLError):
            why = str(error.reason or "").replace("_", " ").lower()
            return LiveConnectionError(f"{self._url}: TLS failed: {why}; does the URL need http?")
        return connection_error(self._url, error)


def _read_document(answer: http.client.HTTPResponse) -> Any:
    """Return the document in an answer; raise LiveError for a problem."""
    with answer:
        kind = answer.getheader("Content-Type", "").partition(";")[0].strip()
        if kind not in ("application/json", "application/problem+json"):
            text = f"the answer isn't one of a gateway: HTTP status {answer.status}"
            raise LiveError(text)
        data = answer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        text = f"the answer is larger than {_LARGEST} bytes"
        raise LiveError(text)
    document = _parse_json(data)
    if answer.status == http.client.OK:
        return document
    fields = document if isinstance(document, dict) else {}
    raise make_problem_error(
        answer.status, str(fields.get("type", "")).removeprefix(PROBLEM), fields
    )


def _read_events(answer: http.client.HTTPResponse, mark: str) -> Iterator[Event]:
    """Yield the server-sent events of an answer; return if the server said when to come back."""
    kind, data, retry = "", bytearray(), b""
    while line := answer.readline(LONGEST):
        name, _, value = line.strip().partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            kind = value.decode("ascii", "replace")
        elif name == b"id":
            mark = value.decode("ascii", "replace")
        elif name == b"retry" and value.isdigit():
            retry = value[:_LONGEST_RETRY]
        elif name == b"data":
            data += value
        elif data and not line.strip():
            yield Event(kind, mark, check_document(_parse_json(data), EVENTS.get(kind, {})))
            kind, data = "", bytearray()
        if len(data) > LONGEST:
            text = f"an event is longer than {LONGEST} bytes"
            raise LiveError(text)
    if not retry:
        raise ConnectionResetError
    time.sleep(int(retry) / 1000)


def _parse_json(text: bytes | bytearray) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        why = "the answer isn't one of a gateway: it isn't JSON"
        raise LiveError(why) from None
