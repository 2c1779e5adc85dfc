"""What the library says to bad input, word for word; tests/golden/messages.txt is to be read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import support

GOLDEN = support.ROOT / "tests" / "golden"
MACHINE = 18  # of e_machine in an ELF header


def make_libraries(directory: Path) -> None:
    (directory / "directory").mkdir()
    support.write(directory / "text.so", "This is no library.\n")
    source = support.write(
        directory / "nobody.c",
        "int nobody(void);\nint f(void);\nint f(void) { return nobody(); }\n",
    )
    library = bytearray(support.build_plugin(directory / "nobody.so", source).read_bytes())
    (directory / "short.so").write_bytes(library[: len(library) // 4])
    library[MACHINE] ^= 0xFF
    (directory / "machine.so").write_bytes(library)


@pytest.mark.skipif(support.WINDOWS, reason="libraries that lack a symbol are missing on Windows")
def test_every_message_is_the_one_that_was_agreed_on(tmp_path: Path) -> None:
    make_libraries(tmp_path)
    said = support.run(sys.executable, GOLDEN / "messages.py", cwd=tmp_path).stdout
    assert said == (GOLDEN / "messages.txt").read_text("utf-8")
