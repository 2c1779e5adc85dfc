"""Tracebacks end in the user's line; public functions behave as functions do."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import sys
import traceback
import weakref

import pytest
from support import run, write

import paddle_flags as pf
from paddle_flags import _fast


def frames_of(function) -> list[str]:
    """The names of the functions in the traceback of what a call raises."""
    try:
        function()
    except BaseException as error:  # SystemExit is one of them
        return [frame.name for frame in traceback.extract_tb(error.__traceback__)[1:]]
    pytest.fail("nothing was raised")


def test_an_error_shows_the_callers_line_last(name, tmp_path):  # noqa: C901 - one list
    flag = pf.define(name, 1, max=9)

    def set_attribute() -> None:
        setattr(pf.FLAGS, name, 10)

    def set_value() -> None:
        flag.value = "x"  # type: ignore[assignment]

    def read() -> None:
        pf.FLAGS.nothing_of_this_name  # noqa: B018

    def item() -> None:
        pf.FLAGS["nothing_of_this_name"]

    def define() -> None:
        pf.define(name, "other")

    def define_wrongly() -> None:
        pf.define(name, 1, maximum=3)  # type: ignore[call-overload]

    def parse() -> None:
        pf.parse(["x", f"--{name}=10"], exit=False)

    def leave() -> None:
        pf.parse(["x", f"--{name}=10"])

    def override() -> None:
        with pf.override({name: 10}):
            pass

    def update() -> None:
        pf.FLAGS.update({name: 10})

    def load() -> None:
        pf.load_plugin(tmp_path / "none.so")

    def method() -> None:
        flag.set_from_string("x")

    def attribute() -> None:
        pf.nothing  # noqa: B018

    def truth() -> None:
        bool(flag)

    for call in (set_attribute, set_value, read, item, define, define_wrongly, parse, leave,
                 override, update, load, method, attribute, truth):  # fmt: skip
        assert frames_of(call) == [call.__name__]


def test_the_frames_of_a_users_validator_stay(name):
    flag = pf.define(name, 1)

    def interrupt(_: int) -> bool:
        raise KeyboardInterrupt

    def refuse(_: int) -> bool:
        return int("x") > 0

    def change() -> None:
        flag.value = 2

    with flag.validate(interrupt):
        assert frames_of(change) == ["change", "interrupt"]
    with flag.validate(refuse), pytest.raises(pf.FlagValueError) as caught:
        flag.value = 2
    cause = caught.value.__cause__
    assert [f.name for f in traceback.extract_tb(cause.__traceback__)] == ["refuse"]


def test_the_development_mode_keeps_all_frames(tmp_path):
    script = write(tmp_path / "script.py", "import paddle_flags as pf\npf.FLAGS.nothing\n")
    assert "registry.py" in run(sys.executable, "-X", "dev", script, check=False).stderr
    ended = run(sys.executable, script, check=False)
    shown = [line for line in ended.stderr.splitlines() if line.startswith("  File ")]
    assert shown == [f'  File "{script}", line 2, in <module>']


def test_a_method_is_the_same_object_at_each_look():
    assert pf.Flag.reset is pf.Flag.reset
    assert pf.Flag.__dict__["reset"].__get__(None, pf.Flag) is pf.Flag.reset


def test_public_functions_can_be_referred_to_weakly(name):
    flag = pf.define(name, 1)
    assert weakref.ref(pf.define)() is pf.define
    assert weakref.ref(pf.Flag.reset)() is pf.Flag.reset
    assert weakref.WeakMethod(flag.reset)() == flag.reset


def test_public_functions_can_be_pickled_and_copied(name):
    flag = pf.define(name, 1)
    for each in (pf.define, pf.parse, pf.Flag.reset, pf.override):
        assert pickle.loads(pickle.dumps(each)) is each  # noqa: S301
        assert copy.deepcopy(each) is each
    assert pickle.loads(pickle.dumps(flag.reset)) == flag.reset  # noqa: S301


def test_public_functions_show_signature_and_help(name):
    assert list(inspect.signature(pf.define).parameters)[:3] == ["name", "default", "help"]
    assert list(inspect.signature(pf.define(name, 1).watch).parameters) == ["callback", "weak"]
    assert inspect.isroutine(pf.define)
    assert inspect.isroutine(pf.Flag.reset)
    assert pf.define.__module__ == "paddle_flags._core.define"
    assert pf.parse.__name__ == "parse"
    assert (pf.parse.__doc__ or "").startswith("Read flags")
    assert pf.Flag.text.__doc__
    assert repr(pf.parse).startswith("<function parse at ")


def test_only_public_makes_public_functions():
    kind = type(_fast.hide_frames(lambda: 1))
    with pytest.raises(TypeError, match="cannot create instances"):
        kind()
    with pytest.raises(TypeError, match="expected a function"):
        _fast.hide_frames(1)
    with pytest.raises(AttributeError):
        _ = _fast.hide_frames(len).nothing


def test_a_public_function_goes_with_its_cycle():
    def function() -> None: ...

    made = _fast.hide_frames(function)
    made.itself = made
    gone = weakref.ref(made)
    del function, made
    gc.collect()
    assert gone() is None


def test_a_function_decorated_with_an_override_is_called_without_our_frames(name):
    pf.define(name, 1, max=9)

    @pf.override({name: 10})
    def refused() -> None: ...

    @pf.override({name: 2})
    def fails() -> None:
        raise RuntimeError

    def call() -> None:
        refused()

    assert frames_of(call) == ["call"]
    assert frames_of(fails) == ["fails"]


def test_an_interrupt_while_frames_are_dropped_is_raised(name):
    interrupts = [KeyboardInterrupt()]

    class OddError(Exception):
        @property
        def __traceback__(self):
            if interrupts:
                raise interrupts.pop()

    def refuse(_: int) -> bool:
        raise OddError

    flag = pf.define(name, 1)
    with flag.validate(refuse), pytest.raises(KeyboardInterrupt):
        flag.value = 2


AT_EXIT = """
import argparse
import atexit
from functools import partial
x = pf.define("x", 1)
parser = argparse.ArgumentParser()
parser.add_argument("--late")
for call in [  # the last one is called first
    partial(print, "end"),
    lambda: print(pf.FLAGS["y"].file, pf.FLAGS["y"].line, pf.FLAGS["y"].module, y_places),
    lambda: y_places.extend(entry.place for entry in pf.FLAGS["y"].history),
    partial(setattr, pf.FLAGS, "y", 4),
    partial(pf.FLAGS.update, y=3),
    partial(pf.FLAGS.update, y=2),
    partial(pf.define, "y", 1),
    partial(pf.define, "z", None, type=int, help="with keywords"),
    partial(pf.define, "x", 2, replace=True),
    partial(x.set_default, 5),
    partial(x.override, 6),
    partial(pf.override, x=7),
    partial(pf.scoped, x=7),
    partial(pf.capture),
    partial(pf.bridge, parser),
    partial(pf.commands, {"run": print}, ["prog", "run"]),
    partial(getattr, pf.FLAGS, "copy", None),
]:
    atexit.register(call)
y_places = []
"""


def test_a_call_without_python_code_above_it_comes_from_native_code(python):
    ended = python(AT_EXIT)
    assert ended.stderr == ""
    assert ended.stdout.splitlines()[1:] == [
        "<native code> 1 <native code> ['<native code>:1', '<native code>:1']",
        "end",
    ]
