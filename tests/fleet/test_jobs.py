"""Jobs as their users start them: the programs of docs/how-to/join-a-fleet.md."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import subprocess
import sys

import pytest
from documents import blocks, commands
from support import ROOT, installed

pytestmark = pytest.mark.release  # needs gigabytes of packages

PAGE = ROOT / "docs" / "how-to" / "join-a-fleet.md"
JOBS = {
    "with_processes.py": (),
    "with_torch.py": ("torch",),
    "with_dask.py": ("distributed",),
    "with_ray.py": ("ray",),
}

# One of the members has another learning rate.
PLANTED = """\
    try:
        open({mark!r}, "x").close()
        lr.value = 0.5
    except FileExistsError:
        pass
    pf.fleet.check(expect=2"""


@pytest.fixture(params=JOBS)
def job(request, tmp_path):
    """Write the programs; return what runs one of them, and the output that the page shows."""
    for module in JOBS[request.param]:
        installed(module)
    found = blocks(PAGE.read_text("utf-8"))
    for block in found:
        if block.file:
            (tmp_path / block.file).write_text(block.text, "utf-8")
    consoles = [each.text for each in found if each.language == "console"]
    [(command, output)] = [
        shown for text in consoles for shown in commands(text) if request.param in shown[0]
    ]
    (tmp_path / "bin").mkdir()
    tool(tmp_path / "bin" / "torchrun", "torch.distributed.run")

    def run():
        variables = {
            "PATH": f"{tmp_path / 'bin'}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RES_OPTIONS": "timeout:1",
        }
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run, output


def tool(path, module):
    """Make the command of a package, which may be installed elsewhere than beside Python."""
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module} "$@"\n', "utf-8")
    path.chmod(0o755)


def test_a_change_reaches_all_processes_of_a_job(job):
    run, output = job
    ran = run()
    assert printed(ran.stdout) == printed(output), ran.stderr
    assert ran.returncode == 0


def printed(output):
    """Return what processes have printed; one may come before the newline of another."""
    return sorted(filter(None, re.split(r"\n|(?=rank \d)", output)))


def test_a_planted_difference_ends_the_job_and_names_flag_values_and_members(job, tmp_path):
    model = tmp_path / "model.py"
    planted = PLANTED.format(mark=str(tmp_path / "planted"))
    text = model.read_text("utf-8").replace("    pf.fleet.check(expect=2", planted)
    model.write_text(text, "utf-8")
    ran = job[0]()
    assert "CheckError" in ran.stderr
    # The others may have got the value of the fleet by then.
    one = r"'0\.1' from default in \S+|'0\.01' from fleet \S+ revision \d+ in \S+"
    one, other = f"(?:{one})", r"'0\.5' from run time \S+ in \S+"
    assert re.search(f"lr: ({one}; {other}|{other}; {one})", ran.stderr), ran.stderr
    assert "0.01" not in ran.stdout
