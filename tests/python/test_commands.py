"""commands(): a program with commands, each of which has flags and arguments of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, run, write

import paddle_flags as pf

TRAIN = '''
"""What the module says."""
import paddle_flags as pf
print("train is imported")
lr = pf.define("lr", 0.1, "Learning rate", max=1)
kind = pf.define("kind", "a", "Kind", choices=["alpha", "beta"][:1] + ["a"])
late = pf.define("late", 1, "Startup only", startup_only=True)
needed = pf.define("needed", "", "Required", required=True)

def main(data, *more):
    """Train a model.

    At length.
    """
    print("train", data, more, lr.value, late.value, pf.FLAGS.quick, pf.FLAGS["lr"].place)
    return 3
'''
EVAL = """
import paddle_flags as pf
pf.define("shots", 1, "How many")

def evaluate(): print("eval", pf.FLAGS.shots)
"""
PROGRAM = """
import sys
import paddle_flags as pf
import evaluating
pf.define("quick", False, "Skip what is slow", aliases=["q"])
pf.define("seed", 0, "Seed")

def add(name, url="none"):
    "Add a remote."
    print("add", name, url)

if __name__ == "__main__":
    table = {
        "train": "training",
        "eval": evaluating.evaluate,
        "remote": {"add": add, "drop": "removing:drop"},
    }
    sys.exit(pf.commands(table, env_prefix="PROG_", config_flag="config", version="7"))
"""


@pytest.fixture
def place(tmp_path) -> Path:
    write(tmp_path / "training.py", TRAIN)
    write(tmp_path / "evaluating.py", EVAL)
    write(
        tmp_path / "removing.py", 'def drop(name):\n    "Drop a remote."\n    print("drop", name)\n'
    )
    write(tmp_path / "prog.py", PROGRAM)
    return tmp_path


@pytest.fixture
def prog(place):
    def start(line: str, **options):
        return run(sys.executable, "prog.py", *line.split(), cwd=place, check=False, **options)

    return start


def outcome(ended) -> tuple[int, str]:
    return ended.returncode, ended.stderr.replace("Try 'prog.py", "T'").partition("T'")[0]


def test_flags_stand_before_and_behind_the_command(prog):
    ended = prog("--quick train --lr=0.5 d --seed 3 --needed=x --late=2 e f")
    assert ended.stdout == "train is imported\ntrain d ('e', 'f') 0.5 2 True argv[3]\n"
    assert ended.returncode == 3
    ended = prog("--needed=x --lr=0.25 train -q d")
    assert ended.stdout.endswith("train d () 0.25 1 True argv[2]\n")


def test_nothing_is_imported_for_another_command(prog):
    assert prog("eval --shots=4").stdout == "eval 4\n"
    assert prog("remote add origin").stdout == "add origin none\n"
    assert prog("remote -q add origin url").stdout == "add origin url\n"
    assert prog("remote drop x").stdout == "drop x\n"
    assert "train is imported" not in prog("--help").stdout


def test_all_errors_come_together_under_the_name_of_the_command(prog):
    status, said = outcome(prog("--sed=1 train --lr=2 --shot=1"))
    assert status == 2
    assert said.splitlines() == [
        "prog.py train: error: expected an argument: DATA",
        "prog.py train: error: --sed: no such flag; did you mean '--seed'?",
        "prog.py train: error: --lr=2: expected a number <= 1",
        "prog.py train: error: --shot: no such flag; did you mean '--shots'?",
    ]


def test_required_flags_are_asked_for_at_the_end_alone(prog):
    status, said = outcome(prog("train d"))
    assert status == 2
    assert said.startswith("prog.py train: error: ")
    assert "needed" in said
    assert prog("train d", env={"PROG_NEEDED": "x", "PATH": ""}).returncode == 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("trian --lr=1", "prog.py: error: no such command trian; did you mean train?\n"),
        ("xyz", "prog.py: error: no such command xyz; expected one of train, eval, remote\n"),
        ("remote ad x", "prog.py remote: error: no such command ad; did you mean add?\n"),
        ("--quick", "prog.py: error: expected a command, one of train, eval, remote\n"),
        ("remote -q", "prog.py remote: error: expected a command, one of add, drop\n"),
        ("eval x", "prog.py eval: error: x: expected no argument\n"),
        ("eval -- --x", "prog.py eval: error: --x: expected no argument\n"),
        ("remote add", "prog.py remote add: error: expected an argument: NAME\n"),
        (
            "remote add a b c",
            "prog.py remote add: error: expected at most 2 arguments: NAME [URL]\n",
        ),
        (
            "help remote add x y",
            "prog.py remote add: error: x: expected no argument after help remote add\n",
        ),
        ("help eval x", "prog.py eval: error: x: expected no argument after help eval\n"),
        ("remote drop a b", "prog.py remote drop: error: expected at most 1 argument: NAME\n"),
        (
            "--lr 0.1 train",
            (
                "prog.py: error: no such command 0.1; expected one of train, eval, remote\n"
                "prog.py: error: --lr: no such flag\n"
            ),
        ),
    ],
)
def test_a_wrong_line_is_an_error(prog, line, said):
    ended = prog(line)
    assert outcome(ended) == (2, said)
    assert ended.stdout == ""


def test_without_a_command_the_help_is_printed_and_the_status_is_2(prog):
    for line in ("", "remote"):
        ended = prog(line)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr == prog(f"{line} --help").stdout


def test_help_lists_the_commands_and_leaves_out_their_flags(prog):
    text = prog("--help").stdout
    assert text.startswith(
        "usage: prog.py [--flag=value ...] COMMAND ...\n\n"
        "commands:\n"
        "  train   Train a model.\n"
        "  eval\n"
        "  remote  add, drop\n\n"
        "prog.py:\n"
    )
    assert "--[no]quick" in text
    assert "--shots" not in text


@pytest.mark.extended  # takes a second or more
def test_help_of_a_command_shows_its_flags_first(prog):
    text = prog("train --help").stdout
    assert text.startswith(
        "train is imported\n"
        "usage: prog.py train [--flag=value ...] DATA [MORE ...]\n\n"
        "Train a model.\n\nAt length.\n\n"
        "training:\n"
    )
    assert text.index("--lr") < text.index("prog.py:") < text.index("--[no]quick")
    assert "--shots" not in text
    for line in ("help train", "--help train", "--quick help train --lr=9"):
        assert prog(line).stdout == text
    assert "Add a remote." in prog("remote --help").stdout
    assert "Drop a remote." in prog("help remote").stdout
    assert prog("help").stdout == prog("--help").stdout
    assert prog("help trian").returncode == 2


def test_other_kinds_of_help_work_too(prog):
    assert "version 7" in prog("--version").stdout
    assert "version 7" in prog("eval --version").stdout
    assert "--shots" in prog("eval --helpfull").stdout
    assert "<name>shots</name>" in prog("eval --helpxml").stdout


def test_a_command_is_found_behind_the_flags_of_the_line(prog):
    assert prog("-- eval").stdout == "eval 1\n"
    assert prog("--seed -5 eval").stdout == "eval 1\n"
    assert prog("--seed eval").returncode == 2


def test_a_file_has_a_table_for_each_command(place, prog):
    write(
        place / "a.json",
        '{"seed": 5, "train": {"lr": 0.5, "needed": "x"}, "eval": {"shots": 8},'
        ' "remote": {"add": {"nothing": 1}}}',
    )
    assert prog("--config=a.json eval").stdout == "eval 8\n"
    assert "train d () 0.5 1 False a.json:1:" in prog("train d --config a.json").stdout
    status, said = outcome(prog("remote add x --config=a.json"))
    assert (status, said) == (2, "prog.py remote add: error: a.json:1:91: nothing: no such flag\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"trian": {"lr": 0.5}}',
            "a.json:1:12: trian.lr: no such flag; did you mean the table [train]?\n",
        ),
        ('{"seeds": {"a": 1}}', "a.json:1:12: seeds.a: no such flag\n"),
        (
            '{"remote": {"ad": {"seed": 1}}}',
            "a.json:1:20: remote.ad.seed: no such flag; did you mean the table [remote.add]?\n",
        ),
    ],
)
def test_a_table_of_a_misspelt_command_is_an_error_with_its_name(place, prog, text, said):
    write(place / "a.json", text)
    ended = prog("remote add x --config=a.json")
    assert outcome(ended) == (2, f"prog.py remote add: error: {said}")


# ---- in this process ----


def call(table: dict, *line: str, **options):
    return pf.commands(table, ["prog", *line], exit=False, **options)


def test_what_the_function_returns_or_raises_is_passed_on():
    assert call({"go": lambda: 42}, "go") == 42
    with pytest.raises(ZeroDivisionError):
        call({"go": lambda: 1 // 0}, "go")


def test_any_callable_is_a_command():
    class Counter:
        """Count."""

        def __call__(self, *items: str) -> int:
            return len(items)

        def method(self, one: str, two: str = "2") -> list[str]:
            return [one, two]

    assert call({"go": Counter()}, "go", "a", "b") == 2
    assert call({"go": Counter().method}, "go", "a") == ["a", "2"]
    assert call({"go": print}, "go", "a") is None
    assert call({"path": Path}, "path", "a") == Path("a")


def test_errors_are_raised_and_nothing_has_changed(name):
    flag = pf.define(name, 1)
    with pytest.raises(pf.FlagParseError) as refused:
        call({"go": lambda x: x}, f"--{name}=5", "go")
    assert [str(each) for each in refused.value.errors] == ["expected an argument: X"]
    assert flag.value == 1
    with pytest.raises(pf.FlagParseError, match=r"^no such command stop; expected go$"):
        call({"go": print}, "stop")
    with pytest.raises(pf.FlagParseError, match=r"^expected a command, go$"):
        call({"go": print})
    with pytest.raises(pf.FlagParseError, match=r"^expected a command, go$"):
        pf.commands({"go": print}, [], exit=False)
    with pytest.raises(pf.HelpRequested, match="commands:\n  go"):
        call({"go": print}, "--help", "--nobody")


@pytest.mark.parametrize(
    "text",
    [
        '{"seed": 1, "remote": {"seed": 2, "add": {"seed": 3}}}',
        '{"remote": {"add": {"seed": 3}, "seed": 2}, "seed": 1}',
    ],
)
def test_the_innermost_table_of_a_command_wins_wherever_it_stands(text, tmp_path):
    file = write(tmp_path / "a.json", text)
    with pf.testing.isolated():
        seed = pf.define("seed", 0)
        show: Any = lambda: seed.value  # noqa: E731
        table = {"remote": {"add": show, "drop": show}, "go": show}
        for line, value in (("remote add", 3), ("remote drop", 2), ("go", 1)):
            assert call(table, *line.split(), config=file) == value


def test_a_command_may_take_the_flags_of_others_as_they_are(name):
    flag = pf.define(name, 1)

    def wrap(*rest: str) -> tuple[str, ...]:
        return rest

    line = (f"--{name}=2", "wrap", f"--{name}=3", "prog", f"--{name}=4", "--other")
    assert call({"wrap": wrap}, *line, stop_at_argument=True) == ("prog", f"--{name}=4", "--other")
    assert flag.value == 3


def test_a_table_of_a_flag_or_of_one_that_may_come_is_not_that_of_a_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pf.testing.isolated():
        tried = pf.define("trian", {"a": 1})
        pf.define("evil.a", 1)
        Path("a.json").write_text('{"trian": {"b": 2}, "evil": {"b": 1}, "remot": {"c": 1}}')
        options = {"config": "a.json", "allow_pending": True}
        table = {"train": lambda: tried.value, "evil2": print, "remote": print}
        assert call(table, "train", **options) == {"b": 2}
        with pytest.raises(pf.FlagParseError) as refused:
            call(table, "train", config="a.json")
    assert [str(error) for error in refused.value.errors] == [
        "a.json:1:49: remot.c: no such flag; did you mean the table [remote]?",
        "a.json:1:30: evil.b: no such flag; did you mean 'evil.a'?",
    ]


def test_a_command_named_help_is_the_programs_own():
    assert call({"help": lambda: "mine"}, "help") == "mine"


async def awaited():
    pass


class Awaited:
    async def __call__(self):
        pass


def keyed(*, size):
    return size


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "commands: {}: expected a dict with a command for each name"),
        ([], r"commands: \[\]: expected a dict"),
        ({"--x": print}, "commands: '--x': expected a name that does not begin with a dash"),
        ({"": print}, "commands: '': expected a name"),
        ({5: print}, "commands: 5: expected a name"),
        ({"go": 5}, "command go: 5: expected a function, a module, 'module:function'"),
        ({"go": "a b"}, "command go: 'a b': expected a function"),
        ({"go": {}}, "commands: {}: expected a dict"),
        ({"go": "json:no_such"}, "command go: the module json has no function 'no_such'"),
        ({"go": json}, "command go: the module json has no function 'main'"),
        ({"go": awaited}, "command go: expected a plain function, not an async one"),
        ({"go": Awaited()}, "command go: expected a plain function, not an async one"),
        ({"go": keyed}, "command go: its parameter 'size' needs a default, as it is keyword-only"),
    ],
)
def test_a_wrong_table_is_a_mistake_of_the_program(table, message):
    with pytest.raises(pf.FlagArgumentError, match=f"^{message}"):
        call(table, "go")


def test_an_import_that_fails_is_raised():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        call({"go": "no_such_module:main"}, "go")
    assert "  go\n" in str(_help_of({"go": "no_such_module:main"}))
    assert "  go  JSON " in str(_help_of({"go": "json"}))


def _help_of(table: dict) -> pf.HelpRequested:
    with pytest.raises(pf.HelpRequested) as asked:
        call(table, "--help")
    return asked.value


def test_native_flags_of_a_command_are_its_own(plugin, tmp_path):
    library = plugin('PD_DEFINE_int32(native_depth, 1, "Depth");\n')
    write(
        tmp_path / "deep.py",
        f"import paddle_flags as pf\npf.load_plugin({str(library)!r})\n"
        "def main(): print(pf.FLAGS.native_depth)\n",
    )
    write(
        tmp_path / "prog.py",
        "import paddle_flags as pf\n"
        "pf.define('seed', 1)\n"
        "pf.commands({'deep': 'deep', 'other': print})\n",
    )

    def said(*line: str) -> str:
        return run(sys.executable, "prog.py", *line, cwd=tmp_path).stdout

    assert said("deep", "--native_depth=5") == "5\n"
    text = said("deep", "--help")
    assert text.index("libplugin.so:") < text.index("prog.py:")
    assert "native_depth" not in said("--help")


def test_a_console_script_shares_its_own_flags_with_all_commands(tmp_path):
    """Its functions and its flags are in one module, which is not __main__."""
    write(
        tmp_path / "tool.py",
        "import paddle_flags as pf\n"
        "pf.define('seed', 1)\n"
        "def go(): print(pf.FLAGS.seed)\n"
        "def main(): pf.commands({'go': go, 'other': print})\n",
    )
    for line in (["--help"], ["go", "--help"], ["other", "--help"]):
        text = run(sys.executable, "-c", "import tool; tool.main()", *line, cwd=tmp_path).stdout
        assert "--seed" in text, line


def test_the_example_works(tmp_path):
    folder = ROOT / "examples" / "commands"

    def said(*line: str) -> str:
        return run(sys.executable, folder / "texts.py", *line, cwd=tmp_path).stdout

    write(tmp_path / "a.txt", "one two\nthree\n")
    write(tmp_path / "texts.json", '{"count": {"unit": "words"}}')
    assert said("count", "a.txt") == "2 a.txt\n"
    assert said("--config=texts.json", "count", "a.txt") == "3 a.txt\n"
    assert said("search", "-v", "two", "a.txt") == "three\n"
    assert said("list", "encodings", "utf_16_b") == "utf_16_be\n"
    missing = run(
        sys.executable, folder / "texts.py", "search", "x", "a.txt", cwd=tmp_path, check=False
    )
    assert missing.returncode == 1
