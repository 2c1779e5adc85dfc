"""The index of the host, as docs/reference/abi.md describes it."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from attaching import started
from support import INCLUDE
from test_abi import rows_below

import paddle_flags._native as native
from paddle_flags.live._attach_index import Index, find_index
from paddle_flags.live._attach_memory import open_memory

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
WAIT = "import sys, paddle_flags\nprint('END', flush=True)\nsys.stdin.read()"


@pytest.fixture(scope="module")
def index() -> Index:
    with started(sys.executable, "-c", WAIT) as running:
        return find_index(open_memory(running.pid))


def test_the_kinds_of_rows_have_the_numbers_of_the_header():
    header = Path(INCLUDE, "pd_flags", "index.h").read_text("utf-8")
    enum = re.search(r"typedef enum pd_index_kind \{(.*?)\} pd_index_kind;", header, re.DOTALL)
    assert enum
    names = re.findall(r"^  PD_INDEX_(\w+)", enum[1], re.MULTILINE)
    documented = {row[0]: int(row[1]) for row in rows_below("| whole | | | 36 | | 36 |\n")}
    assert documented == {name.lower(): number for number, name in enumerate(names, 1)}


def test_the_page_has_every_row_of_the_index(index):
    documented: dict[str, set[str]] = defaultdict(set)
    last = ""
    for name, rows, _ in rows_below("begins with the name of its struct, as in `flag.line`."):
        last = name or last
        words = set() if last == "def" else set(re.findall(r"\w+", rows))
        documented[last] |= words - {"the", "constant"}
    found: dict[str, set[str]] = defaultdict(set)
    for row in (*index._fields, *index._bits, *index.constants):
        struct, _, field = row.partition(".")
        if struct != "def":
            found[struct].add(field)
    assert set(documented) == set(index.sizes)
    assert {name: rows for name, rows in documented.items() if rows} == found


def test_types_sources_and_attributes_are_those_of_the_library(index):
    lib, ffi = native.lib, native.ffi
    types = {number: name for name, number in ffi.typeof("pd_type").relements.items()}
    assert {n: f"PD_TYPE_{name}" for n, (name, _) in index.types.items()} == types
    sources = ffi.typeof("pd_source").relements.values()
    named = {n: ffi.string(lib.pd_source_name(n)).decode() for n in sources}
    assert index.sources == named
    fields = dict(ffi.typeof("pd_flag_def").fields)
    for row, place in index._fields.items():
        struct, _, name = row.partition(".")
        if struct != "def":
            continue
        field = fields[name]
        assert (place.start, place.stop - place.start) == (field.offset, ffi.sizeof(field.type))
