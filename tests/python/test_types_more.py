"""Types of Python that are several values or that other types stand for."""

from __future__ import annotations

import enum
import uuid
from pathlib import Path
from typing import Any, NewType

import pytest
from python_types import errors, parse

import paddle_flags as pf

Port = NewType("Port", int)
ONE, TWO = uuid.UUID(int=1), uuid.UUID(int=2)


class Mode(enum.Enum):
    FAST = "fast"
    BEST = "best"


GOOD: list[tuple[Any, Any, str, Any]] = [  # type, default, text, value
    (uuid.UUID, ONE, str(TWO), TWO),
    (list[uuid.UUID], [ONE], f"{ONE},{TWO}", (ONE, TWO)),
    (Port, 80, "8080", 8080),
    (list[Port], [80], "1,2", (1, 2)),
    (dict[str, Port], {"a": 1}, "a=2", {"a": 2}),
    (tuple[int, str], (1, "a"), "2,b", (2, "b")),
    (tuple[Mode, Path, float], None, "FAST,a/b,0.5", (Mode.FAST, Path("a/b"), 0.5)),
    (set[int], {1}, "3,1,3", {1, 3}),
    (frozenset[Mode], frozenset([Mode.FAST]), "BEST,FAST", {Mode.FAST, Mode.BEST}),
    (None, {"a", "b"}, "c,b", {"b", "c"}),
    (list[list[int]], [[1], []], "[[1, 2], [3]]", ((1, 2), (3,))),
    (dict[str, list[float]], {"a": [1]}, '{"b": [1, 2.5]}', {"b": (1.0, 2.5)}),
    (list[dict[str, str]], [], '[{"a": "b,c"}]', ({"a": "b,c"},)),
]


@pytest.mark.parametrize(("hint", "default", "text", "value"), GOOD, ids=range(len(GOOD)))
def test_text_gives_a_value_that_gives_the_text_again(name, hint, default, text, value):
    flag = pf.define(name, default, type=hint)
    if default is not None:
        assert flag.source == "default"
    parse(f"--{name}={text}")
    assert flag.value == value
    saved = flag.text
    flag.reset()
    flag.value = value
    assert (flag.value, flag.text) == (value, saved)
    flag.set_from_string(saved)
    assert flag.value == value


@pytest.mark.parametrize(
    ("hint", "default", "text", "why"),
    [
        (uuid.UUID, None, "x", "expected a UUID"),
        (tuple[int, str], (1, "a"), "1", "expected 2 items, not 1"),
        (tuple[int, str], (1, "a"), "a,b", "item 1: expected an integer"),
        (set[int], {1}, "1,x", "item 2: expected an integer"),
        (list[list[int]], [], "1,2", "expected JSON, as in [[1, 2], [3]]"),
        (list[list[int]], [], "[[1], [true]]", "item 2: item 1: expected an integer, not bool"),
        (dict[str, list[int]], {}, '{"a": 1}', "a: expected a list, not int"),
        (dict[str, list[int]], {}, '{"a": [], "a": []}', "a key occurs twice"),
    ],
)
def test_other_text_is_refused(name, hint, default, text, why):
    flag = pf.define(name, default, type=hint)
    before = flag.value
    (error,) = errors(f"--{name}={text}")
    assert why in error
    assert flag.value == before


def test_what_is_nested_is_plain(name):
    with pytest.raises(pf.FlagTypeError, match="type Path in a list or dict of lists or dicts"):
        pf.define(name, [], type=list[list[Path]])


def test_a_set_cannot_be_changed_by_its_readers(name):
    assert isinstance(pf.define(name, {1}).value, frozenset)


def test_what_is_no_configuration_file_and_no_command_is_named():
    with pytest.raises(pf.FlagTypeError, match=r"expected the path of a file, .*, not values"):
        pf.parse(["program"], config={"port": 1})  # type: ignore[arg-type]
    with pytest.raises(pf.FlagArgumentError, match=r"'v1\.2': expected a name without a dot"):
        pf.commands({"v1.2": print}, ["program"], exit=False)
