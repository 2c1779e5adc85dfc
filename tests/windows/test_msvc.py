"""Plugins of Microsoft's ABI: compiled by both drivers of clang, linked by lld-link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msvc
import pytest
from support import INCLUDE, run, write

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Windows

pytestmark = pytest.mark.release  # runs Wine

# All kinds of definitions, in C and in C++.
ALL = """
#include <pd_flags.h>
#ifdef __cplusplus
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT __declspec(dllexport)
#endif
PD_DEFINE_bool(ms_bool, true, "A bool");
PD_DEFINE_int32(ms_int32, -1, "An int32", .min = -9, .max = 9);
PD_DEFINE_uint32(ms_uint32, 1, "A uint32", .category = "Sizes");
PD_DEFINE_int64(ms_int64, INT64_MIN, "An int64", .unit = "bytes");
PD_DEFINE_uint64(ms_uint64, UINT64_MAX, "A uint64");
PD_DEFINE_double(ms_double, 0.5, "A double");
PD_DEFINE_string(ms_string, "fast", "A string", .choices = "fast|best", .aliases = "ms-text");
PD_IMPORT_int32(ms_import, 7);
PD_DEFINE_SCOPED_int32(ms_stride, 5, "One per thread");
PD_DEFINE_SCOPED_string(ms_word, "five", "One per thread");
PD_IMPORT_SCOPED_double(ms_rate, 0.25);
static int32_t one(int32_t n) { return n + 1; }
static int32_t ten(int32_t n) { return n + 10; }
PD_DEFINE_OP(ms_step, int32_t, (int32_t), one, "Where to go from n");
PD_IMPL(ms_step, ten, ten, .rank = 100);
PD_DEFINE_SCOPED_OP(ms_leap, int32_t, (int32_t), ten, "Where to go from n");
static int32_t other(int32_t n, const char *a, double *b) { return a && b ? n : -n; }
PD_IMPORT_OP(ms_other, int32_t, (int32_t, const char *, double *), other);
EXPORT int level(void);
int level(void) { return FLAGS_ms_int32; }
EXPORT const char *text(void);
const char *text(void) { return FLAGS_ms_string; }
EXPORT int whole(void);
int whole(void) {
  return FLAGS_ms_bool && FLAGS_ms_uint32 == 1 && FLAGS_ms_int64 == INT64_MIN &&
         FLAGS_ms_uint64 == UINT64_MAX && FLAGS_ms_double == 0.5 && FLAGS_ms_import == 7 &&
         PD_SCOPED(ms_stride) == 5 && PD_SCOPED(ms_word)[0] == 'f' && PD_SCOPED(ms_rate) == 0.25;
}
EXPORT int step(void);
int step(void) { return PD_CALL(ms_step)(PD_SCOPED(ms_stride)) + PD_SCOPED_CALL(ms_leap)(0); }
"""
SECOND = """
#include <pd_flags.h>
PD_DECLARE_int32(ms_int32);
PD_DEFINE_int32(ms_second, 3, "In another source file");
"""
# It gives its own thread a value, and asks the registry, which isn't linked.
SCOPES = """
#define PD_HEADER_ONLY
#include <pd_flags.h>
PD_DEFINE_SCOPED_int32(ms_stride, 5, "One per thread");
static pd_scope scope;
__declspec(dllexport) int begin(void) {
  pd_assignment item = {PD_SCOPED_FLAG(ms_stride), "8", PD_TYPE_int32, {0}};
  return (int)pd_scope_push(&item, 1, NULL, NULL, &scope, NULL);
}
__declspec(dllexport) int end(void) { return (int)pd_scope_pop(scope, NULL); }
__declspec(dllexport) int stride(void) { return PD_SCOPED(ms_stride); }
"""
# A destructor that reads a flag runs before the module leaves.
LAST = """
#include <pd_flags.h>
PD_DEFINE_int32(ms_last, 1, "Read at the end");
extern int atexit(void (*function)(void));
__declspec(dllexport) int *seen;
__declspec(dllexport) int watch(void);
static int kept;
static void look(void) { *seen = FLAGS_ms_last; }
int watch(void) {
  seen = &kept;
  return atexit(look);
}
"""
OPTIMIZED = {"clang": ("-O0", "-O2"), "clang-cl": ("/Od", "/O2")}
BUILDS = [
    pytest.param(driver, level, ucrt, id=f"{driver}{level}-{'ucrt' if ucrt else 'alone'}")
    for driver, levels in OPTIMIZED.items()
    for level, ucrt in zip(levels, (True, False))
]


def build(windows: Windows, name: str, *texts: str, end: str = ".c", **options) -> Path:
    place = windows.directory / f"{name}.src"
    sources = [write(place / f"{name}{i}{end}", text) for i, text in enumerate(texts)]
    return msvc.build(windows.directory / f"{name}.dll", *sources, **options)


def build_all(windows: Windows, driver: str, level: str, ucrt: bool, end: str) -> Path:
    name = f"all-{driver}-{level.strip('-/')}{end.replace('.', '-')}"
    return build(windows, name, ALL, SECOND, end=end, driver=driver, ucrt=ucrt, flags=[level])


@pytest.mark.parametrize("end", [".c", ".cc"])
@pytest.mark.parametrize(("driver", "level", "ucrt"), BUILDS)
def test_a_plugin_joins_whichever_is_loaded_first(
    windows: Windows, driver: str, level: str, ucrt: bool, end: str
) -> None:
    plugin = build_all(windows, driver, level, ucrt, end)
    registry_first = ["registry", windows.registry, "open local", plugin]
    plugin_first = ["open local", plugin, "registry", windows.registry]
    for order in (registry_first, plugin_first):
        lines = windows.obey(
            *(*order, "call", plugin, "whole set ms_int32 9 call", plugin, "level"),
            *("set ms-text best text", plugin, "text get ms_second get ms_uint64"),
            *("call", plugin, "step set impl.ms_step native call", plugin, "step"),
        )
        values = ["best", "3", str(2**64 - 1), "25", "ok", "16"]
        assert lines == ["ok", "ok", "1", "ok", "9", "ok", *values]


@pytest.mark.parametrize(("driver", "level", "ucrt"), BUILDS)
def test_a_plugin_leaves_and_comes_again(
    windows: Windows, driver: str, level: str, ucrt: bool
) -> None:
    plugin = build_all(windows, driver, level, ucrt, ".c")
    again = ["set ms_int32 4 call", plugin, "level close", plugin, "mapped", plugin]
    lines = windows.obey("registry", windows.registry, "open local", plugin, *again, "get ms_int32")
    unknown = "PD_ERR_UNDEFINED: no flag is named 'ms_int32'"
    assert lines == ["ok", "ok", "ok", "4", "ok", "no", unknown]
    lines = windows.obey(
        *("registry", windows.registry, "load", plugin, "modules unload", plugin),
        *("mapped", plugin, "modules load", plugin, "call", plugin, "level"),
    )
    assert lines == ["ok", "ok", "1", "ok", "no", "0", "ok", "-1"]


def test_scoped_values_of_a_thread_need_no_storage_of_the_plugin(windows: Windows) -> None:
    plugin = build(windows, "scopes", SCOPES, flags=["/O2"])
    lines = windows.obey(
        *("registry", windows.registry, "open local", plugin, "call", plugin, "begin"),
        *("call", plugin, "stride call", plugin, "end call", plugin, "stride"),
    )
    assert lines == ["ok", "ok", "0", "8", "0", "5"]


def test_mingw_and_microsofts_abi_share_flags(windows: Windows) -> None:
    defining = build(windows, "defining", '#include <pd_flags.h>\nPD_DEFINE_int32(ms_n, 1, "");\n')
    text = "#include <pd_flags.h>\nPD_IMPORT_int32(ms_n, -1);\n"
    exported = "__declspec(dllexport) int n(void);\nint n(void) { return FLAGS_ms_n; }"
    following = windows.dll("following", text + exported)
    lines = windows.obey(
        *("registry", windows.registry, "open local", following, "call", following, "n"),
        *("open local", defining, "set ms_n 5 call", following, "n close", defining),
        *("call", following, "n"),
    )
    assert lines == ["ok", "ok", "-1", "ok", "ok", "5", "ok", "-1"]


def test_flags_are_there_until_the_last_exit_function(windows: Windows) -> None:
    plugin = build(windows, "last", LAST, ucrt=False)
    lines = windows.obey(
        *("registry", windows.registry, "open local", plugin, "call", plugin, "watch"),
        *("set ms_last 6 close", plugin, "modules"),
    )
    assert lines == ["ok", "ok", "0", "ok", "ok", "0"]


@pytest.mark.parametrize("standard", ["c++14", "c++17", "c++20"])
@pytest.mark.parametrize("driver", msvc.DRIVERS)
def test_macros_of_cxx_need_only_type_traits(tmp_path: Path, driver: str, standard: str) -> None:
    source = write(tmp_path / "all.cc", ALL)
    chosen = f"-std={standard}" if driver == "clang" else f"/std:{standard}"
    msvc.compile_object(tmp_path / "all.obj", source, driver, [chosen])


def test_a_header_that_defines_attributes_away_is_refused(tmp_path: Path) -> None:
    text = "#define __attribute__(x)\n#include <pd_flags.h>\n"
    command = [*msvc.compiler("clang"), f"-I{INCLUDE}", "-fsyntax-only"]
    ended = run(*command, write(tmp_path / "away.c", text), check=False)
    assert "defines __attribute__ as a macro" in ended.stderr
