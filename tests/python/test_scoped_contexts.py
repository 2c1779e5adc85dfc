"""What carries scopes to other threads and tasks: pf.capture and pf.wrap_executor."""

from __future__ import annotations

import asyncio
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from scopes import both, elsewhere

import paddle_flags as pf


def test_a_captured_context_runs_functions_elsewhere_also_after_its_end(native):
    with pf.scoped(scoped_level=9):
        context = pf.capture()
        assert elsewhere(lambda: context.run(both, native)) == 9
    assert both(native) == 6
    assert elsewhere(lambda: context.run(both, native)) == 9
    assert context.run(lambda: context.run(both, native)) == 9
    with context:
        assert both(native) == 9
    assert both(native) == 6


def test_a_captured_context_wraps_functions_of_every_kind(native):
    with pf.scoped(scoped_level=9):
        context = pf.capture()

    @context.wrap
    def plain():
        return both(native)

    @context.wrap
    def steps():
        yield both(native)

    @context.wrap
    async def coroutine():
        await asyncio.sleep(0)
        return both(native)

    assert elsewhere(plain) == 9
    assert list(steps()) == [9]
    assert asyncio.run(coroutine()) == 9
    assert both(native) == 6


def test_a_captured_context_runs_coroutines_step_by_step(native):
    async def work(rounds):
        for _ in range(rounds):
            assert both(native) == 9
            await asyncio.sleep(0)
        return both(native)

    with pf.scoped(scoped_level=9):
        context = pf.capture()

    async def main():
        task = asyncio.ensure_future(context.run_async(work(50)))
        for _ in range(20):
            assert both(native) == 6
            await asyncio.sleep(0)
        return await task

    assert asyncio.run(main()) == 9


def test_a_captured_context_reaches_to_thread_and_child_tasks(native):
    with pf.scoped(scoped_level=9):
        context = pf.capture()

    async def child():
        return both(native)

    async def main():
        loop = asyncio.get_running_loop()
        there = await loop.run_in_executor(None, context.run, both, native)
        return there, await asyncio.ensure_future(context.run_async(child()))

    assert asyncio.run(main()) == (9, 9)


def test_a_wrapped_executor_carries_the_scopes_of_those_who_submit(native):
    with pf.wrap_executor(ThreadPoolExecutor(2)) as executor:
        with pf.scoped(scoped_level=9):
            nines = executor.submit(both, native)
            mapped = executor.map(lambda _: both(native), range(3))
        assert nines.result() == 9
        assert list(mapped) == [9, 9, 9]
        assert executor.submit(both, native).result() == 6


def test_an_executor_of_processes_cannot_be_wrapped():
    expected = pytest.raises(pf.FlagTypeError, match="expected a ThreadPoolExecutor")
    with ProcessPoolExecutor(1) as executor, expected:
        pf.wrap_executor(executor)
    with pytest.raises(pf.FlagTypeError, match="expected an Executor, not int"):
        pf.wrap_executor(3)


def test_a_context_cannot_be_pickled():
    with pytest.raises(pf.FlagTypeError, match="belongs to its process"):
        pickle.dumps(pf.capture())
