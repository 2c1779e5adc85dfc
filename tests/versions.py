"""Other versions of the library, made of its own sources."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from support import CC, ROOT, run, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FUTURE = """
#include "base/error.h"

pd_status pd_flag_future(int32_t *out, pd_error *err) {
  if (!out) return pd__fail_null(err, "out");
  *out = 42;
  return PD_OK;
}
"""


def change(path: Path, pattern: str, replacement: str) -> None:
    """Replace the one place in a file that matches."""
    text, count = re.subn(pattern, replacement, path.read_text("utf-8"), flags=re.DOTALL)
    assert count == 1, f"{path.name}: {pattern} is there {count} times"
    path.write_text(text, "utf-8")


def table_of(tree: Path) -> Path:
    return tree / "include" / "pd_flags" / "table.h"


def older(tree: Path) -> None:
    """Make it a version that lacks the functions which came last, and late definitions."""
    change(tree / "include" / "pd_flags.h", r'(PD_VERSION) "[^"]*"', r'\1 "0.0.9"')
    change(tree / "src" / "module" / "record.c", r"bool has = [^;]*;", "bool has = least == high;")
    change(table_of(tree), r" +\\\n  STATUS\(pending_set,.*?\n(?=/\* end of PD_TABLE_MAP)", "\n")


def without_scopes(tree: Path) -> None:
    """Make it a version that lacks scoped values and operations."""
    change(tree / "include" / "pd_flags.h", r'(PD_VERSION) "[^"]*"', r'\1 "0.0.10"')
    change(table_of(tree), r" +\\\n  STATUS\(scope_push,.*?\n(?=/\* end of PD_TABLE_MAP)", "\n")


def newer(tree: Path) -> None:
    """Make it a version with a function and a field more."""
    header = tree / "include" / "pd_flags.h"
    change(header, r'(PD_VERSION) "[^"]*"', r'\1 "9.0.0"')
    declared = "PD_API pd_status pd_flag_future(int32_t *out, pd_error *err);\n"
    change(header, r"(#ifdef __cplusplus\n\})", declared + r"\n\1")
    change(header, r"(\n\} pd_flag_info;)", r"\n  uint64_t future;\1")
    entry = r" \\\n  STATUS(flag_future, (int32_t *out, pd_error *err), (out, err))\n"
    change(table_of(tree), r"\n(?=/\* end of PD_TABLE_MAP)", entry)
    write(tree / "src" / "future.c", FUTURE)


def build_library(
    directory: Path,
    changes: Sequence[object] = (),
    compiler: Sequence[str] = CC,
    archiver: str = "ar",
) -> Path:
    """Build libpd_flags.so and libpd_flags.a of changed sources; give their directory."""
    tree = directory / "csrc"
    shutil.copytree(ROOT / "csrc", tree)
    for function in changes:
        assert callable(function)
        function(tree)
    options = ["-std=gnu11", "-O0", "-fPIC", "-fvisibility=hidden", f"-I{tree / 'include'}"]
    sources, whole = sorted((tree / "src").rglob("*.c")), directory / "pd_flags.o"
    run(*compiler, *options, "-pthread", "-r", "-nostdlib", *sources, "-o", whole)
    link = ["-shared", "-Wl,-soname,libpd_flags.so", "-Wl,-z,nodelete", "-Wl,-Bsymbolic-functions"]
    run(*compiler, "-pthread", whole, *link, "-o", directory / "libpd_flags.so", "-ldl")
    run(archiver, "rcs", directory / "libpd_flags.a", whole)
    return directory
