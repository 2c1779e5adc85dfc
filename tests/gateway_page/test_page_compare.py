"""Two processes side by side."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from flag_page import change
from support import run

pytestmark = pytest.mark.release

COMMAND = [sys.executable, "-m", "paddle_flags"]


@pytest.fixture
def two(start, tmp_path):
    """Two programs with other values."""
    first = start(f"{tmp_path}/a.sock", "--log_every=10", "--batch_size=128")
    return first, start(f"{tmp_path}/b.sock", "--log_every=20", "--batch_size=128")


@pytest.fixture
def proxy(two):
    """The page of both, as `paddle-flags open` serves it."""
    sockets = [program.address for program in two]
    opened = subprocess.Popen(
        [*COMMAND, "open", *sockets, "--print"], stdout=subprocess.PIPE, text=True
    )
    assert opened.stdout
    yield SimpleNamespace(url=opened.stdout.readline().strip())
    opened.terminate()
    opened.communicate()


@pytest.fixture
def both(proxy, show):
    page = show(proxy, None)
    page.locator("#state[data-state=live]").wait_for()
    page.keyboard.press("3")
    return page


def rows(page):
    return page.locator("#compare-list .flag")


def test_only_what_differs_is_shown_at_first(both, two, expect):
    expect(rows(both)).to_have_count(1)
    expect(rows(both)).to_contain_text("log_every")
    expect(rows(both).locator(".value")).to_have_text(["10", "20"])
    expect(both.locator("#compare-a")).to_contain_text(str(two[0].process.pid))
    expect(both.locator("#compare-b")).to_contain_text(str(two[1].process.pid))
    both.locator("label.chip", has_text="all flags").click()
    both.locator("#compare-search").fill("batch")
    expect(rows(both)).to_have_count(1)
    expect(rows(both).locator(".value")).to_have_text(["128", "128"])
    expect(both.locator("#compare-shown")).to_have_text("No differences")


def test_both_sides_are_followed(both, two, expect):
    expect(rows(both)).to_have_count(1)
    two[1].run("pf.FLAGS.mode = 'best'")
    expect(rows(both)).to_have_count(2)
    expect(both.locator("#count-compare")).to_have_text("2")
    two[0].run("pf.FLAGS.log_every = 11")
    expect(rows(both).filter(has_text="log_every").locator(".value")).to_have_text(["11", "20"])
    two[0].run("only = pf.define('only_here', 1, '')")
    expect(rows(both).filter(has_text="only_here")).to_contain_text("not defined")


def test_the_page_of_the_proxy_changes_flags_too(both, two, expect):
    both.keyboard.press("1")
    change(both, "log_every", "20")
    two[0].run("assert pf.FLAGS.log_every == 20")
    both.keyboard.press("3")
    expect(rows(both)).to_have_count(0)
    expect(both.locator("#compare-list + .nothing")).to_have_text(
        "All flags have the same values in both."
    )


def test_a_saved_list_is_compared_with(page, start, tmp_path, expect):
    other = start(f"{tmp_path}/b.sock", "--log_every=20", "--endpoint=http://ps-3:8800")
    saved = tmp_path / "yesterday.json"
    saved.write_text(run(*COMMAND, "list", other.address, "--json").stdout, "utf-8")
    page.keyboard.press("3")
    page.locator("#compare-file").set_input_files(saved)
    expect(page.locator("#compare-b")).to_have_text("yesterday.json")
    expect(rows(page).locator(".value")).to_have_text(["10", "20"])


def test_a_file_that_is_no_list_is_refused(page, tmp_path, expect):
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[1", "utf-8")
    page.keyboard.press("3")
    page.locator("#compare-file").set_input_files(wrong)
    expect(page.locator("#alarm")).to_contain_text("wrong.json is no list of flags")
