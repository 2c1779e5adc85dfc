"""Write a C source with the files of the live page and the documents of its API.

live_assets.py DIRECTORY OUTPUT, for csrc/live/Makefile. Files that DIRECTORY lacks are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

PATTERNS = ("page*.html", "page*.js", "page*.css", "openapi.json", "schemas/*.json")

END = """
const char *pd__asset(const char *name, size_t *length) {
  for (size_t at = 0; assets[at].name; at++) {
    if (strcmp(assets[at].name, name) != 0) continue;
    *length = assets[at].length;
    return (const char *)assets[at].data;
  }
  return NULL;
}
"""


def main(directory: Path, output: Path) -> None:
    """Embed the files of a directory."""
    files = sorted({file for pattern in PATTERNS for file in directory.glob(pattern)})
    lines = ["#include <string.h>", "", '#include "module.h"', ""]
    rows = []
    for number, file in enumerate(files):
        data = file.read_bytes()
        lines.append(f"static const unsigned char file_{number}[] = {{")
        starts = range(0, len(data), 32)
        lines += ["  " + ",".join(map(str, data[at : at + 32])) + "," for at in starts]
        lines.append("0};")
        name = file.relative_to(directory).as_posix()
        rows.append(f'  {{"{name}", file_{number}, {len(data)}}},')
    lines.append("static const struct {")
    lines.append("  const char *name;\n  const unsigned char *data;\n  size_t length;")
    lines += ["} assets[] = {", *rows, "  {NULL, NULL, 0}};", END]
    output.write_text("\n".join(lines))


main(Path(sys.argv[1]), Path(sys.argv[2]))
