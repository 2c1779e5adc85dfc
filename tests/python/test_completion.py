"""Completion in bash, zsh and fish: what Tab does at a terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import build_plugin, package, run, tool, write

pytestmark = pytest.mark.extended  # each test starts a process

PLUGIN = """
#include <stdio.h>
#include <pd_flags.h>
__attribute__((constructor)) static void greet(void) { puts("words\\n--from_stdout"); }
PD_DEFINE_bool(alpha_check, false, "Stop at the first NaN");
PD_DEFINE_int32(alpha_level, 6, "Compression level", .min = 1, .max = 9);
PD_DEFINE_string(alpha_mode, "fast", "How to search", .choices = "fast|best");
PD_DEFINE_string(alpha_steps, "", "What to do", .choices = "load|scan|save",
                 .list = PD_TYPE_string);
PD_DEFINE_int32(alpha_late, 1, "Deprecated", .deprecated = "use alpha_level");
PD_DEFINE_int32(alpha_gone, 1, "Retired", .retired = "it never helped", .old_names = "alpha_older");
PD_DEFINE_string(alpha_secret, "", "Not for everyone", .hidden = true);
"""

# It tells its words first: when Enter runs it, that is what Tab has made. When
# the shell asks it, that is noise.
PROGRAM = """\
#!/usr/bin/env python
import json, os, sys
print("ARGV=" + json.dumps(sys.argv[1:]) + "=ARGV", flush=True)
print("--from_stderr", file=sys.stderr)
import paddle_flags as pf
tags = ["plain", "two words", "it's", 'say "hi"', "a:b", "$HOME"]
pf.define("tag", "plain", "Kind of text", choices=tags)
pf.define("data_dir", "", "Where the data is")
pf.define("quick", False, "Skip what is slow", aliases=["hasty"])
pf.define("kept", 1, "Can't be set", read_only=True)
pf.load_plugin("libalpha.so")
if sys.argv[0].endswith("sub.py"):
    pf.parse(stop_at_argument=True)
else:
    pf.parse()
"""

COMMANDS = """\
#!/usr/bin/env python
import json, os, sys
print("ARGV=" + json.dumps(sys.argv[1:]) + "=ARGV", flush=True)
import paddle_flags as pf
pf.define("quick", False, "Skip what is slow")
pf.define("kind", "x", "Kind", choices=["xeno", "x"])

def add(name): "Add a remote."
def rename(*names): "Rename remotes."

pf.commands(
    {"train": "learning", "try-it": add, "remote": {"add": add, "rename": rename}},
    config_flag="config",
)
"""

TRAINING = """\
import paddle_flags as pf
pf.define("rate", 0.1, "Learning rate")
pf.define("mode", "slow", "How", choices=["slow", "fast"])
def main(): "Train a model."
"""

BROKEN = """\
#!/usr/bin/env python
print("words\\n--noise")
import sys
print("ARGV=[]=ARGV") if sys.argv[1:] else print(undefined)
"""


class Shell:
    """A shell at a terminal of its own, in a directory with programs."""

    def __init__(self, name: str, home: Path) -> None:
        pexpect = package("pexpect")
        self.name = name
        self.home = home
        self.env = {
            "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
            "HOME": str(home),
            "ZDOTDIR": str(home),
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8",
        }
        words = {
            "bash": ["--noprofile", "--rcfile", str(home / ".bashrc"), "-i"],
            "zsh": ["-i"],
            "fish": ["-i"],
        }
        self.pty = pexpect.spawn(
            tool(name),
            words[name],
            cwd=str(home),
            env=self.env,
            dimensions=(50, 300),
            encoding="utf-8",
            timeout=60,
        )
        self.pty.delaybeforesend = None
        self.pty.expect(PROMPT)

    def enter(self, line: str, until: str) -> str:
        """Run a line; give what is shown before `until`, which the line must print."""
        self.pty.send(line + "\r")
        self.pty.expect(until)
        shown: str = self.pty.before
        self.pty.expect(PROMPT)  # while a command runs, no shell listens to keys
        return shown

    def tab(self, line: str, run_as: str = "") -> list[str]:
        """Give the words that the program gets after a Tab at the end of the line.

        With `run_as`, another program gets them, in place of the first word.
        """
        self.pty.send(line + "\t")
        shown = self.enter(f"\x01{run_as} " if run_as else "", "=ARGV")
        words: list[str] = json.loads(shown.rpartition("ARGV=")[2])
        return words

    def listing(self, line: str) -> list[str]:
        """Give the lines that are shown after Tab at the end of the line."""
        if self.name == "fish":
            quoted = line.replace("\\", "\\\\").replace("'", "\\'")
            ended = run("fish", "-c", f"complete -C '{quoted}'", cwd=self.home, env=self.env)
            return ended.stdout.splitlines()
        self.pty.send(line + "\t\t")
        shown = self.enter("\x15echo DO''NE", "DONE\r\n")
        return shown.replace("\r", "\n").split("\n")

    def close(self) -> None:
        self.pty.close(force=True)


PROMPT = "READY> "
START = {
    ".bashrc": f"PS1='{PROMPT}'\n",
    ".zshrc": f"PROMPT='{PROMPT}'\nautoload -Uz compinit\ncompinit -u -D\n",
    ".config/fish/config.fish": f"function fish_prompt; echo -n '{PROMPT}'; end\n",
}
COMPLETION = {
    ".bashrc": 'eval "$(python -m paddle_flags completion bash {})"\n',
    ".zshrc": 'eval "$(python -m paddle_flags completion zsh {})"\n',
    ".config/fish/config.fish": "python -m paddle_flags completion fish {} | source\n",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("home")
    source = write(place / "alpha.c", PLUGIN)
    build_plugin(place / "libalpha.so", source)
    programs = {"train.py": PROGRAM, "sub.py": PROGRAM, "broken.py": BROKEN, "cmds.py": COMMANDS}
    for name, text in programs.items():
        write(place / name, text).chmod(0o755)
    write(place / "learning.py", TRAINING)
    # Without it, a new user's fish reads all manual pages of the system first.
    (place / ".local/share/fish/generated_completions").mkdir(parents=True)
    write(place / "some flags.conf", "")
    write(place / "data" / "part.bin", "")
    names = "train.py sub.py broken.py cmds.py 'python train.py'"
    for file, line in COMPLETION.items():
        write(place / file, START[file] + line.format("") + line.format(names))
    return place


SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module", params=SHELLS)
def shell(request, home) -> Iterator[Shell]:
    started = Shell(request.param, home)
    yield started
    started.close()


def in_each_shell(*lines: tuple[str, list[str]]) -> pytest.MarkDecorator:
    """Give a test lines and words. What is answered doesn't depend on the shell: a change is
    checked with all lines in bash, and with each fourth one in the others.
    """
    cases = [
        pytest.param(
            shell, *line, marks=[pytest.mark.release] if shell != "bash" and at % 4 else []
        )
        for shell in SHELLS
        for at, line in enumerate(lines)
    ]
    return pytest.mark.parametrize(("shell", "line", "words"), cases, indirect=["shell"])


# ---- one candidate: it is inserted ----


@in_each_shell(
    ("./train.py --alpha_c", ["--alpha_check"]),
    ("./train.py --alpha-c", ["--alpha-check"]),
    ("./train.py -alpha_c", ["-alpha_check"]),
    ("./train.py --noalpha_c", ["--noalpha_check"]),
    ("./train.py --no-alpha-c", ["--no-alpha-check"]),
    ("./train.py --no_q", ["--no_quick"]),
    ("./train.py --alpha_l", ["--alpha_level="]),
    ("./train.py --has", ["--hasty"]),
    ("./train.py --alpha_mode=b", ["--alpha_mode=best"]),
    ("./train.py --alpha-mode=b", ["--alpha-mode=best"]),
    ("./train.py --alpha_mode b", ["--alpha_mode", "best"]),
    ("./train.py --alpha_check=t", ["--alpha_check=true"]),
    ("./train.py a --alpha_level 3 --qui", ["a", "--alpha_level", "3", "--quick"]),
    ("./train.py --data_dir --qui", ["--data_dir", "--quick"]),
    ("python train.py --qui", ["--quick"]),
    ("python ./train.py --alpha_mode=b", ["--alpha_mode=best"]),
    ("./sub.py --qui", ["--quick"]),
    ("./train.py --alpha_steps=lo", ["--alpha_steps=load"]),
    ("./train.py --alpha_steps=load,sc", ["--alpha_steps=load,scan"]),
    ("./train.py --alpha_steps load,scan,s", ["--alpha_steps", "load,scan,save"]),
    ("./train.py --fromenv=quick,alpha_l", ["--fromenv=quick,alpha_level"]),
)
def test_tab_completes(shell, line, words):
    assert shell.tab(line) == words


@in_each_shell(
    ("./cmds.py tra", ["train"]),
    ("./cmds.py --kind x tra", ["--kind", "x", "train"]),
    ("./cmds.py try", ["try-it"]),
    ("./cmds.py remote ren", ["remote", "rename"]),
    ("./cmds.py help tra", ["help", "train"]),
    ("./cmds.py help remote ren", ["help", "remote", "rename"]),
    ("./cmds.py --qui", ["--quick"]),
    ("./cmds.py train --ra", ["train", "--rate="]),
    ("./cmds.py train --mode=f", ["train", "--mode=fast"]),
    ("./cmds.py --quick train --mode f", ["--quick", "train", "--mode", "fast"]),
    ("./cmds.py train --kind xe", ["train", "--kind", "xeno"]),
    ("./cmds.py remote --kind xe", ["remote", "--kind", "xeno"]),
    ("./cmds.py remote rename som", ["remote", "rename", "some flags.conf"]),
    ("./cmds.py --config som", ["--config", "some flags.conf"]),
    ("./cmds.py --config=som", ["--config=some flags.conf"]),
    ("./cmds.py trian --ra", ["trian", "--ra"]),
    ("./cmds.py --ra", ["--ra"]),
)
def test_tab_completes_commands_and_their_flags(shell, line, words):
    assert shell.tab(line) == words


def test_commands_are_listed_with_what_they_do(shell):
    shown = " ".join(shell.listing("./cmds.py "))
    assert "train" in shown
    assert "remote" in shown
    if shell.name != "bash":
        assert "Train a model." in shown


def test_a_name_with_a_value_waits_for_it_and_a_bool_is_whole(shell):
    assert shell.tab("./train.py --alpha_l\t5") == ["--alpha_level=5"]
    assert shell.tab("./train.py --alpha_c\tx") == ["--alpha_check", "x"]


def test_the_word_is_the_one_at_the_cursor(shell):
    left = "\x1b[D" * len(" --later x")
    assert shell.tab(f"./train.py --alpha_c --later x{left}") == ["--alpha_check", "--later", "x"]


@pytest.mark.parametrize("start", ["tw", "it", "say", "a:", r"\$H", '"tw', "'tw", '"it', "'it"])
@pytest.mark.parametrize("between", ["=", " "])
def test_a_value_of_any_letters_arrives_whole(shell, start, between):
    wanted = {"tw": "two words", "it": "it's", "sa": 'say "hi"', "a:": "a:b", "$H": "$HOME"}
    value = wanted[start.strip("\\'\"")[:2]]
    words = shell.tab(f"./train.py --tag{between}{start}")
    assert words == (["--tag", value] if between == " " else [f"--tag={value}"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("./train.py --flagfile=som", ["--flagfile=some flags.conf"]),
        ("./train.py --flagfile som", ["--flagfile", "some flags.conf"]),
        ("./train.py --data_dir=data/pa", ["--data_dir=data/part.bin"]),
        ("./train.py --data_dir data/pa", ["--data_dir", "data/part.bin"]),
        ("./train.py --data_dir ~/data/pa", ["--data_dir", "~/data/part.bin"]),
        ("./train.py som", ["some flags.conf"]),
        ("./train.py -- som", ["--", "some flags.conf"]),
        ("./train.py -- --alpha_c", ["--", "--alpha_c"]),
        ("./sub.py go --alpha_c", ["go", "--alpha_c"]),
        ("./sub.py go som", ["go", "some flags.conf"]),
    ],
)
def test_tab_completes_names_of_files(shell, line, words):
    found = shell.tab(line)
    home = str(shell.home)
    assert [word.replace(home, "~") for word in found] == words


def test_what_is_nobodys_business_stays_as_it_was_typed(shell):
    for line in ("--alpha_secr", "--kep", "--nothing", "--alpha_mode=x", "--alpha_level=s"):
        assert shell.tab(f"./train.py {line}") == [line]


# ---- python -m paddle_flags ----


@in_each_shell(
    ("expl", ["explain"]),
    ("--vers", ["--version"]),
    ("config --incl", ["--includedir"]),
    ("completion fi", ["fish"]),
    ("new some --lang ru", ["some", "--lang", "rust"]),
    ("new some --dir som", ["some", "--dir", "some flags.conf"]),
    ("list --lo", ["--long"]),
    ("list -p libal", ["-p", "libalpha.so"]),
    ("list --plugin=libal", ["--plugin=libalpha.so"]),
    ("list --config som", ["--config", "some flags.conf"]),
    ("list -p libalpha.so --lo", ["-p", "libalpha.so", "--long"]),
    ("list -p libalpha.so --alpha-l", ["-p", "libalpha.so", "--alpha-level="]),
    ("list -p n=libalpha.so --n.alpha_c", ["-p", "n=libalpha.so", "--n.alpha_check"]),
    ("list -plibalpha.so --all --noa", ["-plibalpha.so", "--all", "--noalpha_check"]),
    ("run -p libalpha.so --alpha_mode be", ["-p", "libalpha.so", "--alpha_mode", "best"]),
    ("run -p libalpha.so tra", ["-p", "libalpha.so", "train.py"]),
    ("run -p libalpha.so train.py --alpha_c", ["-p", "libalpha.so", "train.py", "--alpha_c"]),
    ("run -m pdb som", ["-m", "pdb", "some flags.conf"]),
    ("explain -p libalpha.so alpha_l", ["-p", "libalpha.so", "alpha_level"]),
    ("doctor -p nothing.so libal", ["-p", "nothing.so", "libalpha.so"]),
    ("list -p libalpha.so som", ["-p", "libalpha.so", "som"]),
    ("explain alpha_level -p libal", ["alpha_level", "-p", "libalpha.so"]),
    (
        "list -p libalpha.so --alpha_check --lo",
        ["-p", "libalpha.so", "--alpha_check", "--long"],
    ),
    ("run -p libalpha.so --explain alpha_l", ["-p", "libalpha.so", "--explain", "alpha_level"]),
)
def test_our_own_command_line_is_completed(shell, line, words):
    command = ["python", "-m", "paddle_flags", *line.split(" ")[:-1][:1]]
    assert shell.tab(f"python -m paddle_flags {line}", run_as="./train.py") == [*command, *words]


def test_the_console_script_is_completed(shell):
    words = ["paddle-flags", "list", "-p", "libalpha.so", "--long"]
    assert shell.tab("paddle-flags list -p libalpha.so --lo", run_as="./train.py") == words


# ---- several candidates ----


def test_candidates_come_with_their_help_where_the_shell_shows_it(shell):
    shown = shell.listing("./train.py --")
    text = "\n".join(shown)
    for name in ("--alpha_check", "--alpha_level=", "--quick", "--flagfile=", "--help"):
        assert name in text
    for name in ("secret", "kept", "hasty", "noq", "late", "gone", "older", "from_stdout"):
        assert f"--{name}" not in text
        assert f"--alpha_{name}" not in text
    if shell.name != "bash":
        assert "Stop at the first NaN" in text
        assert "read flags from a file" in text


def test_what_reads_the_line_otherwise_is_completed_as_before(shell):
    assert shell.tab("python som", run_as="./train.py") == ["python", "some flags.conf"]


def test_a_command_keeps_the_completion_that_it_had(home):
    shell = Shell("bash", home)
    had = "_had() { COMPREPLY=(as-before); }; complete -F _had python"
    again = 'eval "$(python -m paddle_flags completion bash)"'
    shell.enter(f"{had}; {again}; {again}; echo DO''NE", "DONE\r\n")
    assert shell.tab("python x", run_as="./train.py") == ["python", "as-before"]
    shell.close()


def test_bash_may_break_words_otherwise(home):
    shell = Shell("bash", home)
    shell.enter("COMP_WORDBREAKS=${COMP_WORDBREAKS//[=:]}; set -u; echo DO''NE", "DONE\r\n")
    assert shell.tab("./train.py --alpha-mode=b") == ["--alpha-mode=best"]
    assert shell.tab("./train.py --tag=a:") == ["--tag=a:b"]
    assert shell.tab("./train.py --flagfile=som") == ["--flagfile=some flags.conf"]
    shell.close()


def test_zsh_loads_the_script_from_its_path(home):
    shell = Shell("zsh", home)
    (home / "functions").mkdir()
    make = "python -m paddle_flags completion zsh other.py >functions/_other"
    run("bash", "-c", f"{make}; cp train.py other.py", cwd=home, env=shell.env)
    shell.enter("fpath+=($PWD/functions); compinit -u -D; echo DO''NE", "DONE\r\n")
    assert shell.tab("./other.py --alpha-mode=b") == ["--alpha-mode=best"]
    assert shell.tab("./other.py --alpha-mode=b") == ["--alpha-mode=best"]
    shell.close()


# ---- what goes wrong ----


@pytest.mark.parametrize("request_", ["x", "fish 1 0", "nosh 1 0 x --", "fish a 0 x --"])
def test_a_question_that_nobody_understands_has_no_answer(python, request_):
    ended = python("pf.parse()\nprint('ran')", env={**os.environ, "_PD_FLAGS_COMPLETE": request_})
    assert ended.stdout == ended.stderr == ""


def test_an_answer_that_nobody_listens_to_is_no_error(python):
    ended = python("pf.parse()", env={**os.environ, "_PD_FLAGS_COMPLETE": "fish 1 0 x --"})
    assert ended.stdout == ended.stderr == ""


def test_files_are_offered_only_where_a_program_takes_arguments(python):
    listening = "import os\nos.dup2(1, 8)\n"
    question = {**os.environ, "_PD_FLAGS_COMPLETE": "fish 1 0 x "}
    assert python(listening + "pf.parse()", env=question).stdout == "files\n\n\n"
    assert python(listening + "pf.parse(arguments=False)", env=question).stdout == "words\n"
    behind = {**os.environ, "_PD_FLAGS_COMPLETE": "fish 1 0 x --flagfile "}
    assert python(listening + "pf.parse(arguments=False)", env=behind).stdout == "files\n\n\n"


def test_what_every_command_line_knows_is_known(python):
    ended = python(
        "from paddle_flags._completion.flags import _OWN\n"
        "for name in _OWN:\n"
        "    try: pf.parse(['x', '--' + name], exit=False)\n"
        "    except pf.FlagParseError as error:\n"
        "        print(name, any(isinstance(e, pf.UndefinedFlagError) for e in error.errors))"
    )
    assert len(ended.stdout.splitlines()) > 10
    assert "True" not in ended.stdout, ended.stdout


def test_completion_wants_a_shell_it_knows():
    ended = run(sys.executable, "-m", "paddle_flags", "completion", "csh", check=False)
    assert ended.returncode == 2
    assert "expected one of bash, zsh, fish" in ended.stderr


def test_a_broken_program_gives_no_candidates_and_no_noise(shell):
    shown = "\n".join(shell.listing("./broken.py --"))
    assert "noise" not in shown
    assert "Error" not in shown
    assert "from_stderr" not in "\n".join(shell.listing("./train.py --alpha"))


def test_words_of_the_user_are_never_run(shell):
    if shell.name == "zsh":  # whose Tab runs $(...) in the word at the cursor, for all commands
        shell.enter("bindkey '^I' complete-word; echo DO''NE", "DONE\r\n")
    for trap in ("$(touch trap)", "`touch trap`", '"$(touch trap)"', "a[$(touch trap)]"):
        shell.listing(f"./train.py --tag={trap} --alpha")
        shell.listing(f"./train.py --tag={trap}")
    assert not (shell.home / "trap").exists()
