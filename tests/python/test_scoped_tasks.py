"""Scopes that follow Python's contexts, as they do from CPython 3.14 on (tools/newest.sh)."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import paddle_flags as pf
from paddle_flags._core import following
from paddle_flags._core.assign import open_scope
from paddle_flags._native import ffi, lib

level = pf.define("tasks_level", 6, scoped=True)
follows = pytest.mark.skipif(sys.version_info < (3, 14), reason="CPython tells no switches")


@contextlib.contextmanager
def native_scope():
    """Open a scope as native code does, without pf.scoped."""
    number = open_scope([(level, 2)], (__file__, 1))
    yield
    assert lib.pd_scope_pop(number, ffi.NULL) == lib.PD_OK


by_hand_only = pytest.mark.skipif(sys.version_info >= (3, 14), reason="CPython does it")


@pytest.fixture
def by_hand(monkeypatch):
    """Arrive in contexts as the watcher of CPython 3.14 does, also where there is none."""
    monkeypatch.setattr(following, "watching", [None])
    monkeypatch.setattr(following, "current", following.Here())
    following.current.context = 1

    def run(context, address, function):
        def within():
            following.arrive(address)
            return function()

        try:
            return context.run(within)
        finally:
            following.arrive(1)

    return run


def enter(value):
    """Open a scope and record it, as pf.scoped does where contexts are followed."""
    scope = pf.scoped(tasks_level=value)
    following.before()
    scope.__enter__()
    following.after()
    return scope


def leave(scope):
    scope.__exit__(None, None, None)
    following.after()


@by_hand_only
def test_each_context_keeps_its_scopes_and_a_copy_begins_with_those_of_its_original(by_hand):
    first, second = contextvars.copy_context(), contextvars.copy_context()
    three = by_hand(first, 100, lambda: enter(3))
    assert level.value == 6
    four = by_hand(second, 200, lambda: enter(4))
    assert by_hand(first, 100, lambda: level.value) == 3
    copy = by_hand(first, 100, contextvars.copy_context)
    assert by_hand(copy, 300, lambda: level.value) == 3
    by_hand(first, 100, lambda: leave(three))
    seen = [by_hand(each, at, lambda: level.value) for each, at in
            ((first, 100), (second, 200), (copy, 300))]  # fmt: skip
    assert seen == [6, 4, 3]
    by_hand(second, 200, lambda: leave(four))
    assert level.value == 6


@by_hand_only
def test_a_scope_around_a_run_comes_back_after_it(by_hand):
    with native_scope():
        inside = contextvars.Context()
        five = by_hand(inside, 100, lambda: (level.value, enter(5), level.value))
        assert (five[0], five[2]) == (2, 5)
        assert level.value == 2
        by_hand(inside, 100, lambda: leave(five[1]))
        assert level.value == 2
    assert level.value == 6


@by_hand_only
def test_a_context_that_is_dropped_gives_up_its_scopes(by_hand):
    context = contextvars.copy_context()
    by_hand(context, 100, lambda: enter(3))
    del context
    gc.collect()
    assert not lib.pd_flag_get_state(level.handle)[0] & 0x80  # no scope has a value for it
    assert level.value == 6


async def take_turns(value: int) -> None:
    await take_turns_in(6, value)


async def take_turns_in(outer: int, value: int) -> None:
    with pf.scoped(tasks_level=value):
        for _ in range(50):
            assert level.value == value
            await asyncio.sleep(0)
    assert level.value == outer


@follows
def test_a_with_in_a_coroutine_is_for_its_task():
    async def main():
        await asyncio.gather(*(take_turns(value) for value in range(20)))
        assert level.value == 6

    asyncio.run(main())


@follows
@pytest.mark.parametrize("how", ["with", "decorator", "run_async"])
def test_child_tasks_and_to_thread_begin_with_the_scopes_of_their_parent(how):
    async def parent():
        child = asyncio.create_task(asyncio.to_thread(lambda: level.value))
        group = asyncio.ensure_future(asyncio.sleep(0, level))
        return await child, (await group).value

    async def by_with():
        with pf.scoped(tasks_level=9):
            return await parent()

    async def by_run_async():
        with pf.scoped(tasks_level=9):
            context = pf.capture()
        return await context.run_async(parent())

    work = {
        "with": by_with,
        "decorator": pf.scoped(tasks_level=9)(parent),
        "run_async": by_run_async,
    }
    assert asyncio.run(work[how]()) == (9, 9)
    assert level.value == 6


@follows
def test_a_child_task_goes_on_with_the_scopes_of_its_parent_after_their_end():
    async def child(ended):
        await ended.wait()
        return level.value

    async def main():
        ended = asyncio.Event()
        with pf.scoped(tasks_level=9):
            task = asyncio.create_task(child(ended))
        ended.set()
        return await task, level.value

    assert asyncio.run(main()) == (9, 6)


@follows
def test_a_scope_of_native_code_around_a_loop_outlives_the_tasks():
    async def main():
        seen = level.value
        await asyncio.gather(*(take_turns_in(2, value) for value in range(10, 20)))
        return seen, level.value

    with native_scope():
        assert asyncio.run(main()) == (2, 2)
        assert level.value == 2
    assert level.value == 6


@follows
def test_a_copied_context_runs_with_its_scopes_on_another_thread():
    with pf.scoped(tasks_level=9):
        context = contextvars.copy_context()
    with ThreadPoolExecutor(1) as executor:
        assert executor.submit(context.run, lambda: level.value).result() == 9
        assert executor.submit(lambda: level.value).result() == 6


@follows
def test_a_with_in_an_asynchronous_generator_is_refused():
    async def generator():
        with pf.scoped(tasks_level=9):
            yield

    async def main():
        async for _ in generator():
            pass

    with pytest.raises(pf.FlagTaskError, match="expected the decorator"):
        asyncio.run(main())


@follows
def test_threads_end_with_scopes_in_their_contexts():
    scopes = []

    def work():
        scopes.append(pf.scoped(tasks_level=9))
        scopes[-1].__enter__()

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert level.value == 6
