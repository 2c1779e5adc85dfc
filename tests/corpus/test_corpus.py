"""Modules that were built with each version join the library of today, and the other way round."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import corpora
import mingw
import msvc
import pytest
from joining import HOST_SOURCE, REGISTRY, environment, python
from support import INCLUDE, build_plugin, package, run, tool, zig
from versions import build_library

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSIONS = corpora.versions()


def each_plugin(*platforms: str) -> pytest.MarkDecorator:
    """Run a test for each plugin of each version."""
    found = [
        pytest.param(version, path, id=f"{version.name}-{platform}-{path.stem}")
        for version in VERSIONS
        for platform in platforms
        for path in corpora.plugins(version, platform)
    ]
    return pytest.mark.parametrize(("version", "plugin"), found)


def obey(*commands: object) -> list[str]:
    """Let the host without a compiler do the commands."""
    ended = run(sys.executable, corpora.HOST, *commands, env=environment())
    return ended.stdout.splitlines()


def test_the_corpus_is_as_it_was_built() -> None:
    assert VERSIONS
    for version in VERSIONS:
        assert corpora.sums(version) == (version / "SHA256SUMS").read_text("utf-8")


@each_plugin("linux-x86_64", "linux-x86_64-clang")
def test_a_module_built_before_joins(version: Path, plugin: Path) -> None:
    corpora.check(version, plugin.stem, REGISTRY, plugin, obey)


NOT_YET = {"c_late", "c_level", "i_host", "m_host"}  # only after a call of the C host
LOAD_ALL = """
import json, sys
import paddle_flags as pf

for path, recorded, steps in json.loads(sys.argv[1]):
    flags = pf.load_plugin(path).flags
    for name, properties in recorded.items():
        if not name.startswith("impl."):
            assert flags[name].help == properties["help"], name
    for name, text, expected in steps:
        try:
            pf.FLAGS[name].set_from_string(text)
            result = "ok"
        except pf.FlagError as error:
            result = type(error).__name__
        assert (result == "ok") == (expected == "ok"), (name, text, result)
    print(len(flags))
"""


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_python_loads_all_modules_built_before(version: Path) -> None:
    recorded = corpora.recorded(version)
    loaded = []
    for path in corpora.plugins(version, "linux-x86_64"):
        sets = [
            (*words[1:], line)
            for words, line in corpora.steps(version, path.stem, path)
            if words[0] == "set" and words[1] not in NOT_YET
        ]
        loaded.append((str(path), recorded[path.stem], sets))
    assert len(python(LOAD_ALL, json.dumps(loaded))) == len(loaded)


@pytest.mark.extended  # compiles
@each_plugin("linux-x86_64")
def test_a_module_of_today_joins_a_library_built_before(
    version: Path, plugin: Path, tmp_path: Path
) -> None:
    place = version / "sources"
    sources = [*place.glob(f"{plugin.stem}.c*"), *place.glob(f"{plugin.stem}_second.c")]
    flags = (f"-I{INCLUDE}/compat", f"-ffile-prefix-map={place}/=")  # __FILE__ as in the corpus
    made = build_plugin(tmp_path / plugin.name, *sources, flags=flags)
    corpora.check(version, plugin.stem, version / corpora.LIBRARY, made, obey)


class System:
    """A system that isn't this machine's: its host, and today's library for it."""

    def __init__(self, place: Path, compiler: Sequence[str], runner: Sequence[str]) -> None:
        self.registry = build_library(place, compiler=compiler) / "libpd_flags.so"
        run(*compiler, f"-I{INCLUDE}", HOST_SOURCE, "-o", place / "host", "-ldl")
        self.command = [*runner, place / "host"]

    def obey(self, *commands: object) -> list[str]:
        return run(*self.command, *commands, env=environment()).stdout.splitlines()


@pytest.fixture(scope="session")
def musl(tmp_path_factory: pytest.TempPathFactory) -> System:
    return System(tmp_path_factory.mktemp("musl"), [tool("musl-gcc")], [])


@pytest.fixture(scope="session")
def aarch64(tmp_path_factory: pytest.TempPathFactory) -> System:
    compiler = [tool("aarch64-linux-gnu-gcc")]
    runner = [tool("qemu-aarch64"), "-L", "/usr/aarch64-linux-gnu"]
    return System(tmp_path_factory.mktemp("aarch64"), compiler, runner)


@pytest.mark.extended
@each_plugin("musl-x86_64")
def test_a_module_built_before_joins_on_musl(version: Path, plugin: Path, musl: System) -> None:
    corpora.check(version, plugin.stem, musl.registry, plugin, musl.obey)


@pytest.mark.release
@each_plugin("linux-aarch64")
def test_a_module_built_before_joins_on_aarch64(
    version: Path, plugin: Path, aarch64: System
) -> None:
    corpora.check(version, plugin.stem, aarch64.registry, plugin, aarch64.obey)


@each_plugin("macos-arm64", "macos-x86_64")
def test_a_module_of_macos_has_its_record_and_needs_only_the_system(
    version: Path, plugin: Path
) -> None:
    lief = package("lief")
    image = lief.MachO.parse(plugin).at(0)
    notes = next(s for s in image.sections if (s.segment_name, s.name) == ("__DATA", "__pd_flags"))
    name, kind, size, _ = struct.unpack("<8sIIQ", bytes(notes.content)[:24])
    assert (name, kind, size) == (b"pd_flags", 1, 24)
    needed = {library.name for library in image.libraries} - {f"@rpath/{plugin.name}"}
    assert needed == {"/usr/lib/libSystem.B.dylib"}
    assert not [symbol.name for symbol in image.imported_symbols if "pd_" in symbol.name]


@pytest.mark.release  # runs all compilers
def test_building_the_corpus_again_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("clang", "clang-19", "musl-gcc", "aarch64-linux-gnu-gcc", "ld.lld"):
        tool(name)
    tool("lld-link", "lld")
    mingw.compiler("g++")
    msvc.standard_library("clang")
    zig()
    for name in ("one", "another"):
        run(sys.executable, corpora.CORPUS / "build.py", "--into", tmp_path / name)
    assert corpora.sums(tmp_path / "one") == corpora.sums(tmp_path / "another")
