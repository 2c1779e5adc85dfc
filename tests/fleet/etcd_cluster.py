"""Clusters of etcd on this machine, whose nodes can be killed, stopped and started."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import support


class Node:
    """One process of etcd."""

    def __init__(self, command: list[str], log: Path, health: str, port: int) -> None:
        self._command, self.log, self._health = command, log, health
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def signal(self, number: int) -> None:
        assert self._process
        self._process.send_signal(number)

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait(60)
            self._process = None

    @property
    def runs(self) -> bool:
        return self._process is not None

    def is_healthy(self) -> bool:
        """Whether it has a leader."""
        try:
            with urllib.request.urlopen(self._health, timeout=2) as answer:  # noqa: S310 - ours
                return b'"true"' in answer.read()
        except OSError:
            return False


class Cluster:
    """Some nodes. Without `sync`, they write without fsync: a killed process loses nothing so."""

    def __init__(self, count: int, *, tls: list[str] | None = None, sync: bool = False) -> None:
        self.etcdctl = support.tool("etcdctl", "etcd-client")
        support.tool("etcd", "etcd-server")
        support.installed("h11")
        self.place = Path(tempfile.mkdtemp(prefix="etcd-"))
        scheme = "https" if tls else "http"
        ports = free_ports(3 * count)
        peers = [f"n{i}=http://127.0.0.1:{ports[3 * i + 1]}" for i in range(count)]
        self.nodes = []
        for i, peer in enumerate(peers):
            client, _, health = ports[3 * i : 3 * i + 3]
            options = {
                "name": f"n{i}",
                "data-dir": self.place / f"n{i}",
                "listen-client-urls": f"{scheme}://127.0.0.1:{client}",
                "advertise-client-urls": f"{scheme}://127.0.0.1:{client}",
                "listen-peer-urls": peer.partition("=")[2],
                "initial-advertise-peer-urls": peer.partition("=")[2],
                "initial-cluster": ",".join(peers),
                "listen-metrics-urls": f"http://127.0.0.1:{health}",
                "bcrypt-cost": "4",
            }
            words = [f"--{name}={value}" for name, value in options.items()]
            words += [] if sync else ["--unsafe-no-fsync"]
            command = ["etcd", *words, *(tls or [])]
            log = self.place / f"n{i}.log"
            self.nodes.append(Node(command, log, f"http://127.0.0.1:{health}/health", client))

    def __enter__(self) -> Cluster:  # noqa: PYI034 - Self needs Python 3.11
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
        end = time.monotonic() + 120
        for node in self.nodes:
            while node.runs and not node.is_healthy():
                assert time.monotonic() < end, node.log.read_text()[-3000:]
                time.sleep(0.05)

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
        for part in ("members", "decisions"):
            place = f"/jobs/one/{part}/"
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


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
