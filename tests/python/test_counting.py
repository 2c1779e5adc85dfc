"""Flags that count their uses, and lists and dicts that add to what files and variables give."""

from __future__ import annotations

import argparse
import warnings

import click
import pytest
from click.testing import CliRunner
from support import write

import paddle_flags as pf
from paddle_flags._completion.flags import complete_flags


@pytest.fixture
def verbose() -> pf.Flag[int]:
    """A flag that counts, called by a letter too."""
    flag = pf.define("counted_verbose", 0, "Say more", max=5, count=True, aliases=["w"])
    flag.reset()
    return flag


def parse(*line: str, **how: object) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return pf.parse(["prog", *line], exit=False, **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (["-w"], 1),
        (["-www"], 3),
        (["-w", "-ww"], 3),
        (["--counted_verbose", "-w"], 2),
        (["--counted-verbose=3"], 3),
        (["--counted_verbose=3", "-w"], 4),
        (["-ww", "-w=1"], 1),
        (["-w", "file"], 1),
    ],
)
def test_each_use_without_a_value_adds_one(verbose, line, value):
    assert parse(*line) == [each for each in line if each == "file"]
    assert verbose.value == value
    assert verbose.source == "argv"


def test_a_use_adds_to_the_default_and_replaces_what_files_give(name, tmp_path):
    flag = pf.define(name, 2, count=True, type="uint32")
    path = write(tmp_path / "a.flags", f"--{name}\n--{name}\n")
    parse(config=path)
    assert (flag.value, flag.source) == (4, "file")
    parse(f"--{name}", config=path)
    assert (flag.value, flag.source) == (3, "argv")


def test_a_variable_can_count(name, monkeypatch, verbose):
    monkeypatch.setenv(f"{name.upper()}_FLAGS", "-w --counted_verbose -ww")
    parse(env_flags=f"{name.upper()}_FLAGS")
    assert (verbose.value, verbose.source) == (4, "environment")


def test_uses_of_a_flag_that_comes_later_are_counted(name):
    parse(f"--{name}", f"--{name}", f"--{name}=5", f"--{name}", allow_pending=True)
    assert pf.define(name, 0, count=True).value == 6


def test_what_does_not_count_is_an_error(verbose, name):
    with pytest.raises(pf.FlagParseError, match="=6: expected an integer"):
        parse("-wwwwww")
    with pytest.raises(pf.FlagParseError, match="-wwx: no such flag"):
        parse("-wwx")
    with pytest.raises(pf.FlagParseError, match="only a bool can be negated"):
        parse("--nocounted_verbose")
    with pytest.raises(pf.FlagArgumentError, match="it is count, but not an integer"):
        pf.define(name, "", count=True)
    with pytest.warns(pf.FlagWarning, match="a flag that counts takes its value after ="):
        assert pf.parse(["prog", "-w", "3"], exit=False) == ["3"]
    assert verbose.value == 1


def test_help_and_completion_show_that_it_needs_no_value(verbose):
    with pytest.raises(pf.HelpRequested) as raised:
        parse("--helpfull")
    assert "-w, --counted_verbose[=INT64]" in str(raised.value)
    offered = complete_flags([], "--counted_ver")
    assert [each.text for each in offered.candidates] == ["--counted_verbose"]
    assert verbose.count


def test_argparse_counts_too(verbose):
    parser = argparse.ArgumentParser()
    pf.add_options(parser, only="counted_verbose")
    parser.parse_args(["-ww", "--counted_verbose"])
    assert verbose.value == 3
    parser.parse_args(["-w"])
    assert verbose.value == 1


def test_what_argparse_counts_is_adopted_as_a_flag_that_counts(name):
    parser = argparse.ArgumentParser()
    parser.add_argument("-y", f"--{name}", action="count", default=0)
    pf.bridge(parser)
    pf.parse(["prog", f"--{name}", f"--{name}"], exit=False)
    assert pf.FLAGS[name].count
    assert pf.FLAGS[name].value == 2
    pf.undefine(name)


def test_click_counts_too(verbose):
    seen: list[int] = []

    @click.command()
    @pf.add_options(only="counted_verbose")
    def command() -> None:
        seen.append(verbose.value)

    assert CliRunner().invoke(command, ["-ww", "--counted_verbose"]).exit_code == 0
    assert CliRunner().invoke(command, ["-w"]).exit_code == 0
    assert seen == [3, 1]


# ---- Merging ----


def test_a_line_adds_to_the_list_of_a_file_if_the_flag_says_so(name, tmp_path):
    flag = pf.define(name, ["default"], multi=True, merge=True)
    plain = pf.define(f"{name}_plain", ["default"], multi=True)
    path = write(tmp_path / "a.toml", f"{name} = ['a', 'b']\n{name}_plain = ['a']\n")
    parse(config=path)
    assert flag.value == ("a", "b")
    parse(f"--{name}=c", f"--{name}=d", f"--{name}_plain=c", config=path)
    assert (flag.value, plain.value) == (("a", "b", "c", "d"), ("c",))
    assert flag.source == "argv"
    parse(f"--{name}=e", config=write(path, ""))
    assert flag.value == ("e",)


def test_a_dict_keeps_the_other_keys_of_the_file(name, tmp_path):
    flag = pf.define(name, {"z": 0}, merge=True)
    path = write(tmp_path / "a.toml", f"[{name}]\na = 1\nb = 2\n")
    parse(f"--{name}=b=3,c=4", config=path)
    assert flag.value == {"a": 1, "b": 3, "c": 4}
    parse(f"--{name}=b=3", f"--{name}=c=5", config=path)
    assert flag.value == {"a": 1, "b": 2, "c": 5}  # without multi, the last use counts


def test_variables_add_to_files_and_lines_to_both(name, tmp_path, monkeypatch):
    flag = pf.define(name, [0], merge=True)
    monkeypatch.setenv(f"MERGED_{name}", "2")
    path = write(tmp_path / "a.toml", f"{name} = [1]\n")
    parse(config=path, env_prefix="MERGED_")
    assert (flag.value, flag.source) == ((1, 2), "environment")
    parse(f"--{name}=3", config=path, env_prefix="MERGED_")
    assert flag.value == (1, 2, 3)
    flag.value = [9]
    assert flag.value == (9,)


def test_a_flag_that_comes_later_adds_too(name, tmp_path, monkeypatch):
    path = write(tmp_path / "a.toml", f"{name} = [1]\n")
    monkeypatch.setenv(f"MERGED_{name}", "2")
    parse(f"--{name}=3", f"--{name}=4", config=path, allow_pending=True, env_prefix="MERGED_")
    assert pf.define(name, [0], multi=True, merge=True).value == (1, 2, 3, 4)


def test_only_lists_and_dicts_merge(name):
    with pytest.raises(pf.FlagArgumentError, match="it is merge, but not a list"):
        pf.define(name, 1, merge=True)
