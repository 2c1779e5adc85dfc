"""Flags that are undefined and defined again: by request, on reload, in an interactive session."""

from __future__ import annotations

import importlib
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import write

import paddle_flags as pf
from paddle_flags._core.implied import imply

Run = Callable[..., ModuleType]


class Mode(Enum):
    """A class of values."""

    FAST = 1


@pytest.fixture
def run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Write a module, import it and reload it with other code; NAME stands for the flag's name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # sources change within one second

    def run(code: str, of: str = "module") -> ModuleType:
        module = f"{of}_of_{name}"
        code = "import paddle_flags as pf\n" + code.replace("NAME", name)
        write(tmp_path / f"{module}.py", code)
        importlib.invalidate_caches()
        if module in sys.modules:
            return importlib.reload(sys.modules[module])
        return importlib.import_module(module)

    return run


@pytest.fixture
def cell(name: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    """Run the code of a cell, compiled anew, as in an interactive session."""
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    namespace: dict[str, Any] = {"__name__": "__main__", "pf": pf}
    count = 0

    def cell(code: str) -> dict[str, Any]:
        nonlocal count
        count += 1
        exec(compile(code.replace("NAME", name), f"<cell-{count}>", "exec"), namespace)  # noqa: S102 - as a cell does
        return namespace

    return cell


# ---- undefine ----


def test_an_undefined_flag_is_gone_and_its_object_says_so(name):
    flag = pf.define(name, 3)
    pf.undefine(name)
    assert not flag.defined
    assert name not in pf.FLAGS
    assert name not in list(pf.FLAGS)
    assert repr(flag) == f"<Flag {name}: not defined>"
    with pytest.raises(pf.UndefinedFlagError, match=f"{name}: is no longer defined"):
        flag.value  # noqa: B018
    with pytest.raises(pf.UndefinedFlagError):
        pf.undefine(flag)
    with pytest.raises(pf.UndefinedFlagError):
        pf.undefine(name)


def test_what_is_no_flag_is_not_undefined():
    with pytest.raises(pf.FlagTypeError, match="3: expected the name of a flag, not int"):
        pf.undefine(3)  # type: ignore[arg-type]
    with pytest.raises(pf.UndefinedFlagError, match="no flag is named"):
        pf.undefine("surely_no_flag")


def test_values_that_were_given_wait_for_the_next_definition(name):
    flag = pf.define(name, 3)
    pf.parse(["prog", f"--{name}=5"])
    flag.set_default(4)
    pf.undefine(flag)
    assert pf.define(name, 6, "anew") is flag
    assert (flag.value, flag.source, flag.default, flag.help) == (5, "argv", 6, "anew")


def test_an_alias_undefines_its_flag(name):
    flag = pf.define(name, 3, aliases=[f"{name}_a"])
    pf.undefine(f"{name}_a")
    assert not flag.defined
    assert pf.define(f"{name}_a", "text").value == "text"


def test_flags_of_plugins_stay(name, plugin):
    path = plugin(f'PD_DEFINE_int32({name}_native, 4, "");')
    with pf.load_plugin(path) as loaded:
        expected = f"'{name}_native' stays defined until its module is unloaded: int32 at .* in .*"
        with pytest.raises(pf.FlagConflictError, match=expected):
            pf.undefine(f"{name}_native")
        with pytest.raises(pf.FlagConflictError, match=expected):
            pf.define(f"{name}_native", 5, type="int32", replace=True)
        with pytest.raises(pf.FlagConflictError) as error:
            pf.define(f"{name}_native", 5, type="int32")
        assert "replace=True" not in str(error.value)
        assert pf.FLAGS[f"{name}_native"].value == 4
        del loaded


def test_hooks_go_with_an_undefined_flag(name):
    flag, other = pf.define(name, 3), pf.define(f"{name}_other", 3)
    calls: list[Any] = []
    hook = flag.validate(lambda value: calls.append(value) or True)
    flag.watch(calls.append)
    pf.validator(flag, other)(lambda *_: False)
    pf.add_group(flag, other, rule="at_most_one")
    pf.undefine(flag)
    pf.define(name, 3)
    flag.value = other.value = 9
    assert calls == []
    hook.remove()


def test_what_an_undefined_flag_implied_is_over(name):
    flag, other = pf.define(name, 3), pf.define(f"{name}_other", 3)
    imply(name, 9, {f"{name}_other": 8})
    flag.value = 9
    assert other.value == 8
    pf.undefine(flag)
    assert other.value == 3
    pf.define(name, 3)
    imply(name, 9, {f"{name}_other": 7})
    assert (flag.value, other.value) == (9, 7)


@pytest.mark.usefixtures("root_level")
def test_logging_flags_can_be_undefined(name):
    flag = pf.logging_flags(name, handler=False)
    pf.undefine(flag)
    assert pf.logging_flags(name, "ERROR", handler=False) is flag
    assert flag.value == ("ERROR",)


# ---- replace=True ----


def test_a_second_definition_is_an_error_that_names_the_way_out(name):
    pf.define(name, 3)
    with pytest.raises(pf.FlagConflictError, match=r"default 4, not 3; to define it again, pass"):
        pf.define(name, 4)
    with pytest.raises(pf.FlagConflictError, match=r"pass replace=True$"):
        pf.define(name, "text", min=None)
    assert pf.FLAGS[name].value == 3


def test_a_replaced_flag_keeps_its_object_and_its_values(name):
    flag = pf.define(name, 3)
    flag.value = 7
    again = pf.define(name, 4, "more", min=1, replace=True)
    assert again is flag
    assert (flag.value, flag.default, flag.help, flag.min) == (7, 4, "more", 1)
    flag.reset()
    assert flag.value == 4


def test_a_flag_can_change_its_type(name):
    flag = pf.define(name, 3)
    assert pf.define(name, "fast", replace=True) is flag
    assert (flag.value, pf.FLAGS[name].value, flag.type) == ("fast", "fast", "string")
    pf.define(name, [1, 2], replace=True)
    assert flag.value == (1, 2)
    flag.value = (3, 4)
    pf.define(name, ["a"], replace=True)
    assert flag.value == ("3", "4")


def test_a_name_that_is_free_can_be_replaced(name):
    assert pf.define(name, 3, replace=True).value == 3


def test_replace_is_true_or_false(name):
    with pytest.raises(pf.FlagTypeError, match="replace: 1: expected bool, not int"):
        pf.define(name, 3, replace=1)  # type: ignore[call-overload]


def test_a_refused_definition_leaves_everything_as_it_was(name):
    flag, other = pf.define(name, 3), pf.define(f"{name}_other", 3)
    calls: list[Any] = []
    flag.watch(calls.append)
    flag.set_default(5)
    imply(name, 5, {f"{name}_other": 8})
    for wrong in ({"min": 9}, {"aliases": [f"{name}_other"]}, {"unit": "bytes", "type": "string"}):
        with pytest.raises(pf.FlagError):
            pf.define(name, 4 if "type" not in wrong else "x", replace=True, **wrong)
    assert (flag.value, flag.default, other.value) == (5, 5, 8)
    flag.value = 6
    assert calls == [flag, flag]  # set_default() was a change, too
    assert other.value == 3


def test_a_kept_value_that_does_not_fit_is_dropped_and_raised(name):
    flag = pf.define(name, 3)
    flag.value = 50
    with pytest.raises(pf.FlagValueError, match=f"{name}=50: expected an integer .* 9"):
        pf.define(name, 4, max=9, replace=True)
    assert (flag.value, flag.max) == (4, 9)


def test_hooks_of_the_module_go_and_those_of_others_stay(name, run):
    module = run("flag = pf.define('NAME', 3)\nheard = []\nflag.watch(heard.append)\n")
    heard: list[Any] = []
    pf.FLAGS[name].watch(heard.append)
    pf.define(name, 4, replace=True)
    assert (heard, module.heard) == ([pf.FLAGS[name]], [])  # the value has changed
    pf.FLAGS[name].value = 5
    assert (len(heard), module.heard) == (2, [])


def test_a_validator_that_is_added_checks_the_value_that_was_kept(name):
    flag = pf.define(name, 3)
    flag.validate(lambda value: value != 9)
    flag.value = 50
    pf.define(name, 4, replace=True)
    flag.value = 9  # the old validator is gone
    flag.value = 60
    with pytest.raises(pf.FlagValueError, match=f"{name}=60: it must be even|below"):
        flag.validate(lambda value: value < 10, "below ten")
    assert (flag.value, flag.source) == (4, "default")
    flag.value = 11  # the caller has no handle of the new one, so it is gone
    assert flag.value == 11


def test_a_kept_value_that_is_accepted_stays_where_it_came_from(name):
    flag = pf.define(name, 3)
    pf.parse(["prog", f"--{name}=8"])
    pf.define(name, 4, replace=True)
    calls: list[int] = []
    flag.validate(lambda value: calls.append(value) or True)
    assert (calls, flag.value, flag.source, len(flag.history)) == ([8], 8, "argv", 2)


def test_a_flag_that_has_become_sensitive_hides_its_values(name):
    flag = pf.define(name, "x")
    pf.define(name, "x", sensitive=True, replace=True)
    flag.value = "hunter2"
    assert "hunter2" not in repr(flag) + str(flag)
    with pytest.raises(pf.FlagTypeError) as error:
        flag.value = b"hunter3"  # type: ignore[assignment]
    assert "hunter3" not in str(error.value)


def shown_of(flag: pf.Flag[Any]) -> str:
    entries = f"{flag!r} {flag} {flag:>20} {flag.history}"
    reports = [pf.describe(form) for form in ("text", "xml", "json", "markdown", "man")]
    saved = [str(pf.dump(form)) for form in ("flagfile", "argv", "environment", "json", "toml")]
    return "\n".join([entries, pf.explain(flag.name), *reports, *saved])


def define_in_place(name: str) -> pf.Flag[str]:
    return pf.define(name, "", replace=True)


def define_after_undefine(name: str) -> pf.Flag[str]:
    pf.undefine(name)
    return pf.define(name, "")


@pytest.mark.parametrize("again", [define_in_place, define_after_undefine])
def test_what_a_flag_got_while_it_was_sensitive_stays_secret_until_it_is_reset(
    name: str, again: Callable[[str], pf.Flag[str]]
):
    flag = pf.define(name, "", sensitive=True)
    pf.parse(["prog", f"--{name}=hunter2"])
    flag.value = "hunter3"
    with pf.override({name: "hunter4"}):
        flag = again(name)
        assert (flag.value, flag.sensitive) == ("hunter4", True)
        assert "hunter" not in shown_of(flag)
    assert flag.value == "hunter3"
    assert "hunter" not in shown_of(flag)
    with pytest.raises(pf.FlagValueError) as error:
        flag.validate(lambda value: value != "hunter3", "is known to others")
    assert "hunter" not in str(error.value)
    flag.reset()
    flag.value = "plain"
    assert not flag.sensitive
    assert "plain" in repr(flag)


def test_a_flag_without_values_is_sensitive_only_if_its_definition_says_so(name):
    pf.define(name, "", sensitive=True)
    flag = pf.define(name, "", replace=True)
    flag.value = "plain"
    assert "plain" in repr(flag)


def test_an_override_lasts_over_a_definition(name):
    flag = pf.define(name, 3)
    with pf.override({name: 8}):
        pf.define(name, 4, replace=True)
        assert flag.value == 8
    assert flag.value == 4


def test_a_warning_that_is_an_error_loses_no_definition(name):
    flag = pf.define(name, 3, deprecated="use another")
    with pytest.warns(pf.DeprecatedFlagWarning):
        flag.value = 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pf.define(name, 4, "anew", deprecated="still", replace=True)
        assert (flag.value, flag.help) == (5, "anew")


def test_threads_use_a_flag_while_another_defines_it_again(name):
    flag: pf.Flag[Any] = pf.define(name, 3, "help")
    over = threading.Event()
    failures: list[BaseException] = []

    def use() -> None:
        number = 0
        while not over.is_set():
            number += 1
            try:
                value = flag.value
                assert value == "fast" or str(value).strip("(),").replace(", ", "").isdigit()
                assert len(flag.help) == 4
                repr(flag)
                flag.set_from_string(str(number % 90))
                with flag.watch(lambda _: None), pf.override({name: flag.value}):
                    pass
            except pf.FlagError:
                pass
            except BaseException as error:  # shown below
                failures.append(error)
                return

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    defaults: list[Any] = [3, "fast", (1, 2)]
    for number in range(300):
        with suppress(pf.FlagValueError):
            pf.define(name, defaults[number % 3], "help", replace=True)
        if number % 5 == 0:
            pf.undefine(flag)
    over.set()
    for thread in threads:
        thread.join()
    assert failures == []
    pf.define(name, 3, replace=True)


def test_a_value_is_read_by_the_definition_that_it_is_of(name, run):
    defaults: list[Any] = [
        {"a": 1},
        ["x"],
        "x",
        Path("x"),
        timedelta(seconds=2),
        3,
        None,
        Mode.FAST,
    ]
    flag: pf.Flag[Any] = pf.define(name, defaults[0])
    seen: list[Any] = []
    flags = run("def watch(flag, see): flag.watch(lambda flag: see(flag))", of="other")
    flags.watch(flag, lambda flag: seen.append((flag.value, pf.FLAGS[name].default)))
    for default in defaults[1:]:  # watchers run before define() returns
        pf.define(name, default, type=int if default is None else None, replace=True)
        assert flag.value == flag.history[0].value == flag.default
    assert (("x",), ("x",)) in seen
    assert (Path("x"), Path("x")) in seen or len(seen) < len(defaults)
    assert all(value == default for value, default in seen)


READERS = """
import sys, threading, time
import paddle_flags as pf
sys.setswitchinterval(1e-5)
defaults = [{"a": 1}, ["x"], "y", 3]
values = [{"a": 1}, ("x",), "y", 3]
flag = pf.define("f", defaults[0])
end = time.time() + 2
failures = set()
def read():
    while time.time() < end:
        try:
            history = [entry.value for entry in flag.history]
            for value in (flag.value, pf.FLAGS.f, flag.default, *history):
                if value not in values:
                    failures.add(repr(value))
            pf.explain("f"), pf.dump("json", all=True)
        except Exception as error:
            failures.add(repr(error))
threads = [threading.Thread(target=read) for _ in range(2)]
[thread.start() for thread in threads]
while time.time() < end:
    for default in defaults:
        pf.define("f", default, replace=True)
[thread.join() for thread in threads]
print(sorted(failures))
"""


@pytest.mark.extended  # takes a second or more
def test_readers_see_the_old_value_or_the_new_one(python):
    assert python(READERS).stdout == "[]\n"


def test_readers_get_the_new_default_in_place_of_a_value_that_does_not_fit(name, run):
    flag: pf.Flag[Any] = pf.define(name, "a")
    flag.value = "slow"
    seen: list[Any] = []
    see: Any = lambda flag: seen.append(flag.value)  # noqa: E731
    run("def watch(flag, see): flag.watch(see)", of="other").watch(flag, see)
    with pytest.raises(pf.FlagValueError, match="slow"):
        pf.define(name, {"a": 1}, replace=True)
    assert flag.value == {"a": 1}
    assert all(value == {"a": 1} for value in seen)


# ---- importlib.reload ----


def test_a_module_that_is_reloaded_defines_its_flags_again(name, run):
    code = "flag = pf.define('NAME', DEFAULT)\nflag.validate(lambda value: value < 10, 'big')\n"
    module = run(code.replace("DEFAULT", "3"))
    flag = pf.FLAGS[name]
    flag.value = 7
    again = run(code.replace("DEFAULT", "4").replace("10", "20"))
    assert again is module
    assert again.flag is flag
    assert (flag.value, flag.default) == (7, 4)
    flag.value = 15  # the old validator is gone
    with pytest.raises(pf.FlagValueError, match="big"):
        flag.value = 25


def test_a_module_that_is_reloaded_unchanged_has_its_validator_once(name, run):
    code = "calls = []\npf.define('NAME', 3).validate(lambda value: calls.append(value) or True)\n"
    run(code)
    module = run(code)
    pf.FLAGS[name].value = 5
    assert module.calls == [5]
    assert run(code).calls == [5]  # asked about the value that is kept


def test_a_kept_value_is_checked_by_the_validator_of_the_reloaded_module(name, run):
    code = "flag = pf.define('NAME', 3)\nflag.validate(lambda value: value < LIMIT, 'big')\n"
    run(code.replace("LIMIT", "90"))
    pf.FLAGS[name].value = 50
    with pytest.raises(pf.FlagValueError, match=f"{name}=50: big"):
        run(code.replace("LIMIT", "10"))
    assert pf.FLAGS[name].value == 3


RELOADED = """
import enum
import paddle_flags as pf
class Mode(enum.Enum):
    FAST = 1
    BEST = 2
mode = pf.define("NAME", Mode.FAST)
@mode.validate
def is_mine(value):
    return value is None or isinstance(value, Mode)
"""


def test_a_definition_that_a_reload_made_stays_after_an_isolated_block(name, run):
    module = run(RELOADED)
    old = module.Mode
    module.mode.value = old.BEST
    with pf.testing.isolated():
        module.mode.value = old.FAST
        run(RELOADED)
        assert module.Mode is not old
    assert (module.mode.value, module.mode.source) == (module.Mode.BEST, "run time")
    module.mode.value = module.Mode.FAST
    run(RELOADED + "extra = pf.define('NAME_extra', 1)\n")
    with pf.testing.isolated():
        pf.define(name, "x", replace=True)
    assert module.mode.value is module.Mode.FAST
    with pf.testing.isolated():
        run(RELOADED)
        pf.define(name, "x", replace=True)
    assert module.mode.value is module.Mode.FAST
    module.mode.value = module.Mode.BEST


def test_watchers_of_other_modules_stay_when_one_is_reloaded(name, run):
    run("flag = pf.define('NAME', 3)\n")
    heard: list[Any] = []
    pf.FLAGS[name].watch(heard.append)
    run("flag = pf.define('NAME', 4)\n")
    assert heard == [pf.FLAGS[name]]


def test_two_definitions_in_one_run_are_a_conflict_on_reload_too(run):
    with pytest.raises(pf.FlagConflictError, match="replace=True"):
        run("pf.define('NAME_a', 3)\npf.define('NAME_a', 4)\n", "another")
    run("pf.define('NAME', 3)\n")
    with pytest.raises(pf.FlagConflictError, match="replace=True"):
        run("pf.define('NAME', 3, 'x')\npf.define('NAME', 4)\n")


def test_another_module_may_not_take_the_name_when_it_is_reloaded(run):
    run("pf.define('NAME', 3)\n")
    run("", "another")
    with pytest.raises(pf.FlagConflictError, match="replace=True"):
        run("pf.define('NAME', 4)\n", "another")


def test_functions_of_one_module_conflict(run):
    module = run(
        "def one():\n    pf.define('NAME', 1)\n"
        "def two():\n    pf.define('NAME', 2)\n"
        "def both():\n    one(); one(); two()\n"
    )
    with pytest.raises(pf.FlagConflictError, match="replace=True"):
        module.both()


def test_every_attribute_can_change_on_reload(name, run):
    run("pf.define('NAME', 3, hidden=True, aliases=['NAME_a'], required=True)\n")
    run("pf.define('NAME', 'x', choices=['x', 'y'], old_names=['NAME_b'])\n")
    flag = pf.FLAGS[name]
    assert (flag.value, flag.hidden, flag.required, flag.aliases) == ("x", False, False, ())
    assert f"{name}_a" not in pf.FLAGS
    assert flag.old_names == (f"{name}_b",)


# ---- interactive sessions ----


def test_a_cell_that_runs_again_defines_its_flag_again(name, cell):
    code = "flag = pf.define('NAME', 3)\nflag.validate(lambda value: value < 10, 'big')"
    cell(code)
    flag = pf.FLAGS[name]
    flag.value = 7
    assert cell(code.replace("3", "4").replace("10", "20"))["flag"] is flag
    assert (flag.value, flag.default) == (7, 4)
    flag.value = 15


def test_a_cell_that_runs_again_unchanged_has_its_watcher_once(name, cell):
    code = "calls = []\npf.define('NAME', 3).watch(lambda flag: calls.append(flag.value))"
    cell(code)
    calls = cell(code)["calls"]
    pf.FLAGS[name].value = 5
    assert calls == [5]


def test_a_loop_in_a_cell_does_not_define_again(cell):
    with pytest.raises(pf.FlagConflictError, match="replace=True"):
        cell("for i in range(2):\n    pf.define('NAME', i)")


def test_a_cell_may_not_take_the_flag_of_a_module(name, cell, run):
    run("pf.define('NAME', 3)\n")
    with pytest.raises(pf.FlagConflictError, match="replace=True"):
        cell("pf.define('NAME', 4)")
    cell("pf.define('NAME', 4, replace=True)")
    cell("pf.define('NAME', 5)")
    assert pf.FLAGS[name].value == 5


def test_a_program_does_not_define_again_by_itself(cell, monkeypatch):
    cell("pf.define('NAME', 3)")
    monkeypatch.delattr(sys, "ps1")
    with pytest.raises(pf.FlagConflictError, match="replace=True"):
        cell("pf.define('NAME', 4)")


def test_a_flag_of_a_type_of_python_may_have_a_plain_type_next(name):
    flag = pf.define(name, Path("a"))
    pf.undefine(flag)
    pf.define(name, "b")
    assert flag.value == "b"
    pf.define(name, Path("c"), replace=True)
    pf.define(name, "d", replace=True)
    flag.value = "e"
    assert flag.value == "e"
