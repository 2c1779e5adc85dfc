"""Warnings that a filter makes errors: they undo and lose nothing that a call has done."""

from __future__ import annotations

import sys
import textwrap
import warnings

import pytest
from support import build_plugin, run, write

import paddle_flags as pf
from paddle_flags._core.implied import imply
from paddle_flags._native import ffi, lib


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def old(name):
    """Return a flag whose first use warns."""
    return pf.define(name, 1, deprecated="use another")


@pytest.fixture
def plugin(name, tmp_path):
    """Return the path of a plugin with a deprecated flag, to which a value waits."""
    code = f"""
        #include <pd_flags.h>
        PD_DEFINE_int32({name}_native, 1, "", .deprecated = "use another");
    """
    pf.parse(["program", f"--{name}_native=7"], allow_pending=True, exit=False)
    return build_plugin(tmp_path / "libold.so", write(tmp_path / "old.c", code))


def test_an_override_that_warns_leaves_nothing_behind(old):
    scope = pf.override({old.name: 5})
    with pytest.raises(pf.DeprecatedFlagWarning), scope:
        pytest.fail("the block must not run")
    assert (old.value, old.source) == (1, "default")
    with scope:
        assert old.value == 5
    pf.parse(["program", f"--{old.name}=2"], exit=False)
    assert old.value == 2
    old.reset()
    assert old.value == 1


def test_a_function_with_an_override_that_warns_is_not_called(old):
    @pf.override({old.name: 5})
    def function() -> int:
        return old.value

    with pytest.raises(pf.DeprecatedFlagWarning):
        function()
    assert (old.value, function(), old.value) == (1, 5, 1)


def test_an_override_whose_watcher_interrupts_leaves_nothing_behind(name):
    flag = pf.define(name, 1)

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with flag.watch(interrupt), pytest.raises(KeyboardInterrupt):
        pf.override({name: 5}).__enter__()
    assert (flag.value, flag.source) == (1, "default")


def test_the_end_of_an_override_that_warns_is_its_end(old, name):
    other = pf.define(f"{name}_other", 1)
    scope = pf.override({other.name: 5})
    scope.__enter__()
    use_elsewhere(old)
    with pytest.raises(pf.DeprecatedFlagWarning):
        scope.__exit__(None, None, None)
    assert other.value == 1
    with pytest.raises(pf.FlagArgumentError, match="has already ended"):
        scope.__exit__(None, None, None)


def use_elsewhere(old):
    """Set a deprecated flag as native code does: the next call on any thread warns."""
    assert lib.pd_flag_set_by_name(old.name.encode(), b"9", ffi.NULL) == lib.PD_OK


def test_a_set_that_warns_has_set(old, name):
    with pytest.raises(pf.DeprecatedFlagWarning):
        old.value = 2
    assert old.value == 2
    another = pf.define(f"{name}_another", 1, deprecated="use none")
    with pytest.raises(pf.DeprecatedFlagWarning):
        another.set_from_string("2")
    assert another.value == 2


@pytest.mark.parametrize("kind", ["validator", "watcher", "general", "group"])
def test_a_hook_is_added_and_owned_while_warnings_wait(old, name, kind):
    other = pf.define(f"{name}_other", 1)
    use_elsewhere(old)
    seen: list[object] = []
    hook = {
        "validator": lambda: other.validate(lambda value: seen.append(value) or True),
        "watcher": lambda: other.watch(seen.append),
        "general": lambda: pf.watch(seen.append),
        "group": lambda: pf.add_group(other, old, rule="at_most_one"),
    }[kind]()
    with pytest.raises(pf.DeprecatedFlagWarning):
        pf.check("values")
    hook.remove()
    seen.clear()
    other.value = 2
    assert seen == []


def test_a_value_is_read_while_warnings_wait(old, name):
    other = pf.define(f"{name}_other", (1, 2))
    use_elsewhere(old)
    assert (other.value, other.source, other.default) == ((1, 2), "default", (1, 2))
    assert (other.text, other.history[0].value) == ("1,2", (1, 2))
    assert name in pf.describe()
    with pytest.raises(pf.DeprecatedFlagWarning):
        pf.check("values")


def test_a_watcher_hears_of_a_change_while_warnings_wait(old, name):
    heard = []
    with pf.watch(lambda flag: heard.append(flag.name)):
        use_elsewhere(old)
        with pytest.raises(pf.DeprecatedFlagWarning):
            pf.check("values")
    assert heard == [name]


def test_parse_gives_its_arguments_with_the_warning(old):
    with pytest.raises(pf.DeprecatedFlagWarning) as caught:
        pf.parse(["program", f"--{old.name}=3", "rest", "of", "line"], exit=False)
    assert caught.value.result == ["rest", "of", "line"]
    assert (old.value, old.source) == (3, "argv")


def test_parse_gives_its_arguments_with_the_warning_of_an_unknown_variable(name, monkeypatch):
    monkeypatch.setenv(f"{name.upper()}_UNKNOWN", "1")
    with pytest.raises(pf.UnknownVariableWarning) as caught:
        pf.parse(["program", "rest"], env_prefix=f"{name.upper()}_", warn_unknown_env=True)
    assert caught.value.result == ["rest"]


def test_an_error_of_parse_is_not_lost_to_a_warning(old, name):
    use_elsewhere(old)
    with pytest.raises(pf.FlagParseError, match=f"{name}_none"):
        pf.parse(["program", f"--{old.name}=3", f"--{name}_none=1"], exit=False)
    with pytest.raises(pf.HelpRequested):
        pf.parse(["program", "--help"], exit=False)


def test_a_plugin_that_warns_is_loaded_and_comes_with_the_warning(plugin, name):
    with pytest.raises(pf.DeprecatedFlagWarning) as caught:
        pf.load_plugin(plugin)
    loaded = caught.value.result
    assert isinstance(loaded, pf.Plugin)
    assert (loaded.path, pf.FLAGS[f"{name}_native"].value) == (str(plugin), 7)
    assert loaded.unload()


def test_a_plugin_is_unloaded_once_while_warnings_wait(old, plugin):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded, again = pf.load_plugin(plugin), pf.load_plugin(plugin)
    use_elsewhere(old)
    with pytest.raises(pf.DeprecatedFlagWarning):
        again.unload()
    assert not again.loaded
    with pytest.raises(pf.FlagArgumentError, match="already unloaded"):
        again.unload()
    assert loaded.unload()


@pytest.mark.parametrize("more", [{}, {"aliases": ["a_{}"]}])
def test_a_definition_that_warns_is_made(name, more):
    more = {key: [text.format(name) for text in texts] for key, texts in more.items()}
    pf.parse(["program", f"--{name}=3"], allow_pending=True, exit=False)
    with pytest.raises(pf.DeprecatedFlagWarning) as caught:
        pf.define(name, 1, deprecated="use another", **more)
    assert caught.value.result is pf.FLAGS[name]
    assert pf.FLAGS[name].value == 3


def test_reload_gives_its_changes_with_the_warning(old, name, tmp_path):
    other = pf.define(f"{name}_other", 1)
    file = write(tmp_path / "a.toml", f"{other.name} = 2\n")
    pf.parse(["program"], config=file, exit=False)
    write(file, f"{other.name} = 3\n{old.name} = 4\n")
    with pytest.raises(pf.DeprecatedFlagWarning) as caught:
        pf.reload()
    assert [change.new for change in caught.value.result] == [4, 3]
    assert (other.value, old.value) == (3, 4)
    pf.parse(["program"], exit=False)


def test_of_several_warnings_all_are_issued_and_one_is_raised(name):
    first = pf.define(f"{name}_first", 1, deprecated="use the third")
    second = pf.define(f"{name}_second", 1, deprecated="use the third")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("error", "--.*_first|.*_first is deprecated")
        with pytest.raises(pf.DeprecatedFlagWarning, match="_first"):
            pf.FLAGS.update({first.name: 2, second.name: 2})
    assert [f"{name}_second" in str(each.message) for each in caught] == [True]
    assert (first.value, second.value) == (2, 2)


# ---- Old names and validators ----


def test_a_validator_that_calls_the_package_does_not_break_a_line_with_an_old_name(name):
    low = pf.define(f"{name}_low", 5, old_names=[f"{name}_l"])
    high = pf.define(f"{name}_high", 5)
    other = pf.define(f"{name}_other", 0)

    @pf.validator(low, high)
    def is_ordered(a: int, b: int) -> bool:
        other.value = a
        return a <= b

    with pytest.raises(pf.DeprecatedFlagWarning) as caught:
        pf.parse(["program", f"--{name}_l=3", "rest"], exit=False)
    assert caught.value.result == ["rest"]
    assert (low.value, other.value) == (3, 3)


def test_a_validator_by_old_names_warns_when_it_is_added_and_not_about_a_line(name):
    low = pf.define(f"{name}_low", 1, old_names=[f"{name}_l"])
    high = pf.define(f"{name}_high", 5, old_names=[f"{name}_h"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        @pf.validator(f"{name}_l", f"{name}_h", message="low must be below high")
        def is_ordered(a: int, b: int) -> bool:
            return a < b

    assert [(each.category, each.filename) for each in caught] == [
        (pf.DeprecatedFlagWarning, __file__)
    ] * 2
    line = ["program", f"--{low.name}=2", f"--{high.name}=4", "rest"]
    assert pf.parse(line, exit=False) == ["rest"]
    with pytest.raises(pf.FlagParseError, match="low must be below high"):
        pf.parse(["program", f"--{low.name}=9"], exit=False)


def test_a_line_with_old_names_is_valid_whatever_its_validator_does(tmp_path):
    code = """
        import paddle_flags as pf
        low = pf.define("low", 1, old_names=["lo"])
        high = pf.define("high", 5, old_names=["hi"])
        checked = pf.define("checked", 0)

        @pf.validator("low", "high", message="low must be below high")
        def is_ordered(a, b):
            checked.value = pf.FLAGS["low"].value + b
            return a < b

        print(pf.parse(["program", "--lo=2", "--hi=4", "rest"]), low.value, high.value)
    """
    script = write(tmp_path / "ordered.py", textwrap.dedent(code))
    for options in ([], ["-W", "error"]):
        done = run(sys.executable, *options, script)
        assert done.stdout == "['rest'] 2 4\n"
        assert done.stderr.splitlines() == [
            "program: warning: lo is deprecated: use low",
            "program: warning: hi is deprecated: use high",
        ]


@pytest.mark.parametrize("when", ["at import", "later"])
def test_implied_values_hold_and_end_with_their_flag_though_warnings_are_errors(name, old, when):
    flag = pf.define(f"{name}_switch", False)
    if when == "at import":
        flag.value = True
        with pytest.raises(pf.DeprecatedFlagWarning):
            imply(flag.name, True, {old.name: 7})
    else:
        imply(flag.name, True, {old.name: 7})
        with pytest.raises(pf.DeprecatedFlagWarning):
            flag.value = True
    assert (flag.value, old.value) == (True, 7)
    flag.value = False
    assert (old.value, old.source) == (1, "default")
