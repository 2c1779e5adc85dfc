"""`override`: values for the duration of a block or a call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

import paddle_flags as pf


def test_override_ends_with_its_block(name):
    flag = pf.define(name, 1)
    flag.value = 2
    with pf.override({name: 3}):
        assert (flag.value, flag.source) == (3, "override")
        with pf.override(**{name: 4}):
            assert flag.value == 4
        assert flag.value == 3
        flag.value = 5
        assert flag.value == 5
    assert (flag.value, flag.source) == (2, "run time")


def test_override_ends_when_an_exception_leaves_its_block(name):
    flag = pf.define(name, 1)
    with pytest.raises(KeyError), pf.override({name: 3}):
        raise KeyError
    assert flag.value == 1


def test_overrides_end_in_any_order_and_on_any_thread(name):
    flag = pf.define(name, 0)
    overrides = [pf.override({name: number}) for number in (1, 2, 3)]
    for override in overrides:
        override.__enter__()
    seen = []
    for index in (1, 2, 0):
        thread = threading.Thread(target=overrides[index].__exit__, args=(None, None, None))
        thread.start()
        thread.join()
        seen.append(flag.value)
    assert seen == [3, 1, 0]


def test_override_decorates_a_function_that_may_call_itself(name):
    flag = pf.define(name, 0)

    @pf.override({name: 7})
    def values(depth: int) -> list[int]:
        own = [flag.value]
        return own + (values(depth - 1) if depth else []) + [flag.value]

    assert values(2) == [7] * 6
    assert flag.value == 0


def test_override_decorates_coroutines_and_generators(name):
    flag = pf.define(name, 0)

    @pf.override({name: 7})
    async def coroutine() -> int:
        await asyncio.sleep(0)
        return flag.value

    @pf.override({name: 8})
    def generator() -> Iterator[int]:
        yield flag.value
        yield flag.value

    assert asyncio.run(coroutine()) == 7
    assert list(generator()) == [8, 8]
    assert flag.value == 0


def test_override_refuses_what_it_cannot_decorate(name):
    pf.define(name, 0)

    async def asynchronous() -> AsyncIterator[int]:
        yield 1

    for wrong in (int, asynchronous):
        with pytest.raises(pf.FlagTypeError):
            pf.override({name: 7})(wrong)


def test_an_override_ends_once(name):
    pf.define(name, 0)
    override = pf.override({name: 1})
    with override:
        pass
    with pytest.raises(pf.FlagArgumentError, match="has already ended"):
        override.__exit__(None, None, None)


def test_an_override_with_one_bad_value_changes_nothing(name):
    flag = pf.define(name, 1)
    pf.define(name + "_2", 1, max=5)
    with pytest.raises(pf.FlagValueError), pf.override({name: 2, name + "_2": 6}):
        raise AssertionError
    with pytest.raises(pf.UndefinedFlagError), pf.override({name: 2, name + "_3": 6}):
        raise AssertionError
    assert flag.value == 1
