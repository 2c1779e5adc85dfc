"""Values from the environment: empty variables, files that variables name, variables with flags."""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

import pytest
from support import WINDOWS, installed, make_fifo, run, write

import paddle_flags as pf

if TYPE_CHECKING:
    from collections.abc import Callable


# Setting an empty one removes it.
EMPTY = pytest.mark.skipif(WINDOWS, reason="empty variables are missing on Windows")


@pytest.fixture
def parse(name: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Parse a line with variables of a prefix that no other test uses; none may warn."""
    prefix = f"{name.upper()}_"

    def read(*line: str, env: dict[str, str] | None = None, **how: object) -> list[str]:
        for tail, text in (env or {}).items():
            monkeypatch.setenv(prefix + tail, text)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return pf.parse(["program", *line], exit=False, env_prefix=prefix, **how)  # type: ignore[arg-type]

    return read


def in_program(code: str, *line: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"import paddle_flags as pf\n{code}", *line],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip


# ---- Empty variables ----


@EMPTY
def test_an_empty_variable_is_an_error_that_says_so(name, parse):
    pf.define(f"{name}_n", 1)
    pf.define(f"{name}_day", None, type=bool)
    empty = {f"{name}_n": "", f"{name}_day": ""}
    with pytest.raises(pf.FlagParseError) as raised:
        parse(env=empty)
    assert f"{name}_n: is empty, expected a 64-bit integer" in str(raised.value)
    assert f"{name}_day: is empty, expected true or false (or yes/no" in str(raised.value)


@EMPTY
def test_an_empty_path_of_a_file_is_an_error(name, parse):
    pf.define(f"{name}_n", 1)
    with pytest.raises(pf.FlagParseError, match=r"_n_FILE: is empty, expected the path of a file"):
        parse(env={f"{name}_n_FILE": ""}, env_files=True)


def test_empty_variables_can_count_as_not_set(name, parse):
    number, text = pf.define(f"{name}_n", 1), pf.define(f"{name}_s", "default")
    empty = {f"{name}_n": "", f"{name}_s": "", f"{name}_late": ""}
    parse(env=empty, env_ignore_empty=True)
    assert (number.value, text.value, text.source) == (1, "default", "default")
    assert pf.define(f"{name}_late", 2).source == "default"


def test_one_spelling_that_is_empty_leaves_the_other(name, parse):
    flag = pf.define(f"{name}_n", 1)
    parse(env={f"{name}_n": "", f"{name}_N".upper(): "5"}, env_ignore_empty=True)
    assert flag.value == 5


def test_fromenv_of_an_empty_variable_fails_like_that_of_a_missing_one(name, parse):
    pf.define(f"{name}_n", 1)
    empty = {f"{name}_n": ""}
    parse(f"--tryfromenv={name}_n", env=empty, env_ignore_empty=True)
    with pytest.raises(pf.FlagParseError, match="the environment has no"):
        parse(f"--fromenv={name}_n", env=empty, env_ignore_empty=True)


@pytest.mark.parametrize("option", ["env_ignore_empty", "env_files"])
def test_options_of_variables_need_a_prefix_and_are_bools(option):
    with pytest.raises(pf.FlagArgumentError, match=f"{option}: needs an env_prefix"):
        pf.parse(["x"], **{option: True})
    with pytest.raises(pf.FlagTypeError, match=f"{option}: 1: expected bool"):
        pf.parse(["x"], env_prefix="X_", **{option: 1})


# ---- Files that variables name ----


@pytest.mark.parametrize(
    ("content", "value"), [("s3cret\n", "s3cret"), ("a\n\n", "a\n"), ("b\r\n", "b"), ("", "")]
)
def test_a_variable_names_a_file_with_the_value(name, parse, tmp_path, content, value):
    token = pf.define(f"{name}_token", "none", sensitive=True)
    path = tmp_path / "token"
    path.write_bytes(content.encode())
    parse(env={f"{name}_token_FILE": str(path)}, env_files=True)
    assert (token.value, token.source) == (value, "environment")
    assert token.place == f"{name.upper()}_{name}_token_FILE={path}"
    assert str(path) in pf.explain(token.name)
    assert "s3cret" not in pf.explain(token.name)


def test_the_file_of_a_flag_that_comes_later_is_read_then(name, parse, tmp_path):
    (tmp_path / "n").write_text("7\n")
    parse(env={f"{name}_N_FILE".upper(): str(tmp_path / "n")}, env_files=True)
    assert pf.define(f"{name}_n", 1).value == 7


def test_files_are_not_read_unless_asked_for(name, parse, tmp_path):
    flag = pf.define(f"{name}_n", 1)
    (tmp_path / "n").write_text("7\n")
    parse(env={f"{name}_n_FILE": str(tmp_path / "n")})
    assert flag.value == 1


def test_errors_name_the_variable_and_the_file_and_no_secret(name, parse, tmp_path):
    pf.define(f"{name}_n", 1, sensitive=True)
    pf.define(f"{name}_gone", "")
    pf.define(f"{name}_zero", "")
    (tmp_path / "n").write_text("s3cret\n")
    (tmp_path / "zero").write_bytes(b"a\0b")
    env = {f"{name}_{key}_FILE": str(tmp_path / key) for key in ("n", "gone", "zero")}
    with pytest.raises(pf.FlagParseError) as raised:
        parse(env=env, env_files=True)
    text = str(raised.value)
    start = f"environment: {name.upper()}_{name}"
    assert f"{start}_n_FILE={tmp_path / 'n'}: {name}_n=<redacted>: expected" in text
    assert f"{start}_gone_FILE={tmp_path / 'gone'}: no such file" in text
    assert f"{start}_zero_FILE={tmp_path / 'zero'}: holds a NUL byte" in text
    assert "s3cret" not in text


def test_a_value_and_a_file_for_it_are_an_error(name, parse, tmp_path):
    pf.define(f"{name}_n", 1)
    (tmp_path / "n").write_text("7\n")
    with pytest.raises(pf.FlagParseError, match="_n_FILE are both set, expected one of them"):
        parse(env={f"{name}_n": "5", f"{name}_n_FILE": str(tmp_path / "n")}, env_files=True)


def test_a_flag_called_file_keeps_its_own_variable(name, parse):
    token = pf.define(f"{name}_token", "none")
    file = pf.define(f"{name}_token_file", "")
    parse(env={f"{name}_TOKEN_FILE".upper(): "/run/x"}, env_files=True)
    assert (token.value, file.value) == ("none", "/run/x")


def test_a_fifo_is_refused_and_nobody_waits_for_it(name, parse, tmp_path):
    pf.define(f"{name}_n", 1)
    make_fifo(tmp_path / "fifo")
    with pytest.raises(pf.FlagParseError, match="expected a regular file"):
        parse(env={f"{name}_n_FILE": str(tmp_path / "fifo")}, env_files=True)


# ---- One variable with many flags ----


@pytest.fixture
def flags_of(name: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    variable = f"{name.upper()}_FLAGS"

    def read(text: str, *line: str, **how: object) -> list[str]:
        monkeypatch.setenv(variable, text)
        return pf.parse(["program", *line], exit=False, env_flags=variable, **how)  # type: ignore[arg-type]

    return read


def test_one_variable_has_many_flags(name, flags_of):
    number, text = pf.define(f"{name}.n", 1), pf.define(f"{name}.s", "")
    check, some = pf.define(f"{name}.check", True), pf.define(f"{name}.l", [0], multi=True)
    line = f"""--{name}.n=2  -{name}.s='two words' --no{name}.check
               --{name}.l=1 --{name}.l="2" rest"""
    with pytest.raises(pf.FlagParseError, match=r"FLAGS: word 6: expected --name=value$"):
        flags_of(line)
    assert number.value == 1
    assert flags_of(line.replace("rest", ""), "rest") == ["rest"]
    assert (number.value, text.value, check.value, some.value) == (2, "two words", False, (1, 2))
    assert (text.source, text.place) == ("environment", f"{name.upper()}_FLAGS")


def test_the_variable_of_a_flag_and_the_line_take_precedence(name, flags_of, monkeypatch):
    number = pf.define(f"{name}_n", 1)
    monkeypatch.setenv(f"{name.upper()}_X_{name}_n", "3")
    flags_of(f"--{name}_n=2", env_prefix=f"{name.upper()}_X_")
    assert number.value == 3
    flags_of(f"--{name}_n=2", f"--{name}_n=4")
    assert number.value == 4


def test_what_is_wrong_in_the_variable_is_told_with_the_nearest_name(name, flags_of):
    pf.define(f"{name}.level", 1, max=9)
    pf.define(f"{name}.key", "", sensitive=True)
    with pytest.raises(pf.FlagParseError) as raised:
        flags_of(f"--{name}.leevl=2 --{name}.level=12 --help --flagfile=x --{name}.key 'a")
    text = str(raised.value)
    variable = f"environment: {name.upper()}_FLAGS"
    assert f"{variable} ({name}.leevl): no such flag; did you mean '--{name}.level'?" in text
    assert f"{variable} ({name}.level)=12: expected" in text
    assert f"{variable} (help): expected a flag; of options, only --undefok" in text
    assert f"{variable} (flagfile): expected a flag" in text
    assert f"{variable} ({name}.key): the value is missing, expected text" in text
    assert f"{variable}: a quote is not closed" in text


def test_undefok_and_pending_names_work_in_the_variable(name, flags_of):
    flags_of(f"--{name}.theirs=2 --undefok={name}.theirs")
    flags_of(f"--{name}.late=2", allow_pending=True)
    late = pf.define(f"{name}.late", 1)
    assert (late.value, late.source) == (2, "environment")


@pytest.mark.parametrize("variable", ["", "A=B"])
def test_the_name_of_the_variable_is_checked(variable):
    with pytest.raises(pf.FlagArgumentError, match="expected the name of a variable"):
        pf.parse(["x"], env_flags=variable)


# ---- Variables that are almost those of flags ----


@pytest.mark.parametrize(
    ("tail", "near"),
    [
        ("ann_treads", "ann_threads"),
        ("ANN_THREDS", "ANN_THREADS"),
        pytest.param(
            *("Ann_Threads", "ann_threads"),
            marks=pytest.mark.skipif(WINDOWS, reason="the case of variables is missing on Windows"),
        ),
        ("ann_thraeds", "ann_threads"),
    ],
)
def test_a_variable_that_is_almost_that_of_a_flag_is_told_without_asking(
    tail, near, monkeypatch, name
):
    pf.define("ann_threads", 4)
    prefix = f"{name.upper()}_"
    monkeypatch.setenv(prefix + tail, "8")
    told = f"environment variable {prefix}{tail} names no flag; did you mean {prefix}{near}\\?"
    if WINDOWS:  # where Python's variables have capitals
        told = f"(?i){told}"
    with pytest.warns(pf.UnknownVariableWarning, match=told):
        pf.parse(["program"], env_prefix=prefix)


def test_other_variables_with_the_prefix_are_told_only_when_asked_for(name, parse):
    pf.define(f"{name}_threads", 4)
    pf.define(f"{name}_old", 4, old_names=[f"{name}_older"])
    pf.define("q", 1)
    others = {f"{name}_trees": "1", "HOME": "x", "w": "2", f"{name}_older": "3"}
    with pytest.raises(pf.DeprecatedFlagWarning):  # the only one
        parse(env=others)
    with pytest.raises(pf.UnknownVariableWarning, match=r"names no flag$"):
        parse(env=others, warn_unknown_env=True)


def test_a_variable_of_a_file_or_of_flags_is_no_misspelt_one(name, parse, tmp_path):
    pf.define(f"{name}_flag", "")
    (tmp_path / "n").write_text("7\n")
    variable = f"{name.upper()}_{name}_flags"
    env = {f"{name}_flag_FILE": str(tmp_path / "n"), f"{name}_flags": ""}
    parse(env=env, env_files=True, env_flags=variable)


def test_the_file_of_a_misspelt_variable_is_told(name, parse, tmp_path):
    pf.define(f"{name}_token", "")
    with pytest.raises(pf.UnknownVariableWarning, match=f"(?i)did you mean .*{name}_token_FILE"):
        parse(env={f"{name}_tokn_FILE": str(tmp_path)}, env_files=True)


# ---- Arguments that look like values ----


@pytest.mark.parametrize("word", ["false", "0", "no", "off", "TRUE"])
def test_a_bool_word_behind_a_bool_is_told(name, word):
    flag = pf.define(name, False)
    told = f"--{name}: the argument {word} is not its value; a bool takes its value after =, "
    with pytest.warns(pf.FlagWarning, match=f"{told}as in --{name}={word}"):
        rest = pf.parse(["program", f"--{name}", word], exit=False)
    assert (rest, flag.value) == ([word], True)


def test_a_program_that_exits_prints_it(name):
    code = f"pf.define('{name}', True); print(pf.parse(), pf.FLAGS.{name})"
    ended = in_program(code, f"--{name}", "false", env={})
    assert ended.stdout == "['false'] True\n"
    assert f"-c: warning: --{name}: the argument false is not its value; a bool" in ended.stderr


@pytest.mark.parametrize("line", [["--{}", "file"], ["--no{}", "false"], ["--{}", "--", "false"]])
def test_other_arguments_behind_a_bool_are_left_alone(name, line, parse):
    pf.define(name, False)
    parse(*(each.format(name) for each in line))


def test_a_command_behind_a_bool_is_left_alone(name):
    pf.define(name, False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pf.commands({"on": lambda: None}, ["program", f"--{name}", "on"], exit=False)


# ---- Other parsers, and our own commands ----

VARIABLES = {"APP_n": "", "APP_OPTIONS": "--m=4", "PATH": ""}
HOW = "env_prefix='APP_', env_ignore_empty=True, env_files=True, env_flags='APP_OPTIONS'"
FLAGS_HERE = "pf.define('n', 1); pf.define('m', 1); pf.define('token', '')\n"
SHOW = "print(*[pf.FLAGS[name].value for name in ('n', 'm', 'token')])"


@pytest.mark.parametrize(
    ("library", "code"),
    [
        ("argparse", f"p = argparse.ArgumentParser(); pf.add_options(p, {HOW}); p.parse_args([])"),
        ("argparse", f"p = argparse.ArgumentParser(); pf.bridge(p, {HOW}); p.parse_args([])"),
        (
            "click",
            (
                f"c = click.command()(pf.add_options({HOW})(lambda: {SHOW}))\n"
                "c([], standalone_mode=False)"
            ),
        ),
        ("absl", f"import absl.flags; pf.bridge(absl.flags.FLAGS, {HOW}); absl.flags.FLAGS(['p'])"),
    ],
)
def test_other_parsers_read_the_environment_in_each_way(tmp_path, library, code):
    if library != "argparse":
        installed(library)
    (tmp_path / "token").write_text("secret\n")
    env = VARIABLES | {"APP_token_FILE": str(tmp_path / "token")}
    ran = in_program(f"import {library}\n{FLAGS_HERE}{code}\n{SHOW}", env=env)
    assert ran.stdout.splitlines()[:1] == ["1 4 secret"], ran.stderr


def test_other_parsers_take_no_other_parameters_of_parse():
    with pytest.raises(TypeError, match="unexpected keyword argument 'usage'"):
        pf.add_options(argparse.ArgumentParser(), usage="x")  # type: ignore[call-arg]
    with pytest.raises(pf.FlagArgumentError, match="env_files: needs an env_prefix"):
        pf.bridge(argparse.ArgumentParser(), env_files=True)


def test_our_commands_read_the_environment_in_each_way(tmp_path):
    write(tmp_path / "flags_here.py", f"import paddle_flags as pf\n{FLAGS_HERE}")
    (tmp_path / "token").write_text("secret\n")
    env = VARIABLES | {"APP_token_FILE": str(tmp_path / "token")}
    command = [sys.executable, "-m", "paddle_flags", "list", "-m", "flags_here"]
    ways = ["--env-prefix=APP_", "--env-ignore-empty", "--env-files", "--env-flags", "APP_OPTIONS"]
    listed = run(*command, *ways, cwd=tmp_path, env=env).stdout
    rows = [line.split()[:4] for line in listed.splitlines()[1:]]
    assert ["n", "int64", "1", "default"] in rows
    assert ["m", "int64", "4", "environment"] in rows
    assert ["token", "string", "secret", "environment"] in rows
    alone = run(*command, "--env-files", cwd=tmp_path, env=env, check=False)
    assert "error: --env-files: expected --env-prefix PREFIX with it" in alone.stderr


# ---- Flagfiles of config ----


def test_a_flagfile_of_config_reads_variables_as_the_line_does(name, parse, tmp_path):
    flags = [pf.define(f"{name}_{tail}", "unset") for tail in ("a", "b", "c")]
    (tmp_path / "token").write_text("secret\n")
    names = [flag.name for flag in flags]
    lines = f"--fromenv={names[0]},{names[1]}\n--tryfromenv={names[2]}\n"
    path = write(tmp_path / "app.flags", lines)
    env = {f"{names[0]}": "own", f"{names[1]}_FILE": str(tmp_path / "token"), names[2]: ""}
    parse(env=env, config=path, env_files=True, env_ignore_empty=True)
    assert [flag.value for flag in flags] == ["own", "secret", "unset"]
    in_file = [[entry.source for entry in flag.history] for flag in flags]
    assert in_file[0] == ["environment", "file", "default"]
    assert pf.reload() == []


def test_a_flagfile_of_config_names_the_variable_that_is_missing(name, parse, tmp_path):
    pf.define(name, 1)
    path = write(tmp_path / "app.flags", f"--fromenv={name}")
    with pytest.raises(pf.FlagParseError, match=f"environment has no {name.upper()}_{name}"):
        parse(config=path)
    with pytest.raises(pf.FlagParseError, match=f"environment has no FLAGS_{name}"):
        pf.parse(["program"], config=path, exit=False)
