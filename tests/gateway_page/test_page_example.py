"""`make live`: the service of examples/live, and its page."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from flag_page import change, open_flag, row
from support import ROOT, run

pytestmark = pytest.mark.release


@pytest.fixture
def example(tmp_path):
    """The page that examples/live/show.sh prints the address of."""
    run("make", "-C", ROOT / "examples", f"BUILD={tmp_path}")
    script = [str(ROOT / "examples" / "live" / "show.sh"), str(Path(sys.executable).parent)]
    process = subprocess.Popen(
        [*script, "--print"],
        env={**os.environ, "PLUGINS": f"{tmp_path}/plugins", "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    lines = iter(process.stdout.readline, "")
    yield SimpleNamespace(url=next(line.strip() for line in lines if line.startswith("http")))
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate()


def test_the_example_shows_its_page(example, show, expect):
    page = show(example, None)
    expect(page.locator("#program")).to_have_text("service.py")
    change(page, "pause", "2s")
    expect(row(page, "pause").locator(".value")).to_have_text("2s")
    open_flag(page, "workers")
    expect(page.locator("#panel .refusal")).to_have_text("Not settable: needs a restart")
