"""`pf.testing.isolated`: what a test does to flags is undone."""

from __future__ import annotations

import asyncio
import ctypes
import enum
import json
import os
import pathlib
import subprocess
import sys
import threading
import unittest

import pytest
from support import needs_fork, write

import paddle_flags as pf
from paddle_flags.testing import isolated


def given(flag: pf.Flag) -> list[tuple[object, str]]:
    return [(entry.value, entry.source) for entry in flag.history]


def test_values_return_with_their_sources_and_histories(name):
    flag = pf.define(name, 1)
    flag.value = 2
    before = flag.history
    with isolated() as flags:
        assert flags is pf.FLAGS
        flags[name].value = 3
        flag.set_default(4)
        flag.freeze()
    assert flag.history == before
    flag.value = 5
    assert given(flag) == [(5, "run time"), (2, "run time"), (1, "default")]


def test_values_can_be_set_at_the_beginning(name):
    flag, other = pf.define(name, 1), pf.define(f"{name}.other", 1)
    with isolated({f"{name}.other": 2}, **{name: 3}):
        assert (flag.value, other.value) == (3, 2)
        assert flag.place is not None
        assert flag.place.startswith(__file__)
    assert (flag.value, other.value) == (1, 1)


def test_a_value_that_is_refused_leaves_nothing_behind(name):
    flag = pf.define(name, 1, max=5)
    scope = isolated(**{name: 9, f"{name}_none": 1})
    with pytest.raises(pf.FlagValueError) as caught, scope:
        pytest.fail("the block has begun")
    assert len(caught.value.errors) == 2
    assert flag.source == "default"
    with pytest.raises(pf.FlagArgumentError, match="has already ended, or has not begun"):
        scope.__exit__(None, None, None)


def test_what_a_test_defines_is_undefined_and_can_be_defined_otherwise(name):
    for default in (1, "text", [1.5]):
        with isolated():
            flag = pf.define(name, default, aliases=[f"{name}_alias"])
            flag.value = default
        assert not flag.defined
        assert name not in pf.FLAGS
        assert f"{name}_alias" not in pf.FLAGS


def test_a_module_that_is_imported_first_within_keeps_its_flags(name, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    text = f"import paddle_flags as pf\nflag = pf.define({name!r}, 1, max=5)\n"
    text += "flag.validate(lambda value: value != 3)\n"
    write(tmp_path / f"{name}_module.py", text)
    with isolated():
        module = __import__(f"{name}_module")
        module.flag.value = 2
    assert given(module.flag) == [(1, "default")]
    with pytest.raises(pf.FlagValueError):
        module.flag.value = 3


def test_startup_is_as_it_was():
    code = """
import paddle_flags as pf
flag = pf.define("flag", 1, startup_only=True)
for value in (2, 3):
    with pf.testing.isolated():
        pf.parse(["program", f"--flag={value}"], env_prefix="LATER_")
        assert flag.frozen
        assert flag.value == value
assert not flag.frozen
assert pf.define("other", 1).value == 1
pf.parse(["program"])
with pf.testing.isolated():
    pass
assert flag.frozen
"""
    environment = {**os.environ, "LATER_other": "9"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_pending_values_return(name):
    pf.parse(["program", f"--{name}=1"], allow_pending=True)
    for _ in range(2):
        with isolated():
            pf.parse(["program", f"--{name}_never=1"], allow_pending=True)
            flag = pf.define(name, 0)
            assert given(flag) == [(1, "argv"), (0, "default")]
            flag.value = 2
    with pytest.raises(pf.UndefinedFlagError) as caught:
        pf.check("pending")
    assert sum(name in str(each) for each in caught.value.errors) == 1
    assert pf.define(name, 0).value == 1


def test_hooks_that_were_added_go_and_those_removed_come_back(name):
    flag, seen = pf.define(name, 1), []
    hook = flag.watch(lambda flag: seen.append(flag.value))
    rule = flag.validate(lambda value: value != 3)
    with isolated():
        flag.watch(lambda _: seen.append("inner"))
        flag.validate(lambda value: value != 2)
        hook.remove()
        rule.remove()
        flag.value = 3
    assert seen == ["inner", 1]  # the watcher that came back is told of what changes back
    flag.value = 2
    assert seen == ["inner", 1, 2]
    with pytest.raises(pf.FlagValueError):
        flag.value = 3
    hook.remove()
    rule.remove()
    flag.value = 3
    assert seen == ["inner", 1, 2]


def test_a_weak_watcher_whose_callback_is_gone_stays_away(name):
    flag = pf.define(name, 1)

    def watcher(_: object) -> None: ...

    hook = flag.watch(watcher, weak=True)
    with isolated():
        del watcher
    assert repr(hook) == "<Hook: removed>"


def test_groups_come_back(name):
    one, two = pf.define(name, 1), pf.define(f"{name}_two", 1)
    hook = pf.add_group(one, two, rule="at_most_one")
    with isolated():
        hook.remove()
        one.value = two.value = 2
    one.value = 2
    with pytest.raises(pf.FlagValueError, match="at most one"):
        two.value = 2
    hook.remove()


def test_values_return_although_a_validator_would_refuse_the_steps(name):
    low, high = pf.define(name, 1), pf.define(f"{name}_high", 2)
    with low.validate(lambda value: value < high.value), isolated():
        high.value = 20
        low.value = 10
    assert (low.value, high.value) == (1, 2)


def test_an_override_that_is_left_open_ends_and_its_end_comes_later_in_peace(name):
    flag = pf.define(name, 1)

    def generate():
        with pf.override(**{name: 2}):
            yield

    with isolated():
        left = generate()
        next(left)
        assert flag.value == 2
    assert flag.value == 1
    left.close()
    assert given(flag) == [(1, "default")]


def test_an_override_around_it_stays(name):
    flag = pf.define(name, 1)
    with pf.override(**{name: 2}):
        with isolated():
            flag.value = 3
        assert flag.value == 2
    assert flag.value == 1


def test_an_error_in_the_block_passes_through(name):
    flag = pf.define(name, 1)
    with pytest.raises(ZeroDivisionError), isolated():
        flag.value = 1 // 0 + 1
    with pytest.raises(KeyError), isolated(**{name: 2}):
        raise KeyError
    assert flag.value == 1


def test_blocks_nest(name):
    flag = pf.define(name, 1)
    scope = isolated()
    with scope:
        flag.value = 2
        with scope, isolated(**{name: 3}):
            flag.value = 4
        assert flag.value == 2
    assert flag.value == 1


def test_functions_are_isolated_call_by_call(name):
    flag = pf.define(name, 1)

    @isolated(**{name: 2})
    def plain(more: int) -> int:
        flag.value += more
        return flag.value

    @isolated(**{name: 2})
    async def later() -> int:
        flag.value += 1
        await asyncio.sleep(0)
        return flag.value

    assert plain(1) == plain(1) == 3
    assert asyncio.run(later()) == 3
    assert flag.value == 1


def test_a_test_case_is_isolated_with_its_setup(name):
    flag = pf.define(name, 1)

    @isolated(**{name: 2})
    class Case(unittest.IsolatedAsyncioTestCase):
        def setUp(self) -> None:
            assert flag.value == 2
            flag.value = 3

        def test_plain(self) -> None:
            assert flag.value == 3

        async def test_async(self) -> None:
            assert flag.value == 3
            pf.define(f"{name}_inner", 1)

        def tearDown(self) -> None:
            flag.value = 4

        def test_failure(self) -> None:
            self.fail("as it should")

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert (result.testsRun, len(result.failures), len(result.errors)) == (3, 1, 0)
    assert flag.value == 1
    assert f"{name}_inner" not in pf.FLAGS


def test_a_plain_class_is_isolated_method_by_method(name):
    flag = pf.define(name, 1)

    @isolated(**{name: 2})
    class TestIt:
        def test_one(self) -> None:
            assert flag.value == 2
            flag.value = 3

        def helper(self) -> int:
            return flag.value

    it = TestIt()
    it.test_one()
    it.test_one()
    assert it.helper() == 1


def test_a_library_that_is_loaded_within_stays_and_loses_its_values(name, plugin):
    source = f'PD_DEFINE_int32({name}_native, 7, "help");\n'
    path = plugin(source + f"int value(void) {{ return FLAGS_{name}_native; }}")
    pf.parse(["program", f"--{name}_native=5"], allow_pending=True)
    with isolated():
        library = ctypes.CDLL(str(path))
        pf.FLAGS[f"{name}_native"].value = 8
    assert (
        library.value() == pf.FLAGS[f"{name}_native"].value == 5
    )  # as it would be without the block
    with isolated():
        pf.FLAGS[f"{name}_native"].value = 9
        assert library.value() == 9
    assert library.value() == 5


@needs_fork
def test_what_a_forked_child_does_stays_there(name):
    flag = pf.define(name, 1)
    with isolated(**{name: 2}):
        child = os.fork()
        if child == 0:
            flag.value = 3
            os._exit(0 if flag.value == 3 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert flag.value == 2
    assert flag.value == 1


@needs_fork
def test_a_child_can_end_the_block_itself(name):
    flag = pf.define(name, 1)
    scope = isolated(**{name: 2})
    scope.__enter__()
    child = os.fork()
    if child == 0:
        scope.__exit__(None, None, None)
        os._exit(0 if flag.value == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    scope.__exit__(None, None, None)
    assert flag.value == 1


@pytest.mark.extended  # takes a second or more
def test_a_thread_that_goes_on_setting_does_no_harm(name):
    flag, stop = pf.define(name, 1), threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            flag.value += 1
            with pf.override(**{name: 2}):
                pass

    with isolated():
        thread = threading.Thread(target=go_on)
        thread.start()
        for _ in range(200):
            with isolated(**{f"{name}": 5}):
                pass
        stop.set()
        thread.join()
    assert given(flag) == [(1, "default")]


def test_a_sensitive_value_returns_and_is_not_shown(name):
    flag = pf.define(name, "a", sensitive=True)
    with isolated(**{name: "secret"}):
        flag.value = "other"
    assert flag.value == "a"
    with pytest.raises(pf.FlagTypeError) as caught, isolated(**{name: 12345}):
        pass
    assert "12345" not in str(caught.value)


# ---- Definitions of before ----


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


def facts(flag: pf.Flag) -> object:
    (found,) = (
        each for each in json.loads(pf.describe("json"))["flags"] if each["name"] == flag.name
    )
    return found


def test_a_flag_that_the_block_undefines_is_defined_again(name):
    flag = pf.define(
        name, 3, "Help", min=1, max=9, aliases=[f"{name}_away"], category="C", unit="bytes"
    )
    flag.value = 5
    before = facts(flag)
    with isolated():
        pf.undefine(name)
        assert name not in pf.FLAGS
    assert facts(flag) == before
    assert pf.FLAGS[f"{name}_away"] is flag
    assert (flag.value, flag.source) == (5, "run time")
    with pytest.raises(pf.FlagValueError):
        flag.value = 10


def test_a_flag_that_the_block_replaces_has_its_own_definition_again(name):
    flag = pf.define(name, "text", sensitive=True)
    with isolated():
        pf.define(name, 7, replace=True)
        assert pf.FLAGS[name].value == 7
    assert (flag.value, flag.default, flag.sensitive, flag.type) == ("text", "text", True, "string")


def test_a_flag_that_the_block_undefines_and_defines_otherwise_is_as_before(name):
    flag = pf.define(name, 1)
    with isolated(), isolated():
        pf.undefine(name)
        pf.define(f"{name}_both", 2, aliases=[name])
        pf.undefine(f"{name}_both")
        pf.define(name, [1.5])
    assert (flag.value, flag.items) == (1, None)
    assert f"{name}_both" not in pf.FLAGS


def test_a_type_of_python_comes_back_with_the_definition(name):
    flag = pf.define(name, Mode.FAST)
    flag.value = Mode.SLOW
    with isolated():
        pf.define(name, pathlib.Path("a"), replace=True)
        assert flag.value == pathlib.Path("SLOW")
    assert flag.value is Mode.SLOW
    flag.set_from_string("FAST")
    assert flag.value is Mode.FAST
    with pytest.raises(pf.FlagValueError):
        flag.set_from_string("neither")


def test_a_name_may_have_another_type_of_python_in_each_block(name):
    for default, text in (
        (Mode.FAST, "SLOW"),
        (1, "2"),
        (pathlib.Path("a"), "b"),
        (Mode.SLOW, "FAST"),
    ):
        with isolated():
            flag = pf.define(name, default)
            pf.parse(["program", f"--{name}={text}"])
            assert type(flag.value) in (type(default), type(pathlib.Path()))
    assert name not in pf.FLAGS


def test_hooks_that_went_with_a_definition_come_back_for_the_module_that_added_them(name):
    flag = pf.define(name, 1)
    seen = []
    hook = flag.validate(lambda value: value < 5)
    flag.watch(lambda changed: seen.append(changed.value))
    with isolated():
        pf.define(name, 2, replace=True)
        flag.value = 9
        assert repr(hook) == "<Hook: removed>"
    with pytest.raises(pf.FlagValueError):
        flag.value = 6
    flag.value = 4
    assert seen == [1, 4]
    pf.define(name, 2, replace=True)
    flag.value = 9  # they are those of this module again, and have gone with the definition
    assert seen == [1, 4]


def test_a_definition_of_the_block_that_was_undefined_in_it_does_not_come_back(name):
    with isolated():
        pf.define(name, 1)
        pf.undefine(name)
    assert name not in pf.FLAGS
