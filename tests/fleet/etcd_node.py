"""Nodes of etcd on this machine, which can be killed, stopped and started."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path

STARTS_IN = 120  # seconds, on a busy machine


class Node:
    """One process of etcd. Its folder has its data and its log, also after it was killed."""

    def __init__(
        self, folder: Path, port: int, health: int, urls: Mapping[str, str], *options: str
    ) -> None:
        self.name, self.port, self.log = folder.name, port, folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self._health = f"http://127.0.0.1:{health}"
        own = {"name": self.name, "data-dir": folder / "data", "listen-metrics-urls": self._health}
        words = [f"--{option}={value}" for option, value in {**own, **urls}.items()]
        self._command = ["etcd", "--logger=zap", *words, *options]

    def start(self) -> None:
        """Start, or start again with the data that it had."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={k: v for k, v in os.environ.items() if not k.startswith("ETCD_")},
            )

    def signal(self, number: int) -> None:
        assert self.process
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self.process:
            self.process.kill()
            self.process.wait(60)
            self.process = None

    @property
    def runs(self) -> bool:
        """Whether it was started and not killed; it may be stopped."""
        return self.process is not None

    def requests(self) -> int:
        """Return how many requests it has answered, without those that only log a user in."""
        with urllib.request.urlopen(self._health + "/metrics", timeout=10) as answer:  # noqa: S310 - ours
            lines = answer.read().decode().splitlines()
        counts = [line for line in lines if line.startswith("grpc_server_handled_total")]
        return sum(int(float(line.split()[-1])) for line in counts if "Authenticate" not in line)

    def is_healthy(self) -> bool:
        """Return whether it is one of a quorum with a leader."""
        try:
            with urllib.request.urlopen(self._health + "/health", timeout=2) as answer:  # noqa: S310 - ours
                return b'"true"' in answer.read()
        except OSError:
            return False


def wait_healthy(nodes: Collection[Node]) -> None:
    """Wait until all the nodes are healthy."""
    end = time.monotonic() + STARTS_IN
    while not all(node.is_healthy() for node in nodes):
        assert time.monotonic() < end, f"etcd did not start:\n{logs(nodes)}"
        time.sleep(0.05)


def logs(nodes: Collection[Node]) -> str:
    """Return the last lines of all logs."""
    texts = []
    for node in nodes:
        lines = node.log.read_text("utf-8").splitlines()
        texts += [f"-- {node.name} --", *lines[-10:]]
    return "\n".join(texts)


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that nobody uses now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
