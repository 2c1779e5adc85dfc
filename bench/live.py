"""Load a server of flags: python -m bench.live [--seconds 60] [--clients 200] [--rate 1000].

One process serves 1,000 flags and changes them at a steady rate, while it measures its own reads.
Another one watches with many clients, and checks that no revision is missing. One more client reads
nothing for a while: it must be told that there is a gap, or be cut.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import paddle_flags as pf

if TYPE_CHECKING:
    from collections.abc import Callable

FLAGS = 1000
READS = 20_000
WRITERS: list[asyncio.StreamWriter] = []  # open until the end
BATCH = re.compile(
    rb'event: (\w+)\ndata: \{"from":(\d+),"revision":(\d+)[^"]*"(?:changes":\[.*?"at":"([^"]*)")?'
)


# -- the process that serves ------------------------------------------------------------------


def resident() -> int:
    """Return the memory of this process, in KiB."""
    text = Path("/proc/self/status").read_text("ascii")
    return int(text.partition("VmRSS:")[2].split()[0])


def time_reads() -> float:
    """Return the nanoseconds of one read, the least of 5 rounds."""
    flags = pf.FLAGS
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(READS):
            flags.flag_0  # noqa: B018 - the read is what is measured
        best = min(best, (time.perf_counter() - start) / READS * 1e9)
    return best


def change_steadily(flags: list[pf.Flag[int]], rate: int, stop: threading.Event) -> int:
    """Change flags in turns; return how often."""
    start, done = time.perf_counter(), 0
    while not stop.is_set():
        while done < (time.perf_counter() - start) * rate:
            flags[done % FLAGS].value = done
            done += 1
        time.sleep(0.002)
    return done


def serve(seconds: float, rate: int) -> None:
    """Serve, change and measure; print what was found as JSON."""
    flags = [pf.define(f"flag_{i}", 0, f"Flag number {i}") for i in range(FLAGS)]
    before = time_reads()
    with pf.serve() as server:
        print(server.address, flush=True)
        sys.stdin.readline()  # the clients are there
        stop = threading.Event()
        changes: list[int] = []
        run: Callable[[], None] = lambda: changes.append(  # noqa: E731
            change_steadily(flags, rate, stop)
        )
        thread = threading.Thread(target=run)
        memory, reads, end = [], [], time.monotonic() + seconds
        thread.start()
        time.sleep(min(5, seconds / 4))
        while time.monotonic() < end:
            memory.append(resident())
            reads.append(time_reads())
            time.sleep(1)
        stop.set()
        thread.join()
        print(json.dumps([before, statistics.median(reads), memory, changes[0]]), flush=True)
        sys.stdin.readline()  # the clients have read all


# -- the process that watches -----------------------------------------------------------------


@dataclass
class Watch:
    """What one client has seen."""

    revision: int = 0
    batches: int = 0
    gaps: int = 0
    missing: int = 0
    delays: list[float] = field(default_factory=list)  # in ms, of the first change of each batch

    def see(self, kind: bytes, start: int, end: int) -> None:
        """Take one event."""
        if kind == b"gap":
            self.gaps += 1
        elif start != self.revision:
            self.missing += 1
        self.batches += 1
        self.revision = end


async def connect(address: str, watch: Watch, limit: int) -> asyncio.StreamReader:
    """Begin to follow the events, and wait for the first one, which says the revision."""
    reader, writer = await asyncio.open_unix_connection(address, limit=limit)
    WRITERS.append(writer)
    writer.write(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    hello = await reader.readuntil(b'"revision":')
    assert b"event: hello" in hello  # noqa: S101 - an error of this program
    watch.revision = int((await reader.readuntil(b","))[:-1])
    return reader


async def read_stream(reader: asyncio.StreamReader, watch: Watch) -> None:
    """Follow the events until the server goes."""
    kept = b""
    while data := await reader.read(1 << 20):
        kept += data
        last = 0
        for match in BATCH.finditer(kept):
            watch.see(match[1], int(match[2]), int(match[3]))
            if match[4]:
                at = datetime.fromisoformat(match[4].decode())
                watch.delays.append((time.time() - at.timestamp()) * 1000)
            last = match.end()
        kept = kept[max(last, len(kept) - 200) :]


async def watch_all(address: str, clients: int, slow_for: float) -> tuple[list[Watch], Watch]:
    """Follow the events with all clients, and with one that begins to read later."""
    watches, slow = [Watch() for _ in range(clients)], Watch()
    readers = [await connect(address, watch, 1 << 24) for watch in watches]
    late = await connect(address, slow, 1 << 16)
    print("ready", flush=True)

    async def dawdle() -> None:
        await asyncio.sleep(slow_for)
        await read_stream(late, slow)

    tasks = [read_stream(reader, watch) for reader, watch in zip(readers, watches)]
    await asyncio.gather(*tasks, dawdle(), return_exceptions=True)
    return watches, slow


def watch(address: str, clients: int, slow_for: float) -> None:
    """Watch, and print what was seen as JSON."""
    watches, slow = asyncio.run(watch_all(address, clients, slow_for))
    seen = [
        [each.revision, each.batches, each.gaps, each.missing, each.delays]
        for each in [*watches, slow]
    ]
    print(json.dumps(seen), flush=True)


# -- both -------------------------------------------------------------------------------------


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start one of the two processes."""
    command = [sys.executable, "-m", "bench.live", *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line_of(process: subprocess.Popen[str]) -> str:
    """Read a line that it printed."""
    assert process.stdout  # noqa: S101 - an error of this program
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen[str]) -> None:
    """Let it go on."""
    assert process.stdin  # noqa: S101 - an error of this program
    process.stdin.write("\n")
    process.stdin.flush()


def main() -> None:
    """Run both processes, or one of them."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--rate", type=int, default=1000, help="changes a second")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--watch", metavar="ADDRESS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.seconds, given.rate)
        return
    if given.watch:
        watch(given.watch, given.clients, given.seconds / 2)
        return
    server = start("--serve", "--seconds", given.seconds, "--rate", given.rate)
    arguments = ["--clients", given.clients, "--seconds", given.seconds]
    watcher = start("--watch", line_of(server), *arguments)
    line_of(watcher)
    go_on(server)
    before, during, memory, changes = json.loads(line_of(server))
    time.sleep(1)
    go_on(server)
    *watches, slow = json.loads(line_of(watcher))
    whole = sum(each[0] == changes and each[2:4] == [0, 0] for each in watches)
    print(f"{given.clients} clients, {changes / given.seconds:,.0f} changes a second:")
    print(f"  clients that saw every change:  {whole} of {len(watches)}")
    batches = statistics.median(each[1] for each in watches)
    delays = sorted(delay for each in watches for delay in each[4])
    slowest = delays[int(len(delays) * 0.99)]
    median = statistics.median(delays)
    print(f"  from a change to its event:     {median:.0f} ms, 99%: {slowest:.0f} ms")
    print(f"  batches for each client:        {batches:.0f}")
    print(f"  the slow client:                {slow[2]} gaps, {slow[1]} batches")
    print(f"  memory of the process:          {memory[0]:,} KiB, at the end {memory[-1]:,} KiB")
    print(f"  one read of FLAGS.x:            {before:.0f} ns before, {during:.0f} ns meanwhile")


if __name__ == "__main__":
    main()
