"""Paths, and how to run commands."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NATIVE = HERE / "native"
PYTHON = HERE / "python"
RESULTS = HERE / "results"
BUILD = ROOT / "build" / "bench"
INCLUDE = ROOT / "csrc" / "include"
LIBRARY = ROOT / "paddle_flags" / "lib" / "libpd_flags.so"


class CommandError(Exception):
    """A command failed; the text is all of its output."""


def output(*command: object, env: dict[str, str] | None = None) -> str:
    """Run a command and return its output."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
    if ended.returncode != 0:
        raise CommandError(f"{' '.join(words)}\n{ended.stdout}{ended.stderr}".strip())
    return ended.stdout


def fingerprint(*parts: object) -> str:
    """Return a short name for texts and for the contents of files and directories."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            files = sorted(part.rglob("*")) if part.is_dir() else [part]
            for file in files:
                if file.is_file() and "__pycache__" not in file.parts:
                    digest.update(file.name.encode() + file.read_bytes())
        else:
            digest.update(str(part).encode() + b"\0")
    return digest.hexdigest()[:16]
