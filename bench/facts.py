"""Facts about the machine, compiler and libraries of a measurement."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from bench import programs
from bench.contestants import native
from bench.places import ROOT, CommandError, output


def processor() -> str:
    """Return the name of the processor."""
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


def system() -> str:
    """Return the name of the distribution, with the kernel's version."""
    release = Path("/etc/os-release")
    text = release.read_text() if release.exists() else ""
    found = re.search(r'PRETTY_NAME="(.*)"', text)
    return f"{found[1] if found else platform.system()}, Linux {platform.release()}"


def commit() -> str:
    """Return the measured commit, followed by a plus if the tree differs from it."""
    try:
        name = output("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD").strip()
        paths = ("csrc", "paddle_flags", "setup.py", "bench")
        changed = output("git", "-C", ROOT, "status", "--porcelain", "--", *paths).strip()
    except (CommandError, FileNotFoundError):
        return "unknown"
    return name + ("+" if changed else "")


def compiler() -> str:
    """Return the first line of the C compiler's version."""
    return output(*programs.compiler(cxx=False), "--version").splitlines()[0]


def libc() -> str:
    """Return the version of the C library."""
    return " ".join(platform.libc_ver())


def contestants() -> dict[str, str]:
    """Return each native contestant with its version, or with what is missing."""
    named = [each for each in native() if each.version or each.missing]
    return {each.name: each.missing or each.version for each in named}


def machine() -> dict[str, str]:
    """Return the facts shown above the tables."""
    return {
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "system": system(),
        "compiler": compiler(),
        "C library": libc(),
        "commit": commit(),
        "load at the start": f"{os.getloadavg()[0]:.2f}",
    }
