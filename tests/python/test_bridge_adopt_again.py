"""A parser with flags that reads several command lines, into namespaces of any class."""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
from typing import Any

import pytest
from support import package

import paddle_flags as pf


def parser(**options: Any) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog="prog", exit_on_error=False, **options)


def plain(name: str) -> argparse.ArgumentParser:
    made = parser()
    made.add_argument("--force", action="store_true", dest=f"{name}_force")
    made.add_argument("--jobs", type=int, default=1, dest=f"{name}_jobs")
    made.add_argument("--tag", action="append", dest=f"{name}_tag")
    made.add_argument("-v", action="count", default=0, dest=f"{name}_v")
    return made


LINES = [["--force", "--jobs=8", "--tag=x", "--tag=y", "-vv"], [], ["--tag=z"], ["--jobs=2"], []]


def test_each_command_line_of_an_adopted_parser_stands_alone(name: str) -> None:
    made, adopted = plain(name), plain(name)
    pf.bridge(adopted)
    for line in LINES:
        assert adopted.parse_args(line) == made.parse_args(line)
        assert adopted.parse_args(line) == made.parse_args(line)
    assert (pf.FLAGS[f"{name}_jobs"].value, pf.FLAGS[f"{name}_jobs"].source) == (1, "default")


def test_each_command_line_of_a_parser_with_flags_stands_alone(name: str) -> None:
    pf.define(name, 1)
    pf.define(f"{name}_other", "a")
    made = parser()
    pf.add_options(made, only=f"{name}*")
    seen = []
    pf.FLAGS[name].watch(lambda flag: seen.append(flag.value))
    for line in ([f"--{name}=5", f"--{name}_other=b"], [f"--{name}=5"], []):
        made.parse_args(line)
        assert pf.FLAGS[name].value == (5 if line else 1)
    assert pf.FLAGS[f"{name}_other"].value == "a"
    assert seen == [5, 1]


def test_a_new_parser_for_each_command_line_drops_what_the_former_set(name: str) -> None:
    pf.define(name, 1)

    def main(argv: list[str]) -> int:
        made = parser()
        pf.add_options(made, only=name)
        made.parse_args(argv)
        return int(pf.FLAGS[name].value)

    assert (main([f"--{name}=5"]), main([])) == (5, 1)


def test_what_a_command_line_left_goes_on_with_it(name: str) -> None:
    pf.define(name, 1)
    first, second = parser(), parser()
    first.add_argument("--x", type=int, dest=f"{name}_x")
    pf.bridge(first)
    pf.add_options(first, only=name)
    result, rest = first.parse_known_args([f"--{name}=5", "--x=3", f"--{name}_late=2"])
    pf.define(f"{name}_late", 1)
    pf.add_options(second, only=[name, f"{name}_late"])
    _, rest = second.parse_known_args(rest)
    assert (pf.FLAGS[name].value, pf.FLAGS[f"{name}_late"].value, rest) == (5, 2, [])
    second.parse_args(rest)
    assert pf.FLAGS[name].value == 5
    first.parse_args(["--x=4"], result)
    assert first.parse_args([], result) == argparse.Namespace(**{f"{name}_x": 4})
    first.parse_args([])
    assert pf.FLAGS[name].value == 1


def test_a_wrong_command_line_changes_nothing(name: str) -> None:
    pf.define(name, 1, min=1)
    pf.define(f"{name}_other", 1)
    made = parser()
    pf.add_options(made, only=f"{name}*")
    made.parse_args(["--@=5".replace("@", name), "--@_other=6".replace("@", name)])
    for wrong in ([f"--{name}=0"], ["--nobody"]):
        with pytest.raises((argparse.ArgumentError, SystemExit)):
            made.parse_args(wrong)
        assert (pf.FLAGS[name].value, pf.FLAGS[f"{name}_other"].value) == (5, 6)
        assert pf.FLAGS[name].place == "argv[1]"


def test_values_that_other_command_lines_have_set_stay(name: str) -> None:
    pf.define(name, 1)
    made = parser()
    pf.add_options(made, only=name)
    with pf.testing.isolated():
        made.parse_args([f"--{name}=5"])
    pf.parse(["prog", "", f"--{name}=7"], exit=False)
    made.parse_args([])
    assert pf.FLAGS[name].value == 7


def test_required_and_exclusive_options_are_those_of_each_command_line(name: str) -> None:
    made = parser()
    group = made.add_mutually_exclusive_group(required=True)
    group.add_argument("--json", action="store_true", dest=f"{name}_json")
    group.add_argument("--text", action="store_true", dest=f"{name}_text")
    pf.bridge(made)
    for option in ("json", "text", "json"):
        assert getattr(made.parse_args([f"--{option}"]), f"{name}_{option}") is True
    with pytest.raises(argparse.ArgumentError, match="must be given"):
        made.parse_args([])


def test_rules_about_several_flags_see_a_command_line_as_a_whole(name: str) -> None:
    low, high = pf.define(f"{name}_low", 1), pf.define(f"{name}_high", 2)
    pf.validator(low, high)(lambda low, high: low < high)
    made = parser()
    pf.add_options(made, only=f"{name}*")
    for line in (["low=8", "high=9"], [], ["high=20", "low=19"], ["high=3"]):
        made.parse_args([f"--{name}_{each}" for each in line])
    assert (low.value, high.value) == (1, 3)


def test_a_flag_for_startup_only_keeps_its_value(name: str) -> None:
    pf.define(name, 1, startup_only=True)
    made = parser()
    pf.add_options(made, only=name)
    pf.FLAGS[name].freeze()
    made.parse_args([])
    assert pf.FLAGS[name].value == 1


def test_pending_values_of_a_former_command_line_are_dropped(name: str) -> None:
    made = parser()
    pf.add_options(made, only=[], allow_pending=True)
    made.parse_args([f"--{name}=5", f"--no{name}_b"])
    made.parse_args([])
    assert pf.define(name, 1).value == 1
    assert pf.define(f"{name}_b", True).value is True


class Typed:
    """Takes only values of its types, as a class that mypyc compiles does."""

    __slots__ = ("label", "level", "size")

    def __init__(self) -> None:
        self.size, self.level = 3, 0

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("size", "level") and type(value) is not int:
            raise TypeError(name)
        object.__setattr__(self, name, value)


class Saved(argparse.Action):
    """Reads the namespace, as actions of programs do."""

    def __call__(self, _parser: Any, namespace: Any, *_: Any) -> None:
        assert isinstance(namespace, Typed)
        assert "size" in namespace
        namespace.level = namespace.size + 1


def test_a_namespace_that_takes_only_its_types_is_filled() -> None:
    made = parser()
    made.add_argument("--size", type=int)
    made.add_argument("--level", type=int, default=9)
    made.add_argument("--label", action="append")
    with pf.testing.isolated():
        assert pf.bridge(made) == {}
        found = made.parse_args(["--size=5", "--label=a"], Typed())
        assert (found.size, found.level, found.label, type(found)) == (5, 0, ["a"], Typed)
        found = made.parse_args([], Typed())
        assert (found.size, found.level, found.label) == (3, 0, None)


def test_an_action_of_the_program_sees_the_namespace() -> None:
    made = parser()
    made.add_argument("--save", action=Saved, nargs=0, dest="label")
    made.add_argument("--n", type=int, dest="size", default=1)
    with pf.testing.isolated():
        pf.bridge(made, replace=True)
        given = Typed()
        assert made.parse_args(["--n=2", "--save"], given) is given
        assert (given.size, given.level) == (2, 3)


MYPY = [
    "-c pass",
    "--strict -c pass",
    "--ignore-missing-imports --follow-imports=skip -c pass",
    "--python-version 3.12 -c pass",
    "--disallow-untyped-defs --no-warn-no-return -c pass",
    "-m json",
    "-p json",
    "--disable-error-code=attr-defined --enable-error-code=ignore-without-code -c pass",
    "--exclude a --exclude b -c pass",
    "--cache-dir=/dev/null -v -v -c pass",
    "--platform win32 --always-true A --always-true B -c pass",
    "--strict --allow-untyped-defs -c pass",
    "--bogus -c pass",
    "--python-version x -c pass",
]


def mypy_options(main: Any, line: str) -> Any:
    errors = io.StringIO()
    try:
        sources, found = main.process_options(line.split(), stdout=io.StringIO(), stderr=errors)
    except SystemExit as ended:
        return ended.code, errors.getvalue()
    return [each.module for each in sources], found.snapshot(), found.verbosity, found.exclude


@pytest.mark.extended  # takes a second or more
def test_command_lines_of_mypy_mean_the_same_with_its_options_as_flags() -> None:
    source = package("mypy.main", "mypy").__file__ or ""
    spec = importlib.util.spec_from_file_location(
        "main_of_mypy", source.rpartition("/")[0] + "/main.py"
    )
    assert spec
    assert spec.loader
    main: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(main)
    expected = [mypy_options(main, line) for line in MYPY]
    define = main.define_options
    adopted = []

    def define_and_adopt(*known: Any) -> Any:
        made = define(*known)
        pf.bridge(made[0], replace=True)
        adopted.append(made)
        return made

    main.define_options = define_and_adopt
    with pf.testing.isolated():
        assert [mypy_options(main, line) for line in MYPY] == expected
    assert len(adopted) == len(MYPY)


class OtherParser(argparse.ArgumentParser):
    """Has arguments of its own, and reads text, as that of ConfigArgParse."""

    def parse_args(self, args=None, namespace=None, env_vars=None):  # type: ignore[no-untyped-def, override]
        return self.parse_known_args(args=args, namespace=namespace, env_vars=env_vars)[0]

    def parse_known_args(self, args=None, namespace=None, env_vars=None):  # type: ignore[no-untyped-def, override]
        args = args.split() if isinstance(args, str) else list(args)
        given = [f"--{name}={text}" for name, text in (env_vars or {}).items()]
        return argparse.ArgumentParser.parse_known_args(self, [*given, *args], namespace)


def test_arguments_of_other_classes_of_parsers_reach_them(name: str) -> None:
    made = OtherParser()
    made.add_argument(f"--{name}", type=int, default=1)
    pf.bridge(made)
    parse: Any = made.parse_args
    for args, variables, value in (
        (f"--{name} 3", {}, 3),
        ("", {name: "4"}, 4),
        ([f"--{name}=5"], {name: "4"}, 5),
        ("", {}, 1),
    ):
        assert getattr(parse(args, env_vars=variables), name) == value == pf.FLAGS[name].value


class PassingParser(argparse.ArgumentParser):
    """Passes its own method by, as that of HTTPie."""

    def parse_args(self, place, args=None, namespace=None):  # type: ignore[no-untyped-def, override]
        found, rest = super().parse_known_args(args, namespace)
        found.place, found.rest = place, rest
        return found


@pytest.mark.parametrize("sub", [False, True])
def test_a_parser_that_passes_its_own_method_by_is_adopted(name: str, sub: bool) -> None:
    top: Any = PassingParser()
    made: Any = top.add_subparsers().add_parser("sub") if sub else top
    made.add_argument(f"--{name}", type=int, default=1)
    if sub:
        assert list(pf.bridge(top)) == ["sub"]
    assert pf.bridge(made, env_prefix="PASS_") == {}
    os.environ[f"PASS_{name}"] = "4"
    try:
        for args, value in (([], 4), ([f"--{name}=5", "more"], 5), ([], 4)):
            found = top.parse_args("here", ["sub", *args] if sub else args)
            assert getattr(found, name) == value == pf.FLAGS[name].value
            assert (found.place, found.rest) == ("here", args[1:])
    finally:
        del os.environ[f"PASS_{name}"]
    assert isinstance(made, PassingParser)


def test_a_parser_of_configargparse_is_adopted(name: str) -> None:
    made = package("configargparse", "ConfigArgParse").ArgParser()
    made.add_argument(f"--{name}", type=int, default=1, env_var="K_X")
    pf.bridge(made)
    assert getattr(made.parse_args([f"--{name}=3"]), name) == pf.FLAGS[name].value == 3
    assert getattr(made.parse_args([], env_vars={"K_X": "9"}), name) == pf.FLAGS[name].value == 9
    assert getattr(made.parse_args([]), name) == pf.FLAGS[name].value == 1


def test_sub_parsers_are_adopted_each_with_a_namespace(name: str) -> None:
    made = parser()
    made.add_argument("--top", type=int, default=0, dest=f"{name}_top")
    commands = made.add_subparsers(dest="command")
    subs = {each: commands.add_parser(each, aliases=[each[0]]) for each in ("build", "test")}
    for sub in subs.values():
        sub.add_argument("--jobs", "--tasks", type=int, default=1)
    assert pf.bridge(made) == {
        each: f"is a sub-parser; bridge it as well: bridge(..., namespace='{each}')"
        for each in subs
    }
    for each, sub in subs.items():
        assert pf.bridge(sub, namespace=f"{name}.{each}", env_prefix="SUB_") == {}
    assert pf.bridge(made) == {}
    found = made.parse_args(["build", "--tasks=4"])
    assert vars(found) == {f"{name}_top": 0, "command": "build", "jobs": 4}
    assert (pf.FLAGS[f"{name}.build.jobs"].value, pf.FLAGS[f"{name}.test.jobs"].value) == (4, 1)
    assert pf.FLAGS[f"{name}.build.jobs"].aliases == (f"{name}.build.tasks",)
    assert made.parse_args(["t"]).jobs == 1
    assert pf.FLAGS[f"{name}.build.jobs"].value == 1  # the former command line has ended
    pf.FLAGS[f"{name}.test.jobs"].value = 7
    assert made.parse_args(["test"]).jobs == 7
    wrong: Any = 1
    with pytest.raises(pf.FlagTypeError, match="namespace: 1"):
        pf.bridge(made, namespace=wrong)


def test_a_name_that_was_adopted_may_be_defined_by_others_later(name: str) -> None:
    first, second, third = parser(), parser(), parser()
    first.add_argument(f"--{name}", type=int)
    pf.bridge(first)
    pf.add_options(second, only=name)
    assert f"--{name}" not in second.format_help()
    pf.undefine(name)
    pf.define(name, 1, "Mine now")
    pf.add_options(third, only=name)
    assert "Mine now" in third.format_help()
    third.parse_args([f"--{name}=4"])
    assert pf.FLAGS[name].value == 4
