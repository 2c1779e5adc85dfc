"""Text that a configuration file doesn't quote: kept as it is written, or refused."""

from __future__ import annotations

import datetime as dt
import enum
import json
import pathlib
from decimal import Decimal
from typing import Any, Literal

import pytest

import paddle_flags as pf


class Country(enum.Enum):
    NO = "no"
    FALSE = "false"


SUFFIXES = ["toml", "yaml", "json"]
FORMS = {
    "toml": ("{} = {}\n", "{} = [{}]\n", "[{}]\na = {}\n"),
    "yaml": ("{}: {}\n", "{}: [{}]\n", "{}:\n  a: {}\n"),
    "json": ('{{"{}": {}}}', '{{"{}": [{}]}}', '{{"{}": {{"a": {}}}}}'),
}
ALTERED = {
    "toml": ["1_000", "0o10", "0b11", "+5", "true"],
    "yaml": ["no", "On", "True", "1_000", "0o10", "+5", ".inf", "true"],
    "json": ["true", "false"],
}
CASES = [(suffix, written) for suffix in SUFFIXES for written in ALTERED[suffix]]
TEXTS: dict[str, tuple[int, Any, Any]] = {  # form, default, type
    "text": (0, "", str),
    "path": (0, pathlib.Path("x"), pathlib.Path),
    "maybe": (0, None, pathlib.Path),
    "custom": (0, "", pf.Type(str)),
    "enum": (0, Country.NO, Country),
    "literal": (0, "no", Literal["no", "false"]),
    "texts": (1, [""], list[str]),
    "paths": (1, [pathlib.Path("x")], list[pathlib.Path]),
    "enums": (1, [Country.NO], list[Country]),
    "dict": (2, {"a": ""}, dict[str, str]),
    "paths_by_name": (2, {"a": pathlib.Path("x")}, dict[str, pathlib.Path]),
}


def write(path: pathlib.Path, form: int, name: str, value: str) -> pathlib.Path:
    if path.suffix == ".yaml":
        pytest.importorskip("ruamel.yaml")
    path.write_text(FORMS[path.suffix[1:]][form].format(name, value))
    return path


def parse(path: pathlib.Path) -> None:
    pf.parse(["program"], config=path, exit=False)


def values_in(flag: pf.Flag[Any]) -> str:
    return flag.text.removeprefix("a=")


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize(("suffix", "written"), CASES)
def test_what_would_change_must_be_quoted(name, kind, suffix, written, tmp_path):
    form, default, hint = TEXTS[kind]
    flag = pf.define(name, default, type=hint)
    path = write(tmp_path / f"c.{suffix}", form, name, written)
    with pytest.raises(pf.FlagParseError, match=r"expected (items of )?text; write (it|them) in"):
        parse(path)
    assert flag.source == "default"
    if "enum" in kind or kind == "literal":
        return
    write(path, form, name, json.dumps(written))
    parse(path)
    assert values_in(flag) == written
    write(path, form, name, written)
    with pytest.raises(pf.FlagParseError, match="in quotes"):
        pf.reload()
    assert values_in(flag) == written


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize(("suffix", "written"), CASES)
def test_so_must_what_waits_for_its_flag(name, kind, suffix, written, tmp_path):
    form, default, hint = TEXTS[kind]
    path = write(tmp_path / f"c.{suffix}", form, name, written)
    pf.parse(["program"], config=path, allow_pending=True, exit=False)
    with pytest.raises(pf.FlagError, match=r"expected (items of )?text; write (it|them) in"):
        pf.define(name, default, type=hint)
    assert pf.FLAGS[name].source == "default"


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", ["path", "custom", "paths", "dict"])
@pytest.mark.parametrize("written", ["1.10", "1000", "2e3"])
def test_numbers_that_do_not_change_are_kept(name, kind, suffix, written, tmp_path):
    form, default, hint = TEXTS[kind]
    flag = pf.define(name, default, type=hint)
    parse(write(tmp_path / f"c.{suffix}", form, name, written))
    assert values_in(flag) == written


@pytest.mark.parametrize("suffix", ["toml", "yaml"])
def test_numbers_may_be_written_in_all_ways(name, suffix, tmp_path):
    flags = {
        1: pf.define(f"{name}_int", 0),
        (1000, 8): pf.define(f"{name}_ints", (0,)),
        Decimal(1000): pf.define(f"{name}_decimal", Decimal(0)),
        (Decimal(1000), Decimal(8)): pf.define(f"{name}_decimals", [Decimal(0)]),
    }
    for expected, flag in flags.items():
        is_list = isinstance(expected, tuple)
        written = "1_000, 8 #, 9\n" if is_list else "1_000"
        parse(write(tmp_path / f"c.{suffix}", int(is_list), flag.name, written))
        assert flag.value in (expected, 1000)
    numbers = pf.define(f"{name}_dict", {"a": 1})
    parse(write(tmp_path / f"c.{suffix}", 2, numbers.name, "0o10"))
    assert numbers.value == {"a": 8}
    bools = pf.define(f"{name}_bools", {"a": False})
    parse(write(tmp_path / f"c.{suffix}", 2, bools.name, "true"))
    assert bools.value == {"a": True}


@pytest.mark.parametrize("written", ["1979-05-27 07:32:00Z", "1979-05-27T07:32:00.1234567Z"])
def test_dates_are_text_as_it_is_written(name, written, tmp_path):
    path = pf.define(f"{name}_path", pathlib.Path("x"))
    when = pf.define(f"{name}_when", dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    file = tmp_path / "c.toml"
    file.write_text(f"{path.name} = {written}\n{when.name} = {written}\n")
    parse(file)
    assert str(path.value) == written.replace("67Z", "6Z")
    assert when.value.replace(microsecond=0) == dt.datetime(1979, 5, 27, 7, 32, tzinfo=dt.UTC)
