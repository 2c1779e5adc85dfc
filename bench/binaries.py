"""Measurements without a clock: the sizes of files, and the instructions of a read."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from bench import programs
from bench.contestants import PLAIN, Contestant, native, present
from bench.measure import Rows, exactly
from bench.places import BUILD, LIBRARY, output

Disassembly = dict[str, str]
SHORT, LONG = 1000, 11000  # iterations; the difference cancels the cost around the loop


def stripped_size(path: Path) -> int:
    """Return the size of a file without symbols, in bytes."""
    copy = BUILD / "stripped"
    copy.parent.mkdir(parents=True, exist_ok=True)
    output("strip", "-o", copy, path)
    return copy.stat().st_size


def library_files(contestant: Contestant) -> list[Path]:
    """Return the shared libraries that make up a flag library."""
    if contestant.ours:
        return [LIBRARY]
    names = [word[2:] for word in contestant.link if re.match(r"-l(gflags|absl_flags)", word)]
    command = [*programs.compiler(cxx=True)]
    found = [output(*command, f"-print-file-name=lib{name}.so").strip() for name in names]
    return [Path(each).resolve() for each in found]


def one_flag_plugin(contestant: Contestant) -> Path:
    """Build a plugin with one flag: ours with the header alone, others with their library."""
    text = programs.source_with(contestant, 0, 1)
    source = programs.text_file(f"one{contestant.source.suffix}", text)
    command = programs.compiler(cxx=contestant.cxx)
    options = ["-shared", "-fPIC", "-O2", *contestant.compile, source]
    linked = () if contestant.ours else contestant.link
    return programs.build(f"one-{contestant.name}.so", *command, *options, *linked)


def sizes(rows: Rows) -> None:
    """Add the sizes of libraries and plugins, in kilobytes of 1000 bytes."""
    for each in present():
        if not each.definition:
            continue
        files = library_files(each)
        if files:
            total = sum(stripped_size(file) for file in files)
            rows.setdefault("library-size", {})[each.name] = exactly(total / 1000)
        size = stripped_size(one_flag_plugin(each)) / 1000
        rows.setdefault("plugin-size", {})[each.name] = exactly(size)


def counted(function: str, *command: object) -> int:
    """Return the number of instructions executed inside a function, counted by callgrind."""
    out = BUILD / f"callgrind.{os.getpid()}"
    tool = ["valgrind", "--tool=callgrind", f"--toggle-collect={function}"]
    output(*tool, f"--callgrind-out-file={out}", *command, env=fixed_environment())
    return total_of(out)


def counted_by_gcc(*command: object) -> int:
    """Return the number of instructions of gcc's compiler proper, for a command with -S."""
    out = BUILD / f"cachegrind.{os.getpid()}"
    wrapper = f"valgrind,--tool=cachegrind,--cache-sim=no,--cachegrind-out-file={out}"
    output(*command, "-wrapper", wrapper, env=fixed_environment())
    return total_of(out)


def total_of(out: Path) -> int:
    """Return the total of a file of callgrind or cachegrind, and remove the file."""
    totals = re.findall(r"(?m)^(?:summary|totals): (\d+)", out.read_text())
    out.unlink()
    return int(totals[0])


def fixed_environment() -> dict[str, str]:
    """Return an environment in which a program runs the same code on every machine."""
    plain = "-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-BMI2,-RTM,-SSE4_1,-SSE4_2"
    path = os.environ.get("PATH", "")
    tunables = f"glibc.cpu.hwcaps={plain}"
    return {"PATH": path, "LC_ALL": "C", "LD_BIND_NOW": "1", "GLIBC_TUNABLES": tunables}


def has_callgrind() -> bool:
    """Return whether instructions can be counted."""
    return shutil.which("valgrind") is not None


def read_instructions(rows: Rows) -> None:
    """Add the instructions of one read, including the loop around it."""
    if not has_callgrind():
        return
    for each in [PLAIN, *present()]:
        if each.another_way:
            continue
        program = programs.work_program(each)
        for work in ("read-int", "read-string"):
            function = f"bench_{work.replace('-', '_')}"
            totals = [counted(function, program, work, rounds) for rounds in (SHORT, LONG)]
            value = (totals[1] - totals[0]) / (LONG - SHORT)
            rows.setdefault(f"{work}-instructions", {})[each.name] = exactly(value)


def loop_of(program: Path, function: str) -> str:
    """Return the instructions of the loop in a function."""
    command = ("objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", program)
    pattern = r"(?m)^ +([0-9a-f]+):\t(.*)$"
    lines = [(int(at, 16), text.strip()) for at, text in re.findall(pattern, output(*command))]
    for at, text in lines:
        jump = re.match(r"j\w+ +([0-9a-f]+) ", text)
        if jump and int(jump[1], 16) < at:
            first = int(jump[1], 16)
            inside = [tidy(other) for where, other in lines if first <= where <= at]
            return "\n".join(inside)
    return "\n".join(tidy(text) for _, text in lines)


def tidy(text: str) -> str:
    """Remove addresses from an instruction."""
    text = re.sub(r" +# [0-9a-f]+ ", "  # ", text)
    return re.sub(r"(?m)^(j\w+|call) +[0-9a-f]+ ", r"\1 ", text).rstrip()


def disassembly() -> Disassembly:
    """Return the loop that reads an int flag, for each contestant."""
    readers = [PLAIN, *(each for each in native() if not each.missing)]
    chosen = [each for each in readers if not each.another_way and each.name != "LLVM"]
    return {each.name: loop_of(programs.work_program(each), "bench_read_int") for each in chosen}
