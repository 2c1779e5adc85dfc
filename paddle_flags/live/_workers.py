"""A bounded pool of threads for requests that may take any time."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.live._threads import allocate_lock, start_thread

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

PATIENCE = 5.0
"""Seconds after which a pool whose threads are all busy with one job each counts as stuck."""


class Job(NamedTuple):
    """What a thread is to do, and what the loop does with its result; None: nothing came of it."""

    work: Callable[[], Any]
    done: Callable[[Any], None]


class _Worker:
    """A thread, which does one job after the other."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._wake = allocate_lock()
        self._wake.acquire()
        self._job: Job | None = None
        start_thread(self._run, "paddle_flags.live")

    def give(self, job: Job | None) -> None:
        """Let the thread do a job, or end."""
        self._job = job
        self._wake.release()

    def _run(self) -> None:
        while True:
            self._wake.acquire()
            job = self._job
            if job is None:
                return
            result = job.work()
            if not self._pool.bring_back(self, job, result):
                return


class Pool:
    """At most `size` threads. All methods but `bring_back` are for the thread of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, size: int) -> None:
        self._loop = loop
        self._size = size
        self._count = 0
        self._idle: list[_Worker] = []
        self._queue: deque[Job] = deque()
        self._begun = 0.0  # when a thread last began a job
        self._timer: asyncio.TimerHandle | None = None  # while jobs wait
        self.closed = False

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Do `work` on a thread, then call `done` with its result here.

        If all threads are stuck, `done` is called with None.
        """
        job = Job(work, done)
        if self._idle:
            self._start(self._idle.pop(), job)
        elif self._count < self._size:
            self._count += 1
            self._start(_Worker(self), job)
        else:
            self._queue.append(job)
            self._expire()

    def _start(self, worker: _Worker, job: Job) -> None:
        self._begun = time.monotonic()
        worker.give(job)

    def _expire(self) -> None:
        """Give up the jobs that wait, if all threads are stuck; look again as long as some wait."""
        if self._timer:
            self._timer.cancel()
        self._timer = None
        left = self._begun + PATIENCE - time.monotonic()
        if self._queue and left > 0:
            self._timer = self._loop.call_later(left, self._expire)
        elif self._queue:
            queue, self._queue = self._queue, deque()
            for job in queue:
                job.done(None)

    def bring_back(self, worker: _Worker, job: Job, result: Any) -> bool:
        """Hand over a result, on the thread of the worker; return False if nobody wants it."""
        if self.closed:
            return False
        try:
            self._loop.call_soon_threadsafe(self._finished, worker, job, result)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _finished(self, worker: _Worker, job: Job, result: Any) -> None:
        if self.closed:
            worker.give(None)
            return
        if self._queue:
            self._start(worker, self._queue.popleft())
        else:
            self._idle.append(worker)
        job.done(result)

    def close(self) -> None:
        """End the threads that are idle, and the others after their jobs."""
        self.closed = True
        self._queue.clear()
        for worker in self._idle:
            worker.give(None)
        self._idle.clear()
