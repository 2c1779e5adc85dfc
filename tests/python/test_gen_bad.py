"""Broken YAML: every file ends with one complaint that has a place, and nothing is written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from golden.gen import GEN, KINDS, cases, complaints, paths_of
from support import ROOT

from paddle_flags.gen import fields, load_files, tree
from paddle_flags.gen import render as render_module
from paddle_flags.gen.cli import run as generate
from paddle_flags.gen.problems import GenerateError
from paddle_flags.gen.render import render

OPTIONS = {"flags_compat": "--compat", "flags_version": "--versions"}
ONE = "- name: level\n  type: int32\n  default: 6\n  help: Compression level\n"


@pytest.fixture(autouse=True)
def there(monkeypatch):
    monkeypatch.chdir(GEN)


def test_there_are_many_broken_files_and_each_has_one_complaint():
    broken = cases()
    assert len(broken) >= 60
    assert [case for case in broken if len(list(complaints(case))) != 1] == []


def test_complaints_are_as_recorded():
    told = [line for case in cases() for line in complaints(case)]
    assert told == (ROOT / "tests/golden/gen.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.parent.name}-{case.stem}")
def test_a_broken_file_ends_the_command_with_2_and_a_place_and_writes_nothing(
    case, tmp_path, capsys
):
    paths = paths_of(case)
    words = [paths["flags"], "-o", str(tmp_path / "out")]
    words += [
        word for kind, path in paths.items() if kind in OPTIONS for word in (OPTIONS[kind], path)
    ]
    assert generate(words, "prog") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"{re.escape(case.as_posix())}:\d+:\d+: .*found .+, expected .+\n", err)
    assert list(tmp_path.iterdir()) == []


def test_each_circle_of_implied_values_is_told(tmp_path):
    path = tmp_path / "compat.yaml"
    path.write_text(
        "implies:\n"
        "- {flag: deterministic, value: true, sets: {deterministic: true}}\n"
        "- {flag: mode, value: best, sets: {batch_size: 1}}\n"
        "- {flag: batch_size, value: 1, sets: {mode: best}}\n"
    )
    with pytest.raises(GenerateError) as told:
        load_files({"flags": "good/flags.yaml", "flags_compat": str(path)})
    assert list(map(str, told.value.errors)) == [
        f"{path}:2:10: implies: found deterministic -> deterministic, expected no cycle",
        f"{path}:3:10: implies: found mode -> batch_size -> mode, expected no cycle",
    ]


@pytest.mark.extended  # takes a second or more
def test_a_reader_without_libyaml_tells_the_same(monkeypatch):
    monkeypatch.setattr(tree, "PURE", True)
    told = [line for case in cases() for line in complaints(case)]
    assert told == (ROOT / "tests/golden/gen.txt").read_text("utf-8").splitlines()


HINTS = {
    "help: Note: this": ", one key on each line, and text with ': ' in quotes",
    "default: 2MiB": "; a quantity needs 'unit: bytes'",
    "default: 1h": "; a quantity needs 'unit: seconds'",
}


@pytest.mark.parametrize("line", HINTS)
def test_what_a_common_mistake_needs_is_told(tmp_path, line):
    path = tmp_path / "flags.yaml"
    key = line.partition(":")[0]
    path.write_text(f"name: demo\nflags:\n{re.sub(f'{key}: .*', line, ONE)}")
    with pytest.raises(GenerateError) as told:
        load_files({"flags": str(path)})
    assert [str(each).endswith(HINTS[line]) for each in told.value.errors] == [True], told.value


def test_a_choice_that_is_refused_is_all_that_is_told(tmp_path):
    path, compat = tmp_path / "flags.yaml", tmp_path / "flags_compat.yaml"
    two = ONE.replace("level", "other") + ONE + "  choices: [6, x]\n"
    path.write_text(f"name: demo\nflags:\n{two}")
    compat.write_text("implies:\n- {flag: other, value: 1, sets: {level: 7}}\n")
    with pytest.raises(GenerateError) as told:
        load_files({"flags": str(path), "flags_compat": str(compat)})
    (error,) = told.value.errors
    assert "level: choices[1]: found 'x', expected an integer" in str(error)


def test_a_word_that_is_nearly_a_command_is_told(capsys):
    with pytest.raises(SystemExit):
        generate(["dif", "a.yaml", "b.yaml"], "prog")
    told = capsys.readouterr().err
    assert "no such file or command dif; did you mean 'diff'?" in told


@pytest.mark.parametrize("languages", ["python", "c,python,docs", None])
def test_a_set_whose_module_would_hide_a_known_one_is_refused(tmp_path, capsys, languages):
    path, out = tmp_path / "flags.yaml", tmp_path / "out"
    path.write_text(f"name: paddle\nflags:\n{ONE}")
    words = [str(path), "-o", str(out), *(["--lang", languages] if languages else [])]
    assert generate(words, "prog") == 2
    assert capsys.readouterr().err == (
        f"{path}:1:7: name: found 'paddle', whose module paddle_flags would hide the package"
        " paddle_flags, expected another name, such as 'my_paddle', or --lang without python\n"
    )
    assert not out.exists()
    assert generate([str(path), "-o", str(out), "--lang", "c,cpp"], "prog") == 0


def test_a_set_whose_module_would_hide_one_of_python_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "flags.yaml"
    path.write_text(f"name: code\nflags:\n{ONE}")
    flags = load_files({"flags": str(path)})
    assert render(flags, ["python"])
    monkeypatch.setattr(render_module, "TAKEN", {"code_flags": "the module code_flags of Python"})
    with pytest.raises(GenerateError, match="would hide the module code_flags of Python, expected"):
        render(flags, ["python"])


def test_a_template_that_nothing_uses_is_an_error(tmp_path, capsys):
    (tmp_path / "refrence.md.j2").write_text("{% include 'part.j2' %}")
    (tmp_path / "part.j2").write_text("")
    words = ["good/flags.yaml", "-o", str(tmp_path / "out"), "--templates", str(tmp_path)]
    assert generate(words, "prog") == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(
        f"{tmp_path / 'refrence.md.j2'}:1:1: found a template that nothing uses, "
    )
    assert told.endswith("; did you mean 'reference.md.j2'?")
    (tmp_path / "refrence.md.j2").rename(tmp_path / "reference.md.j2")
    assert generate(words, "prog") == 0


@pytest.mark.extended  # takes a second or more
def test_100000_flags_are_too_many(tmp_path):
    flags = "".join(ONE.replace("level", f"level_{index}", 1) for index in range(100_000))
    path = tmp_path / "flags.yaml"
    path.write_text(f"name: demo\nflags:\n{flags}")
    with pytest.raises(GenerateError, match=r"flags.yaml:80003:3: .* expected at most 20000"):
        load_files({"flags": str(path)})


def test_a_file_of_many_megabytes_is_refused_unread(tmp_path):
    path = tmp_path / "flags.yaml"
    with open(path, "wb") as file:
        file.truncate(tree.MOST_BYTES + 1)
    with pytest.raises(GenerateError, match=r"flags.yaml:1:1: found more than \d+ bytes"):
        load_files({"flags": str(path)})


def test_all_errors_are_told_in_the_order_of_the_files(tmp_path):
    path = tmp_path / "flags.yaml"
    wrong = ONE.replace("6", "six") + ONE.replace("level", "keys", 1) + ONE.replace("help", "hlep")
    path.write_text(f"name: demo\nflags:\n{wrong}")
    with pytest.raises(GenerateError) as shape:
        load_files({"flags": str(path)})
    told = [str(each).partition(": ")[2] for each in shape.value.errors]
    assert told[0] == "level: found no 'help', expected a flag with 'help'"
    assert told[1].startswith("found the key 'hlep', expected one of name, type, ")
    assert told[1].endswith("; did you mean 'help'?")
    assert len(told) == 2
    path.write_text(path.read_text().replace("hlep", "help"))
    with pytest.raises(GenerateError) as meaning:
        load_files({"flags": str(path)})
    lines = [
        int(str(each).removeprefix(f"{path}:").partition(":")[0]) for each in meaning.value.errors
    ]
    assert lines == [5, 7, 11]


def test_behind_100_errors_one_tells_how_many_more(tmp_path):
    path = tmp_path / "flags.yaml"
    wrong = "".join(ONE.replace("level", f"l{i}", 1).replace("6", "six") for i in range(150))
    path.write_text(f"name: demo\nflags:\n{wrong}")
    with pytest.raises(GenerateError) as told:
        load_files({"flags": str(path)})
    assert len(told.value.errors) == 101
    assert str(told.value.errors[-1]) == "50 more errors"


def test_the_nearest_of_many_names_is_found_without_a_long_search(tmp_path):
    path = tmp_path / "flags.yaml"
    flags = "".join(ONE.replace("level", f"level_{index}", 1) for index in range(1000))
    path.write_text(f"name: demo\nflags:\n{flags}")
    compat = tmp_path / "compat.yaml"
    wrong = "".join(f"- {{flag: lvel_{index}, names: [a{index}]}}\n" for index in range(1000))
    compat.write_text(f"aliases:\n{wrong}- {{flag: mode, names: [m]}}\n")
    with pytest.raises(GenerateError) as told:
        load_files({"flags": str(path), "flags_compat": str(compat)})
    assert str(told.value.errors[0]).endswith("; did you mean 'level_0'?")
    assert str(told.value.errors[99]).endswith("; did you mean 'level_99'?")


# ---- the schema for editors ----

# Of these the schema says nothing: what JSON doesn't have, or what another key decides.
_NO_JSON = re.compile(
    "anchor|alias$|tab_|merge_key|tag|directive|documents|billion|duplicate|as_key|empty$|comment_only|scalar_only|list_only"
    "|deep|utf|latin1|nul_byte|control|half_a|line_sep|old_mac|syntax|name_that_is_a_bool"
)


def _plain(node):
    """Give what a reader of YAML 1.2 gives."""
    if isinstance(node, tree.Sequence):
        return [_plain(item) for item in node]
    if isinstance(node, tree.Mapping):
        return {key: _plain(value) for key, value in node.items()}
    if not node.plain:
        return str(node)
    core = re.fullmatch(r"(null|~|)|(true|false)|([-+]?\d+)|([-+]?\d*\.?\d+(e[-+]?\d+)?)", node)
    if core is None:
        return str(node)
    if core[2] or core[1] is not None:
        return {"true": True, "false": False}.get(node)
    return int(node) if core[3] else float(node)


def _refused_by_shape(case: Path) -> bool:
    kind = KINDS[case.parent.name]
    return fields.read_file_record(kind, tree.read_tree(str(case)), tree.Problems()) is None


def test_gen_prints_the_schemas_of_the_reader(capsys):
    for name in KINDS.values():
        assert generate(["--schema", name], "prog") == 0
        schema = json.loads(capsys.readouterr().out)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema == fields.schema(name)


@pytest.mark.extended  # takes a second or more
def test_what_the_reader_refuses_by_its_shape_the_schema_refuses_and_nothing_good():
    by_shape, by_schema = set(), set()
    for case in cases():
        if _NO_JSON.search(case.stem):
            continue
        judge = jsonschema.Draft202012Validator(fields.schema(KINDS[case.parent.name]))
        by_shape |= {case.stem} if _refused_by_shape(case) else set()
        by_schema |= set() if judge.is_valid(_plain(tree.read_tree(str(case)))) else {case.stem}
    assert len(by_shape) > 30
    assert by_shape - by_schema == set()
    # It also sees defaults of another type, which the reader leaves to the next stage.
    assert all(stem.startswith("default_") for stem in by_schema - by_shape)
    for name in KINDS.values():
        judge = jsonschema.Draft202012Validator(fields.schema(name))
        assert judge.is_valid(_plain(tree.read_tree(f"good/{name}.yaml")))
        assert judge.is_valid({}) == (name == "flags_compat")
