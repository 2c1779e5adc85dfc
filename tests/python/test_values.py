"""Lists, units and sensitive values: what Python makes of them."""

from __future__ import annotations

import ctypes
import math

import pytest
from support import build_plugin, close_library, write

import paddle_flags as pf

TEXTS = ["", " ", "a=b", "Grüße, 世界", "line\nbreak\t\x01", "\udcff\udc80"]


class Index:
    def __index__(self) -> int:
        return 12


# ---- Lists and units ----


class Array:
    """What an array of NumPy or PyTorch looks like from outside."""

    def __init__(self, content: object) -> None:
        self.content = content

    def tolist(self) -> object:
        return self.content


INTEGERS = [(1, 2), [3], range(4), (-(2**63),), (Index(), 2), Array([5, 6]), ()]
SEEN = [(1, 2), (3,), (0, 1, 2, 3), (-(2**63),), (12, 2), (5, 6), ()]
NUMBERS = [(), (1.0, 2.5), (math.inf, 5e-324, 0.1, 1e22)]
WORDS = [("",), ("", ""), ("a,b", 'say "hi"', " x ", "line\r\nbreak", "\t", "ä"), tuple(TEXTS)]


@pytest.mark.parametrize(
    ("default", "given", "seen"),
    [
        ((1,), INTEGERS, SEEN),
        ((0.5,), [*NUMBERS, (1, 2)], [*NUMBERS, (1.0, 2.0)]),
        ((True,), [(), (False, True)], [(), (False, True)]),
        (("a",), WORDS, WORDS),
    ],
    ids=["int", "float", "bool", "str"],
)
def test_a_list_takes_sequences_and_gives_tuples(name, default, given, seen):
    flag = pf.define(name, default)
    for value, expected in zip(given, seen):
        flag.value = value
        assert flag.value == getattr(pf.FLAGS, name) == flag.history[0].value == expected
        assert {type(item) for item in flag.value} <= {type(default[0])}
        flag.set_from_string(flag.text)
        assert flag.value == expected


def test_the_text_of_a_list_is_read_as_a_command_line_gives_it(name):
    flag = pf.define(name, (1, 2))
    for text, value in {
        "": (),
        "3": (3,),
        "010,0x10,-0X1f,+5": (10, 16, -31, 5),
        '"7"': (7,),
    }.items():
        flag.set_from_string(text)
        assert (flag.value, flag.text) == (value, text)
    ratio = pf.define(name + "_ratio", (0.5,))
    ratio.set_from_string(".5,5.,0x1p3,-INF,1e3")
    assert ratio.value == (0.5, 5.0, 8.0, -math.inf, 1000.0)
    check = pf.define(name + "_check", (True,))
    check.set_from_string("Y,no,1,F,TRUE")
    assert check.value == (True, False, True, False, True)
    word = pf.define(name + "_word", ())
    word.set_from_string('"a,b",,"say ""hi""",c')
    assert word.value == ("a,b", "", 'say "hi"', "c")


@pytest.mark.parametrize(
    ("default", "bad", "error", "text"),
    [
        (
            (1,),
            "1,2",
            pf.FlagTypeError,
            "='1,2': expected a sequence of int for a list of int64, as in ['1,2'], not str",
        ),
        (
            (1,),
            b"12",
            pf.FlagTypeError,
            "expected a sequence of int for a list of int64, not bytes",
        ),
        ((1,), 1, pf.FlagTypeError, "=1: expected a sequence of int for a list of int64, not int"),
        ((1,), {1, 2}, pf.FlagTypeError, "expected a sequence of int for a list of int64, not set"),
        (
            (1,),
            Array(5),
            pf.FlagTypeError,
            "expected a sequence of int for a list of int64, not Array",
        ),
        ((1,), (1, "2"), pf.FlagTypeError, ": item 2: '2': expected int, not str"),
        ((1,), (1, True), pf.FlagTypeError, ": item 2: True: expected int, not bool"),
        ((1,), (1, (2,)), pf.FlagTypeError, ": item 2: (2,): expected int, not tuple"),
        (
            (1,),
            (2**63,),
            pf.FlagValueError,
            "=9223372036854775808: item 1: expected a 64-bit integer",
        ),
        pytest.param((1,), (10**6000,), pf.FlagValueError, "item 1: expected a 64-bit", id="huge"),
        ((0.5,), (10**400,), pf.FlagValueError, "item 1: expected a number that a double can hold"),
        (("a",), ("a", 1), pf.FlagTypeError, ": item 2: 1: expected str, not int"),
        (("a",), ("x\0y",), pf.FlagValueError, "='x\\x00y': contains a NUL character"),
        (1, (1,), pf.FlagTypeError, "=(1,): expected int for a flag of type int64, not tuple"),
        (
            "a",
            ("a",),
            pf.FlagTypeError,
            "=('a',): expected str for a flag of type string, not tuple",
        ),
    ],
)
def test_what_is_no_list_of_the_type_is_refused_and_changes_nothing(
    name, default, bad, error, text
):
    flag = pf.define(name, default)
    for assign in (
        lambda: setattr(flag, "value", bad),
        lambda: pf.FLAGS.update({name: bad}),
        lambda: pf.override({name: bad}).__enter__(),
    ):
        with pytest.raises(error) as refused:
            assign()
        assert text in str(refused.value)
        assert (flag.value, flag.source) == (default, "default")


def test_the_choices_of_a_list_are_those_of_its_items(name):
    flag = pf.define(name, ("a",), choices=["a", "b"])
    flag.value = ["b", "a", "b"]
    assert flag.choices == ("a", "b")
    with pytest.raises(pf.FlagValueError, match=r"=b,c: item 2: expected one of a, b$") as refused:
        flag.value = ("b", "c")
    assert refused.value.status == "PD_ERR_CHOICE"
    with pytest.raises(pf.FlagValueError, match=r"=a,d: item 2: expected one of a, b$"):
        flag.set_from_string("a,d")
    assert flag.value == ("b", "a", "b")


def test_a_unit_is_for_text_and_python_sees_numbers(name):
    cache = pf.define(name, 4096, unit="bytes", max=2**30)
    wait = pf.define(name + "_wait", 1.5, unit="seconds")
    cache.set_from_string("64MiB")
    wait.set_from_string("200ms")
    assert (cache.value, cache.text, type(cache.value)) == (67108864, "67108864", int)
    assert (wait.value, wait.text) == (0.2, "0.2")
    assert (cache.unit, wait.unit) == ("bytes", "seconds")
    cache.reset()
    pf.parse(["program", f"--{name}=1.5KiB"])
    pf.FLAGS[name].reset()
    pf.parse(["program", f"--{name}=1.5KiB"])
    assert cache.value == 1536
    with pytest.raises(pf.FlagTypeError, match="='64MiB': expected int"):
        setattr(pf.FLAGS, name, "64MiB")
    with pytest.raises(pf.FlagValueError, match="=2GiB: expected an integer number of bytes <= "):
        cache.set_from_string("2GiB")


# ---- Sensitive values ----


def test_a_sensitive_value_is_shown_to_none_but_its_reader(name):
    flag = pf.define(name, "letmein", sensitive=True)
    flag.value = "hunter2"
    assert flag.value == flag.text == getattr(pf.FLAGS, name) == "hunter2"
    assert repr(flag) == f"<Flag {name}: string = <redacted> (run time)>"
    assert [str(entry.value) for entry in flag.history] == ["<redacted>"] * 2
    assert repr(flag.history[0]).startswith("FlagEntry(value=<redacted>, source='run time'")


@pytest.mark.parametrize("default", [1, 0.5, True, "a", (1,), ("a",)])
@pytest.mark.parametrize(
    "bad",
    ["hunter2\0", "hunter2\ud800", 77777777, 2**64 + 77777777, ("hunter2\0", 7), [1, 77777777.5]],
)
def test_a_sensitive_value_that_is_refused_stands_in_no_message(name, default, bad):
    flag = pf.define(name, default, sensitive=True, max=9 if type(default) is int else None)
    for assign in (
        lambda: setattr(flag, "value", bad),
        lambda: flag.set_from_string(bad),
        lambda: pf.FLAGS.update({name: bad}),
        lambda: pf.FLAGS.__setitem__(name, bad),
    ):
        try:
            assign()
        except pf.FlagError as refused:
            messages = [str(refused), str(refused.__context__), str(refused.__cause__)]
            assert not any("hunter2" in text or "7777777" in text for text in messages)


# ---- Native flags ----

NATIVE = """
PD_DEFINE_string({n}_sizes, "1,2", "Sizes", .list = PD_TYPE_int32);
PD_DEFINE_int64({n}_cache, 4096, "Cache", .unit = "bytes", .old_names = "{n}_buffer");
PD_DEFINE_string({n}_key, "letmein", "Key", .sensitive = true);
const char *sizes(void);
const char *sizes(void) {{ return FLAGS_{n}_sizes; }}
"""


ATTRIBUTES = """
#include <pd_flags.h>
PD_DEFINE_int64({n}_cache, 4096, "Cache", .sensitive = true, .experimental = true, .unit = "bytes",
                .deprecated = "Use the other", .old_names = "{n}_a|{n}_b", .required = true);
PD_DEFINE_double({n}_wait, 0.5, "Wait", .unit = "seconds", .retired = "Never read");
PD_DEFINE_string({n}_rates, "1,2", "Rates", .list = PD_TYPE_double);
PD_DEFINE_string({n}_plain, "1,2", "Plain");
"""


@pytest.mark.parametrize("suffix", ["c", "cc"])
def test_the_macros_of_c_and_cxx_carry_every_attribute(name, tmp_path, suffix):
    source = write(tmp_path / f"attributes.{suffix}", ATTRIBUTES.format(n=name))
    loaded = pf.load_plugin(build_plugin(tmp_path / "libattributes.so", source))
    cache, wait, rates, plain = loaded.flags.values()
    assert (cache.sensitive, cache.experimental, cache.required) == (True, True, True)
    assert (cache.unit, cache.deprecated) == ("bytes", "Use the other")
    assert cache.old_names == (f"{name}_a", f"{name}_b")
    assert (wait.unit, wait.retired, wait.value) == ("seconds", "Never read", 0.5)
    assert (rates.items, rates.value) == ("double", (1.0, 2.0))
    for flag in (wait, rates, plain):
        assert not any([flag.sensitive, flag.experimental, flag.required, flag.deprecated])
    assert (plain.unit, plain.items, plain.retired, plain.old_names) == (None, None, None, ())
    loaded.unload()


def test_a_list_of_a_plugin_gives_tuples_and_the_plugin_reads_its_text(name, plugin):
    loaded = pf.load_plugin(plugin(NATIVE.format(n=name)))
    sizes = pf.FLAGS[f"{name}_sizes"]
    assert (sizes.value, sizes.default, sizes.items) == ((1, 2), (1, 2), "int32")
    assert repr(sizes) == f"<Flag {name}_sizes: list of int32 = (1, 2) (default)>"
    sizes.value = [3, 4, 5]
    library = ctypes.CDLL(loaded.path)
    library.sizes.restype = ctypes.c_char_p
    assert library.sizes() == b"3,4,5"
    with pytest.raises(pf.FlagValueError, match="=2147483648: item 1: expected a 32-bit integer"):
        sizes.value = (2**31,)
    pf.FLAGS[f"{name}_cache"].set_from_string("1MiB")
    assert pf.FLAGS[f"{name}_cache"].value == 2**20
    assert "letmein" not in repr(pf.FLAGS[f"{name}_key"])
    close_library(library)
    loaded.unload()


def test_a_plugin_whose_text_becomes_a_list_gives_tuples_from_then_on(name, plugin):
    plain = 'PD_DEFINE_string({n}_items, "1,2", "Items"{more});'
    first = pf.load_plugin(plugin(plain.format(n=name, more=""), "first"))
    flag = pf.FLAGS[f"{name}_items"]
    assert flag.value == "1,2"
    first.unload()
    more = ", .list = PD_TYPE_int64, .sensitive = true"
    second = pf.load_plugin(plugin(plain.format(n=name, more=more), "second"))
    assert flag.value == (1, 2)
    with pytest.raises(pf.FlagTypeError) as refused:
        flag.value = "hunter2"
    assert str(refused.value).endswith(
        "_items=<redacted>: expected a sequence of int for a list of int64, not str"
    )
    second.unload()
    third = pf.load_plugin(plugin(plain.format(n=name, more=""), "third"))
    with pytest.raises(pf.FlagTypeError, match=r"=\(3,\): expected str"):
        flag.value = (3,)
    assert flag.value == "1,2"
    third.unload()


def test_a_flag_with_an_old_name_is_reached_by_it_also_in_a_namespace(name, plugin):
    loaded = pf.load_plugin(plugin(NATIVE.format(n=name)), namespace=f"{name}space")
    with pytest.warns(pf.DeprecatedFlagWarning, match=f"use {name}space.{name}_cache"):
        assert pf.FLAGS[f"{name}space.{name}_buffer"].name == f"{name}space.{name}_cache"
    assert f"{name}_buffer" not in pf.FLAGS
    loaded.unload()
