"""Generate the cffi module from the public header."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from cffi import FFI

HEADER = Path(__file__).parent / "csrc" / "include" / "pd_flags.h"

# The module record is for plugins; the extension defines no flags.
SOURCE = """
#define PD_NO_MODULE_RECORD
#include <pd_flags.h>

#include "gil.h"
"""


def declarations(compiler: list[str]) -> str:
    """Return the declarations and constants of the header."""
    command = [*compiler, "-E", "-P", "-DPD_CDEF", str(HEADER)]
    expanded = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    text = HEADER.read_text("utf-8")
    constants = re.findall(r"^#define (PD_\w+) (\d|\")", text, re.MULTILINE)
    for name, first in constants:
        text = f"static const char *const {name};" if first == '"' else f"#define {name} ..."
        expanded += f"\n{text}"
    return expanded


def write_module(compiler: list[str], path: Path) -> None:
    """Write the C source of paddle_flags._native to `path`."""
    ffi = FFI()
    ffi.cdef(declarations(compiler))
    ffi.set_source("paddle_flags._native", SOURCE)
    path.parent.mkdir(parents=True, exist_ok=True)
    ffi.emit_c_code(str(path))
    # cffi 1.x leaves them to Python.h, which since 3.13 doesn't include them for the limited API.
    path.write_text(f"#include <stdlib.h>\n#include <string.h>\n{path.read_text()}")
