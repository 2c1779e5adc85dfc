"""Count the library's instructions, and compare them with the record of them.

    python -m bench.instructions [--renew]

Callgrind counts what native/instructions.c does with the library as setup.py builds it,
which is the same with every Python. Cachegrind, which is faster, counts what the compiler does with
a file that defines one flag with a header. A row that grew by more than 3% is an error. Counts of
another compiler or C library can't be compared; that is said, and no error.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import binaries, facts, programs
from bench.places import HERE, INCLUDE, LIBRARY, output

RECORD = HERE / "instructions.json"
ALLOWED = 1.03
# Programs of one flag, by the row of their compilation.
COMPILED = {
    "compile_h": '#include <pd_flags.h>\nPD_DEFINE_int32(depth, 3, "How deep");\n',
    "compile_hpp": '#include <pd_flags.hpp>\nstatic pd::flag<int> depth{"depth", 3, "How deep"};\n',
    "compile_gflags": '#include <gflags/gflags.h>\nDEFINE_int32(depth, 3, "How deep");\n',
    "compile_absl": '#include <absl/flags/flag.h>\nABSL_FLAG(int, depth, 3, "How deep");\n',
}
RENEW = "make bench-instructions ARGS=--renew"
Counts = dict[str, int]


def counts() -> Counts:
    """Count the instructions of each kind of work."""
    run_path = f"-Wl,-rpath,{LIBRARY.parent}"
    program = programs.tool("instructions", f"-I{INCLUDE}", LIBRARY, run_path)
    works = {name: binaries.counted("counted", program, name) for name in output(program).split()}
    return {**works, **compilations()}


def compilations() -> Counts:
    """Count the instructions that gcc needs for each header; clang has no -wrapper."""
    if compiler_kind(cxx=True) != "gcc":
        return {}
    include = (f"-I{INCLUDE / 'compat'}", f"-I{INCLUDE}")
    command = (*programs.compiler(cxx=True), *include, "-S", "-o", os.devnull)
    sources = {name: programs.text_file(f"{name}.cc", text) for name, text in COMPILED.items()}
    return {name: binaries.counted_by_gcc(*command, each) for name, each in sources.items()}


def compiler_kind(*, cxx: bool) -> str:
    """Return whether the compiler is gcc or clang."""
    version = output(*programs.compiler(cxx=cxx), "--version")
    return "clang" if "clang" in version else "gcc"


def has_abseil() -> bool:
    """Return whether the compiler finds Abseil's own headers."""
    source = programs.text_file("abseil.cc", "#include <absl/strings/string_view.h>\n")
    command = (*programs.compiler(cxx=True), "-E", "-o", os.devnull, str(source))
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


def conditions() -> dict[str, str]:
    """Return what the counts depend on, apart from the library."""
    compiler = programs.compiler(cxx=False)
    kind = compiler_kind(cxx=False)
    version = output(*compiler, "-dumpversion").strip().partition(".")[0]
    return {
        "compiler": f"{kind} {version}",
        "C library": facts.libc(),
        "machine": platform.machine(),
        # Whose string_view the drop-in takes, if it is there.
        "Abseil": "installed" if has_abseil() else "not installed",
    }


def compare(old: Counts, new: Counts) -> list[str]:
    """Return a line for each row that is an error."""
    errors = []
    for name in sorted({*old, *new}):
        before, now = old.get(name), new.get(name)
        if before is None or now is None:
            errors.append(f"{name}: {'not in the record' if before is None else 'not counted'}")
        elif now > before * ALLOWED:
            growth = 100 * (now / before - 1)
            errors.append(f"{name}: {before:,} instructions before, {now:,} now: +{growth:.1f}%")
    return errors


def table(old: Counts, new: Counts) -> str:
    """Return all rows as text."""
    lines = []
    for name, now in new.items():
        before = old.get(name)
        change = f"{100 * (now / before - 1):+7.1f}%" if before else "     new"
        lines.append(f"{name:14} {now:>13,} {change}")
    return "\n".join(lines)


def judge(record: dict[str, Any], new: Counts, now: dict[str, str]) -> int:
    """Print how the counts compare; return the exit status."""
    differing = [name for name, text in record["conditions"].items() if now.get(name) != text]
    for name in differing:
        print(f"recorded with {name} {record['conditions'][name]}, here it is {now[name]}")
    if differing:
        print("Counts of these can't be compared: nothing was checked.")
        return 0
    errors = compare(record["instructions"], new)
    for text in errors:
        print(f"error: {text}", file=sys.stderr)
    if errors:
        print(f"Over 3% is an error. If it has to be: {RENEW}", file=sys.stderr)
    return 1 if errors else 0


def main() -> int:
    """Count, then compare or renew."""
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description=__doc__)
    parser.add_argument("--renew", action="store_true", help="write the record anew")
    parser.add_argument("--record", type=Path, default=RECORD, help="another record")
    options = parser.parse_args()
    if not binaries.has_callgrind():
        print("valgrind is not installed: apt-get install valgrind", file=sys.stderr)
        return 1
    new, now = counts(), conditions()
    record = json.loads(options.record.read_text("utf-8")) if options.record.exists() else {}
    print(table(record.get("instructions", {}), new))
    if not options.renew:
        return judge(record, new, now)
    text = json.dumps({"conditions": now, "instructions": new}, indent=2)
    options.record.write_text(text + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
