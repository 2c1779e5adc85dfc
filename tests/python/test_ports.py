"""For macOS, where these tests don't run: library and plugins compile, link and hold the record."""

import json
import struct
import sys

import pytest
from support import ROOT, package, run, write, zig

pytestmark = pytest.mark.release  # zig builds its own libraries first

TARGETS = ["x86_64-macos", "aarch64-macos"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
INCLUDE = f"-I{ROOT / 'csrc' / 'include'}"
SOURCES = sorted((ROOT / "csrc" / "src").rglob("*.c"))

FLAGS = """
#include <pd_flags.h>
PD_DEFINE_int32(port_level, 6, "How hard to try", .min = 1, .max = 9);
PD_DEFINE_string(port_mode, "fast", "How to search", .choices = "fast|best");
PD_IMPORT_double(port_rate, 0.5);
PD_DEFINE_SCOPED_int32(port_width, 6, "How far to look");
static int32_t native(int32_t n) { return n + 1; }
static int32_t faster(int32_t n) { return 1 + n; }
PD_DEFINE_OP(port_step, int32_t, (int32_t), native, "Where to go from n");
PD_IMPL(port_step, faster, faster, .rank = 100);
"""
USE = """
#include <pd_flags.h>
PD_DECLARE_int32(port_level);
PD_DECLARE_SCOPED_int32(port_width);
PD_DECLARE_OP(port_step, int32_t, (int32_t));
#ifdef __cplusplus
extern "C"
#else
int level(void);
#endif
int level(void) { return FLAGS_port_level + PD_CALL(port_step)(PD_SCOPED(port_width)); }
"""
COMPILERS = {
    "c": ("c", ["cc", "-std=c99"]),
    "c++11": ("cpp", ["c++", "-std=c++11", "-Wno-c++20-designator"]),
    "c++20": ("cpp", ["c++", "-std=c++20"]),
}


def compile_for(target, out, driver, *arguments):
    """Build a dynamic library for a target, and parse it."""
    command = [*zig(), driver, "-target", target, "-O1", "-shared", INCLUDE, *WARNINGS]
    run(*command, *arguments, "-o", out, cwd=out.parent)
    return package("lief").MachO.parse(str(out)).at(0)


def records(binary, kind, size):
    """Give the words of the records of a kind to which the notes lead."""
    notes = bytes(binary.get_section("__DATA", "__pd_flags").content)
    found = set()
    for name, type_, length, at in struct.iter_unpack("<8sIIQ", notes):
        assert (name, length) == (b"pd_flags", 24)
        if type_ == kind:
            found.add(content(binary, at, size))
    return found


def content(binary, at, size):
    return bytes(binary.get_content_from_virtual_address(at, size))


def text(binary, at):
    """Give a text of at most 10 bytes."""
    return content(binary, at, 10).partition(b"\0")[0].decode()


@pytest.mark.parametrize("target", TARGETS)
def test_the_library_compiles_for_macos_without_warnings_and_announces_itself(tmp_path, target):
    out = tmp_path / "libpd_flags.dylib"
    binary = compile_for(target, out, "cc", "-std=gnu11", "-fvisibility=hidden", *SOURCES)
    (copy,) = records(binary, 2, 32)
    assert struct.unpack_from("<IIQ", copy) == (1, 40, 0)
    exported = {symbol.name for symbol in binary.exported_symbols}
    assert {"_pd_flag_find", "_pd_module_load", "_pd_parse_argv"} <= exported
    assert not [name for name in exported if name.startswith("_pd__")]


@pytest.mark.parametrize("language", COMPILERS)
@pytest.mark.parametrize("target", TARGETS)
def test_a_plugin_for_macos_holds_one_record_with_its_flags_and_operations(
    tmp_path, target, language
):
    suffix, (driver, *options) = COMPILERS[language]
    texts = {"flags": FLAGS, "use": USE}
    sources = [write(tmp_path / f"{name}.{suffix}", text) for name, text in texts.items()]
    binary = compile_for(target, tmp_path / "plugin.dylib", driver, *options, *sources)
    (record,) = records(binary, 1, 48)
    listed = binary.get_section("__DATA", "__pd_flag_defs")
    bounds = (listed.virtual_address, listed.virtual_address + listed.size)
    assert struct.unpack("<IIQQQQQ", record) == (1, 48, *bounds, 0, 0, 0)
    pointers = [at for (at,) in struct.iter_unpack("<Q", bytes(listed.content)) if at]
    heads = [struct.unpack("<9xB6xQ8xQQ", content(binary, at, 48)) for at in pointers]
    texts = {text(binary, name): kind for kind, name, _, _ in heads}
    flags = {"port_level": 0, "port_mode": 0, "port_rate": 1, "port_width": 0}
    assert texts == {**flags, "native": 2, "faster": 4}
    of = {text(binary, name): (signature, slot) for _, name, signature, slot in heads}
    (signature, slot), chosen = of["native"], of["faster"]
    assert chosen == (signature, 0)
    assert struct.unpack("<Q", content(binary, slot, 8)) != (0,)
    (name,) = struct.unpack("<Q", content(binary, signature, 8))
    assert (text(binary, name), content(binary, signature + 16, 3)) == ("port_step", b"\x08\x08\0")
    doctor = [sys.executable, "-m", "paddle_flags", "doctor", "--json"]
    (seen,) = json.loads(run(*doctor, tmp_path / "plugin.dylib").stdout)["files"]
    assert (seen["format"], seen["joins"], seen["definitions"]) == ("MACHO", True, 6)
    assert "_level" in {symbol.name for symbol in binary.exported_symbols}
    assert binary.get_section("__mod_init_func") or binary.get_section("__init_offsets")
