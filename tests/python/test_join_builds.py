"""A plugin joins with the compilers, standards, options and linkers that people use."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from joining import HOST_SOURCE, REGISTRY, Maker, obey
from support import INCLUDE, SANITIZE, WARNINGS, run, tool, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.extended  # each test compiles

# Flags and an operation in a C file, used by another C file and a C++ file, which has a flag and an
# implementation, too.
DEFINES = """
#include <pd_flags.h>
PD_DEFINE_int32(mix_level, 6, "How hard to try", .min = 0, .max = 99);
PD_DEFINE_string(mix_mode, "fast", "How to search", .choices = "fast|best");
PD_DEFINE_SCOPED_int32(mix_stride, 5, "How far to go");
static int32_t mix_native(int32_t n) { return n + 1; }
PD_DEFINE_OP(mix_step, int32_t, (int32_t), mix_native, "Where to go from n");
PD_DEFINE_SCOPED_OP(mix_hop, int32_t, (int32_t), mix_native, "Where to hop from n");
"""
READS = """
#include <pd_flags.h>
PD_DECLARE_int32(mix_level);
PD_DECLARE_string(mix_mode);
PD_DECLARE_SCOPED_int32(mix_stride);
PD_DECLARE_OP(mix_step, int32_t, (int32_t));
PD_DECLARE_SCOPED_OP(mix_hop, int32_t, (int32_t));
__attribute__((visibility("default"))) int level(void);
__attribute__((visibility("default"))) const char *mode(void);
__attribute__((visibility("default"))) int step(void);
__attribute__((visibility("default"))) int hop(void);
int level(void) { return FLAGS_mix_level; }
const char *mode(void) { return FLAGS_mix_mode; }
int step(void) { return PD_CALL(mix_step)(PD_SCOPED(mix_stride)); }
int hop(void) { return PD_SCOPED_CALL(mix_hop)(1); }
"""
CPLUSPLUS = """
#include <pd_flags.h>
PD_DEFINE_uint64(mix_size, 7, "How much to read");
PD_DECLARE_int32(mix_level);
PD_DECLARE_OP(mix_step, int32_t, (int32_t));
PD_DECLARE_SCOPED_OP(mix_hop, int32_t, (int32_t));
static int32_t mix_ten(int32_t n) { return n + 10; }
PD_IMPL(mix_step, ten, mix_ten, .rank = 100);
PD_IMPL(mix_hop, ten, mix_ten, .rank = 100);
extern "C" __attribute__((visibility("default"))) int sum() {
  return static_cast<int>(FLAGS_mix_size) + FLAGS_mix_level;
}
"""
# Nothing of it is exported: it says by itself what it reads.
SPEAKS = """
#include <stdio.h>
#include <pd_flags.h>
PD_DEFINE_int32(mix_level, 6, "How hard to try");
__attribute__((destructor)) static void say(void) { printf("last %d\\n", FLAGS_mix_level); }
"""
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}
LINKERS = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld"}
PACKAGES = {"g++": "g++", "clang++": "clang", "ld.bfd": "binutils", "ld.gold": "binutils"}


@dataclass(frozen=True)
class Build:
    """One way to build a plugin."""

    name: str
    compiler: str = "gcc"
    linker: str = ""
    both: tuple[str, ...] = ("-O0",)
    c: tuple[str, ...] = ()
    cxx: tuple[str, ...] = ()
    link: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "-".join(filter(None, (self.compiler, self.linker, self.name)))


GC = ("-ffunction-sections", "-fdata-sections", "-fvisibility=hidden")
PAIRS = [
    ("c99", "c++11"),
    ("gnu99", "gnu++11"),
    ("c11", "c++14"),
    ("gnu11", "gnu++14"),
    ("c17", "c++17"),
    ("gnu17", "gnu++20"),
    ("c17", "c++20"),
]
EACH_COMPILER = [
    *[((c, x), Build(f"{c}-{x}", c=(f"-std={c}",), cxx=(f"-std={x}",))) for c, x in PAIRS],
    ("O2", Build("O2", both=("-O2",))),
    ("Os", Build("Os", both=("-Os",))),
    ("bare", Build("bare-c++", cxx=("-fno-exceptions", "-fno-rtti"))),
    ("plt", Build("no-plt", both=("-O2", "-fno-plt"))),
    ("common", Build("common-unwind", both=("-fcommon", "-fno-asynchronous-unwind-tables"))),
]
EACH_LINKER = [
    Build("plain"),
    Build("gc", both=GC, link=("-Wl,--gc-sections", "-s")),
    Build("O2-gc", both=("-O2", *GC), link=("-Wl,--gc-sections,-O2,--as-needed", "-s")),
    Build("now", link=("-Wl,-z,now,-z,relro",)),
    Build("lazy", link=("-Wl,-z,lazy,-z,norelro",)),
    Build("symbolic", link=("-Wl,-Bsymbolic,--hash-style=gnu",)),
    Build("static-runtime", link=("-static-libgcc", "-static-libstdc++")),
    Build("no-build-id", link=("-Wl,--build-id=none",)),
]


def everything() -> list[Build]:
    builds = []
    for compiler in COMPILERS:
        builds += [Build(**{**vars(b), "compiler": compiler}) for _, b in EACH_COMPILER]
        for linker in LINKERS:
            builds += [
                Build(**{**vars(b), "compiler": compiler, "linker": linker}) for b in EACH_LINKER
            ]
    lto = ("-O2", "-flto", *GC)
    for linker in LINKERS:
        if linker != "lld":  # it can't read gcc's
            builds.append(Build("lto", linker=linker, both=lto, link=("-Wl,--gc-sections",)))
    thin = ("-O2", "-flto=thin", *GC)
    builds += [
        Build("lto-fat", both=("-O2", "-flto", "-ffat-lto-objects")),
        Build("lto-one", both=("-O2", "-flto", "-flto-partition=none")),
        Build("lto", "clang", "lld", both=lto, link=("-Wl,--gc-sections", "-s")),
        Build("thinlto", "clang", "lld", both=thin, link=("-Wl,--gc-sections", "-s")),
        Build("lto-many", both=("-O3", "-flto", "-flto-partition=max", *GC), link=("-s",)),
        Build("undefined-checked", both=("-fsanitize=undefined", "-fno-sanitize-recover=all")),
        Build("no-startfiles", link=("-nostartfiles",)),
        Build("gc-start-stop", "gcc", "lld", GC, link=("-Wl,--gc-sections,-z,start-stop-gc",)),
        Build("other-assembler", "clang", both=("-O2", "-fno-integrated-as")),
        Build("relr", linker="bfd", both=("-O2",), link=("-Wl,-z,pack-relative-relocs",)),
        Build("gc-start-stop", "clang", "lld", GC, link=("-Wl,--gc-sections,-z,start-stop-gc",)),
        Build("icf", "clang", "lld", ("-O2", *GC), link=("-Wl,--icf=all,--gc-sections",)),
    ]
    return builds


def linked_with(linker: str) -> list[str]:
    if not linker:
        return []
    tool(LINKERS[linker], PACKAGES.get(LINKERS[linker], linker))
    return [f"-fuse-ld={linker}"]


def compile_one(maker: Maker, build: Build, name: str, text: str) -> Path:
    """Compile a text, once for all builds that differ in linking alone."""
    c, cxx = COMPILERS[build.compiler]
    own, compiler = (build.cxx, cxx) if name.endswith(".cc") else (build.c, c)
    words = (tool(compiler, PACKAGES.get(compiler)), *WARNINGS, "-fPIC", *build.both, *own)
    digest = hashlib.sha1("\0".join((*words, text)).encode()).hexdigest()[:12]  # noqa: S324
    place = maker.directory / "objects" / digest
    out = place / f"{name}.o"
    if not out.exists():
        run(*words, f"-I{INCLUDE}", "-c", write(place / name, text), "-o", out)
    return out


def make(maker: Maker, build: Build) -> Path:
    texts = {"defines.c": DEFINES, "reads.c": READS, "plus.cc": CPLUSPLUS}
    objects = [compile_one(maker, build, name, text) for name, text in texts.items()]
    driver = COMPILERS[build.compiler][1]
    out = maker.directory / str(build) / "libmix.so"
    out.parent.mkdir(exist_ok=True)
    linker = linked_with(build.linker)
    run(driver, "-shared", "-fPIC", *build.both, *objects, *linker, *build.link, "-o", out)
    return out


@pytest.mark.parametrize("build", everything(), ids=str)
def test_a_plugin_of_three_sources_joins_and_reads_its_values(
    maker: Maker, host: Path, build: Build
) -> None:
    plugin = make(maker, build)
    uses = ["set mix_level 42", "set mix_mode best", "set mix_size 1000"]
    uses += [f"call {plugin} level", f"text {plugin} mode", f"call {plugin} sum", "modules"]
    uses += [f"call {plugin} step", "set mix_stride 6", "set impl.mix_step native"]
    uses += [f"call {plugin} step", f"call {plugin} hop"]
    read = ["ok", "ok", "ok", "42", "best", "1042", "1", "15", "ok", "ok", "7", "11"]
    loaded, opened = f"load {plugin}", f"open local {plugin}"
    registry = f"registry {REGISTRY}"
    assert obey(host, registry, loaded, *uses, f"unload {plugin}") == ["ok", "ok", *read, "ok"]
    assert obey(host, opened, registry, *uses, f"close {plugin}") == ["ok", "ok", *read, "ok"]
    # The constructor alone, without pd_module_load's own look at the image.
    assert obey(host, registry, opened, *uses, f"close {plugin}", "modules") == [
        "ok",
        "ok",
        *read,
        "ok",
        "0",
    ]


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_plugin_exports_nothing_but_its_own_names(
    maker: Maker, compiler: str, linker: str
) -> None:
    plugin = make(maker, Build("exports", compiler, linker))
    names = run(tool("nm", "binutils"), "-D", "--defined-only", plugin).stdout
    exported = {line.split()[-1] for line in names.splitlines()}
    of_linker = {"_init", "_fini", "_edata", "_end", "__bss_start"}
    if linker == "bfd":  # it exports the bounds of sections, protected, whoever hides them
        of_linker |= {"__start_pd_flags", "__stop_pd_flags"}
    assert exported - of_linker == {"level", "mode", "step", "hop", "sum"}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_module_without_flags_takes_none_from_another(
    maker: Maker, host: Path, compiler: str
) -> None:
    plugin = make(maker, Build("global", compiler))
    text = "#include <pd_flags.h>\nextern int unused;\n"
    built = compile_one(maker, Build("none", compiler), "none.c", text)
    none = built.with_name("libnone.so")
    run(COMPILERS[compiler][0], "-shared", built, "-o", none)
    opens = [f"open global {plugin}", f"open local {none}"]
    said = obey(host, f"registry {REGISTRY}", *opens, "cells mix_level", "modules")
    assert said == ["ok", "ok", "ok", "1", "1"]


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_plugin_that_exports_nothing_at_all_joins(
    maker: Maker, host: Path, compiler: str, linker: str
) -> None:
    place = maker.directory / f"silent-{compiler}-{linker}"
    source = write(place / "speaks.c", SPEAKS)
    script = write(place / "nothing.map", "{ local: *; };\n")
    plugin = place / "libspeaks.so"
    options = [*GC, f"-Wl,--version-script={script}", "-Wl,--gc-sections", "-s"]
    command = [tool(COMPILERS[compiler][0]), *linked_with(linker), "-shared", "-fPIC", *options]
    run(*command, f"-I{INCLUDE}", source, "-o", plugin)
    said = obey(
        host, f"open local {plugin}", f"registry {REGISTRY}", "set mix_level 9", f"close {plugin}"
    )
    assert said == ["ok", "ok", "ok", "last 9", "ok"]


@pytest.mark.parametrize("linker", LINKERS)
def test_flags_in_a_static_library_whose_symbols_are_excluded_join(
    maker: Maker, host: Path, linker: str
) -> None:
    place = maker.directory / f"archive-{linker}"
    place.mkdir()
    build = Build("archive", linker=linker)
    chosen = linked_with(linker)
    objects = [compile_one(maker, build, "defines.c", DEFINES)]
    archive = place / "libdefines.a"
    run(tool("ar", "binutils"), "rcs", archive, *objects)
    reads = compile_one(maker, build, "reads.c", READS)
    plugin = place / "libmix.so"
    options = ["-Wl,--exclude-libs,ALL", "-Wl,--gc-sections", "-s"]
    run("gcc", "-shared", *chosen, *options, reads, archive, "-o", plugin)
    said = obey(
        host,
        f"registry {REGISTRY}",
        f"open local {plugin}",
        "set mix_level 9",
        f"call {plugin} level",
        f"call {plugin} step",
    )
    assert said == ["ok", "ok", "ok", "9", "6"]


def test_a_plugin_that_walks_the_images_itself_compiles_and_joins(maker: Maker, host: Path) -> None:
    walks = """
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <pd_flags.h>
PD_DECLARE_int32(mix_level);
static int count(struct dl_phdr_info *info, size_t size, void *total) {
  (void)size;
  *(int *)total += info->dlpi_phnum > 0;
  return 0;
}
int images(void);
int images(void) {
  int total = 0;
  dl_iterate_phdr(count, &total);
  return total > 1 ? FLAGS_mix_level : -1;
}
"""
    # Under -flto gcc compares the two declarations of dl_iterate_phdr.
    plugin = maker.plugin("walks", walks, DEFINES, flags=("-O2", "-flto"))
    said = obey(host, f"registry {REGISTRY}", f"open local {plugin}", f"call {plugin} images")
    assert said == ["ok", "ok", "6"]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_flags_in_namespaces_and_classes_of_cxx_join(
    maker: Maker, host: Path, compiler: str, level: str
) -> None:
    text = """
#include <pd_flags.h>
namespace outer {
namespace {
PD_DEFINE_int32(mix_level, 6, "Level", .max = 99);
}
PD_DEFINE_int32(mix_more, 1, "More");
struct Reader {
  static int read() { return FLAGS_mix_level + FLAGS_mix_more; }
};
}
extern "C" int sum() { return outer::Reader::read(); }
"""
    build = Build("spaces", compiler, both=(level, "-Wno-missing-declarations"))
    built = compile_one(maker, build, "spaces.cc", text)
    plugin = built.with_name("libspaces.so")
    run(COMPILERS[compiler][1], "-shared", built, "-o", plugin)
    said = obey(
        host, f"registry {REGISTRY}", f"load {plugin}", "set mix_level 41", f"call {plugin} sum"
    )
    assert said == ["ok", "ok", "ok", "42"]


@pytest.mark.extended
@pytest.mark.skipif(bool(SANITIZE), reason="one sanitizer at a time")
@pytest.mark.parametrize("kind", ["address", "thread"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_plugin_that_is_built_for_a_sanitizer_joins(
    maker: Maker, compiler: str, kind: str
) -> None:
    checked = f"-fsanitize={kind}"
    plugin = make(maker, Build(f"{kind}-checked", compiler, both=("-O1", "-g", checked)))
    host = maker.directory / f"host-{compiler}-{kind}"
    command = [COMPILERS[compiler][0], checked, f"-I{INCLUDE}", HOST_SOURCE, "-rdynamic", "-ldl"]
    run(*command, "-o", host)
    said = obey(
        host,
        f"open local {plugin}",
        f"registry {REGISTRY}",
        "set mix_level 9",
        f"call {plugin} sum",
    )
    assert said == ["ok", "ok", "ok", "16"]


def test_objects_that_are_linked_in_two_steps_join(maker: Maker, host: Path) -> None:
    place = maker.directory / "partial"
    place.mkdir()
    build = Build("partial")
    texts = {"defines.c": DEFINES, "reads.c": READS, "plus.cc": CPLUSPLUS}
    objects = [compile_one(maker, build, name, text) for name, text in texts.items()]
    run("gcc", "-r", "-nostdlib", *objects, "-o", place / "all.o")
    plugin = place / "libmix.so"
    run("g++", "-shared", place / "all.o", "-o", plugin)
    said = obey(
        host, f"registry {REGISTRY}", f"load {plugin}", "set mix_level 9", f"call {plugin} sum"
    )
    assert said == ["ok", "ok", "ok", "16"]


@pytest.mark.parametrize("option", ["--strip-all", "--strip-unneeded", "--strip-debug"])
def test_a_plugin_that_is_stripped_afterwards_joins(maker: Maker, host: Path, option: str) -> None:
    whole = make(maker, Build(f"whole{option}", both=("-O0", "-g")))
    plugin = whole.with_name("stripped.so")
    shutil.copy(whole, plugin)
    run(tool("strip", "binutils"), option, plugin)
    said = obey(
        host,
        f"open local {plugin}",
        f"registry {REGISTRY}",
        "set mix_level 9",
        f"call {plugin} sum",
    )
    assert said == ["ok", "ok", "ok", "16"]
