"""The network of the tests: what is cut is held, in one direction, and goes on later."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest
from etcd_node import free_ports
from proxies import Network


@contextlib.contextmanager
def connection(network: Network) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Connect a client to a server, through a proxy; return the ends of both."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        (proxy,) = free_ports(1)
        network.place("server", server.getsockname()[1], proxy, "client")
        with socket.create_connection(("127.0.0.1", proxy), 10) as near:
            far, _ = server.accept()
            with far:
                near.settimeout(10)
                far.settimeout(10)
                yield near, far


@pytest.fixture
def network():
    made = Network()
    yield made
    made.close()


def nothing_comes(to: socket.socket) -> bool:
    to.settimeout(0.3)
    try:
        to.recv(10)
    except TimeoutError:
        return True
    finally:
        to.settimeout(10)
    return False


def test_bytes_go_both_ways(network):
    with connection(network) as (near, far):
        near.sendall(b"ask")
        assert far.recv(10) == b"ask"
        far.sendall(b"answer")
        assert near.recv(10) == b"answer"


def test_what_is_cut_one_way_is_held_and_the_other_way_goes_on(network):
    with connection(network) as (near, far):
        network.cut("client", "server")
        near.sendall(b"ask")
        assert nothing_comes(far)
        far.sendall(b"answer")
        assert near.recv(10) == b"answer"
        network.mend("client", "server")
        assert far.recv(10) == b"ask"


def test_an_end_of_the_connection_is_held_too(network):
    with connection(network) as (near, far):
        network.cut("server", "client")
        far.close()
        assert nothing_comes(near)
        network.mend_all()
        assert near.recv(10) == b""


def test_who_connects_is_known_by_a_header_of_etcd(network):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        (proxy,) = free_ports(1)
        network.names = {"abc": "n2", "def": "n3"}
        network.place("n1", server.getsockname()[1], proxy)
        network.cut("n2", "n1")
        for name, is_held in (("def", False), ("abc", True)):
            with socket.create_connection(("127.0.0.1", proxy), 10) as near:
                near.sendall(b"GET /raft HTTP/1.1\r\nX-Server-From: %s\r\n\r\n" % name.encode())
                if is_held:
                    server.settimeout(0.3)
                    with pytest.raises(socket.timeout):
                        server.accept()
                else:
                    far, _ = server.accept()
                    far.close()
