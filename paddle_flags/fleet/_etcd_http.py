"""HTTP to the nodes of etcd, by connections of urllib3.

Their timeouts are for each read. So their sockets have a deadline for a whole request. A forked
child shares nothing with its parent: there is no lock, and it makes its own connections.
"""

from __future__ import annotations

import contextlib
import http.client
import math
import ssl
import time
from typing import TYPE_CHECKING, cast

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from paddle_flags.fleet._deadline import DeadlineSocket, Idle, seconds_until

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Mapping

    from urllib3 import BaseHTTPResponse

    from paddle_flags.fleet._store import Store

Node = tuple[str, int]  # host and port

WATCH = "/v3/watch"
_OK = 200


class NotNowError(Exception):
    """A node can't answer now; another one may."""

    def __init__(self, reason: str, *, is_doubtful: bool) -> None:
        super().__init__(reason)
        self.is_doubtful = is_doubtful  # the request may have happened all the same


@contextlib.contextmanager
def _trouble(*, is_doubtful: bool) -> Iterator[None]:
    """Turn the errors of a connection into one."""
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
        raise NotNowError(reason, is_doubtful=is_doubtful) from error


class _TlsSocket(DeadlineSocket, ssl.SSLSocket):
    pass


class _Connection(HTTPConnection):
    end = math.inf  # of connecting

    def _new_conn(self) -> socket.socket:
        self.timeout = seconds_until(self.end)
        made = DeadlineSocket(fileno=super()._new_conn().detach())
        made.settimeout(seconds_until(self.end))  # also for the handshake of TLS
        return made


class _TlsConnection(_Connection, HTTPSConnection):
    pass


class Connections:
    """All connections of a store to the nodes. Any thread may use them."""

    def __init__(self, store: Store, tls: ssl.SSLContext | None) -> None:
        self.store = store
        self.idle = Idle(store)
        self._tls = tls
        if tls is not None:
            tls.sslsocket_class = _TlsSocket

    def exchange(
        self, node: Node, path: str, body: bytes, headers: Mapping[str, str], end: float
    ) -> tuple[int, bytes | Stream]:
        """Return status and body of an answer before `end`. That to a watch goes on."""
        connection = self._connected(node, end)
        link = cast("DeadlineSocket", connection.sock)
        link.closed, link.end = self.store.closed, end
        try:
            with _trouble(is_doubtful=True):
                # A node that refuses a client may have closed by now; its alert is read below.
                with contextlib.suppress(ConnectionError, ssl.SSLEOFError):
                    connection.request("POST", path, body, headers, preload_content=False)
                response = connection.getresponse()
                if path == WATCH and response.status == _OK:
                    return _OK, Stream(link, response)
                content = response.read()
        except BaseException:
            connection.close()
            raise
        self.idle.keep(connection, node)
        return response.status, content

    def _connected(self, node: Node, end: float) -> _Connection:
        while kept := self.idle.take(node):
            if kept.is_connected:
                return cast("_Connection", kept)
            kept.close()
        made = _TlsConnection(*node, ssl_context=self._tls) if self._tls else _Connection(*node)
        made.end = end
        with _trouble(is_doubtful=False):
            try:
                made.connect()
            except ConnectionError as error:  # a server without TLS closes before the handshake
                message = f"handshake: {error.strerror or type(error).__name__}"
                raise ssl.SSLError(message) from error
        return made


class Stream:
    """An answer that goes on, line by line. One thread reads it at a time."""

    number = 0  # that it has told last

    def __init__(self, link: DeadlineSocket, response: BaseHTTPResponse) -> None:
        self._link = link
        self._response = response
        self._lines = iter(response)

    def next(self, seconds: float) -> bytes:
        """Return the next line; b"" if none comes in time, and no more will."""
        self._link.end = time.monotonic() + seconds
        with contextlib.suppress(NotNowError), _trouble(is_doubtful=False):
            return next(self._lines, b"")
        return b""

    def close(self) -> None:
        self._response.close()
        self._link.close()
