"""Options of an argparse parser as flags."""

from __future__ import annotations

import argparse
import enum
from pathlib import Path
from typing import Any

import pytest

import paddle_flags as pf


def parser(**options: Any) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog="prog", exit_on_error=False, **options)


def failing(made: argparse.ArgumentParser, args: list[str]) -> str:
    """Return the error that reading the arguments raises; the parser must not exit."""
    with pytest.raises(argparse.ArgumentError) as caught:
        made.parse_args(args)
    return str(caught.value)


def adopted(name: str) -> argparse.ArgumentParser:
    """Return a parser with an option of each kind, whose dests begin with the name."""
    made = parser()
    made.add_argument("files", nargs="*")
    group = made.add_argument_group("Speed")
    group.add_argument("-j", f"--{name}_jobs", type=int, default=2, help="of %(prog)s")
    made.add_argument(f"--{name}_rate", type=float)
    made.add_argument(f"--{name}_text", default=None)
    made.add_argument(f"--{name}_quiet", action="store_true")
    made.add_argument(f"--no_{name}_cache", action="store_false", dest=f"{name}_cache")
    made.add_argument(f"--{name}_color", action=argparse.BooleanOptionalAction)
    made.add_argument("-v", action="count", default=0, dest=f"{name}_v")
    made.add_argument("-I", action="append", dest=f"{name}_i")
    made.add_argument(f"--{name}_two", nargs=2, type=int)
    made.add_argument(f"--{name}_mode", choices=["fast", "best"], default="fast")
    made.add_argument(f"--{name}_kind", choices=["a", "b"])
    made.add_argument(f"--{name}_out", type=Path, default="x.txt")
    made.add_argument(f"--{name}_port", type=int, choices=range(1, 65536), default=80)
    made.add_argument(f"--{name}_level", nargs="?", const=9, default=1, type=int)
    assert pf.bridge(made, env_prefix="ADOPT_") == {}
    return made


def values(made: argparse.ArgumentParser, name: str, args: list[str]) -> dict[str, Any]:
    found = vars(made.parse_args(args))
    return {key[len(name) + 1 :]: value for key, value in found.items() if key != "files"}


DEFAULTS = {
    "jobs": 2,
    "rate": None,
    "text": None,
    "quiet": False,
    "cache": True,
    "color": None,
    "v": 0,
    "i": None,
    "two": None,
    "mode": "fast",
    "kind": None,
    "out": Path("x.txt"),
    "port": 80,
    "level": 1,
}


def test_an_option_that_nothing_sets_has_its_own_default(name: str) -> None:
    assert values(adopted(name), name, []) == DEFAULTS
    assert pf.FLAGS[f"{name}_text"].value == ""
    assert pf.FLAGS[f"{name}_i"].value == ()


def test_each_kind_of_option_is_a_flag(name: str) -> None:
    adopted(name)
    kinds = {flag.name[len(name) + 1 :]: flag.items or flag.type for flag in pf.FLAGS.values()}
    assert {key: kinds[key] for key in DEFAULTS} == {
        **dict.fromkeys(("jobs", "v", "two", "port", "level"), "int64"),
        **dict.fromkeys(("text", "i", "mode", "kind", "out"), "string"),
        **dict.fromkeys(("quiet", "cache", "color"), "bool"),
        "rate": "double",
    }
    jobs = pf.FLAGS[f"{name}_jobs"]
    assert (jobs.help, jobs.category, jobs.aliases) == ("of prog", "Speed", ())
    assert jobs.file == __file__
    assert pf.FLAGS[f"{name}_mode"].choices == ("fast", "best")
    assert (pf.FLAGS[f"{name}_port"].min, pf.FLAGS[f"{name}_port"].max) == (1, 65535)


LINE = [
    "-j",
    "3",
    "--@_rate=0.5",
    "--@_text=t",
    "--@_quiet",
    "--no_@_cache",
    "--@_color",
    "-vv",
    "-I",
    "a",
    "-I",
    "b,c",
    "--@_two",
    "1",
    "2",
    "--@_mode=best",
    "--@_kind=b",
    "--@_out=/some/where",
    "--@_port=8080",
    "--@_level",
]
GIVEN = {
    "jobs": 3,
    "rate": 0.5,
    "text": "t",
    "quiet": True,
    "cache": False,
    "color": True,
    "v": 2,
    "i": ["a", "b,c"],
    "two": [1, 2],
    "mode": "best",
    "kind": "b",
    "out": Path("/some/where"),
    "port": 8080,
    "level": 9,
}


def test_the_command_line_sets_flags_and_namespace(name: str) -> None:
    assert values(adopted(name), name, [token.replace("@", name) for token in LINE]) == GIVEN
    for key, value in {**GIVEN, "out": "/some/where", "i": ("a", "b,c"), "two": (1, 2)}.items():
        flag = pf.FLAGS[f"{name}_{key}"]
        assert (flag.value, flag.source) == (value, "argv")
    assert pf.FLAGS[f"{name}_jobs"].place == "argv[1]"
    assert pf.FLAGS[f"{name}_i"].place == "argv[11]"


def test_the_environment_sets_what_the_command_line_leaves(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, text in {
        "jobs": "4", "rate": "1.5", "quiet": "yes", "cache": "no", "v": "3", "i": "x,y",
        "two": "5,6", "out": "/var", "kind": "a",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"ADOPT_{name}_{key}", text)
    found = values(adopted(name), name, ["-j", "7", f"--{name}_port=5"])
    assert found == {
        **DEFAULTS,
        "jobs": 7, "port": 5, "rate": 1.5, "quiet": True, "cache": False, "v": 3, "i": ["x", "y"],
        "two": [5, 6], "out": Path("/var"), "kind": "a",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "text", "why"),
    [
        ("jobs", "x", "expected a 64-bit integer"),
        ("two", "1", "expected 2 items"),
        ("kind", "c", "expected one of a, b"),
        ("port", "0", "expected an integer in [1, 65535]"),
    ],
)
def test_a_wrong_variable_is_an_error_of_the_parser(
    name: str, key: str, text: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = adopted(name)
    monkeypatch.setenv(f"ADOPT_{name}_{key}", text)
    assert why in failing(made, [])


def test_an_override_shows_in_the_namespace(name: str) -> None:
    made = adopted(name)
    with pf.override({f"{name}_jobs": 9, f"{name}_out": "/o"}):
        found = values(made, name, ["-j", "3"])
    assert (found["jobs"], found["out"]) == (9, Path("/o"))
    assert values(made, name, ["-j", "3"])["jobs"] == 3


def test_the_registry_refuses_what_the_option_refuses(name: str) -> None:
    adopted(name)
    with pytest.raises(pf.FlagValueError):
        pf.FLAGS[f"{name}_mode"].value = "slow"
    with pytest.raises(pf.FlagValueError, match="expected 2 items"):
        pf.FLAGS[f"{name}_two"].value = (1, 2, 3)


def test_required_options_may_come_from_the_environment(python: Any) -> None:
    text = (
        "import argparse, os\np = argparse.ArgumentParser(prog='p')\n"
        "p.add_argument('--must', required=True)\npf.bridge(p, env_prefix='MUST_')\n"
        "print(p.format_usage(), end='')\nprint(p.parse_args())"
    )
    usage = "usage: p [-h] --must MUST\n"
    result = python(text, check=False)
    assert (result.returncode, result.stdout) == (2, usage)
    assert result.stderr == f"{usage}p: error: --must: is required\n"
    result = python(text, env={"MUST_must": "x"})
    assert result.stdout == f"{usage}Namespace(must='x')\n"


def test_required_flags_of_sub_parsers_are_set_with_the_others(python: Any) -> None:
    result = python(
        "import argparse\npf.define('a', '', required=True)\npf.define('b', '', required=True)\n"
        "p = argparse.ArgumentParser()\nsub = p.add_subparsers().add_parser('go')\n"
        "pf.add_options(p, only='a')\npf.add_options(sub, only='b')\n"
        "p.parse_args(['--a=1', 'go', '--b=2'])\nprint(pf.FLAGS.a, pf.FLAGS.b)"
    )
    assert result.stdout == "1 2\n"


def test_exclusive_options_are_exclusive_flags(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = parser()
    group = made.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", dest=f"{name}_json")
    group.add_argument("--text", action="store_true", dest=f"{name}_text")
    pf.bridge(made, env_prefix="EXCL_")
    monkeypatch.setenv(f"EXCL_{name}_json", "1")
    assert "at most one of" in failing(made, ["--text"])
    assert values(made, name, []) == {"json": True, "text": False}


def test_an_exclusive_option_that_is_off_leaves_the_choice(name, monkeypatch):
    made = parser()
    group = made.add_mutually_exclusive_group(required=True)
    group.add_argument(f"--{name}_a", action="store_true")
    group.add_argument(f"--{name}_b", action="store_true")
    pf.bridge(made, env_prefix="ADOPT_")
    monkeypatch.setenv(f"ADOPT_{name}_a", "0")
    assert "must be given" in failing(made, [])
    assert values(made, name, [f"--{name}_b"]) == {"a": False, "b": True}


def test_another_parser_may_replace_what_was_adopted(name):
    for default in (1, 2):
        made = parser()
        made.add_argument(f"--{name}", type=int, default=default)
        pf.bridge(made, replace=True)
        assert vars(made.parse_args([])) == {name: default}
    wrong: Any = 1
    with pytest.raises(pf.FlagTypeError, match="replace: 1: expected bool"):
        pf.bridge(made, replace=wrong)


def test_types_of_the_program_convert_each_value(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def even(text: str) -> int:
        if int(text) % 2:
            message = f"{text} is odd"
            raise argparse.ArgumentTypeError(message)
        return int(text)

    made = parser()
    made.add_argument("--even", type=even, choices=[2, 4, 6], default="4", dest=f"{name}_one")
    made.add_argument("--evens", type=even, nargs="*", dest=f"{name}_more")
    pf.bridge(made, env_prefix="EVEN_")
    assert values(made, name, []) == {"one": 4, "more": None}
    assert values(made, name, ["--even=2", "--evens", "8", "10"]) == {"one": 2, "more": [8, 10]}
    assert (pf.FLAGS[f"{name}_one"].value, pf.FLAGS[f"{name}_more"].value) == ("2", ("8", "10"))
    assert "3 is odd" in failing(made, ["--even=3"])
    with pytest.raises(pf.FlagValueError, match="3 is odd"):
        pf.FLAGS[f"{name}_one"].value = "3"
    with pytest.raises(pf.FlagValueError, match="expected one of 2, 4, 6"):
        pf.FLAGS[f"{name}_one"].value = "8"
    monkeypatch.setenv(f"EVEN_{name}_one", "6")
    for flag in ("one", "more"):
        pf.FLAGS[f"{name}_{flag}"].reset()
    assert values(made, name, []) == {"one": 6, "more": None}
    assert made.parse_args(["--even=2"]) is not None


def test_other_long_names_of_an_option_are_aliases(name: str) -> None:
    made = parser()
    made.add_argument("-x", f"--{name}-long", f"--{name}", dest=name)
    pf.bridge(made)
    assert pf.FLAGS[name].aliases == (f"{name}_long",)
    other = parser()
    other.add_argument(f"--{name}-long", dest=f"{name}_other")
    assert pf.bridge(other) == {}  # an alias that is taken is left out
    assert pf.FLAGS[f"{name}_other"].aliases == ()


def test_options_of_one_dest_are_one_flag(name: str) -> None:
    made = parser()
    made.add_argument("--fast", action="store_const", const="fast", dest=name, default="best")
    made.add_argument("--slow", action="store_const", const="slow", dest=name)
    pf.bridge(made)
    assert getattr(made.parse_args(["--fast", "--slow"]), name) == pf.FLAGS[name].value == "slow"
    pf.FLAGS[name].value = "other"
    assert getattr(made.parse_args([]), name) == "other"


def test_what_cannot_be_a_flag_is_left_out_with_a_reason(name: str) -> None:
    class Own(argparse.Action):
        def __call__(self, *known: Any) -> None:
            setattr(known[1], self.dest, "own")

    made = parser(add_help=False)
    made.add_argument("--own", action=Own, nargs=0, dest=f"{name}_own")
    made.add_argument("--lists", action="append", nargs=2, dest=f"{name}_lists")
    made.add_argument("--object", action="store_const", const=object, dest=f"{name}_object")
    made.add_argument("--help", action="store_true")
    left_out = pf.bridge(made)
    assert {key.removeprefix(f"{name}_"): why for key, why in left_out.items()} == {
        "own": "has an action of the program's own, Own",
        "lists": "appends lists to a list",
        "object": "has constants that are not values of its type",
        "help": left_out["help"],
    }
    args = vars(made.parse_args(["--own", "--lists", "a", "b", "--help"]))
    assert (args[f"{name}_own"], args[f"{name}_lists"]) == ("own", [["a", "b"]])


def test_a_name_that_is_taken_is_a_conflict(name: str) -> None:
    pf.define(name, 1)
    made = parser()
    made.add_argument(f"--{name}")
    with pytest.raises(pf.FlagConflictError):
        pf.bridge(made)


def test_adopted_flags_are_not_added_again(name: str) -> None:
    made = parser()
    made.add_argument("--x", type=int, dest=name, default=1)
    pf.bridge(made)
    pf.bridge(made)
    pf.add_options(made, only=f"{name}*")
    assert getattr(made.parse_args(["--x=2"]), name) == 2


def test_a_namespace_of_the_caller_keeps_its_values(name: str) -> None:
    made = parser()
    made.add_argument("--x", type=int, dest=name, default=1)
    made.add_argument("--none", default=argparse.SUPPRESS, dest=f"{name}_none")
    pf.bridge(made)
    given = argparse.Namespace(**{name: 7, "other": 1})
    assert vars(made.parse_args([], given)) == {name: 7, "other": 1}


def test_types_are_restored_after_an_error(name: str) -> None:
    made = parser()
    made.add_argument("--out", type=Path, dest=name)
    made.add_argument("--n", type=int, dest=f"{name}_n")
    pf.bridge(made)
    failing(made, ["--n=x"])
    assert getattr(made.parse_args(["--out=a"]), name) == Path("a")


class Mode(enum.Enum):
    FAST = "fast"
    BEST = "best"


def test_the_text_of_a_member_of_an_enum_is_what_the_type_reads(name: str) -> None:
    made = parser()
    made.add_argument(f"--{name}", type=Mode, default=Mode.FAST)
    made.add_argument(f"--{name}_named", type=lambda text: Mode[text], default=Mode.FAST)
    made.add_argument(f"--{name}_list", type=Mode, nargs="*", default=[Mode.FAST])
    assert pf.bridge(made) == {}
    assert (pf.FLAGS[name].value, pf.FLAGS[f"{name}_named"].value) == ("fast", "FAST")
    assert pf.FLAGS[f"{name}_list"].value == ("fast",)
    tokens = [each for each in pf.dump("argv", all=True) if each.startswith(f"--{name}")]
    read = made.parse_args(tokens)
    assert values(made, name, tokens)["named"] is Mode.FAST
    assert (getattr(read, name), getattr(read, f"{name}_list")) == (Mode.FAST, [Mode.FAST])
    pf.FLAGS.update({name: "best", f"{name}_list": ["best"]})
    assert getattr(made.parse_args([]), name) is Mode.BEST


def test_an_option_whose_flag_has_gone_is_one_of_the_parser_alone(name: str) -> None:
    made = parser()
    made.add_argument(f"--{name}", type=Mode, default=Mode.FAST)
    made.add_argument(f"--{name}_port", type=int, required=True)
    pf.bridge(made)
    line = [f"--{name}_port=80"]
    for change in (pf.undefine, lambda each: pf.define(each, 3, replace=True)):
        with pf.testing.isolated():
            change(name)
            assert getattr(made.parse_args(line), name) is Mode.FAST
            assert getattr(made.parse_args([*line, f"--{name}=best"]), name) is Mode.BEST
            assert pf.FLAGS.get(name) is None or pf.FLAGS[name].value == 3
        assert getattr(made.parse_args([*line, f"--{name}=best"]), name) is Mode.BEST
        assert pf.FLAGS[name].value == "best"
        pf.FLAGS[name].reset()
    pf.undefine(f"{name}_port")
    with pytest.raises((argparse.ArgumentError, SystemExit)):  # by versions of Python
        made.parse_args([])
