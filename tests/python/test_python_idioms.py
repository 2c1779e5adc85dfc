"""Idioms of Python that meet flags: mocks, mappings, decorators, scalars of other libraries."""

from __future__ import annotations

import threading
from unittest import mock

import numpy as np
import pytest

import paddle_flags as pf


def test_a_patched_flag_gets_its_former_value_back(name):
    flag = pf.define(name, 8080)
    with mock.patch.object(pf.FLAGS, name, 1):
        assert flag.value == 1
    assert (flag.value, flag.source) == (8080, "default")
    flag.value = 80
    with mock.patch.object(pf.FLAGS, name, 1):
        with mock.patch.object(pf.FLAGS, name, 2):
            assert flag.value == 2
        assert flag.value == 1
    assert (flag.value, flag.source) == (80, "run time")


def test_a_patch_in_an_override_ends_with_the_value_of_the_override(name):
    flag = pf.define(name, 8080)
    flag.value = 80
    with pf.override({name: 5}):
        with mock.patch.object(pf.FLAGS, name, 1):
            assert flag.value == 1
        assert flag.value == 5
    assert flag.value == 80


def test_deleting_a_value_in_an_override_leaves_the_one_beneath(name):
    flag = pf.define(name, 8080)
    flag.value = 80
    with pf.override({name: 5}):
        del flag.value
        assert flag.value == 5
    assert flag.value == 80
    del flag.value
    assert flag.value == 8080


def test_the_attributes_of_flags_stay_empty():
    assert vars(pf.FLAGS) == {}
    with pytest.raises(KeyError):
        vars(pf.FLAGS)["no_such_flag"]


def test_a_validator_whose_answer_has_no_truth_is_named(name):
    flag = pf.define(name, [1, 2])
    message = "returned a value of type ndarray"
    with (
        flag.validate(lambda v: np.array(v) > 0),
        pytest.raises(pf.FlagValueError, match=message) as refused,
    ):
        flag.value = [3, 4]
    assert isinstance(refused.value.__cause__, ValueError)
    assert flag.value == (1, 2)


def test_an_interrupt_in_the_truth_of_an_answer_is_raised(name):
    class Answer:
        def __bool__(self):
            raise KeyboardInterrupt

    flag = pf.define(name, 1)
    with flag.validate(lambda _: Answer()), pytest.raises(KeyboardInterrupt):
        flag.value = 2
    assert flag.value == 1


def test_a_validator_that_could_not_be_added_is_gone(name):
    flag = pf.define(name, 1)
    flag.value = 5
    flag = pf.define(name, 2, replace=True)
    with pytest.raises(pf.FlagValueError):
        flag.validate(lambda v: v < 5)
    flag.value = 7
    assert flag.value == 7


@pytest.mark.extended  # takes a second or more
def test_views_and_repr_bear_flags_that_go(name):
    end = threading.Event()

    def change():
        while not end.is_set():
            pf.undefine(pf.define(name, 1))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        flag = None
        for _ in range(300):
            for key, each in pf.FLAGS.items():
                if key == name:
                    flag = each
            list(pf.FLAGS.values())
            repr(flag)
    finally:
        end.set()
        thread.join()


def test_a_flag_is_in_the_mapping_while_it_is_defined(name):
    flag = pf.define(name, 1)
    assert flag in pf.FLAGS
    pf.undefine(flag)
    assert flag not in pf.FLAGS


def test_a_name_with_a_nul_is_no_flag():
    assert pf.FLAGS.get("a\0b", "default") == "default"
    assert "a\0b" not in pf.FLAGS


def test_functions_by_name_take_flags(name):
    flag = pf.define(name, 1)
    pf.set(flag, 3)
    assert pf.get(flag) == 3
    pf.reset(flag)
    assert pf.get(flag) == 1


@pytest.mark.parametrize("default", [np.int32(5), np.float32(0.5), np.bool_(True), np.str_("a")])
def test_a_scalar_of_numpy_is_a_default(name, default):
    flag = pf.define(name, default)
    assert flag.value == default
    assert type(flag.value) is type(default.item())


def test_a_decorated_function_stays_callable(name):
    flag = pf.define(name, 1)

    @flag.validate
    def is_small(value):
        return value < 10

    @flag.watch
    def note(changed):
        return changed.value

    assert (is_small(5), is_small(50), note(flag)) == (True, False, 1)
    is_small.remove()
    note.remove()


@pytest.mark.parametrize("clear", [False, True])
def test_mock_patch_dict_is_refused_before_anything_changes(name, clear):
    flag = pf.define(name, 1)
    flag.value = 2
    patch = mock.patch.dict(pf.FLAGS, {name: 3}, clear=clear)
    with pytest.raises(pf.FlagTypeError, match=r"can't patch FLAGS, .*override\(name=value\)"):
        patch.start()
    by_name = mock.patch.dict("paddle_flags.FLAGS", {name: 3}, clear=clear)
    with pytest.raises(pf.FlagTypeError, match="can't patch FLAGS"):
        by_name(lambda: None)()
    assert (flag.value, flag.source, name in pf.FLAGS) == (2, "run time", True)
    with pytest.raises(AttributeError):
        _ = pf.FLAGS.copy
