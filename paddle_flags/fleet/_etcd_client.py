"""Requests to a cluster of etcd through its JSON gateway: failover, users, retries.

A request goes to the node that answered last. If that does not answer, the next nodes are asked,
until the timeout of the store. So a request may happen twice, or after a call has ended: callers
send only requests whose result shows whether they have happened.

Timeouts of urllib3 are for each read, and begin anew with each byte of a node that trickles. So the
sockets have a deadline for a whole request. There is no lock that a forked child could inherit.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import random
import ssl
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any, cast

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from paddle_flags.fleet._store import FleetError, Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from urllib3 import BaseHTTPResponse

    from paddle_flags.fleet._open import Url

Body = dict[str, Any]
Node = tuple[str, int]  # host and port
PORT = 2379
_LOGIN, WATCH = "auth/authenticate", "watch"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25  # seconds, after all nodes were asked
_PATIENCE = 2.0  # seconds for a node in the first round
_LOOK = 0.25  # seconds until a read looks whether the store is closed
_OK, _SERVER_ERROR = 200, 500  # status of HTTP
# A node without a leader says so, instead of waiting for one, and ends its watches.
_HEADERS = {"Content-Type": "application/json", "Grpc-Metadata-Hasleader": "true"}
_LATER = (1, 4, 14)  # cancelled, late or unavailable: no leader, its election, or a node that ends
_OLD_TOKEN = ("invalid auth token", "revision of auth store is old")
_ADVICE = {
    "user name is empty": "expected a user, as in etcd://user@host/path",
    "authentication is not enabled": "expected an address without a user",
    "invalid user ID or password": "etcd has no user {user}, or this user has another password: "
    "expected the password of user {user}",
}
# Options of the address. The environment has them, and the password, behind a prefix.
OPTIONS = ("ca", "cert", "key", "password_file")
VARIABLE = "PADDLE_FLAGS_ETCD_"


class EtcdError(FleetError):
    """An error that etcd answered, and its code of gRPC."""

    NOT_FOUND, DENIED, EXHAUSTED = 5, 7, 8
    code = 0


class _NotNowError(Exception):
    """A node can't answer now; another one may."""

    def __init__(self, reason: str, *, is_doubtful: bool) -> None:
        super().__init__(reason)
        self.is_doubtful = is_doubtful  # the request may have happened all the same


class _Socket(socket):
    """Its operations share a deadline, and raise TimeoutError behind it."""

    end = math.inf  # on the monotonic clock
    closed = threading.Event()  # of the store

    def recv_into(self, buffer: Any, nbytes: Any = 0, flags: int = 0) -> int:
        while True:
            self._limit_timeout(_LOOK)
            with contextlib.suppress(TimeoutError):
                return super().recv_into(buffer, nbytes or memoryview(buffer).nbytes, flags)

    def sendall(self, data: Any, flags: int = 0) -> None:
        self._limit_timeout(threading.TIMEOUT_MAX)  # Python counts down
        super().sendall(data, flags)

    def _limit_timeout(self, longest: float) -> None:
        if self.closed.is_set():
            raise TimeoutError
        self.settimeout(min(longest, _seconds_until(self.end)))


class _TlsSocket(_Socket, ssl.SSLSocket):
    pass


class _Connection(HTTPConnection):
    end = math.inf  # of connecting

    def _new_conn(self) -> socket:
        self.timeout = _seconds_until(self.end)
        made = _Socket(fileno=super()._new_conn().detach())
        made.settimeout(_seconds_until(self.end))  # also for the handshake of TLS
        return made


class _TlsConnection(_Connection, HTTPSConnection):
    pass


def _seconds_until(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


@contextlib.contextmanager
def _translate_errors(*, is_doubtful: bool) -> Iterator[None]:
    try:
        yield
    except (OSError, http.client.HTTPException, HTTPError) as error:
        root = error.__cause__ if isinstance(error, HTTPError) and error.__cause__ else error
        reason = getattr(root, "strerror", None) or str(root) or type(root).__name__
        if isinstance(root, ssl.SSLCertVerificationError):
            is_doubtful, reason = False, f"certificate: {root.verify_message}"
        elif isinstance(root, ssl.SSLError):
            reason = getattr(root, "reason", None) or str(root.args[-1])
            is_doubtful &= "ALERT" not in reason  # by which a node refuses a client
            reason = f"TLS: {reason.replace('_', ' ').lower()}"
        elif isinstance(root, TimeoutError):
            reason = "no answer in time"
        elif isinstance(root, (http.client.HTTPException, ConnectionResetError)):
            reason = "it closed the connection before an answer"
        raise _NotNowError(reason, is_doubtful=is_doubtful) from error


class Stream:
    """An answer that goes on, line by line. One thread reads it at a time."""

    number = 0  # that it has told last

    def __init__(self, link: _Socket, response: BaseHTTPResponse) -> None:
        self._link = link
        self._response = response
        self._lines = iter(response)

    def next(self, seconds: float) -> bytes:
        """Return the next line; b"" if none comes in time, and no more will."""
        self._link.end = time.monotonic() + seconds
        with contextlib.suppress(_NotNowError), _translate_errors(is_doubtful=False):
            return next(self._lines, b"")
        return b""

    def close(self) -> None:
        self._response.close()
        self._link.close()


class Client(Store):
    """A store that asks a cluster of etcd."""

    def __init__(self, url: Url, timeout: float) -> None:
        super().__init__(url.text)
        variables = {name: os.environ.get(VARIABLE + name.upper(), "") for name in OPTIONS}
        options = url.resolve_options(variables)
        self._timeout = timeout
        self._tls = _tls_context(url, options)
        self._user, self._password = url.user, _password(url, options)
        self._token = ""
        self._nodes = [(host, port or PORT) for host, port in url.hosts]
        self._at = random.randrange(len(self._nodes))  # noqa: S311 - spreads members over nodes
        self._has_worked = False
        self._idle: dict[object, list[Any]] = defaultdict(list)  # connections, by their node

    def _reset_process_state(self) -> None:
        for place in list(self._idle):
            while connection := self._acquire_connection(place):
                connection.close()  # a parent doesn't notice that

    _disconnect = _reset_process_state

    def _acquire_connection(self, place: object) -> Any:
        with contextlib.suppress(IndexError):
            return self._idle[place].pop()
        return None

    def _release_connection(self, place: object, connection: Any) -> None:
        """Keep a connection for any thread; that of gevent belongs to its own, and is closed."""
        monkey: Any = sys.modules.get("gevent.monkey")
        if monkey is None or not monkey.is_module_patched("socket"):
            self._idle[place].append(connection)
            if self.closed.is_set():
                self._disconnect()  # again: that of `close` came in between
        else:
            connection.close()

    def _request(self, path: str, body: Body) -> tuple[Any, bool]:
        """Return what the first node answers that can, and whether an earlier attempt may count."""
        nodes = self._nodes[self._at :] + self._nodes[: self._at]
        end = time.monotonic() + self._timeout
        reasons: dict[Node, str] = {}
        # One that hangs is not waited for while others may answer.
        pause, patience = _FIRST_PAUSE, _PATIENCE if len(nodes) > 1 else math.inf
        is_doubtful = False
        while True:
            for left, node in zip(range(len(nodes), 0, -1), nodes):
                self.check_open()  # close may have ended the connection
                now = time.monotonic()
                until = now + min((end - now) / left, patience)
                try:
                    answer = self._ask_node(node, path, body, until)
                except _NotNowError as error:
                    reasons[node] = str(error)
                    is_doubtful |= error.is_doubtful
                else:
                    self._at = self._nodes.index(node)
                    return answer, is_doubtful
            self.check_open()
            # A mistyped address fails at once; a cluster that restarts is waited for.
            if time.monotonic() + pause >= end or not (self._has_worked or is_doubtful):
                raise self._make_unreachable_error(reasons)
            self.closed.wait(pause)
            pause, patience = min(2 * pause, _LONGEST_PAUSE), 2 * patience

    def _make_unreachable_error(self, reasons: dict[Node, str]) -> FleetError:
        told = "; ".join(f"{host}:{port}: {why}" for (host, port), why in reasons.items())
        advice = ""
        if "TLS: " in told and "alert" in told and "certificate" in told:
            advice = "; expected the options cert and key, if the node wants a certificate"
        elif not self._has_worked and self._tls and "TLS: " in told:
            advice = "; expected etcd:// if the node has no TLS"
        elif not self._has_worked and not self._tls and "closed" in told:
            advice = "; expected etcds:// if the node has TLS"
        what = f"no answer from etcd within {self._timeout:g} s: {told}{advice}"
        return self.unreachable(what)

    def _ask_node(self, node: Node, path: str, body: Body, end: float) -> Any:
        if self._user and not self._token and path != _LOGIN:
            login = {"name": self._user, "password": self._password or ""}
            self._token = str(self._ask_node(node, _LOGIN, login, end)["token"])
        headers = {**_HEADERS, "Authorization": self._token} if self._token else _HEADERS
        status, content = self._exchange(node, path, json.dumps(body).encode(), headers, end)
        self._has_worked = True
        return self._parse_answer(node, status, content) if isinstance(content, bytes) else content

    def _exchange(
        self, node: Node, path: str, body: bytes, headers: Mapping[str, str], end: float
    ) -> tuple[int, bytes | Stream]:
        """Return status and body of an answer before `end`. That to a watch goes on."""
        connection = self._get_connection(node, end)
        link = cast("_Socket", connection.sock)
        link.closed, link.end = self.closed, end
        try:
            with _translate_errors(is_doubtful=True):
                # A node that refuses a client may have closed by now; its alert is read below.
                with contextlib.suppress(ConnectionError, ssl.SSLEOFError):
                    connection.request("POST", f"/v3/{path}", body, headers, preload_content=False)
                response = connection.getresponse()
                if path == WATCH and response.status == _OK:
                    return _OK, Stream(link, response)
                content = response.read()
        except BaseException:
            connection.close()
            raise
        self._release_connection(node, connection)
        return response.status, content

    def _get_connection(self, node: Node, end: float) -> _Connection:
        while kept := self._acquire_connection(node):
            if kept.is_connected:
                return cast("_Connection", kept)
            kept.close()
        made = _TlsConnection(*node, ssl_context=self._tls) if self._tls else _Connection(*node)
        made.end = end
        with _translate_errors(is_doubtful=False):
            try:
                made.connect()
            except ConnectionError as error:  # a server without TLS closes before the handshake
                message = f"handshake: {error.strerror or type(error).__name__}"
                raise ssl.SSLError(message) from error
        return made

    def _parse_answer(self, node: Node, status: int, content: bytes) -> Body:
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        if isinstance(body, dict) and "error" in body:
            error = body["error"]  # of a stream: a document
            raise self._convert_error_answer(error if isinstance(error, dict) else body)
        found = body.get("result", body) if isinstance(body, dict) else None
        if isinstance(found, dict) and "header" in found:
            return found
        text = content[:200].decode("utf-8", "replace").strip()
        if status >= _SERVER_ERROR or not text:  # the head of an answer may have been cut off
            raise _NotNowError(f"HTTP status {status}: {text}", is_doubtful=True)
        expected = "the client port of etcd 3.4 or later"
        if "CommonName" in text:
            expected = "a client certificate without a common name, as etcd has users"
        what = f"{node[0]}:{node[1]} answers {status} {text!r}: expected {expected}"
        raise self.error(what)

    def _convert_error_answer(self, body: Body) -> Exception:
        code = body.get("code", body.get("grpc_code", 0))
        text = str(body.get("message") or body.get("error"))
        if any(old in text for old in _OLD_TOKEN):
            self._token = ""  # the next attempt logs in
            return _NotNowError(text, is_doubtful=False)
        if code in _LATER or "too many requests" in text:
            return _NotNowError(text, is_doubtful=True)
        advice = [told for part, told in _ADVICE.items() if part in text]
        if code == EtcdError.DENIED and not self._user:
            advice = [_ADVICE["user name is empty"]]
        error = EtcdError(": ".join([self.url, text, *advice]).replace("{user}", self._user or ""))
        error.code = int(code or 0)
        return error


def _password(url: Url, options: dict[str, str]) -> str | None:
    if url.password is not None or not url.user:
        return url.password
    path = options["password_file"]
    if not path:
        return os.environ.get(f"{VARIABLE}PASSWORD")
    try:
        return Path(path).read_text("utf-8").rstrip("\n")
    except OSError as error:
        url.refuse(f"password_file={path}: {error.strerror}")


def _tls_context(url: Url, options: dict[str, str]) -> ssl.SSLContext | None:
    if url.scheme != "etcds":
        for name in ("ca", "cert", "key"):
            if name in url.options:
                url.refuse(f"{name} is for TLS: expected etcds://")
        return None
    step = "ca"
    try:
        context = ssl.create_default_context(cafile=options["ca"] or None)
        context.sslsocket_class = _TlsSocket
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        step = "cert"
        if options["cert"]:
            context.load_cert_chain(options["cert"], options["key"] or None)
    except OSError as error:  # ssl.SSLError, too
        url.refuse(f"{step}={options[step]}: {error.strerror or error}")
    return context
