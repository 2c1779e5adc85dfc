"""Requests to a cluster of etcd through its JSON gateway: failover, users, retries.

A request goes to the node that answered last. If that does not answer, the next nodes are asked,
until the timeout of the store. So a request may happen twice, or after a call has ended: callers
send only requests that show by themselves whether they have happened.
"""

from __future__ import annotations

import json
import random
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from paddle_flags.fleet._etcd_pool import NotNowError, Pool, trouble
from paddle_flags.fleet._etcd_wire import Stream
from paddle_flags.fleet._store import FleetError, UnreachableError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from paddle_flags.fleet._etcd_wire import Node
    from paddle_flags.fleet._url import Url

_T = TypeVar("_T")

PORT = 2379
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25  # seconds, after all nodes were asked
_PATIENCE = 2.0  # seconds for a node in the first round
_OK, _SERVER_ERROR = 200, 500  # statuses of HTTP

# Codes of gRPC, as the gateway passes them on.
CANCELLED, DEADLINE, NOT_FOUND, DENIED, EXHAUSTED, UNAVAILABLE = 1, 4, 5, 7, 8, 14
_LATER = (CANCELLED, DEADLINE, UNAVAILABLE)  # no leader, its election, or a node that ends
_OLD_TOKEN = ("invalid auth token", "revision of auth store is old")
_ADVICE = {
    "user name is empty": "expected a user, as in etcd://user@host/path",
    "authentication is not enabled": "expected an address without a user",
    "invalid user ID or password": "expected the password of user {user}",
}


class EtcdError(FleetError):
    """An error that etcd answered."""

    code: int = 0


class Answer(NamedTuple):
    """What etcd answered."""

    body: dict[str, Any]
    is_doubtful: bool  # an earlier attempt may have happened, too


class Client:
    """Requests to a cluster. Any thread may use it."""

    def __init__(
        self, url: Url, timeout: float, tls: ssl.SSLContext | None, password: str | None
    ) -> None:
        """Connect when something is asked."""
        self.url = url.text
        self.timeout = timeout
        self.pool = Pool(url.text, tls)
        self._is_encrypted = tls is not None
        self._user, self._password = url.user, password
        self._token = ""
        self._login = threading.Lock()
        self._nodes = [(host, port or PORT) for host, port in url.hosts]
        self._at = random.randrange(len(self._nodes))  # noqa: S311 - spreads members over nodes
        self._has_worked = False

    def check(self) -> bool:
        """Refuse to work after close. Return True at the first call in a forked child."""
        is_child = self.pool.check()
        if is_child:
            self._login = threading.Lock()
        return is_child

    def call(
        self,
        path: str,
        body: dict[str, Any],
        *,
        node: Node | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Return what the first node answers that can; or ask one node alone."""
        payload = json.dumps(body).encode()

        def ask(node: Node, end: float) -> dict[str, Any]:
            return self._with_token(node, end, lambda: self._ask(node, path, payload, end))

        return Answer(*self._attempts(ask, node, timeout or self.timeout))

    def stream(self, path: str, body: dict[str, Any]) -> Stream:
        """Ask for an answer that goes on, on a connection of its own."""
        payload = json.dumps(body).encode()

        def ask(node: Node, end: float) -> Stream:
            return self._with_token(node, end, lambda: self._ask_stream(node, path, payload, end))

        return self._attempts(ask, None, self.timeout)[0]

    def leave(self, node: Node) -> None:
        """Begin later requests at another node than one that hangs."""
        if self._nodes[self._at] == node:
            self._at = (self._at + 1) % len(self._nodes)

    def close(self) -> None:
        """End all connections, and what waits for them."""
        self.pool.close()

    # -- Attempts --

    def _attempts(
        self, ask: Callable[[Node, float], _T], only: Node | None, timeout: float
    ) -> tuple[_T, bool]:
        """Ask nodes in turn; return the answer, and whether an earlier attempt may count."""
        self.check()
        end = time.monotonic() + timeout
        nodes = [only] if only else [*self._nodes[self._at :], *self._nodes[: self._at]]
        reasons: dict[Node, str] = {}
        pause, attempt, is_doubtful = _FIRST_PAUSE, 0, False
        while True:
            node, turn = nodes[attempt % len(nodes)], attempt % len(nodes)
            now = time.monotonic()
            share = (end - now) / (len(nodes) - turn)
            if len(nodes) > 1:  # one that hangs is not waited for while others may answer
                share = min(share, _PATIENCE * 2 ** (attempt // len(nodes)))
            try:
                answer = ask(node, now + share)
            except NotNowError as error:
                self.check()  # close may have ended the connection
                reasons[node] = str(error)
                is_doubtful |= error.is_doubtful
            else:
                self._has_worked = True
                if not only:
                    self._at = self._nodes.index(node)
                return answer, is_doubtful
            attempt += 1
            if turn == len(nodes) - 1:
                is_last = time.monotonic() + pause >= end
                # A mistyped address fails at once; a cluster that restarts is waited for.
                if is_last or not (self._has_worked or is_doubtful):
                    raise self._unreachable(reasons, timeout)
                self.pool.closed.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _unreachable(self, reasons: dict[Node, str], timeout: float) -> UnreachableError:
        told = "; ".join(f"{host}:{port}: {why}" for (host, port), why in reasons.items())
        advice = ""
        if "TLS: " in told and "alert" in told and "certificate" in told:
            advice = "; expected the options cert and key, if the node wants a certificate"
        elif not self._has_worked and self._is_encrypted and "TLS: " in told:
            advice = "; expected etcd:// if the node has no TLS"
        elif not self._has_worked and not self._is_encrypted and "closed" in told:
            advice = "; expected etcds:// if the node has TLS"
        return UnreachableError(
            f"{self.url}: no answer from etcd within {timeout:g} s: {told}{advice}"
        )

    # -- One node --

    def _ask(self, node: Node, path: str, payload: bytes, end: float) -> dict[str, Any]:
        headers = {"Authorization": self._token} if self._token else {}
        return self._exchange(node, path, payload, headers, end)

    def _exchange(
        self, node: Node, path: str, payload: bytes, headers: dict[str, str], end: float
    ) -> dict[str, Any]:
        connection = self.pool.take(node, end)
        try:
            with trouble(is_doubtful=True):
                status, content = connection.ask(f"/v3/{path}", payload, headers, end)
        except BaseException:
            self.pool.drop(connection)
            raise
        self.pool.give_back(connection)
        return self._judge(node, status, content)

    def _ask_stream(self, node: Node, path: str, payload: bytes, end: float) -> Stream:
        # The node ends the stream if it loses its leader.
        headers = {"Grpc-Metadata-Hasleader": "true"}
        if self._token:
            headers["Authorization"] = self._token
        connection = self.pool.connect(node, end)
        try:
            with trouble(is_doubtful=False):
                connection.send(f"/v3/{path}", payload, headers, end)
                status = connection.status(end)
                content = b"" if status == _OK else connection.rest(end)
            if status != _OK:
                self._judge(node, status, content)
        except BaseException:
            self.pool.drop(connection)
            raise
        return Stream(connection)

    def _judge(self, node: Node, status: int, content: bytes) -> dict[str, Any]:
        """Return the document that a node answered; raise its error."""
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            text = content[:200].decode("utf-8", "replace").strip()
            if status >= _SERVER_ERROR:
                raise NotNowError(f"HTTP status {status}: {text}", is_doubtful=True)
            expected = "the client port of etcd 3.4 or later"
            if "CommonName" in text:
                expected = "a client certificate without a common name, as etcd has users"
            place = f"{node[0]}:{node[1]}"
            message = f"{self.url}: {place} answers {status} {text!r}: expected {expected}"
            raise FleetError(message)
        if "error" in body:
            fault = body["error"]  # of a stream: a document
            raise self.fault(fault if isinstance(fault, dict) else body)
        return cast("dict[str, Any]", body.get("result", body))

    def fault(self, body: dict[str, Any]) -> Exception:
        """Return the exception for an error that etcd answered."""
        code = body.get("code", body.get("grpc_code", 0))
        text = str(body.get("message") or body.get("error"))
        if code in _LATER or "too many requests" in text:
            return NotNowError(text, is_doubtful=True)
        advice = [told for part, told in _ADVICE.items() if part in text]
        if code == DENIED and not self._user:
            advice = [_ADVICE["user name is empty"]]
        told = ": ".join([self.url, text, *advice]).format(user=self._user)
        error = EtcdError(told)
        error.code = code
        return error

    # -- Users --

    def _with_token(self, node: Node, end: float, ask: Callable[[], _T]) -> _T:
        """Ask with the token of the user. A node that was restarted does not know it any more."""
        self._log_in(node, end, "")
        token = self._token
        try:
            return ask()
        except EtcdError as error:
            if not self._user or not any(text in str(error) for text in _OLD_TOKEN):
                raise
        self._log_in(node, end, token)
        try:
            return ask()
        except EtcdError as error:
            if any(text in str(error) for text in _OLD_TOKEN):
                raise NotNowError(str(error), is_doubtful=False) from error
            raise

    def _log_in(self, node: Node, end: float, old: str) -> None:
        """Get a token, unless another thread got one in place of the old one."""
        if not self._user:
            return
        with self._login:
            if self._token == old:
                body = {"name": self._user, "password": self._password or ""}
                payload = json.dumps(body).encode()
                answer = self._exchange(node, "auth/authenticate", payload, {}, end)
                self._token = str(answer["token"])

    def release(self, stream: Stream) -> None:
        """Close the connection of a stream."""
        self.pool.drop(stream.connection)
