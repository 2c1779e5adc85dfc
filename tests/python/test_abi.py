"""docs/reference/abi.md is exact: its numbers are the compiler's, its example works."""

from __future__ import annotations

import platform
import re
import struct
from pathlib import Path

import pytest
from joining import REGISTRY, Maker, environment, obey
from support import INCLUDE, ROOT, WINDOWS, run, tool, write

import paddle_flags._native as native

PAGE = (ROOT / "docs" / "reference" / "abi.md").read_text("utf-8")
STRUCTS = ("pd_module_record", "pd_host", "pd_copy_record", "pd_flag_def", "pd_late_def")
STRUCTS += ("pd_index", "pd_index_row")
POINTER = {"64": 8, "32": 4}

ELF = pytest.mark.skipif(WINDOWS, reason="the sections of ELF are missing on Windows")


def rows_below(heading: str) -> list[list[str]]:
    """Give the rows of the first table below a line, without its head."""
    rest = PAGE.split(f"{heading}\n", 1)[1]
    table = re.search(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", rest, re.MULTILINE)
    assert table, heading
    return [[c.strip(" `") for c in row.split("|")[1:-1]] for row in table[1].splitlines()]


def layout(name: str, width: str = "64") -> dict[str, tuple[int, int]]:
    """Give the documented offset and size of each field, and of "whole"."""
    column = 2 if width == "64" else 4
    fields = {}
    for row in rows_below(f"### {name}"):
        fields[row[0]] = (int(row[column] or 0), int(row[column + 1]))
    return fields


# ---- Numbers ----


def assertions(name: str, width: str) -> str:
    fields = layout(name, width)
    whole = fields.pop("whole")[1]
    lines = ["#include <pd_flags/index.h>"]
    lines += [f'_Static_assert(sizeof({name}) == {whole}, "{name}");']
    for field, (offset, size) in fields.items():
        lines.append(f'_Static_assert(offsetof({name}, {field}) == {offset}, "{field}");')
        lines.append(f'_Static_assert(sizeof((({name} *)0)->{field}) == {size}, "{field}");')
    return "\n".join(lines)


@pytest.mark.parametrize("name", STRUCTS)
@pytest.mark.parametrize("target", ["x86_64-linux-gnu", "aarch64-linux-gnu", "i386-linux-gnu",
                                    "arm-linux-gnueabihf"])  # fmt: skip
def test_offsets_and_sizes_are_the_compilers(maker: Maker, name: str, target: str) -> None:
    width = "64" if "64" in target else "32"
    text = f"#define PD_NO_MODULE_RECORD\n#include <pd_flags.h>\n{assertions(name, width)}\n"
    source = write(maker.directory / f"{name}-{target}.c", text)
    words = [tool("clang"), f"--target={target}", "-ffreestanding", "-std=c11", f"-I{INCLUDE}"]
    run(*words, "-fsyntax-only", source)


@pytest.mark.parametrize("name", STRUCTS)
def test_offsets_and_sizes_are_those_of_this_machine(maker: Maker, name: str) -> None:
    width = str(8 * struct.calcsize("P"))
    maker.plugin(f"layout_{name}", f"#include <pd_flags.h>\n{assertions(name, width)}\n")


@pytest.mark.parametrize("width", ["64", "32"])
@pytest.mark.parametrize("name", STRUCTS)
def test_no_field_is_left_out(name: str, width: str) -> None:
    fields = layout(name, width)
    whole = fields.pop("whole")[1]
    end = 0
    for offset, size in fields.values():
        gap = offset - end
        assert 0 <= gap < size  # nothing but padding to the field's own alignment
        end = offset + size
    assert 0 <= whole - end < POINTER[width]
    if name == "pd_flag_def":
        known = [field for field, _ in native.ffi.typeof("pd_flag_def").fields]
        assert list(fields) == known


def test_the_numbers_of_types_and_kinds_are_the_headers() -> None:
    types = {
        name: int(number)
        for name, number, *_ in rows_below("- A *value* has 8 bytes and is read as its type says:")
    }
    known = native.ffi.typeof("pd_type").relements
    assert types == {name.replace("PD_TYPE_", ""): number for name, number in known.items()}
    kinds = {
        name: int(number)
        for name, number, _ in rows_below(
            "  `double` minus and plus infinity. They are ignored for `bool` and `string`."
        )
    }
    known = native.ffi.typeof("pd_kind").relements
    assert kinds == {name.replace("PD_KIND_", "").lower(): n for name, n in known.items()}


def test_the_numbers_and_ranks_of_sources_are_the_headers() -> None:
    known = native.ffi.typeof("pd_source").relements.values()
    text = {number: native.ffi.string(native.lib.pd_source_name(number)) for number in known}
    sources = [[text[n].decode(), n, native.lib.pd_source_rank(n)] for n in sorted(known)]
    assert [[name, int(n), int(rank)] for name, n, rank in rows_below("### Sources")] == sources


def test_cells_have_the_documented_width(maker: Maker) -> None:
    text = "#include <pd_flags.h>\n"
    for name, _, width, _ in rows_below("- A *value* has 8 bytes and is read as its type says:"):
        size = "sizeof(void *)" if width == "a pointer" else width
        default = '""' if name == "string" else "0"
        text += f'PD_DEFINE_{name}(abi_{name}, {default}, "");\n'
        text += f'_Static_assert(sizeof FLAGS_abi_{name} == {size}, "{name}");\n'
    maker.plugin("cells", text)


def test_the_versions_and_limits_of_the_page_are_the_headers() -> None:
    lib = native.lib
    assert f"It describes ABI version {lib.PD_ABI_VERSION}," in PAGE
    assert f"- `abi` is {lib.PD_ABI_VERSION}," in PAGE
    assert f"at most {lib.PD_NAME_MAX} bytes" in PAGE


# ---- What the C header writes ----


@pytest.fixture(scope="module")
def plain(maker: Maker) -> Path:
    """Compile one flag to an object."""
    text = '#include <pd_flags.h>\nPD_DEFINE_int32(plain, 6, "Plain");\n'
    source, out = write(maker.directory / "plain.c", text), maker.directory / "plain.o"
    run(tool("gcc"), "-fPIC", f"-I{INCLUDE}", "-c", source, "-o", out)
    return out


@ELF
def test_the_note_of_the_header_has_the_documented_bytes(maker: Maker, plain: Path) -> None:
    library, note = maker.directory / "libplain.so", maker.directory / "note"
    run("gcc", "-shared", plain, "-o", library)
    run(tool("objcopy", "binutils"), f"--dump-section=.note.pd_flags={note}", library)
    rows = rows_below("## The note")
    numbers = [int(re.match(r"\d+", row[2])[0]) for row in rows[:2]]  # type: ignore[index]
    assert note.read_bytes()[:24] == struct.pack("=III12s", *numbers, 1, b"pd_flags")
    ends = [int(offset) + int(size) for offset, size, _ in rows]
    assert [int(offset) for offset, _, _ in rows] == [0, *ends[:-1]]
    assert ends[-1] == note.stat().st_size
    sections = run(tool("readelf", "binutils"), "-SW", library).stdout
    assert re.search(r" \.note\.pd_flags +NOTE +\w+ \w+ 000020 00 +A +0 +0 +4\n", sections)


@pytest.mark.parametrize(
    "target",
    ["x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu", "i386-linux-gnu",
     "arm-linux-gnueabihf"],
)  # fmt: skip
def test_the_note_leads_to_the_record_on_other_machines(maker: Maker, target: str) -> None:
    # The C library of another machine isn't at hand: elf.h alone does without it.
    stubs = maker.directory / "stubs"
    write(stubs / "features.h", "#define __BEGIN_DECLS\n#define __END_DECLS\n")
    write(stubs / "bits" / "auxv.h", "")
    write(stubs / "elf.h", Path("/usr/include/elf.h").read_text("utf-8"))
    text = '#include <pd_flags.h>\nPD_DEFINE_int32(plain, 6, "Plain");\n'
    source = write(maker.directory / f"{target}.c", text)
    library = source.with_suffix(".so")
    options = ["-ffreestanding", "-O2", "-fPIC", "-Werror", f"-I{INCLUDE}", f"-I{stubs}"]
    built = source.with_suffix(".o")
    run(tool("clang"), f"--target={target}", *options, "-c", source, "-o", built)
    run(tool("ld.lld", "lld"), "-shared", "--gc-sections", built, "-o", library)
    listed = run("readelf", "-SsW", library).stdout
    record = re.search(r": ([0-9a-f]+) +(\d+) OBJECT .* pd__module_v1$", listed, re.MULTILINE)
    note = re.search(r"\.note\.pd_flags +NOTE +([0-9a-f]+) ([0-9a-f]+) 000020", listed)
    assert record
    assert note
    address, offset = int(note[1], 16), int(note[2], 16)
    distance, to_first_byte = struct.unpack_from("<ii", library.read_bytes(), offset + 24)
    assert address + 24 + distance == int(record[1], 16)
    assert address + 28 + to_first_byte == 0
    assert (
        int(record[2]) == layout("pd_module_record", "64" if "64" in target else "32")["whole"][1]
    )
    for array in ("init_array", "fini_array"):  # one entry, without a gap
        assert re.search(rf" \.{array} +\w+ +[0-9a-f]+ [0-9a-f]+ 00000[48] ", listed)


def test_the_header_uses_the_documented_names(plain: Path) -> None:
    documented = set()
    for names, _ in rows_below("are hidden, so each module has its own."):
        documented |= {n.strip(" `").replace("<name>", "plain") for n in names.split(",")}
    documented -= {"pd_flags", "pd__copy_v1", "pd__copy_enter", "pd__api_start"}
    table = run(tool("readelf", "binutils"), "-sW", plain).stdout
    symbols = re.findall(r"(GLOBAL|WEAK) +(\w+) +\w+ (\w+)$", table, re.MULTILINE)
    own = {name: (bind, seen) for bind, seen, name in symbols if re.search("pd_", name)}
    assert set(own) == documented
    assert {seen for _, seen in own.values()} == {"HIDDEN"}
    strong = {"pd_flag_cell_int32_plain", "pd_flag_definition_plain"}
    assert {name for name, (bind, _) in own.items() if bind == "GLOBAL"} == strong
    sections = run("readelf", "-SW", plain).stdout
    for section in ("pd_flags", ".init_array.00099", ".fini_array.00099", ".note.pd_flags"):
        assert f" {section} " in sections
        assert f"`{section}`" in PAGE


@ELF
def test_another_language_adds_a_flag_to_the_record_of_c(maker: Maker, host: Path) -> None:
    # C declares a flag that the other one defines, under the documented names.
    reads = """
#include <pd_flags.h>
PD_DECLARE_int32(foreign);
int foreign(void);
int foreign(void) { return FLAGS_foreign; }
"""
    text = """
        .data
        .balign 8
        .globl pd_flag_cell_int32_foreign
        .hidden pd_flag_cell_int32_foreign
pd_flag_cell_int32_foreign: .long 6
        .balign 8
def:    .long {size}, 1
        .byte 2, 0, 0, 0, 0, 0, 0, 0
        .quad name, 0, 0, 0, 0, 0, 0, pd_flag_cell_int32_foreign, 6, 0, 9
name:   .asciz "foreign"
        .section pd_flags,"aw"
        .balign 8
        .quad def
        .section .note.GNU-stack,"",%progbits
"""
    first_version = layout("pd_flag_def")["validate"][0]  # it ended there
    source = write(maker.directory / "foreign.s", text.format(size=first_version))
    plugin = maker.plugin("foreign", reads, flags=(str(source),))
    said = obey(
        host, f"registry {REGISTRY}", f"load {plugin}", "set foreign 4", f"call {plugin} foreign"
    )
    assert said == ["ok", "ok", "ok", "4"]


# ---- The example ----

EXAMPLE = pytest.mark.skipif(platform.machine() != "x86_64", reason="x86-64 assembly")


def worked(maker: Maker, compiler: str, *flags: str) -> Path:
    example = re.search(r"^```asm worked.s\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert example
    source = write(maker.directory / "worked.s", example[1])
    out = maker.directory / f"libworked-{compiler}.so"
    run(tool(compiler), "-shared", *flags, "-o", out, source)
    return out


@EXAMPLE
def test_the_definition_by_hand_ends_where_a_definition_may(maker: Maker) -> None:
    assert "may end after `max`, with 104 bytes (72 on" in PAGE
    for width, end in (("64", 104), ("32", 72)):
        fields = layout("pd_flag_def", width)
        assert sum(fields["max"]) == fields["validate"][0] == end
    library = worked(maker, "gcc")
    assert struct.pack("<II", 104, 12) in library.read_bytes()


@EXAMPLE
@pytest.mark.parametrize(
    "build",
    [("gcc",), ("gcc", "-s", "-Wl,--gc-sections"), ("clang", "-fuse-ld=lld", "-Wl,--gc-sections")],
    ids=["gcc", "gcc-gc", "clang-lld-gc"],
)
def test_the_module_by_hand_joins_and_its_cell_follows(
    maker: Maker, host: Path, build: tuple[str, ...]
) -> None:
    if "-fuse-ld=lld" in build:
        tool("ld.lld", "lld")
    plugin = worked(maker, *build)
    registry, opened = f"registry {REGISTRY}", f"open local {plugin}"
    uses = ["set worked_level 9", f"call {plugin} worked_level", "set worked_level 10"]
    refused = "PD_ERR_RANGE: worked_level=10: expected an integer in [1, 9]"
    gone = "PD_ERR_UNDEFINED: no flag is named 'worked_level'"
    for arrive in ([registry, opened], [opened, registry], [registry, f"load {plugin}"]):
        said = obey(host, *arrive, f"call {plugin} worked_level", *uses)
        assert said == ["ok", "ok", "6", "ok", "9", refused]
    leave = [f"close {plugin}", f"mapped {plugin}", "get worked_level", "modules"]
    again = [opened, f"call {plugin} worked_level"]
    said = obey(host, registry, opened, *uses, *leave, *again)
    assert said == ["ok", "ok", "ok", "9", refused, "ok", "no", gone, "0", "ok", "9"]


@EXAMPLE
def test_the_module_by_hand_has_its_value_from_the_environment(maker: Maker, host: Path) -> None:
    plugin = worked(maker, "gcc")
    arrive = [f"registry {REGISTRY}", "env FLAGS_", f"open local {plugin}"]
    env = environment(FLAGS_worked_level="3")
    said = obey(host, *arrive, f"call {plugin} worked_level", env=env)
    assert said == ["ok", "ok", "ok", "3"]


@EXAMPLE
def test_the_module_by_hand_passes_over_notes_of_others(maker: Maker, host: Path) -> None:
    plugin = worked(maker, "gcc")
    for note in (
        '.long 9, 4, 2\\n.asciz \\"pd_flags\\"\\n.balign 4\\n.long 0x70000000',
        '.long 9, 400, 2\\n.asciz \\"pd_flags\\"\\n.balign 4\\n.long 0',
        ".long 0xfffffff8, 0xfffffff8, 2",
    ):
        text = f'__asm__(".pushsection .note.pd_flags,\\"a\\",%note\\n{note}\\n.popsection");\n'
        odd = maker.plugin(f"odd{len(note)}", text + "extern int unused;\n")
        said = obey(host, f"open local {odd}", f"registry {REGISTRY}", f"open local {plugin}",
                    "set worked_level 2", f"call {plugin} worked_level")  # fmt: skip
        assert said == ["ok", "ok", "ok", "ok", "2"]


# ---- A module from bytes alone: no compiler, no linker, only the page ----

MACHINE = {"x86_64": (62, 8), "aarch64": (183, 1027)}  # e_machine, R_*_RELATIVE


class Image:
    """One writable segment that is a whole shared library."""

    def __init__(self) -> None:
        self.bytes = bytearray(64 + 4 * 56)  # the ELF header and four segments
        self.pointers: list[int] = []

    def put(self, content: bytes, align: int = 8) -> int:
        """Append bytes; give their address."""
        self.bytes += bytes(-len(self.bytes) % align)
        self.bytes += content
        return len(self.bytes) - len(content)

    def put_fields(self, name: str, values: dict[str, int]) -> int:
        """Append a struct of the page; what it calls a pointer is relocated."""
        fields = layout(name)
        start = self.put(bytes(fields["whole"][1]))
        pointers = [row[0] for row in rows_below(f"### {name}") if row[1].startswith("pointer")]
        for field, value in values.items():
            offset, size = fields[field]
            self.bytes[start + offset : start + offset + size] = value.to_bytes(size, "little")
            if field in pointers:
                self.pointers.append(start + offset)
        return start

    def put_pointer(self, address: int) -> int:
        self.pointers.append(self.put(struct.pack("<Q", address)))
        return self.pointers[-1]

    def finish(self, note: int, note_size: int, exported: tuple[str, int]) -> bytes:
        """Append what the loader needs, and write the headers."""
        machine, relative = MACHINE[platform.machine()]
        name, address = exported
        text = self.put(b"\0" + name.encode() + b"\0")
        symbols = self.put(bytes(24) + struct.pack("<IBBHQQ", 1, 0x11, 0, 1, address, 4))
        chains = self.put(struct.pack("<5I", 1, 2, 1, 0, 0))
        entries = [struct.pack("<QQq", p, relative, self.pointer(p)) for p in self.pointers]
        moves = self.put(b"".join(entries))
        tags = [(4, chains), (5, text), (6, symbols), (10, len(name) + 2), (11, 24)]
        tags += [(7, moves), (8, 24 * len(entries)), (9, 24), (0, 0)]
        dynamic = self.put(b"".join(struct.pack("<QQ", *tag) for tag in tags))
        end = len(self.bytes)
        header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, machine, 1, 0, 64, 0, 0,
                             64, 56, 4, 64, 0, 0)  # fmt: skip
        for kind, flags, start, size, align in (
            (1, 6, 0, end, 0x10000),
            (2, 6, dynamic, 16 * len(tags), 8),
            (4, 4, note, note_size, 4),
            (0x6474E551, 6, 0, 0, 16),  # PT_GNU_STACK: without it, it asks for an executable one
        ):
            header += struct.pack("<IIQQQQQQ", kind, flags, start, start, start, size, size, align)
        self.bytes[: len(header)] = header
        return bytes(self.bytes)

    def pointer(self, at: int) -> int:
        return int(struct.unpack_from("<Q", self.bytes, at)[0])


@pytest.mark.skipif(platform.machine() not in MACHINE, reason="knows no relocation of it")
def test_a_module_that_is_nothing_but_bytes_of_the_page_joins(maker: Maker, host: Path) -> None:
    image = Image()
    types = {
        row[0]: int(row[1])
        for row in rows_below("- A *value* has 8 bytes and is read as its type says:")
    }
    cell = image.put(struct.pack("<i", 6))
    texts = {"name": image.put(b"bytes_level\0"), "help": image.put(b"Made of bytes\0")}
    numbers = {"size": layout("pd_flag_def")["whole"][1], "type": types["int32"], "line": 1}
    definition = image.put_fields(
        "pd_flag_def", {**numbers, **texts, "cell": cell, "default_value": 6, "min": 1, "max": 9}
    )
    defs = image.put_pointer(definition)
    record_size = layout("pd_module_record")["whole"][1]
    record = image.put_fields(
        "pd_module_record", {"abi": 1, "size": record_size, "defs": defs, "defs_end": defs + 8}
    )
    note = image.put(struct.pack("<III12s", 9, 4, 1, b"pd_flags"))
    image.put(struct.pack("<i", record - (note + 24)), align=4)
    plugin = maker.directory / "bytes.so"
    plugin.write_bytes(image.finish(note, 28, ("bytes_cell", cell)))
    registry, uses = f"registry {REGISTRY}", ["set bytes_level 8", "cells bytes_level"]
    for arrive in ([registry, f"load {plugin}"], [f"open local {plugin}", registry]):
        said = obey(host, *arrive, *uses, f"peek {plugin} bytes_cell", "set bytes_level 10")
        assert said[:5] == ["ok", "ok", "ok", "1", "8"]
        assert said[5].startswith("PD_ERR_RANGE: ")
