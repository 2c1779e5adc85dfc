"""The list of all processes, and the page of `paddle-flags open` for each kind of target."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from flag_page import HERE, row

from paddle_flags.fleet import Fleet

pytestmark = pytest.mark.release


@pytest.fixture
def opened():
    """Start `paddle-flags open`."""
    started = []

    def run(*targets, env=None):
        words = [sys.executable, "-m", "paddle_flags", "open", *targets, "--print"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env)
        started.append(process)
        assert process.stdout
        return SimpleNamespace(url=process.stdout.readline().strip())

    yield run
    for each in started:
        each.kill()
        each.communicate()


@pytest.fixture
def machine(start, opened, tmp_path, monkeypatch):
    """A machine with two processes, and the page of both."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = tmp_path / "paddle_flags"
    folder.mkdir(mode=0o700)
    first, second = start(f"{folder}/1.sock", "--log_every=10"), start(f"{folder}/2.sock")
    return first, second, opened()


def link(page, program):
    return page.locator(f"#process-{program.process.pid}")


def test_all_processes_are_listed_and_one_is_chosen(machine, show, expect):
    first, second, site = machine
    page = show(site, None)
    expect(page.locator("#processes tbody tr")).to_have_count(2)
    for program in (first, second):
        line = page.locator("#processes tr", has=link(page, program))
        expect(line).to_contain_text(str(program.process.pid))
        expect(line).to_contain_text("trainer")
        expect(line).to_contain_text("16")
    link(page, first).click()
    expect(page.locator("#state")).to_have_text("Live")
    expect(row(page, "log_every").locator(".value")).to_have_text("10")
    page.locator("#all-tab").click()
    second.stop()
    expect(page.locator("#processes tbody tr")).to_have_count(1)


def test_two_of_them_are_compared(machine, show, expect):
    first, second, site = machine
    page = show(site, None)
    compare = page.get_by_role("button", name="Compare")
    expect(compare).to_be_disabled()
    for program in (first, second):
        page.locator(f"#compare-{program.process.pid}").check()
    compare.click()
    expect(page.locator("#compare-list .flag .name")).to_have_text(["log_every"])


def test_another_process_is_chosen_in_the_comparison(machine, show, expect):
    first, second, site = machine
    page = show(site, None)
    link(page, first).click()
    expect(page.locator("#state")).to_have_text("Live")
    page.keyboard.press("3")
    expect(page.locator("#compare-list + .nothing")).to_contain_text("Choose another process")
    page.locator("#compare-with").select_option(str(second.process.pid))
    expect(page.locator("#compare-list .flag .name")).to_have_text(["log_every"])


def test_a_comparison_that_cannot_be_made_says_why(machine, show, expect):
    first, second, site = machine
    page = show(site, None)
    nothing = page.locator("#compare-list + .nothing")
    page.goto(f"{page.url}?pid={first.process.pid}&with={second.process.pid}#compare")
    expect(page.locator("#compare-list .flag .name")).to_have_text(["log_every"])
    second.run("server.close()")
    expect(page.locator("#compare-b")).to_contain_text("(ended)")
    page.reload()
    expect(nothing).to_contain_text(f"Process {second.process.pid} has ended")
    page.goto(page.url.replace(f"&with={second.process.pid}", ""))
    expect(nothing).to_contain_text("There is no other process here")


def test_a_process_that_has_ended_is_told_with_a_way_to_the_others(machine, show, expect):
    first, _, site = machine
    page = show(site, None)
    link(page, first).click()
    expect(page.locator("#state")).to_have_text("Live")
    first.run("server.close()")
    expect(page.locator("#notice")).to_contain_text("has ended")
    page.locator("#notice a").click()
    expect(page.locator("#processes tbody tr")).to_have_count(1)


def test_the_list_can_be_used_by_keyboard(machine, show, expect):
    first, second, site = machine
    page = show(site, None)
    link(page, first).focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    expect(page.locator(f"#compare-{first.process.pid}")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#state")).to_have_text("Live")
    page.keyboard.press("0")
    expect(link(page, second)).to_be_visible()


def test_a_list_in_a_window_of_360_pixels_needs_no_scrolling_to_the_side(machine, show, expect):
    page = show(machine[2], None, viewport={"width": 360, "height": 640})
    expect(page.locator("#processes tbody tr")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_fleet_is_opened_by_its_address(start, opened, show, expect, tmp_path):
    url = f"dir://{tmp_path}/job"
    for rank in ("0", "1"):
        start("-", url, "trainer", rank, script=HERE / "page_member.py")
    page = show(opened(url), None)
    expect(page.locator("#fleet-members .member")).to_have_count(2)
    expect(page).to_have_title(url)
    expect(page.locator('nav a[href="#flags"]')).to_be_hidden()
    page.locator("#fleet-new").click()
    page.get_by_label("Flag", exact=True).fill("allocator")
    page.get_by_label("Value", exact=True).fill("system")
    page.locator("#fleet-reason").fill("memory")
    page.locator("#fleet-check").click()
    page.locator("#fleet-apply:enabled").click()
    expect(page.get_by_role("dialog")).to_contain_text("allocator: unsafe")
    page.get_by_role("button", name="Change it anyway").click()
    expect(page.locator("#fleet-status")).to_contain_text("2 of 2 members have taken it")
    assert Fleet(url).values()["allocator"].value == "system"


def test_a_process_is_opened_together_with_its_fleet(start, opened, show, expect, tmp_path):
    url = f"dir://{tmp_path}/job"
    member = start(f"{tmp_path}/member.sock", url, "trainer", "0", script=HERE / "page_member.py")
    page = show(opened(member.address, url), None)
    expect(page.locator("#state")).to_have_text("Live")
    page.locator("#fleet-tab").click()
    expect(page.locator("#fleet-members .member")).to_contain_text("this process")


@pytest.mark.usefixtures("machine")
def test_a_member_of_this_machine_leads_to_its_flags(start, opened, show, expect, tmp_path):
    url = f"dir://{tmp_path}/job"
    folder = tmp_path / "paddle_flags"
    member = start(f"{folder}/3.sock", url, "trainer", "0", script=HERE / "page_member.py")
    page = show(opened(url), None)
    page.locator("#fleet-members .member").click()
    page.get_by_role("link", name="Flags of this process").click()
    expect(page.locator("#where")).to_contain_text(str(member.process.pid))
    expect(row(page, "learning_rate")).to_be_visible()
    page.keyboard.press("4")
    expect(page.locator("#fleet-members .member")).to_contain_text("this process")
