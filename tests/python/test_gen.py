"""Flags from YAML: what is generated, when it is written, and what it does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from generating import from_data
from support import CC, CXX, INCLUDE, ROOT, build_plugin, run, write

from paddle_flags.extend import format_install_command
from paddle_flags.gen import load
from paddle_flags.gen.cli import run as generate
from paddle_flags.gen.model import to_data
from paddle_flags.gen.problems import GenerateError
from paddle_flags.gen.render import render
from paddle_flags.gen.view import c_string, make_views, schema_hash, split_into_sources
from paddle_flags.gen.write import write_and_prune as put

pytestmark = pytest.mark.extended  # each test compiles

PYTHON = sys.executable
GOOD = ROOT / "tests" / "gen" / "good" / "flags.yaml"
STANDARDS = {
    "c": ("c99", "c11"),
    "c++": ("c++11", "c++20"),
}


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """What is generated from the good files, and a plugin that is built of it."""
    out = tmp_path_factory.mktemp("gen") / "out"
    assert generate([str(GOOD), "-o", str(out)], "prog") == 0
    build_plugin(out / "libdemo.so", *sorted(out.glob("*.c")), flags=("-O0",))
    return out


def python(place: Path, program: str, *words: str, check: bool = True):
    return run(PYTHON, "-c", program, *words, cwd=place, check=check)


def copy_of_good(place: Path) -> Path:
    shutil.copytree(GOOD.parent, place, dirs_exist_ok=True)
    return place / "flags.yaml"


# ---- stages ----


def test_the_normal_form_survives_json():
    flags = load(str(GOOD))
    assert from_data(json.loads(json.dumps(to_data(flags)))) == flags


def test_dump_shows_what_each_stage_gives(capsys):
    for stage in ("read", "normal", "files"):
        assert generate([str(GOOD), "--dump", stage], "prog") == 0
        text = capsys.readouterr().out
        shown = json.loads(text) if stage != "files" else text
        if stage == "read":
            assert shown["flags"]["flags"][3]["default"] == "64MiB"
        elif stage == "normal":
            assert shown["flags"][3]["default"] == 2**26
            assert from_data(shown) == load(str(GOOD))
        else:
            assert "==> demo_flags.pyi <==\n" in text


def test_comments_spelling_and_the_order_of_keys_change_nothing(tmp_path):
    head, kind = "name: a\nflags:\n- ", "type: int64, default: 1024"
    one = write(tmp_path / "one" / "flags.yaml", f"{head}{{name: b, {kind}, help: B}}\n")
    other = write(
        tmp_path / "other" / "flags.yaml",
        "# text\nflags:\n- help: 'B'\n  default: 1024\n  type: int64\n  name: \"b\"\n"
        "  range: [-9223372036854775808, 9223372036854775807]\nname: a\n",
    )
    assert load(str(one)) == load(str(other))
    assert render(load(str(one))) == render(load(str(other)))


def test_output_is_the_same_in_every_process_and_directory(tmp_path, made):
    copy = copy_of_good(tmp_path / "elsewhere")
    environment = {**os.environ, "PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    words = ("-m", "paddle_flags", "gen", copy.name, "-o", tmp_path / "out")
    run(PYTHON, *words, cwd=copy.parent, env=environment)
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes() == (made / path.name).read_bytes()


# ---- writing ----


def test_a_second_run_writes_nothing_and_a_new_help_text_one_source(tmp_path, capsys):
    flags = copy_of_good(tmp_path)
    words = [str(flags), "-o", str(tmp_path / "out"), "--lang", "c,cpp", "--split", "4"]
    assert generate(words, "prog") == 0
    assert len(capsys.readouterr().out.splitlines()) > 6
    assert generate(words, "prog") == 0
    assert capsys.readouterr().out == ""
    flags.write_text(flags.read_text().replace("How long to keep", "How long to keep it"))
    assert generate(words, "prog") == 0
    assert re.fullmatch(r".*/demo_flags(_\d+)?\.c\n", capsys.readouterr().out)


def test_check_tells_stale_missing_and_left_over_files_and_writes_nothing(tmp_path, capsys):
    flags = copy_of_good(tmp_path)
    out = tmp_path / "out"
    words = [str(flags), "-o", str(out), "--split", "4"]
    assert generate([*words, "--check"], "prog") == 1
    assert not out.exists()
    assert generate(words, "prog") == 0
    assert generate([*words, "--check"], "prog") == 0
    before = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    capsys.readouterr()
    assert generate([*words[:-1], "1000", "--check"], "prog") == 1
    told = capsys.readouterr().err
    assert f"{out}/demo_flags.c: is stale; run gen again\n" in told
    assert f"{out}/demo_flags_2.c: is no longer generated" in told
    assert before == {path: path.stat().st_mtime_ns for path in out.iterdir()}
    assert generate(words[:-2], "prog") == 0
    assert not (out / "demo_flags_2.c").exists()


def test_nothing_is_written_when_one_file_cannot_be(tmp_path):
    out = tmp_path / "out"
    put({"a": "1", "b": "1"}, str(out))
    (out / "c").mkdir()
    (out / "c" / "full").touch()
    with pytest.raises(GenerateError, match=r"out/c: "):
        put({"a": "2", "c": "2"}, str(out))
    assert (out / "a").read_text() == "1"
    assert sorted(path.name for path in out.iterdir()) == ["a", "b", "c"]


def test_list_names_the_files_and_writes_none(tmp_path, capsys, made):
    assert generate([str(GOOD), "-o", str(tmp_path / "out"), "--list"], "prog") == 0
    names = [Path(line).name for line in capsys.readouterr().out.splitlines()]
    assert sorted(names) == sorted(p.name for p in made.iterdir() if p.suffix != ".so")
    assert not (tmp_path / "out").exists()


def test_a_flag_more_changes_one_source_of_many_and_the_header(tmp_path):
    flag = "- {{name: flag_{0}, type: bool, default: true, help: Flag {0}}}\n"
    text = "name: many\nflags:\n" + "".join(flag.format(index) for index in range(600))
    path = write(tmp_path / "flags.yaml", text)
    before = render(load(str(path)), ["c"], size=32)
    sources = [name for name in before if re.fullmatch(r"many_flags(_\d+)?\.c", name)]
    assert 8 < len(sources) < 40
    path.write_text(text.replace(flag.format(300), flag.format(300) + flag.format("new")))
    after = render(load(str(path)), ["c"], size=32)
    changed = [name for name in before if before[name] != after.get(name)]
    assert len(changed) == 3  # of 600 flags, the header, the schema and one source
    assert split_into_sources(make_views(load(str(path))), 1000) == [make_views(load(str(path)))]


def test_the_bench_generates_and_the_document_tells_its_figures():
    ended = run(PYTHON, "-m", "bench.generate", "--flags", "300", cwd=ROOT, check=False)
    assert re.search(r"^processor seconds +[\d.]+$", ended.stdout, re.MULTILINE)
    recorded = json.loads((ROOT / "bench/results/generate.json").read_text("utf-8"))
    told = (ROOT / "docs/explanation/performance.md").read_text("utf-8")
    assert f"{recorded['processor seconds']:g} s of one core" in told


# ---- templates ----


def test_a_project_may_replace_a_template(tmp_path, capsys):
    write(
        tmp_path / "templates" / "reference.md.j2", "{{ set.name }}: {{ views | length }} flags\n"
    )
    words = [
        str(GOOD),
        "-o",
        str(tmp_path),
        "--lang",
        "docs",
        "--templates",
        str(tmp_path / "templates"),
    ]
    assert generate(words, "prog") == 0
    assert (tmp_path / "demo_flags.md").read_text() == "demo: 20 flags\n"
    write(tmp_path / "templates" / "reference.md.j2", "a line\n{{ set.nam }}\n")
    (tmp_path / "demo_flags.html").unlink()
    capsys.readouterr()
    assert generate(words, "prog") == 2
    told = capsys.readouterr().err
    assert re.fullmatch(r".*/templates/reference.md.j2:2:1: found .*nam.*, expected .*\n", told)
    assert not (tmp_path / "demo_flags.html").exists()


def test_without_its_extra_the_generator_says_what_to_install(tmp_path):
    for module, word in (
        ("jinja2", "Jinja2"),
        ("pydantic", "pydantic"),
        ("ruamel.yaml", "ruamel.yaml"),
    ):
        program = f"""
import sys
sys.modules[{module!r}] = None
from paddle_flags.gen.cli import run
sys.exit(run(sys.argv[1:], "prog"))
"""
        ended = python(tmp_path, program, str(GOOD), check=False)
        assert ended.returncode == 2
        remedy = f"requires {word}: {format_install_command('gen')}\n"
        assert re.fullmatch(rf"[\w ]+ {re.escape(remedy)}", ended.stderr)


# ---- C and C++ ----


@pytest.mark.parametrize("text", ['a"b\\c\n\t\r', "??/ ??? ?", "\a\x7f1", "é\u202e1", "%s", "批"])
def test_every_text_is_the_same_in_c(text, tmp_path):
    source = write(
        tmp_path / "a.c",
        f"#include <stdio.h>\nint main(void) {{ fputs({c_string(text)}, stdout); return 0; }}",
    )
    run(*CC, "-std=c99", "-Wall", "-Werror", source, "-o", tmp_path / "a")
    assert subprocess.check_output(tmp_path / "a") == text.encode()


@pytest.mark.parametrize("language", STANDARDS)
def test_sources_compile_without_warnings(language, made):
    compiler = CC if language == "c" else CXX
    warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}", "-fsyntax-only")
    for standard in STANDARDS[language]:
        run(*compiler, "-x", language, f"-std={standard}", *warnings, *sorted(made.glob("*.c")))


def test_the_cpp_header_has_an_accessor_for_each_flag(made, tmp_path):
    program = write(
        tmp_path / "main.cpp",
        '#include "demo_flags.hpp"\n#include <string>\n#include <type_traits>\n'
        'static_assert(std::is_same<decltype(demo::flags::batch_size()), int32_t>::value, "");\n'
        'static_assert(std::is_same<decltype(demo::flags::mode()), const char *>::value, "");\n'
        "int main() {\n"
        "  std::string tags = demo::flags::tags();\n"
        "  bool right = demo::flags::host_threads() == 1 && tags.size() == 11;\n"
        "  return right && demo::flags_schema()[0] ? 0 : 1;\n}",
    )
    objects = []
    for source in sorted(made.glob("*.c")):
        objects.append(tmp_path / f"{source.stem}.o")
        run(*CC, "-c", f"-I{INCLUDE}", source, "-o", objects[-1])
    flags = ("-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}", f"-I{made}")
    run(*CXX, *flags, program, *objects, "-o", tmp_path / "main")
    run(tmp_path / "main")


def test_flags_that_are_named_as_types_or_as_what_generated_code_needs_do_no_harm(tmp_path):
    names = ("str", "int32_t", "uint64_t", "all", "find", "setting", "step", "info", "flags")
    flags = "".join(f"- {{name: {n}, type: int32, default: 1, help: H}}\n" for n in names)
    path = write(tmp_path / "flags.yaml", f"name: odd\nflags:\n{flags}")
    write(tmp_path / "flags_compat.yaml", "implies:\n- {flag: all, value: 2, sets: {find: 3}}\n")
    assert generate([str(path), "-o", str(tmp_path)], "prog") == 0
    program = write(
        tmp_path / "a.cpp", '#include "odd_flags.hpp"\nint f() { return odd::flags::str(); }'
    )
    warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}", "-fsyntax-only")
    run(*CC, "-std=c99", *warnings, *sorted(tmp_path.glob("*.c")))
    run(*CXX, "-std=c++11", *warnings, program)


# ---- what it does ----

DESCRIBE = """
import json, sys, paddle_flags as pf
if sys.argv[1] == "native":
    pf.load_plugin("./libdemo.so")
else:
    import demo_flags
    demo_flags.define()
    demo_flags.define()
found = {}
for flag in pf.FLAGS.values():
    names = "type items default help min max choices unit category aliases old_names hidden".split()
    names += "read_only startup_only required sensitive experimental deprecated retired".split()
    names += "runtime unsafe per_process".split()
    found[flag.name] = {name: getattr(flag, name) for name in names}
print(json.dumps(found))
"""


def test_native_and_python_flags_are_those_of_the_file(made):
    native, own = (json.loads(python(made, DESCRIBE, how).stdout) for how in ("native", "python"))
    assert native == own
    flags = load(str(GOOD))
    for flag in flags.flags:
        there = native[flag.name]
        assert there["default"] == flag.default
        assert (there["type"], there["items"], there["help"]) == (flag.type, flag.items, flag.help)
        assert {name for name in there if there[name] is True and name != "default"} == set(
            flag.attributes
        )
        assert (there["min"], there["max"], there["unit"]) == (flag.min, flag.max, flag.unit)
    assert native["cache"]["old_names"] == ["buffer", "store"]
    assert native["batch_size"]["aliases"] == ["bs", "batch-size.of"]
    assert native["rate"]["deprecated"] == "too slow; use --level"
    assert native["gone"]["retired"] == "it had no effect; use --mode"
    digest = schema_hash(flags)
    assert native[f"demo_schema_{digest[:16]}"]["default"] == digest


IMPLY = """
import sys, paddle_flags as pf
def load(namespace=""):
    if sys.argv[1] == "native":
        return pf.load_plugin("./libdemo.so", namespace=namespace)
    import demo_flags
    demo_flags.define()
def show():
    print(*(pf.FLAGS[start + name].value for name in ("mode", "batch_size", "shards", "level")))
start = ""
pf.parse(["x", "--deterministic", "--level=1"], allow_pending=True)
plugin = load()
show()
pf.FLAGS["batch_size"].value = 5
show()
pf.FLAGS["deterministic"].value = False
show()
with pf.override(deterministic=True):
    show()
pf.FLAGS["mode"].value = "best"
pf.FLAGS["deterministic"].value = True
pf.FLAGS["deterministic"].value = False
show()
pf.FLAGS["mode"].reset()
show()
"""

LOAD_AGAIN = """
pf.FLAGS["deterministic"].value = True
print(plugin.unload(), pf.FLAGS.get("mode"))
plugin = load()
show()
pf.FLAGS["deterministic"].value = False
show()
plugin.unload()
plugin, start = load("beta"), "beta."
pf.FLAGS["beta.deterministic"].value = True
show()
print(pf.FLAGS["beta.mode"].place)
pf.FLAGS["beta.deterministic"].value = False
show()
"""


def test_implied_values_come_and_go_with_the_flag_that_implies(made):
    expected = [
        "best 1 (7,) 1",  # --level=1 wins
        "best 5 (7,) 1",
        "fast 32 (1, -2) 1",
        "best 1 (7,) 4",  # an override wins over the command line
        "best 32 (1, -2) 4",
        "fast 32 (1, -2) 1",
    ]
    for how in ("native", "python"):
        assert python(made, IMPLY, how).stdout.splitlines() == expected, how
    again = python(made, IMPLY + LOAD_AGAIN, "native").stdout.splitlines()[len(expected) :]
    assert again == [
        "True None",
        "best 1 (7,) 4",
        "fast 32 (1, -2) 1",
        "best 1 (7,) 4",
        "implied by --deterministic=true",
        "fast 32 (1, -2) 2",
    ]


EXPLICIT = """
import json, sys, paddle_flags as pf
from paddle_flags._core.assign import assign
from paddle_flags._native import lib
if sys.argv[1] == "python":
    import demo_flags
    demo_flags.define()
else:
    pf.load_plugin("./libdemo.so")
names = ("deterministic", "mode", "batch_size", "shards", "level")
def show():
    print(*(pf.FLAGS[name].value for name in names), pf.FLAGS["level"].source)
def parse(*tokens, **file):
    with open("given.json", "w") as out:
        json.dump(file, out)
    pf.parse(["x", *tokens], config="given.json", env_prefix="DEMO_")
    show()
    for name in names:
        pf.FLAGS[name].reset()
parse("--deterministic", "--level=1", "--batch_size=8")
parse("--level=1", "--deterministic")
parse("--mode=fast", "--deterministic")
parse("--deterministic", level=1)
parse("--level=1", deterministic=True)
parse(deterministic=True, level=1)
pf.FLAGS.level = 1
parse("--deterministic")
pf.FLAGS.level = 1
pf.FLAGS.deterministic = True
parse()
pf.FLAGS.deterministic = True
parse("--level=1")
live = {"where": ("pid 4312", 0), "source": lib.PD_SOURCE_LIVE}
assign([(pf.FLAGS["level"], 1)], **live)
pf.FLAGS.deterministic = True
parse()
pf.FLAGS.level = 1
assign([(pf.FLAGS["deterministic"], True)], **live)
parse()
assign([(pf.FLAGS["level"], 1)], **live)
parse("--deterministic")
"""


@pytest.mark.parametrize("how", ["native", "python"])
def test_an_explicit_value_wins_over_an_implied_one(how, made):
    assert python(made, EXPLICIT, how).stdout.splitlines() == [
        "True best 8 (7,) 1 argv",  # batch_size=8 implies nothing, and mode=best no level
        "True best 1 (7,) 1 argv",
        "True fast 1 (7,) 2 default",  # mode=best would imply level=4
        "True best 1 (7,) 4 override",  # the command line ranks above a file
        "True best 1 (7,) 1 argv",
        "True best 1 (7,) 1 file",
        "True best 1 (7,) 1 run time",
        "True best 1 (7,) 4 override",  # at run time, the later wins
        "True best 1 (7,) 4 override",
        "True best 1 (7,) 4 override",  # so it does with live values
        "True best 1 (7,) 4 override",
        "True best 1 (7,) 1 live",
    ]


REFUSED = """
import warnings, paddle_flags as pf
from demo_flags import FLAGS, define
define()
pf.validator("batch_size", message="expected anything but 1")(lambda value: value != 1)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    FLAGS.deterministic = True
print(FLAGS.deterministic, FLAGS.batch_size, FLAGS.mode, *(each.message for each in told))
"""


def test_an_implied_value_that_is_refused_is_one_warning(made):
    ended = python(made, REFUSED)
    why = "implied by --deterministic=true: batch_size=1: expected anything but 1"
    assert ended.stdout.strip() == f"True 32 fast {why}; the implied values are not set"
    assert ended.stderr == ""


THREADS = """
import sys, threading, paddle_flags as pf
sys.setswitchinterval(1e-6)
if sys.argv[1] == "native":
    pf.load_plugin("./libdemo.so")
else:
    import demo_flags
    demo_flags.define()
flag = pf.FLAGS["deterministic"]
def turn(start, value):
    start.wait()
    for index in range(100):
        flag.value = value ^ bool(index % 2)
for _ in range(40):
    start = threading.Barrier(3)
    threads = [threading.Thread(target=turn, args=(start, bool(n % 2))) for n in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    found = pf.FLAGS["mode"].value, pf.FLAGS["batch_size"].value
    assert found == (("best", 1) if flag.value else ("fast", 32)), (flag.value, found)
"""


@pytest.mark.parametrize("how", ["native", "python"])
def test_threads_that_set_a_flag_in_turn_leave_what_its_last_value_implies(how, made):
    python(made, THREADS, how)


def test_doctor_tells_modules_of_two_versions_of_a_file_apart(made, tmp_path):
    texts = {  # one that has other flags, and one whose definition is refused
        "newer": "- {name: more, type: bool, default: true, help: More}\n",
        "other": "- {name: mode, type: int32, default: 1, help: More}\n",
    }
    digests = {"demo": schema_hash(load(str(GOOD)))[:16]}
    for name, flag in texts.items():
        head = "name: demo\nversion: 1.3.0\nflags:\n"
        path = write(tmp_path / name / "flags.yaml", head + flag)
        assert generate([str(path), "-o", str(path.parent), "--lang", "c"], "prog") == 0
        build_plugin(tmp_path / f"lib{name}.so", *sorted(path.parent.glob("*.c")), flags=("-s",))
        digests[name] = schema_hash(load(str(path)))[:16]
    demo = shutil.copy(made / "libdemo.so", tmp_path)
    shutil.copy(demo, tmp_path / "libtwin.so")
    doctor = (PYTHON, "-m", "paddle_flags", "doctor", "--json", "-p", "./libdemo.so")
    ended = run(*doctor, "-p", "./libtwin.so", cwd=tmp_path)
    assert json.loads(ended.stdout)["problems"] == []
    for words, name in (
        (("-p", "./libnewer.so"), "./libnewer.so"),
        (("-p", "./libother.so"), "./libother.so"),
        (("libother.so",), "libother.so"),
    ):
        ended = run(*doctor, *words, cwd=tmp_path, check=False)
        *_, problem = json.loads(ended.stdout)["problems"]
        theirs = digests[name[-8:-3]]
        expected = f"demo: {name} has flags of another version than ./libdemo.so ({theirs}, not "
        assert problem.startswith(expected + digests["demo"])
        assert ended.returncode == 1


def test_help_alone_does_not_change_the_schema_and_all_else_does():
    flags = load(str(GOOD))
    digest = schema_hash(flags)
    flags.flags[0].help = "Something else"
    flags.flags[0].owner = "somebody"
    assert schema_hash(flags) == digest
    flags.flags[0].max = 8192
    assert schema_hash(flags) != digest


# ---- documents ----


def test_the_reference_shows_every_flag_and_nothing_in_a_text_is_markup(made):
    page, text = ((made / f"demo_flags.{kind}").read_text("utf-8") for kind in ("html", "md"))
    for flag in load(str(GOOD)).flags:
        assert f'<section id="{flag.name}">' in page
        assert f"### `{flag.name}`" in text
    assert "&lt;b&gt;&amp;amp;&lt;/b&gt;, | bars" in page
    assert "\\*stars\\*, \\<b\\>\\&amp;\\</b\\>, \\| bars" in text
    assert "\n\\# Not a heading." in text
    assert "| 1.1.0 | default | 16 | 32 | Faster \\| on all |" in text
    for document in (page, text, (made / "demo_flags.schema.json").read_text("utf-8")):
        assert "cr\\et" not in document


def test_no_line_of_what_is_generated_ends_with_blanks(tmp_path):
    flags = copy_of_good(tmp_path)
    flags.write_text(flags.read_text("utf-8").replace("help: Seed", 'help: "Seed\\n\\nof all"'))
    files = render(load(str(flags)))
    assert any("of all" in text for text in files.values())
    bad = [name for name, text in files.items() if re.search(r"[ \t]$", text, re.MULTILINE)]
    assert bad == []


def test_the_flagfile_gives_every_flag_its_default(made):
    lines = [line[2:] for line in (made / "demo_flags.flags").read_text("utf-8").splitlines()]
    given = write(made / "given.flags", "\n".join(line for line in lines if line.startswith("--")))
    program = (
        "import sys, paddle_flags as pf\npf.load_plugin('./libdemo.so')\n"
        "pf.parse(['x', '--flagfile=given.flags'])\n"
        "found = [f for f in pf.FLAGS.values() if f.source == 'argv']\n"
        "assert all(f.value == f.default for f in found)\nprint(len(found))"
    )
    assert python(made, program).stdout == f"{len(given.read_text().splitlines())}\n"


def test_the_schema_of_configuration_files_accepts_what_parse_does(made):
    schema = json.loads((made / "demo_flags.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    judge = jsonschema.Draft202012Validator(schema)
    for good in (
        {},
        {"batch_size": 7, "mode": "best"},
        {"cache": "1GiB"},
        {"shards": [1]},
        {"buffer": 8192},
        {"batch-size": "0x10", "high": 2**64 - 1, "keep": "1h30m", "shards": ["1", 2]},
        {"shards": "1,2", "rate": "inf"},
    ):
        assert judge.is_valid(good), good
    for bad in (
        {"bach_size": 7},
        {"batch_size": 0},
        {"mode": "slow"},
        {"shards": [1.5]},
        {"build": "x"},
        {"batch-size": 0},
        {"keep": -1},
        {"seed": 2**64},
        {"shards": [2**31]},
        {"keep": "1parsec"},
        {"seed": "one"},
    ):
        assert not judge.is_valid(bad), bad
