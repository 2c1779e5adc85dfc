"""Measure what hostile clients cost a process that serves its flags: python -m bench.live.

Of 1,000 connections, half are silent, some never read what they have asked for, and the others send
rubbish, 10 MB a second. Those that are cut come back. Meanwhile the process reads its flags, and a
good client asks for one. Ends with 1 when a limit is exceeded; --record renews the page on
performance.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import select
import socket
import sys
import tempfile
import time
from collections import deque
from contextlib import closing, suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import paddle_flags as pf
from bench import document, facts
from bench.places import RESULTS, ROOT
from bench.table import NOISE, line, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

DOCUMENT = ROOT / "docs" / "explanation" / "performance.md"
FLAGS = 1000
READS = 20_000
CONNECTIONS = 1000
IDLE = 10_000
RATE = 10e6  # bytes of rubbish in a second
STEP = 0.01  # seconds
BACK = 10  # connections that come back in a step
GROWTH_MAX = 32.0  # MiB
GET_MAX = 100.0  # ms
GET = b'{"jsonrpc":"2.0","id":1,"method":"flags.get","params":{"name":"flag_7"}}\n'
LISTS = b'{"jsonrpc":"2.0","id":1,"method":"flags.list"}\n' * 200
WRONG = b'{"jsonrpc":"2.0","id":1,"method":"flags.lst"}\n' * 1400
RUBBISH = (bytes(range(256)) * 256, b"x" * (1 << 16), b"[" * (1 << 16), WRONG)
FACTS = ("processor", "commit", "load at the start")
TITLES = {
    "read": "`FLAGS.x` in the process, ns",
    "get": "`flags.get` over a new connection, median, ms",
    "slowest": "the slowest one, ms",
    "ran": "the slowest one, less the time in which it waited for a processor, ms",
}


# -- the process that serves, and the one that attacks ----------------------------------------


def serve(pipe: Connection, address: str) -> None:
    """Serve flags; read them for as many seconds as the pipe says, and send the ns of a read."""
    for i in range(FLAGS):
        pf.define(f"flag_{i}", i, f"Flag number {i}, with a help text as such texts are")
    flags = pf.FLAGS
    with pf.serve(address):
        pipe.send(None)
        while seconds := pipe.recv():
            end, found = time.monotonic() + seconds, []
            while time.monotonic() < end:
                start = time.thread_time_ns()
                for _ in range(READS):
                    flags.flag_0  # noqa: B018 - the read is what is measured
                found.append((time.thread_time_ns() - start) / READS)
            pipe.send(median(found))


def attack(pipe: Connection, address: str) -> None:
    """Attack until the pipe says so; send how many bytes and connections there were a second."""
    clients: dict[int, tuple[int, socket.socket]] = {}  # by descriptor
    gone = deque(range(CONNECTIONS))
    poll = select.poll()
    start, sent, count = time.monotonic(), 0, 0
    while not pipe.poll():
        for fd, _ in poll.poll(0):  # those that were cut
            poll.unregister(fd)
            index, made = clients.pop(fd)
            gone.append(index)
            made.close()
        for index in [gone.popleft() for _ in range(min(BACK, len(gone)))]:
            made = connect(address)
            made.setblocking(False)
            if index % 10 in (5, 6):
                with suppress(OSError):
                    made.send(LISTS)
            poll.register(made, 0)
            clients[made.fileno()] = index, made
            count += 1
        for index, made in random.sample(list(clients.values()), len(clients)):
            if index % 10 in (7, 8, 9) and sent < RATE * (time.monotonic() - start):
                with suppress(OSError):  # it has to wait, or was cut
                    sent += made.send(RUBBISH[index // 10 % len(RUBBISH)])
        time.sleep(STEP)
    seconds = time.monotonic() - start
    pipe.send({"MB": sent / seconds / 1e6, "connections": count / seconds})


def connect(address: str) -> socket.socket:
    """Return a new connection."""
    made = socket.socket(socket.AF_UNIX)
    made.connect(address)
    return made


# -- the measurement --------------------------------------------------------------------------


def start(target: Callable[[Connection, str], None], address: str) -> tuple[Connection, int]:
    """Run one of these functions in a process of its own; return a pipe to it, and its pid."""
    fresh = multiprocessing.get_context("spawn")
    pipe, other = fresh.Pipe()
    process = fresh.Process(target=target, args=(other, address), daemon=True)
    process.start()
    other.close()
    return pipe, process.pid or 0


def memory(pid: int, name: str = "VmRSS") -> float:
    """Return the resident memory of a process, or its peak (VmHWM), in MiB."""
    text = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(text.partition(f"{name}:")[2].split()[0]) / 1024


def waited(pid: int) -> list[float]:
    """Return how many ms the server's threads, and this client, have waited for a processor."""
    server = [task for task in Path(f"/proc/{pid}/task").iterdir() if task.name != str(pid)]
    waits = [
        sum(int((task / "schedstat").read_text("ascii").split()[1]) for task in of_one)
        for of_one in (server, [Path("/proc/self")])
    ]
    return [each / 1e6 for each in waits]


def get(address: str) -> float:
    """Ask for a flag over a new connection; return how many ms it took."""
    begin = time.perf_counter()
    with closing(connect(address)) as made:
        made.sendall(GET)
        answer = made.makefile("rb").readline()
    if b'"text":"7"' not in answer:
        raise RuntimeError(f"no answer: {answer!r}")
    return (time.perf_counter() - begin) * 1000


def observe(pipe: Connection, pid: int, address: str, seconds: float) -> dict[str, float]:
    """Let a process read its flags for some seconds, and ask it for one again and again."""
    pipe.send(seconds)
    end, gets, ran = time.monotonic() + seconds, [], []
    while time.monotonic() < end:
        before = waited(pid)
        gets.append(get(address))
        waits = max(now - then for now, then in zip(waited(pid), before))
        ran.append(max(0.0, gets[-1] - waits))
        time.sleep(STEP)
    return {"read": pipe.recv(), "get": median(gets), "slowest": max(gets), "ran": max(ran)}


def attacked(pipe: Connection, pid: int, address: str, seconds: float) -> dict[str, float]:
    """Observe a process while it is attacked."""
    before = memory(pid)
    Path(f"/proc/{pid}/clear_refs").write_text("5", "ascii")  # forget the peak
    clients, _ = start(attack, address)
    time.sleep(1)
    found = observe(pipe, pid, address, seconds)
    found["growth"] = memory(pid, "VmHWM") - before
    clients.send(None)
    rates: dict[str, float] = clients.recv()
    return found | rates


def idle(pid: int, address: str) -> dict[str, float]:
    """Open 10,000 connections, or as many as are allowed."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    before = memory(pid)
    made = [connect(address) for _ in range(min(IDLE, most - 100))]
    get(address)  # the server has seen the others
    growth = memory(pid) - before
    for each in made:
        each.close()
    return {"connections": len(made), "growth": growth}


def measured(rounds: int, seconds: float) -> dict[str, Any]:
    """Observe a process that is left alone, and while it is attacked, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"{folder}/flags.sock"
        pipe, pid = start(serve, address)
        pipe.recv()
        observe(pipe, pid, address, 1)  # what is made on first use
        many = idle(pid, address)
        pairs = [
            (observe(pipe, pid, address, seconds), attacked(pipe, pid, address, seconds))
            for _ in range(rounds)
        ]
        pipe.send(0)
    ratios = [load["read"] / alone["read"] for alone, load in pairs]
    alone, load = map(summary, zip(*pairs))
    found = {"machine": facts.machine(), "alone": alone, "attacked": load, "idle": many}
    return found | {"ratio": round(median(ratios), 3)}


def summary(rounds: tuple[dict[str, float], ...]) -> dict[str, float]:
    """Return the medians of the rounds, and the most of what has a limit."""
    most = {"slowest", "ran", "growth"}
    values = {name: [each[name] for each in rounds] for name in rounds[0]}
    return {k: round(max(v) if k in most else median(v), 3) for k, v in values.items()}


# -- the report -------------------------------------------------------------------------------


def text(results: dict[str, Any]) -> str:
    """Return what the page shows."""
    alone, load, many = results["alone"], results["attacked"], results["idle"]
    rows = [line([title, number(alone[key]), number(load[key])]) for key, title in TITLES.items()]
    of_run = [
        f"reading, attacked / alone: {results['ratio']:.2f}",
        f"the memory grows by at most {number(load['growth'])} MiB when attacked",
        f"{many['connections']:,} idle connections: by {number(many['growth'])} MiB",
        f"rubbish: {number(load['MB'])} MB/s; new connections: {load['connections']:,.0f} a second",
        *(f"{name}: {results['machine'][name]}" for name in FACTS),
    ]
    table = [line(["", "alone", "attacked"]), line(["---", "--:", "--:"]), *rows]
    return "\n".join([*table, "", *(f"- {fact}" for fact in of_run)])


def exceeded(results: dict[str, Any]) -> Iterator[str]:
    """Yield the limits that are exceeded."""
    for what, value, most in (
        ("MiB under attack", results["attacked"]["growth"], GROWTH_MAX),
        ("MiB with idle connections", results["idle"]["growth"], GROWTH_MAX),
        ("ms of the slowest get", results["attacked"]["ran"], GET_MAX),
        ("times of a read alone", results["ratio"], NOISE),
    ):
        if value > most:
            yield f"not met: {value:.3g} {what}, at most {most:g}"


def main() -> int:
    """Measure, print and record; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=4, help="of each half of a round")
    parser.add_argument("--record", action="store_true", help="renew the page on performance")
    options = parser.parse_args()
    results = measured(options.rounds, options.seconds)
    print(text(results))
    if options.record:
        (RESULTS / "live.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        document.put(DOCUMENT, {"live": text(results)})
    failures = list(exceeded(results))
    print(*failures, sep="\n", end="\n" if failures else "")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
