"""One name in two modules: the same definition is one flag, any other is refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from joining import REGISTRY, Maker, environment, obey

if TYPE_CHECKING:
    from pathlib import Path

COMMON = """
#include <pd_flags.h>
PD_DEFINE_int32(common_level, 6, "How hard to try", .min = 0, .max = 99);
PD_DEFINE_string(common_mode, "fast", "How to search");
int level(void);
const char *mode(void);
int level(void) { return FLAGS_common_level; }
const char *mode(void) { return FLAGS_common_mode; }
"""
DIFFERENT = {
    "type": COMMON.replace("PD_DEFINE_int32", "PD_DEFINE_int64").replace(
        "return FLAGS_common_level", "return (int)FLAGS_common_level"
    ),
    "default": COMMON.replace(", 6,", ", 7,"),
    "help": COMMON.replace("How hard", "How much"),
    "range": COMMON.replace(".max = 99", ".max = 98"),
}
DIFFERS = {
    "type": "",
    "default": ": default 7, not 6",
    "help": ": help 'How much to try', not 'How hard to try'",
    "range": r": range \[0, 98\], not \[0, 99\]",
}
# A flag of its own stands before the one that is refused.
STRANGER = """
#include <pd_flags.h>
PD_DEFINE_bool(stranger_first, false, "Whether");
PD_DEFINE_double(common_level, 0.5, "Something else");
PD_DEFINE_bool(stranger_last, false, "Whether");
int level(void);
int level(void) { return (int)(FLAGS_common_level * 100); }
"""
REGISTER = f"registry {REGISTRY}"


@pytest.fixture(scope="module")
def twins(maker: Maker) -> tuple[Path, Path]:
    """Two plugins from sources of the same name, in two directories."""
    left = maker.plugin("common", COMMON)
    right = Maker(maker.directory / "right").plugin("common", COMMON)
    return left, right


@pytest.fixture(scope="module")
def stranger(maker: Maker) -> Path:
    return maker.plugin("stranger", STRANGER)


@pytest.mark.parametrize("first", ["registry", "plugin"])
def test_the_same_source_in_two_plugins_is_one_flag_with_two_cells(
    host: Path, twins: tuple[Path, Path], first: str
) -> None:
    left, right = twins
    opens = [f"open local {left}", f"open local {right}"]
    arrive = [REGISTER, *opens] if first == "registry" else [*opens, REGISTER]
    calls = [f"call {left} level", f"call {right} level", f"text {right} mode"]
    said = obey(
        host, *arrive, "cells common_level", "set common_level 42", "set common_mode best", *calls
    )
    assert said == ["ok", "ok", "ok", "2", "ok", "ok", "42", "42", "best"]


def test_either_of_two_twins_may_leave_first(host: Path, twins: tuple[Path, Path]) -> None:
    for leaves, stays in (twins, twins[::-1]):
        said = obey(
            host,
            REGISTER,
            f"load {twins[0]}",
            f"load {twins[1]}",
            "set common_level 41",
            f"unload {leaves}",
            "get common_level",
            "set common_level 42",
            f"call {stays} level",
            "cells common_level",
            f"load {leaves}",
            f"call {leaves} level",
            f"unload {stays}",
            f"unload {leaves}",
            "modules",
        )
        assert said[3:] == ["ok", "ok", "41", "ok", "42", "1", "ok", "42", "ok", "ok", "0"]


@pytest.mark.parametrize("difference", DIFFERENT)
def test_any_other_definition_of_a_name_is_refused_with_both_places(
    maker: Maker, host: Path, twins: tuple[Path, Path], difference: str
) -> None:
    other = Maker(maker.directory / difference).plugin("common", DIFFERENT[difference])
    said = obey(host, REGISTER, f"load {twins[0]}", f"load {other}", f"call {twins[0]} level")
    kind = "int64" if difference == "type" else "int32"
    mine, theirs = (re.escape(str(path)[-40:]) for path in (other, twins[0]))
    message = (
        f"PD_ERR_CONFLICT: 'common_level' is already defined, int32 at .*common.c:3 in .*{theirs}; "
        f"refused: {kind} at .*common.c:3 in .*{mine}{DIFFERS[difference]}"
    )
    assert re.fullmatch(message, said[2]), said[2]
    assert said[3:] == ["6"]


def test_a_refused_load_leaves_nothing_behind(
    host: Path, twins: tuple[Path, Path], stranger: Path
) -> None:
    said = obey(
        host,
        REGISTER,
        f"load {twins[0]}",
        f"load {stranger}",
        f"mapped {stranger}",
        "get stranger_first",
        "get stranger_last",
        "modules",
        "cells common_level",
        "set common_level 42",
        f"call {twins[0]} level",
        f"unload {twins[0]}",
        f"load {stranger}",
        "get stranger_first",
        "get common_level",
    )
    assert said[2].startswith("PD_ERR_CONFLICT: 'common_level' is already defined, ")
    undefined = [f"PD_ERR_UNDEFINED: no flag is named 'stranger_{n}'" for n in ("first", "last")]
    assert said[3:10] == ["no", *undefined, "1", "1", "ok", "42"]
    # A number that was given to the int32 waits, and suits the double.
    assert said[10:] == ["ok", "ok", "false", "42"]


def test_a_plugin_that_the_loader_keeps_in_spite_of_a_conflict_reads_its_defaults(
    host: Path, twins: tuple[Path, Path], stranger: Path
) -> None:
    said = obey(
        host,
        REGISTER,
        f"load {twins[0]}",
        f"open local {stranger}",
        "set common_level 42",
        f"call {stranger} level",
        "get stranger_first",
        "modules",
        f"close {stranger}",
        f"call {twins[0]} level",
    )
    undefined = "PD_ERR_UNDEFINED: no flag is named 'stranger_first'"
    assert said == ["ok", "ok", "ok", "ok", "50", undefined, "1", "ok", "42"]


def test_plugins_that_conflict_before_the_registry_comes_leave_the_first_one_working(
    host: Path, twins: tuple[Path, Path], stranger: Path
) -> None:
    said = obey(
        host,
        f"open local {twins[0]}",
        f"open local {stranger}",
        REGISTER,
        "set common_level 42",
        f"call {twins[0]} level",
        f"call {stranger} level",
        f"load {stranger}",
    )
    assert said[:6] == ["ok", "ok", "ok", "ok", "42", "50"]
    assert said[6].startswith("PD_ERR_CONFLICT: 'common_level' is already defined, ")


def test_a_dependency_that_conflicts_refuses_the_whole_load(
    maker: Maker, host: Path, twins: tuple[Path, Path], stranger: Path
) -> None:
    user = '#include <pd_flags.h>\nPD_DEFINE_bool(user_flag, false, "Whether");\n'
    needed = (f"-L{stranger.parent}", "-Wl,--no-as-needed", "-lstranger")
    outer = maker.plugin("user", user, flags=(*needed, f"-Wl,-rpath,{stranger.parent}"))
    said = obey(
        host, REGISTER, f"load {twins[0]}", f"load {outer}", "get user_flag", f"mapped {stranger}"
    )
    assert said[2].startswith("PD_ERR_CONFLICT: 'common_level' is already defined")
    assert said[3:] == ["PD_ERR_UNDEFINED: no flag is named 'user_flag'", "no"]


def test_a_value_that_does_not_suit_a_late_plugin_is_an_error_and_not_its_end(
    host: Path, twins: tuple[Path, Path]
) -> None:
    env = environment(FLAGS_common_level="12abc", FLAGS_common_mode="best")
    plugin = twins[0]
    said = obey(
        host,
        REGISTER,
        "env FLAGS_",
        f"load {plugin}",
        f"call {plugin} level",
        f"text {plugin} mode",
        env=env,
    )
    assert said[2] == (
        "joined, PD_ERR_VALUE: environment: FLAGS_common_level=12abc: "
        "expected an integer in [0, 99]"
    )
    assert said[3:] == ["6", "best"]
