"""Functions, generators and coroutines in scopes: the decorator, and `with` in them."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from scopes import both, elsewhere

import paddle_flags as pf


def test_it_decorates_functions(native):
    @pf.scoped(scoped_level=9)
    def work(n, *, deep=False):
        """Documented."""
        return work(n - 1) if n else (both(native), deep)

    assert work(3) == (9, False)
    assert work.__doc__ == "Documented."
    assert str(inspect.signature(work)) == "(n, *, deep=False)"
    assert both(native) == 6


def test_a_decorated_function_may_run_on_many_threads_at_once(native):
    barrier = threading.Barrier(4)

    @pf.scoped(scoped_level=9)
    def work():
        barrier.wait()
        return both(native)

    with ThreadPoolExecutor(4) as executor:
        assert [f.result() for f in [executor.submit(work) for _ in range(4)]] == [9] * 4
    assert both(native) == 6


def test_a_decorated_generator_has_its_values_alone(native):
    @pf.scoped(scoped_level=9)
    def work():
        sent = yield both(native)
        try:
            yield sent, both(native)
        except KeyError:
            yield "caught", both(native)
        return both(native)

    assert inspect.isgeneratorfunction(work)
    steps = work()
    assert next(steps) == 9
    assert both(native) == 6
    with pf.scoped(scoped_level=2):
        assert steps.send("x") == ("x", 9)
        assert both(native) == 2
    assert steps.throw(KeyError()) == ("caught", 9)
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == 9
    assert both(native) == 6


def test_a_decorated_generator_that_is_closed_early_cleans_up_in_its_scope(native):
    seen = []

    @pf.scoped(scoped_level=9)
    def work():
        try:
            yield
        finally:
            seen.append(both(native))

    steps = work()
    next(steps)
    steps.close()
    assert seen == [9]
    assert both(native) == 6


def test_a_with_in_a_plain_generator_stays_open_for_its_consumer(native):
    def work():
        with pf.scoped(scoped_level=9):
            yield

    for _ in work():
        assert both(native) == 9
    assert both(native) == 6


def test_a_generator_that_another_thread_closes_ends_its_scope_where_it_was_opened(native):
    def work():
        with pf.scoped(scoped_level=9):
            yield

    steps = work()
    next(steps)
    assert both(native) == 9
    elsewhere(steps.close)
    assert both(native) == 6


# ---- Tasks ----


@pf.scoped(scoped_level=9)
async def nine(native, rounds):
    for _ in range(rounds):
        assert both(native) == 9
        await asyncio.sleep(0)
    return both(native)


def test_decorated_coroutines_keep_their_values_while_tasks_take_turns(native):
    @pf.scoped(scoped_level=2)
    async def two(rounds):
        for i in range(rounds):
            assert both(native) == 2
            await asyncio.sleep(0)
            if i == rounds // 2:
                assert await nine(native, 3) == 9
        return both(native)

    async def six(rounds):
        for _ in range(rounds):
            assert both(native) == 6
            await asyncio.sleep(0)
        return both(native)

    async def main():
        return await asyncio.gather(nine(native, 500), two(500), six(500))

    assert asyncio.run(main()) == [9, 2, 6]
    assert both(native) == 6


def test_decorated_coroutines_and_async_generators_are_what_they_were(native):
    @pf.scoped(scoped_level=9)
    async def numbers():
        yield both(native)

    assert inspect.iscoroutinefunction(nine)
    assert inspect.isasyncgenfunction(numbers)


def test_a_cancelled_coroutine_cleans_up_in_its_scope(native):
    seen = []

    @pf.scoped(scoped_level=9)
    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            seen.append(both(native))

    async def main():
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return both(native)

    assert asyncio.run(main()) == 6
    assert seen == [9]


def test_a_decorated_async_generator_has_its_values_alone(native):
    closed = []

    @pf.scoped(scoped_level=9)
    async def numbers():
        try:
            sent = yield both(native)
            await asyncio.sleep(0)
            try:
                yield sent, both(native)
            except KeyError:
                yield "caught", both(native)
        finally:
            closed.append(both(native))

    async def main():
        made = numbers()
        assert await made.__anext__() == 9
        assert both(native) == 6
        assert await made.asend("x") == ("x", 9)
        assert await made.athrow(KeyError()) == ("caught", 9)
        await made.aclose()
        assert [value async for value in numbers()][:1] == [9]
        return both(native)

    assert asyncio.run(main()) == 6
    assert closed == [9, 9]


def raising_in_tasks():
    @contextlib.asynccontextmanager
    async def manager():
        with pf.scoped(scoped_level=9):
            yield

    async def direct():
        with pf.scoped(scoped_level=9):
            await asyncio.sleep(0)

    async def by_stack():
        with contextlib.ExitStack() as stack:
            stack.enter_context(pf.scoped(scoped_level=9))

    async def by_manager():
        async with manager():
            pass

    return [direct, by_stack, by_manager]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="scopes follow tasks")
@pytest.mark.parametrize("work", raising_in_tasks(), ids=lambda f: f.__name__)
def test_a_with_in_a_coroutine_is_refused_and_the_message_names_what_to_use(native, work):
    with pytest.raises(pf.FlagTaskError, match="expected the decorator @scoped"):
        asyncio.run(work())
    assert both(native) == 6


def test_a_captured_context_cannot_be_entered_in_a_coroutine():
    async def work():
        with pf.capture():
            await asyncio.sleep(0)

    with pytest.raises(pf.FlagTaskError, match="expected await context"):
        asyncio.run(work())


def test_a_with_in_a_function_that_a_coroutine_calls_is_fine(native):
    def work():
        with pf.scoped(scoped_level=9):
            return both(native)

    async def main():
        return work()

    assert asyncio.run(main()) == 9


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="scopes follow tasks")
def test_child_tasks_see_the_process_unless_they_are_given_a_context(native):
    @pf.scoped(scoped_level=9)
    async def parent():
        async def child():
            return both(native)

        given = pf.capture()
        plain = await asyncio.ensure_future(child())
        return plain, await asyncio.ensure_future(given.run_async(child()))

    assert asyncio.run(parent()) == (6, 9)


def test_a_class_cannot_be_decorated():
    with pytest.raises(pf.FlagTypeError, match="Some is a class"):

        @pf.scoped(scoped_level=9)
        class Some:
            pass
