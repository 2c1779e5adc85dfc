"""Types of Python as types of flags: their values in Python, in C and in text."""

from __future__ import annotations

import copy
import datetime as dt
import enum
import ipaddress
import json
import pathlib
import pickle
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union

import pytest

import paddle_flags as pf
from paddle_flags._native import ffi, lib


class Mode(enum.Enum):
    FAST = "fast"
    BEST = 2
    GOOD = 2  # noqa: PIE796 - an alias


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Colour(str, enum.Enum):
    RED = "red"
    BLUE = "blue"


class Right(enum.Flag):
    READ = 1
    WRITE = 2
    ALL = 3


DAY = dt.datetime(2026, 1, 31)  # noqa: DTZ001 - flags may have no zone


def parse(*tokens: str) -> list[str]:
    return pf.parse(["program", *tokens], exit=False)


def errors(*tokens: str) -> list[str]:
    with pytest.raises(pf.FlagParseError) as caught:
        parse(*tokens)
    return [str(error) for error in caught.value.errors]


def in_c(flag: pf.Flag[Any]) -> str:
    text = ffi.new("char **")
    assert lib.pd_flag_get_string(flag.handle, ffi.cast("const char **", text), ffi.NULL) == 0
    return ffi.string(text[0]).decode()


VALUES = {
    "enum": (Mode.FAST, Mode, "BEST", Mode.BEST, "BEST"),
    "enum by value": (Mode.FAST, Mode, "2", Mode.BEST, "BEST"),
    "enum by alias": (Mode.FAST, None, "GOOD", Mode.BEST, "BEST"),
    "int enum": (Level.LOW, None, "2", Level.HIGH, "HIGH"),
    "str enum": (Colour.RED, None, "blue", Colour.BLUE, "BLUE"),
    "bits": (Right.READ, None, "WRITE|READ", Right.ALL, "READ|WRITE"),
    "no bits": (Right.READ, None, "", Right(0), "0"),
    "path": (pathlib.Path("a"), None, "b//c", pathlib.Path("b/c"), "b/c"),
    "pure path": (
        pathlib.PureWindowsPath("a"), None, "b/c", pathlib.PureWindowsPath("b/c"), "b\\c",
    ),
    "datetime": (
        DAY, None, "2026-01-31T12:30Z",
        dt.datetime(2026, 1, 31, 12, 30, tzinfo=dt.timezone.utc), "2026-01-31T12:30:00+00:00",
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
        (Optional[pathlib.Path], "x", pathlib.Path("x")),
        (Union[Mode, None], "FAST", Mode.FAST),
        (list[int], "", ()),
        (Optional[Literal["a"]], "a", "a"),
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
    flag = pf.define(name, 5, type=Optional[int])
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


# ---- Lists that grow, and dicts ----


def test_each_use_on_a_command_line_adds_to_a_multi_flag_and_replaces_the_default(name, tmp_path):
    flag = pf.define(name, ["default"], multi=True, aliases=["z" + name])
    parse(f"--{name}=a", f"--z{name}", "b,c", f'--{name}="d,e"')
    assert flag.value == ("a", "b", "c", "d,e")
    assert [entry.value for entry in flag.history][-1] == ("default",)
    parse(f"--{name}=x")
    assert flag.value == ("x",)
    (tmp_path / "f.flags").write_text(f"--{name}=1\n--{name}=2\n")
    parse(f"--flagfile={tmp_path / 'f.flags'}", f"--{name}=3")
    assert flag.value == ("1", "2", "3")
    flag.reset()
    pf.parse(["program"], config=tmp_path / "f.flags", exit=False)
    assert flag.value == ("1", "2")
    flag.value = ("y",)
    assert flag.value == ("y",)


def test_a_bad_use_of_a_multi_flag_is_named_alone(name):
    flag = pf.define(name, [1], multi=True)
    (error,) = errors(f"--{name}=1", f"--{name}=x", f"--{name}=2")
    assert error.startswith(f"--{name}=x: item 1: expected")
    assert flag.value == (1,)
    with pytest.raises(pf.FlagArgumentError, match="multi, but not a list"):
        pf.define(f"{name}_scalar", 1, multi=True)


def test_uses_of_a_multi_flag_wait_for_its_definition(name):
    pf.parse(["program", f"--{name}=a", f"--{name}=b"], allow_pending=True, exit=False)
    assert pf.define(name, ["x"], multi=True).value == ("a", "b")


def test_many_uses_of_a_multi_flag_take_time_in_proportion(name):
    flag = pf.define(name, [0], multi=True)
    parse(*[f"--{name}={number}" for number in range(20_000)])
    assert flag.value == tuple(range(20_000))


def test_uses_of_a_multi_dict_are_merged(name):
    flag = pf.define(name, {"a": 1}, multi=True)
    parse(f"--{name}=b=1", f"--{name}=c=2,b=3")
    assert flag.value == {"b": 3, "c": 2}
    plain = pf.define(f"{name}_plain", {"a": 1})
    parse(f"--{plain.name}=b=1", f"--{plain.name}=c=2")
    assert plain.value == {"c": 2}


def test_a_dict_cannot_be_changed_but_copied(name):
    flag = pf.define(name, {"a": 1})
    for change in (
        lambda: flag.value.update(b=2),
        lambda: flag.value.pop("a"),
        lambda: flag.value.__setitem__("b", 2),
        flag.value.clear,
    ):
        with pytest.raises(TypeError, match="assign another dict"):
            change()
    for made in (copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d)), dict):  # noqa: S301
        mine = made(flag.value)
        mine["b"] = 2
        assert mine == {"a": 1, "b": 2}
    assert json.dumps(flag.value) == '{"a": 1}'
    with pytest.raises(pf.FlagValueError, match="a key without '='"):
        flag.value = {"a=b": 1}


@pytest.mark.parametrize("suffix", ["json", "toml", "yaml"])
def test_files_give_tables_dates_and_numbers_as_they_are_written(name, suffix, tmp_path):
    opts = pf.define(f"{name}_opts", {"x": 0.0})
    when = pf.define(f"{name}_when", DAY)
    price = pf.define(f"{name}_price", Decimal(0))
    paths = pf.define(f"{name}_paths", [pathlib.Path("x")])
    date = '"2026-01-31T12:30:00Z"' if suffix == "json" else "2026-01-31T12:30:00Z"
    texts = {
        "json": '{"%s": {"a": 1, "b.c": 2.5}, "%s": %s, "%s": 1.10, "%s": ["a", "b"]}',
        "toml": '%s = {a = 1, "b.c" = 2.5}\n%s = %s\n%s = 1.10\n%s = ["a", "b"]\n',
        "yaml": "%s:\n  a: 1\n  b.c: 2.5\n%s: %s\n%s: 1.10\n%s: [a, b]\n",
    }
    path = tmp_path / f"c.{suffix}"
    path.write_text(texts[suffix] % (opts.name, when.name, date, price.name, paths.name))
    if suffix == "yaml":
        pytest.importorskip("ruamel.yaml")
    pf.parse(["program"], config=path, exit=False)
    assert opts.value == {"a": 1.0, "b.c": 2.5}
    assert opts.source == "file"
    assert when.value == dt.datetime(2026, 1, 31, 12, 30, tzinfo=dt.timezone.utc)
    assert price.text == "1.10"
    assert paths.value == (pathlib.Path("a"), pathlib.Path("b"))


def errors_of_file(path: pathlib.Path, text: str) -> list[str]:
    path.write_text(text)
    with pytest.raises(pf.FlagParseError) as caught:
        pf.parse(["program"], config=path, exit=False)
    assert all(isinstance(each, pf.FlagValueError) for each in caught.value.errors)
    return [str(each).replace(str(path), path.name) for each in caught.value.errors]


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("toml", "%s = {}\n"),
        ("toml", "[ %s ]\n\n[other]\n"),
        ("json", '{"other": {}, "%s": {}}'),
        ("yaml", "%s: {}\n"),
    ],
)
def test_an_empty_table_is_an_empty_dict(name, suffix, text, tmp_path):
    flag = pf.define(name, {"a": 1})
    path = tmp_path / f"c.{suffix}"
    path.write_text(text % name)
    if suffix == "yaml":
        pytest.importorskip("ruamel.yaml")
    pf.parse(["program"], config=path, exit=False)
    assert (flag.value, flag.source) == ({}, "file")


NO_DICT = {
    "an empty list": ("%s = []", "1:{}: --%s: expected a table, not a list"),
    "a list": ('%s = ["a=1"]', "1:{}: --%s: expected a table, not a list"),
    "a number": ("%s = 5", "1:{}: --%s: expected a table, not an integer"),
    "text in it": ('[%s]\na = 1\nb = "x"', "3:5: --%s.b=x: expected an integer"),
    "a list in it": ("[%s]\na = [1]", "2:5: --%s.a: expected an integer, not a list"),
    "a table in it": ("[%s]\na = {}", "2:5: --%s.a: expected an integer, not a table"),
    "an equals sign": ('[%s]\n"a=b" = 1', "2:9: --%s.a=b: expected a key without '='"),
}


@pytest.mark.parametrize("kind", NO_DICT)
def test_what_is_wrong_in_the_table_of_a_dict_is_named_with_its_place(name, kind, tmp_path):
    flag = pf.define(name, {"x": 1})
    text, message = NO_DICT[kind]
    expected = message.format(len(name) + 4) % name
    assert errors_of_file(tmp_path / "c.toml", text % name) == [f"c.toml:{expected}"]
    assert flag.source == "default"


def test_all_errors_in_the_table_of_a_dict_are_reported(name, tmp_path):
    pf.define(name, {"x": Mode.FAST})
    text = '{"%s": {"a": "fsat",\n "b": "BEST",\n "c": ["x"]}}'
    one, two = errors_of_file(tmp_path / "c.json", text % name)
    assert one.endswith("a=fsat: expected one of FAST, BEST; did you mean 'FAST'?")
    assert two == f"c.json:3:7: --{name}.c: expected one of FAST, BEST, not a list"


def test_the_table_of_a_secret_stays_out_of_messages(name, tmp_path):
    pf.define(name, {"x": 1}, sensitive=True)
    (error,) = errors_of_file(tmp_path / "c.toml", f'{name} = {{hunter1 = "hunter2"}}')
    assert "hunter" not in error
    assert error.endswith(f"--{name}=<redacted>: expected KEY=VALUE, and each value an integer")


def test_no_part_of_a_date_or_time_is_dropped(name):
    day = pf.define(f"{name}_day", dt.date(2026, 1, 31))
    with pytest.raises(pf.FlagValueError, match="expected a date, not a datetime"):
        day.value = DAY
    with pytest.raises(pf.FlagValueError, match="expected a date, not a datetime"):
        pf.define(name, DAY, type=dt.date)
    with pytest.raises(pf.FlagValueError, match="item 1: expected a date, not a datetime"):
        pf.define(name, [DAY], type=list[dt.date])

    class Berlin(dt.tzinfo):
        def utcoffset(self, at: dt.datetime | None) -> dt.timedelta | None:
            return at and dt.timedelta(hours=1 + (3 < at.month < 11))

        def dst(self, _: dt.datetime | None) -> None:
            return None

        def tzname(self, _: dt.datetime | None) -> str:
            return "Europe/Berlin"

    clock = pf.define(f"{name}_clock", dt.time(1, tzinfo=dt.timezone.utc))
    assert clock.value == dt.time(1, tzinfo=dt.timezone.utc)
    with pytest.raises(pf.FlagValueError, match="expected a time whose zone has one offset"):
        clock.value = dt.time(1, tzinfo=Berlin())
    when = pf.define(f"{name}_when", DAY)
    when.value = DAY.replace(month=7, tzinfo=Berlin())
    assert when.text == "2026-07-31T00:00:00+02:00"


# ---- Choices ----


def test_choices_in_any_case_are_kept_as_they_are_defined(name):
    flag = pf.define(name, "Fast", choices=["Fast", "Best"], case_sensitive=False)
    parse(f"--{name}=bEST")
    assert (flag.value, flag.text, flag.choices) == ("Best", "Best", ("Fast", "Best"))
    flag.value = "FAST"
    assert flag.value == "Fast"
    assert errors(f"--{name}=fats") == [
        f"--{name}=fats: expected one of Fast, Best; did you mean 'Fast'?"
    ]
    names = pf.define(f"{name}_all", ["Fast"], choices=["Fast", "Best"], case_sensitive=False)
    parse(f"--{names.name}=best,fast")
    assert names.value == ("Best", "Fast")
    with pytest.raises(pf.FlagArgumentError, match="differ only in case"):
        pf.define(f"{name}_ab", "a", choices=["a", "A"], case_sensitive=False)
    with pytest.raises(pf.FlagTypeError, match="case_sensitive: expected a flag of text"):
        pf.define(f"{name}_number", 1, choices=[1], case_sensitive=False)


CHOICES = {
    "path": (pathlib.Path("a/b"), None, ["a//b", pathlib.Path("c")], ("a/b", "c"), "a//b"),
    "decimal": (None, Decimal, ["1e3", Decimal("1.0")], ("1E+3", "1.0"), "1e3"),
    "datetime": (None, dt.datetime, [DAY], ("2026-01-31T00:00:00",), "2026-01-31 00:00:00"),
    "timedelta": (dt.timedelta(1), None, [dt.timedelta(1), dt.timedelta(2)], ("86400", "172800"),
                  "24h"),
    "text of a timedelta": (dt.timedelta(1), None, ["1d"], ("1d",), "24h"),
    "enum": (Mode.FAST, None, ["2", Mode.FAST], ("BEST", "FAST"), "GOOD"),
    "optional enum": (None, Optional[Mode], [Mode.BEST], ("BEST",), "2"),
    "paths": ([pathlib.Path("a/b")], None, ["a//b"], ("a/b",), "a//b,a/b"),
    "dict": ({"a": 1}, None, ["a=01"], ("a=1",), "a=0x1"),
}  # fmt: skip


@pytest.mark.parametrize("kind", CHOICES)
def test_choices_of_a_type_of_python_are_values_of_it_or_text(name, kind):
    default, type_, choices, shown, text = CHOICES[kind]
    flag = pf.define(name, default, type=type_, choices=choices)
    assert flag.choices == shown
    parse(f"--{name}={text}")
    assert flag.source == "argv"
    if kind not in ("paths", "dict", "text of a timedelta"):
        flag.value = choices[0]


def test_a_choice_that_is_no_value_of_the_type_is_refused(name):
    with pytest.raises(pf.FlagValueError, match=r"choices='fst': .*; did you mean 'FAST'"):
        pf.define(name, None, type=Mode, choices=["fst"])
    with pytest.raises(pf.FlagTypeError, match="choices=5: expected one of FAST, BEST"):
        pf.define(name, None, type=Mode, choices=[5])
    with pytest.raises(pf.FlagValueError, match="choices='a': expected KEY=INT"):
        pf.define(name, {"a": 1}, choices=["a"])
    with pytest.raises(pf.FlagTypeError, match=r"choices: .*expected a list"):
        pf.define(name, Mode.FAST, choices="FAST")
    assert name not in pf.FLAGS


ANY_CASE: dict[str, tuple[Any, Any, Any, Any, Any]] = {
    "text": ("Info", None, ["Info", "Error"], "ERROR", "Error"),
    "texts": (["info"], None, ["Info", "Error"], ["ERROR"], ("Error",)),
    "enums": ([Mode.FAST], None, None, ["best"], (Mode.BEST,)),
    "choices of an enum": (Mode.FAST, None, ["fast", "BEST"], "Best", Mode.BEST),
    "literal": ("x", Literal["x", "y"], None, "Y", "y"),
    "mixed literal": ("x", Literal["x", 1, "y"], None, "Y", "y"),
    "literals": (["x"], list[Literal["x", "y"]], None, ["Y"], ("y",)),
    "dict of enums": ({"k": Mode.FAST}, None, None, {"k": "best"}, {"k": Mode.BEST}),
    "dict of literals": ({"k": "x"}, dict[str, Literal["x", "y"]], None, {"k": "Y"}, {"k": "y"}),
}


@pytest.mark.parametrize("kind", ANY_CASE)
def test_text_in_any_case_is_assigned_as_it_is_parsed(name, kind):
    default, type_, choices, given, value = ANY_CASE[kind]
    flag = pf.define(name, default, type=type_, choices=choices, case_sensitive=False)
    flag.value = given
    assert flag.value == value
    flag.reset()
    with flag.override(given):
        assert flag.value == value
    flag.set_default(given)
    assert (flag.value, flag.source) == (value, "default")


def test_help_shows_the_type_and_the_choices(name):
    pf.define(f"{name}m", Mode.FAST, "How")
    pf.define(f"{name}p", pathlib.Path("a"), "Where")
    pf.define(f"{name}n", None, "How many", type=int)
    pf.define(f"{name}o", {"a": 1}, "Options", metavar="NAME=COUNT")
    text = pf.describe("text", width=200)
    assert f"--{name}m={{FAST,BEST}}" in text
    assert f"--{name}p=PATH" in text
    assert f"--{name}o=NAME=COUNT" in text
    (line,) = [line for line in text.splitlines() if f"--{name}n=" in line]
    assert line.split() == [f"--{name}n=INT64", "How", "many"]


# ---- Definitions ----


@pytest.mark.parametrize(
    ("type_", "why"),
    [
        (object, "type object: expected bool, int"),
        (complex, "type complex: expected bool, int"),
        (Union[int, str], "expected bool, int"),
        (list[Optional[int]], "expected bool, int"),
        (list[list[int]], "expected bool, int"),
        (tuple[int, str], "expected bool, int"),
        (list[dt.timedelta], "expected items that are text in C, and these are double"),
        (Literal["1", 1], "each has another text"),
        (enum.Enum("Nothing", []), "expected an enumeration with members"),  # type: ignore[misc]
        ("int16", "expected one of bool, int32"),
    ],
)
def test_a_type_that_no_flag_can_have_is_refused(name, type_, why):
    with pytest.raises(pf.FlagTypeError) as caught:
        pf.define(name, None, type=type_)
    assert why in str(caught.value)
    assert name not in pf.FLAGS


def test_types_of_python_stand_for_those_of_c(name):
    kinds = {int: "int64", float: "double", bool: "bool", str: "string"}
    for number, (python, native) in enumerate(kinds.items()):
        flag = pf.define(f"{name}{number}", python(1), type=python)
        assert (flag.type, type(flag.value)) == (native, python)
    assert pf.define(f"{name}_list", [], type=list[int]).items == "int64"
    assert pf.define(f"{name}_items", [], items=pathlib.Path).value == ()


def test_a_definition_again_takes_the_new_class(name):
    def define() -> tuple[pf.Flag[Any], Any]:
        class Again(enum.Enum):
            A = 1
            B = 2

        return pf.define(name, Again.A), Again

    (flag, _), (same, second) = define(), define()
    assert flag is same
    assert flag.value is second.A
    parse(f"--{name}=B")
    assert flag.value is second.B


def test_a_failing_type_raises_its_exception_and_changes_nothing(name):
    def read(text: str) -> str:
        if text == "bad":
            message = "broken"
            raise RuntimeError(message)
        return text

    flag = pf.define(name, "a", type=pf.Type(read))
    with pytest.raises((pf.FlagValueError, pf.FlagParseError)) as caught:
        parse(f"--{name}=bad")
    assert "failed: RuntimeError: broken" in str(caught.value)
    assert flag.value == "a"


def test_a_secret_stays_out_of_messages(name):
    def read(text: str) -> str:
        if len(text) < 8:
            message = f"{text} is short"
            raise ValueError(message)
        return text

    flag = pf.define(name, "long enough", type=pf.Type(read), sensitive=True)
    assert "hunter" not in "".join(errors(f"--{name}=hunter"))
    with pytest.raises(pf.FlagValueError) as caught:
        flag.value = "hunter"
    assert "hunter" not in str(caught.value)
    flag.value = "correct horse"
    assert flag.value == "correct horse"
    assert "horse" not in repr(flag)


class Token:
    def __init__(self, text: str) -> None:
        self.text = text


def token_type(failure: type[Exception]) -> pf.Type[Token]:
    """Return a type whose functions fail for one secret, and name it."""

    def parse(text: str) -> Token:
        if text == "hunter2":
            message = f"{text} is known to others"
            raise failure(message)
        return Token(text)

    made: Any = pf.Type(parse, lambda token: parse(token.text).text)
    made.python = Token
    return made


def chain_of(error: BaseException | None) -> str:
    """Return the messages of an exception and of those behind it."""
    return f"{error}\n{chain_of(error.__cause__ or error.__context__)}" if error else ""


@pytest.mark.parametrize("failure", [ValueError, RuntimeError, OSError, pf.FlagTypeError])
@pytest.mark.parametrize("shape", [Token, str, dict])
def test_a_secret_stays_out_of_messages_if_its_type_fails(name, failure, shape):
    token = token_type(failure)
    type_: Any = dict[str, token] if shape is dict else token  # type: ignore[valid-type]
    bad: Any = {Token: Token("hunter2"), str: "hunter2", dict: {"a": Token("hunter2")}}[shape]
    good: Any = {"a": Token("good")} if shape is dict else Token("good")
    flag = pf.define(name, good, type=type_, sensitive=True)
    for use in (
        lambda: setattr(flag, "value", bad),
        lambda: flag.set_default(bad),
        lambda: flag.override(bad).__enter__(),
        lambda: pf.define(f"{name}_other", bad, type=type_, sensitive=True),
    ):
        with pytest.raises(pf.FlagError, match="<redacted>: expected") as caught:
            use()
        assert "hunter" not in chain_of(caught.value)


@pytest.mark.parametrize("failure", [ValueError, RuntimeError])
def test_a_secret_of_a_former_definition_that_a_type_fails_for_is_not_shown(name, failure):
    pf.define(name, "", sensitive=True).value = "hunter2"
    with pytest.raises(pf.FlagValueError, match="<redacted>: expected") as caught:
        pf.define(name, Token(""), type=token_type(failure), sensitive=True, replace=True)
    assert "hunter" not in chain_of(caught.value)
    assert pf.FLAGS[name].value.text == ""


def test_a_type_of_numbers_refuses_too(name):
    def read(number: int) -> int:
        if number % 2:
            raise ValueError
        return number

    even = pf.Type(read, int, "int32", expected="an even number")
    flag = pf.define(name, 2, type=even)
    assert "expected an even number" in errors(f"--{name}=3")[0]
    with pytest.raises(pf.FlagValueError, match="an even number"):
        flag.set_from_string("5")
    assert flag.value == 2
    pf.parse(["program", f"--{name}_late=3"], allow_pending=True, exit=False)
    with pytest.raises(pf.FlagValueError, match="an even number"):
        pf.define(f"{name}_late", 2, type=even)
    assert pf.FLAGS[f"{name}_late"].value == 2


STARTUP = """
import enum
import paddle_flags as pf
Mode = enum.Enum("Mode", {"FAST": "fast", "BEST": 2})
flag = pf.define("mode", Mode.FAST, startup_only=True)
pf.parse(["program", "--mode=BEST"], exit=False)
pf.parse(["program", "--mode=2"], exit=False)
flag.value = Mode.BEST
for change in lambda: flag.set_from_string("fast"), lambda: setattr(flag, "value", Mode.FAST):
    try:
        change()
    except pf.FrozenFlagError:
        print(flag.value)
"""


def test_startup_only_flags_accept_the_value_that_they_have(python):
    assert python(STARTUP).stdout.splitlines() == ["Mode.BEST", "Mode.BEST"]


def test_a_wrong_type_object_is_refused():
    with pytest.raises(pf.FlagTypeError, match="expected a function"):
        pf.Type(5)  # type: ignore[arg-type]
    with pytest.raises(pf.FlagArgumentError, match="native"):
        pf.Type(str, native="text")
