"""Compare the library's binary interface with its record; docs/reference/abi.md has the policy.

abi.py [--renew] [--sources DIRECTORY]

Public functions and types come from pd_flags.h, the table of functions by which copies
reach each other from pd_flags/table.h, the index for readers in other processes from
pd_flags/index.h. libabigail (Debian: abigail-tools) compares.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[1]
WRITE = ["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs"]
WRITE += ["--type-id-style", "hash"]
RENEW = "make abi ARGS=--renew"
SHOWN = 4  # fields of a struct that a message names


def run(*command: object, most: int = 0, cwd: Path = ROOT) -> tuple[int, str]:
    """Run a command. Return its status, at most `most`, and its output."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd)
    if not 0 <= ended.returncode <= most:
        sys.exit(f"{shlex.join(words)}\n{ended.stdout}{ended.stderr}")
    return ended.returncode, ended.stdout


def probe_of(declarations: str) -> str:
    """Write C that defines every public function, and uses every type and the table."""
    statements = re.sub(r"\{[^{}]*\}", "{}", declarations).split(";")
    functions = [" ".join(s.split()) for s in statements if re.search(r"\bpd_\w+\s*\([^*]", s)]
    functions = [f for f in functions if not f.startswith("typedef")]
    types = re.findall(r"\}\s*(pd_\w+)\s*;", declarations)
    named = [*types, "pd_module_record", "pd_copy_record", "pd_table", "pd_late_def"]
    named += ["pd_index", "pd_index_row", "pd_index_kind"]
    text = '#define PD__EXPORTS\n#include "base/work.h"\n#include <pd_flags/index.h>\n'
    text += "".join(f"{function} {{ __builtin_trap(); }}\n" for function in functions)
    for name in dict.fromkeys(named):
        text += f"PD_API void pd__use_{name}(const {name} *one) {{ (void)one; }}\n"
    return text


def write_interface(sources: Path, out: Path) -> None:
    """Write the interface of a source tree as libabigail's XML."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    include = [f"-I{sources / 'include'}", f"-I{sources / 'src'}"]
    header = sources / "include" / "pd_flags.h"
    _, declarations = run(*compiler, "-E", "-P", "-DPD_CDEF", header)
    out.with_name("probe.c").write_text(probe_of(declarations), "utf-8")
    flags = ["-std=gnu11", "-g", "-gdwarf-4", "-O0", "-fPIC", "-shared", "-fvisibility=hidden"]
    run(*compiler, *flags, *include, "probe.c", "-o", "probe.so", cwd=out.parent)
    run(*WRITE, "--out-file", out, "probe.so", cwd=out.parent)


# ---- Structs that store their size: they may grow at the end ----


class Field(NamedTuple):
    """A field: its offset in bits, and libabigail's name of its type."""

    at: int
    type: str


class Struct(NamedTuple):
    """The layout of a struct: its size in bits, and its fields by name."""

    size: int
    fields: dict[str, Field]


def sized_structs(path: Path) -> dict[str, Struct]:
    """Return the structs of an interface that store their size."""
    found = {}
    for node in ET.parse(path).iter("class-decl"):  # noqa: S314 (it is our own)
        fields = {}
        for member in node.findall("data-member"):
            field = member.find("var-decl")
            if field is not None:
                at = int(member.get("layout-offset-in-bits", "0"))
                fields[field.get("name", "")] = Field(at, field.get("type-id", ""))
        if "size" in fields or node.get("name") == "pd_table":  # the size is in its host
            found[node.get("name", "")] = Struct(int(node.get("size-in-bits", "0")), fields)
    return found


def misplaced(name: str, was: Struct, now: Struct) -> list[str]:
    """Return a line for each new field at an offset that belonged to the old struct."""
    spare = was.fields["reserved"].at if "reserved" in was.fields else was.size
    return [
        f"{name}.{field}: is new at byte {new.at // 8}, where what was built before has another "
        f"field, or bytes that nobody cleared; expected it at {was.size // 8} or behind"
        for field, new in now.fields.items()
        if field not in was.fields and new.at < min(was.size, spare)
    ]


def compare_fields(name: str, was: Struct, now: Struct) -> list[str]:
    """Return a line for each change that breaks users of a struct."""
    lines = []
    for field, old in was.fields.items():
        new = now.fields.get(field)
        if field == "reserved":
            continue
        if not new:
            lines.append(f"{name}.{field}: was at byte {old.at // 8}, is gone")
        elif new.at != old.at:
            lines.append(f"{name}.{field}: was at byte {old.at // 8}, is at {new.at // 8}")
        elif new.type != old.type:
            lines.append(f"{name}.{field}: has another type")
    if now.size < was.size:
        lines.append(f"{name}: had {was.size // 8} bytes, has {now.size // 8}")
    more = [f"{name}: and {len(lines) - SHOWN} others"] if len(lines) > SHOWN else []
    return misplaced(name, was, now) + lines[:SHOWN] + more


def compare_structs(record: Path, now: Path) -> list[str]:
    """Compare all structs that store their size; abidiff reports those that are gone."""
    before, after = sized_structs(record), sized_structs(now)
    lines = []
    for name, was in before.items():
        if name in after:
            lines += compare_fields(name, was, after[name])
    return lines


# ---- The whole interface ----


def compare(record: Path, now: Path, *options: object) -> str:
    """Return libabigail's report of the differences; "" if there are none."""
    status, report = run("abidiff", "--no-show-locs", *options, record, now, most=12)
    return report if status else ""


def compare_others(record: Path, now: Path) -> str:
    """Compare everything except the structs that may grow: functions, constants, other types."""
    names = set(sized_structs(record)) & set(sized_structs(now))
    ignored = now.with_suffix(".abignore")
    ignored.write_text(f"[suppress_type]\n  name_regexp = ^({'|'.join(sorted(names))})$\n")
    return compare(record, now, "--no-added-syms", "--suppressions", ignored)


def check(record: Path, now: Path) -> str:
    """Return what to do about the changed interface; "" if it is as recorded."""
    moved = "\n".join(compare_structs(record, now))
    broken = compare_others(record, now)
    if moved or broken:
        return f"""{broken}{moved}
The binary interface has changed in a way that breaks what was built before: see "What
may change" in docs/reference/abi.md. Undo it; or, if the break is meant, raise PD_ABI_VERSION and
renew the record: {RENEW}"""
    changed = compare(record, now, "--harmless", "--leaf-changes-only")
    if not changed:
        return ""
    return f"""{changed}
The binary interface has grown; what was built before still works. Renew the record of
it, and commit that with the change: {RENEW}"""


def main() -> None:
    """Compare, or renew the record."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--renew", action="store_true", help="make today's interface the record")
    parser.add_argument("--sources", type=Path, default=ROOT / "csrc", help="instead of csrc")
    options = parser.parse_args()
    sources = options.sources.resolve()
    missing = [tool for tool in ("abidw", "abidiff") if not shutil.which(tool)]
    if missing:
        sys.exit(f"{missing[0]} is missing: apt-get install abigail-tools")
    record = sources / "abi" / "pd_flags.abi"
    with tempfile.TemporaryDirectory() as place:
        now = Path(place, "pd_flags.abi")
        write_interface(sources, now)
        if options.renew:
            shutil.copy(now, record)
            return
        sys.exit(check(record, now) or None)


if __name__ == "__main__":
    main()
