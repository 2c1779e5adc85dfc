"""Requests to a cluster of etcd through its JSON gateway: failover, users, retries.

A request goes to the node that answered last. If that does not answer, the next nodes are asked,
until the timeout of the store. So a request may happen twice, or after a call has ended: callers
send only requests that show by themselves whether they have happened.
"""

from __future__ import annotations

import json
import math
import os
import random
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet._etcd_http import WATCH, Connections, NotNowError
from paddle_flags.fleet._store import FleetError, UnreachableError

if TYPE_CHECKING:
    from paddle_flags.fleet._etcd_http import Node, Stream
    from paddle_flags.fleet._store import Store
    from paddle_flags.fleet._url import Url

Body = dict[str, Any]

PORT = 2379
_LOGIN = "/v3/auth/authenticate"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25  # seconds, after all nodes were asked
_PATIENCE = 2.0  # seconds for a node in the first round
_SERVER_ERROR = 500  # status of HTTP
# A node without a leader says so, instead of waiting for one, and ends its watches.
_HEADERS = {"Content-Type": "application/json", "Grpc-Metadata-Hasleader": "true"}

# Codes of gRPC, as the gateway passes them on.
CANCELLED, DEADLINE, NOT_FOUND, DENIED, EXHAUSTED, UNAVAILABLE = 1, 4, 5, 7, 8, 14
_LATER = (CANCELLED, DEADLINE, UNAVAILABLE)  # no leader, its election, or a node that ends
_OLD_TOKEN = ("invalid auth token", "revision of auth store is old")
_ADVICE = {
    "user name is empty": "expected a user, as in etcd://user@host/path",
    "authentication is not enabled": "expected an address without a user",
    "invalid user ID or password": "etcd has no user {user}, or this user has another password: "
    "expected the password of user {user}",
}

# Options of the address, and where the environment has them.
VARIABLES = {
    "ca": "PADDLE_FLAGS_ETCD_CA",
    "cert": "PADDLE_FLAGS_ETCD_CERT",
    "key": "PADDLE_FLAGS_ETCD_KEY",
    "password_file": "PADDLE_FLAGS_ETCD_PASSWORD_FILE",
}
PASSWORD = "PADDLE_FLAGS_ETCD_PASSWORD"


class EtcdError(FleetError):
    """An error that etcd answered."""

    code: int = 0


class Client(Connections):
    """Requests to a cluster. Any thread may use it."""

    def __init__(self, store: Store, url: Url, timeout: float) -> None:
        options = url.option({name: os.environ.get(of, "") for name, of in VARIABLES.items()})
        super().__init__(store, _tls(url, options))
        self._timeout = timeout
        self.user, self._password = url.user, _password(url, options)
        self._token = ""
        self._nodes = [(host, port or PORT) for host, port in url.hosts]
        self._at = random.randrange(len(self._nodes))  # noqa: S311 - spreads members over nodes
        self._has_worked = False

    def call(self, path: str, body: Body) -> tuple[Body, bool]:
        """Return what the first node answers that can, and whether an earlier attempt may count."""
        return self._attempt(f"/v3/{path}", json.dumps(body).encode())

    def watch(self, key: str, revision: int) -> Stream:
        """Return events of a key from a revision of etcd on."""
        body = {"create_request": {"key": key, "start_revision": str(revision)}}
        stream: Stream = self._attempt(WATCH, json.dumps(body).encode())[0]
        return stream

    def _attempt(self, path: str, body: bytes) -> tuple[Any, bool]:
        self.store.check_open()
        nodes = self._nodes[self._at :] + self._nodes[: self._at]
        end = time.monotonic() + self._timeout
        reasons: dict[Node, str] = {}
        # One that hangs is not waited for while others may answer.
        pause, patience = _FIRST_PAUSE, _PATIENCE if len(nodes) > 1 else math.inf
        is_doubtful = False
        while True:
            for left, node in zip(range(len(nodes), 0, -1), nodes):
                now = time.monotonic()
                share = min((end - now) / left, patience)
                try:
                    answer = self._ask(node, path, body, now + share)
                except NotNowError as error:
                    self.store.check_open()  # close may have ended the connection
                    reasons[node] = str(error)
                    is_doubtful |= error.is_doubtful
                else:
                    self._at = self._nodes.index(node)
                    return answer, is_doubtful
            # A mistyped address fails at once; a cluster that restarts is waited for.
            if time.monotonic() + pause >= end or not (self._has_worked or is_doubtful):
                raise self._unreachable(reasons)
            self.store.closed.wait(pause)
            pause, patience = min(2 * pause, _LONGEST_PAUSE), 2 * patience

    def _unreachable(self, reasons: dict[Node, str]) -> FleetError:
        told = "; ".join(f"{host}:{port}: {why}" for (host, port), why in reasons.items())
        advice = ""
        if "TLS: " in told and "alert" in told and "certificate" in told:
            advice = "; expected the options cert and key, if the node wants a certificate"
        elif not self._has_worked and self._tls and "TLS: " in told:
            advice = "; expected etcd:// if the node has no TLS"
        elif not self._has_worked and not self._tls and "closed" in told:
            advice = "; expected etcds:// if the node has TLS"
        what = f"no answer from etcd within {self._timeout:g} s: {told}{advice}"
        return self.store.error(what, UnreachableError)

    # -- One node --

    def _ask(self, node: Node, path: str, body: bytes, end: float) -> Any:
        """Ask a node with the token of the user."""
        if self.user and not self._token and path != _LOGIN:
            login = json.dumps({"name": self.user, "password": self._password or ""}).encode()
            self._token = str(self._ask(node, _LOGIN, login, end)["token"])
        headers = {**_HEADERS, "Authorization": self._token} if self._token else _HEADERS
        status, content = self.exchange(node, path, body, headers, end)
        self._has_worked = True
        return self._judge(node, status, content) if isinstance(content, bytes) else content

    def _judge(self, node: Node, status: int, content: bytes) -> Body:
        """Return the document that a node answered; raise its error."""
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        if isinstance(body, dict) and "error" in body:
            error = body["error"]  # of a stream: a document
            raise self._fault(error if isinstance(error, dict) else body)
        found = body.get("result", body) if isinstance(body, dict) else None
        if isinstance(found, dict) and "header" in found:
            return found
        text = content[:200].decode("utf-8", "replace").strip()
        if status >= _SERVER_ERROR or not text:  # the head of an answer may have been cut off
            raise NotNowError(f"HTTP status {status}: {text}", is_doubtful=True)
        expected = "the client port of etcd 3.4 or later"
        if "CommonName" in text:
            expected = "a client certificate without a common name, as etcd has users"
        what = f"{node[0]}:{node[1]} answers {status} {text!r}: expected {expected}"
        raise self.store.error(what)

    def _fault(self, body: Body) -> Exception:
        """Return the exception for an error that etcd answered."""
        code = body.get("code", body.get("grpc_code", 0))
        text = str(body.get("message") or body.get("error"))
        if any(old in text for old in _OLD_TOKEN):
            self._token = ""  # the next attempt logs in
            return NotNowError(text, is_doubtful=False)
        if code in _LATER or "too many requests" in text:
            return NotNowError(text, is_doubtful=True)
        advice = [told for part, told in _ADVICE.items() if part in text]
        if code == DENIED and not self.user:
            advice = [_ADVICE["user name is empty"]]
        error = EtcdError(
            ": ".join([self.store.url, text, *advice]).replace("{user}", self.user or "")
        )
        error.code = int(code or 0)
        return error


def _password(url: Url, options: dict[str, str]) -> str | None:
    """Return the password: of the address, of a file, or of the environment."""
    if url.password is not None or not url.user:
        return url.password
    path = options["password_file"]
    if not path:
        return os.environ.get(PASSWORD)
    try:
        return Path(path).read_text("utf-8").rstrip("\n")
    except OSError as error:
        url.refuse(f"password_file={path}: {error.strerror}")


def _tls(url: Url, options: dict[str, str]) -> ssl.SSLContext | None:
    """Return how to encrypt, and whom to trust; None without TLS."""
    if url.scheme != "etcds":
        for name in ("ca", "cert", "key"):
            if name in url.options:
                url.refuse(f"{name} is for TLS: expected etcds://")
        return None
    step = "ca"
    try:
        context = ssl.create_default_context(cafile=options["ca"] or None)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        step = "cert"
        if options["cert"]:
            context.load_cert_chain(options["cert"], options["key"] or None)
    except OSError as error:  # ssl.SSLError, too
        url.refuse(f"{step}={options[step]}: {error.strerror or error}")
    return context
