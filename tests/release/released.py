"""What `make release` left in dist/, or in the directory that PD_RELEASED names.

pytest tests/release/released.py; PD_RELEASED_AGAIN names what a second build made.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sys
import zipfile
from pathlib import Path

import mingw
import pytest
from support import CC, ROOT, run, tool

DIST = Path(os.environ.get("PD_RELEASED", ROOT / "dist"))
MACHINE = platform.machine()

HOST, PLUGIN = (ROOT / "tests" / "release" / name for name in ("host.c", "plugin.c"))


def released(pattern: str) -> Path:
    """Give the one file of a kind."""
    (path,) = DIST.glob(pattern)
    return path


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Unpack a released archive; one that was unpacked before isn't again."""
    made: dict[str, Path] = {}

    def unpack(pattern: str) -> Path:
        if pattern not in made:
            made[pattern] = tmp_path_factory.mktemp("unpacked")
            shutil.unpack_archive(released(pattern), made[pattern], "zip")
        return made[pattern]

    return unpack


def libraries(place: Path) -> list[Path]:
    found = sorted((place / "paddle_flags").rglob("*.so"))
    names = [path.name.partition(".")[0] for path in found]
    assert names[-4:] == ["_fast", "_native", "libpd_flags", "libpd_flags_live"]
    assert names[:-4] in (["_bridges"], [])  # musl's wheel has none
    return found


def version() -> str:
    header = (ROOT / "csrc" / "include" / "pd_flags.h").read_text("utf-8")
    return re.findall(r'#define PD_VERSION "(.+)"', header)[0]


def test_everything_is_there_and_listed_with_its_checksum():
    files = {path.name for path in DIST.iterdir()} - {"SHA256SUMS"}
    assert len(files) == 4
    for line in (DIST / "SHA256SUMS").read_text("utf-8").splitlines():
        checksum, name = line.split()
        files.remove(name)
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == checksum
    assert not files


def test_a_second_build_elsewhere_and_later_gave_the_same_bytes():
    again = Path(os.environ["PD_RELEASED_AGAIN"])
    names = sorted(path.name for path in again.iterdir() if path.name != "SHA256SUMS")
    assert names
    for name in names:
        assert (again / name).read_bytes() == (DIST / name).read_bytes(), name


def test_the_manylinux_wheel_asks_for_glibc_2_17_at_most(unpacked):
    assert released("*manylinux*.whl").name.endswith(f"manylinux_2_17_{MACHINE}.whl")
    for library in libraries(unpacked("*manylinux*.whl")):
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", library).stdout)
        assert versions
        assert max((int(major), int(minor)) for major, minor in versions) <= (2, 17)


def test_the_bridges_of_the_manylinux_wheel_ask_for_a_libstdcxx_of_manylinux2014_at_most(unpacked):
    (module,) = (unpacked("*manylinux*.whl") / "paddle_flags").glob("_bridges.*so")
    needed = run("readelf", "-V", "-W", module).stdout
    versions = re.findall(r"GLIBCXX_3\.4\.(\d+)|CXXABI_1\.3\.(\d+)", needed)
    assert all(
        int(of_library or 0) <= 19 and int(of_abi or 0) <= 7 for of_library, of_abi in versions
    )
    assert "GLIBCXX_3.4" in needed


def test_the_library_of_the_manylinux_wheel_hosts_a_program(unpacked, tmp_path):
    package = unpacked("*manylinux*.whl") / "paddle_flags"
    include, library = f"-I{package / 'include'}", package / "lib"
    run(*CC, "-shared", "-fPIC", include, PLUGIN, "-o", tmp_path / "plugin.so")
    linked = [f"-L{library}", f"-Wl,-rpath,{library}", "-lpd_flags"]
    run(*CC, include, HOST, "-o", tmp_path / "host", *linked)
    words = [tmp_path / "plugin.so", "--level=7", "--plugin_rate=2"]
    assert run(tmp_path / "host", *words).stdout == f"{version()} 7 2\n"


def test_the_library_of_the_musllinux_wheel_hosts_a_program_of_musl(unpacked, tmp_path):
    assert released("*musllinux*.whl").name.endswith(f"musllinux_1_2_{MACHINE}.whl")
    package = unpacked("*musllinux*.whl") / "paddle_flags"
    musl = tool("musl-gcc", "musl-tools")
    include, library = f"-I{package / 'include'}", package / "lib"
    run(musl, "-shared", "-fPIC", include, PLUGIN, "-o", tmp_path / "plugin.so")
    linked = [f"-L{library}", f"-Wl,-rpath,{library}", "-lpd_flags"]
    run(musl, include, HOST, "-o", tmp_path / "host", *linked)
    assert "ld-musl" in run("readelf", "-l", tmp_path / "host").stdout
    words = [tmp_path / "plugin.so", "--level=7", "--plugin_rate=2"]
    assert run(tmp_path / "host", *words).stdout == f"{version()} 7 2\n"


def test_the_modules_of_the_musllinux_wheel_need_python_the_library_and_musl_alone(unpacked):
    (musl,) = Path(f"/usr/lib/{MACHINE}-linux-musl").glob("libc.so")
    names = [library.name for library in libraries(unpacked("*musllinux*.whl"))]
    given = {
        line.split()[-1] for line in run("nm", "-D", "--defined-only", musl).stdout.splitlines()
    }
    for library in libraries(unpacked("*musllinux*.whl")):
        needed = re.findall(r"NEEDED +(\S+)", run("objdump", "-p", library).stdout)
        assert set(needed) <= {f"libc.musl-{MACHINE}.so.1", *names}
        asked = run("nm", "-D", "--undefined-only", library).stdout.split("\n")
        calls = {line.split()[-1] for line in asked if " U " in f" {line}"}
        foreign = {name for name in calls - given if not name.startswith(("Py", "_Py", "pd_"))}
        assert foreign == set()


def test_a_program_for_windows_is_built_against_the_package_alone_and_runs(unpacked, tmp_path):
    (package,) = unpacked("*windows*.zip").iterdir()
    gcc = mingw.compiler("gcc")
    include, library = f"-I{package / 'include'}", f"-L{package / 'lib'}"
    run(*gcc, "-shared", include, PLUGIN, "-o", tmp_path / "plugin.dll")
    words = [tmp_path / "plugin.dll", "--level=7", "--plugin_rate=2"]
    for name, linked in (("shared", ["-lpd_flags"]), ("static", ["-l:libpd_flags.a"])):
        program = tmp_path / name / "host.exe"
        program.parent.mkdir()
        run(*gcc, include, HOST, "-o", program, library, *linked)
        if name == "shared":
            shutil.copy(package / "bin" / "pd_flags.dll", program.parent)
        assert mingw.run_wine(program, *words).stdout.split() == [version(), "7", "2"]


def test_pkg_config_finds_the_package_for_windows(unpacked):
    (package,) = unpacked("*windows*.zip").iterdir()
    environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(package / "lib" / "pkgconfig")}
    shown = run(tool("pkg-config"), "--cflags", "--libs", "paddle_flags", env=environment).stdout
    assert [Path(word[2:]).resolve() for word in shown.split()[:2]] == [
        package / "include",
        package / "lib",
    ]
    assert shown.split()[2:] == ["-lpd_flags"]


def test_the_dll_exports_what_the_library_exports_and_needs_windows_alone(unpacked):
    (package,) = unpacked("*windows*.zip").iterdir()
    shown = run(f"{mingw.TRIPLE}-objdump", "-p", package / "bin" / "pd_flags.dll").stdout
    exported = set(re.findall(r"\[ *\d+\] (?:\+base\[ *\d+\] +\w+ )?(pd_\w+)", shown))
    library = unpacked("*manylinux*.whl") / "paddle_flags" / "lib" / "libpd_flags.so"
    symbols = run("nm", "-D", "--defined-only", library).stdout.split()
    assert exported == {name for name in symbols if name.startswith("pd_")}
    needed = {name.lower() for name in re.findall(r"DLL Name: (\S+)", shown)}
    assert needed <= {"kernel32.dll", "msvcrt.dll"}


def test_no_archive_tells_where_it_was_built():
    for path in DIST.iterdir():
        if path.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    assert str(ROOT).encode() not in archive.read(name), name


def test_the_wheels_hold_the_same_files():
    lists = []
    for kind in ("manylinux", "musllinux"):
        with zipfile.ZipFile(released(f"*{kind}*.whl")) as archive:
            lists.append(sorted(name for name in archive.namelist() if not name.endswith("/")))
    bridges = [name for name in lists[0] if "_bridges" in name and name.endswith(".so")]
    assert len(bridges) == 1  # musl has no C++ compiler in Debian
    assert [name for name in lists[0] if name not in bridges] == lists[1]


def test_the_workflow_keeps_to_the_schema_of_workflows():
    check = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.github-workflows",
    ]
    run(*check, ROOT / ".github" / "workflows" / "wheels.yml")


def test_cibuildwheel_takes_its_settings_and_tries_every_cpython():
    command = [sys.executable, "-m", "cibuildwheel", "--platform", "linux", ROOT]
    named = run(*command, "--print-build-identifiers", cwd=ROOT).stdout.split()
    for libc in ("manylinux", "musllinux"):
        for minor in range(11, 15):
            assert f"cp3{minor}-{libc}_{MACHINE}" in named
