"""Scoped flags of flags.yaml: in C, C++ and Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from joining import python
from support import CC, CXX, INCLUDE, WARNINGS, run, write

if TYPE_CHECKING:
    from pathlib import Path

FLAGS = """
name: gamma
version: 1.0.0
flags:
- name: gamma_level
  type: int32
  default: 6
  range: [1, 9]
  help: Compression level
  attributes: [scoped]
- name: gamma_mode
  type: string
  default: fast
  choices: [fast, best]
  help: How to search
  attributes: [scoped]
- name: gamma_checks
  type: bool
  default: false
  help: Check everything
"""
COMPAT = """
implies:
- flag: gamma_mode
  value: best
  sets: {gamma_checks: true}
"""
READ = """
#include "{header}"
#ifdef __cplusplus
extern "C"
#endif
int gamma_read(void);
int gamma_read(void) {{ return {level} + ({checks} ? 100 : 0); }}
"""
PROGRAM = """
import ctypes, sys
import paddle_flags as pf
gamma = pf.load_plugin(sys.argv[1])
read = ctypes.CDLL(gamma.path).gamma_read
with pf.scoped(gamma_level=9, gamma_mode="best"):
    print(read(), pf.FLAGS.gamma_checks)
    with pf.wrap_executor(__import__("concurrent.futures").futures.ThreadPoolExecutor()) as pool:
        print(pool.submit(read).result())
pf.FLAGS.gamma_mode = "best"
print(read(), pf.FLAGS.gamma_checks)
"""


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from paddle_flags.gen.cli import run as gen  # an extra, maybe missing

    place = tmp_path_factory.mktemp("gen_scoped")
    flags = write(place / "flags.yaml", FLAGS)
    write(place / "flags_compat.yaml", COMPAT)
    assert gen([str(flags), "--output", str(place / "made")], "gen") == 0
    return place / "made"


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_native_code_reads_the_value_of_its_thread(
    generated: Path, tmp_path: Path, language: str
) -> None:
    cxx = language == "cpp"
    reads = {"level": "PD_SCOPED(gamma_level)", "checks": "FLAGS_gamma_checks"}
    if cxx:
        reads = {"level": "gamma::flags::gamma_level()", "checks": "gamma::flags::gamma_checks()"}
    header = next(generated.rglob("*.hpp" if cxx else "*.h"))
    source = write(tmp_path / f"read.{language}", READ.format(header=header.name, **reads))
    objects = []
    options = [*WARNINGS, "-fPIC", f"-I{INCLUDE}", f"-I{header.parent}", f"-I{generated}"]
    for each in [source, *sorted(generated.rglob("*.c"))]:
        compiler = [*CXX, "-std=c++17"] if each.suffix == ".cpp" else CC
        objects.append(tmp_path / f"{each.name}.o")
        run(*compiler, *options, "-c", each, "-o", objects[-1])
    run(*(CXX if cxx else CC), "-shared", *objects, "-o", tmp_path / "libgamma.so")
    assert python(PROGRAM, tmp_path / "libgamma.so") == ["9 False", "9", "106 True"]


def test_python_defines_them_as_scoped(generated: Path) -> None:
    module = next(path for path in generated.rglob("*.py"))
    program = f"""
import sys
sys.path.insert(0, {str(module.parent)!r})
import paddle_flags as pf
import {module.stem}
{module.stem}.define()
with pf.scoped(gamma_level=9):
    print(pf.FLAGS.gamma_level, pf.FLAGS["gamma_level"].scoped)
"""
    assert python(program) == ["9 True"]
