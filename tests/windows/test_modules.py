"""C++20 modules of clang on Windows whose global fragment includes the header."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mingw
import pytest
from support import INCLUDE, run, tool, write

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Windows

pytestmark = pytest.mark.release

MODULE = """
module;
#include <pd_flags.h>
export module tuned;
PD_DEFINE_int32(tuned_level, 6, "Level");
export int level() { return FLAGS_tuned_level; }
extern "C" __declspec(dllexport) int sum() { return level(); }
"""
OWN = """
PD_DEFINE_int32(own_level, 7, "Level");
extern "C" __declspec(dllexport) int both() { return level() + FLAGS_own_level; }
"""
IMPORTERS = {
    "include-first": "#include <pd_flags.h>\nimport tuned;\n" + OWN,
    "import-first": "import tuned;\n#include <pd_flags.h>\n" + OWN,
}
TARGET = [f"--target={mingw.TRIPLE}", "-std=c++20"]


def link_plugin(place: Path, importer: str | None, level: str) -> Path:
    """Compile the module and the source file that imports it, if any, and link both."""
    compiler = [tool("clang++-19", "clang-19"), *TARGET, level, "-Wall", "-Wextra"]
    with_header = [*compiler, f"-I{INCLUDE}"]
    source = write(place / "tuned.cppm", MODULE.lstrip())
    run(*with_header, "--precompile", source, "-o", place / "tuned.pcm")
    run(*compiler, "-c", place / "tuned.pcm", "-o", place / "tuned.o")
    objects = [place / "tuned.o"]
    if importer:
        objects.append(place / "user.o")
        import_module = f"-fmodule-file=tuned={place / 'tuned.pcm'}"
        user = write(place / "user.cc", importer)
        run(*with_header, import_module, "-c", user, "-o", objects[-1])
    run(*compiler, "-shared", *objects, "-o", place / "tuned.dll")
    return place / "tuned.dll"


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_module_of_cxx20_joins_alone(tmp_path: Path, windows: Windows, level: str) -> None:
    plugin = link_plugin(tmp_path, None, level)
    lines = windows.obey(
        *("registry", windows.registry, "open local", plugin),
        *("set tuned_level 9 call", plugin, "sum"),
    )
    assert lines == ["ok", "ok", "ok", "9"]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("importer", IMPORTERS)
def test_a_module_of_cxx20_joins_with_its_importer(
    tmp_path: Path, windows: Windows, importer: str, level: str
) -> None:
    plugin = link_plugin(tmp_path, IMPORTERS[importer], level)
    lines = windows.obey(
        *("registry", windows.registry, "open local", plugin),
        *("set tuned_level 30 set own_level 12 call", plugin, "both"),
    )
    assert lines == ["ok", "ok", "ok", "ok", "42"]
