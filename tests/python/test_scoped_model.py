"""Scopes beside a context variable: from CPython 3.14 on, both must have the same value always."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import random
import sys
import threading

import pytest

import paddle_flags as pf

if sys.version_info < (3, 14):
    pytest.skip("CPython tells no switches of contexts", allow_module_level=True)

level = pf.define("scoped_model_level", 6, scoped=True)
variable = contextvars.ContextVar("model", default=6)


def agree():
    assert level.value == variable.get()


@contextlib.contextmanager
def scoped(value):
    token = variable.set(value)
    with pf.scoped(scoped_model_level=value):
        yield
    variable.reset(token)


class Walk:
    """One random course of contexts and tasks."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.kept = [contextvars.copy_context()]

    def steps(self):
        for _ in range(self.random.randint(0, 4)):
            yield self.random.choice(("scope", "copy", "empty", "keep", "kept", "task", "thread"))
            agree()

    def plainly(self, depth):
        agree()
        for step in self.steps() if depth else ():
            if step == "scope":
                with scoped(self.random.randint(10, 99)):
                    self.plainly(depth - 1)
            elif step == "copy":
                contextvars.copy_context().run(self.plainly, depth - 1)
            elif step == "empty":
                contextvars.Context().run(self.plainly, depth - 1)
            elif step == "keep":
                self.kept.append(contextvars.copy_context())
            elif step == "kept":
                with contextlib.suppress(RuntimeError):  # it is entered already
                    self.random.choice(self.kept).run(agree)

    async def in_tasks(self, depth):
        agree()
        for step in self.steps() if depth else ():
            if step == "scope":
                with scoped(self.random.randint(10, 99)):
                    await asyncio.sleep(0)
                    await self.in_tasks(depth - 1)
            elif step == "task":
                await asyncio.gather(self.in_tasks(depth - 1), self.in_tasks(depth - 1))
            elif step == "copy":
                cancelled = asyncio.ensure_future(self.in_tasks(depth - 1))
                await asyncio.sleep(0)
                cancelled.cancel()
                await asyncio.wait([cancelled])
                assert cancelled.cancelled() or not cancelled.exception()
            elif step == "thread":
                await asyncio.to_thread(self.plainly, depth - 1)
            else:
                self.plainly(depth - 1)
                await asyncio.sleep(0)

    def whole(self, done):
        self.plainly(4)
        asyncio.run(self.in_tasks(4))
        agree()
        done.append(self)


@pytest.mark.parametrize("seed", range(50))
def test_scopes_agree_with_a_context_variable(seed):
    done = []
    threads = [threading.Thread(target=Walk(seed * 3 + i).whole, args=(done,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == len(threads)
    agree()
