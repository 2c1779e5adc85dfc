"""python -m paddle_flags doctor: files that are large, damaged or hostile, or no files at all."""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support import CC, INCLUDE, build_plugin, make_fifo, package, run, tool, write

from paddle_flags._doctor.read import read_binary
from paddle_flags.errors import FlagArgumentError, FlagError
from paddle_flags.extend import format_install_command

pytestmark = pytest.mark.extended  # builds much
package("lief")

LEVEL = '#include <pd_flags.h>\nPD_DEFINE_int32(doc_level, 6, "Level");\n'
GFLAGS = "_ZN6google21ParseCommandLineFlagsEPiPPPcb"
ENOUGH = 60  # seconds


def doctor(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "paddle_flags", "doctor", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=ENOUGH, check=False, **options
    )


def problems(*words: object) -> list[str]:
    found: list[str] = json.loads(doctor("--json", *words).stdout)["problems"]
    return found


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin of a few kilobytes with a flag, and with a copy of what looks like gflags."""
    place = tmp_path_factory.mktemp("small")
    text = f'int marker(void) __asm__("{GFLAGS}");\nint marker(void) {{ return 0; }}\n'
    return build_plugin(place / "libsmall.so", write(place / "small.c", LEVEL + text))


# -- what is in a sound file ------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [
        ("-s",),
        ("-fuse-ld=lld",),
        ("-Wl,-z,pack-relative-relocs",),
        ("-fuse-ld=lld", "-Wl,--pack-dyn-relocs=relr"),
        ("-Wl,-z,max-page-size=65536",),
        ("-Wl,--hash-style=gnu", "-Wl,-O2"),
    ],
    ids=" ".join,
)
def test_the_flags_of_a_file_are_found_however_it_was_linked(flags, tmp_path):
    if "-fuse-ld=lld" in flags:
        tool("ld.lld", "lld")
    text = LEVEL + 'PD_DEFINE_string(doc_name, "text", "");\nPD_IMPORT_int64(doc_other, 1);\n'
    path = build_plugin(tmp_path / "lib.so", write(tmp_path / "lib.c", text), flags=flags)
    found = read_binary(str(path))
    assert (found.joins, found.copy, found.definitions) == (True, False, 3)
    assert [(flag.name, flag.text) for flag in found.flags] == [
        ("doc_level", None),
        ("doc_name", "text"),
    ]


def test_a_program_at_a_fixed_address_has_its_flags(tmp_path):
    text = LEVEL + "int main(void) { return (int)FLAGS_doc_level; }\n"
    program = tmp_path / "program"
    code = write(tmp_path / "program.c", text)
    run(*CC, "-no-pie", "-fno-pie", f"-I{INCLUDE}", code, "-o", program)
    assert [flag.name for flag in read_binary(str(program)).flags] == ["doc_level"]


@pytest.mark.parametrize("machine", ["i386", "aarch64", "arm", "powerpc64", "powerpc"])
def test_a_file_of_another_machine_has_its_flags(machine, tmp_path):
    code = write(tmp_path / "other.c", LEVEL + 'PD_DEFINE_string(doc_name, "text", "");\n')
    headers = sysconfig.get_config_var("MULTIARCH") or ""
    write(tmp_path / "gnu" / "stubs-32.h", "")
    run(
        *(tool("clang"), f"--target={machine}-linux-gnu", "-w", "-c", "-fPIC", f"-I{INCLUDE}"),
        *(f"-I{tmp_path}", "-isystem", f"/usr/include/{headers}", code, "-o", tmp_path / "other.o"),
    )
    run(tool("ld.lld", "lld"), "-shared", tmp_path / "other.o", "-o", tmp_path / "other.so")
    found = read_binary(str(tmp_path / "other.so"))
    assert (found.joins, found.definitions) == (True, 2)
    assert [(each.name, each.text) for each in found.flags] == [
        ("doc_level", None),
        ("doc_name", "text"),
    ]


def test_a_file_without_its_section_table_says_what_the_loader_sees(small, tmp_path):
    data = bytearray(small.read_bytes())
    data[0x28:0x30] = bytes(8)
    data[0x3C:0x40] = bytes(4)
    path = tmp_path / "libstripped.so"
    path.write_bytes(data)
    found = read_binary(str(path))
    assert (found.joins, found.others) == (True, {"gflags": "copy"})


# -- large ------------------------------------------------------------------


def grown(small: Path, out: Path, sizes: dict[int, int]) -> Path:
    """Copy a library and give some of its sections, by type, more zeros; holes on the disk."""
    data = bytearray(small.read_bytes())
    (at,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    for index in range(count):
        place = at + index * size
        (kind,) = struct.unpack_from("<I", data, place + 4)
        old, length = struct.unpack_from("<QQ", data, place + 0x18)
        if index != names and kind in sizes:
            content, start = bytes(data[old : old + length]), -len(data) % 24 + len(data)
            data += bytes(start - len(data)) + content
            struct.pack_into("<QQ", data, place + 0x18, start, length + sizes.pop(kind))
    with out.open("wb") as file:
        file.write(data)
        file.truncate(len(data) + 440_000_000)
    return out


@pytest.mark.release  # takes seconds, and hardly depends on a change
def test_a_library_of_hundreds_of_megabytes_of_data_is_read(tmp_path):
    text = LEVEL + "extern char filler[];\nchar filler[400 << 20] = {1};\n"
    path = build_plugin(tmp_path / "libbig.so", write(tmp_path / "big.c", text))
    assert path.stat().st_size > 400 << 20
    (file,) = json.loads(doctor("--json", path).stdout)["files"]
    assert (file["joins"], file["flags"]) == (True, ["doc_level"])
    path.unlink()


@pytest.mark.release  # takes seconds, and hardly depends on a change
@pytest.mark.parametrize("kind", [2, 3], ids=["symbols", "names"])
def test_a_library_of_many_megabytes_of_symbols_is_read(small, kind, tmp_path):
    path = grown(small, tmp_path / "libgrown.so", {kind: 43_000_000})
    (file,) = json.loads(doctor("--json", path).stdout)["files"]
    assert (file["joins"], file["others"]) == (True, {"gflags": "copy"})


# -- damaged ----------------------------------------------------------------


def survives(data: bytes, path: Path) -> None:
    """Read a file of these bytes: it is reported on, or refused with an error."""
    path.write_bytes(data)
    with suppress(FlagError):
        read_binary(str(path))


def test_a_file_that_ends_anywhere_is_read_or_refused(small, tmp_path):
    data = small.read_bytes()
    ends = [*range(130), *random.Random(1).sample(range(len(data)), 300)]
    for end in ends:
        survives(data[:end], tmp_path / "cut")


def test_a_file_with_any_bytes_flipped_is_read_or_refused(small, tmp_path):
    whole = small.read_bytes()
    (table,) = struct.unpack_from("<Q", whole, 0x28)
    heads = [*range(4, 64 + 13 * 56), *range(table, len(whole))]
    chance = random.Random(2)
    for number in range(1500):
        data = bytearray(whole)
        for _ in range(1 + number % 3):
            at = chance.choice(heads) if number % 2 else chance.randrange(4, len(data))
            data[at] = chance.choice([0, 0xFF, data[at] ^ 1 << chance.randrange(8)])
        survives(bytes(data), tmp_path / "flipped")


@pytest.mark.parametrize("size", [4, 5])
def test_a_file_of_a_few_bytes_of_elf_is_a_problem(size, tmp_path):
    path = tmp_path / "tiny"
    path.write_bytes(b"\x7fELF\x02"[:size])
    assert problems(path) == [f"{path}: expected a library or program in ELF, PE or Mach-O"]


# -- hostile ----------------------------------------------------------------


def elf(sections: list[tuple[int, int, int]], notes: int = 0, filler: bytes = b"") -> bytes:
    """Make a file whose sections, by type, offset and size, overlap; and its segments of notes."""
    table, segments = 64 + len(filler), 64 + len(filler) + 64 * len(sections)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, segments, table, 0, 64, 56, notes, 64, len(sections), 0
    )
    rows = [struct.pack("<IIQQQQIIQQ", 0, k, 2, 0, at, n, 0, 0, 8, 24) for k, at, n in sections]
    note = struct.pack("<IIQQQQQQ", 4, 4, 64, 0, 0, len(filler), len(filler), 4)
    return head + filler + b"".join(rows) + note * notes


HUGE = 1 << 62
HOSTILE: dict[str, Callable[[], bytes]] = {
    "sections": lambda: elf([(kind, 0, HUGE) for kind in (2, 3, 4, 11)] * 16000),
    "notes": lambda: elf([], 60000, b"\0" * (8 << 20)),
    "note sections": lambda: elf([(7, 64 + at, HUGE) for at in range(60000)], 0, b"\0" * (4 << 20)),
    "symbols": lambda: elf([(2, 64, 40 << 20), (11, 64, 40 << 20)], 0, b"\0" * (40 << 20)),
    "names": lambda: elf([(2, 64, 40 << 20)], 0, b"_ZN4absl" * (5 << 20)),
    "variables": lambda: elf([(2, 64, 40 << 20)], 0, b"FLAGS_a\0" * (5 << 20)),
    "patterns": lambda: elf(
        [(2, 64, 40 << 20)],
        0,
        (b"_ZN4absl" * 12 + b"x" * 201 + b"14flags_internal23RegisterCommandLineFlagE") * 100000,
    ),
    "markers": lambda: elf([(2, 64, 40 << 20)], 0, b"14FlagRegistererC\0" * (2 << 20)),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_made_to_take_long_is_read_soon(kind, tmp_path):
    path = tmp_path / "hostile"
    path.write_bytes(HOSTILE[kind]())
    assert doctor("--json", path).returncode in (0, 1)
    path.unlink()


# -- no files ---------------------------------------------------------------


def test_what_is_no_regular_file_is_a_problem_that_says_so(tmp_path):
    make_fifo(tmp_path / "fifo")
    expected = "expected a library or program"
    assert problems(tmp_path, "/dev/zero", tmp_path / "fifo", tmp_path / "none") == [
        f"{tmp_path}: is a directory, {expected}",
        f"/dev/zero: is not a regular file, {expected}",
        f"{tmp_path}/fifo: is not a regular file, {expected}",
        f"{tmp_path}/none: no such file",
    ]


def test_an_empty_path_is_a_problem_that_says_so():
    assert problems("") == [
        "expected the path of a library or program, not an empty argument",
    ]


def test_a_plugin_that_is_no_regular_file_is_not_loaded(tmp_path):
    make_fifo(tmp_path / "fifo")
    expected = "expected a library or program"
    assert problems("-p", tmp_path / "fifo", "-p", tmp_path) == [
        f"{tmp_path}/fifo: is not a regular file, {expected}",
        f"{tmp_path}: is a directory, {expected}",
    ]


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path):
    assert problems("/proc/self/mem") == [
        "/proc/self/mem: expected a library or program in ELF, PE or Mach-O"
    ]
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert problems(loop) == [f"{loop}: can't be read: Too many levels of symbolic links"]


# -- without LIEF -----------------------------------------------------------


def test_without_lief_a_file_of_windows_is_a_note_and_no_problem(tmp_path):
    code = write(tmp_path / "alpha.c", LEVEL)
    path = tmp_path / "alpha.dll"
    run(tool("x86_64-w64-mingw32-gcc"), "-shared", f"-I{INCLUDE}", code, "-o", path)
    write(tmp_path / "lief.py", "raise ImportError\n")
    there = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ended = doctor(path, env=there)
    remark = f"{path}: reading the file requires LIEF: {format_install_command('doctor')}"
    assert f"note: {remark}\n" in ended.stdout
    assert ended.stdout.endswith("\n\nno problems\n")
    assert ended.returncode == 0
    first, others = json.loads(doctor("--json", path, env=there).stdout)["notes"]
    assert first == remark
    assert " files of this process were not read; the first is " in others


def test_a_text_is_refused_with_what_was_expected(tmp_path):
    with pytest.raises(FlagArgumentError, match="expected a library or program in ELF"):
        read_binary(str(write(tmp_path / "text", "no library\n")))
