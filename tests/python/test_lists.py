"""What follows from the lists of the headers is made from them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from support import ROOT, run

import paddle_flags as pf
from paddle_flags import _native as native
from paddle_flags._core import header

TOOL = ROOT / "tools" / "lists.py"
HEADER = "csrc/include/pd_flags.h"
TABLE = "csrc/include/pd_flags/table.h"
NAMES = [f"csrc/include/pd_flags/names_{part}.h" for part in ("push", "pop")]
MACROS = "csrc/include/pd_flags/define_types.h"
LIVE = "csrc/include/pd_flags/live.h"
WORK = "csrc/src/base/work.h"
MADE = ["header.py", "flag_definition.py", "define.py"]
LAST_MARK = '"a command line without a value for it is an error")'


@pytest.fixture
def copied(tmp_path):
    """Copy what the tool reads and writes."""
    made = [f"paddle_flags/_core/{name}" for name in MADE]
    for name in (HEADER, TABLE, LIVE, MACROS, *NAMES, WORK, *made):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def check(root):
    return run(sys.executable, TOOL, "--check", "--root", root, check=False)


def test_the_files_are_those_that_the_header_gives():
    ended = check(ROOT)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_new_attribute_asks_for_other_files_and_writes_them(copied):
    path = copied / HEADER
    more = LAST_MARK + ' \\\n  X(more, "more", "is \\"new\\"")'
    path.write_text(path.read_text("utf-8").replace(LAST_MARK, more), "utf-8")
    ended = check(copied)
    assert ended.returncode == 1
    assert all(name in ended.stderr for name in MADE)
    run(sys.executable, TOOL, "--root", copied)
    assert check(copied).returncode == 0
    texts = [(copied / "paddle_flags" / "_core" / name).read_text("utf-8") for name in MADE]
    assert """    "more": 'is "new"',""" in texts[0]
    assert "    def more(self) -> bool:" in texts[1]
    assert "    more: bool = False," in texts[2]


def test_a_new_type_gets_the_macros_of_the_others(copied):
    path = copied / HEADER
    last = "X(string, 7, const char *, str)"
    more = last + " \\\n  X(int8, 8, int8_t, i64)"
    path.write_text(path.read_text("utf-8").replace(last, more), "utf-8")
    assert "define_types.h" in check(copied).stderr
    run(sys.executable, TOOL, "--root", copied)
    text = (copied / MACROS).read_text("utf-8")
    assert "PD__FLAG(int8, int8_t, i64, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)" in text
    assert "#define PD_DEFINE_int8 PD_FLAG_DEFINE_int8\n" in text


def test_a_part_whose_lines_cannot_be_repeated_is_an_error(copied):
    path = copied / MACROS
    text = path.read_text("utf-8")
    path.write_text(text.replace("for each type:", "for each color:", 1), "utf-8")
    assert "what does this mean: for each color" in check(copied).stderr
    path.write_text(text.replace("end of the long names", "end of long names"), "utf-8")
    assert "ends as long names" in check(copied).stderr


def test_a_new_function_gets_a_row_of_its_own(copied):
    path = copied / HEADER
    version = "PD_API const char *pd_version(void);\n"
    takes = "pd_flag *const *of, void (*done)(void *), \n    pd_error *err"
    new = f"PD_API pd_status pd_more({takes}); /* x */\n"
    path.write_text(path.read_text("utf-8").replace(version, new + version), "utf-8")
    assert "table.h" in check(copied).stderr
    run(sys.executable, TOOL, "--root", copied)
    assert check(copied).returncode == 0
    rows, rest = (copied / TABLE).read_text("utf-8").split("\n/* end of PD_TABLE_MAP */")
    row = (
        "  STATUS(more, (pd_flag *const *of, void (*done)(void *), pd_error *err), (of, done, err))"
    )
    assert rows.splitlines()[-1] == row
    (copied / TABLE).write_text(
        f"{rows} \\\n  VOID(less, (void), ())\n/* end of PD_TABLE_MAP */{rest}"
    )
    assert f"functions that {Path(HEADER)} doesn't declare: less" in check(copied).stderr


def test_a_short_name_in_a_header_is_put_aside(copied):
    path = copied / LIVE
    path.write_text(path.read_text("utf-8") + "typedef int qed; /* qef */\n", "utf-8")
    run(sys.executable, TOOL, "--root", copied)
    push, pop = ((copied / name).read_text("utf-8") for name in NAMES)
    assert '#pragma push_macro("qed")\n#undef qed\n' in push
    assert '#pragma pop_macro("qed")\n' in pop
    assert "qef" not in push + pop


def test_the_lists_are_what_the_compiler_makes_of_the_header():
    fields = [name for name, _ in native.ffi.typeof("pd_flag_def").fields]
    assert [name for name in fields if name in header.MARKS] == [*header.MARKS]
    assert [name for name in fields if name in header.TEXTS] == [*header.TEXTS]
    types = native.ffi.typeof("pd_type").elements
    assert [types[number] for number in sorted(types)] == [
        f"PD_TYPE_{name}" for name in header.C_TYPES
    ]


def test_every_attribute_is_a_keyword_and_a_property(name):
    flag = pf.define(name, "1", **dict.fromkeys(header.MARKS, False), category="Own")  # type: ignore[arg-type]
    assert not any(getattr(flag, mark) for mark in header.MARKS)
    assert [getattr(flag, text) or None for text in header.TEXTS].count(None) == 7
