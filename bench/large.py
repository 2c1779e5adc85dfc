"""Peers that are part of large packages, of which only the needed files are kept."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from typing import TYPE_CHECKING

from bench.places import BUILD, output

if TYPE_CHECKING:
    from pathlib import Path

SWITCH = "BENCH_LARGE"
PARTS = {
    "torch": ("torch/include/c10/", "torch/include/torch/headeronly/", "torch/lib/libc10.so"),
    "paddlepaddle": ("paddle/include/paddle/", "paddle/libs/libcommon.so"),
}


def wanted() -> bool:
    """Return whether large packages may be downloaded."""
    return os.environ.get(SWITCH, "") not in ("", "0")


def unpacked(package: str) -> Path:
    """Return the directory with headers and library of a package; download it once."""
    home = BUILD / "large" / package
    if not home.exists():
        unfinished = home.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps")
        output(*pip, "--only-binary", ":all:", "--dest", unfinished, package)
        (wheel,) = unfinished.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.startswith(PARTS[package])]
            archive.extractall(unfinished, names)
        (unfinished / "version").write_text(wheel.name.split("-")[1])
        wheel.unlink()
        unfinished.rename(home)
    return home


def version(package: str) -> str:
    """Return the version that was downloaded."""
    return (BUILD / "large" / package / "version").read_text()
