"""PD_HEADER_ONLY: modules call the registry's functions and link nothing of ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import mingw
import pytest
from joining import REGISTRY, Maker, environment, obey, python
from support import (
    CC,
    CXX,
    INCLUDE,
    LIBDIR,
    ROOT,
    WARNINGS,
    build_plugin,
    build_program,
    run,
    tool,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

# C and C++ alike: what it asks of the registry, and what came of it.
ASKS = """
#define PD_HEADER_ONLY
#include <pd_flags.h>
#ifdef __cplusplus
#define EXPORT extern "C" __attribute__((visibility("default")))
#else
#define EXPORT __attribute__((visibility("default")))
#endif
PD_DEFINE_int32(NAME_level, 6, "How hard to try", .min = 0, .max = 99);
static pd_error error;
EXPORT int NAME_level(void);
EXPORT int NAME_raise(void);
EXPORT int NAME_warn(void);
EXPORT const char *NAME_said(void);
int NAME_level(void) { return FLAGS_NAME_level; }
int NAME_raise(void) {
  pd_flag *flag = 0;
  int32_t level = 0;
  pd_status status = pd_flag_find("NAME_level", &flag, &error);
  if (status == PD_OK) status = pd_flag_get_int32(flag, &level, &error);
  if (status == PD_OK) status = pd_flag_set_int32(flag, level + 50, &error);
  return status != PD_OK || pd_flag_get_address(flag) ? (int)status : -1;
}
int NAME_warn(void) { return (int)pd_warning_handle(0, 0, &error); }
const char *NAME_said(void) { return error.message; }
"""
# The same text in two sources of one program: one links the library, one doesn't.
LOCAL = """
#include <pd_flags.h>
#include <stdio.h>
#include <string.h>
void NAME(void);
static void items(const char *list, size_t size) {
  char buffer[8] = "", *room = size ? buffer : NULL;
  size_t length = 99;
  pd_error err = {PD_OK, ""};
  for (size_t i = 0; i < 4; i++) {
    pd_status status = pd_list_get(list, i, room, size, &length, &err);
    printf("%d %s %zu %s\\n", (int)status, buffer, length, status ? err.message : "");
    if (status) return;
  }
}
void NAME(void) {
  for (unsigned i = 0; i < 30; i++) {
    pd_flag_def def[2];
    memset(def, 0x55, sizeof def);
    pd_flag_def_init(def, i % 2 ? sizeof *def : sizeof *def + 8, (pd_type)i);
    unsigned long long sum = 0;
    if (i == PD_TYPE_string) printf("'%s'\\n", def->default_value.str);
    if (i == PD_TYPE_string) def->default_value.str = NULL;
    for (size_t at = 0; at < sizeof *def + 16; at++) sum = sum * 131 + ((unsigned char *)def)[at];
    printf("%llx %s %s ", sum, pd_status_name((pd_status)i), pd_status_text((pd_status)i));
    printf("%s %s %u\\n", pd_type_name((pd_type)i), pd_source_name((pd_source)i),
           (unsigned)pd_source_rank((pd_source)i));
  }
  pd_flag_def_init(NULL, 0, PD_TYPE_bool);
  const char *lists[] = {"", "a,b", "\\"a,\\"\\"b\\",,c d", "a, b",
                         "\\"open", "\\"\\"", "long item,x"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) items(lists[i], i % 2 ? 8 : 3);
  items(NULL, 8);
  items("a,b", 0);
  pd_error err = {PD_OK, ""};
  printf("%d %s\\n", pd_list_get("a", 0, NULL, 8, NULL, &err), err.message);
}
"""
MAIN = """
void linked(void), own(void);
int main(int argc, char **argv) { (void)argv; argc > 1 ? own() : linked(); }
"""
EMPTY = "\\n#include <pd_flags.h>\\nPD_DEFINE_int32(level, 6, NULL);\\n"
NO_REGISTRY = "no registry is in this process: load libpd_flags, or what brings it, first"


@pytest.fixture(scope="module")
def asks(maker: Maker) -> dict[str, Path]:
    """Build plugins of the same text, in C and in C++."""
    made = {}
    for name, suffix in (("c", "c"), ("cxx", "cc")):
        code = write(maker.directory / f"asks.{suffix}", ASKS.replace("NAME", name))
        made[name] = build_plugin(maker.directory / f"libasks_{name}.so", code, flags=("-O1",))
    return made


def answers(host: Path, *commands: object) -> list[str]:
    """Let the host do the commands; give what the plugins say."""
    return [line for line in obey(host, *commands) if line != "ok"]


def declared() -> list[str]:
    command = [*CC, "-E", "-P", "-DPD_CDEF", f"{INCLUDE}/pd_flags.h"]
    return re.findall(r"\b(pd_\w+)\(", run(*command).stdout)


@pytest.mark.parametrize("language", ["c", "cxx"])
def test_a_plugin_asks_the_registry_that_came_before_it(host, asks, language):
    path = asks[language]
    lines = answers(
        host,
        f"registry {REGISTRY}",
        f"open local {path}",
        f"call {path} {language}_raise",
        f"call {path} {language}_level",
        f"get {language}_level",
        f"call {path} {language}_raise",
        f"text {path} {language}_said",
    )
    assert lines == [
        *["0", "56", "56", "7"],
        f"{language}_level=106: expected an integer in [0, 99]",
    ]


@pytest.mark.parametrize("language", ["c", "cxx"])
def test_a_plugin_is_told_that_no_registry_is_there_until_one_comes(host, asks, language):
    path = asks[language]
    lines = answers(
        host,
        f"open local {path}",
        f"call {path} {language}_raise",
        f"text {path} {language}_said",
        f"registry {REGISTRY}",
        f"call {path} {language}_raise",
        f"get {language}_level",
    )
    assert lines == ["16", f"pd_flag_find: {NO_REGISTRY}", "0", "56"]


def test_python_and_plugins_that_link_nothing_share_one_registry(asks):
    script = """
import ctypes, sys
early, late = ctypes.CDLL(sys.argv[1]), None
print(early.c_raise())
import paddle_flags as pf
late = pf.load_plugin(sys.argv[2], namespace="beta")
print(early.c_raise(), pf.FLAGS.c_level, pf.FLAGS["c_level"].source)
print(ctypes.CDLL(sys.argv[2]).cxx_raise())
late.unload()
"""
    lines = python(script, asks["c"], asks["cxx"], env=environment())
    assert lines == ["16", "0 56 run time", "3"]


def test_a_static_copy_in_another_plugin_hosts_for_those_that_link_nothing(maker, host, asks):
    code = write(maker.directory / "copy.c", "#include <pd_flags.h>\n")
    library = ("-Wl,--whole-archive", f"{LIBDIR}/libpd_flags.a", "-Wl,--no-whole-archive", "-ldl")
    copy = build_plugin(maker.directory / "libcopy.so", code, flags=library)
    lines = answers(
        host,
        "open local",
        asks["c"],
        "open local",
        copy,
        "open local",
        asks["cxx"],
        "call",
        asks["c"],
        "c_raise",
        "call",
        asks["c"],
        "c_level",
        "call",
        asks["cxx"],
        "cxx_raise",
        "call",
        asks["cxx"],
        "cxx_level",
    )
    assert lines == ["0", "56", "0", "56"]


def test_what_needs_no_registry_says_what_the_library_says(maker):
    sources = [
        write(maker.directory / "linked.c", LOCAL.replace("NAME", "linked")),
        write(maker.directory / "own.c", "#define PD_HEADER_ONLY\n" + LOCAL.replace("NAME", "own")),
        write(maker.directory / "main.c", MAIN),
    ]
    program = build_program(maker.directory / "both", *sources)
    theirs, ours = run(program).stdout, run(program, "inline").stdout
    assert "PD_ERR_DEPTH nested too deeply" in theirs
    assert "index 2 is out of range: the list has 2 items" in theirs
    assert ours == theirs


WINDOWS = [[f"{mingw.TRIPLE}-gcc", "-std=c99"], [f"{mingw.TRIPLE}-g++", "-std=c++17", "-xc++"]]
EXTENDED = [pytest.param(command, marks=pytest.mark.extended) for command in WINDOWS]


@pytest.mark.parametrize("compiler", [[*CC, "-std=c99"], [*CXX, "-std=c++11", "-xc++"],
                                      ["clang", "-std=c11"], ["clang++", "-std=c++20", "-xc++"],
                                      *EXTENDED],
                         ids=" ".join)  # fmt: skip
def test_every_function_is_there_and_none_leaves_code_behind(maker, compiler):
    tool(compiler[0])
    place = maker.directory / re.sub(r"\W", "_", " ".join(compiler))
    uses = "".join(f"  if (n == {i}) return {name} != 0;\n" for i, name in enumerate(declared()))
    main = f"int uses(int n);\nint uses(int n) {{\n{uses}  return 0;\n}}\n"
    texts = {"plain": EMPTY, "idle": "#define PD_HEADER_ONLY" + EMPTY}
    texts["busy"] = "#define PD_HEADER_ONLY" + EMPTY + main
    sizes = {}
    for name, text in texts.items():
        code = write(place / f"{name}.c", text.replace("\\n", "\n"))
        options = [*WARNINGS, "-Wno-address", "-Wno-tautological-pointer-compare", "-O0"]
        options += ["-fno-ident", f"-I{INCLUDE}", "-c", "-fPIC"]
        run(*compiler, *options, code, "-o", place / f"{name}.o")
        table = run(tool("size", "binutils"), "-A", place / f"{name}.o").stdout
        sizes[name] = sum(map(int, re.findall(r"^\.text\S* +(\d+)", table, re.MULTILINE)))
    assert sizes["idle"] == sizes["plain"] < sizes["busy"]


def test_a_module_without_a_record_is_refused_by_the_compiler(maker):
    text = "#define PD_HEADER_ONLY\n#define PD_NO_MODULE_RECORD\n#include <pd_flags.h>\n"
    code = write(maker.directory / "none.c", text)
    ended = run(*CC, f"-I{INCLUDE}", "-c", code, "-o", maker.directory / "none.o", check=False)
    assert "PD_HEADER_ONLY needs the module record" in ended.stderr


def test_the_page_lists_the_table_as_the_header_has_it():
    page = (ROOT / "docs" / "reference" / "abi.md").read_text("utf-8")
    header = (ROOT / "csrc" / "include" / "pd_flags" / "table.h").read_text("utf-8")
    rows = re.findall(r"^  [A-Z]+\((?:[^,(]*\*? ?, )?(\w+),", header, re.MULTILINE)
    listed = re.findall(r"^\| (\d+) \| `(\w+)`", page.split("### pd_table\n")[1], re.MULTILINE)
    assert [name for _, name in listed] == [f"pd_{row}" for row in rows]
    assert [int(number) for number, _ in listed] == list(range(len(rows)))
    assert set(declared()) - {f"pd_{row}" for row in rows} == {
        *["pd_status_name", "pd_status_text", "pd_type_name", "pd_source_name"],
        *["pd_source_rank", "pd_flag_def_init", "pd_list_get"],
    }
