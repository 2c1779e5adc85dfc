"""Count, search and checksum files with three native plugins.

    host.py [--flag=value ...] [FILE ...]

Without files it reads this project's own. Values of flags come from three
places: the environment, the command line, and the code in main(). The table at
the end shows the source of each value.

    FLAGS_digest_kind=ieee host.py --search_pattern=flag README.md

The environment variable PLUGINS names the directory of the plugins.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import paddle_flags as pf

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = Path(os.environ.get("PLUGINS", ROOT / "build" / "plugins"))
OWN_FILES = ("README.md", "csrc/include/**/*.h", "examples/**/*.[ch]", "examples/**/*.py")

# A flag of this program. The plugins import it, and each obeys it.
pf.define("max_bytes", 0, "Bytes to read of each file, 0 for all", min=0)


class Tool:
    """A plugin of this program: it turns a file into named results."""

    def __init__(self, name: str) -> None:
        self.plugin = pf.load_plugin(PLUGINS / f"lib{name}.so")
        self.name = name
        self._run = ctypes.CDLL(self.plugin.path).plugin_run
        self._run.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]

    def run(self, path: str) -> dict[str, str]:
        """Return the plugin's results for the file. OSError says what failed."""
        result = ctypes.create_string_buffer(256)
        status = self._run(os.fsencode(path), result, len(result))
        text = result.value.decode()
        if status:
            raise OSError(status, text)
        return dict(field.split("=") for field in text.split())


def own_files() -> list[str]:
    found = {path for pattern in OWN_FILES for path in ROOT.glob(pattern)}
    return [os.path.relpath(path) for path in sorted(found)]


def print_table(rows: list[dict[str, str]]) -> None:
    """Print aligned columns, numbers to the right."""
    titles = list(dict.fromkeys(title for row in rows for title in row))
    cells = [titles] + [[row.get(title, "") for title in titles] for row in rows]
    columns = []
    for column in zip(*cells):
        width = max(map(len, column))
        right = all(cell.isdecimal() for cell in column[1:])
        columns.append([cell.rjust(width) if right else cell.ljust(width) for cell in column])
    for line in zip(*columns):
        print("  ".join(line).rstrip())


def report(tools: list[Tool], paths: list[str]) -> bool:
    """Run every tool over every file. Return whether all files could be read."""
    rows = []
    errors = []
    for path in paths:
        try:
            row = {"file": path}
            for tool in tools:
                row.update(tool.run(path))
            rows.append(row)
        except OSError as error:
            errors.append(f"host.py: {path}: {error.strerror}")
    if rows:
        print_table(rows)
    for error in errors:
        print(error, file=sys.stderr)
    return not errors


def print_flags() -> None:
    flags = [flag for flag in pf.FLAGS.values() if not flag.hidden]
    print_table(
        [
            {
                "flag": flag.name,
                "value": str(flag.value),
                "source": flag.source,
                "place": flag.place or "",
                "module": Path(flag.module).name,
            }
            for flag in flags
        ]
    )


def main() -> int:
    tools = [Tool("scan"), Tool("search"), Tool("digest")]
    paths = pf.parse(env_prefix="FLAGS_") or own_files()

    # Both plugins read files in blocks. Use one size for both, unless the user
    # has set the other.
    if pf.FLAGS["digest_buffer"].source == "default":
        pf.FLAGS.digest_buffer = pf.FLAGS.scan_buffer

    print("whole files")
    good = report(tools, paths)

    # The old values return when the block ends.
    with pf.override(max_bytes=1024, scan_words=False, digest_kind="castagnoli", digest_hex=True):
        print("\nonly the first KiB of each, as a hexadecimal CRC-32C")
        good &= report(tools, paths)

    print("\nflags")
    print_flags()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
