"""Flags with types of Python that hold several values: lists that grow, dicts, tables in files."""

from __future__ import annotations

import copy
import datetime as dt
import json
import pathlib
import pickle
from decimal import Decimal

import pytest
from python_types import DAY, Mode, errors, parse

import paddle_flags as pf

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
    assert when.value == dt.datetime(2026, 1, 31, 12, 30, tzinfo=dt.UTC)
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

    clock = pf.define(f"{name}_clock", dt.time(1, tzinfo=dt.UTC))
    assert clock.value == dt.time(1, tzinfo=dt.UTC)
    with pytest.raises(pf.FlagValueError, match="expected a time whose zone has one offset"):
        clock.value = dt.time(1, tzinfo=Berlin())
    when = pf.define(f"{name}_when", DAY)
    when.value = DAY.replace(month=7, tzinfo=Berlin())
    assert when.text == "2026-07-31T00:00:00+02:00"
