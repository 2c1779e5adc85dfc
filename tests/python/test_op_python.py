"""Operations in Python: pf.op calls them, pf.impl brings implementations, pf.ops lists them."""

from __future__ import annotations

import array
import contextlib
import copy
import ctypes
import math
import pickle
import threading
from contextvars import Context
from fractions import Fraction
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Optional, Union

import pytest
from joining import python
from support import build_plugin

import paddle_flags as pf
from paddle_flags._native import ffi

PLUGINS = Path(__file__).parents[1] / "c" / "plugins"


def load(place: Path, name: str) -> pf.Plugin:
    library = place / f"lib{name}.so"
    return pf.load_plugin(
        library if library.exists() else build_plugin(library, PLUGINS / f"{name}.c")
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ops")


@pytest.fixture(autouse=True, scope="module")
def types(place: Path) -> pf.Plugin:
    return load(place, "op_types")


@pytest.fixture
def power(place: Path):
    """The operation pow, with its native implementation."""
    plugin = load(place, "op_native")
    yield pf.op("pow")
    plugin.unload()


@pytest.fixture
def brought():
    """Names under which a test brings implementations, which leave with it."""
    names: list[tuple[str, str]] = []

    def bring(operation: str, name: str, **settings: object):
        names.append((operation, name))
        return pf.impl(operation, name, **settings)

    yield bring
    for operation, name in names:
        with contextlib.suppress(pf.FlagError):
            pf.op(operation).remove(name)


def choose(operation: str, text: str):
    """Set the choice until the end of a block."""
    return pf.override({f"impl.{operation}": text.split(",")})


# ---- Calls ----


def test_a_call_runs_native_code_and_converts_numbers():
    assert pf.op("invert")(False) is True
    assert pf.op("next")(-128) == -127
    assert pf.op("half")(3) == 1.5
    assert pf.op("seven")() == 7
    assert pf.op("half")(Fraction(1, 2)) == 0.25


def test_the_first_signature_that_the_arguments_fit_is_called():
    assert pf.op("next")(127 + 1) == 129  # uint64
    assert pf.op("next")(127) == -128  # int8, which wraps around
    assert pf.op("next")(2**64 - 2) == 2**64 - 1
    assert pf.op("next")(5) == 6


def test_a_number_that_does_not_fit_is_an_error_also_after_one_that_did():
    half, following = pf.op("half"), pf.op("next")
    half(1.0)
    following(1)
    with pytest.raises(pf.FlagTypeError, match=r"argument 0 is out of range, expected a float"):
        half(1e39)
    assert half(math.inf) == math.inf
    with pytest.raises(
        pf.FlagTypeError, match=r"expected uint64_t, from 0 to 18446744073709551615"
    ):
        following(2**64)
    with pytest.raises(pf.FlagTypeError, match=r"argument 0 is out of range, expected a float"):
        half(10**400)


def test_a_miss_lists_every_signature_and_why_it_does_not_fit(power):
    with pytest.raises(pf.FlagTypeError) as caught:
        power("2", 3)
    why = "argument 0 is a str, expected a real number"
    assert str(caught.value) == (
        "pow(): no signature takes (str, int):\n"
        f"*0: double (double, double) at op_native.c:8: {why}\n"
        f"*1: double (double, int32_t) at op_native.c:9: {why}"
    )
    with pytest.raises(pf.FlagTypeError, match="takes 2 arguments, not 1"):
        power(2)


def test_a_bool_is_no_number_and_a_number_is_no_bool(power):
    with pytest.raises(pf.FlagTypeError, match="argument 0 is a bool, expected a real number"):
        power(True, 2)
    with pytest.raises(pf.FlagTypeError, match="argument 0 is a bool, expected an integer"):
        pf.op("next")(True)
    with pytest.raises(pf.FlagTypeError, match="argument 0 is an int, expected a bool"):
        pf.op("invert")(1)
    with pytest.raises(pf.FlagTypeError, match="argument 0 is a float, expected an integer"):
        pf.op("next")(1.0)


def test_an_unknown_operation_is_an_error_that_names_the_nearest(power):
    with pytest.raises(pf.UndefinedFlagError, match=r"'pwo' is not defined; did you mean 'pow'\?"):
        pf.op("pwo")


def test_buffers_are_checked_for_item_type_contiguity_and_writability():
    total, fill = pf.op("sum"), pf.op("fill")
    assert total(array.array("d", [1.5, 2]), 2) == 3.5
    assert total((ctypes.c_double * 2)(1, 2), 2) == 3
    assert total(memoryview(array.array("d", [1, 2, 3]))[1:], 2) == 5
    items = array.array("i", [0, 0])
    assert fill(items, 2, 7) is None
    assert list(items) == [7, 7]
    bad = {
        "has items of format 'f', expected double": (array.array("f", [1]), 1),
        "is not contiguous": (memoryview(array.array("d", [1, 2, 3]))[::2], 2),
        "is a list, expected a buffer of double": ([1.0], 1),
        "is a NoneType, expected a buffer of double": (None, 1),
    }
    for why, arguments in bad.items():
        with pytest.raises(pf.FlagTypeError, match=why):
            total(*arguments)
    with pytest.raises(pf.FlagTypeError, match="is read-only, expected a writable buffer"):
        fill(memoryview(bytes(8)).cast("i"), 2, 7)


def test_const_void_takes_any_buffer_and_text_takes_str_and_bytes():
    assert pf.op("bytes")(b"a\0b", 3) == 2
    assert pf.op("bytes")(array.array("H", [1, 256]), 4) == 2
    assert pf.op("length")("für") == 4
    assert pf.op("length")(b"ab") == 2
    assert pf.op("name_of")(1) == "one"
    assert pf.op("name_of")(0) is None
    with pytest.raises(pf.FlagTypeError, match="contains a NUL character"):
        pf.op("length")("a\0b")
    with pytest.raises(pf.FlagTypeError, match="contains a lone surrogate"):
        pf.op("length")("\ud800")


def test_a_pointer_to_a_struct_takes_a_pointer_of_cffi():
    number = ffi.new("int32_t *", 42)
    assert pf.op("number_of")(number) == 42
    with pytest.raises(pf.FlagTypeError, match="is an int, expected a pointer of cffi"):
        pf.op("number_of")(42)


def test_eight_threads_call_while_the_choice_changes(power, place, brought):
    plugin = load(place, "op_fast")
    brought("pow", "python", signature="double (double, double)", rank=5)(lambda x, y: 4.0)
    wrong: list[float] = []
    done = threading.Event()

    def call() -> None:
        while not done.is_set():
            found = power(2.0, 3.0)
            if found not in (2003.0, 2.0, 3.0, 4.0):
                wrong.append(found)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for each in threads:
        each.start()
    for text in ("native", "slow,*", "python", "*") * 25:
        power.flag.value = text.split(",")
    done.set()
    for each in threads:
        each.join()
    power.flag.reset()
    plugin.unload()
    assert not wrong


# ---- The choice ----


def test_the_flag_chooses_for_python_as_for_native_code(power, place):
    plugin = load(place, "op_fast")
    native_calls = ctypes.CDLL(str(place / "libop_native.so")).native_calls
    native_calls.restype = ctypes.c_double
    native_calls.argtypes = [ctypes.c_double] * 2
    for text, expected in {"fast,*": 2, "slow,*": 3, "native": 2003, "-fast,*": 2003}.items():
        with choose("pow", text):
            assert power(2.0, 3.0) == native_calls(2, 3) == expected
    assert power(2.0, 3.0) == 2
    plugin.unload()
    assert power(2.0, 3.0) == 2003


def test_an_operation_of_a_module_that_has_left_is_undefined(place):
    plugin = load(place, "op_native")
    power = pf.op("pow")
    power(2.0, 3.0)
    plugin.unload()
    with pytest.raises(pf.UndefinedFlagError, match="'pow' is not defined"):
        power(2.0, 3.0)
    plugin = load(place, "op_native")
    assert power(2.0, 3.0) == 2003
    plugin.unload()


def test_a_scope_chooses_for_a_scoped_operation(place):
    plugins = [load(place, "op_scoped"), load(place, "op_scoped_user")]
    twice = pf.op("twice")
    assert twice(1) == 2
    with pf.scoped({"impl.twice": ["fast"]}):
        assert twice(1) == 2.5
        with pf.scoped({"impl.twice": ["slow", "*"]}):
            assert twice(1) == 2.25
        found: list[float] = []
        # Not in this context, which a free-threaded Python would hand on.
        thread = threading.Thread(target=Context().run, args=(lambda: found.append(twice(1)),))
        thread.start()
        thread.join()
        assert found == [2]
    assert twice(1) == 2
    for each in reversed(plugins):
        each.unload()


# ---- Implementations of Python ----


def test_a_python_function_implements_an_operation_for_python_alone(power, place, brought):
    native_calls = ctypes.CDLL(str(place / "libop_native.so")).native_calls
    native_calls.restype = ctypes.c_double
    native_calls.argtypes = [ctypes.c_double] * 2

    @brought("pow", "python", signature="double (double, double)", rank=10)
    def real_power(x, y):
        return x**y

    assert power(2.0, 5) == 32
    assert native_calls(2, 5) == 2005
    with choose("pow", "native,*"):
        assert power(2.0, 5) == 2005
    first = power.signatures[0]
    assert [(each.name, each.chosen, each.chosen_by_native, each.why) for each in first.impls] == [
        ("native", False, True, "chosen for calls by native code"),
        ("python", True, False, "chosen for calls by Python"),
    ]
    power.remove("python")
    assert power(2.0, 5) == 2005


def test_without_a_signature_the_only_one_with_as_many_parameters_is_taken(power, brought):
    @brought("half", "python", rank=1)
    def half(x):
        return x * 0.5

    assert pf.op("half")(3.0) == 1.5
    [chosen] = [each.name for each in pf.op("half").signatures[0].impls if each.chosen]
    assert chosen == "python"
    with pytest.raises(
        pf.FlagArgumentError, match=r"several signatures take 2 arguments: expected"
    ):
        brought("pow", "python")(lambda x, y: x)


def test_python_defines_operations_by_annotations(brought):
    @brought("shown", "native", help="Show it")
    def number(x: float, digits: int) -> str:
        return f"{x:.{digits}f}"

    @brought("shown", "native")
    def items(x: list, digits: Union[int, None]) -> str:  # noqa: UP007 - as users of older Pythons write
        return f"{len(x)} items"

    @brought("shown", "native")
    def anything(x, digits: Optional[str] = None) -> str:  # noqa: UP045 - likewise
        return "?"

    shown = pf.op("shown")
    assert shown(1.25, 1) == "1.2"
    assert shown([1], None) == "1 items"
    assert shown({}, "x") == "?"
    assert shown.signatures[0].text == "const char * (double, int64_t)"
    assert shown.signatures[0].help == "Show it"
    with pytest.raises(pf.FlagTypeError) as caught:
        shown([1], 2.5)
    assert "*1: " in str(caught.value)
    assert "argument 1 is a float, expected int or NoneType" in str(caught.value)


def test_a_second_function_under_a_name_is_a_conflict_and_the_same_one_again_replaces_it(brought):
    def make(result):
        @brought("made", "native", signature="int32_t ()")
        def made():
            return result

    make(1)
    assert pf.op("made")() == 1
    make(2)
    assert pf.op("made")() == 2
    with pytest.raises(pf.FlagConflictError, match=r"'native' is already there, .*made\(\) of"):
        brought("made", "native", signature="int32_t ()")(lambda: 3)
    assert pf.op("made")() == 2


def test_a_signature_that_the_operation_lacks_is_refused_with_those_it_has(power, brought):
    with pytest.raises(
        pf.FlagTypeError, match=r"has no signature float \(float\).*it has \*0: double"
    ):
        brought("pow", "python", signature="float (float)")(lambda x: x)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("double", "expected one such as"),
        ("doubel (double)", "'doubel' is no type"),
        ("double (double, void)", "'void' is no type"),
        ("double (double *const *)", "is no type"),
        (f"void ({', '.join(['int'] * 17)})", "17 parameters, expected at most 16"),
    ],
)
def test_a_malformed_signature_is_refused(text, why):
    with pytest.raises(pf.FlagTypeError, match=why):
        pf.impl("any", "name", signature=text)(len)


def test_a_function_that_takes_no_fixed_arguments_is_refused():
    with pytest.raises(pf.FlagTypeError, match=r"parameter \*x: expected one positional argument"):
        pf.impl("any", "native")(lambda *x: x)


def test_usable_is_asked_once_and_its_reason_is_shown(power, brought):
    asked: list[int] = []

    def usable():
        asked.append(1)
        return "no luck today" if len(asked) == 1 else None

    brought("pow", "lucky", signature="double (double, double)", rank=99, usable=usable)(
        lambda x, y: 7.0
    )
    assert power(2.0, 3.0) == power(2.0, 3) == 2003
    assert asked == [1]
    assert power.signatures[0].impls[1].why == "no luck today"
    power.check_again()
    assert power(2.0, 3.0) == 7
    assert asked == [1, 1]


def test_a_usable_that_raises_is_a_reason(power, brought):
    gone = "no module"

    def usable():
        raise ImportError(gone)

    brought("pow", "broken", signature="double (double, double)", rank=99, usable=usable)(pow)
    assert power(2.0, 3.0) == 2003
    assert power.signatures[0].impls[1].why == "usable() raised ImportError: no module"


def test_an_exception_of_an_implementation_reaches_the_caller(brought):
    mine = "mine"

    @brought("failing", "native", signature="double (double)")
    def failing(x):
        raise OverflowError(mine)

    for _ in range(2):
        with pytest.raises(OverflowError, match="mine"):
            pf.op("failing")(1.0)


def test_an_operation_is_pickled_by_its_name(power):
    assert pickle.loads(pickle.dumps(power)) is power  # noqa: S301 - our own
    assert copy.deepcopy(power) is power


def test_a_callable_that_is_no_function_implements_an_operation(power, brought):
    brought("pow", "builtin", signature="double (double, double)", rank=5)(math.pow)
    assert power(2.0, 5.0) == 32
    brought("pow", "partial", signature="double (double, double)", rank=6)(partial(max, 100.0))
    assert power(2.0, 5.0) == 100


def test_calls_are_counted_on_request(power, brought):
    brought("pow", "python", signature="double (double, double)", rank=1)(lambda x, y: 0.0)
    with power.count_calls() as counts:
        power(1.0, 2.0)
        power(1.0, 2.0)
        with choose("pow", "native"):
            power(1.0, 2.0)
    power(1.0, 2.0)
    assert counts == {"python": 2, "native": 1}


def test_ops_lists_the_operations(power):
    names = [each.name for each in pf.ops()]
    assert names == sorted(names)
    assert {"pow", "sum", "next"} <= set(names)
    assert repr(power) == "<Op pow: double (double, double), double (double, int32_t)>"
    assert power.flag.name == "impl.pow"


def test_a_value_may_name_an_implementation_that_python_brings_later():
    text = """
        import paddle_flags as pf
        pf.parse(["program", "--impl.twice=numpy,*"], allow_pending=True)

        @pf.impl("twice", "native")
        def twice(x: float) -> float: return 2 * x

        @pf.impl("twice", "numpy")
        def other(x): return 3 * x

        print(pf.op("twice")(2.0))
        pf.check("pending")
    """
    assert python(dedent(text)) == ["6.0"]


def test_the_interpreter_ends_with_python_implementations_and_native_callers(tmp_path):
    library = build_plugin(tmp_path / "libop_native.so", PLUGINS / "op_native.c")
    text = f"""
        import atexit, paddle_flags as pf
        plugin = pf.load_plugin({str(library)!r})
        pf.impl("pow", "late", signature="double (double, double)", rank=3)(lambda x, y: 1.0)
        assert pf.op("pow")(2.0, 3.0) == 1
        print("done")
    """
    assert python(dedent(text)) == ["done"]
