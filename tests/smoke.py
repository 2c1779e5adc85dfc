"""Use an installed package where there is neither source tree nor compiler.

smoke.py PLUGIN, the shared library of examples/plugins/scan
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import paddle_flags as pf


def command(*words: str) -> str:
    """Give what `python -m paddle_flags` prints."""
    line = [sys.executable, "-m", "paddle_flags", *words]
    return subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout


def main(plugin: str) -> None:
    for compiler in ("cc", "gcc", "clang"):
        assert shutil.which(compiler) is None, f"{compiler} is on the path"
    package = Path(pf.__file__).parent
    assert "site-packages" in package.parts, package

    scan = pf.load_plugin(plugin)
    assert "scan_words" in scan.flags
    assert pf.parse(["smoke", "--noscan_words", "file"], exit=False) == ["file"]
    assert pf.FLAGS.scan_words is False

    assert "scan_words" in command("list", "-p", plugin)
    include = command("config", "--cflags").strip().removeprefix("-I")
    assert Path(include, "pd_flags.h").is_file()
    assert Path(command("config", "--static").strip()).is_file()
    print(f"paddle_flags {pf.__version__} works in {package}")


if __name__ == "__main__":
    main(sys.argv[1])
