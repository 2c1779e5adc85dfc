"""Choices of types of Python, and how flags of such types are defined."""

from __future__ import annotations

import datetime as dt
import enum
import gc
import pathlib
import weakref
from decimal import Decimal
from typing import Any, Literal, Optional, Union

import pytest
from python_types import DAY, Mode, errors, parse

import paddle_flags as pf
from paddle_flags.testing import isolated

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


AB = str(pathlib.Path("a/b"))
CHOICES = {
    "path": (pathlib.Path("a/b"), None, ["a//b", pathlib.Path("c")], (AB, "c"), "a//b"),
    "decimal": (None, Decimal, ["1e3", Decimal("1.0")], ("1E+3", "1.0"), "1e3"),
    "datetime": (None, dt.datetime, [DAY], ("2026-01-31T00:00:00",), "2026-01-31 00:00:00"),
    "timedelta": (dt.timedelta(1), None, [dt.timedelta(1), dt.timedelta(2)], ("86400", "172800"),
                  "24h"),
    "text of a timedelta": (dt.timedelta(1), None, ["1d"], ("1d",), "24h"),
    "enum": (Mode.FAST, None, ["2", Mode.FAST], ("BEST", "FAST"), "GOOD"),
    "optional enum": (None, Optional[Mode], [Mode.BEST], ("BEST",), "2"),  # noqa: UP045 - as users write it
    "paths": ([pathlib.Path("a/b")], None, ["a//b"], (AB,), "a//b,a/b"),
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
        (Union[int, str], "expected bool, int"),  # noqa: UP007 - as users write it
        (list[int | None], "expected bool, int"),
        (list[list[complex]], "type complex in a list or dict of lists or dicts"),
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


# ---- What a former definition leaves ----


def _color() -> type[enum.Enum]:
    return enum.Enum("Color", "RED GREEN")  # type: ignore[return-value]


def _again(name: str, color: Any) -> None:
    flag = pf.define(name, color.RED, replace=True)
    flag.value = color.GREEN
    assert flag.value is color.GREEN


def _undefined(name: str, color: Any) -> None:
    _again(name, color)
    pf.undefine(name)


def _same_code(name: str, color: Any) -> None:
    assert pf.define(name, color.RED).value is color.RED


def _lists(name: str, color: Any) -> None:
    flag = pf.define(name, [], type=list[color], replace=True)
    flag.value = [color.GREEN]
    assert flag.value == (color.GREEN,)


def _hooked(name: str, color: Any) -> None:
    flag = pf.define(name, color.RED, replace=True)
    flag.validate(lambda value: value in color)
    flag.watch(lambda flag: flag.value)
    with pf.override({flag: color.GREEN}):
        parse(f"--{name}=GREEN")


def _isolated(name: str, color: Any) -> None:
    with isolated():
        _again(name, color)


def _plain_in_between(name: str, color: Any) -> None:
    _again(name, color)
    pf.FLAGS[name].reset()
    pf.define(name, 3, replace=True)


@pytest.mark.parametrize(
    "define", [_again, _undefined, _same_code, _lists, _hooked, _isolated, _plain_in_between]
)
def test_a_class_is_released_with_the_definitions_that_use_it(name, define):
    def run() -> weakref.ref[Any]:
        color = _color()
        define(name, color)
        return weakref.ref(color)

    classes = [run() for _ in range(20)]
    gc.collect()
    assert sum(each() is not None for each in classes) <= 1
