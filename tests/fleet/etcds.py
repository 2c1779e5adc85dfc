"""A cluster of etcd whose nodes can be killed, stopped and cut off, for tests and measurements."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

from etcd_node import STARTS_IN, Node, free_ports, logs, wait_healthy
from proxies import Network

CLIENTS = "clients"  # the name of all clients in the network


def is_there() -> bool:
    """Return whether etcd is installed."""
    return shutil.which("etcd") is not None


class Proxied(Node):
    """A node, and the ports before which proxies stand."""

    def __init__(self, folder: Path, ports: list[int], cluster: str, *options: str) -> None:
        client, self.peer, self.client_proxy, self.peer_proxy, health = ports
        local = "http://127.0.0.1"
        urls = {
            "listen-client-urls": f"{local}:{client}",
            "advertise-client-urls": f"{local}:{self.client_proxy}",
            "listen-peer-urls": f"{local}:{self.peer}",
            "initial-advertise-peer-urls": f"{local}:{self.peer_proxy}",
            "initial-cluster": cluster,
            "initial-cluster-token": "faults",
        }
        super().__init__(folder, client, health, urls, *options)

    def ask(self, path: str, body: object, timeout: float = 2) -> Any:
        """Send a request to the node itself, not through its proxy."""
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(url, json.dumps(body).encode(), timeout) as answer:
            return json.load(answer)


class Cluster:
    """Nodes n1, n2, ... of etcd behind proxies."""

    def __init__(self, directory: Path, count: int = 3, options: tuple[str, ...] = ()) -> None:
        found = free_ports(5 * count)
        ports = {f"n{i + 1}": found[5 * i : 5 * i + 5] for i in range(count)}
        peers = ",".join(f"{name}=http://127.0.0.1:{each[3]}" for name, each in ports.items())
        self.network = Network()
        self.nodes = {
            name: Proxied(directory / name, each, peers, *options) for name, each in ports.items()
        }

    def __enter__(self) -> Self:
        try:
            for node in self.nodes.values():
                self.network.place(node.name, node.peer, node.peer_proxy)
                self.network.place(node.name, node.port, node.client_proxy, CLIENTS)
                node.start()
            self.wait()
            found = self.nodes["n1"].ask("/v3/cluster/member/list", {}, STARTS_IN)
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
        self.nodes[name].start()

    def wait(self) -> None:
        """Wait until all nodes are healthy."""
        wait_healthy(self.nodes.values())

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
        raise AssertionError(f"no node leads:\n{logs(self.nodes.values())}")

    def url(self, fleet: str, first: int = 0, *, proxies: bool = True) -> str:
        """Return the URL of a fleet; clients begin with one of the nodes."""
        nodes = list(self.nodes.values())
        nodes = nodes[first % len(nodes) :] + nodes[: first % len(nodes)]
        ports = [node.client_proxy if proxies else node.port for node in nodes]
        return f"etcd://{','.join(f'127.0.0.1:{port}' for port in ports)}/{fleet}"

    def url_of(self, fleet: str, name: str) -> str:
        """Return a URL with one node alone."""
        return f"etcd://127.0.0.1:{self.nodes[name].client_proxy}/{fleet}"

    def url_from(self, dialer: str, fleet: str) -> str:
        """Return a URL for clients whose links with the nodes are their own, and can be cut."""
        ports = free_ports(len(self.nodes))
        for port, node in zip(ports, self.nodes.values()):
            self.network.place(node.name, node.port, port, dialer)
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
        if self.nodes[name].runs:
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
            if node.runs:
                node.signal(signal.SIGCONT)
            else:
                self.start(name)
        self.wait()
