"""gen import: flags.yaml from sources of gflags, and from the programs that they are."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from generating import imported
from support import build, package, require, run, write

package("ruamel.yaml")
package("jinja2")

from hypothesis import given, settings  # noqa: E402 - behind the look for what is needed
from hypothesis import strategies as st  # noqa: E402

from paddle_flags.gen import load  # noqa: E402
from paddle_flags.gen.importers import settle  # noqa: E402
from paddle_flags.gen.importers.cpp_tokens import tokenise  # noqa: E402
from paddle_flags.gen.importers.cpp_values import NoConstant, constant  # noqa: E402
from paddle_flags.gen.importers.gflags import import_sources  # noqa: E402
from paddle_flags.gen.model import TYPES  # noqa: E402

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
4:20: port: default: found the macro 'kPort', which is 80 at {0}:2:1, expected a literal, or an expression of literals; it is left out
5:21: limit: default: found the name 'std', expected a literal, or an expression of literals; it is left out
6:21: big: default: found '<<' that gives 2147483648, expected a result in the range of its C++ type; it is left out
7:1: wide: default: found 5000000000, expected an integer in [-2147483648, 2147483647]; it is left out
8:1: part: default: found 2.5, expected an integer in [-2147483648, 2147483647]; it is left out
9:1: minus: default: found -1, expected an integer in [0, 4294967295]; it is left out
10:30: text: help: found the name 'PRId64', expected only string literals; it is left out
11:20: odd: default: found L"a", expected a string literal of UTF-8 text; it is left out
12:1: found the macro 'MY_FLAG', which defines flags at {0}:3:1, expected DEFINE_<type> itself; it is left out
13:1: flag: found 'class', a keyword of Python, expected another name; it is left out
15:1: flag: found 'twice' again, expected another name; taken by the flag at {0}:14:1; it is left out
16:1: small: type: found 'int8', expected one of bool, int32, uint32, int64, uint64, double, string; it is left out
17:1: more: found 4 arguments, expected name, default, help; it is left out
18:1: quiet: help: found none, expected some; 'No help.' is written
19:1: quiet: found a validator, expected a range or choices
21:1: windows: found #ifdef _WIN32 around it, expected a flag that is always defined
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


@settings(max_examples=200, database=None)
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
