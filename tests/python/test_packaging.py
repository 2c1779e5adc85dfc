"""What wheel and source distribution hold."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packages import BUILD_ENVIRONMENT, build_package
from support import INCLUDE, ROOT, run, write

from paddle_flags._core import paths

VERSION = version("paddle_flags")
CMAKE = ROOT / "csrc" / "cmake"
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED")


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
def test_one_wheel_is_for_all_pythons_from_3_11_on(wheel, installed):
    name, number, python, abi, platform = wheel.stem.split("-")
    assert (name, number) == ("paddle_flags", VERSION)
    assert (python, abi) == ("cp311", "abi3")
    assert platform.startswith("linux_")
    modules = {path.name.partition(".")[2] for path in (installed / "paddle_flags").glob("*.so")}
    assert modules == {"abi3.so"}


def test_the_wheel_holds_package_library_headers_and_build_files(installed, tmp_path):
    package = installed / "paddle_flags"
    run(sys.executable, ROOT / "tools" / "copy_tree.py", tmp_path / "tree")
    expected = {
        *(f"include/{name}" for name in files_under(ROOT / "csrc" / "include") if name[0] != "."),
        *files_under(tmp_path / "tree" / "paddle_flags"),
        "lib/libpd_flags.so",
        "lib/libpd_flags_live.so",
        "lib/libpd_flags.a",
        *(f"lib/cmake/paddle_flags/{path.stem}" for path in CMAKE.glob("*.cmake.in")),
        *(f"lib/pkgconfig/{path.stem}" for path in CMAKE.glob("*.pc.in")),
    }
    found = files_under(package)
    modules = {name for name in found if name.endswith(".so") and "/" not in name}
    assert found == expected | modules
    assert {name.partition(".")[0] for name in modules} == {"_native", "_fast", "_bridges"}
    beside = {path.name.partition("-")[0] for path in installed.iterdir()} - {"__pycache__"}
    assert beside == {"paddle_flags", "_paddle_flags_pytestplugin.py"}


@pytest.mark.parametrize("module", ["_native", "_fast", "_bridges"])
def test_a_module_of_the_wheel_finds_the_library_beside_it_alone(installed, module):
    (native,) = (installed / "paddle_flags").glob(f"{module}.*so")
    text = run("readelf", "-d", "-W", native).stdout
    assert re.findall(r"\(RUNPATH\).*\[(.*)\]", text) == ["$ORIGIN/lib"]
    assert "(RPATH)" not in text
    assert "libpd_flags.so" in re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    assert [name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text) if "python" in name] == []


@pytest.mark.release
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


SHARED = (
    Path(paths.get_shared_library())
    .relative_to(Path(paths.__file__).resolve().parents[1])
    .as_posix()
)


@pytest.mark.parametrize("lost", ["_fast.", "_native.", SHARED])
def test_a_tree_without_its_library_says_what_to_do(tmp_path, lost):
    tree = tmp_path / "my tree"
    shutil.copytree(ROOT / "paddle_flags", tree / "paddle_flags", symlinks=True)
    for file in (tree / "paddle_flags").glob(f"{lost}*"):
        file.unlink()
    # -S: an editable installation leads back to the real tree.
    code = "try: import paddle_flags\nexcept ImportError as error: print(error)"
    shown = run(sys.executable, "-S", "-c", code, cwd=tree).stdout
    assert "is incomplete" in shown
    write(tree / "build_ffi.py", "")
    shown = run(sys.executable, "-S", "-c", code, cwd=tree).stdout
    assert f"Python found paddle_flags in {tree}, which is its source tree" in shown
    assert shown.endswith(f"with: pip install -e '{tree}'\n")
    assert shown.count("\n") == 1


def test_the_source_distribution_holds_the_whole_tree(sdist, tmp_path):
    tree = tmp_path / "tree"
    run(sys.executable, ROOT / "tools" / "copy_tree.py", tree)
    with tarfile.open(sdist) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    left_out = {".gitignore"}
    assert files_under(tree) - left_out <= members
    made = {name for name in members if name.endswith((".so", ".a", ".pyc", ".o"))}
    assert made == set()


@pytest.mark.release
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


def test_config_names_what_exists():
    for path in (
        INCLUDE + "/pd_flags.h",
        paths.get_shared_library(),
        paths.get_static_library(),
        paths.get_cmake_dir() + "/paddle_flags-config.cmake",
        paths.get_pkgconfig_dir() + "/paddle_flags.pc",
    ):
        assert Path(path).is_file()
