"""Clusters of etcd on this machine, whose nodes can be killed, stopped and started."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import support
from etcd_node import Node, free_ports, wait_healthy


class Cluster:
    """Some nodes. Without `sync`, they write without fsync: a killed process loses nothing so."""

    def __init__(self, count: int, *, tls: list[str] | None = None, sync: bool = False) -> None:
        self.etcdctl = support.tool("etcdctl", "etcd-client")
        support.tool("etcd", "etcd-server")
        support.installed("urllib3")
        self.place = Path(tempfile.mkdtemp(prefix="etcd-"))
        scheme = "https" if tls else "http"
        ports = free_ports(3 * count)
        peers = [f"http://127.0.0.1:{ports[3 * i + 1]}" for i in range(count)]
        options = ["--bcrypt-cost=4", *([] if sync else ["--unsafe-no-fsync"]), *(tls or [])]
        self.nodes = []
        for i, peer in enumerate(peers):
            client, _, health = ports[3 * i : 3 * i + 3]
            urls = {
                "listen-client-urls": f"{scheme}://127.0.0.1:{client}",
                "advertise-client-urls": f"{scheme}://127.0.0.1:{client}",
                "listen-peer-urls": peer,
                "initial-advertise-peer-urls": peer,
                "initial-cluster": ",".join(f"n{j}={each}" for j, each in enumerate(peers)),
            }
            self.nodes.append(Node(self.place / f"n{i}", client, health, urls, *options))

    def __enter__(self) -> Self:
        for node in self.nodes:
            node.start()
        self.wait()
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, self.place)
            for node in self.nodes:
                stack.callback(node.kill)

    def wait(self) -> None:
        """Wait until all nodes that run have a leader."""
        wait_healthy([node for node in self.nodes if node.runs])

    @property
    def hosts(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def leader(self) -> int:
        """The index of the node that leads."""
        status = self.ctl("endpoint", "status", "--write-out=simple").splitlines()
        return next(i for i, line in enumerate(status) if line.split(", ")[4] == "true")

    def ctl(self, *words: str, env: dict[str, str] | None = None) -> str:
        """Run etcdctl at all nodes that run."""
        running = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes if node.runs)
        variables = {**os.environ, "ETCDCTL_API": "3", **(env or {})}
        command = [self.etcdctl, f"--endpoints={running}", *words]
        return support.run(*command, env=variables).stdout

    def add_users(self) -> None:
        """Add the users root, operator, member and reader, whose password is "password".

        Their rights are those of docs/reference/fleet-engines.md, in fleets under /jobs/.
        """
        for user in ("root", "operator", "member", "reader"):
            self.ctl("user", "add", f"{user}:password")
            self.ctl("role", "add", user)
            self.ctl("user", "grant-role", user, user)
        self.ctl("role", "grant-permission", "operator", "--prefix=true", "readwrite", "/jobs/")
        for user in ("member", "reader"):
            self.ctl("role", "grant-permission", user, "--prefix=true", "read", "/jobs/")
        place = "/jobs/one/members/"
        self.ctl("role", "grant-permission", "member", "--prefix=true", "readwrite", place)
        self.ctl("auth", "enable")

    def stop(self) -> None:
        for node in self.nodes:
            node.kill()

    def restart(self) -> None:
        """Start the nodes that don't run, and wait for them."""
        for node in self.nodes:
            if node.runs:
                node.signal(signal.SIGCONT)
            else:
                node.start()
        self.wait()
