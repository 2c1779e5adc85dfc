"""Try an installed package: build a plugin against its headers, load it, set its flags.

installed.py; wants a C compiler, cc or $CC, and nothing else that isn't in the package.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import paddle_flags as pf

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    package = Path(pf.__file__).resolve().parent
    assert ROOT not in package.parents, f"{package} isn't installed"
    command = [sys.executable, "-m", "paddle_flags", "config", "--cflags"]
    flags = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    # Windows doesn't remove a plugin that is loaded.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        plugin = Path(place, "scan.dll" if sys.platform == "win32" else "libscan.so")
        source = ROOT / "examples" / "plugins" / "scan" / "scan.c"
        cc = os.environ.get("CC", "cc")
        build = [cc, "-shared", "-fPIC", *shlex.split(flags), str(source), "-o", str(plugin)]
        subprocess.run(build, check=True)
        with pf.load_plugin(plugin) as scan:  # Windows removes no file that is loaded
            assert "scan_words" in scan.flags
            assert pf.parse(["try", "--noscan_words", "file"], exit=False) == ["file"]
            assert pf.FLAGS.scan_words is False
    print(f"paddle_flags {pf.__version__} works in {package}")


if __name__ == "__main__":
    main()
