"""parse(): the grammar of the command line, its errors, and the environment."""

from __future__ import annotations

import argparse
import os
import sys
import zipapp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import run, write

import paddle_flags as pf

PROGRAM = """
pf.define("level", 6, "How hard to try", min=1, max=9, category="tuning", aliases=["lvl"])
pf.define("verbose", False, "Tell more")
pf.define("mode", "fast", "How to search", choices=["fast", "best"])
pf.define("name_", "", "A name")
pf.define("secret", 1, "Not shown", hidden=True)
pf.define("rate", 0.5, "A rate")
"""
SHOW = "print(pf.FLAGS.level, pf.FLAGS.verbose, pf.FLAGS.mode, repr(pf.FLAGS.name_), rest)\n"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ([], "6 False fast '' []"),
        (["--level=3"], "3 False fast '' []"),
        (["-level=3"], "3 False fast '' []"),
        (["--level", "3", "a"], "3 False fast '' ['a']"),
        (["--lvl=3"], "3 False fast '' []"),
        (["--verbose", "false"], "6 True fast '' ['false']"),
        (["--verbose", "--noverbose"], "6 False fast '' []"),
        (["--verbose", "--no-verbose", "x"], "6 False fast '' ['x']"),
        (["--verbose=yes"], "6 True fast '' []"),
        (["--name-=x"], "6 False fast 'x' []"),
        (["--name_="], "6 False fast '' []"),
        (["--name_", ""], "6 False fast '' []"),
        (["--name_", "-"], "6 False fast '-' []"),
        (["--name_==a=b"], "6 False fast '=a=b' []"),
        (["--name_", "-5"], "6 False fast '-5' []"),
        (["a", "--level=3", "b", "--", "--lvl", "--"], "3 False fast '' ['a', 'b', '--lvl', '--']"),
        (["--level=3", "--level=4"], "4 False fast '' []"),
        (["-"], "6 False fast '' ['-']"),
        (["", "ä"], "6 False fast '' ['', 'ä']"),
    ],
)
def test_the_grammar_reads_flags_and_leaves_the_rest(python, words, shown):
    assert python(PROGRAM + "rest = pf.parse()\n" + SHOW, *words).stdout == shown + "\n"


def test_parse_leaves_its_argument_alone(name):
    pf.define(name, 1)
    argv = ["prog", f"--{name}=2", "x"]
    assert pf.parse(argv) == ["x"]
    assert argv == ["prog", f"--{name}=2", "x"]
    assert pf.parse([]) == []
    assert pf.parse(("prog",)) == []


def test_parse_gives_the_very_words_it_was_given():
    words = ["same", "same", "bytes \udcff", "💾"]
    rest = pf.parse(["prog", *words])
    assert rest == words
    assert all(a is b for a, b in zip(rest, words))


def test_a_flag_tells_its_word(name):
    flag = pf.define(name, 1)
    pf.parse(["prog", "x", f"--{name}", "2"])
    assert (flag.value, flag.source, flag.place) == (2, "argv", "argv[2]")


def test_a_value_set_in_code_outranks_the_command_line(name):
    flag = pf.define(name, 1)
    flag.value = 3
    with pytest.warns(pf.FlagWarning, match=f"--{name}=2 has no effect: code has set .* to 3 at"):
        pf.parse(["prog", f"--{name}=2"])
    assert flag.value == 3
    assert [entry.value for entry in flag.history] == [3, 2, 1]


def test_reading_stops_at_the_first_argument_on_request(name):
    flag = pf.define(name, 1)
    argv = ["prog", f"--{name}=2", "run", f"--{name}=3", "--unknown"]
    rest = pf.parse(argv, stop_at_argument=True)
    assert rest == ["run", f"--{name}=3", "--unknown"]
    assert flag.value == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["file"], "file: expected no argument"),
        (
            ["--verbose", "true"],
            "true: expected no argument; a bool takes its value after =, as in --verbose=true",
        ),
        (
            ["--sizes", "1", "2", "3"],
            "2: expected no argument; items of a list are separated by commas, as in --sizes=1,2,3",
        ),
        (["--", "--level=3"], "--level=3: expected no argument"),
        (["-"], "-: expected no argument"),
    ],
)
def test_a_program_without_arguments_refuses_them_and_sets_nothing(python, words, message):
    text = (
        PROGRAM + "pf.define('sizes', [1])\n"
        "try: pf.parse(arguments=False, exit=False)\n"
        "except pf.FlagParseError as error: print(error.errors[0], pf.FLAGS.level)\n"
    )
    assert python(text, "--level=9", *words).stdout == f"{message} 6\n"


def test_a_program_without_arguments_takes_flags_and_dashes_alone(name):
    flag = pf.define(name, 1)
    assert pf.parse(["prog", f"--{name}=2", f"--{name}", "3", "--"], arguments=False) == []
    assert flag.value == 3


def test_what_follows_a_refused_argument_that_ends_the_flags_is_refused_too(name):
    flag = pf.define(name, 1)
    argv = ["prog", f"--{name}=2", "run", f"--{name}=3"]
    with pytest.raises(pf.FlagParseError) as refused:
        pf.parse(argv, arguments=False, stop_at_argument=True, exit=False)
    assert str(refused.value).splitlines() == [
        "run: expected no argument",
        f"--{name}=3: expected no argument",
    ]
    assert flag.value == 1


def test_a_refused_argument_ends_the_program_as_other_errors_do(python):
    ended = python(PROGRAM + "pf.parse(arguments=False)", "--level=3", "x", check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "script.py: error: x: expected no argument\nTry 'script.py --help'.\n"


def test_the_usage_of_a_program_without_arguments_names_none(python, tmp_path):
    text = PROGRAM + "pf.parse(arguments=False)"
    shown = python(text, "--help", "x").stdout
    assert shown == HELP.replace(" [argument ...]", "")
    assert "<usage></usage>" in python(text, "--helpxml").stdout
    write(tmp_path / "tool.py", "import paddle_flags as pf\npf.parse(arguments=False)\n")
    shown = run(sys.executable, "-m", "tool", "--help", cwd=tmp_path).stdout
    assert shown.startswith("usage: python -m tool [--flag=value ...]\n")


# ---- Undefined flags for another parser ----


def test_undefined_flags_come_back_in_their_places(name):
    flag = pf.define(name, 1)
    line = ["prog", "a", "--theirs=1", f"--{name}=2", "-Z", "b", "--", f"--{name}=3"]
    rest = pf.parse(line, known_only=True)
    assert rest == ["a", "--theirs=1", "-Z", "b", "--", f"--{name}=3"]
    assert flag.value == 2


def test_argparse_reads_what_is_left(name):
    flag = pf.define(name, 1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--theirs", type=int)
    parser.add_argument("files", nargs="*")
    rest = pf.parse(["prog", "--theirs", "5", f"--{name}=2", "x", "--", "-y"], known_only=True)
    read = parser.parse_args(rest)
    assert (read.theirs, read.files, flag.value) == (5, ["x", "-y"], 2)


def test_this_reads_what_argparse_leaves(name):
    flag = pf.define(name, 1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--theirs", type=int)
    read, left = parser.parse_known_args(["--theirs", "5", f"--{name}=2", "x"])
    assert pf.parse(["prog", *left]) == ["x"]
    assert (read.theirs, flag.value) == (5, 2)


def test_a_wrong_value_of_a_known_flag_is_an_error_beside_undefined_ones(name):
    flag = pf.define(name, 1)
    with pytest.raises(pf.FlagParseError, match=rf"^--{name}=x: "):
        pf.parse(["prog", "--theirs", f"--{name}=x"], known_only=True, exit=False)
    assert flag.value == 1


def test_help_says_that_other_flags_are_passed_on(python):
    shown = python("pf.parse(known_only=True)", "--theirs", "--help").stdout
    first, second, *_ = shown.splitlines()
    assert first.endswith("[--flag=value ...] [argument ...]")
    assert second == "Other flags are passed on."


def test_all_errors_of_a_line_come_together_and_nothing_is_changed(name):
    flag = pf.define(name, 1, max=5)
    argv = ["prog", f"--{name}=2", f"--{name}=6", f"--{name}x", f"--no{name}", f"--{name}"]
    with pytest.raises(pf.FlagParseError) as refused:
        pf.parse(argv, exit=False)
    assert [type(error) for error in refused.value.errors] == [
        pf.FlagValueError,
        pf.UndefinedFlagError,
        pf.FlagParseError,
        pf.FlagParseError,
    ]
    lines = str(refused.value).splitlines()
    assert lines[0] == f"--{name}=6: expected an integer <= 5"
    assert "no such flag; did you mean" in lines[1]
    assert "only a bool can be negated" in lines[2]
    assert "the value is missing, expected an integer <= 5" in lines[3]
    assert (flag.value, flag.source) == (1, "default")


def test_errors_are_printed_and_end_the_program_with_2(python):
    ended = python(PROGRAM + "pf.parse()", "--levle=3", "--mode=slow", check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "script.py: error: --levle: no such flag; did you mean '--level'?\n"
        "script.py: error: --mode=slow: expected one of fast, best\n"
        "Try 'script.py --help'.\n"
    )


HELP = """\
usage: script.py [--flag=value ...] [argument ...]

script.py:
  --[no]verbose        Tell more [default: false]
  --mode={fast,best}   How to search [default: fast]
  --name_=STRING       A name [default: ""]
  --rate=DOUBLE        A rate [default: 0.5]

script.py, tuning:
  --level=INT64        How hard to try [1 to 9] [default: 6] [also: --lvl]

common:
  -h, --help           Show this help and exit.
  --helpfull           Show all flags, hidden ones too.
  --helpshort          Show the flags of the program itself.
  --version            Show the version of the program and exit.
  --flagfile=FILE,...  Read flags from files.
"""


def test_help_is_printed_and_ends_the_program_with_0(python):
    for word in ("--help", "-help", "-h"):
        ended = python(PROGRAM + "pf.parse()", word, "--unknown")
        assert (ended.stdout, ended.stderr) == (HELP, "")


def test_help_is_as_wide_as_the_terminal(python):
    text = "pf.define('x', 1, 'many words ' * 20)\npf.parse()"
    for columns in (60, 100):
        ended = python(text, "--help", env={**os.environ, "COLUMNS": str(columns)})
        assert columns - 20 < max(map(len, ended.stdout.splitlines())) < columns


def test_help_is_an_exception_on_request(name):
    pf.define(name, 1, "What for")
    with pytest.raises(pf.HelpRequested, match="What for"):
        pf.parse(["prog", "--help"], exit=False)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("--help", "help"),
        ("-h", "help"),
        ("--helpfull", "helpfull"),
        ("--helpshort", "helpshort"),
        ("--helpon=x", "helpon"),
        ("--helpmatch=x", "helpmatch"),
        ("--helppackage", "helppackage"),
        ("--helpxml", "helpxml"),
        ("--version", "version"),
    ],
)
def test_the_exception_tells_what_was_asked_for(word, kind):
    with pytest.raises(pf.HelpRequested) as asked:
        pf.parse(["prog", word, "--unknown"], exit=False, version="1.2")
    assert asked.value.kind == kind
    assert asked.value.status == "PD_HELP"
    assert str(asked.value)


@pytest.mark.parametrize("kind", ["directory", "zip file"])
def test_the_help_of_a_packed_program_names_its_file(tmp_path, kind):
    program = tmp_path / "app"
    write(program / "__main__.py", "import paddle_flags as pf\npf.parse()")
    if kind == "zip file":
        zipapp.create_archive(program, tmp_path / "app.pyz")
        program = tmp_path / "app.pyz"
    shown = run(sys.executable, program, "--help").stdout
    assert shown.startswith(f"usage: {program.name} [--flag=value ...] [argument ...]\n")


def test_the_version_is_printed_and_ends_the_program_with_0(python):
    for how in ("", ", exit='gflags'"):
        ended = python(f"pf.parse(version='1.2.3'{how})", "--version")
        assert ended.stdout == "script.py version 1.2.3\n"


def test_usage_stands_above_the_flags(python):
    text = PROGRAM + "pf.parse(usage='Train a model.\\n\\n  script.py DATA')"
    shown = python(text, "--help").stdout
    assert shown.startswith("Train a model.\n\n  script.py DATA\n\n")
    assert "--level" in shown


@pytest.mark.parametrize(
    ("word", "status"), [("--help", 1), ("--helpxml", 1), ("--version", 0), ("--levle=1", 1)]
)
def test_a_program_can_end_as_those_with_gflags_do(python, word, status):
    ended = python(PROGRAM + "pf.parse(exit='gflags')", word, check=False)
    assert ended.returncode == status
    assert ("no such flag" in ended.stderr) == (word == "--levle=1")


def test_what_comes_back_is_a_choice(name):
    pf.define(name, 0)
    pf.define(f"{name}b", False)
    line = ["prog", "a", f"--{name}", "1", "b", f"--{name}b", "--", "c", f"--{name}=3"]
    assert pf.parse(line) == ["a", "b", "c", f"--{name}=3"]
    assert pf.parse(line, order="leave") == line[1:]
    reordered = pf.parse(line, order="reorder")
    assert reordered == [f"--{name}", "1", f"--{name}b", "--", "a", "b", "c", f"--{name}=3"]
    with pytest.raises(pf.FlagArgumentError, match="'remove', 'leave' or 'reorder'"):
        pf.parse(line, order="sorted")
    with pytest.raises(pf.FlagArgumentError, match="True, False or 'gflags'"):
        pf.parse(line, exit="never")


def test_no_flag_can_take_help_away(python):
    ended = python("pf.define('help', False)", check=False)
    assert "FlagConflictError" in ended.stderr
    assert "definition of 'help': --help lists the flags, expected another name" in ended.stderr
    ended = python(PROGRAM + "pf.parse()", "--help=level", check=False)
    assert ended.returncode == 2
    assert "--help=level: expected true or false" in ended.stderr


def test_the_environment_ranks_below_the_command_line(python):
    env = {**os.environ, "APP_level": "3", "APP_mode": "best", "level": "9"}
    text = PROGRAM + "rest = pf.parse(env_prefix='APP_')\n" + SHOW
    assert python(text, "--mode=fast", env=env).stdout == "3 False fast '' []\n"
    assert python(PROGRAM + "rest = pf.parse()\n" + SHOW, env=env).stdout == "6 False fast '' []\n"


def test_a_bad_value_of_the_environment_is_an_error_of_the_line(python):
    env = {**os.environ, "APP_level": "12", "APP_rate": ""}
    ended = python(PROGRAM + "pf.parse(env_prefix='APP_')", env=env, check=False)
    assert ended.returncode == 2
    assert "environment: APP_level=12: expected an integer in [1, 9]" in ended.stderr
    assert "environment: APP_rate: is empty, expected a number" in ended.stderr


def test_unknown_variables_are_warned_of_on_request(python):
    warned = ["WORKRES", "Workers", "alias", "nothing_like_it", "wrokers"]
    fine = ["", "OLD", "flagfile", "FLAGFILE", "HELP", "fromenv", "later"]
    env = {**os.environ, **{f"APP_{name}": "" for name in warned + fine}, "XAPP_y": "1"}
    env |= {"APP_workers": "3", "APP_WORKERS": "3"}
    ended = python(
        "import warnings\n"
        "pf.define('workers', 1, old_names=['old_one'], aliases=['alias'])\n"
        "pf.define('old', '')\n"
        "with warnings.catch_warnings(record=True) as found:\n"
        "    warnings.simplefilter('always')\n"
        "    how = {'warn_unknown_env': True, 'allow_pending': True}\n"
        "    pf.parse(['x', '--later=1'], env_prefix='APP_', **how)\n"
        "for each in found:\n"
        "    print(each.category.__name__, each.message, each.filename == __file__)\n",
        env=env,
    )
    start, end = "UnknownVariableWarning environment variable ", "True"
    assert ended.stdout.splitlines() == [
        f"{start}APP_WORKRES names no flag; did you mean APP_WORKERS? {end}",
        f"{start}APP_Workers names no flag; did you mean APP_workers? {end}",
        f"{start}APP_alias names no flag {end}",
        f"{start}APP_nothing_like_it names no flag {end}",
        f"{start}APP_wrokers names no flag; did you mean APP_workers? {end}",
    ]


@pytest.mark.parametrize("prefix", [None, ""])
def test_unknown_variables_need_a_prefix(prefix):
    with pytest.raises(pf.FlagArgumentError, match="warn_unknown_env: needs an env_prefix"):
        pf.parse(["x"], env_prefix=prefix, warn_unknown_env=True)
    with pytest.raises(pf.FlagTypeError, match="warn_unknown_env"):
        pf.parse(["x"], env_prefix="X_", warn_unknown_env=1)  # type: ignore[arg-type]


def test_unknown_names_in_the_environment_are_left_alone(python):
    env = {**os.environ, "APP_nobody": "1"}
    text = PROGRAM + "rest = pf.parse(env_prefix='APP_')\n" + SHOW
    assert python(text, env=env).stdout == "6 False fast '' []\n"


@pytest.mark.parametrize(
    ("argv", "options", "error"),
    [
        (["prog", 1], {}, pf.FlagTypeError),
        ("prog --x=1", {}, pf.FlagTypeError),
        (["--x=1", "y"], {}, pf.FlagArgumentError),
        (["prog"], {"env_prefix": 5}, pf.FlagTypeError),
        (["prog", "a\0b"], {}, pf.FlagValueError),
        (["prog"], {"env_prefix": "a=b"}, pf.FlagArgumentError),
        (["prog"], {"env_prefix": "x" * 300}, pf.FlagArgumentError),
    ],
)
def test_what_cannot_be_a_command_line_is_refused(argv, options, error):
    with pytest.raises(error):
        pf.parse(argv, exit=False, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"version": 1.2}, pf.FlagTypeError, "version: 1.2: expected str, not float"),
        ({"usage": 5}, pf.FlagTypeError, "usage: 5: expected str, not int"),
        ({"usage": "a\0"}, pf.FlagArgumentError, "usage: 'a\\x00': contains a NUL character"),
        ({"env_prefix": 5}, pf.FlagTypeError, "env_prefix: 5: expected str, not int"),
        ({"env_prefix": "A="}, pf.FlagArgumentError, "env_prefix: 'A=': expected at most 255"),
        ({"allow_pending": "no"}, pf.FlagTypeError, "allow_pending: 'no': expected bool, not str"),
        ({"arguments": 0}, pf.FlagTypeError, "arguments: 0: expected bool, not int"),
        ({"stop_at_argument": None}, pf.FlagTypeError, "stop_at_argument: None: expected bool"),
        (
            {"known_only": True, "allow_pending": True},
            pf.FlagArgumentError,
            "known_only: returns undefined flags, expected it without allow_pending=True",
        ),
        (
            {"known_only": True, "arguments": False},
            pf.FlagArgumentError,
            "known_only: returns undefined flags, expected it without arguments=False",
        ),
        ({"order": []}, pf.FlagArgumentError, "order is []: expected 'remove', 'leave'"),
        ({"config": 5}, pf.FlagTypeError, "config is 5: expected the path"),
        ({"argv": 5}, pf.FlagTypeError, "argv is 5: expected a list of str"),
        ({"argv": [5]}, pf.FlagTypeError, "argv has 5: expected str, not int"),
        ({"argv": b"prog"}, pf.FlagTypeError, "argv is b'prog': expected a list of str"),
        ({"argv": ["prog", "a\0b"]}, pf.FlagValueError, "argv: 'a\\x00b': contains a NUL"),
    ],
)
def test_a_mistake_of_the_program_is_raised_whatever_the_line_says(options, error, message):
    with pytest.raises(error) as refused:
        pf.parse(**{"argv": ["prog", "--nobody"], **options})
    assert str(refused.value).startswith(message)
    assert not isinstance(refused.value, pf.FlagParseError)


def test_a_program_without_a_name_is_called_program(python):
    text = PROGRAM + "sys.argv = []\npf.parse(env_prefix='APP_')"
    ended = python(text, env={**os.environ, "APP_rate": "x"}, check=False)
    assert ended.stderr.startswith("program: error: environment: APP_rate=x: ")
    assert ended.stderr.endswith("\nTry 'program --help'.\n")
    assert python("pf.parse(['', '--help'])").stdout.startswith("usage: program ")


words = st.text(
    st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=8
) | st.sampled_from(["--", "-", "--prop_flag", "--noprop_flag", "--prop_int", "--prop_int=1", "-5"])


def refused(line: list[str]) -> bool:
    try:
        rest = pf.parse(["prog", *line], exit=False)
    except pf.FlagParseError:
        return True
    remaining = iter(line)
    assert all(word in remaining for word in rest), "the rest is in order"
    return False


@given(st.lists(words, max_size=8))
def test_no_line_crashes_or_changes_anything_when_it_is_refused(line):
    flags = [pf.define("prop_flag", False), pf.define("prop_int", 0)]
    before = [flag.history for flag in flags]
    if refused(line):
        assert [flag.history for flag in flags] == before
    for flag in flags:
        flag.reset()
