"""Scopes that follow Python's contexts, as they do from CPython 3.14 on."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from joining import environment, python
from scopes import both, elsewhere
from support import needs_fork, with_subinterpreters

import paddle_flags as pf
from paddle_flags._core.assign import push_values
from paddle_flags._native import ffi, lib

if sys.version_info < (3, 14):
    pytest.skip("CPython tells no switches of contexts", allow_module_level=True)


def scoped(value):
    return pf.scoped(scoped_level=value)


@contextlib.contextmanager
def native_scope(value):
    """Open a scope as native code does, without pf.scoped."""
    number = push_values([(pf.FLAGS["scoped_level"], value)], (__file__, 1), scoped=True)
    yield
    assert lib.pd_scope_pop(number, ffi.NULL) == lib.PD_OK


def any_scope_has_a_value():
    gc.collect()  # without a GIL, CPython frees some objects of earlier tests only then
    return bool(lib.pd_flag_get_state(pf.FLAGS["scoped_level"].handle)[0] & 0x80)


async def take_turns(native, value, outer=6):
    with scoped(value):
        for _ in range(50):
            assert both(native) == value
            await asyncio.sleep(0)
    assert both(native) == outer


# ---- Tasks ----


def test_a_with_in_a_coroutine_is_for_its_task(native):
    async def main():
        await asyncio.gather(*(take_turns(native, 1 + i % 9) for i in range(20)))
        assert both(native) == 6

    asyncio.run(main())
    assert both(native) == 6
    assert not any_scope_has_a_value()


@pytest.mark.parametrize("how", ["with", "decorator", "run_async"])
def test_child_tasks_and_to_thread_begin_with_the_scopes_of_their_parent(native, how):
    async def see():
        return both(native)

    async def parent():
        async with asyncio.TaskGroup() as group:
            child = group.create_task(see())
            deeper = group.create_task(asyncio.to_thread(both, native))
        return [child.result(), deeper.result(), *await asyncio.gather(see(), see())]

    async def by_with():
        with scoped(9):
            return await parent()

    async def by_run_async():
        with scoped(9):
            context = pf.capture()
        return await context.run_async(parent())

    ways = {"with": by_with, "decorator": scoped(9)(parent), "run_async": by_run_async}
    assert asyncio.run(ways[how]()) == [9] * 4
    assert both(native) == 6


def test_tasks_that_start_eagerly_have_their_own_scopes(native):
    async def main():
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        with scoped(3):
            await asyncio.gather(*(take_turns(native, value, 3) for value in (1, 2)))
        assert both(native) == 6

    asyncio.run(main())


def test_a_child_task_goes_on_with_the_scopes_of_its_parent_after_their_end(native):
    async def child(ended):
        await ended.wait()
        return both(native)

    async def main():
        ended = asyncio.Event()
        with scoped(9):
            task = asyncio.create_task(child(ended))
        ended.set()
        return await task, both(native)

    assert asyncio.run(main()) == (9, 6)


def test_tasks_may_share_one_object_of_scoped(native):
    shared = scoped(9)

    async def work(rounds):
        with shared:
            for _ in range(rounds):
                assert both(native) == 9
                await asyncio.sleep(0)
        assert both(native) == 6

    async def main():
        await asyncio.gather(work(5), work(2), work(9))

    asyncio.run(main())


def test_cancelled_tasks_and_exceptions_end_their_scopes(native):
    seen = []

    async def wait():
        with scoped(9):
            try:
                await asyncio.sleep(60)
            finally:
                seen.append(both(native))

    async def fail():
        with scoped(8):
            await asyncio.sleep(0)
            raise KeyError(both(native))

    async def main():
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        results = await asyncio.gather(task, fail(), return_exceptions=True)
        return [type(each) for each in results], results[1].args, both(native)

    assert asyncio.run(main()) == ([asyncio.CancelledError, KeyError], (8,), 6)
    assert seen == [9]


def test_a_decorated_coroutine_and_a_with_take_turns(native):
    @scoped(2)
    async def decorated():
        await take_turns(native, 3, 2)
        return both(native)

    async def main():
        with scoped(5):
            return await asyncio.gather(decorated(), take_turns(native, 4, 5))

    assert asyncio.run(main()) == [2, None]


# ---- Scopes that are left elsewhere ----


def test_a_with_in_an_asynchronous_generator_stays_open_for_its_consumer(native):
    @contextlib.asynccontextmanager
    async def manager():
        with scoped(9):
            yield

    async def numbers():
        with scoped(8):
            for _ in range(3):
                await asyncio.sleep(0)
                yield both(native)

    async def main():
        async with manager():
            assert both(native) == 9
            await asyncio.gather(take_turns(native, 3, 9), take_turns(native, 4, 9))
        assert both(native) == 6
        assert [(each, both(native)) async for each in numbers()] == [(8, 8)] * 3
        assert both(native) == 6

    asyncio.run(main())


def test_a_scope_that_another_task_ends_ends_where_it_was_opened(native):
    async def numbers():
        with scoped(8):
            yield 1

    async def consumer(made, others_turn, mine):
        assert await made.__anext__() == 1
        others_turn.set()
        await mine.wait()
        return both(native)

    async def main():
        made, others_turn, mine = numbers(), asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(consumer(made, others_turn, mine))
        await others_turn.wait()
        assert both(native) == 6
        await made.aclose()
        mine.set()
        return await task

    assert asyncio.run(main()) == 6
    assert not any_scope_has_a_value()


def test_a_generator_that_an_async_for_gives_up_ends_its_scope(native):
    async def numbers():
        with scoped(8):
            while True:
                yield both(native)

    async def main():
        async for each in numbers():
            assert each == 8
            break
        gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)
        return both(native)

    assert asyncio.run(main()) == 6


def test_tasks_begin_without_a_scope_that_another_thread_has_ended(native):
    def steps():
        with scoped(9):
            yield

    async def see():
        return both(native)

    made = steps()
    next(made)
    assert asyncio.run(see()) == 9
    elsewhere(made.close)
    assert both(native) == 6
    assert asyncio.run(see()) == 6


# ---- Contexts ----


def test_a_copied_context_runs_with_its_scopes_on_another_thread(native):
    with scoped(9):
        context = contextvars.copy_context()
    with ThreadPoolExecutor(1) as executor:
        assert executor.submit(context.run, both, native).result() == 9
        assert executor.submit(both, native).result() == 6


def test_a_scope_in_a_copied_context_is_for_that_alone(native):
    def inner():
        assert both(native) == 9
        with scoped(3):
            assert contextvars.copy_context().run(both, native) == 3
            assert contextvars.Context().run(both, native) == 6
        left_open.__enter__()
        return both(native)

    left_open = scoped(4)
    with scoped(9):
        context = contextvars.copy_context()
        assert context.run(inner) == 4
        assert both(native) == 9
    assert both(native) == 6
    assert context.run(both, native) == 4
    left_open.__exit__(None, None, None)
    assert context.run(both, native) == 9


def test_copies_of_a_copy_begin_with_its_scopes_also_where_the_original_was(native):
    def work():
        with scoped(9):
            return contextvars.copy_context()

    copy = contextvars.Context().run(work)  # which is gone, and leaves its place in memory
    assert [copy.copy().run(both, native) for _ in range(20)] == [9] * 20
    assert both(native) == 6


def test_an_exception_passes_through_a_context_with_scopes(native):
    def fail():
        with scoped(3):
            raise KeyError(both(native))

    with scoped(9):
        context = contextvars.copy_context()
    for _ in range(2):
        with pytest.raises(KeyError, match="3"):
            context.run(fail)
        assert both(native) == 6


def test_scopes_of_native_code_around_a_loop_are_those_of_its_tasks(native):
    async def main():
        assert both(native) == 2
        await asyncio.gather(*(take_turns(native, value, 2) for value in (3, 4)))

    with native_scope(2):
        asyncio.run(main())
        assert both(native) == 2
    assert both(native) == 6


def test_scopes_of_native_code_come_back_with_their_context(native):
    with scoped(5):
        with native_scope(2):
            contextvars.Context().run(lambda: scoped(8).__enter__())
            assert both(native) == 2
            assert contextvars.copy_context().run(both, native) == 2
            assert both(native) == 2
        assert both(native) == 5
    assert both(native) == 6


def test_a_context_that_is_dropped_gives_up_its_scopes(native):
    contextvars.copy_context().run(lambda: scoped(3).__enter__())
    gc.collect()
    assert not any_scope_has_a_value()
    assert both(native) == 6


# ---- The end of threads, processes and interpreters ----


def test_threads_end_with_scopes_in_their_contexts(native):
    def work():
        with native_scope(2):
            scope = scoped(9)
            scope.__enter__()
            scopes.append(scope)

    scopes = []
    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    while threads:
        threads.pop().join()
    del thread  # it has its context
    assert both(native) == 6
    assert not any_scope_has_a_value()


@needs_fork
def test_a_forked_child_goes_on_in_its_contexts(native):
    async def main():
        with scoped(9):
            child = os.fork()
            if child == 0:
                seen = both(native), contextvars.Context().run(both, native)
                os._exit(0 if seen == (9, 6) else 1)
            return child

    assert os.waitpid(asyncio.run(main()), 0)[1] == 0


BEGIN = """
import asyncio, atexit, contextvars, sys
import paddle_flags as pf
level = pf.define("level", 6, scoped=True)
async def work():
    with pf.scoped(level=9):
        await asyncio.sleep(0)
        return level.value
"""
ENDS = """
async def main():
    pf.scoped(level=8).__enter__()
    tasks.append(asyncio.create_task(asyncio.sleep(60)))
    await work()
tasks = []
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
context = contextvars.copy_context()
context.run(pf.scoped(level=7).__enter__)
class Late:
    def __del__(self):
        context.run(int)
sys.late = Late()
atexit.register(context.run, lambda: print(level.value))
"""
TAKEN = """
import ctypes
watch = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.py_object)(lambda *_: 0)
try:
    while True:
        ctypes.pythonapi.PyContext_AddWatcher(watch)
except RuntimeError:
    pass
try:
    asyncio.run(work())
except pf.FlagTaskError as error:
    print(error)
with pf.scoped(level=3):
    print(level.value)
"""
INNER = """
import _interpreters
inner = _interpreters.create("legacy")
text = f"import sys; sys.path[:] = {sys.path}" + chr(10) + BEGIN
failed = _interpreters.run_string(inner, text + '''
try:
    asyncio.run(work())
except pf.FlagTaskError as error:
    print(error)
with pf.scoped(level=3):
    print(level.value)
''')
assert failed is None, failed
_interpreters.destroy(inner)
print(asyncio.run(work()), level.value)
"""


def test_the_interpreter_may_end_with_scopes_in_its_contexts():
    assert python(BEGIN + ENDS) == ["7"]


@pytest.mark.parametrize(("inherits", "expected"), [("0", "6"), ("1", "9")])
def test_a_thread_begins_with_the_context_that_python_gives_it(inherits, expected):
    program = """
import threading
with pf.scoped(level=9):
    thread = threading.Thread(target=lambda: print(level.value))
    thread.start()
    thread.join()
"""
    variables = environment(PYTHON_THREAD_INHERIT_CONTEXT=inherits)
    assert python(BEGIN + program, env=variables) == [expected]


def test_where_no_watcher_is_left_a_with_in_a_coroutine_is_refused():
    refused, three = python(BEGIN + TAKEN)
    assert "work() would leave its values to other tasks" in refused
    assert three == "3"


@with_subinterpreters
def test_in_other_interpreters_a_with_in_a_coroutine_is_refused():
    begin = BEGIN.replace('level = pf.define("level", 6, scoped=True)', 'level = pf.FLAGS["level"]')
    refused, three, own = python(f"{BEGIN}\nBEGIN = {begin!r}\n{INNER}")
    assert "work() would leave its values to other tasks" in refused
    assert (three, own) == ("3", "9 6")
