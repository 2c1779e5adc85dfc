"""gen import: flags.yaml from plugins, programs, parsers and sources."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from support import build, build_plugin, package, require, run, write

package("ruamel.yaml")
package("jinja2")

from hypothesis import given, settings  # noqa: E402 - behind the look for what is needed
from hypothesis import strategies as st  # noqa: E402

from paddle_flags.gen import load  # noqa: E402
from paddle_flags.gen.cli import run as gen  # noqa: E402
from paddle_flags.gen.diff import compare  # noqa: E402
from paddle_flags.gen.emit import to_text, to_trees  # noqa: E402
from paddle_flags.gen.importers import Found, helpxml, settle  # noqa: E402
from paddle_flags.gen.importers.cpp_tokens import tokenise  # noqa: E402
from paddle_flags.gen.importers.cpp_values import NoConstant, constant  # noqa: E402
from paddle_flags.gen.importers.gflags import import_sources  # noqa: E402
from paddle_flags.gen.model import TYPES, Flag, FlagSet, Place, to_data  # noqa: E402

# All that a plugin's definitions tell. The versions in it are the one that --version says.
FLAGS = r"""
name: engine
version: 2.1.0
flags:
  - {name: batch, type: int32, default: 32, help: Rows at once, range: [1, 4096]}
  - {name: mode, type: string, default: fast, help: How, choices: [fast, best], category: Speed}
  - {name: cache, type: uint64, default: 64MiB, help: Memory, unit: bytes, range: [1KiB, null]}
  - {name: most, type: uint64, default: 18446744073709551615, help: Much, choices: [5, 18446744073709551615]}
  - {name: wait, type: double, default: 1m30s, help: Time, unit: seconds, choices: [1m30s, 1ms]}
  - {name: check, type: bool, default: true, help: "Look at\neverything \"\\ ??/", attributes: [hidden, required]}
  - {name: hosts, type: string, items: string, default: [a, "b,\"c"], help: Where, choices: [a, "b,\"c"]}
  - {name: sizes, type: string, items: int64, default: [1, -9223372036854775808], help: Sizes}
  - {name: none, type: string, items: double, default: [], help: Nothing}
  - {name: ratio, type: double, default: 1.0e-7, help: Part, range: [-0.5, 1.0e+300]}
  - {name: low, type: int64, default: -9223372036854775808, help: Low}
  - {name: key, type: string, default: "\x07 é \u2028", help: "Secret é", attributes: [sensitive, read_only]}
  - {name: part, type: int32, default: 0, help: Part, attributes: [experimental, startup_only]}
imports:
  - {name: threads, type: int32, default: -3}
  - {name: home, type: string, default: "/é"}
"""  # noqa: E501 - a line a flag
COMPAT = """
aliases:
  - {flag: batch, names: [b, row-count]}
  - {flag: mode, names: [m.o]}
renamed:
  - {from: style, to: mode, version: 2.1.0}
retired:
  - {name: turbo, type: bool, version: 2.0.0, reason: always on, replacement: mode}
  - {name: nitro, type: int32, version: 1.0.0, reason: had no effect}
deprecated:
  - {flag: ratio, version: 2.1.0, reason: too coarse, replacement: batch}
  - {flag: key, version: 2.1.0, reason: is in a file now}
"""


def generated_plugin(place: Path, flags: str, compat: str) -> tuple[str, Path]:
    """Write the files, generate from them and build; give the file and the plugin."""
    path = write(place / "flags.yaml", flags)
    write(place / "flags_compat.yaml", compat)
    assert gen([str(path), "-o", str(place / "made"), "--lang", "c"], "gen") == 0
    sources = sorted((place / "made").glob("*.c"))
    assert sources
    return str(path), build_plugin(place / "libmade.so", *sources, flags=("-O0", "-std=gnu11"))


def imported(capsys, *words: object) -> tuple[int, list[str]]:
    """Run gen import; give the exit status and the lines about what can't be said."""
    status = gen(["import", *map(str, words)], "gen")
    return status, capsys.readouterr().err.splitlines()


def test_what_was_generated_built_and_loaded_comes_back_equal(tmp_path):
    path, plugin = generated_plugin(tmp_path, FLAGS, COMPAT)
    back = tmp_path / "back" / "flags.yaml"
    # A process of its own: the flags of the plugin would stay in this one.
    command = [sys.executable, "-m", "paddle_flags", "gen", "import", "plugin", plugin]
    ended = run(*command, "-o", back, "--version", "2.1.0", check=False)
    assert ended.stdout.split() == [str(back), str(back.with_name("flags_compat.yaml"))]
    assert to_data(load(str(back))) == to_data(load(path))
    # The versions of a former name and of deprecations aren't in a plugin.
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 3
    source = tmp_path / "made" / "engine_flags.c"
    line = next(i for i, text in enumerate(source.read_text().splitlines(), 1) if "(ratio," in text)
    told = f"{source}:{line}:1: ratio: deprecated: found no version, expected the one that it"
    assert any(each.startswith(told) for each in ended.stderr.splitlines()), ended.stderr


def test_what_a_plugin_does_not_have_is_all_that_differs(tmp_path):
    more = "  - {name: size, type: int32, default: 1, help: S, owner: us, since: 1.0.0}\nimports:"
    implies = "implies:\n  - {flag: mode, value: best, sets: {batch: 64}}\n"
    flags = FLAGS.replace("imports:", more)
    path, plugin = generated_plugin(tmp_path, flags, COMPAT + implies)
    back = tmp_path / "back.yaml"
    command = [sys.executable, "-m", "paddle_flags", "gen", "import", "plugin", plugin]
    ended = run(*command, "-o", back, "--version", "2.1.0", check=False)
    found = compare(load(path), load(str(back)))
    assert {each.kind for each in found} == {"owner", "since", "implies"}
    what = "mode: found a watcher, expected implied values, which a plugin doesn't tell"
    assert len(re.findall(what, ended.stderr)) == 1


def test_a_plugin_that_was_written_by_hand_tells_its_imports_and_functions(plugin, tmp_path):
    made = plugin("""
        static bool even(const pd_flag_entry *const *e, void *context, char *why, size_t size) {
          (void)context, (void)why, (void)size;
          return e[0]->value.i64 % 2 == 0;
        }
        PD_DEFINE_int32(pairs, 2, "Pairs", .validate = even);
        PD_IMPORT_double(share, 0.25);
    """)
    out = tmp_path / "flags.yaml"
    command = [sys.executable, "-m", "paddle_flags", "gen", "import", "plugin", made, "-o", out]
    ended = run(*command, check=False)
    assert ended.returncode == 1
    told = f"{tmp_path}/plugin.c:7:1: pairs: found a validator, expected a range or choices\n"
    assert ended.stderr == told
    flags = load(str(out))
    assert flags.name == "plugin"
    assert [flag.name for flag in flags.flags] == ["pairs"]
    assert [(each.name, each.type, each.default) for each in flags.imports] == [
        ("share", "double", 0.25)
    ]


# ---- sources and programs of gflags ----

SOURCE = r"""
#include <gflags/gflags.h>
// DEFINE_int32(in_comment, 1, "no");
/* DEFINE_int32(in_comment, 1, "no"); */
static const char *text = "DEFINE_int32(in_text, 1, \"no\");";
DEFINE_int32(port, 8080, "Port "  // a comment
             "to listen \
on");
DEFINE_uint32(mask, 0xFFu | 0x100, "bits");
DEFINE_uint64(size, 64ULL << 20, "Size: \"q\" \x41\n\u00e9\303\251\t?");
DEFINE_int64(low, -9223372036854775807 - 1, "low");
DEFINE_int64(octal, 0755 + 0b11 + 1'000, "digits");
DEFINE_int32(divided, -7 / 2 * (3 - 1) % 5, "towards 0");
DEFINE_double(narrow, .1f, R"x(raw\n "text" \
joined)x");
DEFINE_double(tiny, 1e-7, "d"); DEFINE_bool(on_line, true, "two on a line");
DEFINE_double(whole, 3, "an integer");
DEFINE_bool(hidden, false, R"(raw)" " and not");
DEFINE_string(name, "a" /* and */ "b\\" "\"", u8"h");
DEFINE_string(empty, "", "nothing");
namespace inner {
#if 0
DEFINE_bool(never, true, "don't");
#else
DEFINE_bool(always, true, "y");
#endif
DEFINE_\
int32(joined, 1, "a joined line");
}
int main(int argc, char **argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  return text == nullptr;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> tuple[Path, Path]:
    """Give a source and the gflags program that it is."""
    require("libgflags-dev", "gflags/gflags.h")
    place = tmp_path_factory.mktemp("gflags")
    source = write(place / "tool.cc", SOURCE)
    flags = ("-std=c++14", "-w", "-O0", "-lgflags", "-lpthread")
    return source, build(place / "tool", source, flags=flags)


def test_what_a_source_says_is_what_its_program_says(program, tmp_path, capsys):
    source, binary = program
    from_source, from_program = tmp_path / "source.yaml", tmp_path / "program.yaml"
    assert imported(capsys, "gflags", "-o", from_source, source) == (0, [])
    assert imported(capsys, "helpxml", "-o", from_program, binary) == (0, [])
    one, other = load(str(from_source)), load(str(from_program))
    names = [flag.name for flag in one.flags]
    assert names[:4] == ["port", "mask", "size", "low"]
    assert len(names) == 15
    by_name = {flag.name: flag for flag in other.flags}
    assert [by_name[name] for name in names] == one.flags
    assert len(by_name) == 15  # and none of those that gflags brings itself


def test_a_file_of_helpxml_is_read_as_well(program, tmp_path, capsys):
    xml = write(tmp_path / "tool.xml", run(program[1], "--helpxml", check=False).stdout)
    assert imported(capsys, "helpxml", "-o", tmp_path / "f.yaml", xml) == (0, [])
    assert len(load(str(tmp_path / "f.yaml")).flags) == 15


UNSAYABLE = r"""
#define kPort 80
#define MY_FLAG(x) DEFINE_bool(x, false, "mine")
DEFINE_int32(port, kPort, "x");
DEFINE_int32(limit, std::numeric_limits<int>::max(), "x");
DEFINE_int64(big, 1 << 31, "overflow");
DEFINE_int32(wide, 5000000000, "wide");
DEFINE_int32(part, 2.5, "part");
DEFINE_uint32(minus, -1, "minus");
DEFINE_string(text, "a", "h" PRId64);
DEFINE_string(odd, L"a", "h");
MY_FLAG(foo)
DEFINE_int32(class, -5, "keyword");
DEFINE_int32(twice, 1, "a");
DEFINE_int32(twice, 2, "b");
DEFINE_int8(small, 1, "t");
DEFINE_int32(more, 1, "t", true);
DEFINE_bool(quiet, false, "");
DEFINE_validator(quiet, &Check);
#ifdef _WIN32
DEFINE_bool(windows, false, "Only there");
#endif
DEFINE_bool(open, true, "t"
"""

TOLD = """
4:20: port: default: found the macro 'kPort', which is 80 at {0}:2:1, expected a literal, or a sum of literals; it is left out
5:21: limit: default: found the name 'std', expected a literal, or a sum of literals; it is left out
6:21: big: default: found '<<' that gives 2147483648, expected a result that its type in C++ can have; it is left out
7:1: wide: default: found 5000000000, expected an integer in [-2147483648, 2147483647]; it is left out
8:1: part: default: found 2.5, expected an integer in [-2147483648, 2147483647]; it is left out
9:1: minus: default: found -1, expected an integer in [0, 4294967295]; it is left out
10:30: text: help: found the name 'PRId64', expected string literals alone; it is left out
11:20: odd: default: found L"a", expected a string literal of UTF-8 text; it is left out
12:1: found the macro 'MY_FLAG', which defines flags at {0}:3:1, expected DEFINE_<type> itself; it is left out
13:1: flag: found 'class', a keyword of Python, expected another name; it is left out
15:1: flag: found 'twice' again, expected another name than that of the flag at {0}:14:1; it is left out
16:1: small: type: found 'int8', expected one of bool, int32, uint32, int64, uint64, double, string; it is left out
17:1: more: found 4 arguments, expected name, default, help; it is left out
18:1: quiet: help: found none, expected some; 'Not told.' is written
19:1: quiet: found a validator, expected a range or choices
21:1: windows: found #ifdef _WIN32 around it, expected a flag that is always
23:1: DEFINE_bool: found no ')', expected (name, default, help); it is left out
"""  # noqa: E501 - golden text


def test_what_a_source_does_not_tell_is_reported_with_its_place_and_not_guessed(tmp_path, capsys):
    source = write(tmp_path / "a.cc", UNSAYABLE)
    out = tmp_path / "flags.yaml"
    status, told = imported(capsys, "gflags", "-o", out, source)
    lines = [line.replace("{0}", str(source)) for line in TOLD.strip().splitlines()]
    assert told == [f"{source}:{line}" for line in lines]
    assert status == 1
    assert [flag.name for flag in load(str(out)).flags] == ["twice", "quiet", "windows"]


def value(text: str) -> Any:
    return constant(tokenise("x", text).tokens)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0x7fffffff", 2**31 - 1),
        ("0xffffffff + 1", None),  # unsigned, and wraps
        ("0xffffffff + 1L", 2**32),
        ("2147483647 + 1", None),
        ("2147483648 + 1", 2**31 + 1),
        ("-1 + 1u", 0),
        ("-2 + 1u", None),
        ("~0u", None),
        ("~5", -6),
        ("1 / 0", None),
        ("7 % -4", 3),
        ("-7 % 4", -3),
        ("2 + 3 * 4 - (1 | 6) << 2", 28),
        ("1 << 64", None),
        ("18446744073709551615", None),
        ("18446744073709551615u", 2**64 - 1),
        ("1e400", float("inf")),
        ("3.5f", 3.5),
        ("0x1.8p3", 12.0),
        ("1 / 2 + 0.5", 0.5),
        ("-0.5", -0.5),
        ("'a'", None),
        ("sizeof(int)", None),
        ("a ? 1 : 2", None),
        ("1.0 % 2", None),
        ('"a" + 1', None),
        ("09", None),
        ("", None),
    ],
)
def test_constants_are_what_they_are_in_cpp_or_refused(text, expected):
    if expected is None:
        with pytest.raises(NoConstant):
            value(text)
    else:
        assert value(text) == expected
        assert type(value(text)) is type(expected)


FRAGMENTS = st.sampled_from(
    [
        *("DEFINE_int32(", "DEFINE_string(a, ", '"b"', "1", "9" * 5000, "0x1p99999", ",", ")", "("),
        *(
            "-",
            "<<",
            "/",
            "1.5f",
            'R"(',
            'R"x(',
            ')x"',
            '"',
            "'",
            "\\",
            "\\\n",
            "\n",
            "//",
            "/*",
            "*/",
        ),
        *(
            "#if 0\n",
            "#else\n",
            "#endif\n",
            "#define X 1\n",
            "#define",
            "X",
            "FLAGS_",
            "é",
            "\0",
            "\r",
        ),
        *(r"\x", r"\u00", '"\\777"', r'"\xff"', "(" * 3000),
    ]
)


@settings(max_examples=200, deadline=None, database=None)
@given(*[st.lists(FRAGMENTS, max_size=9).map("".join)] * 3, st.sampled_from(TYPES))
def test_a_source_of_any_text_is_read_or_complained_of(tmp_path_factory, before, value, help, kind):
    text = f"{before}\nDEFINE_{kind}(name, {value}, {help});"
    path = tmp_path_factory.getbasetemp() / "any.cc"
    path.write_text(text, "utf-8")
    found = import_sources([str(path)], "any", "")
    settle(found)
    for flag in found.flags.flags:
        assert flag.at[""].line <= text.count("\n") + 1


def test_branches_that_are_never_compiled_are_left_out():
    text = textwrap.dedent("""
        #ifndef GUARD_H
        #define GUARD_H
        #if 1
        a
        #elif X
        b
        #else
        c
        #endif
        # if 0 // never
        d " ' /*
        */
        #elif X
        e
        #else
        f
        #endif
        #ifdef Y
        #if 0
        #else
        g
        #endif
        #endif
        #endif
    """)
    found = tokenise("x", text)
    conditions = {token.text: token.condition for token in found.tokens}
    assert conditions == {"a": "#if 1", "e": "#elif X", "f": "#else of #elif X", "g": "#ifdef Y"}
    assert found.problems == []


# ---- programs ----


def test_a_python_program_of_ours_tells_its_flags(tmp_path, capsys):
    script = write(
        tmp_path / "app.py",
        "import paddle_flags as pf\n"
        "pf.define('port', 8080, 'Port & <host>')\n"
        "pf.define('key', 'x', 'Secret', sensitive=True)\n"
        "pf.parse()\n",
    )
    out = tmp_path / "flags.yaml"
    status, told = imported(capsys, "helpxml", "-o", out, sys.executable, script)
    assert status == 1
    what = "key: default: found a hidden one, expected one that can be seen; it is left out"
    assert told == [f"{script}:1:1: {what}"]
    (flag,) = load(str(out)).flags
    assert (flag.name, flag.type, flag.default, flag.help) == (
        "port",
        "int64",
        8080,
        "Port & <host>",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("print('nothing')", "found no <AllFlags>, expected flags as XML"),
        ("import sys; sys.exit('no such flag')", "expected flags as XML; it said: no such flag"),
        ("print('<AllFlags><flag></AllFlags>')", "expected XML of --helpxml"),
    ],
)
def test_a_program_without_helpxml_is_an_error_and_nothing_is_written(
    tmp_path, capsys, text, expected
):
    script = write(tmp_path / "app.py", text)
    out = tmp_path / "flags.yaml"
    status, (told,) = imported(capsys, "helpxml", "-o", out, sys.executable, script)
    assert status == 2
    assert told.startswith(sys.executable)
    assert told.endswith(expected)
    assert not out.exists()


EMPTY = "<AllFlags><program>tool</program></AllFlags>"


def test_options_may_stand_behind_a_file_and_the_words_of_a_program_behind_dashes(tmp_path, capsys):
    xml = write(tmp_path / "tool.xml", EMPTY)
    told = [f"{xml}:1:1: found no flags, expected some"]
    assert imported(capsys, "helpxml", xml, "-o", tmp_path / "f.yaml") == (1, told)
    code = "import sys; sys.argv[1:] == ['--x', '--helpxml'] and print('<AllFlags></AllFlags>')"
    words = (sys.executable, "-o", tmp_path / "g.yaml", "--", "-c", code, "--x")
    assert imported(capsys, "helpxml", *words)[0] == 1
    assert (tmp_path / "g.yaml").is_file()
    with pytest.raises(SystemExit):
        imported(capsys, "helpxml", sys.executable, "-c")
    assert "unrecognized arguments: -c; those of the program stand" in capsys.readouterr().err


def test_a_program_that_never_ends_is_an_error(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(helpxml, "SECONDS", 0.2)
    code = (
        "import subprocess as s, sys; s.run([sys.executable, '-c', 'import time; time.sleep(9)'])"
    )
    words = ("-o", tmp_path / "f.yaml", sys.executable, "--", "-c", code)
    status, (told,) = imported(capsys, "helpxml", *words)
    assert status == 2
    assert told.endswith("found no end of --helpxml within 0.2 seconds, expected one")


def test_xml_with_a_document_type_is_refused(tmp_path, capsys):
    xml = write(tmp_path / "x.xml", '<!DOCTYPE a [<!ENTITY b "c">]><AllFlags>&b;</AllFlags>')
    told = [f"{xml}:1:1: found a document type, expected none"]
    assert imported(capsys, "helpxml", "-o", tmp_path / "f.yaml", xml) == (2, told)


# ---- argparse ----

PARSER = """
import argparse

def build():
    parser = argparse.ArgumentParser("trainer")
    parser.add_argument("data")
    parser.add_argument("--batch-size", "-b", type=int, default=32, help="Rows, %(default)s")
    parser.add_argument("--level", type=int, default=1, choices=range(0, 100), help="L")
    parser.add_argument("--mode", choices=["fast", "best"], default="fast", help="How")
    parser.add_argument("--rate", type=float, default="0.5", help="Rate")
    parser.add_argument("--name", help="Name")
    parser.add_argument("--out", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--verbose", action="store_true", help="More")
    parser.add_argument("--no-color", dest="color", action="store_false", help="Colours")
    parser.add_argument("--cache", action=argparse.BooleanOptionalAction, default=True, help="C")
    more = parser.add_argument_group("More")
    more.add_argument("--host", action="append", default=["a"], help="Where")
    more.add_argument("--size", nargs=2, type=int, default=[1, 2], help="Size")
    more.add_argument("-v", action="count", help="Loud")
    more.add_argument("--path", type=open, help="Path")
    more.add_argument("--flag", type=bool, default=False, help="Trap")
    either = more.add_mutually_exclusive_group()
    either.add_argument("--one", action="store_true", help="1")
    either.add_argument("--two", action="store_true", help="2")
    parser.add_argument("--version", action="version", version="1")
    return parser
"""

PARSER_TOLD = """
6:5: data: found a positional argument, expected an option; it is left out
11:5: name: default: found no default, expected a value; '' is written
12:5: out: help: found none, expected some; 'Not told.' is written
17:5: --host: found _AppendAction, expected one value with commas, --host=a,b
18:5: --size: found nargs=2, expected one value with commas, --size=a,b
19:5: -v: found the action _CountAction, expected one that gives a value; it is left out
20:5: --path: type: found open(), expected a type; string is written
20:5: path: default: found no default, expected a value; '' is written
21:5: --flag: type: found bool(), for which all text is true, expected a type; string is written
21:5: flag: default: found 'False', expected a value; 'False' is written
23:5: --one, --two: found a group that excludes one another, expected independent flags
"""


def test_a_parser_of_argparse_becomes_flags_and_what_it_has_more_is_told(
    tmp_path, capsys, monkeypatch
):
    module = write(tmp_path / "some_trainer_cli.py", PARSER)
    monkeypatch.chdir(tmp_path)
    status, told = imported(capsys, "argparse", "some_trainer_cli:build")
    assert told == [f"{module}:{line}" for line in PARSER_TOLD.strip().splitlines()]
    assert status == 1
    flags = load("flags.yaml")
    assert flags.name == "trainer"
    found = {flag.name: flag for flag in flags.flags}
    names = "batch_size level mode rate name out verbose color cache host size path flag one two"
    assert " ".join(found) == names
    assert found["batch_size"].help == "Rows, 32"
    assert (found["level"].min, found["level"].max, found["level"].choices) == (0, 99, [])
    assert found["mode"].choices == ["fast", "best"]
    assert (found["rate"].type, found["rate"].default) == ("double", 0.5)
    assert found["out"].attributes == ["hidden", "required"]
    assert (found["color"].type, found["color"].default) == ("bool", True)
    assert (found["cache"].type, found["cache"].default) == ("bool", True)
    assert (found["host"].items, found["host"].default) == ("string", ["a"])
    assert (found["size"].items, found["size"].default) == ("int64", [1, 2])
    assert found["host"].category == "More"
    assert [(each.name, each.flag) for each in flags.aliases] == [("b", "batch_size")]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("no_such_module_here:x", "found no module 'no_such_module_here', expected"),
        ("json:dumpz", "found no 'dumpz', expected a parser or a function that gives one; did you"),
        ("json:__name__", "found str, expected an ArgumentParser"),
        ("json:dumps", "the function raised TypeError: "),
    ],
)
def test_a_target_that_gives_no_parser_is_an_error(tmp_path, capsys, target, expected):
    status, (told,) = imported(capsys, "argparse", "-o", tmp_path / "f.yaml", target)
    assert status == 2
    assert told.startswith(f"{target}: {expected}")


# ---- files ----


def test_files_that_are_there_stay_unless_forced(tmp_path, capsys):
    source = write(tmp_path / "a.cc", 'DEFINE_bool(a, true, "A");')
    out = write(tmp_path / "flags.yaml", "mine")
    told = [f"{out}: found a file, expected none; --force replaces it"]
    assert imported(capsys, "gflags", "-o", out, source) == (2, told)
    assert out.read_text() == "mine"
    assert imported(capsys, "gflags", "--force", "-o", out, source) == (0, [])
    assert load(str(out)).flags[0].name == "a"
    other = write(tmp_path / "flags_version.yaml", "mine")  # which would be read with it
    told = [f"{other}: found a file, expected none beside {out}"]
    assert imported(capsys, "gflags", "--force", "-o", out, source) == (2, told)


def test_a_name_that_the_set_can_not_have_is_an_error(tmp_path, capsys):
    source = write(tmp_path / "class.cc", 'DEFINE_bool(a, true, "A");')
    out = tmp_path / "flags.yaml"
    status, (told,) = imported(capsys, "gflags", "-o", out, source)
    assert status == 2
    assert told == f"{source}:1:1: name: found 'class', a keyword of Python, expected another name"
    assert not out.exists()
    assert imported(capsys, "gflags", "-o", out, "--name", "set1", source) == (0, [])


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None, database=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), st.floats(allow_nan=False))
def test_whatever_text_is_emitted_reads_back_as_it_was_or_is_told(tmp_path_factory, texts, number):
    flags = [
        Flag(f"f{i}", "string", None, a, b, None, None, [], None, "", [], "", "")
        for i, (a, b) in enumerate(texts)
    ]
    flags.append(Flag("d", "double", None, number, "d", None, None, [], None, "", [], "", ""))
    for index, flag in enumerate(flags):
        flag.at = {"": Place("x", index + 1, 1)}
    found = Found(FlagSet("s", "", flags, at={"": Place("x", 1, 1)}))
    made = settle(found)["flags"]
    assert len(found.flags.flags) + len(found.losses) == len(flags)
    path = write(tmp_path_factory.mktemp("emit") / "flags.yaml", made)
    back = load(str(path))
    expected = {flag.name: (flag.default, flag.help.strip()) for flag in found.flags.flags}
    assert {flag.name: (flag.default, flag.help) for flag in back.flags} == expected


def test_all_three_files_are_emitted_as_they_were_read(tmp_path):
    from test_gen_diff import COMPAT as COMPAT2
    from test_gen_diff import FLAGS as FLAGS2
    from test_gen_diff import VERSION

    for name, text in (("", FLAGS2), ("_compat", COMPAT2), ("_version", VERSION)):
        write(tmp_path / f"flags{name}.yaml", text)
    flags = load(str(tmp_path / "flags.yaml"))
    for name, tree in to_trees(flags).items():
        write(tmp_path / "again" / f"{name}.yaml", to_text(tree))
    assert to_data(load(str(tmp_path / "again" / "flags.yaml"))) == to_data(flags)
