"""A C++20 module whose global fragment includes one of our headers, and plugins that import it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from joining import REGISTRY, obey
from support import INCLUDE, run, tool, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.release  # each test compiles, and hardly depends on a change

DEFINITIONS = {
    "pd_flags.h": 'PD_DEFINE_int32({}, {}, "Level");',
    "pd_flags.hpp": 'PD_DEFINE_int32({}, {}, "Level");',
    "gflags/gflags.h": 'DEFINE_int32({}, {}, "Level");',
    "c10/util/Flags.h": 'C10_DEFINE_int({}, {}, "Level")',
    "paddle/common/flags.h": 'PHI_DEFINE_EXPORTED_int32({}, {}, "Level");',
}
MODULE = """
module;
#include <HEADER>
export module tuned;
DEFINE(tuned_level, 6)
export int level() { return FLAGS_tuned_level; }
extern "C" int sum() { return level(); }
"""
OWN = """
DEFINE(own_level, 7)
extern "C" int both() { return level() + FLAGS_own_level; }
"""
IMPORTERS = {
    "include-first": ("#include <HEADER>\nimport tuned;\n" + OWN, True),
    "import-first": ("import tuned;\n#include <HEADER>\n" + OWN, True),
    "import-alone": ('import tuned;\nextern "C" int both() { return level() + 7; }\n', False),
}


def fill_in(text: str, header: str) -> str:
    """Return the source with the header and with the definitions of its macro."""
    define = re.compile(r"DEFINE\((\w+), (\d+)\)")
    text = define.sub(lambda found: DEFINITIONS[header].format(*found.groups()), text)
    return text.replace("HEADER", header).lstrip() + "\n"


def link_plugin(place: Path, header: str, importer: str | None, level: str) -> Path:
    """Compile the module and the source file that imports it, if any, and link both."""
    compiler = [tool("clang++-19", "clang-19"), "-std=c++20", level, "-fPIC", "-Wall", "-Wextra"]
    with_header = [*compiler, f"-I{INCLUDE}", f"-I{INCLUDE}/compat"]
    place.mkdir()
    source = write(place / "tuned.cppm", fill_in(MODULE, header))
    run(*with_header, "--precompile", source, "-o", place / "tuned.pcm")
    run(*compiler, "-c", place / "tuned.pcm", "-o", place / "tuned.o")
    objects = [place / "tuned.o"]
    if importer:
        user = write(place / "user.cc", fill_in(importer, header))
        objects.append(place / "user.o")
        import_module = f"-fmodule-file=tuned={place / 'tuned.pcm'}"
        run(*with_header, import_module, "-c", user, "-o", objects[-1])
    run(*compiler, "-shared", *objects, "-o", place / "libtuned.so")
    return place / "libtuned.so"


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("header", DEFINITIONS)
def test_a_module_of_cxx20_joins_alone(tmp_path: Path, host: Path, header: str, level: str) -> None:
    plugin = link_plugin(tmp_path / "alone", header, None, level)
    said = obey(
        host, f"registry {REGISTRY}", f"load {plugin}", "set tuned_level 9", f"call {plugin} sum"
    )
    assert said == ["ok", "ok", "ok", "9"]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("header", DEFINITIONS)
@pytest.mark.parametrize("importer", IMPORTERS)
def test_a_module_of_cxx20_joins_with_its_importer(
    tmp_path: Path, host: Path, importer: str, header: str, level: str
) -> None:
    text, defines = IMPORTERS[importer]
    plugin = link_plugin(tmp_path / "with", header, text, level)
    orders = [f"registry {REGISTRY}", f"open local {plugin}", "set tuned_level 30"]
    orders += ["set own_level 12"] * defines
    said = obey(host, *orders, f"call {plugin} both")
    assert said == ["ok"] * len(orders) + ["42" if defines else "37"]
    records = run("nm", plugin).stdout.count(" pd__module_v1\n")
    assert records == 1
