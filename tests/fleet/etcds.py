"""A cluster of etcd whose nodes can be killed, stopped and cut off, for tests and measurements."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from proxies import Network

CLIENTS = "clients"  # the name of all clients in the network
STARTS_IN = 60  # seconds, on a busy machine


def is_there() -> bool:
    """Return whether etcd is installed."""
    return shutil.which("etcd") is not None


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that nobody uses now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in sockets]
    for server in sockets:
        server.close()
    return ports


class Node:
    """One process of etcd, and the ports before which proxies stand."""

    def __init__(self, name: str, directory: Path, ports: list[int]) -> None:
        self.name, self.directory = name, directory
        self.client, self.peer, self.client_proxy, self.peer_proxy = ports
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, cluster: str, options: tuple[str, ...]) -> None:
        """Start, or start again with the data that it had."""
        local = "http://127.0.0.1"
        command: list[Any] = [
            *("etcd", "--name", self.name, "--data-dir", self.directory / "data"),
            *("--listen-client-urls", f"{local}:{self.client}"),
            *("--advertise-client-urls", f"{local}:{self.client_proxy}"),
            *("--listen-peer-urls", f"{local}:{self.peer}"),
            *("--initial-advertise-peer-urls", f"{local}:{self.peer_proxy}"),
            *("--initial-cluster", cluster, "--initial-cluster-token", "faults"),
            *("--logger", "zap", "--log-outputs", self.directory / "log", *options),
        ]
        self.directory.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={k: v for k, v in os.environ.items() if not k.startswith("ETCD_")},
        )

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, path: str, body: object = None, timeout: float = 2) -> Any:
        """Send a request to the node itself, not through its proxy."""
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.client}{path}"
        with urllib.request.urlopen(url, data, timeout) as answer:
            return json.load(answer)

    def is_healthy(self) -> bool:
        """Return whether the node is one of a quorum."""
        with contextlib.suppress(OSError, ValueError):
            return bool(self.ask("/health")["health"] == "true")
        return False


class Cluster:
    """Nodes n1, n2, ... of etcd behind proxies."""

    def __init__(self, directory: Path, count: int = 3, options: tuple[str, ...] = ()) -> None:
        ports = free_ports(4 * count)
        self.network = Network()
        self.nodes = {
            f"n{i + 1}": Node(f"n{i + 1}", directory / f"n{i + 1}", ports[4 * i : 4 * i + 4])
            for i in range(count)
        }
        self._options = options
        self._all = ",".join(
            f"{node.name}=http://127.0.0.1:{node.peer_proxy}" for node in self.nodes.values()
        )

    def __enter__(self) -> Cluster:  # noqa: PYI034 - no Self in 3.9
        try:
            for node in self.nodes.values():
                self.network.place(node.name, node.peer, node.peer_proxy)
                self.network.place(node.name, node.client, node.client_proxy, CLIENTS)
                self.start(node.name)
            self.wait()
            found = self.nodes["n1"].ask("/v3/cluster/member/list", {})
            self.network.names = {f"{int(m['ID']):x}": m["name"] for m in found["members"]}
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        for node in self.nodes.values():
            node.kill()
        self.network.close()

    def start(self, name: str) -> None:
        self.nodes[name].start(self._all, self._options)

    def wait(self) -> None:
        """Wait until all nodes are healthy."""
        end = time.monotonic() + STARTS_IN
        while not all(node.is_healthy() for node in self.nodes.values()):
            assert time.monotonic() < end, f"etcd did not start:\n{self.log()}"
            time.sleep(0.05)

    def log(self) -> str:
        """Return the last lines of all logs."""
        texts = []
        for node in self.nodes.values():
            lines = (node.directory / "log").read_text("utf-8").splitlines()
            texts += [f"-- {node.name} --", *lines[-10:]]
        return "\n".join(texts)

    def leader(self) -> str:
        """Return the name of the node that leads."""
        end = time.monotonic() + STARTS_IN
        while time.monotonic() < end:
            for node in self.nodes.values():
                with contextlib.suppress(OSError, KeyError, ValueError):
                    status = node.ask("/v3/maintenance/status", {})
                    if status["leader"] == status["header"]["member_id"]:
                        return node.name
            time.sleep(0.05)
        raise AssertionError(f"no node leads:\n{self.log()}")

    def url(self, fleet: str, first: int = 0, *, proxies: bool = True) -> str:
        """Return the URL of a fleet; clients begin with one of the nodes."""
        nodes = list(self.nodes.values())
        nodes = nodes[first % len(nodes) :] + nodes[: first % len(nodes)]
        ports = [node.client_proxy if proxies else node.client for node in nodes]
        return f"etcd://{','.join(f'127.0.0.1:{port}' for port in ports)}/{fleet}"

    def url_of(self, fleet: str, name: str) -> str:
        """Return a URL with one node alone."""
        return f"etcd://127.0.0.1:{self.nodes[name].client_proxy}/{fleet}"

    def url_from(self, dialer: str, fleet: str) -> str:
        """Return a URL for clients whose links with the nodes are their own, and can be cut."""
        ports = free_ports(len(self.nodes))
        for port, node in zip(ports, self.nodes.values()):
            self.network.place(node.name, node.client, port, dialer)
        return f"etcd://{','.join(f'127.0.0.1:{port}' for port in ports)}/{fleet}"

    def cut_off(self, dialer: str) -> None:
        """Cut such clients off from all nodes."""
        for name in self.nodes:
            self.network.cut(dialer, name)
            self.network.cut(name, dialer)

    # -- faults --

    def kill(self, name: str) -> None:
        self.nodes[name].kill()

    def stop(self, name: str) -> None:
        self.nodes[name].signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        if self.nodes[name].process is not None:
            self.nodes[name].signal(signal.SIGCONT)

    def isolate(self, name: str, *, to: bool = True, of: bool = True) -> None:
        """Cut a node off from the other nodes: what goes to it, what comes of it, or both."""
        for other in self.nodes:
            if other != name:
                if to:
                    self.network.cut(other, name)
                if of:
                    self.network.cut(name, other)

    def rejoin(self, name: str) -> None:
        """Mend all links of a node with the other nodes."""
        for other in self.nodes:
            self.network.mend(other, name)
            self.network.mend(name, other)

    def hide(self, name: str) -> None:
        """Cut a node off from the clients."""
        self.network.cut(CLIENTS, name)
        self.network.cut(name, CLIENTS)

    def show(self, name: str) -> None:
        """Let clients reach it again."""
        self.network.mend(CLIENTS, name)
        self.network.mend(name, CLIENTS)

    def heal(self) -> None:
        """End all faults, and wait until all nodes are healthy."""
        self.network.mend_all()
        for name, node in self.nodes.items():
            if node.process is None:
                self.start(name)
            else:
                node.signal(signal.SIGCONT)
        self.wait()
