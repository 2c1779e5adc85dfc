"""Measure appends, and until all that wait have seen them: python -m bench.fleet.stores URL...

Each URL names a new fleet. The waiters are threads of several processes, each with a store of its
own; all processes of a machine share the monotonic clock.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import threading
import time
from typing import TYPE_CHECKING

from paddle_flags.fleet import open_store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from multiprocessing.queues import Queue

RECORD = b"x" * 200
PAUSE = 0.1  # seconds between two records


def wait_for(url: str, records: int, found: Queue[tuple[int, float]]) -> None:
    """Put when each record was seen."""
    store = open_store(url, timeout=30)
    number = 0
    while number < records:
        last = store.wait(number, 60)
        now = time.monotonic()
        for each in range(number + 1, last + 1):
            found.put((each, now))
        number = last
    store.close()


def waiting(url: str, threads: int, records: int, found: Queue[tuple[int, float]]) -> None:
    """Wait in several threads."""
    all_of_them = [
        threading.Thread(target=wait_for, args=(url, records, found)) for _ in range(threads)
    ]
    for thread in all_of_them:
        thread.start()
    for thread in all_of_them:
        thread.join()


def measure(url: str, stores: int, processes: int, records: int) -> None:
    """Print the figures of one engine."""
    context = multiprocessing.get_context("spawn")
    found: Queue[tuple[int, float]] = context.Queue()
    threads = stores // processes
    started = [
        context.Process(target=waiting, args=(url, threads, records, found))
        for _ in range(processes)
    ]
    for process in started:
        process.start()
    time.sleep(5)  # until all wait
    store = open_store(url, timeout=30)
    begun, took = {}, []
    for number in range(1, records + 1):
        begun[number] = time.monotonic()
        if not store.append(number, RECORD):
            message = f"{url}: expected a new fleet"
            raise SystemExit(message)
        took.append(time.monotonic() - begun[number])
        time.sleep(PAUSE)
    seen = [found.get(timeout=60) for _ in range(records * threads * processes)]
    for process in started:
        process.join()
    each = [at - begun[number] for number, at in seen]
    last = [max(at for n, at in seen if n == number) - begun[number] for number in begun]
    print(f"{store.url}: {records} records, {len(started)} processes with {threads} stores")
    for what, values in (("append", took), ("one store woken", each), ("all woken", last)):
        print(f"  {what:16} {told(values)}")
    store.close()


def told(values: Iterable[float]) -> str:
    """Return the median and the worst of times."""
    times = sorted(1000 * value for value in values)
    late = times[int(len(times) * 0.95)]
    middle, worst = statistics.median(times), times[-1]
    return f"median {middle:7.1f} ms   95% {late:7.1f} ms   worst {worst:7.1f} ms"


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("url", nargs="+")
    parser.add_argument("--stores", type=int, default=50)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--records", type=int, default=100)
    options = parser.parse_args()
    for url in options.url:
        measure(url, options.stores, options.processes, options.records)


if __name__ == "__main__":
    main()
