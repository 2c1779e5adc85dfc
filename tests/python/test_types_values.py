"""Types of Python as types of flags: their values in Python, in C and in text."""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import pathlib
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from python_types import DAY, Colour, Level, Mode, Right, errors, in_c, parse

import paddle_flags as pf
from paddle_flags._native import ffi, lib

VALUES = {
    "enum": (Mode.FAST, Mode, "BEST", Mode.BEST, "BEST"),
    "enum by value": (Mode.FAST, Mode, "2", Mode.BEST, "BEST"),
    "enum by alias": (Mode.FAST, None, "GOOD", Mode.BEST, "BEST"),
    "int enum": (Level.LOW, None, "2", Level.HIGH, "HIGH"),
    "str enum": (Colour.RED, None, "blue", Colour.BLUE, "BLUE"),
    "bits": (Right.READ, None, "WRITE|READ", Right.ALL, "READ|WRITE"),
    "no bits": (Right.READ, None, "", Right(0), "0"),
    "path": (pathlib.Path("a"), None, "b//c", pathlib.Path("b/c"), str(pathlib.Path("b/c"))),
    "pure path": (
        pathlib.PureWindowsPath("a"), None, "b/c", pathlib.PureWindowsPath("b/c"), "b\\c",
    ),
    "datetime": (
        DAY, None, "2026-01-31T12:30Z",
        dt.datetime(2026, 1, 31, 12, 30, tzinfo=dt.UTC), "2026-01-31T12:30:00+00:00",
    ),
    "datetime of a date": (
        DAY, None, "2026-01-31", DAY,
        "2026-01-31T00:00:00",
    ),
    "date": (dt.date(2026, 1, 1), None, "2026-01-31", dt.date(2026, 1, 31), "2026-01-31"),
    "time": (dt.time(1), None, "12:30", dt.time(12, 30), "12:30:00"),
    "decimal": (Decimal("0.1"), None, "1.10", Decimal("1.10"), "1.10"),
    "literal": ("a", Literal["a", "b"], "b", "b", "b"),
    "mixed literal": ("a", Literal["a", 1], "1", 1, "1"),
    "own": (
        ipaddress.ip_address("::1"), pf.Type(ipaddress.ip_address), "0:0::2",
        ipaddress.ip_address("::2"), "::2",
    ),
    "annotated": (pathlib.Path("a"), Annotated[pathlib.Path, "x"], "b", pathlib.Path("b"), "b"),
    "paths": ((pathlib.Path("a"),), None, "b,c", (pathlib.Path("b"), pathlib.Path("c")), "b,c"),
    "enums": ((Mode.FAST,), None, "BEST,2", (Mode.BEST, Mode.BEST), "BEST,BEST"),
    "dict": ({"a": 1}, None, "b=2,c=3", {"b": 2, "c": 3}, "b=2,c=3"),
    "dict of text": ({"a": "x"}, None, '"b=1,2"', {"b": "1,2"}, '"b=1,2"'),
    "empty dict": ({}, dict[str, float], "b=2", {"b": 2.0}, "b=2.0"),
}  # fmt: skip


@pytest.mark.parametrize("kind", VALUES)
def test_a_type_of_python_is_read_from_text_and_is_canonical_text_in_c(name, kind):
    default, type_, text, value, canonical = VALUES[kind]
    flag = pf.define(name, default, type=type_)
    assert flag.value == default
    assert type(flag.value) is type(default) or kind in ("dict", "dict of text", "empty dict")
    assert flag.default == default
    parse(f"--{name}={text}")
    assert (flag.value, flag.source) == (value, "argv")
    assert type(getattr(pf.FLAGS, name)) in (type(value), type(flag.value))
    assert in_c(flag) == flag.text == canonical
    flag.reset()
    assert flag.value == default
    flag.value = value
    assert flag.value == value
    assert in_c(flag) == canonical
    assert flag.history[0].value == value
    with pf.override({name: default}):
        assert flag.value == default
    assert flag.value == value


def test_a_timedelta_is_a_double_of_seconds_in_c(name):
    flag = pf.define(name, dt.timedelta(seconds=90), max=dt.timedelta(hours=1))
    assert (flag.type, flag.unit, flag.max) == ("double", "seconds", dt.timedelta(hours=1))
    parse(f"--{name}=1m0.5s")
    assert flag.value == dt.timedelta(seconds=60.5)
    flag.value = dt.timedelta(milliseconds=1)
    assert flag.text == "0.001"
    assert "<= 3600" in errors(f"--{name}=2h")[0]


@pytest.mark.parametrize("text", ["nan", "inf", "1e30"])
def test_a_number_that_is_no_timedelta_is_refused_where_it_comes_from(name, text):
    flag = pf.define(name, dt.timedelta(0))
    (error,) = errors(f"--{name}={text}")
    assert error.startswith(f"--{name}=")
    assert "expected a duration" in error
    assert flag.value == dt.timedelta(0)
    with pytest.raises(pf.FlagValueError, match="microseconds"):
        flag.value = dt.timedelta.max


REFUSED = {
    "enum": (Mode.FAST, "FSAT", "expected one of FAST, BEST; did you mean 'FAST'?"),
    "bits": (
        Right.READ,
        "RAED",
        "expected names of READ|WRITE|ALL, joined by |; did you",
    ),
    "decimal": (Decimal(0), "1_0", "expected a decimal number, as in 0.10"),
    "signalling": (Decimal(0), "sNaN", "expected a decimal number, as in 0.10"),
    "date": (dt.date(2026, 1, 1), "2026-02-30", "expected a date, as in 2026-01-31"),
    "zone": (dt.time(1), "12:30+25:00", "expected a time, as in 12:30"),
    "dict": ({"a": 1}, "a=x", "item 1: expected an integer"),
    "pair": ({"a": 1}, "a=1,b", "item 2: expected KEY=INT"),
    "path items": ((Level.LOW,), "LOW,UP", "item 2: expected one of LOW, HIGH"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_text_that_is_no_value_is_refused_with_what_was_expected(name, kind, tmp_path):
    default, text, why = REFUSED[kind]
    flag = pf.define(name, default)
    assert errors(f"--{name}={text}")[0].startswith(f"--{name}={text}: {why}")
    (tmp_path / "c.json").write_text(json.dumps({name: text}))
    with pytest.raises(pf.FlagParseError) as caught:
        pf.parse(["program"], config=tmp_path / "c.json", exit=False)
    assert f"c.json:1:{len(name) + 6}: --{name}={text}: {why}" in str(caught.value)
    for set_it in (flag.set_from_string, lambda text: setattr(flag, "value", text)):
        with pytest.raises(pf.FlagValueError) as refused:
            set_it(text)
        assert why in str(refused.value)
    error = ffi.new("pd_error *")
    status = lib.pd_flag_set_by_name(name.encode(), text.encode(), error)
    assert (status, why in ffi.string(error.message).decode()) == (lib.PD_ERR_VALUE, True)
    assert (flag.value, flag.source) == (default, "default")


def test_the_environment_is_refused_and_converted_too(name, monkeypatch):
    monkeypatch.setenv(f"TYPED_{name}", "best")
    flag = pf.define(name, Mode.FAST, case_sensitive=False)
    pf.parse(["program"], env_prefix="TYPED_", exit=False)
    assert (flag.value, flag.text, flag.source) == (Mode.BEST, "BEST", "environment")
    late = f"{name}_late"
    monkeypatch.setenv(f"TYPED_{late}", "bset")
    with pytest.raises(
        pf.FlagValueError, match=rf"TYPED_{late}.*=bset: expected one of FAST, BEST"
    ):
        pf.define(late, Mode.FAST)
    assert pf.FLAGS[late].value is Mode.FAST
    pf.parse(["program"], env_prefix=None, exit=False)


def test_a_value_that_was_given_before_the_definition_is_converted(name):
    pf.parse(["program", f"--{name}=2"], allow_pending=True, exit=False)
    assert pf.define(name, Mode.FAST).value is Mode.BEST


def test_no_value_changes_if_one_of_a_command_line_is_refused(name):
    flag, other = pf.define(name, Mode.FAST), pf.define(f"{name}_other", 1)
    assert len(errors(f"--{name}=x", f"--{other.name}=2", f"--{other.name}=y", "--nope=1")) == 3
    assert (flag.value, other.value) == (Mode.FAST, 1)


def test_a_value_of_another_type_raises_and_changes_nothing(name):
    flag = pf.define(name, pathlib.Path("a"))
    with pytest.raises(pf.FlagTypeError, match=f"{name}=5: expected a path, not int"):
        flag.value = 5  # type: ignore[assignment]
    with pytest.raises(pf.FlagTypeError, match="expected a path"):
        pf.FLAGS.update({name: 1.5})
    assert flag.value == pathlib.Path("a")


def test_a_value_is_made_once_for_all_reads(name):
    calls: list[str] = []

    def read(text: str) -> tuple[str, ...]:
        calls.append(text)
        return tuple(text)

    flag = pf.define(name, ("a",), type=pf.Type(read, "".join))
    first = flag.value
    made = len(calls)
    assert flag.value is first is getattr(pf.FLAGS, name)
    flag.value = ("b", "c")
    assert flag.value == ("b", "c")
    flag.reset()
    assert flag.value == first
    assert len(calls) <= made + 4


def test_validators_and_watchers_get_the_value_of_python(name):
    flag = pf.define(name, Mode.FAST)
    seen: list[Any] = []
    with flag.validate(lambda value: seen.append(value) or value is not Mode.FAST):
        with flag.watch(lambda changed: seen.append(changed.value)):
            flag.value = Mode.BEST
        with pytest.raises(pf.FlagValueError):
            flag.value = Mode.FAST
    assert seen == [Mode.BEST, Mode.BEST, Mode.FAST]


# ---- None ----


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (int, "0", 0),
        ("int32", "5", 5),
        (bool, "false", False),
        (float, "0", 0.0),
        (str, "", ""),
        (Optional[pathlib.Path], "x", pathlib.Path("x")),  # noqa: UP045 - as users write it
        (Union[Mode, None], "FAST", Mode.FAST),  # noqa: UP007 - as users write it
        (list[int], "", ()),
        (Optional[Literal["a"]], "a", "a"),  # noqa: UP045 - as users write it
        (dt.timedelta, "0", dt.timedelta(0)),
        (dict[str, int], "", {}),
    ],
)
def test_a_default_of_none_is_no_value_until_one_is_given(name, type_, text, value):
    flag = pf.define(name, None, type=type_)
    assert (flag.value, flag.default, flag.optional, flag.source) == (None, None, True, "default")
    assert getattr(pf.FLAGS, name) is None
    state = lib.pd_flag_get_state(flag.handle)
    assert state[0] & lib.PD_STATE_UNSET
    flag.set_from_string(text)
    assert (flag.value, flag.source) == (value, "run time")
    assert not state[0] & lib.PD_STATE_UNSET
    with pf.override({name: None}):
        assert (flag.value, flag.source) == (None, "default")
        flag.value = value
        assert flag.value == value
        flag.reset()
        assert flag.value is None
        assert state[0] & lib.PD_STATE_UNSET
    assert (flag.value, flag.source) == (value, "run time")
    flag.value = None
    assert (flag.value, flag.source) == (None, "default")
    described = json.loads(pf.describe("json", full=True))["flags"]
    (mine,) = [each for each in described if each["name"] == name]
    assert (mine["value"], mine["default"], mine["history"][0]["value"]) == (None, None, None)
    assert name not in pf.dump(all=True)


REQUIRED = """
import paddle_flags as pf
flag = pf.define("count", None, type=int, required=True)
try:
    pf.parse(["program"], exit=False)
except pf.FlagParseError as error:
    print(error)
pf.parse(["program", "--count=0"], exit=False)
print(flag.value)
flag.set_default(3)
flag.reset()
print(flag.value, flag.optional)
"""


def test_required_flags_may_have_no_default(python):
    assert python(REQUIRED).stdout.splitlines() == [
        "--count: is required, expected a 64-bit integer", "0", "3 False",
    ]  # fmt: skip


def test_none_is_refused_where_the_default_is_a_value(name):
    flag = pf.define(name, 5, type=Optional[int])  # noqa: UP045 - as users write it
    with pytest.raises(pf.FlagTypeError, match="NoneType"):
        flag.value = None
    with pytest.raises(pf.FlagTypeError, match="expected int for a flag of type int64"):
        flag.set_default(None)
    with pytest.raises(pf.FlagTypeError, match="as the default is None"):
        pf.define(f"{name}_other", None)


def test_set_default_gives_and_takes_the_default_of_a_flag_without_one(name):
    flag = pf.define(name, None, type=int)
    seen: list[Any] = []
    with flag.validate(lambda value: seen.append(value) or True):
        flag.set_default(5)
        assert (flag.value, flag.default, flag.source) == (5, 5, "default")
        flag.set_default(None)
        assert (flag.value, flag.default, len(flag.history)) == (None, None, 1)
        flag.set_default(None)
    assert seen == [5, None]
    with pf.override({name: 1}):
        flag.set_default(None)
        assert flag.value == 1
    assert flag.value is None


def test_validators_see_none_for_a_value_that_goes(name):
    flag = pf.define(name, None, type=int)
    flag.value = 1
    seen: list[Any] = []
    with flag.validate(lambda value: seen.append(value) or True):
        flag.value = None
        with pf.override({name: None}):
            pass
    assert seen == [None, None]


@pytest.mark.parametrize("type_", [int, float, bool, str, pathlib.Path])
def test_none_has_no_text(name, type_):
    flag = pf.define(name, None, type=Optional[type_])  # noqa: UP045 - as users write it
    assert (flag.value, flag.text) == (None, "")
    flag.set_from_string("1")
    assert flag.text in ("1", "1.0", "true")
    flag.value = None
    assert flag.text == ""
