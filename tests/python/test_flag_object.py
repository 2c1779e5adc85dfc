"""A flag where its value may be meant, and as an object like others."""

from __future__ import annotations

import copy
import operator
import pathlib
import pickle
import weakref
from unittest import mock

import pytest

import paddle_flags as pf


def test_a_flag_in_text_is_its_value(name):
    level = pf.define(name, 1.5)
    assert (f"{level}", f"{level:.3f}", f"{level!r}"[:5], str(level)) == (
        "1.5", "1.500", "<Flag", "1.5",
    )  # fmt: skip
    assert format(pf.define(name + "_n", 7), "04d") == "0007"
    assert str(pf.define(name + "_l", ["a", "b"])) == "('a', 'b')"
    token = pf.define(name + "_t", "secret", sensitive=True)
    assert (f"{token}", f"{token:>20}", str(token)) == ("<redacted>",) * 3


def test_a_flag_that_is_taken_for_its_value_says_so(name):
    flag = pf.define(name, default=False)
    for mistake in (bool, operator.not_, lambda flag: flag and 1):
        with pytest.raises(TypeError, match=r"itself is neither true nor false: use its \.value"):
            mistake(flag)


NO_FLAGS = [3, 0.5, True, "x", b"x", None, (1,), [1], {1}, {1: 2}, object(), pathlib.Path()]


@pytest.mark.parametrize("other", NO_FLAGS, ids=lambda other: type(other).__name__)
def test_a_flag_that_is_compared_with_a_value_says_so(name, other):
    flag = pf.define(name, 3)
    compare = [getattr(operator, each) for each in ("eq", "ne", "lt", "le", "gt", "ge")]
    for mistake in (
        *compare,
        lambda flag, other: flag in [other, flag.value],
        lambda flag, other: other in flag,
    ):
        with pytest.raises(
            TypeError, match=rf"flag '{name}' itself has no value .*use its \.value"
        ):
            mistake(flag, other)
    for mistake in compare:
        with pytest.raises(
            TypeError, match=rf"flag '{name}' itself has no value .*use its \.value"
        ):
            mistake(other, flag)


def test_a_flag_is_equal_to_itself_alone_and_has_no_order(name):
    flag, twin = pf.define(name, 3), pf.define(name + "_twin", 3)
    assert flag == pf.FLAGS[name]
    assert not flag != pf.FLAGS[name]  # noqa: SIM202 - that is asked
    assert flag != twin
    assert flag in [twin, flag]
    assert [twin, flag].index(flag) == 1
    assert {flag: 1, twin: 2, name: 3}[flag] == 1
    assert hash(flag) == object.__hash__(flag)
    assert weakref.WeakKeyDictionary({flag: 1})[flag] == 1
    assert operator.eq(mock.ANY, flag)
    with pytest.raises(TypeError, match=r"flags have no order: compare their \.value or \.name"):
        sorted([flag, twin])


def test_copies_of_a_flag_are_the_flag(name):
    for whole in (pf.define(name, 1), pf.FLAGS):
        packed = pickle.dumps(whole)
        assert pickle.loads(packed) is whole  # noqa: S301 - our own
        assert copy.copy(whole) is whole
        assert copy.deepcopy([whole])[0] is whole


def test_flags_and_flag_have_representations_that_help(name):
    flag = pf.define(name, "text")
    assert repr(flag) == f"<Flag {name}: string = 'text' (default)>"
    assert copy.copy(pf.FLAGS) is not None


def test_flag_and_plugin_are_not_made_by_hand():
    for kind in (pf.Flag, pf.Plugin):
        with pytest.raises(TypeError, match="cannot create a "):
            kind()


def test_mock_can_patch_flags(name):
    flag = pf.define(name, 1)
    with mock.patch.object(pf.FLAGS, name, 3):
        assert flag.value == 3
    assert (flag.value, flag.source) == (1, "default")
    with mock.patch.object(flag, "value", 4):
        assert flag.value == 4
    assert (flag.value, flag.source) == (1, "default")


def test_every_error_is_a_flag_error_and_a_built_in_one():
    public = [getattr(pf, name) for name in pf.__all__]
    kinds = [kind for kind in public if isinstance(kind, type)]
    kinds = [kind for kind in kinds if issubclass(kind, Exception)]
    errors = [kind for kind in kinds if not issubclass(kind, Warning) and kind is not pf.FlagError]
    assert len(errors) >= 12
    for kind in errors:
        assert issubclass(kind, pf.FlagError)
        builtin = [base for base in kind.__mro__ if base.__module__ == "builtins"]
        assert builtin[0] is not Exception
        assert str(kind("a message")) == "a message"
