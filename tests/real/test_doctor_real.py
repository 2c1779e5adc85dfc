"""The doctor and gen import beside the real Paddle and PyTorch."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support import package, run

if TYPE_CHECKING:
    from wheels import Real

pytestmark = pytest.mark.release  # needs gigabytes of packages

PROGRAM = """
import json
import paddle, torch
import paddle_flags as pf
from paddle_flags._doctor.examine import examine
from paddle_flags._doctor.text import format_report_lines
{}
found = examine([])
print(json.dumps([found, format_report_lines(found), list(pf.FLAGS)]))
"""


def examined(real: Real, script: str) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return the doctor's report at the end of a program, its lines, and the names here."""
    found, lines, names = json.loads(real.run(PROGRAM.format(script)).splitlines()[-1])
    title = lines.index("flags of other libraries in this process:") + 1
    return found, [each.strip() for each in lines[title : lines.index("", title)]], names


def test_flags_of_paddle_and_pytorch_are_not_bridged_at_first(real):
    found, lines, _ = examined(real, "")
    for line, library in zip(lines, ("c10", "paddle")):
        assert line.endswith(f'not bridged: pf.bridge("{library}") makes them flags here')
    rows = {each["library"]: each for each in found["foreign_flags"]}
    assert "check_nan_inf" in rows["Paddle"]["not_bridged"]
    assert "torch_lazy_metrics_percentiles" in rows["c10"]["not_bridged"]
    assert found["problems"] == []
    assert {each["library"] for each in found["other_libraries"]} >= {"c10", "Paddle"}


def test_all_flags_are_bridged_and_in_one_registry(real):
    found, lines, names = examined(real, "pf.bridge('paddle', 'c10')")
    rows = {each["library"]: each for each in found["foreign_flags"]}
    bridged = rows["c10"]["bridged"] + rows["Paddle"]["bridged"]
    assert sorted(bridged) == sorted(names)
    c10, paddle = (len(rows[each]["bridged"]) for each in ("c10", "Paddle"))
    assert lines[0] == f"c10: {c10} flags, all bridged"
    assert lines[1].startswith(f"Paddle: {paddle} flags, all bridged; ")
    assert "io_threadpool_size" in rows["Paddle"]["unlisted"]
    assert found["problems"] == []


def test_a_flag_of_pytorch_that_is_left_out_has_the_reason_until_it_has_another_name(real):
    script = "pf.define('v', 3, 'ours')\npf.bridge('paddle', 'c10')\n"
    found, (line, _), _ = examined(real, script)
    number = len(next(f for f in found["foreign_flags"] if f["library"] == "c10")["bridged"])
    assert line.startswith(f"c10: {number} of {number + 1} flags bridged; left out: v ('v' is")
    (problem,) = found["problems"]
    assert problem.startswith("flag 'v' is in two registries: paddle_flags (run time) and c10 (")
    found, (line, _), _ = examined(real, script + "pf.bridge('c10', namespace='torch')")
    assert line == f"c10: {number + 1} flags, all bridged"
    assert found["problems"] == []


def test_explain_names_the_library(real):
    script = """
import paddle, torch
import paddle_flags as pf
pf.bridge()
print(pf.explain("check_nan_inf"))
print(pf.explain("torch_lazy_metrics_samples"))
"""
    lines = real.run(script).splitlines()
    shared = [line.strip() for line in lines if "shared with" in line]
    assert shared == ["shared with: Paddle", "shared with: c10"]


@pytest.mark.parametrize(
    ("file", "library", "flag"),
    [
        ("torch/lib/libc10.so", "c10", "caffe2_log_level"),
        ("paddle/libs/libcommon.so", "Paddle", "op_dir"),
    ],
)
def test_importing_a_library_of_theirs_names_its_registry(real, file, library, flag, tmp_path):
    package("ruamel.yaml")
    path, out = real.site / file, tmp_path / "flags.yaml"
    command = [sys.executable, "-m", "paddle_flags", "gen", "import", "plugin", path, "-o", out]
    ended = run(*command, check=False)
    argument = {"c10": "c10", "Paddle": "paddle"}[library]
    (line,) = ended.stderr.splitlines()
    assert f" flags of {library} (" in line
    assert flag in line
    assert f'pf.bridge("{argument}") makes them flags here; they are left out' in line
    assert ended.returncode == 1
    assert flag not in out.read_text("utf-8")
