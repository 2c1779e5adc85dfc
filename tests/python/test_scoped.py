"""Values of one thread or task: pf.scoped, pf.capture and what carries them."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import inspect
import os
import pickle
import sys
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from enum import Enum
from pathlib import Path

import pytest
from joining import python
from support import build_plugin, write

import paddle_flags as pf

PLUGIN = """
#include <pd_flags.h>
PD_DEFINE_SCOPED_int32(scoped_level, 6, "Compression level", .min = 1, .max = 9);
PD_DEFINE_SCOPED_string(scoped_mode, "fast", "How to search", .choices = "fast|best");
int native_level(void);
int native_level(void) { return PD_SCOPED(scoped_level); }
"""


class Native:
    """The flags of the plugin, as its own code sees them."""

    def __init__(self, path: Path) -> None:
        self.plugin = pf.load_plugin(path)
        self.level = ctypes.CDLL(str(path)).native_level


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    place = tmp_path_factory.mktemp("scoped")
    return Native(build_plugin(place / "libscoped.so", write(place / "scoped.c", PLUGIN)))


def both(native: Native) -> int:
    """Return the level, which Python and native code must see alike."""
    seen = pf.FLAGS.scoped_level
    assert seen == native.level() == pf.FLAGS["scoped_level"].value
    return seen


def elsewhere(function):
    """Call a function on a thread of its own."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(function).result()


def test_a_scope_gives_a_value_to_its_thread_alone(native):
    with pf.scoped(scoped_level=9):
        assert both(native) == 9
        assert elsewhere(lambda: both(native)) == 6
    assert both(native) == 6


def test_scopes_nest_and_end_in_any_order(native):
    outer, inner = pf.scoped(scoped_level=2), pf.scoped(scoped_level=3)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert both(native) == 3
    inner.__exit__(None, None, None)
    assert both(native) == 6


class Color(Enum):
    red = 1
    blue = 2


TYPES = [
    (False, True, {}),
    (3, -4, {}),
    (0.5, 2.5, {}),
    ("a", "b", {}),
    ([1, 2], [3], {}),
    (["a"], [], {}),
    (1024, 2048, {"unit": "bytes"}),
    (Color.red, Color.blue, {}),
    (Path("a"), Path("b"), {}),
    (3, None, {"optional": True}),
]


@pytest.mark.parametrize(("default", "value", "attributes"), TYPES)
def test_every_type_can_be_scoped(default, value, attributes):
    name = "scoped_type"
    flag = pf.define(name, default, "A flag", scoped=True, **attributes)
    try:
        before = flag.value
        with pf.scoped({flag: value}):
            now = tuple(value) if isinstance(value, list) else value
            assert flag.value == pf.FLAGS.scoped_type == now
            assert flag.process_value == before
            assert flag.source == "scope"
            assert elsewhere(lambda: flag.value) == before
        assert flag.value == before
    finally:
        pf.undefine(name)


def test_an_optional_flag_with_a_value_can_have_none_in_a_scope():
    flag = pf.define("scoped_maybe", None, "A flag", type=int, scoped=True)
    try:
        flag.value = 5
        with pf.scoped(scoped_maybe=None):
            assert flag.value is None
            assert flag.process_value == 5
        assert flag.value == 5
    finally:
        pf.undefine("scoped_maybe")


def test_a_refused_value_opens_no_scope(native):
    bad = pf.scoped(scoped_mode="best", scoped_level=10)
    with pytest.raises(pf.FlagValueError, match="expected an integer in") as refused, bad:
        pass
    assert "test_scoped.py" in str(refused.value)
    assert both(native) == 6
    assert pf.FLAGS.scoped_mode == "fast"


def test_a_flag_that_is_not_scoped_is_refused_and_the_message_says_how_to_declare_it():
    pf.define("scoped_not", 1, "A flag")
    try:
        with pytest.raises(pf.FlagTypeError, match=r"PD_DEFINE_SCOPED_int64.*scoped=True"):
            pf.scoped(scoped_not=2).__enter__()
    finally:
        pf.undefine("scoped_not")


def test_validators_run_on_entering(native):
    seen = []
    hook = pf.FLAGS["scoped_level"].validate(lambda value: seen.append(value) or value != 4)
    try:
        with pf.scoped(scoped_level=3):
            pass
        with pytest.raises(pf.FlagValueError), pf.scoped(scoped_level=4):
            pass
        assert seen == [3, 4]
        assert both(native) == 6
    finally:
        hook.remove()


def test_an_assignment_is_for_the_process_and_one_that_is_hidden_warns_once(native):
    flag = pf.FLAGS["scoped_level"]
    with pf.scoped(scoped_level=9):
        with pytest.warns(pf.ScopeHidesWarning, match="scoped_level: was set for the process") as w:
            pf.FLAGS.scoped_level = 3
        assert w[0].filename == __file__
        assert "test_scoped.py:" in str(w[0].message)
        assert both(native) == 9
        assert flag.process_value == 3
        assert elsewhere(lambda: both(native)) == 3
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pf.FLAGS.scoped_level = 4
    assert both(native) == 4
    flag.reset()


@pytest.mark.usefixtures("native")
def test_history_and_explain_show_the_scopes_with_their_places():
    flag = pf.FLAGS["scoped_level"]
    with pf.scoped(scoped_level=9), pf.scoped(scoped_level=8):
        entries = flag.history
        assert [(e.value, e.source) for e in entries] == [
            (8, "scope"), (9, "scope"), (6, "default"),
        ]  # fmt: skip
        assert flag.place.startswith(__file__) or "test_scoped.py:" in flag.place
        said = pf.explain("scoped_level")
        assert "scope" in str(said)
        assert "test_scoped.py:" in str(said)


def test_sensitive_values_stay_so_in_scopes():
    flag = pf.define("scoped_token", "none", "A secret", sensitive=True, scoped=True)
    try:
        with pf.scoped({flag: "very secret"}):
            assert flag.value == "very secret"
            shown = f"{flag} {flag!r} {flag.history} {pf.explain('scoped_token')}"
            assert "very secret" not in shown
            with pytest.warns(pf.ScopeHidesWarning) as given:
                flag.value = "other secret"
            assert "secret" not in str(given[0].message).replace("scoped_token", "")
    finally:
        pf.undefine("scoped_token")


@pytest.mark.usefixtures("native")
def test_dump_has_the_values_of_the_process():
    pf.FLAGS.scoped_level = 3
    try:
        with pf.scoped(scoped_level=9):
            assert "scoped_level=3" in pf.dump("flagfile")
            assert "9" not in [line.split("=")[-1] for line in pf.dump("flagfile").splitlines()]
    finally:
        pf.reset("scoped_level")


# ---- Decorators ----


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

    async def by_context():
        with pf.capture():
            await asyncio.sleep(0)

    return [direct, by_stack, by_manager, by_context]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="scopes follow tasks")
@pytest.mark.parametrize("work", raising_in_tasks(), ids=lambda f: f.__name__)
def test_a_with_in_a_coroutine_is_refused_and_the_message_names_what_to_use(native, work):
    with pytest.raises(pf.FlagTaskError, match=r"expected (the decorator @scoped|await context)"):
        asyncio.run(work())
    assert both(native) == 6


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


# ---- Captured contexts ----


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


def test_a_class_cannot_be_decorated():
    with pytest.raises(pf.FlagTypeError, match="Some is a class"):

        @pf.scoped(scoped_level=9)
        class Some:
            pass


def test_a_scope_that_ended_cannot_end_again(native):
    scope = pf.scoped(scoped_level=9)
    with scope:
        pass
    with pytest.raises(pf.FlagArgumentError):
        scope.__exit__(None, None, None)
    with scope:
        assert both(native) == 9


# ---- The end of threads, processes and the interpreter ----


def test_a_thread_may_end_with_open_scopes(native):
    kept = []

    def work():
        scope = pf.scoped(scoped_level=9)
        scope.__enter__()
        kept.append(scope)
        return both(native)

    assert elsewhere(work) == 9
    assert both(native) == 6
    kept.pop().__exit__(None, None, None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_has_the_scopes_of_its_thread(native):
    with pf.scoped(scoped_level=9):
        child = os.fork()
        if child == 0:
            os._exit(0 if native.level() == 9 and pf.FLAGS.scoped_level == 9 else 1)
        assert os.waitpid(child, 0)[1] == 0


ENDS = """
import threading
import paddle_flags as pf
level = pf.define("level", 6, scoped=True)
scope = pf.scoped(level=9)
scope.__enter__()
context = pf.capture()
def work():
    inner = pf.scoped(level=8)
    inner.__enter__()
    threading.Event().wait()
threading.Thread(target=work, daemon=True).start()
@pf.scoped(level=7)
def steps():
    yield level.value
suspended = steps()
print(next(suspended), level.value)
"""


def test_the_interpreter_may_end_with_open_scopes():
    assert python(ENDS) == ["7 9"]
