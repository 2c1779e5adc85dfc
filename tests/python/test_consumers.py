"""Projects elsewhere find the headers and libraries of an installed wheel."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from support import ROOT, package, run, tool, write

import paddle_flags as pf
from paddle_flags._core import paths

if TYPE_CHECKING:
    from pathlib import Path

    from packages import Home

VERSION = version("paddle_flags")
CONSUMERS = ROOT / "examples" / "consumers"


def config(home: Home, option: str) -> str:
    """What the installed package says of itself."""
    command = (home.python, "-m", "paddle_flags", "config", option)
    return home.run(*command, cwd=home.path).stdout.strip()


def build_cmake(home: Home, folder: Path) -> Path:
    found = f"-Dpaddle_flags_DIR={config(home, '--cmakedir')}"
    home.run(tool("cmake"), "-S", ".", "-B", "build", found, cwd=folder)
    home.run("cmake", "--build", "build", cwd=folder)
    return folder / "build"


def build_meson(home: Home, folder: Path) -> Path:
    package("mesonbuild", "meson")
    tool("ninja", "ninja-build")
    meson = (sys.executable, "-m", "mesonbuild.mesonmain")
    found = f"--pkg-config-path={config(home, '--pkgconfigdir')}"
    home.run(*meson, "setup", "build", found, cwd=folder)
    home.run(*meson, "compile", "-C", "build", cwd=folder)
    return folder / "build"


def build_pkgconfig(home: Home, folder: Path) -> Path:
    tool("pkg-config")
    found = f"PKG_CONFIG_PATH={config(home, '--pkgconfigdir')}"
    home.run("env", found, "make", cwd=folder)
    return folder


def build_make(home: Home, folder: Path) -> Path:
    home.run("make", cwd=folder)
    return folder


BUILDS = [build_cmake, build_meson, build_pkgconfig, build_make]


@pytest.fixture
def consumers(tmp_path: Path) -> Path:
    """The examples, away from this tree."""
    copy: Path = shutil.copytree(CONSUMERS, tmp_path / "consumers")
    return copy


def needs(path: Path) -> bool:
    """Whether a file is linked with the shared library."""
    return "[libpd_flags.so]" in run(tool("readelf", "binutils"), "-d", path).stdout


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__[6:])
def test_a_build_elsewhere_finds_headers_and_both_libraries(
    home: Home, consumers: Path, tmp_path: Path, build: Callable[[Home, Path], Path]
) -> None:
    built = build(home, consumers / build.__name__[6:])
    (plugin,) = built.glob("*plugin.so")
    assert not needs(plugin)
    for name, linked in (("host", True), ("static_host", False)):
        words = ("--plugin_factor=3", "--host_level=9")
        shown = home.run(built / name, plugin, *words, cwd=built).stdout
        assert shown == f"paddle_flags {VERSION}, level 9, factor 3\n"
        assert needs(built / name) == linked
    words = ("--program_level=9", "--program_mode", "best")
    assert home.run(built / "program", *words, cwd=built).stdout == "9 best\n"
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    served = home.run("env", f"XDG_RUNTIME_DIR={runtime}", built / "served", cwd=built).stdout
    assert re.fullmatch(rf"{runtime}/paddle_flags/\d+\.sock\n", served)
    (used,) = re.findall(r"libpd_flags\.so => (\S+)", home.run("ldd", "host", cwd=built).stdout)
    assert used.startswith(str(home.path))


def test_setuptools_builds_an_extension_module_that_pip_installs(
    home: Home, consumers: Path
) -> None:
    pip = (home.python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps")
    site = consumers / "site"
    home.run(*pip, "--target", site, ".", cwd=consumers / "setuptools")
    program = write(
        site / "program.py",
        "import consumer, paddle_flags as pf\n"
        "print(pf.__file__)\n"
        "pf.FLAGS.consumer_factor = 3\n"
        "print(consumer.scale(14))\n",
    )
    file, scaled = home.run(home.python, program, cwd=consumers).stdout.splitlines()
    assert file.startswith(str(home.path))
    assert scaled == "42"


def test_cmake_refuses_a_version_that_may_differ(home: Home, consumers: Path) -> None:
    lists = consumers / "cmake" / "CMakeLists.txt"
    text = lists.read_text()
    found = f"-Dpaddle_flags_DIR={config(home, '--cmakedir')}"
    for wanted in ("0.0.1", "99.0", "1.0"):
        write(lists, text.replace("paddle_flags 0.1", f"paddle_flags {wanted}"))
        command = (tool("cmake"), "-S", lists.parent, "-B", consumers / "refused", found)
        ended = home.run(*command, cwd=consumers, check=False)
        assert ended.returncode != 0
        assert "compatible" in ended.stderr
        assert VERSION in ended.stderr


def test_cmake_and_scikit_build_core_find_what_lies_in_site_packages(
    home: Home, consumers: Path
) -> None:
    (site,) = home.path.glob("lib/python*/site-packages")
    command = (tool("cmake"), "-S", "cmake", "-B", "found", f"-DCMAKE_PREFIX_PATH={site}")
    home.run(*command, cwd=consumers)
    kept = (consumers / "found" / "CMakeCache.txt").read_text()
    assert f"paddle_flags_DIR:PATH={site}/paddle_flags/lib/cmake/paddle_flags" in kept


def ask(*options: str) -> str:
    """What pkg-config says of this tree's packages."""
    where = {"PKG_CONFIG_PATH": paths.get_pkgconfig_dir(), "PATH": "/usr/bin:/bin"}
    return run(tool("pkg-config"), *options, env=where).stdout.strip()


@pytest.mark.parametrize("name", ["", "-compat", "-headers", "-static"])
def test_each_pkg_config_package_has_version_and_headers(name: str) -> None:
    assert ask("--modversion", f"paddle_flags{name}") == VERSION
    flags = ask("--cflags", f"paddle_flags{name}")
    directories = [os.path.normpath(word[2:]) for word in flags.split()]
    compat = [pf.get_include(compat=True)] if name == "-compat" else []
    assert directories == [*compat, pf.get_include()]


def test_packages_for_headers_link_nothing() -> None:
    assert ask("--libs", "paddle_flags-headers", "paddle_flags-compat") == ""
