"""The guard of the binary interface: what it refuses, what it lets grow, and what it says."""

from __future__ import annotations

import re
import shutil
import sys

import pytest
from support import ROOT, run, tool

GUARD = ROOT / "tools" / "abi.py"
HEADER, RECORD, TABLE = (
    "include/pd_flags.h",
    "include/pd_flags/record.h",
    "include/pd_flags/table.h",
)

FIND = "  STATUS(flag_find, (const char *name, pd_flag **out, pd_error *err), (name, out, err))"
STATUS = "  pd_status status;     /* PD_OK"
CHOICES = "  X(choices,"
END_OF_TABLE = "\n/* end of PD_TABLE_MAP */"
LAST_MARK = 'X(merge, "merge", "a list that adds to what files and variables give")'
VERSION = "PD_API const char *pd_version(void);\n"

# Edits of the sources, each a file, a text and its replacement; and what the guard names.
BREAKS = {
    "a field in the middle of a struct": (
        [(HEADER, STATUS, "  int more;\n" + STATUS)],
        [
            "pd_module_info.more: is new at byte 32",
            "pd_module_info.status: was at byte 32, is at 36",
        ],
    ),
    "a field in the middle of a definition": (
        [(HEADER, CHOICES, '  X(more, "more", TEXT, "is new") \\\n' + CHOICES)],
        ["pd_flag_def.more: is new at byte 40", "pd_flag_def.choices: was at byte 40, is at 48"],
    ),
    "a field in the padding of a struct": (
        [(HEADER, "} pd_cell_info;", "  bool more;\n} pd_cell_info;")],
        ["pd_cell_info.more: is new at byte 33", "bytes that nobody cleared"],
    ),
    "a removed field": (
        [(HEADER, "  bool replaced;", "//")],
        ["pd_flag_entry.replaced: was at byte 40, is gone"],
    ),
    "two fields that changed places": (
        [
            (RECORD, "module_join)", "@"),
            (RECORD, "_leave)", "_join)"),
            (RECORD, "@", "module_leave)"),
        ],
        ["pd_host.module_join: was at byte 8, is at 16", "pd_host.module_leave"],
    ),
    "a field of another type": (
        [(HEADER, "  uint32_t width; ", "  int32_t width; ")],
        ["pd_report_options.width: has another type"],
    ),
    "a field at the end of a struct without a size": (
        [(HEADER, "} pd_origin;", "  uint64_t more;\n} pd_origin;")],
        ["pd_origin", "'uint64_t more'"],
    ),
    "a field at the end of a struct that another one begins with": (
        [(RECORD, "} pd_host;", "  void *more;\n} pd_host;")],
        ["pd_table.error_list_new: was at byte 24, is at 32"],
    ),
    "a removed function": (
        [(HEADER, "PD_API const char *pd_type_name(pd_type type);", "")],
        ["1 Removed", "pd_type_name"],
    ),
    "a function with another parameter": (
        [(HEADER, "*pd_status_text(pd_status status)", "*pd_status_text(const char *status)")],
        ["pd_status_text", "parameter 1"],
    ),
    "a row inside of the table": (
        [(TABLE, FIND, "  RESULT(int, more, (void), ()) \\\n" + FIND)],
        ["pd_table.more: is new at byte 72", "pd_table.flag_find: was at byte 72, is at 80"],
    ),
    "a removed row": ([(TABLE, FIND, "")], ["pd_table.flag_find: was at byte 72, is gone"]),
    "two rows that changed places": (
        [
            (TABLE, "flag_freeze", "@"),
            (TABLE, "flag_unfreeze", "flag_freeze"),
            (TABLE, "@", "flag_unfreeze"),
        ],
        ["pd_table.flag_freeze: was at byte 248, is at 256", "pd_table.flag_unfreeze"],
    ),
    "another number of a status": (
        [(HEADER, "X(ERR_RANGE, 7,", "X(ERR_RANGE, 70,")],
        ["'pd_status::PD_ERR_RANGE' from value '7' to '70'"],
    ),
    "a removed source": ([(HEADER, "  X(OVERRIDE, 5,", "//")], ["pd_source::PD_SOURCE_OVERRIDE"]),
}
GROWTH = {
    "a function": ([(HEADER, VERSION, VERSION + "PD_API int pd_more(void);\n")], "pd_more"),
    "a type": ([(HEADER, VERSION, VERSION + "typedef enum pd_more { X } pd_more;\n")], "pd_more"),
    "a row at the end of the table": (
        [(TABLE, END_OF_TABLE, " \\\n  RESULT(int, more, (void), ())" + END_OF_TABLE)],
        "more",
    ),
    "a field at the end of a struct": (
        [(HEADER, "} pd_module_info;", "  bool more;\n} pd_module_info;")],
        "more",
    ),
    "a field at the end of a definition": (
        [(HEADER, "} pd_flag_def;", "  const char *more;\n} pd_flag_def;")],
        "more",
    ),
    "an attribute in place of reserved bytes": (
        [(HEADER, LAST_MARK, LAST_MARK + ' X(more, "more", "is new")')],
        "'bool more'",
    ),
    "a status": ([(HEADER, "X(ERR_DEPTH, 19,", 'X(ERR_MORE, 90, "") X(ERR_DEPTH, 19,')], "MORE"),
}


@pytest.fixture
def guard(tmp_path):
    """Run the guard on a copy of the sources with edits, and perhaps renew its record."""
    tool("abidiff", "abigail-tools")
    sources = tmp_path / "csrc"
    shutil.copytree(ROOT / "csrc", sources)

    def start(edits=(), *options: str):
        for name, text, replacement in edits:
            path = sources / name
            before = path.read_text("utf-8")
            assert text in before, text
            path.write_text(before.replace(text, replacement, 1), "utf-8")
        return run(sys.executable, GUARD, "--sources", sources, *options, check=False)

    return start


def test_the_record_is_that_of_the_sources(guard):
    ended = guard()
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.extended
@pytest.mark.parametrize("change", BREAKS)
def test_a_change_that_breaks_what_was_built_before_is_refused_and_named(guard, change):
    edits, words = BREAKS[change]
    ended = guard(edits)
    assert ended.returncode == 1
    assert "breaks what was built before" in ended.stderr
    for word in words:
        assert word in ended.stderr


@pytest.mark.release  # what is refused is tested with each change
@pytest.mark.parametrize("change", GROWTH)
def test_growth_asks_for_a_new_record_and_passes_with_it(guard, change):
    edits, word = GROWTH[change]
    ended = guard(edits)
    assert ended.returncode == 1
    assert "what was built before still works" in ended.stderr
    assert "make abi ARGS=--renew" in ended.stderr
    assert word in ended.stderr
    assert guard((), "--renew").returncode == 0
    assert guard().returncode == 0


def test_the_record_has_every_function_and_type_of_the_headers():
    record = (ROOT / "csrc" / "abi" / "pd_flags.abi").read_text("utf-8")
    header = (ROOT / "csrc" / HEADER).read_text("utf-8")
    functions = re.findall(r"(?m)^PD_API.*?\b(pd_\w+)\(", header)
    types = re.findall(r"(?m)^typedef (?:struct|enum|union) (pd_\w+)", header)
    assert len(functions) > 60
    for name in functions:
        assert f"elf-symbol name='{name}'" in record
    names = ["pd_module_record", "pd_copy_record", "pd_host", "pd_table", "pd_index"]
    for name in [*types, *names, "pd_index_row", "pd_index_kind"]:
        assert f"typedef-decl name='{name}'" in record
