"""What `make release` left in dist/, or in the directory that PD_RELEASED names.

pytest tests/release/released.py; PD_RELEASED_AGAIN names what a second build made.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import zipfile
from pathlib import Path

import lief
import mingw
import pytest
from support import ROOT, run, tool, write

DIST = Path(os.environ.get("PD_RELEASED", ROOT / "dist"))
MACHINE = platform.machine()
MACHINES = ["x86_64", "aarch64"]

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


def list_needed(library: Path) -> set[str]:
    """Return the shared libraries that an ELF file needs, of any machine."""
    return set(re.findall(r"NEEDED.*\[(\S+)\]", run("readelf", "-d", library).stdout))


def list_undefined(library: Path) -> set[str]:
    """Return the names that an ELF file, of any machine, takes from others, without versions."""
    lines = run("readelf", "--dyn-syms", "-W", library).stdout.splitlines()
    return {
        line.split()[7].partition("@")[0] for line in lines if re.search(r" GLOBAL .* UND \S", line)
    }


def list_needed_dlls(file: Path) -> set[str]:
    shown = run(f"{mingw.TRIPLE}-objdump", "-p", file).stdout
    return {name.lower() for name in re.findall(r"DLL Name: (\S+)", shown)}


def version() -> str:
    header = (ROOT / "csrc" / "include" / "pd_flags.h").read_text("utf-8")
    return re.findall(r'#define PD_VERSION "(.+)"', header)[0]


def test_everything_is_there_and_listed_with_its_checksum():
    files = {path.name for path in DIST.iterdir()} - {"SHA256SUMS"}
    free_threaded = {name for name in files if "cp314t" in name}
    assert len(free_threaded) == ("PD_FREE_THREADED" in os.environ)
    assert len(files - free_threaded) == 8
    for line in (DIST / "SHA256SUMS").read_text("utf-8").splitlines():
        checksum, name = line.split()
        files.remove(name)
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == checksum
    assert not files


def test_the_list_of_components_names_each_file_and_what_it_needs():
    listed = json.loads(released("*.cdx.json").read_text("utf-8"))
    package = listed["metadata"]["component"]
    assert (package["name"], package["version"]) == ("paddle_flags", version())
    hashes = {each["name"]: each["hashes"][0]["content"] for each in package["components"]}
    files = {
        path
        for path in DIST.iterdir()
        if path.name not in ("SHA256SUMS", released("*.cdx.json").name)
    }
    assert hashes == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert [each["purl"] for each in listed["components"]] == ["pkg:pypi/cffi"]


@pytest.mark.parametrize(
    "check",
    [
        ("twine", "check", "--strict", "*.whl", "*.tar.gz"),
        ("check_wheel_contents", "*.whl"),
        ("abi3audit", "--strict", "*abi3*.whl"),
    ],
    ids=lambda check: check[0],
)
def test_checkers_of_packages_have_nothing_to_say(check):
    program, *words = check
    files = [path for word in words if "*" in word for path in sorted(DIST.glob(word))]
    options = [word for word in words if "*" not in word]
    run(sys.executable, "-m", program, *options, *files, cwd=ROOT)


def test_a_second_build_elsewhere_and_later_gave_the_same_bytes():
    again = Path(os.environ["PD_RELEASED_AGAIN"])
    names = sorted(path.name for path in again.iterdir() if path.name != "SHA256SUMS")
    assert names
    for name in names:
        assert (again / name).read_bytes() == (DIST / name).read_bytes(), name


@pytest.mark.parametrize("machine", MACHINES)
def test_the_manylinux_wheel_asks_for_glibc_2_17_at_most(unpacked, machine):
    wheel = released(f"*abi3-manylinux*{machine}.whl")
    assert wheel.name.endswith(f"manylinux_2_17_{machine}.whl")
    for library in libraries(unpacked(wheel.name)):
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("readelf", "-V", "-W", library).stdout)
        assert versions
        assert max((int(major), int(minor)) for major, minor in versions) <= (2, 17)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_bridges_of_the_manylinux_wheel_ask_for_a_libstdcxx_of_manylinux2014_at_most(
    unpacked, machine
):
    wheel = unpacked(f"*abi3-manylinux*{machine}.whl")
    (module,) = (wheel / "paddle_flags").glob("_bridges.*so")
    needed = run("readelf", "-V", "-W", module).stdout
    versions = re.findall(r"GLIBCXX_3\.4\.(\d+)|CXXABI_1\.3\.(\d+)", needed)
    assert all(
        int(of_library or 0) <= 19 and int(of_abi or 0) <= 7 for of_library, of_abi in versions
    )
    assert "GLIBCXX_3.4" in needed


@pytest.mark.parametrize("machine", MACHINES)
def test_the_library_of_the_manylinux_wheel_hosts_a_program(unpacked, tmp_path, machine):
    package = unpacked(f"*abi3-manylinux*{machine}.whl") / "paddle_flags"
    gcc = tool(f"{machine}-linux-gnu-gcc", f"gcc-{machine}-linux-gnu".replace("_", "-"))
    include, library = f"-I{package / 'include'}", package / "lib"
    run(gcc, "-shared", "-fPIC", include, PLUGIN, "-o", tmp_path / "plugin.so")
    linked = [f"-L{library}", f"-Wl,-rpath,{library}", "-lpd_flags"]
    run(gcc, include, HOST, "-o", tmp_path / "host", *linked)
    words = [tmp_path / "plugin.so", "--level=7", "--plugin_rate=2"]
    emulator = []
    if machine != MACHINE:
        emulator = [tool(f"qemu-{machine}", "qemu-user"), "-L", f"/usr/{machine}-linux-gnu"]
    assert run(*emulator, tmp_path / "host", *words).stdout == f"{version()} 7 2\n"


def test_the_library_of_the_musllinux_wheel_hosts_a_program_of_musl(unpacked, tmp_path):
    package = unpacked(f"*musllinux_1_2_{MACHINE}.whl") / "paddle_flags"
    musl = tool("musl-gcc", "musl-tools")
    include, library = f"-I{package / 'include'}", package / "lib"
    run(musl, "-shared", "-fPIC", include, PLUGIN, "-o", tmp_path / "plugin.so")
    for name, linked in (
        ("shared", [f"-L{library}", f"-Wl,-rpath,{library}", "-lpd_flags"]),
        ("static", [library / "libpd_flags.a"]),
    ):
        run(musl, include, HOST, "-o", tmp_path / name, *linked)
        assert "ld-musl" in run("readelf", "-l", tmp_path / name).stdout
        words = [tmp_path / "plugin.so", "--level=7", "--plugin_rate=2"]
        assert run(tmp_path / name, *words).stdout == f"{version()} 7 2\n"


@pytest.mark.parametrize("machine", MACHINES)
def test_the_modules_of_the_musllinux_wheel_need_python_the_library_and_musl_alone(
    unpacked, machine
):
    (musl,) = Path(f"/usr/lib/{MACHINE}-linux-musl").glob("libc.so")
    given = {
        line.split()[-1] for line in run("nm", "-D", "--defined-only", musl).stdout.splitlines()
    }
    given.add("__stack_chk_guard")  # musl has it on aarch64
    found = libraries(unpacked(f"*musllinux_1_2_{machine}.whl"))
    for library in found:
        names = [f"libc.musl-{machine}.so.1", *(path.name for path in found)]
        assert list_needed(library) <= set(names)
        foreign = {
            name
            for name in list_undefined(library) - given
            if not name.startswith(("Py", "_Py", "pd_"))
        }
        assert foreign == set()


def test_the_wheel_for_windows_needs_python_and_windows_alone(unpacked):
    package = unpacked("*win_amd64.whl") / "paddle_flags"
    files = sorted(path.name for path in package.iterdir() if path.suffix in (".pyd", ".dll"))
    assert files == ["_fast.pyd", "_native.pyd", "pd_flags.dll"]
    windows = {"kernel32.dll", "msvcrt.dll"}
    for name in files:
        ours = set() if name == "pd_flags.dll" else {"pd_flags.dll", "python3.dll"}
        assert list_needed_dlls(package / name) <= windows | ours


def test_the_dll_of_the_wheel_for_windows_hosts_a_program(unpacked, tmp_path):
    package = unpacked("*win_amd64.whl") / "paddle_flags"
    gcc = mingw.compiler("gcc")
    include, library = f"-I{package / 'include'}", f"-L{package / 'lib'}"
    run(*gcc, "-shared", include, PLUGIN, "-o", tmp_path / "plugin.dll")
    run(*gcc, include, HOST, "-o", tmp_path / "host.exe", library, "-lpd_flags")
    shutil.copy(package / "pd_flags.dll", tmp_path)
    words = [tmp_path / "plugin.dll", "--level=7", "--plugin_rate=2"]
    assert mingw.run_wine(tmp_path / "host.exe", *words).stdout.split() == [version(), "7", "2"]


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


CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(host C)
find_package(paddle_flags CONFIG REQUIRED)
add_executable(host {host})
target_link_libraries(host paddle_flags::paddle_flags)
add_library(plugin MODULE {plugin})
target_link_libraries(plugin paddle_flags::headers)
get_target_property(dll paddle_flags::paddle_flags IMPORTED_LOCATION)
file(COPY "${{dll}}" DESTINATION "${{CMAKE_BINARY_DIR}}")
"""


@pytest.mark.parametrize("pattern", ["*windows*.zip", "*win_amd64.whl"])
def test_cmake_finds_what_is_for_windows(unpacked, tmp_path, pattern):
    place = unpacked(pattern)
    write(tmp_path / "CMakeLists.txt", CMAKE.format(host=HOST, plugin=PLUGIN))
    (config,) = place.glob("*/lib/cmake/paddle_flags")
    cross = ["-DCMAKE_SYSTEM_NAME=Windows", f"-DCMAKE_C_COMPILER={mingw.compiler('gcc')[0]}"]
    cmake = tool("cmake", "cmake")
    run(cmake, "-S", tmp_path, "-B", tmp_path / "out", *cross, f"-Dpaddle_flags_DIR={config}")
    run(cmake, "--build", tmp_path / "out")
    words = [tmp_path / "out" / "libplugin.dll", "--level=7", "--plugin_rate=2"]
    ended = mingw.run_wine(tmp_path / "out" / "host.exe", *words)
    assert ended.stdout.split() == [version(), "7", "2"]


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
    wheel = unpacked(f"*abi3-manylinux*{MACHINE}.whl")
    library = wheel / "paddle_flags" / "lib" / "libpd_flags.so"
    symbols = run("nm", "-D", "--defined-only", library).stdout.split()
    assert exported == {name for name in symbols if name.startswith("pd_")}
    assert list_needed_dlls(package / "bin" / "pd_flags.dll") <= {"kernel32.dll", "msvcrt.dll"}


@pytest.mark.parametrize(("machine", "cpu"), [("arm64", "ARM64"), ("x86_64", "X86_64")])
def test_the_wheel_for_macos_needs_python_the_library_and_macos_alone(tmp_path, machine, cpu):
    (wheel,) = Path(os.environ["PD_RELEASED_FOR_MACOS"]).glob(f"*_{machine}.whl")
    shutil.unpack_archive(wheel, tmp_path, "zip")
    package = tmp_path / "paddle_flags"
    files = [
        package / name for name in ("lib/libpd_flags.dylib", "_fast.abi3.so", "_native.abi3.so")
    ]
    exported: set[str] = set()
    for path in files:
        parsed = lief.MachO.parse(path)
        assert parsed is not None
        (binary,) = parsed
        assert binary.header.cpu_type.name == cpu
        assert {each.name for each in binary.libraries} <= {
            "@rpath/libpd_flags.dylib",
            f"@rpath/{path.name.partition('.')[0]}",  # its own name
            "/usr/lib/libSystem.B.dylib",
        }
        exported |= {str(each.name) for each in binary.exported_symbols}
        asked = {str(each.name) for each in binary.imported_symbols}
        ours = {name for name in asked if name.startswith("_pd_")}
        assert ours <= exported
    assert "_pd_flag_register" in exported
    assert {"_PyInit__fast", "_PyInit__native"} <= exported


def test_no_archive_tells_where_it_was_built():
    for path in DIST.iterdir():
        if path.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    assert str(ROOT).encode() not in archive.read(name), name


def test_the_wheels_hold_the_same_files():
    lists: list[list[str]] = []
    for kind in ("manylinux", "musllinux"):
        for machine in MACHINES:
            with zipfile.ZipFile(released(f"*abi3-{kind}*{machine}.whl")) as archive:
                lists.append(sorted(name for name in archive.namelist() if not name.endswith("/")))
    bridges = [name for name in lists[0] if "_bridges" in name and name.endswith(".so")]
    assert len(bridges) == 1  # musl's C++ library isn't known
    plain = [name for name in lists[0] if name not in bridges]
    assert lists == [lists[0], lists[0], plain, plain]


def test_the_workflows_keep_to_the_schema_of_workflows():
    check = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.github-workflows",
    ]
    run(*check, *sorted((ROOT / ".github" / "workflows").glob("*.yml")))


@pytest.mark.parametrize(
    ("system", "machine", "kinds"),
    [
        ("linux", MACHINE, [f"manylinux_{MACHINE}", f"musllinux_{MACHINE}"]),
        ("macos", "arm64", ["macosx_arm64"]),
        ("macos", "x86_64", ["macosx_x86_64"]),
    ],
)
def test_cibuildwheel_takes_its_settings_and_tries_every_cpython(system, machine, kinds):
    command = [sys.executable, "-m", "cibuildwheel", "--platform", system, "--archs", machine, ROOT]
    named = run(*command, "--print-build-identifiers", cwd=ROOT).stdout.split()
    for kind in kinds:
        assert {f"cp3{minor}-{kind}" for minor in range(11, 15)} <= set(named)
        assert f"cp314t-{kind}" in named
