"""gen import: flags.yaml from plugins, programs and parsers."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from generating import imported
from support import build_plugin, package, run, write

package("ruamel.yaml")
package("jinja2")

from hypothesis import given, settings  # noqa: E402 - behind the look for what is needed
from hypothesis import strategies as st  # noqa: E402

import paddle_flags as pf  # noqa: E402
from paddle_flags.gen import load  # noqa: E402
from paddle_flags.gen.cli import run as gen  # noqa: E402
from paddle_flags.gen.diff import compare  # noqa: E402
from paddle_flags.gen.emit import to_trees, to_yaml  # noqa: E402
from paddle_flags.gen.importers import Found, helpxml, render_without_refused  # noqa: E402
from paddle_flags.gen.model import Flag, FlagSet, Place, to_data  # noqa: E402

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


@pytest.mark.extended  # takes a second or more
def test_what_was_generated_built_and_loaded_comes_back_equal(tmp_path):
    path, plugin = generated_plugin(tmp_path, FLAGS, COMPAT)
    back = tmp_path / "back" / "flags.yaml"
    # A process of its own: the flags of the plugin would stay in this one.
    command = [sys.executable, "-m", "paddle_flags", "gen", "import", "plugin", plugin]
    ended = run(*command, "-o", back, "--version", "2.1.0", check=False)
    assert ended.stdout.split() == [str(back), str(back.with_name("flags_compat.yaml"))]
    assert to_data(load(str(back))) == to_data(load(path))
    # The versions of an old name and of deprecations aren't in a plugin.
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 3
    source = tmp_path / "made" / "engine_flags.c"
    line = next(i for i, text in enumerate(source.read_text().splitlines(), 1) if "(ratio," in text)
    told = f"{source}:{line}:1: ratio: deprecated: found no version, expected the version of"
    assert any(each.startswith(told) for each in ended.stderr.splitlines()), ended.stderr


@pytest.mark.extended  # takes a second or more
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
    what = "mode: found a watcher, expected implied values, which can't be read from a plugin"
    assert len(re.findall(what, ended.stderr)) == 1


@pytest.mark.extended  # takes a second or more
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
    told = f"{tmp_path / 'plugin.c'}:7:1: pairs: found a validator, expected a range or choices\n"
    assert ended.stderr == told
    flags = load(str(out))
    assert flags.name == "plugin"
    assert [flag.name for flag in flags.flags] == ["pairs"]
    assert [(each.name, each.type, each.default) for each in flags.imports] == [
        ("share", "double", 0.25)
    ]


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
    what = "key: default: found a hidden value, expected a visible value; it is left out"
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
        ("import sys; sys.exit('no such flag')", "expected flags as XML; it printed: no such flag"),
        ("print('<AllFlags><flag></AllFlags>')", "expected the XML of --helpxml"),
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
    assert "no such option -c; options of the program come after --" in capsys.readouterr().err


def test_a_program_that_never_ends_is_an_error(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(helpxml, "SECONDS", 0.2)
    code = (
        "import subprocess as s, sys; s.run([sys.executable, '-c', 'import time; time.sleep(9)'])"
    )
    words = ("-o", tmp_path / "f.yaml", sys.executable, "--", "-c", code)
    status, (told,) = imported(capsys, "helpxml", *words)
    assert status == 2
    assert told.endswith("--helpxml: found no end within 0.2 seconds, expected one")


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
    parser.add_argument("--own", action=type("Own", (argparse.Action,), {}))
    parser.add_argument("--version", action="version", version="1")
    return parser
"""

PARSER_TOLD = """
6:5: data: found a positional argument, expected an option; it is left out
11:5: name: default: found no default, expected a value; '' is written
12:5: out: help: found none, expected some; 'No help.' is written
17:5: --host: found _AppendAction, expected one value with commas, --host=a,b
18:5: --size: found nargs=2, expected one value with commas, --size=a,b
19:5: v: default: found no default, expected a value; '0' is written
20:5: --path: type: found open(), expected a type; string is written
20:5: path: default: found no default, expected a value; '' is written
21:5: --flag: type: found bool(), for which all text is true, expected a type; string is written
23:5: --one, --two: found a mutually exclusive group, expected independent flags
25:5: --own: found an option that can't be a flag (has an action of the program's own, Own), \
expected an option that stores a value; it is left out
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
    names = "batch_size level mode rate name out verbose color cache host size v path flag one two"
    assert " ".join(found) == names
    assert found["batch_size"].help == "Rows, 32"
    assert (found["level"].min, found["level"].max, found["level"].choices) == (0, 99, [])
    assert found["mode"].choices == ["fast", "best"]
    assert (found["rate"].type, found["rate"].default) == ("double", 0.5)
    assert found["out"].attributes == ["hidden", "required"]
    assert (found["color"].type, found["color"].default) == ("bool", True)
    assert (found["cache"].type, found["cache"].default) == ("bool", True)
    assert (found["host"].items, found["host"].default) == ("string", ["a"])
    assert found["v"].attributes == ["count"]
    assert (found["size"].items, found["size"].default) == ("int64", [1, 2])
    assert found["host"].category == "More"
    assert [(each.name, each.flag) for each in flags.aliases] == [("b", "batch_size")]
    assert "gen_import.batch_size" not in pf.FLAGS


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("no_such_module_here:x", "found no module 'no_such_module_here', expected"),
        (
            "json:dumpz",
            "found no 'dumpz', expected a parser or a function that returns one; did you",
        ),
        ("json:__name__", "found str, expected an ArgumentParser"),
        ("json:dumps", "the function raised TypeError: "),
    ],
)
def test_a_target_that_gives_no_parser_is_an_error(tmp_path, capsys, target, expected):
    status, (told,) = imported(capsys, "argparse", "-o", tmp_path / "f.yaml", target)
    assert status == 2
    assert told.startswith(f"{target}: {expected}")


# ---- files ----


ONE_FLAG = (
    "<AllFlags><flag><name>a</name><type>bool</type><default>true</default><meaning>A</meaning>"
    "</flag></AllFlags>"
)


def test_files_that_are_there_stay_unless_forced(tmp_path, capsys):
    source = write(tmp_path / "a.xml", ONE_FLAG)
    out = write(tmp_path / "flags.yaml", "mine")
    told = [f"{out}: found a file, expected none; --force replaces it"]
    assert imported(capsys, "helpxml", "-o", out, source) == (2, told)
    assert out.read_text() == "mine"
    assert imported(capsys, "helpxml", "--force", "-o", out, source) == (0, [])
    assert load(str(out)).flags[0].name == "a"
    other = write(tmp_path / "flags_version.yaml", "mine")  # which would be read with it
    told = [f"{other}: found a file, expected none beside {out}"]
    assert imported(capsys, "helpxml", "--force", "-o", out, source) == (2, told)


def test_a_name_that_the_set_can_not_have_is_an_error(tmp_path, capsys):
    source = write(tmp_path / "class.xml", ONE_FLAG)
    out = tmp_path / "flags.yaml"
    status, (told,) = imported(capsys, "helpxml", "-o", out, source)
    assert status == 2
    assert told == f"{source}:1:1: name: found 'class', a keyword of Python, expected another name"
    assert not out.exists()
    assert imported(capsys, "helpxml", "-o", out, "--name", "set1", source) == (0, [])


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@pytest.mark.extended  # takes a second or more
@settings(max_examples=60, database=None)
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
    made = render_without_refused(found)["flags"]
    assert len(found.flags.flags) + len(found.losses) == len(flags)
    path = write(tmp_path_factory.mktemp("emit") / "flags.yaml", made)
    back = load(str(path))
    expected = {flag.name: (flag.default, flag.help.strip()) for flag in found.flags.flags}
    assert {flag.name: (flag.default, flag.help) for flag in back.flags} == expected


def test_files_are_emitted_as_they_were_read(tmp_path):
    for name, text in (("", FLAGS), ("_compat", COMPAT)):
        write(tmp_path / f"flags{name}.yaml", text)
    flags = load(str(tmp_path / "flags.yaml"))
    for name, tree in to_trees(flags).items():
        write(tmp_path / "again" / f"{name}.yaml", to_yaml(tree))
    assert to_data(load(str(tmp_path / "again" / "flags.yaml"))) == to_data(flags)


def test_what_is_emitted_hides_no_character_and_leaves_other_yaml_of_the_process_alone(tmp_path):
    import io

    from ruamel.yaml import YAML

    text = "name: s\nflags:\n"
    text += '  - {name: f, type: string, default: "no", help: "a\\nb"}\n'
    text += '  - {name: g, type: string, default: "1.2", help: "\u00e9\\u202E"}\n'
    path = write(tmp_path / "flags.yaml", text)
    flags = load(str(path))
    (tree,) = to_trees(flags).values()
    lines = to_yaml(tree).splitlines()
    assert lines == [
        "name: s",
        "flags:",
        "  - name: f",
        "    type: string",
        '    default: "no"',
        "    help: |-",
        "      a",
        "      b",
        "  - name: g",
        "    type: string",
        '    default: "1.2"',
        '    help: "\\xE9\\u202E"',
    ]
    other = io.StringIO()
    YAML().dump({"key": "two words"}, other)
    assert other.getvalue() == "key: two words\n"
