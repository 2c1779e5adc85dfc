"""Nodes of etcd that answer slowly or never: no call lasts longer than the timeout of its store."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import certificates
import pytest
from members import SOON
from support import installed

from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import FleetError, UnreachableError

pytestmark = pytest.mark.extended  # each test waits for a server

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
TRICKLES = {
    "status": b"HTTP",
    "head": HEAD + b"X-Endless: ",
    "body": HEAD + b"Content-Length: 1000000\r\n\r\n",
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
    "chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffff\r\n",
}


class Node:
    """Begins with an answer to each request, and goes on by single bytes until it is closed."""

    def __init__(self, begin: bytes, certificate: os.PathLike[str] | None = None) -> None:
        self._begin = begin
        self._tls: ssl.SSLContext | None = None
        if certificate:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate, certificate.with_suffix(".key"))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked = threading.Event()
        self.requests = 0
        self._closed = threading.Event()
        self._pool = ThreadPoolExecutor(20)
        self._pool.submit(self._accept)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._pool.submit(self._answer, self._listener.accept()[0])

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                connection.recv(1 << 16)
                self.requests += 1
                self.asked.set()
                connection.sendall(self._begin)
                chunks = self._begin.endswith(b"chunked\r\n\r\n")
                while not self._closed.wait(0.05):
                    connection.sendall(b"1\r\n \r\n" if chunks else b" ")

    def close(self) -> None:
        self._closed.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._pool.shutdown()


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    return certificates.authority(tmp_path_factory.mktemp("ca"), "authority")


@pytest.fixture(params=["plain", "tls"])
def node(request, ca):
    """Start a node; return it, and the address of a fleet in it."""
    installed("urllib3")
    started: list[Node] = []

    def start(begin: bytes) -> tuple[Node, str]:
        if request.param == "plain":
            started.append(Node(begin))
            return started[-1], f"etcd://{started[-1].host}/job"
        own = certificates.certificate(ca, "server", "/O=etcd")
        started.append(Node(begin, own))
        return started[-1], f"etcds://{started[-1].host}/job?ca={ca}"

    yield start
    for each in started:
        each.close()


@pytest.mark.parametrize("where", TRICKLES)
def test_a_node_that_trickles_is_given_up(node, where):
    _, url = node(TRICKLES[where])
    store = open_store(url, timeout=1)
    for call in (
        store.last,
        lambda: store.append(1, b"x" * (1 << 20)),
        lambda: store.wait(0, 1000),
    ):
        with pytest.raises(UnreachableError, match="no answer in time"):
            call()
    store.close()


@pytest.mark.parametrize("where", TRICKLES)
def test_close_ends_a_request_that_a_node_does_not_answer(node, where):
    slow, url = node(TRICKLES[where])
    store = open_store(url, timeout=1000)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.last)
        assert slow.asked.wait(SOON)
        store.close()
        with pytest.raises(FleetError, match="closed"):
            waiting.result(SOON)


@pytest.mark.extended  # takes a second or more
def test_a_child_does_not_end_the_requests_of_its_parent(node):
    slow, url = node(TRICKLES["body"])
    store = open_store(url, timeout=1000)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.last)
        assert slow.asked.wait(SOON)
        pid = os.fork()
        if pid == 0:
            try:
                with contextlib.suppress(FleetError):
                    store.close()
                    store.last()
            finally:
                os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        time.sleep(1)
        assert slow.requests == 1  # it would be repeated
        store.close()
        with pytest.raises(FleetError, match="closed"):
            waiting.result(SOON)
