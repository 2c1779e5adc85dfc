"""Messages and representations stay short, however long the values are that they show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import paddle_flags as pf
from paddle_flags import paddle

MOST = 1100  # characters; a pd_error has 1020
TEXT = "x" * 1_000_000
NUMBERS = list(range(100_000))
HUGE = 10**20_000  # Python 3.11 and newer refuse to write it in decimal


class Verbose:
    def __repr__(self) -> str:
        return TEXT


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


LONG = [TEXT, NUMBERS, tuple(NUMBERS), TEXT.encode(), {"a": TEXT}, HUGE, Verbose(), Broken()]


def message_of(function: Callable[..., object], *args: object, **named: Any) -> str:
    with pytest.raises(pf.FlagError) as caught:
        function(*args, **named)
    assert len(str(caught.value)) < MOST
    return str(caught.value)


@pytest.mark.parametrize("value", LONG, ids=lambda value: type(value).__name__)
def test_a_long_value_that_does_not_suit_is_cut_in_the_message(name, value):
    for default in (True, 1, 0.5, "a", [1], ["a"], [0.5]):
        flag = pf.define(f"{name}_{type(default).__name__}_{len(pf.FLAGS)}", default)
        try:
            flag.value = value
        except pf.FlagError as error:
            assert len(str(error)) < MOST  # noqa: PT017 - some suit
        message_of(setattr, flag, "value", [object(), value])


@pytest.mark.parametrize("value", LONG, ids=lambda value: type(value).__name__)
def test_a_long_argument_of_a_definition_is_cut_in_the_message(name, value):
    wrong: Any = {"hidden": value, "min": value, "type": value, "items": value, "category": value}
    for attribute, given in wrong.items():
        if attribute == "category" and isinstance(value, str):
            continue
        message = message_of(pf.define, name, 1, **{attribute: given})
        assert message.startswith(f"definition of '{name}': {attribute}")
    message_of(pf.define, name, [value, 0.5, True])
    message_of(pf.define, name, "a", choices=[f"{TEXT}|"])
    message_of(pf.define, TEXT, value)


def test_the_message_tells_how_long_the_value_is(name):
    flag = pf.define(name, 1)
    start, end = f"{name}='xxx", "xxx... (1000000 characters): expected int for a flag of type"
    message = message_of(setattr, flag, "value", TEXT)
    assert message.startswith(start)
    assert end in message
    message = message_of(setattr, flag, "value", NUMBERS)
    assert message.startswith(f"{name}=[0, 1, 2, 3,")
    assert "... (100000 items): expected int" in message


def test_a_name_or_option_of_a_function_is_cut_in_the_message():
    for wrong in (TEXT, NUMBERS, Verbose()):
        for function in (pf.dump, pf.describe, pf.load_plugin, pf.validator, pf.watch):
            message_of(function, wrong)
        for option in ("order", "exit", "env_prefix", "config"):
            message_of(pf.parse, ["program"], **{"exit": False, option: wrong})
        message_of(pf.parse, ["program", f"--{wrong!r}"], exit=False)
        message_of(pf.parse, wrong, exit=False)
        message_of(pf.parse, ["program", wrong], exit=False, arguments=False)
        message_of(pf.FLAGS.__setitem__, TEXT, wrong)
    message_of(pf.FLAGS.__delitem__, TEXT)
    message_of(paddle.set_flags, {TEXT: 1})


def test_what_a_validator_says_is_cut_between_characters(name):
    flag = pf.define(name, 1)

    def refuse(_: int) -> bool:
        raise ValueError("ä" * 100_000)

    with flag.validate(refuse):
        message = message_of(setattr, flag, "value", 2)
    assert message.endswith("ä... (100000 characters)")
    assert "?" not in message


def test_representations_are_cut(name):
    text = pf.define(name, "")
    numbers = pf.define(name + "_n", [0])
    text.value, numbers.value = TEXT, NUMBERS
    assert repr(text).endswith("xx... (1000000 characters) (run time)>")
    assert repr(numbers).startswith(f"<Flag {name}_n: list of int64 = (0, 1, 2,")
    assert repr(numbers).endswith("... (100000 items) (run time)>")
    for flag in (text, numbers):
        assert len(repr(flag)) < 300
        assert len(repr(flag.history)) < 600
    short = pf.define(name + "_short", (1,)).history[0]
    assert repr(short).startswith("FlagEntry(value=(1,), source='default', place='")
    assert repr(short).endswith(f"py:{pf.FLAGS[name + '_short'].line}', replaced=False)")


def test_a_long_sensitive_value_is_not_shown_at_all(name):
    flag = pf.define(name, "", sensitive=True)
    flag.value = TEXT
    assert "xx" not in repr(flag) + repr(flag.history)
    assert "xx" not in message_of(setattr, flag, "value", [TEXT])


def test_a_default_with_too_many_digits_is_an_error_of_the_flag(name):
    assert "expected an integer in" in message_of(pf.define, name, HUGE)
