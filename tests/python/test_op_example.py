"""examples/ops: a host calls matmul, plugins implement it, and a flag chooses."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import pytest
from joining import environment
from support import CC, CHECKED, INCLUDE, LIBDIR, ROOT, SANITIZE, run, tool, write

if TYPE_CHECKING:
    from pathlib import Path

# Another library with OpenBLAS's function and name.
CBLAS = """
#include <stddef.h>
void cblas_sgemm(int order, int of_a, int of_b, int rows, int columns, int inner, float alpha,
                 const float *a, int a_stride, const float *b, int b_stride, float beta, float *out,
                 int out_stride);
void cblas_sgemm(int order, int of_a, int of_b, int rows, int columns, int inner, float alpha,
                 const float *a, int a_stride, const float *b, int b_stride, float beta, float *out,
                 int out_stride) {
  if (order != 101 || of_a != 111 || of_b != 111) return;
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < columns; j++) {
      float sum = 0;
      for (int k = 0; k < inner; k++) sum += a[i * a_stride + k] * b[k * b_stride + j];
      float *at = &out[i * out_stride + j];
      *at = alpha * sum + (beta != 0 ? beta * *at : 0);
    }
  }
}
"""


class Line(NamedTuple):
    """A line of the table."""

    choice: str
    runs: str
    remark: str


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ops")
    settings = [f"BUILD={place}", f"INCLUDE={INCLUDE}", f"LIBDIR={LIBDIR}", f"CC={shlex.join(CC)}"]
    settings.append(f"CFLAGS=-O2 -Werror {' '.join(CHECKED)}")
    run(tool("make"), "-C", ROOT / "examples" / "ops", *settings)
    return place


@pytest.fixture
def compare(built: Path, tmp_path: Path) -> Callable[..., list[Line]]:
    """Run the host beside a file in place of OpenBLAS; give its table."""
    write(tmp_path / "libopenblas.so.0", "no library")

    def compare(*flags: str, path: Path = tmp_path) -> list[Line]:
        plugins = [built / "libfast.so", built / "libopenblas_matmul.so"]
        told = environment(LD_LIBRARY_PATH=str(path))
        head, *lines = run(built / "host", *plugins, *flags, env=told).stdout.splitlines()
        assert head.split() == ["impl.matmul", "runs", "time", "faster"]
        found = [re.match(r"(\S+) +(\S+) +[\d.]+ ms +[\d.]+x(?: +(.*))?", line) for line in lines]
        return [Line(each[1], each[2], each[3] or "") for each in found if each]

    return compare


@pytest.mark.extended  # takes a second or more
def test_each_implementation_runs_when_it_is_chosen_and_all_products_agree(
    compare: Callable[..., list[Line]],
) -> None:
    *lines, yours = compare("--size=75")
    runs = {line.choice: line for line in lines}
    assert {"native,*", "blocked,*", "openblas,*"} <= set(runs)
    for choice, line in runs.items():
        assert line.remark or line.runs == choice.partition(",")[0]
    best = runs.get("avx2,*", runs["blocked,*"])
    expected = "blocked" if best.remark else best.runs
    assert yours == Line("*", expected, "your choice")


def test_a_library_that_does_not_open_says_why_and_the_next_implementation_runs(
    compare: Callable[..., list[Line]],
) -> None:
    (line,) = [line for line in compare("--size=20") if line.choice == "openblas,*"]
    assert line.runs in ("avx2", "blocked")
    assert "libopenblas.so.0: file too short" in line.remark


@pytest.mark.skipif(bool(SANITIZE), reason="the library isn't built for it")
def test_a_library_that_opens_runs(compare: Callable[..., list[Line]], tmp_path: Path) -> None:
    source = write(tmp_path / "own" / "cblas.c", CBLAS)
    run(*CC, "-shared", "-fPIC", source, "-o", tmp_path / "own" / "libopenblas.so.0")
    *lines, yours = compare("--size=33", path=tmp_path / "own")
    assert Line("openblas,*", "openblas", "") in lines
    assert yours.runs == "openblas"


def test_the_command_line_chooses_and_the_comparison_leaves_the_choice_alone(
    compare: Callable[..., list[Line]],
) -> None:
    assert compare("--size=20", "--impl.matmul=blocked,*")[-1].runs == "blocked"
    assert compare("--size=20", "--impl.matmul=-avx2,-openblas,*")[-1].runs == "blocked"
    assert compare("--size=20", "--impl.matmul=native")[-1][:2] == ("native", "native")


def test_a_misspelt_implementation_ends_the_host_with_the_nearest_name(built: Path) -> None:
    plugins = [built / "libfast.so", built / "libopenblas_matmul.so"]
    ended = run(built / "host", *plugins, "--impl.matmul=bocked", check=False, env=environment())
    assert ended.returncode == 2
    assert "'bocked' is no implementation of matmul; did you mean 'blocked'?" in ended.stderr
