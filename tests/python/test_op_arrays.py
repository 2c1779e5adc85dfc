"""Arrays of NumPy as arguments of operations: buffers, and DLTensor of DLPack."""

from __future__ import annotations

import ctypes
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from support import CC, INCLUDE, LIBDIR, ROOT, build_plugin, run, tool

import paddle_flags as pf

PLUGINS = Path(__file__).parents[1] / "c" / "plugins"


@pytest.fixture(autouse=True, scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> pf.Plugin:
    place = tmp_path_factory.mktemp("arrays")
    return pf.load_plugin(build_plugin(place / "libop_types.so", PLUGINS / "op_types.c"))


def vector(*items: float) -> np.ndarray:
    return np.array(items, dtype=np.float32)


def test_an_array_of_numpy_is_a_buffer():
    assert pf.op("sum")(np.array([1.0, 2.5]), 2) == 3.5
    assert pf.op("half")(np.float32(3)) == 1.5
    assert pf.op("next")(np.int16(4)) == 5
    assert pf.op("invert")(np.bool_(True)) is False
    for bad, why in {
        "<f4": "items of format 'f', expected double",
        ">f8": "items of format '>d', expected double",
        "i8": "items of format '[lq]', expected double",
    }.items():
        with pytest.raises(pf.FlagTypeError, match=why):
            pf.op("sum")(np.zeros(2, dtype=bad), 2)
    with pytest.raises(pf.FlagTypeError, match="is not contiguous"):
        pf.op("sum")(np.zeros((4, 4))[:, 1], 4)


def test_arrays_with_shape_cross_as_dltensor():
    out = vector(0, 0)
    assert pf.op("add")(out, vector(1, 2), vector(3, 4)) is None
    assert out.tolist() == [4, 6]
    assert pf.op("rank_of")(np.zeros((2, 3, 4), dtype=np.int8).T) == 3
    assert pf.op("rank_of")(np.array(1.0)) == 0


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (np.zeros(2), "array 1: its items are f64, expected f32"),
        (vector(1, 2, 3), "array 1: dimension 0 is 3, expected 2: n of array 0"),
        (np.zeros((2, 1), np.float32), "array 1: it has 2 dimensions, expected 1"),
        (np.zeros(4, np.float32)[::2], "array 1: it is not compact, expected a row-major array"),
        ([1.0, 2.0], "argument 1 is a list, expected an array"),
        (None, "argument 1 is a NoneType, expected an array"),
        (np.zeros(2, ">f4"), "doesn't export its memory"),
        (np.array(["a", "b"]), "doesn't export its memory"),
    ],
)
def test_arrays_are_checked_for_type_dimensions_and_strides(second, why):
    with pytest.raises(pf.FlagTypeError, match=why):
        pf.op("add")(vector(0, 0), second, vector(3, 4))


def test_a_read_only_array_is_refused_where_the_operation_writes():
    out = vector(0, 0)
    out.flags.writeable = False
    with pytest.raises(pf.FlagTypeError, match=r"read-?only"):
        pf.op("add")(out, vector(1, 2), vector(3, 4))


class Elsewhere:
    """An array that says that it is on a GPU."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **_: object) -> object:
        capsule = self.array.__dlpack__()
        api = ctypes.pythonapi
        api.PyCapsule_GetPointer.restype = ctypes.c_void_p
        api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        address = api.PyCapsule_GetPointer(capsule, b"dltensor")
        ctypes.c_int32.from_address(address + 8).value = 2
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


def test_an_array_of_another_device_is_refused():
    with pytest.raises(pf.FlagTypeError, match="array 1: it is on DLPack's device 2, expected mem"):
        pf.op("add")(vector(0), Elsewhere(vector(1)), vector(2))


def test_numpy_implements_an_operation_on_arrays():
    @pf.impl("add", "numpy", rank=10)
    def add(out, a, b):
        np.add(a, b, out=out)

    out = vector(0, 0)
    pf.op("add")(out, vector(1, 2), vector(3, 4))
    assert out.tolist() == [4, 6]
    with pf.op("add").count_calls() as counts, pf.override({"impl.add": ["native"]}):
        pf.op("add")(out, vector(1, 2), vector(3, 4))
    assert counts == {"native": 1}
    with pytest.raises(pf.FlagTypeError, match="items are f64"):
        pf.op("add")(out, np.zeros(2), vector(3, 4))
    pf.op("add").remove("numpy")


def test_the_memory_of_an_array_is_released_after_the_call():
    a = vector(1, 2)
    before = sys.getrefcount(a)
    for _ in range(10):
        pf.op("add")(vector(0, 0), a, a)
    assert sys.getrefcount(a) == before


@pytest.mark.extended  # takes a second or more
def test_the_example_compares_numpy_with_the_plugins(tmp_path):
    settings = [f"BUILD={tmp_path}", f"INCLUDE={INCLUDE}", f"LIBDIR={LIBDIR}", "CFLAGS=-O2"]
    run(tool("make"), "-C", ROOT / "examples" / "ops", f"CC={shlex.join(CC)}", *settings)
    program = ROOT / "examples" / "ops" / "compare.py"
    done = run(sys.executable, program, tmp_path, "--size=33", "--impl.matmul=blocked,*")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["impl.matmul", "runs", "time"]
    assert {"numpy", "native", "blocked"} <= {line[1] for line in lines[1:]}
    assert lines[-1][:2] == ["blocked,*", "blocked"]
    assert lines[-1][4:] == ["your", "choice"]
