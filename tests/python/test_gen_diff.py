"""gen diff: what changed between two versions of flags.yaml, and whom it breaks."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from generating import from_data
from support import package, write

package("ruamel.yaml")

from paddle_flags.gen import load  # noqa: E402 - behind the look for what is needed
from paddle_flags.gen.cli import run as gen  # noqa: E402
from paddle_flags.gen.diff import compare  # noqa: E402
from paddle_flags.gen.diff_text import to_lines, to_markdown  # noqa: E402
from paddle_flags.gen.model import to_data  # noqa: E402

FLAGS = """
name: engine
version: 1.2.0
flags:
  - {name: batch, type: int32, default: 32, help: Rows at once, range: [1, 4096], since: 1.0.0}
  - {name: mode, type: string, default: fast, help: How, choices: [fast, best], category: Speed}
  - {name: cache, type: uint64, default: 64MiB, help: Memory, unit: bytes, owner: storage}
  - {name: check, type: bool, default: false, help: Look at everything, attributes: [hidden]}
  - {name: hosts, type: string, items: string, default: [a, b], help: Where}
  - {name: ratio, type: double, default: 0.5, help: Part}
  - {name: key, type: string, default: abc, help: Secret, attributes: [sensitive]}
imports:
  - {name: threads, type: int32, default: 1}
  - {name: limit, type: int64, default: 0}
"""
COMPAT = """
aliases:
  - {flag: batch, names: [b, rows]}
renamed:
  - {from: style, to: mode, version: 1.1.0}
  - {from: manner, to: mode, version: 1.0.0}
retired:
  - {name: turbo, type: bool, version: 1.1.0, reason: always on, replacement: mode}
  - {name: nitro, type: int32, version: 1.0.0, reason: had no effect}
deprecated:
  - {flag: ratio, version: 1.1.0, reason: too coarse, replacement: batch}
  - {flag: key, version: 1.1.0, reason: is in a file now}
implies:
  - {flag: mode, value: best, sets: {batch: 64, check: true}}
  - {flag: check, value: true, sets: {cache: 1MiB}}
"""
VERSION = """
versions:
  - version: 1.1.0
    changes:
      - {flag: batch, change: default, from: 16, to: 32, note: Memory is cheap}
      - {flag: mode, change: meaning, note: Speaks of both stages}
  - version: 1.2.0
    changes:
      - {flag: cache, change: default, from: 32MiB, to: 64MiB}
"""


@pytest.fixture
def sets(tmp_path):
    """Give a function: two versions of the files, the new one by replacements, as paths."""

    def make(*changes: tuple[str, str]) -> tuple[str, str]:
        paths = []
        for place, edits in (("old", ()), ("new", changes)):
            texts = {"flags": FLAGS, "flags_compat": COMPAT, "flags_version": VERSION}
            for before, after in edits:
                owner = next(name for name, text in texts.items() if before in text)
                texts[owner] = texts[owner].replace(before, after, 1)
            for name, text in texts.items():
                write(tmp_path / place / f"{name}.yaml", text)
            paths.append(str(tmp_path / place / "flags.yaml"))
        return paths[0], paths[1]

    return make


def told(old: str, new: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(each.subject, each.kind, each.breaks) for each in compare(load(old), load(new))]


def test_equal_files_have_no_difference_however_they_are_spelled(sets):
    old, new = sets(("64MiB, help", "67108864, help"), ("[hidden]}", "[ hidden ]}  # a comment"))
    assert told(old, new) == []
    assert gen(["diff", old, new], "gen") == 0


def test_a_range_that_comes_or_goes_is_told_in_words(sets):
    old, new = map(load, sets(("help: Part", "help: Part, range: [0, 1]")))
    assert "ratio: range: is [0.0, 1.0], was none\n" in to_lines(old, new, compare(old, new))


NEW = "  - {name: wide, type: bool, help: W, default: "
# One edit, and what is told of it.
EDITS = [
    ("type: int32, default: 32", "type: int64, default: 32", "batch", "type", ("code",)),
    ("type: int32, default: 32", "type: uint32, default: 32", "batch", "type", ("code", "values")),
    ("type: double, default: 0.5", "type: int32, default: 1", "ratio", "type", ("code", "values")),
    ("items: string, default: [a, b]", 'default: "a,b"', "hosts", "type", ("code", "values")),
    ("[1, 4096]", "[1, 1024]", "batch", "range", ("values",)),
    ("[1, 4096]", "[2, 4096]", "batch", "range", ("values",)),
    ("[1, 4096]", "[null, 4096]", "batch", "range", ()),
    ("help: Part", "help: Part, range: [0, 1]", "ratio", "range", ("values",)),
    ("[fast, best]", "[fast, best, tiny]", "mode", "choices", ()),
    ("choices: [fast, best], ", "", "mode", "choices", ()),
    ("[fast, best]", "[best, fast]", "mode", "choices", ()),
    ("help: Where", "help: Where, choices: [a, b]", "hosts", "choices", ("values",)),
    ("default: 0.5", "default: 0.25", "ratio", "default", ("behaviour",)),
    ("default: abc", "default: abd", "key", "default", ("behaviour",)),
    ("help: Part", "help: Part, unit: seconds", "ratio", "unit", ()),
    ("help: Where", "help: Where, attributes: [required]", "hosts", "attribute", ("values",)),
    ("help: Where", "help: Where, attributes: [startup_only]", "hosts", "attribute", ("code",)),
    ("[hidden]", "[]", "check", "attribute", ()),
    ("help: Part", "help: A part", "ratio", "help", ()),
    ("owner: storage", "owner: memory", "cache", "owner", ()),
    ("category: Speed", "category: Pace", "mode", "category", ()),
    ("imports:", f"{NEW}false}}\nimports:", "wide", "added", ()),
    ("imports:", f"{NEW}true, attributes: [required]}}\nimports:", "wide", "added", ("values",)),
    ("names: [b, rows]", "names: [rows]", "batch", "alias", ("values",)),
    ("names: [b, rows]", "names: [b, rows, r]", "batch", "alias", ()),
    ("{flag: batch, names", "{flag: cache, names", "batch", "alias", ("values",)),
    ("  - {from: style, to: mode, version: 1.1.0}\n", "", "mode", "old name", ("values",)),
    ("to: mode, version: 1.1.0", "to: key, version: 1.1.0", "mode", "old name", ("values",)),
    ("reason: too coarse", "reason: too fine", "ratio", "deprecated", ()),
    ("reason: always on", "reason: always off", "turbo", "retired", ()),
    ("batch: 64, check", "batch: 65, check", "mode", "implies", ("behaviour",)),
    ("threads, type: int32", "threads, type: int64", "threads", "imports", ("code",)),
    ("  - {name: limit, type: int64, default: 0}\n", "", "limit", "imports", ("code",)),
    ("name: engine", "name: motor", "", "set name", ("code",)),
]  # fmt: skip


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit[2]}-{edit[3]}")
def test_a_change_is_told_with_whom_it_breaks(sets, edit):
    before, after, subject, kind, breaks = edit
    old, new = sets((before, after))
    found = told(old, new)
    assert found[0] == (subject, kind, breaks), found
    assert gen(["diff", old, new], "gen") == (2 if any(each[2] for each in found) else 1)


def test_a_unit_breaks_when_it_goes_and_not_when_it_comes(sets):
    old, new = sets(("help: Part", "help: Part, unit: seconds"))
    assert told(old, new) == [("ratio", "unit", ())]
    assert told(new, old) == [("ratio", "unit", ("values",))]


RENAME = [("name: ratio", "name: share"), ("flag: ratio", "flag: share")]


def test_a_renamed_flag_is_followed_by_the_entry_that_tells_its_name(sets):
    entry = ("renamed:\n", "renamed:\n  - {from: ratio, to: share, version: 1.2.0}\n")
    old, new = sets(*RENAME, entry, ("default: 0.5", "default: 0.75"))
    assert told(old, new) == [
        ("ratio", "renamed", ("code",)),
        ("share", "default", ("behaviour",)),
    ]


def test_a_flag_that_is_gone_without_an_entry_names_the_flag_that_looks_like_it(sets):
    old, new = sets(("name: ratio", "name: ratios"), ("flag: ratio", "flag: ratios"))
    found = compare(load(old), load(new))
    assert [(each.subject, each.kind) for each in found][:2] == [
        ("ratio", "removed"),
        ("ratios", "added"),
    ]
    assert "flags_compat.yaml doesn't say why; did you mean 'ratios'?" in found[0].text
    assert str(found[0].place).endswith(f"{Path('old/flags.yaml')}:10:12")


def test_retiring_a_flag_tells_why(sets):
    line = "  - {name: hosts, type: string, items: string, default: [a, b], help: Where}\n"
    entry = "retired:\n  - {name: hosts, type: string, version: 1.2.0, reason: one place}\n"
    old, new = sets((line, ""), ("retired:\n", entry))
    (found,) = compare(load(old), load(new))
    assert (found.kind, found.breaks) == ("retired", ("code", "values"))
    assert found.text == "was retired, values for it are ignored: one place"


def test_a_new_meaning_is_told_with_its_note(sets):
    extra = "      - {flag: key, change: meaning, note: A path now}\n"
    old, new = sets(
        ("version: 1.2.0\nflags", "version: 1.3.0\nflags"),
        ("to: 64MiB}\n", "to: 64MiB}\n  - version: 1.3.0\n    changes:\n" + extra),
    )
    found = {each.kind: each for each in compare(load(old), load(new))}
    assert found.keys() == {"set version", "history", "meaning"}
    assert found["meaning"].note == "A path now"
    assert found["meaning"].breaks == ("behaviour",)


def test_a_changed_default_carries_the_note_of_the_version_that_changed_it(sets):
    change = "      - {flag: batch, change: default, from: 32, to: 48, note: Rows grew}\n"
    old, new = sets(
        ("default: 32", "default: 48"),
        ("version: 1.2.0\nflags", "version: 1.3.0\nflags"),
        ("to: 64MiB}\n", "to: 64MiB}\n  - version: 1.3.0\n    changes:\n" + change),
    )
    lines = to_lines(load(old), load(new), compare(load(old), load(new)))
    first = lines.splitlines()[0]
    path = Path("new/flags.yaml")
    what = "breaks behaviour: batch: default: is 48, was 32 (Rows grew)"
    assert first.endswith(f"{path}:5:41: {what}")


def test_a_sensitive_default_is_never_shown(sets, capsys):
    old, new = sets(("default: abc", "default: abd"))
    for form in ([], ["--json"], ["--markdown"]):
        assert gen(["diff", old, new, *form], "gen") == 2
        printed = capsys.readouterr().out
        assert "key" in printed
        assert not re.search(r"\bab[cd]\b", printed)


def mutations(data: Any) -> Iterator[tuple[str, Any]]:
    """Give all ways to change one thing: a leaf, an item less, two items swapped."""
    if isinstance(data, dict):
        for key, value in data.items():
            for path, made in mutations(value):
                yield f"{key}.{path}", {**data, key: made}
    elif isinstance(data, list) and data:
        yield "short", data[1:]
        if len(data) > 1 and data[0] != data[1]:
            yield "swapped", [data[1], data[0], *data[2:]]
        for index, item in enumerate(data):
            for path, made in mutations(item):
                yield f"{index}.{path}", [*data[:index], made, *data[index + 1 :]]
    elif isinstance(data, bool):
        yield "not", not data
    elif isinstance(data, (int, float)):
        yield "more", data + 1
    else:
        yield "other", 7 if data is None else f"{data}x"


def test_there_is_a_difference_exactly_when_the_normal_forms_differ(sets):
    path, _ = sets()
    flags = load(path)
    data = to_data(flags)
    assert compare(flags, from_data(copy.deepcopy(data))) == []
    del data["format"]
    count = 0
    for where, made in mutations(data):
        other = from_data(made)
        assert compare(flags, other), where
        assert compare(other, flags), where
        count += 1
    assert count > 150


def test_the_changelog_has_a_section_for_whom_a_change_breaks(sets):
    old, new = sets(
        ("version: 1.2.0\nflags", "version: 1.3.0\nflags"),
        ("[1, 4096]", "[1, 64]"),
        ("default: 0.5", "default: 0.25"),
        ("help: Where", "help: Where_else"),
    )
    a, b = load(old), load(new)
    text = to_markdown(a, b, compare(a, b))
    assert text == (
        "# Flags of engine: 1.2.0 to 1.3.0\n\n"
        "## Breaks command lines, files and variables\n\n"
        "- `batch`: range: is \\[1, 64\\], was \\[1, 4096\\].\n\n"
        "## Changes behaviour\n\n"
        "- `ratio`: default: is 0.25, was 0.5.\n\n"
        "## Compatible\n\n"
        "- version of the set: is '1.3.0', was '1.2.0'.\n"
        "- `hosts`: help: was changed.\n"
    )
    assert "Nothing changed." in to_markdown(a, a, [])


def test_json_has_all_that_is_known(sets, capsys):
    old, new = sets(("[1, 4096]", "[1, 64]"))
    assert gen(["diff", old, new, "--json"], "gen") == 2
    data = json.loads(capsys.readouterr().out)
    assert data["breaking"] is True
    (difference,) = data["differences"]
    assert difference["before"] == [1, 4096]
    assert difference["after"] == [1, 64]
    assert difference["place"] == f"{new}:5:72"


def test_errors_of_both_files_are_told_and_end_with_a_status_of_their_own(sets, capsys):
    old, new = sets(("type: double", "type: dubble"))
    Path(old).unlink()
    assert gen(["diff", old, new], "gen") == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"{old}: No such file or directory"
    assert lines[1].startswith(f"{new}:10:25: ratio: type: found 'dubble', expected one of bool,")
    assert lines[1].endswith("did you mean 'double'?")
    command = [sys.executable, "-m", "paddle_flags", "gen", "diff", old]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 3
    assert "the following arguments are required: NEW" in ended.stderr
