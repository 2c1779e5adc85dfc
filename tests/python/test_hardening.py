"""What ships is built as a distribution builds: nothing to write over, nothing to execute."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import CC, LIBDIR, SANITIZE, WINDOWS, run, write

from paddle_flags import _fast, _native

LIBRARY = Path(LIBDIR, "libpd_flags.so")
EXTENSIONS = [Path(_native.__file__), Path(_fast.__file__)]
SHIPPED = [LIBRARY, *EXTENSIONS]
CODE = {".init", ".plt", ".plt.got", ".plt.sec", ".text", ".fini", ".iplt"}

pytestmark = [
    pytest.mark.skipif(bool(SANITIZE), reason="sanitizers replace what is checked here"),
    pytest.mark.skipif(WINDOWS, reason="the sections of ELF are missing from files of Windows"),
]


def readelf(option: str, path: Path) -> str:
    return run("readelf", "-W", option, path).stdout


def weaknesses(path: Path) -> list[str]:
    """Name what a file lacks of the usual hardening."""
    return segment_weaknesses(path) + dynamic_weaknesses(path) + code_weaknesses(path)


def segments(path: Path) -> list[tuple[str, str, set[str]]]:
    """Give kind, permissions and sections of each segment."""
    text = readelf("-l", path)
    # Type, offset, two addresses, two sizes, permissions such as "R E", alignment.
    line = r"(?m)^  ([A-Z]\w+) +(?:0x[0-9a-f]+ +){5}([RWE ]{3}) 0x[0-9a-f]+$"
    sections = re.findall(r"(?m)^   \d\d +(.*)$", text)
    rows = zip(re.findall(line, text), sections)
    return [(kind, flags.replace(" ", ""), set(held.split())) for (kind, flags), held in rows]


def segment_weaknesses(path: Path) -> list[str]:
    found = []
    kinds = {kind for kind, _, _ in segments(path)}
    found += ["no RELRO"] if "GNU_RELRO" not in kinds else []
    found += ["no note about the stack"] if "GNU_STACK" not in kinds else []
    for kind, flags, held in segments(path):
        if kind == "GNU_STACK" and "E" in flags:
            found.append("executable stack")
        if kind == "LOAD" and {"W", "E"} <= set(flags):
            found.append("segment to write and to execute")
        if kind == "LOAD" and "E" in flags and held - CODE:
            found.append("data beside code")
    return found


def dynamic_weaknesses(path: Path) -> list[str]:
    text = readelf("-d", path)
    lines = dict(re.findall(r"\((\w+)\) +(.*)", text))
    found = ["text relocations"] if "TEXTREL" in text else []
    found += ["static TLS, which all that dlopen loads shares"] if "STATIC_TLS" in text else []
    found += ["names bound late"] if "NOW" not in lines.get("FLAGS_1", "") else []
    found += ["may be unloaded"] if "NODELETE" not in lines.get("FLAGS_1", "") else []
    found += ["old kind of run path"] if "RPATH" in lines else []
    return found


def code_weaknesses(path: Path) -> list[str]:
    symbols = [line.split() for line in readelf("--dyn-syms", path).splitlines()]
    wanted = {s[7].partition("@")[0] for s in symbols if len(s) > 7 and s[6] == "UND"}
    found = ["no stack protector"] if "__stack_chk_fail" not in wanted else []
    bare = functions(path) - unwound(path)
    return found + ([f"{len(bare)} functions without unwind table"] if bare else [])


def functions(path: Path) -> set[int]:
    """Give the addresses of our functions: of all that are named, exported or not."""
    table = r"(?m)^ *\d+: ([0-9a-f]+) +\d+ FUNC +\w+ +\w+ +\d+ (?:pd_|PyInit_)\w*$"
    return {int(address, 16) for address in re.findall(table, readelf("--syms", path))}


def unwound(path: Path) -> set[int]:
    """Give the addresses where a table for unwinding begins."""
    text = readelf("--debug-dump=frames", path)
    return {int(address, 16) for address in re.findall(r"FDE .*pc=([0-9a-f]+)\.\.", text)}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name.partition(".")[0])
def test_what_ships_is_hardened(path):
    assert functions(path)
    assert weaknesses(path) == []


def test_the_library_calls_those_functions_of_libc_that_check_sizes():
    # Where the size isn't known the compiler keeps the plain function: some are enough.
    called = re.findall(r"UND __(\w+)_chk", readelf("--dyn-syms", LIBRARY))
    assert "vsnprintf" in called


@pytest.mark.parametrize("path", EXTENSIONS, ids=lambda path: path.name.partition(".")[0])
def test_the_modules_of_python_find_the_library_beside_them_and_nowhere_else(path):
    assert re.findall(r"\(R\w*PATH\).*\[(.*)\]", readelf("-d", path)) == ["$ORIGIN/lib"]


@pytest.mark.parametrize(
    ("option", "seen"),
    [
        ("--no-omagic", {"text relocations", "data beside code"}),
        ("--omagic", {"segment to write and to execute", "data beside code"}),
    ],
)
def test_each_weakness_is_seen(tmp_path, option, seen):
    text = """
    extern int elsewhere;
    __asm__(".text\\n.quad elsewhere\\n");
    int pd_one(void) { return 1; }
    """
    flags = ["-shared", "-fPIC", "-fno-stack-protector", "-nostdlib"]
    flags += ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
    link = ["norelro", "lazy", "execstack", "noseparate-code", "notext"]
    flags += [*(f"-Wl,-z,{word}" for word in link), f"-Wl,{option}"]
    weak = tmp_path / "weak.so"
    rpath = "-Wl,--disable-new-dtags,-rpath,/nowhere"
    run(*CC, *flags, rpath, write(tmp_path / "weak.c", text), "-o", weak)
    assert set(weaknesses(weak)) == seen | {
        "no RELRO",
        "executable stack",
        "names bound late",
        "may be unloaded",
        "old kind of run path",
        "no stack protector",
        "1 functions without unwind table",
    }
