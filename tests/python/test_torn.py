"""FLAGS_x is read whole while another thread sets it, in C and in C++."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from support import CC, CHECKED, CXX, INCLUDE, LIBDIR, ROOT, SANITIZE, WARNINGS, run

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = ROOT / "tests" / "c" / "torn.c"
LANGUAGES = {"c": (CC, "c", "-std=c11"), "c++": (CXX, "c++", "-std=c++11")}
READS = 1_000_000 if SANITIZE else 100_000_000  # of a sanitized program


@pytest.mark.extended  # takes a second or more
@pytest.mark.parametrize("language", LANGUAGES)
def test_none_of_100_million_reads_is_torn(tmp_path: Path, language: str) -> None:
    compiler, name, standard = LANGUAGES[language]
    options = [standard, "-D_DEFAULT_SOURCE", "-O2", "-g", f"-I{INCLUDE}", *WARNINGS, *CHECKED]
    linked = [f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags", "-pthread"]
    program = tmp_path / "torn"
    run(*compiler, *options, "-x", name, SOURCE, "-x", "none", "-o", program, *linked)
    said = run(program, READS).stdout
    found = re.fullmatch(r"(\d+) reads, 0 torn\n", said)
    assert found, said
    assert int(found[1]) >= READS
