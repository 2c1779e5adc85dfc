"""What holds for every value of a type of Python: text and C give back an equal one."""

from __future__ import annotations

import datetime as dt
import enum
import pathlib
from decimal import Decimal
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import paddle_flags as pf

pytestmark = pytest.mark.extended  # needs much time


class Mode(enum.Enum):
    FAST = "fast"
    BEST = 2


class Right(enum.IntFlag):
    READ = 1
    WRITE = 2
    DELETE = 8


TEXT = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]))
ZONES = st.none() | st.timedeltas(
    dt.timedelta(hours=-23, minutes=-59), dt.timedelta(hours=23, minutes=59)
).map(dt.timezone)
DECIMALS = st.decimals(allow_nan=False)

# The type; its values.
CASES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "enum": (Mode, st.sampled_from(Mode)),
    "bits": (Right, st.integers(0, 15).map(Right)),
    "path": (pathlib.Path, TEXT.map(pathlib.Path)),
    "windows": (pathlib.PureWindowsPath, TEXT.map(pathlib.PureWindowsPath)),
    "datetime": (dt.datetime, st.datetimes(timezones=ZONES)),
    "date": (dt.date, st.dates()),
    "time": (dt.time, st.times(timezones=ZONES)),
    "timedelta": (
        dt.timedelta,
        st.timedeltas(dt.timedelta(days=-90_000), dt.timedelta(days=90_000)),
    ),
    "decimal": (Decimal, DECIMALS),
    "literal": (Literal["a", 1, True, "b,c"], st.sampled_from(["a", 1, True, "b,c"])),
    "paths": (list[pathlib.Path], st.lists(TEXT.map(pathlib.Path)).map(tuple)),
    "modes": (list[Mode], st.lists(st.sampled_from(Mode)).map(tuple)),
    "texts": (dict[str, str], st.dictionaries(TEXT.map(lambda t: t.replace("=", "")), TEXT)),
    "numbers": (dict[int, float], st.dictionaries(st.integers(), st.floats(allow_nan=False))),
    "decimals": (dict[str, Decimal], st.dictionaries(st.sampled_from("abc"), DECIMALS)),
}
FLAGS = {kind: pf.define(f"property_of_{kind}", None, type=case[0]) for kind, case in CASES.items()}


@pytest.mark.parametrize("kind", CASES)
@given(data=st.data())
def test_a_value_comes_back_equal_from_c_and_from_text(kind, data):
    flag = FLAGS[kind]
    value = data.draw(CASES[kind][1])
    flag.value = value
    assert flag.value == value
    assert type(flag.value) is type(value) or kind in ("path", "texts", "numbers", "decimals")
    text = flag.text
    flag.reset()
    pf.parse(["program", f"--{flag.name}={text}"], exit=False)
    assert flag.value == value
    assert flag.text == text


@pytest.mark.parametrize("kind", CASES)
@given(text=TEXT)
def test_any_text_is_a_value_or_refused(kind, text):
    flag = FLAGS[kind]
    flag.reset()
    refusal = ""
    try:
        flag.set_from_string(text)
    except pf.FlagValueError as error:
        refusal = str(error)
    if refusal:
        assert "expected" in refusal
        assert flag.value is None
        return
    again = flag.text
    value = flag.value
    flag.set_from_string(again)
    assert (flag.text, flag.value == value or value != value) == (again, True)  # noqa: PLR0124
