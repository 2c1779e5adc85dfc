"""Programs with absl's flags do the same with the bridge as without it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from support import installed, run, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.extended  # each test starts processes

START = """
import sys
from absl import flags
F = flags.FLAGS
if sys.argv.pop(1) == "bridged":
    import paddle_flags as pf
    pf.bridge(flags.FLAGS, env_prefix="SAME_")
"""

PROGRAMS = {
    "set_default_after_the_value_it_had": """
for name in "ijklmn":
    flags.DEFINE_integer(name, 1, "")
F(["p", "--i=7"])
F.j = 7
F.k = 7
F.k = 1
F.m = None
F.m = 2
F.n = 1
for name in "ijklm":
    F.set_default(name, 4)
print([getattr(F, name) for name in "ijklmn"])
""",
    "none": """
flags.DEFINE_integer("i", 3, "")
flags.DEFINE_string("s", "text", "")
flags.DEFINE_integer("low", 3, "", lower_bound=2)
flags.DEFINE_list("l", ["a"], "")
F(["p", "--s=given"])
F.i = F.s = F.low = F.l = None
print(F.i, F.s, F.low, F.l)
F.i = 5
print(F.i)
""",
    "numbers_of_other_types": """
flags.DEFINE_integer("i", 1, "")
flags.DEFINE_bool("b", False, "")
flags.DEFINE_float("f", 1.5, "")
F(["p"])
F.i, F.b, F.f = True, 1, 2
print(F.i, F.b, F.f)
F.i = 0
F.i = True
print(F.i == 1, bool(F.b), F.f)
""",
    "override": """
flags.DEFINE_boolean("capture", False, "one", allow_override=True)
flags.DEFINE_boolean("capture", True, "another")
flags.DEFINE_integer("n", 1, "one")
flags.DEFINE_string("n", "x", "another", allow_override=True)
F(["p", "--nocapture", "--n=y"])
print(F.capture, F["capture"].help, F.n)
try:
    flags.DEFINE_integer("n", 1, "again")
    flags.DEFINE_integer("n", 2, "and again")
except flags.DuplicateFlagError:
    print("duplicate")
""",
    "present": """
flags.DEFINE_integer("given", 1, "")
flags.DEFINE_integer("assigned", 1, "")
flags.DEFINE_integer("alone", 1, "")
F(["p", "--given=1"])
F.assigned = 2
print([F[name].present for name in ("given", "assigned", "alone")])
F(["p", "--given=2"])
print(F["given"].present, F["given"].using_default_value)
""",
    "deleted": """
flags.DEFINE_integer("gone", 3, "", short_name="g")
F(["p", "--gone=7"])
del F.gone
print("gone" in F, "gone" in list(F), "gone" in F.get_help())
flags.DEFINE_string("gone", "again", "")
print(F.gone, F["gone"].using_default_value, F["gone"].present)
some = flags.FlagValues()
flags.DEFINE_integer("new", 1, "", flag_values=some, short_name="n")
F.append_flag_values(some)
F(["p", "-n", "2"])
F.remove_flag_values(some)
print("new" in F, "n" in F, some.new)
""",
    "text_assigned_to_flags_of_other_types": """
flags.DEFINE_bool("b", False, "")
flags.DEFINE_integer("i", 1, "")
flags.DEFINE_float("f", 1.5, "")
F(["p"])
F.b, F.i, F.f = "true", "7", "2.5"
print(repr(F.b), repr(F.i), repr(F.f))
""",
    "a_value_parsed_alone_and_restored": """
from absl.testing import flagsaver
flags.DEFINE_bool("b", True, "")
flags.DEFINE_bool("n", None, "")
F(["p"])
for _ in range(2):
    saved = flagsaver.save_flag_values()
    F["b"].parse(True)
    F["n"].parse(True)
    print([(F[x].value, F[x].present) for x in "bn"])
    flagsaver.restore_flag_values(saved)
    print([(F[x].value, F[x].present, F[x].using_default_value) for x in "bn"])
F(["p", "--b"])
print([(F[x].value, F[x].present, F[x].using_default_value) for x in "bn"])
""",
    "members_that_are_text": """
import enum
class Mode(str, enum.Enum):
    FAST = "fast"
    SLOW = "slow"
flags.DEFINE_enum_class("mode", Mode.FAST, Mode, "")
flags.DEFINE_multi_enum_class("modes", [Mode.FAST], Mode, "")
flags.DEFINE_enum("choice", Mode.FAST, list(Mode), "")
flags.DEFINE_string("text", Mode.FAST, "")
print(F["mode"].serialize())
F(["p"])
print(F.mode, F.modes, F.choice == "fast", F.text == "fast")
F(["p", "--mode=slow", "--modes=slow", "--modes=fast", "--choice=slow", "--text=a"])
print(F.mode, F.modes, F.choice == "slow", F.text, F["mode"].serialize())
F.mode = Mode.FAST
print(F.mode)
try:
    F(["p", "--mode=fats"])
except flags.IllegalFlagValueError:
    print("refused")
""",
    "present_after_a_value_parsed_alone": """
flags.DEFINE_integer("i", 1, "")
flags.DEFINE_multi_string("several", None, "")
F(["p"])
F["i"].parse("2")
F["several"].parse(["a", "b"])
print([F[name].present for name in ("i", "several")])
F["i"].parse("3")
F["several"].parse("c")
print([F[name].present for name in ("i", "several")], F.i, F.several)
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_does_the_same_with_the_bridge(tmp_path: Path, program: str) -> None:
    installed("absl.flags", "absl-py")
    script = write(tmp_path / "program.py", START + PROGRAMS[program])
    plain, bridged = (run(sys.executable, script, how).stdout for how in ("plain", "bridged"))
    assert bridged == plain
    assert plain


def test_what_a_variable_or_parse_gives_is_present(python) -> None:
    text = (
        "from absl import flags\nF = flags.FLAGS\nfor n in 'abc': flags.DEFINE_integer(n, 1, '')\n"
        "pf.bridge(flags.FLAGS)\npf.parse(['p', '--b=2'], env_prefix='SAME_')\n"
        "print([F[n].present for n in 'abc'], [F[n].using_default_value for n in 'abc'])"
    )
    env = {"SAME_a": "5"}
    assert python(text, env=env).stdout == "[1, 1, 0] [False, False, True]\n"


def test_a_value_parsed_alone_is_counted_once_whatever_had_given_one(python) -> None:
    text = (
        "from absl import flags\nF = flags.FLAGS\nflags.DEFINE_integer('a', 1, '')\n"
        "pf.define('ours', 1)\npf.bridge(flags.FLAGS)\n"
        "pf.parse(['p'], env_prefix='SAME_')\nfor name in ('a', 'ours'): F[name].parse('2')\n"
        "print([(F[name].present, F[name].value) for name in ('a', 'ours')])"
    )
    assert python(text, env={"SAME_a": "5"}).stdout == "[(1, 2), (1, 2)]\n"


def test_a_validator_may_read_other_flags_when_parse_asks(python) -> None:
    text = (
        "from absl import flags\nF = flags.FLAGS\nfor n in 'ab': flags.DEFINE_integer(n, 1, '')\n"
        "flags.register_validator('a', lambda value: value > F.b, message='must exceed b')\n"
        "pf.bridge(flags.FLAGS)\npf.parse(['p', '--a=2'], exit=False)\nprint(F.a)\n"
        "try: pf.FLAGS['a'].value = 1\n"
        "except pf.FlagValueError as error: print('must exceed b' in str(error))"
    )
    assert python(text).stdout == "2\nTrue\n"


MULTI = """
from absl import flags
import enum
F = flags.FLAGS
class Color(enum.Enum): RED, BLUE = 1, 2
flags.DEFINE_multi_string("words", ["z"], "", short_name="w")
flags.DEFINE_multi_integer("numbers", None, "")
flags.DEFINE_multi_enum("kinds", ["a"], ["a", "b"], "")
flags.DEFINE_multi_enum_class("colors", None, Color, "")
flags.DEFINE_list("items", ["y"], "")
pf.bridge(flags.FLAGS)
def read(*tokens, **options):
    try: print("kept", {parse}(["p", *tokens], **options))
    except Exception as error: print(type(error).__name__)
    print(F.words, F.numbers, F.kinds, [each.name for each in F.colors or []], F.items)
"""


@pytest.mark.parametrize(
    "tokens",
    [
        ["--words=a,b", "--words=c", "--items=d,e"],
        ["--words", "a,b", "x", "-w", 'say "hi", you'],
        ["--words=", "--", "--words=a,b"],
        ["--numbers=1", "--numbers=2", "--kinds", "b", "--colors=red", "--colors=BLUE"],
    ],
)
def test_each_use_of_a_multi_flag_is_one_item(python, tokens) -> None:
    text = f"\nread(*{tokens})"
    ours = python(MULTI.replace("{parse}", "pf.parse") + text, "p").stdout
    theirs = python(MULTI.replace("{parse}", "F") + text, "p").stdout
    assert ours.splitlines()[1:] == theirs.splitlines()[1:]


@pytest.mark.parametrize("token", ["--numbers=1,2", "--kinds=a,b", "--colors=red,blue"])
def test_commas_in_an_item_of_a_multi_flag_are_refused_as_absl_does(python, token) -> None:
    text = MULTI.replace("{parse}", "pf.parse") + f"\nread({token!r}, exit=False)"
    assert python(text, check=False).stdout == "FlagParseError\n"


def test_parse_returns_the_tokens_of_a_multi_flag_as_they_were(python) -> None:
    text = MULTI.replace("{parse}", "pf.parse") + (
        "\nread('x', '--words=a,b', order='leave')\nread('--words', 'a,b', order='reorder')\n"
    )
    kept = [each for each in python(text).stdout.splitlines() if "kept" in each]
    assert kept == ["kept ['x', '--words=a,b']", "kept ['--words', 'a,b']"]


READS = """
from absl import flags
F = flags.FLAGS
flags.DEFINE_integer("low", 0, "")
flags.DEFINE_integer("high", 10, "")
flags.register_validator("low", lambda value: value <= F.high, message="low is above high")
pf.bridge(flags.FLAGS)
"""


@pytest.mark.parametrize("line", [["--low=50", "--high=90"], ["--high=90", "--low=50"]])
def test_a_validator_that_reads_another_flag_sees_what_the_line_gives_it(python, line) -> None:
    text = READS + f"pf.parse(['p', *{line}], exit=False)\nprint(F.low, F.high)"
    assert python(text).stdout == "50 90\n"


def test_a_validator_is_asked_when_a_flag_that_it_reads_changes(python) -> None:
    text = READS + (
        "for line in ['--low=50'], ['--high=-5'], ['--low=9']:\n"
        "    try: pf.parse(['p', *line], exit=False)\n"
        "    except pf.FlagParseError as error: print(error)\n"
        "print(F.low, F.high)\n"
        "pf.FLAGS.update(low=20, high=30)\n"
        "try: pf.FLAGS['high'].value = 5\n"
        "except pf.FlagValueError as error: print(error)"
    )
    why = "low is above high (validator of absl)"
    *printed, last = python(text).stdout.splitlines()
    assert printed == [
        f"--low=50 (argv[1]), --high=10 (default): {why}",
        f"--low=0 (default), --high=-5 (argv[1]): {why}",
        "9 10",
    ]
    assert last.startswith("--low=20 (")
    assert last.endswith(why)


def test_a_validator_goes_on_when_a_flag_that_it_has_read_goes(python) -> None:
    text = (
        "from absl import flags\nF = flags.FLAGS\nflags.DEFINE_integer('low', 0, '')\n"
        "pf.bridge(flags.FLAGS)\npf.define('high', 10)\n"
        "flags.register_validator('low', lambda v: v <= (F.high if 'high' in F else 3))\n"
        "pf.parse(['p', '--low=9'])\npf.undefine('high')\n"
        "try: pf.FLAGS['low'].value = 4\n"
        "except pf.FlagValueError: print('refused')\n"
        "pf.FLAGS['low'].value = 2\nprint(F.low)"
    )
    assert python(text).stdout == "refused\n2\n"


def test_what_a_serializer_cannot_write_is_an_error_of_absl(python) -> None:
    text = (
        "from absl import flags\nclass Fails(flags.ArgumentSerializer):\n"
        "    def serialize(self, value): raise KeyError('broken')\n"
        "class Parser(flags.ArgumentParser):\n"
        "    def parse(self, text): return object()\n"
        "pf.bridge(flags.FLAGS)\n"
        "flags.DEFINE(Parser(), 'later', None, '', serializer=Fails())\nF = flags.FLAGS\n"
        "F(['p'])\n"
        "try: F.later = object()\n"
        "except flags.IllegalFlagValueError as error: print(error)"
    )
    assert "later: its serializer can't write <object" in python(text).stdout


IN_PLACE = """
from absl import flags
import paddle_flags as pf
flags.DEFINE_multi_string("words", ["z"], "")
flags.DEFINE_list("items", "y", "")
flags.register_validator("items", lambda items: len(items) < 4)
ours = pf.define("ours", ["x"])
pf.bridge(flags.FLAGS)
F = flags.FLAGS
{parse}(["p", "--words=a", "--items=b, c"])
F.words.append("d")
F.items += ["e"]
F.ours[0] = "f"
print(pf.FLAGS["words"].value, pf.FLAGS["items"].value, ours.value, F.words, F.items, F.ours)
try: F.items.extend("gh")
except flags.IllegalFlagValueError as error: print(type(error).__name__)
print(pf.FLAGS["items"].value, F.items)
"""


@pytest.mark.parametrize("parse", ["F", "pf.parse"])
def test_a_list_that_changes_in_place_changes_the_flag(parse: str) -> None:
    installed("absl.flags", "absl-py")
    assert run(sys.executable, "-c", IN_PLACE.format(parse=parse)).stdout == (
        "('a', 'd') ('b', 'c', 'e') ('f',) ['a', 'd'] ['b', 'c', 'e'] ['f']\n"
        "IllegalFlagValueError\n"
        "('b', 'c', 'e') ['b', 'c', 'e']\n"
    )


CHILD = """
import multiprocessing
from absl import flags
import paddle_flags as pf
flags.DEFINE_integer("level", 1, "")
def work():
    print(flags.FLAGS.level, flush=True)
if __name__ == "__main__":
    pf.bridge(flags.FLAGS)
    flags.FLAGS(["p", "--level=7"])
    pf.propagate()
    child = multiprocessing.get_context("spawn").Process(target=work)
    child.start()
    child.join()
    raise SystemExit(child.exitcode)
"""


def test_a_spawned_child_reads_what_its_parent_has_parsed(tmp_path: Path) -> None:
    installed("absl.flags", "absl-py")
    script = write(tmp_path / "spawning.py", CHILD)
    assert run(sys.executable, script, env=dict(os.environ)).stdout == "7\n"
