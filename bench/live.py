"""Measure what hostile clients cost a process that serves its flags: python -m bench.live.

Of 1,000 connections, half are silent, some never read what they have asked for, and the others send
rubbish, 10 MB a second. Those that are cut come back. Meanwhile the process reads its flags, and a
good client asks for one. Ends with 1 when a limit is exceeded; --record renews the page on
performance.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import paddle_flags as pf
from bench import document, facts
from bench.places import RESULTS, ROOT
from bench.table import NOISE, line, number

if TYPE_CHECKING:
    from collections.abc import Iterator

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
GREEDY, HOSTILE = (5, 6), (7, 8, 9)  # last digits of connections; the others are silent


# -- the process that serves, and the one that attacks ----------------------------------------


def serve(address: str) -> None:
    """Serve flags; for each number of seconds on stdin, print the nanoseconds of a read."""
    for i in range(FLAGS):
        pf.define(f"flag_{i}", i, f"Flag number {i}, with a help text as such texts are")
    with pf.serve(address):
        print(flush=True)
        for seconds in sys.stdin:
            end, found = time.monotonic() + float(seconds), []
            while time.monotonic() < end:
                found.append(time_reads())
            print(median(found), flush=True)


def time_reads() -> float:
    """Return the nanoseconds of one read, in processor time of this thread."""
    flags = pf.FLAGS
    start = time.thread_time_ns()
    for _ in range(READS):
        flags.flag_0  # noqa: B018 - the read is what is measured
    return (time.thread_time_ns() - start) / READS


def attack(address: str) -> None:
    """Attack until stdin is closed; print how many bytes and connections there were a second."""
    clients: dict[int, tuple[int, socket.socket]] = {}  # by descriptor
    gone = deque(range(CONNECTIONS))
    poll = select.poll()
    poll.register(sys.stdin, 0)
    start, sent, count = time.monotonic(), 0, 0
    while not (events := dict(poll.poll(0))).get(sys.stdin.fileno()):
        for fd in events:
            poll.unregister(fd)
            index, made = clients.pop(fd)
            gone.append(index)
            made.close()
        for _ in range(min(BACK, len(gone))):
            made = connected(address, gone[0])
            poll.register(made, 0)
            clients[made.fileno()] = gone.popleft(), made
            count += 1
        for index, made in random.sample(list(clients.values()), len(clients)):
            if index % 10 in HOSTILE and sent < RATE * (time.monotonic() - start):
                with suppress(OSError):  # it has to wait, or was cut
                    sent += made.send(RUBBISH[index // 10 % len(RUBBISH)])
        time.sleep(STEP)
    seconds = time.monotonic() - start
    print(json.dumps({"MB": sent / seconds / 1e6, "connections": count / seconds}), flush=True)


def connected(address: str, index: int) -> socket.socket:
    """Connect, ask if the client is of those who ask, and wait for nothing afterwards."""
    made = socket.socket(socket.AF_UNIX)
    made.connect(address)
    made.setblocking(False)  # noqa: FBT003 - its only way
    if index % 10 in GREEDY:
        with suppress(OSError):
            made.send(LISTS)
    return made


# -- the measurement --------------------------------------------------------------------------


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process of this module, which ends when its stdin is closed."""
    command = [sys.executable, "-m", "bench.live", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as made:
        yield made


def line_of(process: subprocess.Popen[str]) -> str:
    """Return the next line that it prints."""
    assert process.stdout  # noqa: S101 - an error of this program
    return process.stdout.readline()


def memory(process: subprocess.Popen[str], name: str = "VmRSS") -> float:
    """Return the resident memory of a process, or its peak (VmHWM), in MiB."""
    text = Path(f"/proc/{process.pid}/status").read_text("ascii")
    return int(text.partition(f"{name}:")[2].split()[0]) / 1024


def waited(process: subprocess.Popen[str]) -> list[float]:
    """Return how many ms the server's threads, and this client, have waited for a processor."""
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    server = [task for task in tasks if task.name != str(process.pid)]  # which reads flags
    waits = [
        sum(int((task / "schedstat").read_text("ascii").split()[1]) for task in of_one)
        for of_one in (server, [Path("/proc/self")])
    ]
    return [each / 1e6 for each in waits]


def get(address: str) -> float:
    """Ask for a flag over a new connection; return how many ms it took."""
    start = time.perf_counter()
    with closing(socket.socket(socket.AF_UNIX)) as made:
        made.connect(address)
        made.sendall(GET)
        answer = made.makefile("rb").readline()
    if b'"text":"7"' not in answer:
        raise RuntimeError(f"no answer: {answer!r}")
    return (time.perf_counter() - start) * 1000


def observe(process: subprocess.Popen[str], address: str, seconds: float) -> dict[str, Any]:
    """Let a process read its flags for some seconds, and ask it for one again and again."""
    assert process.stdin  # noqa: S101 - an error of this program
    process.stdin.write(f"{seconds}\n")
    process.stdin.flush()
    end, gets, ran = time.monotonic() + seconds, [], []
    while time.monotonic() < end:
        before = waited(process)
        gets.append(get(address))
        waits = max(now - then for now, then in zip(waited(process), before))
        ran.append(max(0.0, gets[-1] - waits))
        time.sleep(STEP)
    return {"read": float(line_of(process)), "gets": gets, "slowest": max(gets), "ran": max(ran)}


def attacked(process: subprocess.Popen[str], address: str, seconds: float) -> dict[str, Any]:
    """Observe a process while it is attacked."""
    before = memory(process)
    Path(f"/proc/{process.pid}/clear_refs").write_text("5", "ascii")  # forget the peak
    with started("--attack", address) as clients:
        time.sleep(1)
        found = observe(process, address, seconds)
        growth = memory(process, "VmHWM") - before
        rates: dict[str, float] = json.loads(clients.communicate()[0])
    return found | {"growth": growth} | rates


def idle(process: subprocess.Popen[str], address: str) -> dict[str, Any]:
    """Open 10,000 connections, or as many as are allowed."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    before = memory(process)
    made = [socket.socket(socket.AF_UNIX) for _ in range(min(IDLE, most - 100))]
    for each in made:
        each.connect(address)
    get(address)  # the server has seen the others
    growth = memory(process) - before
    for each in made:
        each.close()
    return {"connections": len(made), "growth": growth}


def measured(rounds: int, seconds: float) -> dict[str, Any]:
    """Observe a process that is left alone, and while it is attacked, in turns."""
    alone, load = [], []
    with tempfile.TemporaryDirectory() as folder:
        address = f"{folder}/flags.sock"
        with started("--serve", address) as process:
            line_of(process)
            observe(process, address, 1)  # what is made on first use
            many = idle(process, address)
            for _ in range(rounds):
                alone.append(observe(process, address, seconds))
                load.append(attacked(process, address, seconds))
    ratios = [one["read"] / another["read"] for one, another in zip(load, alone)]
    found = {"machine": facts.machine(), "alone": summary(alone), "attacked": summary(load)}
    return found | {"ratio": round(median(ratios), 3), "idle": many}


def summary(rounds: list[dict[str, Any]]) -> dict[str, float]:
    """Return the medians of the rounds, and the most of what has a limit."""
    found = {"get": median(took for each in rounds for took in each.pop("gets"))}
    for name in rounds[0]:
        of_rounds = [each[name] for each in rounds]
        found[name] = (max if name in {"slowest", "ran", "growth"} else median)(of_rounds)
    return {name: round(value, 3) for name, value in found.items()}


# -- the report -------------------------------------------------------------------------------


def text(results: dict[str, Any]) -> str:
    """Return what the page shows."""
    alone, load, many = results["alone"], results["attacked"], results["idle"]
    titles = {
        "read": "`FLAGS.x` in the process, ns",
        "get": "`flags.get` over a new connection, median, ms",
        "slowest": "the slowest one, ms",
        "ran": "the slowest one, less the time in which it waited for a processor, ms",
    }
    rows = [[title, number(alone[key]), number(load[key])] for key, title in titles.items()]
    table = [line(["", "alone", "attacked"]), line(["---", "--:", "--:"]), *map(line, rows)]
    of_run = [
        f"reading, attacked / alone: {results['ratio']:.2f}",
        f"the memory grows by at most {number(load['growth'])} MiB when attacked",
        f"{many['connections']:,} idle connections: by {number(many['growth'])} MiB",
        f"rubbish: {number(load['MB'])} MB/s; new connections: {load['connections']:,.0f} a second",
        *(f"{name}: {results['machine'][name]}" for name in ("processor", "commit")),
    ]
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
    """Measure, print, record; or be one of the processes."""
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=4, help="of each half of a round")
    parser.add_argument("--record", action="store_true", help="renew the page on performance")
    parser.add_argument("--serve", metavar="ADDRESS", help=argparse.SUPPRESS)
    parser.add_argument("--attack", metavar="ADDRESS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve or options.attack:
        serve(options.serve) if options.serve else attack(options.attack)
        return 0
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
