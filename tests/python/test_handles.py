"""A Flag as a handle: overrides, text, patterns, annotations, pickles."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import typing
from pathlib import Path

import pytest
from support import run, write

import paddle_flags as pf

# ---- override ----


def test_a_flag_is_overridden_for_a_block_and_for_a_call(name):
    flag = pf.define(name, 1)
    with flag.override(3):
        assert (flag.value, flag.source) == (3, "override")
        with flag.override(4), pf.override({name: 5}):
            assert flag.value == 5
    assert (flag.value, flag.source) == (1, "default")

    @flag.override(7)
    def value() -> int:
        return flag.value

    @flag.override(8)
    async def later() -> int:
        return flag.value

    import asyncio

    assert (value(), asyncio.run(later()), flag.value) == (7, 8, 1)


def line_of(text: str) -> int:
    return Path(__file__).read_text("utf-8").partition(text)[0].count("\n") + 1


def test_an_override_of_a_flag_knows_its_line_and_ends_once(name):
    flag = pf.define(name, 1)
    scope = flag.override(3)
    with scope:
        assert flag.place == f"{__file__}:{line_of('scope = flag.override(3)')}"
    with pytest.raises(pf.FlagArgumentError, match="has already ended"):
        scope.__exit__(None, None, None)


@pytest.mark.parametrize("kind", ["flag", "handles"])
def test_an_override_that_is_refused_changes_nothing(name, kind):
    flag = pf.define(name, 1, max=5)
    for wrong, error in ((6, pf.FlagValueError), ("x", pf.FlagTypeError)):
        scope = flag.override(wrong) if kind == "flag" else pf.override({flag: wrong})
        with pytest.raises(error), scope:
            raise AssertionError
    assert (flag.value, flag.source) == (1, "default")


def test_an_override_of_an_undefined_flag_is_an_error_when_it_begins(name, plugin):
    loaded = pf.load_plugin(plugin(f'PD_DEFINE_int32({name}, 1, "");\n'))
    flag = pf.FLAGS[name]
    loaded.unload()
    scope = flag.override(2)
    with pytest.raises(pf.UndefinedFlagError, match=name), scope:
        raise AssertionError


def test_override_and_update_take_handles_and_names_together(name):
    first, second = pf.define(f"{name}.a", 1), pf.define(f"{name}_b", 2)
    third = pf.define(f"{name}_c", "x")
    with pf.override({first: 10, second.name: 20}, **{third.name: "y"}):
        assert (first.value, second.value, third.value) == (10, 20, "y")
    assert (first.value, second.value, third.value) == (1, 2, "x")
    pf.FLAGS.update({first: 11, second.name: 21}, **{third.name: "z"})
    assert (first.value, second.value, third.value) == (11, 21, "z")


def test_of_a_handle_and_a_name_of_one_flag_the_later_counts(name):
    flag = pf.define(name, 1, aliases=[f"{name}_alias"])
    with pf.override({flag: 2, f"{name}_alias": 3}):
        assert flag.value == 3
    assert flag.value == 1


def test_errors_of_handles_and_names_come_together(name):
    flag = pf.define(name, 1)
    with pytest.raises(pf.FlagError) as caught:
        pf.override({flag: "x", f"{name}_none": 1, 5: 1}).__enter__()  # type: ignore[dict-item]
    assert [type(each) for each in caught.value.errors] == [
        pf.FlagTypeError,
        pf.UndefinedFlagError,
        pf.FlagTypeError,
    ]
    assert flag.value == 1


def test_flags_of_plugins_are_overridden_by_handle(name, plugin):
    with pf.load_plugin(plugin(f'PD_DEFINE_int32({name}, 1, "");\n')) as loaded:
        flag = loaded.flags[name]
        with flag.override(2):
            assert pf.FLAGS[name].value == 2
        assert pf.FLAGS[name].value == 1


# ---- text ----


@pytest.mark.parametrize(
    ("default", "spec", "text"),
    [
        (7, "", "7"),
        (7, "04d", "0007"),
        (255, "#x", "0xff"),
        (1234567, ",", "1,234,567"),
        (7, ">5", "    7"),
        (0.5, ".1%", "50.0%"),
        (1.5, "08.3f", "0001.500"),
        (1e20, "g", "1e+20"),
        ("é", ">3", "  é"),
        ("abc", ".2", "ab"),
        (True, "", "True"),
        (True, "d", "1"),
        ((1, 2), "", "(1, 2)"),
    ],
)
def test_a_format_is_that_of_the_value(name, default, spec, text):
    flag = pf.define(name, default)
    assert format(flag, spec) == format(flag.value, spec) == text
    assert f"{flag:{spec}}" == "{:{}}".format(flag, spec) == text


def test_conversions_of_text_give_the_value_or_the_flag(name):
    flag = pf.define(name, "é")
    assert (f"{flag!s}", f"{flag!s:>3}", "%s" % flag) == ("é", "  é", "é")  # noqa: UP031
    assert f"{flag!r}" == repr(flag)
    assert f"{flag!a}" == ascii(flag)
    assert f"{flag=!s}" == "flag=é"


def test_a_format_that_does_not_suit_the_value_is_the_error_of_the_value(name):
    flag, names = pf.define(name, 7), pf.define(f"{name}_names", ("a",))
    with pytest.raises(ValueError, match="Unknown format code 'y'"):
        format(flag, "y")
    with pytest.raises(TypeError, match="unsupported format string passed to tuple"):
        format(names, ">9")


def test_no_format_shows_a_sensitive_value(name):
    token = pf.define(name, "hunter2", sensitive=True)
    for text in (f"{token}", f"{token:>20}", f"{token!s}", f"{token!r}", f"{token!a}"):
        assert "<redacted>" in text
        assert "hunter2" not in text


# ---- patterns and annotations ----

MATCH = """
def kind(it):
    match it:
        case pf.Flag(name="level", value=3):
            return "level 3"
        case pf.Flag("level", int(value)) if value > 3:
            return f"high {value}"
        case pf.Flag(name=str(name), source="default"):
            return f"default {name}"
        case pf.Flag():
            return "flag"
        case _:
            return "other"

level, mode = pf.define("level", 3), pf.define("mode", "x")
print(kind(level))
level.value = 5
print(kind(level), kind(mode), kind(3), kind(pf.FLAGS), sep=", ")
mode.value = "y"
print(kind(mode))
"""


def test_a_flag_is_matched_by_name_and_value(python):
    assert python(MATCH).stdout.splitlines() == [
        "level 3",
        "high 5, default mode, other, other",
        "flag",
    ]


def test_flag_of_a_type_is_an_annotation_at_run_time(name):
    optional = typing.Optional[pf.Flag[str]]  # noqa: UP045 - as users write it

    def function(level: pf.Flag[int], mode: optional = None) -> None: ...

    hints = typing.get_type_hints(function, localns={"optional": optional})
    assert typing.get_origin(hints["level"]) is pf.Flag
    assert typing.get_args(hints["level"]) == (int,)
    assert hints["mode"] == optional
    assert pf.Flag[int] == pf.Flag[int] != pf.Flag[str]
    assert isinstance(pf.define(name, 1), pf.Flag)
    assert not isinstance(1, pf.Flag)
    with pytest.raises(TypeError):
        isinstance(pf.FLAGS[name], pf.Flag[int])  # type: ignore[misc]


# ---- copies and pickles ----


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_the_flag_by_its_name(name, protocol):
    flag = pf.define(name, 1)
    packed = pickle.dumps([flag, {flag: 1}], protocol)
    flag.value = 2
    whole, mapping = pickle.loads(packed)  # noqa: S301 - our own
    assert whole is flag
    assert (list(mapping), whole.value) == ([flag], 2)
    assert copy.copy(flag) is copy.deepcopy({1: flag})[1] is flag


def test_a_pickle_holds_no_value_of_a_sensitive_flag(name):
    assert b"hunter2" not in pickle.dumps(pf.define(name, "hunter2", sensitive=True))


def test_a_flag_whose_plugin_is_unloaded_is_pickled_and_comes_back_with_it(name, plugin):
    path = plugin(f'PD_DEFINE_int32({name}, 1, "");\n')
    loaded = pf.load_plugin(path)
    flag = pf.FLAGS[name]
    there = pickle.dumps(flag)
    loaded.unload()
    gone = pickle.dumps(flag)
    for packed, remedy in ((there, f"call load_plugin('{path}') first"), (gone, "")):
        with pytest.raises(pf.UndefinedFlagError) as caught:
            pickle.loads(packed)  # noqa: S301 - our own
        assert str(caught.value).startswith(f"cannot unpickle the flag '{name}', which is not")
        assert str(caught.value).endswith(remedy)
    with pf.load_plugin(path):
        assert pickle.loads(there) is flag is pickle.loads(gone)  # noqa: S301 - our own


CHILD = """
import sys, multiprocessing
import paddle_flags as pf

def show(flag):
    print(flag.name, flag.value, flush=True)

{0}
if __name__ == "__main__":
    {1}
    child = multiprocessing.get_context("spawn").Process(target=show, args=(flag,))
    child.start()
    child.join()
"""


@pytest.mark.parametrize(
    ("outside", "inside", "shown", "said"),
    [
        ("flag = pf.define('level', 3)", "pass", "level 3\n", ""),
        (
            "",
            "flag = pf.define('level', 3)",
            "",
            "which is not defined here: define it at the top level of {0}, not under if",
        ),
        (
            "",
            "from package.flags import level as flag",
            "",
            "flag 'level', which is not defined here: import package.flags first",
        ),
    ],
)
def test_a_spawned_child_that_lacks_the_flag_says_where_it_is_defined(
    tmp_path, outside, inside, shown, said
):
    write(tmp_path / "package" / "__init__.py", "")
    definition = "import paddle_flags as pf\nlevel = pf.define('level', 4)\n"
    write(tmp_path / "package" / "flags.py", definition)
    script = write(tmp_path / "program.py", CHILD.format(outside, inside))
    ended = run(sys.executable, script, check=False, env={**os.environ, "PYTHONPATH": ""})
    assert ended.stdout == shown
    assert said.format(script) in ended.stderr
    assert bool(ended.stderr) == bool(said)
