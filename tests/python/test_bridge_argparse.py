"""Flags as options of an argparse parser, and options of a parser as flags."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from support import package, run, write

import paddle_flags as pf


def parser(**options: Any) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog="prog", exit_on_error=False, **options)


def failing(made: argparse.ArgumentParser, args: list[str]) -> str:
    """Return the error that reading the arguments raises; the parser must not exit."""
    with pytest.raises(argparse.ArgumentError) as caught:
        made.parse_args(args)
    return str(caught.value)


# ---- add_options ----


def test_a_parser_sets_flags_from_its_command_line(name: str) -> None:
    pf.define(name, 6, "Level", min=1, max=9)
    pf.define(f"{name}_check", False)
    pf.define(f"{name}_names", ["a"])
    made = parser()
    made.add_argument("files", nargs="*")
    pf.add_options(made, only=f"{name}*")
    args = made.parse_args(["x", f"--{name}", "7", f"--{name}_check", f"--{name}_names=b,c"])
    assert vars(args) == {"files": ["x"]}
    assert pf.FLAGS[name].value == 7
    assert pf.FLAGS[f"{name}_check"].value is True
    assert pf.FLAGS[f"{name}_names"].value == ("b", "c")
    assert pf.FLAGS[name].source == "argv"
    assert [pf.FLAGS[f"{name}{end}"].place for end in ("", "_check", "_names")] == [
        "argv[2]",
        "argv[4]",
        "argv[5]",
    ]


@pytest.mark.parametrize("token", ["--no{}", "--no-{}", "--no-{dashes}", "--no{dashes}"])
def test_a_bool_is_turned_off_as_on_any_command_line(name: str, token: str) -> None:
    pf.define(name, True)
    made = parser()
    pf.add_options(made, only=name)
    made.parse_args([token.format(name, dashes=name.replace("_", "-"))])
    assert pf.FLAGS[name].value is False


def test_a_bool_does_not_take_the_next_token(name: str) -> None:
    pf.define(name, False)
    made = parser()
    made.add_argument("file")
    pf.add_options(made, only=name)
    assert made.parse_args([f"--{name}", "x"]).file == "x"
    assert pf.FLAGS[name].value is True


def test_the_last_of_several_values_counts(name: str) -> None:
    pf.define(name, 1)
    made = parser()
    pf.add_options(made, only=name)
    made.parse_args([f"--{name}=2", f"--{name}", "3"])
    assert (pf.FLAGS[name].value, pf.FLAGS[name].place) == (3, "argv[2]")


def test_all_errors_are_reported_and_no_flag_changes(name: str) -> None:
    pf.define(name, 6, min=1, max=9)
    pf.define(f"{name}_mode", "fast", choices=["fast", "best"])
    pf.define(f"{name}_good", 1)
    made = parser()
    pf.add_options(made, only=f"{name}*")
    text = failing(made, [f"--{name}=0", f"--{name}_mode=slow", f"--{name}_good=2"])
    assert text == (
        f"--{name}=0: expected an integer in [1, 9]\n--{name}_mode=slow: expected one of fast, best"
    )
    assert pf.FLAGS[f"{name}_good"].value == 1


def test_a_program_exits_as_argparse_does(python: Any) -> None:
    text = (
        "import argparse\npf.define('port', 80, 'Port', min=1, category='net')\n"
        "p = argparse.ArgumentParser()\npf.add_options(p)\np.parse_args()"
    )
    result = python(text, "--port=0", check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1] == "script.py: error: --port=0: expected an integer >= 1"
    result = python(text, "--help")
    assert result.returncode == 0
    assert "script.py, net:\n  --port INT64  Port [at least 1] [default: 80]" in result.stdout
    result = python(text, "--prot=1", check=False)
    assert (result.returncode, "unrecognized arguments: --prot=1" in result.stderr) == (2, True)


def test_percent_signs_and_hidden_flags_in_help(name: str) -> None:
    pf.define(name, "50%", "Half: 50% of %s")
    pf.define(f"{name}_hidden", 1, hidden=True)
    made = parser()
    pf.add_options(made, only=f"{name}*")
    text = made.format_help()
    assert "Half: 50% of %s" in " ".join(text.split())
    assert "_hidden" not in text
    made.parse_args([f"--{name}_hidden=2"])
    assert pf.FLAGS[f"{name}_hidden"].value == 2


def test_the_environment_and_files_are_read_too(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pf.define(name, 1)
    pf.define(f"{name}_file", 1)
    monkeypatch.setenv(f"BRIDGE_{name}", "2")
    file = write(tmp_path / "x.flags", f"--{name}_file=3\n")
    made = parser()
    pf.add_options(made, only=f"{name}*", env_prefix="BRIDGE_", config=file)
    made.parse_args([])
    assert (pf.FLAGS[name].value, pf.FLAGS[name].source) == (2, "environment")
    assert (pf.FLAGS[f"{name}_file"].value, pf.FLAGS[f"{name}_file"].source) == (3, "file")


def test_required_flags_and_rules_hold_at_the_end(name: str) -> None:
    low, high = pf.define(f"{name}_low", 1), pf.define(f"{name}_high", 2)
    made = parser()
    pf.add_options(made, only=f"{name}*")
    with pf.FLAGS[f"{name}_low"].validate(lambda _: True):

        @pf.validator(low, high, message="low must be below high")
        def is_ordered(low: int, high: int) -> bool:
            return low < high

        made.parse_args([f"--{name}_low=5", f"--{name}_high=6"])  # only together
    assert "low must be below high" in failing(made, [f"--{name}_low=9"])


def test_flags_defined_before_parsing_are_options(name: str) -> None:
    made = parser()
    pf.add_options(made, only=f"{name}*")
    pf.define(name, 1)
    made.parse_args([f"--{name}=2"])
    assert pf.FLAGS[name].value == 2
    pf.define(f"{name}_more", 1)
    made.parse_args([f"--{name}_more=2"])
    assert pf.FLAGS[f"{name}_more"].value == 2


def test_options_follow_a_new_definition_of_their_flag(name: str) -> None:
    other = f"{name}_z"
    pf.define(name, 6, "Level")
    pf.define(other, 6, "Other")
    made = parser()
    pf.add_options(made, only=[name, other])
    pf.define(name, False, "Loudly", replace=True)
    pf.FLAGS[other].set_default(9)
    text = made.format_help()
    assert "Loudly [default: false]" in text
    assert "Level" not in text
    assert "Other [default: 9]" in text
    made.parse_args([f"--{name}", f"--{other}=1"])
    assert (pf.FLAGS[name].value, pf.FLAGS[other].value) == (True, 1)
    made.parse_args([f"--no{name}"])
    assert pf.FLAGS[name].value is False
    pf.FLAGS[name].reset()
    pf.define(name, "a", "Name", replace=True)
    made.parse_args([f"--{name}", "b"])
    assert pf.FLAGS[name].value == "b"
    assert made.parse_known_args([f"--no{name}"])[1] == [f"--no{name}"]


def test_an_undefined_flag_leaves_the_parser(name: str) -> None:
    pf.define(name, 6, "Level")
    made = parser()
    pf.add_options(made, only=name)
    sub = made.add_subparsers().add_parser("sub")
    pf.add_options(sub, only=name)
    pf.undefine(name)
    assert made.parse_known_args(["sub", f"--{name}=7"])[1] == [f"--{name}=7"]
    assert f"--{name}" not in made.format_help()
    assert made.parse_known_args([f"--{name}=7"])[1] == [f"--{name}=7"]
    pf.define(name, 5)
    assert made.parse_args([f"--{name}=7"])
    assert pf.FLAGS[name].value == 7


def test_values_wait_for_plugins(name: str) -> None:
    made = parser()
    made.add_argument("file")
    pf.add_options(made, only=[], allow_pending=True)
    made.parse_args([f"--{name}=5", "x"])
    assert pf.define(name, 1).value == 5


def test_unknown_tokens_are_left_to_the_caller(name: str) -> None:
    pf.define(name, 1)
    made = parser()
    pf.add_options(made, only=name)
    _, rest = made.parse_known_args(["--later=5", f"--{name}=2", "x"])
    assert (rest, pf.FLAGS[name].value) == (["--later=5", "x"], 2)


def test_parse_intermixed_args_sets_flags(name: str) -> None:
    pf.define(name, 1)
    made = parser()
    made.add_argument("files", nargs="*")
    pf.add_options(made, only=name)
    args = made.parse_intermixed_args(["a", f"--{name}=2", "b"])
    assert (args.files, pf.FLAGS[name].value) == (["a", "b"], 2)


def test_sub_parsers_set_flags_with_their_parser(name: str) -> None:
    pf.define(name, 1)
    pf.define(f"{name}_sub", "")
    made = parser()
    sub = made.add_subparsers(dest="command").add_parser("train", exit_on_error=False)
    sub.add_argument("--rate", type=float, dest=f"{name}_rate")
    pf.add_options(made, only=name)
    pf.add_options(sub, only=f"{name}_sub")
    pf.bridge(sub)
    args = made.parse_args([f"--{name}=2", "train", f"--{name}_sub=x", "--rate=0.5"])
    assert args.command == "train"
    assert getattr(args, f"{name}_rate") == pf.FLAGS[f"{name}_rate"].value == 0.5
    assert (pf.FLAGS[name].value, pf.FLAGS[f"{name}_sub"].value) == (2, "x")
    assert pf.FLAGS[f"{name}_sub"].place == "argv[3]"


def test_an_option_of_the_parser_is_not_replaced(name: str) -> None:
    pf.define(name, 1)
    made = parser()
    made.add_argument(f"--{name}")
    with pytest.raises(pf.FlagConflictError, match="the parser already has this option"):
        pf.add_options(made, only=name)


def test_a_parser_that_got_the_options_from_its_parent_says_what_to_do(name):
    pf.define(name, 1)
    parent = argparse.ArgumentParser(add_help=False)
    pf.add_options(parent, only=[name])
    parser = argparse.ArgumentParser(parents=[parent])
    expected = f"--{name}: add_options was called with a parent of this parser"
    with pytest.raises(pf.FlagArgumentError, match=expected):
        parser.parse_args([f"--{name}=3"])


def test_mistakes_in_the_arguments_are_errors(name: str) -> None:
    wrong: Any
    for wrong in ("prog", None, argparse):
        with pytest.raises(pf.FlagTypeError, match="expected an ArgumentParser"):
            pf.add_options(wrong)
    with pytest.raises(pf.UndefinedFlagError):
        pf.add_options(parser(), only=name)
    with pytest.raises(pf.FlagTypeError):
        pf.add_options(parser(), only=5)  # type: ignore[arg-type]
    with pytest.raises(pf.FlagArgumentError, match="prefix_chars"):
        pf.add_options(parser(prefix_chars="+", add_help=False))


# ---- a program from PyPI ----


def program(tmp_path: Path, line: str) -> Path:
    """Return pygmentize with a line before the one that reads its command line."""
    package("pygments")
    import pygments.cmdline

    source = inspect.getsource(pygments.cmdline)
    reading = "    argns = parser.parse_args(args[1:])\n"
    assert source.count(reading) == 1
    source = source.replace(reading, f"    {line}\n{reading}")
    return write(tmp_path / "pygmentize.py", f"{source}\nsys.exit(main(sys.argv))\n")


@pytest.mark.extended  # takes a second or more
def test_pygmentize_takes_its_options_from_the_environment(tmp_path: Path) -> None:
    script = program(tmp_path, "__import__('paddle_flags').bridge(parser, env_prefix='PYG_')")
    code = write(tmp_path / "x.py", "x = 1\n")
    plain = run(sys.executable, "-m", "pygments", "-f", "html", code)
    assert plain.stdout.startswith("<div")
    assert run(sys.executable, script, "-f", "html", code).stdout == plain.stdout
    assert (
        run(sys.executable, script, code, env={**os.environ, "PYG_f": "html"}).stdout
        == plain.stdout
    )
    both = run(sys.executable, script, "-f", "latex", code, env={**os.environ, "PYG_f": "html"})
    assert both.stdout.startswith("\\begin{Verbatim}")
    assert run(sys.executable, script, "-l", "python", "-g", check=False).returncode == 2


@pytest.mark.extended  # takes a second or more
def test_pygmentize_has_the_flags_of_others(tmp_path: Path) -> None:
    line = "pf = __import__('paddle_flags'); pf.define('depth', 1, 'Depth'); pf.add_options(parser)"
    script = program(tmp_path, line)
    code = write(tmp_path / "x.py", "x = 1\n")
    assert run(sys.executable, script, "--depth=2", "-f", "html", code).stdout.startswith("<div")
    assert "--depth INT64" in run(sys.executable, script, "-h").stdout
    assert (
        "--depth=x: expected" in run(sys.executable, script, "--depth=x", code, check=False).stderr
    )


def test_nothing_is_imported_before_its_use(python: Any) -> None:
    result = python("print({'argparse', 'click', 'absl'} & set(sys.modules))")
    assert result.stdout == "set()\n"
    assert isinstance(pf, types.ModuleType)
