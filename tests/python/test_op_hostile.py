"""Operations in Python among threads that come and go, and with arguments that lie."""

from __future__ import annotations

import ctypes
import struct
from textwrap import dedent
from typing import Protocol, runtime_checkable

import pytest
from joining import python
from support import needs_fork

import paddle_flags as pf


@pytest.fixture
def bring():
    """Bring implementations, which leave with the test."""
    names: set[tuple[str, str]] = set()

    def bring(operation: str, name: str = "native", **settings: object):
        names.add((operation, name))
        return pf.impl(operation, name, **settings)

    yield bring
    for operation, name in names:
        pf.op(operation).remove(name)


@pytest.mark.extended  # takes a second or more
def test_threads_call_while_others_bring_and_take_back():
    program = """
        import sys, threading, time
        import paddle_flags as pf
        sys.setswitchinterval(1e-5)
        pf.impl("z", "native", signature="object (int64_t)")(lambda x: 1)
        z, done, errors = pf.op("z"), [], []

        def guarded(act):
            def loop():
                while not done:
                    try:
                        act()
                    except Exception as error:
                        errors.append(repr(error))
            return loop

        def come_and_go(name, rank):
            def act():
                pf.impl("z", name, rank=rank, usable=lambda: None)(lambda x: 2)
                z.remove(name)
            return act

        def call():
            assert z(1) in (1, 2)

        acts = [call, call, call, come_and_go("a", 1), come_and_go("b", 2)]
        threads = [threading.Thread(target=guarded(act)) for act in acts]
        for each in threads: each.start()
        time.sleep(2)
        done.append(1)
        for each in threads: each.join()
        print(sorted(set(errors)))
    """
    assert python(dedent(program)) == ["[]"]


def test_a_call_picks_the_signature_by_the_value_where_the_class_does_not_say(bring):
    bring("value", signature="object (char)")(lambda _: "char")
    bring("value", signature="object (object)")(lambda _: "object")
    value = pf.op("value")
    assert [value(b"a"), value(b"ab"), value(b"a")] == ["char", "object", "char"]


@runtime_checkable
class Named(Protocol):
    """Objects with a name."""

    name: str


class Thing:
    """May get a name."""


def test_classes_of_one_name_are_told_apart(bring):
    def define(operation: str) -> type:
        class Point:
            pass

        def implementation(_point):
            return operation

        implementation.__annotations__ = {"_point": Point, "return": object}
        implementation.__qualname__ = operation
        bring(operation)(implementation)
        return Point

    first, second = define("first"), define("second")
    assert (pf.op("first")(first()), pf.op("second")(second())) == ("first", "second")
    with pytest.raises(pf.FlagTypeError, match="argument 0 is a Point, expected Point"):
        pf.op("second")(first())
    again = define("second")  # as a cell of a notebook that runs twice
    assert pf.op("second")(again()) == "second"
    with pytest.raises(pf.FlagTypeError, match="expected Point"):
        pf.op("second")(second())


def test_no_operation_has_an_empty_name(bring):
    bring("lonely", signature="object (object)")(len)
    with pytest.raises(pf.UndefinedFlagError, match="operation '' is not defined"):
        pf.op("")
    with pytest.raises(pf.FlagTypeError, match="takes 1 argument, not 0"):
        pf.op("lonely")()


def test_a_protocol_is_asked_at_each_call(bring):
    @bring("name")
    def name(x: Named) -> object:
        return x.name

    thing = Thing()
    thing.name = "thing"
    assert pf.op("name")(thing) == "thing"
    with pytest.raises(pf.FlagTypeError, match="argument 0 is a Thing, expected Named"):
        pf.op("name")(Thing())


@pytest.mark.parametrize("kind", ["SystemExit", "KeyboardInterrupt"])
def test_a_usable_that_ends_the_program_does(kind):
    program = f"""
        import paddle_flags as pf
        def usable(): raise {kind}(3)
        pf.impl("g", "native", signature="object (int64_t)")(lambda x: "native")
        try:
            pf.impl("g", "other", rank=9, usable=usable)(lambda x: "other")
            print(pf.op("g")(1))
        except {kind}:
            print("ended")
        print(pf.op("g")(1))
    """
    assert python(dedent(program)) == ["ended", "native"]


class Exported:
    """An array made of bytes: a DLTensor, perhaps with a head, and the name of its capsule."""

    def __init__(self, *, head: bytes = b"", shape: int | None = 4) -> None:
        self.data = (ctypes.c_float * 4)(1, 2, 3, 4)
        self.sizes = (ctypes.c_int64 * 1)(shape or 0)
        place = 0 if shape is None else ctypes.addressof(self.sizes)
        data = ctypes.addressof(self.data)
        self.name = b"dltensor_versioned" if head else b"dltensor"
        tensor = struct.pack("QiiiBBHQQQ", data, 1, 0, 1, 2, 32, 1, place, 0, 0)
        self.made = ctypes.create_string_buffer(head + tensor)

    def __dlpack__(self, **_: object) -> object:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.made), self.name, None)


def head(version: int, flags: int) -> bytes:
    return struct.pack("IIQQQ", version, 0, 0, 0, flags)


@pytest.mark.parametrize(
    ("array", "why"),
    [
        (Exported(shape=None), "array 0: it has 1 dimensions and no shape"),
        (Exported(shape=-4), "array 0: dimension 0 is -4, expected a size"),
        (Exported(head=head(2, 0)), "exports version 2 of DLPack, expected version 1"),
        (Exported(head=head(1, 2)), "exports a copy, expected a writable array"),
        (Exported(head=head(1, 1)), "is read-only, expected a writable array"),
    ],
)
@pytest.mark.parametrize("arrays", ["f32[n]", "any[...]", ""])
def test_an_array_that_lies_is_refused(bring, array, why, arrays):
    bring("take", signature="object (DLTensor *)", arrays=arrays)(lambda _: "taken")
    assert pf.op("take")(Exported()) == "taken"
    with pytest.raises(pf.FlagTypeError, match=why):
        pf.op("take")(array)


def test_an_argument_that_fails_when_it_is_looked_at_does_not_fit(bring):
    released = memoryview(b"12345678")
    released.release()
    bring("take", signature="object (const double *)")(lambda _: 1)
    with pytest.raises(pf.FlagTypeError, match="has no buffer: operation forbidden on released"):
        pf.op("take")(released)
    with pytest.raises(pf.FlagTypeError, match="argument 0 is a class without a name"):
        pf.op("take")(type("", (), {})())


@needs_fork
def test_a_child_of_a_fork_calls_and_brings():
    program = """
        import os
        import paddle_flags as pf
        pf.impl("z", "native", signature="object (int64_t)")(lambda x: 1)
        z = pf.op("z")
        z(1)
        child = os.fork()
        if child == 0:
            pf.impl("z", "child", rank=5)(lambda x: 2)
            os._exit(0 if z(1) == 2 else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), z(1))
    """
    assert python(dedent(program)) == ["0 1"]


def test_a_value_that_waited_and_is_refused_is_a_warning_and_the_implementation_is_there():
    program = """
        import os, warnings
        os.environ["FLAGS_impl_twice"] = "a,,b"
        import paddle_flags as pf
        pf.parse(["program"], env_prefix="FLAGS_")
        with warnings.catch_warnings(record=True) as caught:
            pf.impl("twice", "native", signature="double (double)")(lambda x: 2 * x)
        print(pf.op("twice")(2.0), caught[0].message)
    """
    [line] = python(dedent(program))
    assert line.startswith("4.0 environment: FLAGS_impl_twice=a,,b: '' is no implementation's name")


MUL = """
import paddle_flags as pf
pf.impl("mul", "native", signature="double (double, double)")(lambda a, b: a * b)
"""


def test_a_choice_that_names_nothing_lists_only_signatures_with_implementations():
    program = """
        try:
            pf.impl("mul", "other")(lambda a: a)
        except pf.FlagTypeError as error:
            print("no signature object (object)" in str(error))
        try:
            pf.FLAGS["impl.mul"].value = ["numpy"]
        except pf.FlagValueError as error:
            print(str(error).partition("implementation")[2])
    """
    assert python(MUL + dedent(program)) == ["True", " of mul; double (double, double) has native"]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("mul", "only scoped operations have a choice of one thread or task: define it by"),
        ("own", "only scoped flags have values of one thread or task: define it by"),
    ],
)
def test_a_scope_on_what_is_not_scoped_says_how_to_define_it(name, how):
    program = f"""
        pf.define("impl.own", ["native"])
        try:
            pf.scoped({{"impl.{name}": ["native"]}}).__enter__()
        except pf.FlagTypeError as error:
            print(error)
    """
    [line] = python(MUL + dedent(program))
    kind = "OP" if name == "mul" else "string, or in Python by define(..., scoped=True)"
    assert line == f"impl.{name}: {how} PD_DEFINE_SCOPED_{kind}"
