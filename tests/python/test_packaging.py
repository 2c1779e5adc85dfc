"""What wheel and source distribution hold, and how other builds find the library."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from support import CC, CHECKED, INCLUDE, LIBDIR, ROOT, run, tool, write

from paddle_flags import _config

VERSION = version("paddle_flags")
HEADERS = sorted((ROOT / "csrc" / "include").rglob("*.h*"))
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED")

# A package is built for its users: without sanitizers and a test run's options.
BUILD_ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PD_SANITIZE", "CFLAGS", "LDFLAGS", "PIP_REQUIRE_VIRTUALENV")
}
BUILD_ENVIRONMENT["SOURCE_DATE_EPOCH"] = "1700000000"

HOST = """
#include <stdio.h>
#include <pd_flags.h>
PD_DEFINE_int32(level, 6, "Level", .min = 1, .max = 9);
int main(int argc, char **argv) {
  pd_error error;
  if (pd_parse_argv(&argc, argv, NULL, &error)) return printf("%s\\n", error.message), 1;
  return printf("%s %d\\n", pd_version(), (int)FLAGS_level), 0;
}
"""
PLUGIN = """
#include <pd_flags.h>
PD_DEFINE_int32(alpha_level, 6, "Level");
int level(void) { return FLAGS_alpha_level; }
"""
CMAKE = """
cmake_minimum_required(VERSION 3.13)
project(consumer C)
find_package(paddle_flags {wanted} REQUIRED)
add_executable(shared host.c)
target_link_libraries(shared paddle_flags::pd_flags)
add_executable(static host.c)
target_link_libraries(static paddle_flags::static)
add_library(plugin MODULE plugin.c)
target_link_libraries(plugin paddle_flags::headers)
"""


def build_package(source: Path, out: Path, *options: str) -> Path:
    """Build in `source` by the standard front end; give the one file that comes out."""
    command = [sys.executable, "-m", "build", *options, "--outdir", str(out), str(source)]
    ended = subprocess.run(command, env=BUILD_ENVIRONMENT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    tree = tmp_path_factory.mktemp("tree") / "paddle_flags"
    run(sys.executable, ROOT / "tools" / "copy_tree.py", tree)
    return build_package(tree, tmp_path_factory.mktemp("sdist"), "--sdist")


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory) -> Path:
    """The wheel that comes from the source distribution."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    run("tar", "-xzf", sdist, "-C", unpacked)
    (tree,) = unpacked.iterdir()
    return build_package(tree, tmp_path_factory.mktemp("wheel"), "--wheel")


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The wheel's content, where an installer would put it."""
    path = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(path)
    return path


def files_under(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}


# -- the wheel --------------------------------------------------------------


@pytest.mark.skipif(not LIMITED_API, reason="a free-threaded Python has no stable ABI")
def test_one_wheel_is_for_all_pythons_from_3_9_on(wheel):
    name, number, python, abi, platform = wheel.stem.split("-")
    assert (name, number) == ("paddle_flags", VERSION)
    assert (python, abi) == ("cp39", "abi3")
    assert platform.startswith("linux_")


def test_the_wheel_holds_package_library_headers_and_build_files(installed, tmp_path):
    package = installed / "paddle_flags"
    headers = {str(path.relative_to(ROOT / "csrc")) for path in HEADERS}
    run(sys.executable, ROOT / "tools" / "copy_tree.py", tmp_path / "tree")
    expected = {
        *headers,
        *files_under(tmp_path / "tree" / "paddle_flags"),
        "lib/libpd_flags.so",
        "lib/libpd_flags.a",
        "lib/cmake/paddle_flags/paddle_flags-config.cmake",
        "lib/cmake/paddle_flags/paddle_flags-config-version.cmake",
        "lib/pkgconfig/pd_flags.pc",
    }
    found = files_under(package)
    modules = {name for name in found if name.endswith(".so") and "/" not in name}
    assert found == expected | modules
    assert {name.partition(".")[0] for name in modules} == {"_native", "_fast"}
    assert {path.name.partition("-")[0] for path in installed.iterdir()} == {"paddle_flags"}


@pytest.mark.parametrize("module", ["_native", "_fast"])
def test_a_module_of_the_wheel_finds_the_library_beside_it_alone(installed, module):
    (native,) = (installed / "paddle_flags").glob(f"{module}.*so")
    text = run("readelf", "-d", "-W", native).stdout
    assert re.findall(r"\(RUNPATH\).*\[(.*)\]", text) == ["$ORIGIN/lib"]
    assert "(RPATH)" not in text
    assert "libpd_flags.so" in re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    assert [name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text) if "python" in name] == []


def test_foreign_run_paths_and_link_flags_stay_out(tmp_path):
    tree = tmp_path / "tree"
    run(sys.executable, ROOT / "tools" / "copy_tree.py", tree)
    environment = {**BUILD_ENVIRONMENT, "LDFLAGS": "-Wl,-rpath,/elsewhere -L/elsewhere"}
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(tree)]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    with zipfile.ZipFile(*tmp_path.glob("*.whl")) as archive:
        archive.extractall(tmp_path)
    for path in (tmp_path / "paddle_flags").rglob("*.so"):
        assert "/elsewhere" not in run("readelf", "-d", path).stdout


def test_the_installed_wheel_is_imported_without_the_tree(installed, tmp_path):
    code = (
        "import paddle_flags._native as n, sys; print(n.__file__, n.ffi.string(n.lib.pd_version()))"
    )
    environment = {**BUILD_ENVIRONMENT, "PYTHONPATH": str(installed)}
    shown = run(sys.executable, "-c", code, cwd=tmp_path, env=environment).stdout
    assert shown.startswith(str(installed))


# -- the source distribution ------------------------------------------------


def test_the_source_distribution_holds_the_whole_tree(sdist, tmp_path):
    tree = tmp_path / "tree"
    run(sys.executable, ROOT / "tools" / "copy_tree.py", tree)
    with tarfile.open(sdist) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    left_out = {".gitignore"}
    assert files_under(tree) - left_out <= members
    made = {name for name in members if name.endswith((".so", ".a", ".pyc", ".o"))}
    assert made == set()


def test_tree_and_source_distribution_build_the_same_wheel_byte_for_byte(wheel, tmp_path):
    tree = tmp_path / "another" / "place"
    run(sys.executable, ROOT / "tools" / "copy_tree.py", tree)
    direct = build_package(tree, tmp_path / "out", "--wheel")
    assert direct.name == wheel.name
    contents = []
    for path in (direct, wheel):
        with zipfile.ZipFile(path) as archive:
            contents.append({info.filename: archive.read(info) for info in archive.infolist()})
    assert contents[0].keys() == contents[1].keys()
    assert [name for name in contents[0] if contents[0][name] != contents[1][name]] == []
    assert direct.read_bytes() == wheel.read_bytes()


# -- other builds -----------------------------------------------------------


@pytest.fixture
def consumer(tmp_path) -> Path:
    write(tmp_path / "host.c", HOST)
    write(tmp_path / "plugin.c", PLUGIN)
    return tmp_path


def configure(consumer: Path, wanted: str, **options: bool) -> subprocess.CompletedProcess[str]:
    write(consumer / "CMakeLists.txt", CMAKE.format(wanted=wanted))
    compiler = f"-DCMAKE_C_COMPILER={CC[0]}"
    flags = "-DCMAKE_C_FLAGS=" + " ".join([*CC[1:], *CHECKED])
    where = f"-Dpaddle_flags_DIR={_config.get_cmake_dir()}"
    build = consumer / "build"
    return run(tool("cmake"), "-S", consumer, "-B", build, compiler, flags, where, **options)


def test_cmake_finds_shared_static_and_header_targets(consumer):
    configure(consumer, VERSION)
    run(tool("cmake"), "--build", consumer / "build")
    for name in ("shared", "static"):
        shown = run(consumer / "build" / name, "--level=3").stdout
        assert shown == f"{VERSION} 3\n"
    libraries = run("readelf", "-d", consumer / "build" / "shared").stdout
    assert "[libpd_flags.so]" in libraries
    assert "libpd_flags" not in run("readelf", "-d", consumer / "build" / "static").stdout
    (plugin,) = (consumer / "build").glob("*plugin.so")
    assert "libpd_flags" not in run("readelf", "-d", plugin).stdout


def test_cmake_refuses_a_version_that_may_differ(consumer):
    for wanted in ("0.0.1", "99.0", "1.0"):
        ended = configure(consumer, wanted, check=False)
        assert ended.returncode != 0
        assert "compatible" in ended.stderr
        assert VERSION in ended.stderr


def test_pkg_config_builds_hosts_and_plugins(consumer):
    environment = {**os.environ, "PKG_CONFIG_PATH": _config.get_pkgconfig_dir()}

    def ask(*options: str) -> list[str]:
        command = (tool("pkg-config"), *options, "pd_flags")
        return run(*command, env=environment).stdout.split()

    assert ask("--modversion") == [VERSION]
    program = consumer / "host"
    arguments = [*CHECKED, *ask("--cflags"), consumer / "host.c", "-o", program]
    run(*CC, *arguments, *ask("--libs"))
    assert run(program, "--level=4").stdout == f"{VERSION} 4\n"
    plugin = consumer / "plugin.so"
    run(*CC, "-shared", "-fPIC", *ask("--cflags"), consumer / "plugin.c", "-o", plugin)
    assert "libpd_flags" not in run("readelf", "-d", plugin).stdout


def test_config_names_what_exists():
    for path in (
        INCLUDE + "/pd_flags.h",
        LIBDIR + "/libpd_flags.so",
        _config.get_static_library(),
        _config.get_cmake_dir() + "/paddle_flags-config.cmake",
        _config.get_pkgconfig_dir() + "/pd_flags.pc",
    ):
        assert Path(path).is_file()
