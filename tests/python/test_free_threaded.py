"""Threads that run Python at once, as they do without a GIL, and otherwise in turns."""

from __future__ import annotations

import contextvars
import sys
import sysconfig
import threading
from enum import Enum
from pathlib import Path

import pytest
from joining import python
from scopes import both

import paddle_flags as pf

THREADS = 8
WITHOUT_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
without_gil = pytest.mark.skipif(not WITHOUT_GIL, reason="this CPython has a GIL")
follows = pytest.mark.skipif(sys.version_info < (3, 14), reason="CPython tells no switches")


def run_together(*functions):
    """Run each function on a thread; raise what the first of them has raised."""
    errors: list[BaseException] = []
    together = threading.Barrier(len(functions))

    def run(function):
        together.wait()
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(each,)) for each in functions]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if errors:
        raise errors[0]


USE = """
import importlib, pathlib, sys
import paddle_flags as pf
package = pathlib.Path(pf.__file__).parent
for name in {each.name.partition(".")[0] for each in package.glob("_*.so")}:
    importlib.import_module(f"paddle_flags.{name}")
level = pf.define("level", 6, scoped=True)
level.watch(lambda flag: None)
level.validate(lambda value: value > 0)
with pf.scoped(level=7):
    assert level.value == 7
with pf.override(level=8):
    pass
pf.parse(["program", "--level=4"])
level.value = 9
print(sys._is_gil_enabled())
"""


INNER = """
import _interpreters
for kind in ("legacy", "isolated"):
    failed = _interpreters.exec(_interpreters.create(kind), "import paddle_flags")
    print(failed.type.__name__, failed.msg.endswith("does not support loading in subinterpreters"))
"""


@without_gil
def test_neither_importing_nor_using_the_package_turns_the_gil_on():
    assert python("import warnings; warnings.simplefilter('error')" + USE) == ["False"]


@without_gil
def test_a_subinterpreter_says_why_it_cannot_import_the_package():
    assert python(INNER) == ["ImportError True"] * 2


@follows
def test_threads_that_come_to_copies_of_a_context_at_once_have_its_scopes(native):
    seen: list[int] = []

    def visit(copies: list[contextvars.Context]) -> None:
        seen.extend(each.run(native.level) for each in copies)

    with pf.scoped(scoped_level=7):
        copies = [contextvars.copy_context() for _ in range(THREADS * 2000)]
        run_together(*(lambda i=i: visit(copies[i::THREADS]) for i in range(THREADS)))
        assert both(native) == 7
    assert seen == [7] * len(copies)
    assert both(native) == 6


@follows
def test_a_scope_ends_in_a_context_whose_copies_threads_come_to_meanwhile(native):
    for _ in range(100):
        original, scope = contextvars.Context(), pf.scoped(scoped_level=7)
        original.run(scope.__enter__)
        copies = [original.copy() for _ in range(THREADS)]

        def end(context=original, scope=scope):
            scope.__exit__(None, None, None)
            assert context.run(both, native) == 6

        def visit(copy):
            assert copy.run(both, native) in (6, 7)

        run_together(end, *(lambda copy=each: visit(copy) for each in copies))


FIRST = """
import contextvars, threading
import paddle_flags as pf
level = pf.define("level", 6, scoped=True)
together = threading.Barrier(8)
seen = set()

def work(value):
    together.wait()
    with pf.scoped(level=value):
        seen.add((level.value == value, contextvars.Context().run(lambda: level.value)))

threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for each in threads: each.start()
for each in threads: each.join()
print(seen)
"""


@follows
def test_threads_that_open_the_first_scopes_of_a_process_at_once_all_follow_contexts():
    assert python(FIRST) == ["{(True, 6)}"]


class Speed(Enum):
    SLOW = 1
    FAST = 2


def test_a_flag_is_read_while_another_thread_defines_it_with_other_types(name):
    values = ["text", Path("/place"), Speed.FAST, 3, ["a", "b"], 2.5]
    expected = {str(tuple(each) if isinstance(each, list) else each) for each in values}
    flag = pf.define(name, "text")
    done = threading.Event()

    def define():
        for i in range(300):
            pf.undefine(name)
            pf.define(name, values[i % len(values)])
        done.set()

    def read():
        while not done.is_set():
            try:
                seen = [flag.value, pf.FLAGS[name].value]
            except (pf.UndefinedFlagError, KeyError):
                continue
            assert {str(each) for each in seen} <= expected

    run_together(define, *[read] * 4)


def test_threads_add_and_remove_hooks_of_one_flag_while_others_set_it(name):
    flag = pf.define(name, 0)
    seen = []

    def hook():
        for _ in range(100):
            watcher = flag.watch(lambda changed: seen.append(changed.value))
            with flag.validate(lambda value: value >= 0):
                watcher.remove()

    def assign():
        for i in range(300):
            flag.value = i

    run_together(hook, hook, assign, assign)
    seen.clear()
    flag.value = 5
    assert (seen, flag.value) == ([], 5)


def test_threads_define_parse_and_describe_at_once(name):
    def define(first):
        for i in range(first, 200, 3):
            made = pf.define(f"{name}_{i}", i)
            pf.parse(["program", f"--{name}_{i}={i + 1}"], exit=False)
            assert (made.value, pf.FLAGS[made.name]) == (i + 1, made)

    def describe():
        for _ in range(10):
            pf.describe("json")
            assert f"{name}_0" in list(pf.FLAGS)

    pf.define(f"{name}_0", 0)
    run_together(*(lambda i=i: define(i) for i in range(1, 4)), describe, describe)
