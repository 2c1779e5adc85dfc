"""Defaults that a program gives to flags which others defined."""

from __future__ import annotations

import pytest

import paddle_flags as pf


def test_a_new_default_holds_where_nothing_else_was_given(name):
    flag = pf.define(name, 1)
    flag.set_default(5)
    assert (flag.value, flag.default, flag.source) == (5, 5, "default")
    pf.parse(["prog", f"--{name}=7"])
    assert (flag.value, flag.default, flag.source) == (7, 5, "argv")
    flag.reset()
    assert flag.value == 5


def test_a_new_default_stays_below_values_that_were_given_before(name):
    flag = pf.define(name, 1)
    pf.parse(["prog", f"--{name}=7"])
    flag.value = 8
    flag.set_default(5)
    assert (flag.value, flag.source) == (8, "run time")
    del flag.value
    assert (flag.value, flag.source) == (7, "argv")
    assert [entry.value for entry in flag.history] == [7, 5, 1]


def test_an_override_covers_a_new_default(name):
    flag = pf.define(name, 1)
    with pf.override({name: 3}):
        flag.set_default(5)
        assert flag.value == 3
    assert flag.value == 5


def test_a_new_default_says_where_it_was_set(name):
    flag = pf.define(name, 1)
    flag.set_default(5)
    code = test_a_new_default_says_where_it_was_set.__code__
    assert flag.place == f"{code.co_filename}:{code.co_firstlineno + 2}"
    assert f"{code.co_filename}:{code.co_firstlineno + 2}" in pf.explain(name)


def test_a_default_of_any_type_is_checked_as_a_value_is(name):
    flag = pf.define(name, [1, 2], choices=range(9))
    flag.set_default([3, 4, 5])
    assert flag.value == (3, 4, 5)
    with pytest.raises(pf.FlagValueError, match=rf"^.*{name}.*10"):
        flag.set_default([10])
    with pytest.raises(pf.FlagTypeError, match=rf"^{name}: item 1: 'x': expected int"):
        flag.set_default(["x"])  # type: ignore[list-item]
    assert flag.value == (3, 4, 5)


def test_a_validator_refuses_a_default(name):
    flag = pf.define(name, 1)
    flag.validate(lambda value: value < 10, "expected less than 10")
    with pytest.raises(pf.FlagValueError, match="expected less than 10"):
        flag.set_default(10)
    assert (flag.value, flag.default) == (1, 1)


def test_help_shows_the_new_default(name):
    flag = pf.define(name, 1, "How many")
    flag.set_default(5)
    with pytest.raises(pf.HelpRequested, match=rf"--{name}=INT64 +How many \[default: 5\]"):
        pf.parse(["prog", "--help"], exit=False)


def test_a_sensitive_default_is_shown_to_none(name):
    flag = pf.define(name, "", sensitive=True)
    flag.set_default("hunter2")
    assert flag.value == "hunter2"
    assert "hunter2" not in pf.explain(name) + repr(flag) + pf.describe("json")


LATE = """
flag = pf.define("late", 1, startup_only=True)
none = pf.define("none", None, type=int, startup_only=True)
pf.parse(["program", "--late=2"], exit=False)
flag.set_default(1)
for change in lambda: flag.set_default(2), lambda: setattr(none, "value", 0):
    try:
        change()
    except pf.FrozenFlagError:
        print("refused")
print(flag.value, flag.default, none.value)
"""


def test_a_startup_only_flag_accepts_only_the_default_that_it_has_once_it_was_parsed(python):
    assert python(LATE).stdout.splitlines() == ["refused", "refused", "2 1 None"]
