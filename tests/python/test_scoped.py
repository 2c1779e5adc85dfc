"""Values of one thread or task: pf.scoped."""

from __future__ import annotations

import os
import warnings
from enum import Enum
from pathlib import Path

import pytest
from joining import python
from scopes import both, elsewhere

import paddle_flags as pf


def test_a_scope_gives_a_value_to_its_thread_alone(native):
    with pf.scoped(scoped_level=9):
        assert both(native) == 9
        assert elsewhere(lambda: both(native)) == 6
    assert both(native) == 6


def test_scopes_nest_and_end_in_any_order(native):
    outer, inner = pf.scoped(scoped_level=2), pf.scoped(scoped_level=3)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert both(native) == 3
    inner.__exit__(None, None, None)
    assert both(native) == 6


class Color(Enum):
    red = 1
    blue = 2


TYPES = [
    (False, True, {}),
    (3, -4, {}),
    (0.5, 2.5, {}),
    ("a", "b", {}),
    ([1, 2], [3], {}),
    (["a"], [], {}),
    (1024, 2048, {"unit": "bytes"}),
    (Color.red, Color.blue, {}),
    (Path("a"), Path("b"), {}),
    (3, None, {"optional": True}),
]


@pytest.mark.parametrize(("default", "value", "attributes"), TYPES)
def test_every_type_can_be_scoped(default, value, attributes):
    name = "scoped_type"
    flag = pf.define(name, default, "A flag", scoped=True, **attributes)
    try:
        before = flag.value
        with pf.scoped({flag: value}):
            now = tuple(value) if isinstance(value, list) else value
            assert flag.value == pf.FLAGS.scoped_type == now
            assert flag.process_value == before
            assert flag.source == "scope"
            assert elsewhere(lambda: flag.value) == before
        assert flag.value == before
    finally:
        pf.undefine(name)


def test_an_optional_flag_with_a_value_can_have_none_in_a_scope():
    flag = pf.define("scoped_maybe", None, "A flag", type=int, scoped=True)
    try:
        flag.value = 5
        with pf.scoped(scoped_maybe=None):
            assert flag.value is None
            assert flag.process_value == 5
        assert flag.value == 5
    finally:
        pf.undefine("scoped_maybe")


def test_a_refused_value_opens_no_scope(native):
    bad = pf.scoped(scoped_mode="best", scoped_level=10)
    with pytest.raises(pf.FlagValueError, match="expected an integer in") as refused, bad:
        pass
    assert "test_scoped.py" in str(refused.value)
    assert both(native) == 6
    assert pf.FLAGS.scoped_mode == "fast"


def test_a_flag_that_is_not_scoped_is_refused_and_the_message_says_how_to_declare_it():
    pf.define("scoped_not", 1, "A flag")
    try:
        with pytest.raises(pf.FlagTypeError, match=r"PD_DEFINE_SCOPED_int64.*scoped=True"):
            pf.scoped(scoped_not=2).__enter__()
    finally:
        pf.undefine("scoped_not")


def test_validators_run_on_entering(native):
    seen = []
    hook = pf.FLAGS["scoped_level"].validate(lambda value: seen.append(value) or value != 4)
    try:
        with pf.scoped(scoped_level=3):
            pass
        with pytest.raises(pf.FlagValueError), pf.scoped(scoped_level=4):
            pass
        assert seen == [3, 4]
        assert both(native) == 6
    finally:
        hook.remove()


def test_an_assignment_is_for_the_process_and_one_that_is_hidden_warns_once(native):
    flag = pf.FLAGS["scoped_level"]
    with pf.scoped(scoped_level=9):
        with pytest.warns(pf.ScopeHidesWarning, match="scoped_level: was set for the process") as w:
            pf.FLAGS.scoped_level = 3
        assert w[0].filename == __file__
        assert "test_scoped.py:" in str(w[0].message)
        assert both(native) == 9
        assert flag.process_value == 3
        assert elsewhere(lambda: both(native)) == 3
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pf.FLAGS.scoped_level = 4
    assert both(native) == 4
    flag.reset()


@pytest.mark.usefixtures("native")
def test_history_and_explain_show_the_scopes_with_their_places():
    flag = pf.FLAGS["scoped_level"]
    with pf.scoped(scoped_level=9), pf.scoped(scoped_level=8):
        entries = flag.history
        assert [(e.value, e.source) for e in entries] == [
            (8, "scope"), (9, "scope"), (6, "default"),
        ]  # fmt: skip
        assert flag.place.startswith(__file__) or "test_scoped.py:" in flag.place
        said = pf.explain("scoped_level")
        assert "scope" in str(said)
        assert "test_scoped.py:" in str(said)


def test_sensitive_values_stay_so_in_scopes():
    flag = pf.define("scoped_token", "none", "A secret", sensitive=True, scoped=True)
    try:
        with pf.scoped({flag: "very secret"}):
            assert flag.value == "very secret"
            shown = f"{flag} {flag!r} {flag.history} {pf.explain('scoped_token')}"
            assert "very secret" not in shown
            with pytest.warns(pf.ScopeHidesWarning) as given:
                flag.value = "other secret"
            assert "secret" not in str(given[0].message).replace("scoped_token", "")
    finally:
        pf.undefine("scoped_token")


@pytest.mark.usefixtures("native")
def test_dump_has_the_values_of_the_process():
    pf.FLAGS.scoped_level = 3
    try:
        with pf.scoped(scoped_level=9):
            lines = pf.dump("flagfile").splitlines()
            assert [line for line in lines if "scoped_level" in line] == ["--scoped_level=3"]
    finally:
        pf.FLAGS["scoped_level"].reset()


def test_a_scope_that_ended_cannot_end_again(native):
    scope = pf.scoped(scoped_level=9)
    with scope:
        pass
    with pytest.raises(pf.FlagArgumentError):
        scope.__exit__(None, None, None)
    with scope:
        assert both(native) == 9


# ---- The end of threads, processes and the interpreter ----


def test_a_thread_may_end_with_open_scopes(native):
    kept = []

    def work():
        scope = pf.scoped(scoped_level=9)
        scope.__enter__()
        kept.append(scope)
        return both(native)

    assert elsewhere(work) == 9
    assert both(native) == 6
    kept.pop().__exit__(None, None, None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_has_the_scopes_of_its_thread(native):
    with pf.scoped(scoped_level=9):
        child = os.fork()
        if child == 0:
            os._exit(0 if native.level() == 9 and pf.FLAGS.scoped_level == 9 else 1)
        assert os.waitpid(child, 0)[1] == 0


ENDS = """
import threading
import paddle_flags as pf
level = pf.define("level", 6, scoped=True)
scope = pf.scoped(level=9)
scope.__enter__()
context = pf.capture()
def work():
    inner = pf.scoped(level=8)
    inner.__enter__()
    threading.Event().wait()
threading.Thread(target=work, daemon=True).start()
@pf.scoped(level=7)
def steps():
    yield level.value
suspended = steps()
print(next(suspended), level.value)
"""


def test_the_interpreter_may_end_with_open_scopes():
    assert python(ENDS) == ["7 9"]
