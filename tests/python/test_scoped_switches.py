"""What is done when a thread comes to another context, with a watcher that the tests call."""

from __future__ import annotations

import sys

import pytest
from joining import python

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 14), reason="CPython calls the watcher")

# The addresses of contexts are only compared, so that any object stands for the outermost one.
BEGIN = """
import contextvars, ctypes
import paddle_flags as pf
from paddle_flags import _fast

level = pf.define("level", 6, scoped=True)
added, entered = [], [object()]

@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def add(function):
    added.append(ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.py_object)(function))
    return 0

@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)
def clear(number):
    return 0

def tell():
    added[0](1, entered[-1])

def run(context, function):
    def within():
        tell()
        return function()
    entered.append(context)
    try:
        return context.run(within)
    finally:
        entered.pop()
        tell()

def enter(value):
    scope = pf.scoped(level=value)
    scope.__enter__()
    return scope

def leave(scope):
    scope.__exit__(None, None, None)

def see():
    return level.value

needs = [add, clear, ctypes.pythonapi.PyContextVar_Get, ctypes.pythonapi.PyContextVar_Set]
addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in needs]
assert _fast.scopes_follow_contexts(contextvars.ContextVar("scopes"), tell, *addresses)
first, second = contextvars.copy_context(), contextvars.copy_context()
"""
KEEPS = """
three = run(first, lambda: enter(3))
four = run(second, lambda: enter(4))
print(see(), run(first, see), run(second, see), run(first, see), see())
run(first, lambda: leave(three))
print(see(), run(first, see), run(second, see), see())
"""
COPY = """
three = run(first, lambda: enter(3))
copy = run(first, contextvars.copy_context)
run(first, lambda: leave(three))
print(run(first, see), run(copy, see), see())
five = run(copy, lambda: enter(5))
print(run(first, see), run(copy, see), see())
def within():
    enter(7)
    nested = contextvars.copy_context()
    run(nested, lambda: enter(8))
    return see(), run(nested, see), see()
print(run(first, within))
"""
AROUND = """
with pf.scoped(level=2):
    seen = run(contextvars.Context(), see)
    seven = run(first, lambda: enter(7))
    print(seen, see(), run(first, see), see())
print(see(), run(first, see))
"""
ELSEWHERE = """
three = run(first, lambda: enter(3))
copy = run(first, contextvars.copy_context)
leave(three)
print(run(first, see), run(copy, see), run(run(first, contextvars.copy_context), see), see())
"""


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        pytest.param(KEEPS, ["6 3 4 3 6", "6 6 4 6"], id="each context keeps its scopes"),
        pytest.param(COPY, ["6 3 6", "6 5 6", "(7, 8, 7)"], id="a copy begins with them"),
        pytest.param(AROUND, ["6 2 7 2", "6 7"], id="those around a run come back"),
        pytest.param(ELSEWHERE, ["6 6 6 6"], id="one that is ended elsewhere"),
    ],
)
def test_a_switch_exchanges_the_scopes_of_the_thread(program: str, expected: list[str]) -> None:
    assert python(BEGIN + program) == expected
