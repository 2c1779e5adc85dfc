"""Scopes beside other loops of tasks: trio and uvloop are right, greenlets get an error."""

from __future__ import annotations

import sys

import pytest
from joining import python
from support import installed

BEGIN = """
import asyncio, sys
import paddle_flags as pf

level = pf.define("level", 6, scoped=True)

@pf.scoped(level=9)
async def nine(sleep):
    for _ in range(100):
        assert level.value == 9
        await sleep(0)

async def six(sleep):
    for _ in range(100):
        assert level.value == 6
        await sleep(0)

async def own(sleep, value):
    with pf.scoped(level=value):
        for _ in range(100):
            assert level.value == value
            await sleep(0)

async def all_of_them(start, sleep):
    for work in (nine, six, nine):
        start(work, sleep)
    try:
        if sys.version_info < (3, 14):
            with pf.scoped(level=3):
                pass
        for value in (3, 4):
            start(own, sleep, value)
    except pf.FlagTaskError as error:
        print(error)
"""
TRIO = """
import trio

async def main():
    async with trio.open_nursery() as nursery:
        await all_of_them(nursery.start_soon, trio.sleep)

trio.run(main)
"""
UVLOOP = """
import uvloop

async def main():
    tasks = []
    await all_of_them(lambda work, *of: tasks.append(work(*of)), asyncio.sleep)
    await asyncio.gather(*tasks)
    assert "uvloop" in type(asyncio.get_running_loop()).__module__

uvloop.new_event_loop().run_until_complete(main())
"""


@pytest.mark.parametrize(("name", "program"), [("trio", TRIO), ("uvloop", UVLOOP)])
def test_tasks_keep_their_values_on_another_loop(name: str, program: str) -> None:
    installed(name)
    said = python(BEGIN + program)
    if sys.version_info >= (3, 14):
        assert not said
    else:
        assert "all_of_them() would leave its values to other tasks" in said[0]


WITH = "with pf.scoped(level=9): print(level.value)"
CALL = "pf.scoped(level=9)(lambda: print(level.value))()"
RUN = "pf.capture().run(lambda: print(level.value))"
ATTEMPT = """
import {module}
def work():
    try:
        {statement}
    except pf.FlagTaskError as error:
        print(error)
{switch}
"""
SWITCHES = {
    "greenlet": "greenlet.greenlet(work).switch()",
    "gevent": "gevent.joinall([gevent.spawn(work)]); work()",
}


@pytest.mark.parametrize("module", SWITCHES)
@pytest.mark.parametrize("statement", [WITH, CALL, RUN])
def test_a_greenlet_gets_an_error(module: str, statement: str) -> None:
    installed(module)
    program = ATTEMPT.format(module=module, statement=statement, switch=SWITCHES[module])
    said = python(BEGIN + program)
    assert said
    assert all("greenlets of one thread share its scopes" in line for line in said)


def test_the_main_greenlet_may_open_scopes_where_no_other_runs() -> None:
    installed("greenlet")
    assert python(f"{BEGIN}\nimport greenlet\n{WITH}\n{CALL}\n") == ["9", "9"]
