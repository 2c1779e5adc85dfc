"""The view of the fleet, with members that are processes."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import pytest
from flag_page import HERE, change
from support import run

from paddle_flags.fleet import Fleet, open_store

pytestmark = pytest.mark.release

COMMAND = [sys.executable, "-m", "paddle_flags"]
MEMBER = HERE / "page_member.py"


class Job:
    """A fleet in a folder, and its members."""

    def __init__(self, start, place):
        self._start = start
        self.url = f"dir://{place}/job"
        self.members = []

    def member(self, rank, *arguments, where="-", role="trainer", extra=0):
        each = self._start(where, self.url, role, str(rank), *arguments, extra=extra, script=MEMBER)
        self.members.append(each)
        return each

    def wait(self, count):
        """Wait until so many members are there."""
        store = open_store(self.url)
        end = time.monotonic() + 60
        while len(store.members()) != count:
            assert time.monotonic() < end, list(store.members())
            time.sleep(0.05)

    def add(self, count, **fields):
        """Announce members of which there are only the documents."""
        store = open_store(self.url)
        [own, *_] = [json.loads(each.document) for each in store.members().values()]
        for number in range(count):
            rank = 100 + number
            document = {**own, "name": f"reader-{rank}", "role": "reader", "rank": rank}
            document.update(pid=rank, host=f"node{number % 4}", world=None, **fields)
            store.announce(f"reader-{rank}", json.dumps(document).encode(), 600.0)


@pytest.fixture
def job(start, tmp_path):
    return Job(start, tmp_path)


@pytest.fixture
def three(job):
    """Three members, of which the first serves its flags."""
    first = job.member(0, where="gateway")
    job.member(1)
    job.member(2, "--learning_rate=0.01")
    job.wait(3)
    return first


def member(page, name):
    return page.locator("#fleet-members .member").filter(
        has=page.locator(f".name:text-is('{name}')")
    )


def difference(page, name):
    return page.locator("#fleet-differences .flag").filter(
        has=page.locator(f".name:text-is('{name}')")
    )


def look(show, program, who="ops", **options):
    """Open the view of the fleet, as soon as the page knows of it."""
    page = show(program, who, **options)
    page.locator("#fleet-tab").click()
    page.locator("#fleet-members .member").first.wait_for()
    return page


def order(page, name, value, *, reason="loss is NaN"):
    """Fill in the form, and ask the members."""
    page.locator("#fleet-new").click()
    page.get_by_label("Flag", exact=True).fill(name)
    page.get_by_label("Value", exact=True).fill(value)
    page.locator("#fleet-reason").fill(reason)
    page.locator("#fleet-check").click()


def carry_out(page):
    page.locator("#fleet-apply:enabled").click()
    page.locator("#fleet-form").wait_for(state="hidden")


def test_a_process_that_is_no_member_shows_no_fleet(trainer, show, expect):
    page = show(trainer)
    expect(page.locator("#count-flags")).not_to_be_empty()
    expect(page.locator("#fleet-tab")).to_be_hidden()


def test_all_members_are_listed_with_revision_and_state(three, show, expect):
    page = look(show, three)
    expect(page.locator("#fleet-members .member")).to_have_count(3)
    for rank in range(3):
        expect(member(page, f"trainer-{rank}")).to_contain_text("current")
    expect(member(page, "trainer-0")).to_contain_text("this process")
    expect(page.locator("#fleet-shown")).to_contain_text("3 members, none with problems")


def test_a_flag_that_differs_is_listed_with_values_sources_and_members(three, show, expect):
    page = look(show, three)
    row = difference(page, "learning_rate")
    expect(row).to_contain_text("0.001 in 2 · 0.01 in 1 (trainer-2)")
    expect(page.locator("#fleet-differences .flag")).to_have_count(1)
    row.click()
    expect(page.locator(".fleet-detail")).to_contain_text("0.001 default")
    expect(page.locator(".fleet-detail")).to_contain_text("argv")
    expect(page.locator(".fleet-detail")).to_contain_text("trainer-0, trainer-1")


def test_a_change_for_all_is_asked_for_made_and_answered_by_all(job, three, show, expect):
    page = look(show, three)
    order(page, "check_nan", "true")
    expect(page.locator("#fleet-status")).to_have_text("3 of 3 members would take it")
    carry_out(page)
    expect(page.locator("#fleet-status")).to_contain_text("3 of 3 members have taken it")
    for each in job.members:
        each.run("assert pf.FLAGS.check_nan is True")
    step = Fleet(job.url).log()[-1]
    assert step.record.reason == "loss is NaN"
    assert step.record.by == "ops at 127.0.0.1 through a gateway"
    expect(page.locator(".fleet-side .changes").first).to_contain_text("check_nan = true")


def test_a_change_for_one_role_leaves_the_others(job, three, show, expect):
    server = job.member(0, role="pserver")
    job.wait(4)
    page = look(show, three)
    expect(page.locator("#fleet-members .member")).to_have_count(4)
    page.locator("#fleet-new").click()
    page.locator("#fleet-scope").select_option("role:pserver")
    page.get_by_label("Flag", exact=True).fill("batch_size")
    page.get_by_label("Value", exact=True).fill("128")
    page.locator("#fleet-reason").fill("more memory")
    page.locator("#fleet-check").click()
    expect(page.locator("#fleet-status")).to_have_text("1 of 1 members would take it")
    carry_out(page)
    expect(page.locator("#fleet-status")).to_contain_text("1 of 1 members have taken it")
    server.run("assert pf.FLAGS.batch_size == 128")
    three.run("assert pf.FLAGS.batch_size == 64")


def test_a_value_that_members_reject_is_told_before_and_after(job, three, show, expect):
    job.members[1].run("pf.validator('batch_size', message='too large here')(lambda v: v < 100)")
    page = look(show, three)
    order(page, "batch_size", "128")
    expect(page.locator("#fleet-status")).to_have_text("2 of 3 members would take it")
    expect(page.locator("#fleet-answers .bad")).to_contain_text("too large here")
    expect(page.locator("#fleet-answers .bad")).to_contain_text("trainer-1")
    expect(page.locator("#fleet-apply")).to_have_text("Change it for all anyway")
    carry_out(page)
    expect(page.locator("#fleet-status")).to_contain_text("2 of 3 members have taken it")
    row = member(page, "trainer-1")
    expect(row).to_contain_text("rejected")
    expect(row).to_contain_text("too large here")
    expect(page.locator("#fleet-members .member").first).to_contain_text("trainer-1")


def test_a_change_at_a_step_waits_for_it_in_each_member(job, three, show, expect):
    for each in job.members:
        each.run("pf.fleet.tick(1)")
    page = look(show, three)
    page.locator("#fleet-new").click()
    page.locator("#fleet-step").fill("5")
    page.get_by_label("Flag", exact=True).fill("check_nan")
    page.get_by_label("Value", exact=True).fill("true")
    page.locator("#fleet-reason").fill("loss is NaN")
    page.locator("#fleet-check").click()
    carry_out(page)
    expect(page.locator("#fleet-answers")).to_contain_text("waits for its step")
    three.run("assert pf.FLAGS.check_nan is False")
    for each in job.members:
        each.run("pf.fleet.tick(5); assert pf.FLAGS.check_nan is True")
    expect(page.locator("#fleet-status")).to_contain_text("3 of 3 members have taken it")


def test_members_that_are_stopped_and_dead_are_named(job, three, show, expect):
    page = look(show, three)
    Fleet(job.url).set({"mode": "best"}, wait=30)
    os.kill(job.members[1].process.pid, signal.SIGSTOP)
    job.members[2].stop()
    try:
        expect(member(page, "trainer-2")).to_contain_text("gone")
        expect(page.locator("#fleet-shown")).to_contain_text("with problems")
    finally:
        os.kill(job.members[1].process.pid, signal.SIGCONT)


def states_of(url):
    """Return the states of the members, as the command prints them."""
    listed = run(*COMMAND, "status", url, "--json", check=False).stdout
    return {each["name"]: each["state"] for each in json.loads(listed)["members"]}


def test_members_have_the_states_that_the_command_prints(job, three, show, expect):
    """A member that has left is no problem, and one that has ended otherwise is gone."""
    reader, rejecting = job.member(0, role="reader"), job.member(0, role="pserver")
    job.wait(5)
    rejecting.run("pf.validator('batch_size', message='too large here')(lambda v: v < 100)")
    Fleet(job.url).set({"batch_size": "128"}, wait=30, force=True)
    page = look(show, three)
    reader.run("member.leave()")
    job.members[2].stop()
    expected = {"trainer-0": "current", "trainer-1": "current", "trainer-2": "gone"}
    expected |= {"pserver-0": "current", "reader-0": "left"}
    for name, state in expected.items():
        expect(member(page, name).locator(".cell-state .word").first).to_have_text(state)
    assert states_of(job.url) == expected
    odd = page.locator("#fleet-members .member.bad .name")
    expect(odd).to_have_text(["pserver-0", "trainer-2"])
    expect(member(page, "reader-0").locator(".cell-state")).to_have_text("left")
    expect(member(page, "reader-0").locator(".cell-revision")).to_have_text("")
    expect(page.locator("#fleet-shown")).to_contain_text("3 members, 2 with problems")
    printed = run(*COMMAND, "status", job.url, check=False).stdout
    assert "revision 1, 3 members" in printed
    for word in ("rejected", "too large here"):
        assert word in printed
        expect(member(page, "pserver-0").locator(".cell-state")).to_contain_text(word)


def test_somebody_else_who_changed_the_fleet_meanwhile_is_named(job, three, show, expect):
    page = look(show, three)
    order(page, "mode", "best")
    expect(page.locator("#fleet-status")).to_contain_text("would take it")
    Fleet(job.url, by="night-shift").set({"mode": "off"}, reason="slow")
    page.locator("#fleet-apply:enabled").click()
    expect(page.locator("#fleet-failure")).to_contain_text("by night-shift: mode=off")
    three.run("import time; time.sleep(1); assert pf.FLAGS.mode == 'off'")


def test_a_flag_that_may_not_be_changed_or_is_secret_is_refused(job, three, show, expect):
    page = look(show, three)
    order(page, "workers", "9")
    expect(page.locator("#fleet-answers .bad")).to_contain_text("needs a restart")
    page.get_by_label("Flag", exact=True).fill("token")
    page.locator("#fleet-check").click()
    expect(page.locator("#fleet-failure")).to_contain_text("is sensitive")
    assert Fleet(job.url).values() == {}
    assert "hunter2" not in page.content()


def test_an_unsafe_flag_asks_again(three, show, expect):
    page = look(show, three)
    order(page, "allocator", "system")
    page.locator("#fleet-apply:enabled").click()
    expect(page.get_by_role("dialog")).to_contain_text("unsafe")
    page.get_by_role("button", name="Change it anyway").click()
    expect(page.locator("#fleet-status")).to_contain_text("3 of 3 members have taken it")


def test_who_may_only_read_sees_the_fleet_and_no_form(three, show, expect):
    page = look(show, three, "viewer")
    expect(page.locator("#fleet-members .member")).to_have_count(3)
    expect(page.locator("#fleet-new")).to_be_hidden()


def test_an_engine_that_is_gone_is_told_and_the_page_goes_on(three, show, expect, tmp_path):
    page = look(show, three)
    (tmp_path / "job").rename(tmp_path / "away")
    (tmp_path / "job").write_text("not a folder")
    expect(page.locator("#fleet-problem")).to_be_visible()
    expect(page.locator("#fleet-members .member")).to_have_count(3)
    page.keyboard.press("1")
    change(page, "batch_size", "8")
    three.run("assert pf.FLAGS.batch_size == 8")


def test_fifty_members_and_a_thousand_flags_are_shown_and_searched(job, show, expect):
    first = job.member(0, where="gateway", extra=1000)
    job.wait(1)
    values = {f"extra_{number:04}": ["1", "argv", "", "0"] for number in range(300)}
    job.add(49, values=values)
    page = look(show, first)
    expect(page.locator("#fleet-shown")).to_contain_text("50 members")
    expect(page.locator("#fleet-shown")).to_contain_text("300 flags differ")
    assert page.locator("#fleet-members .member").count() < 50
    page.locator("#fleet-members").focus()
    page.keyboard.press("End")
    expect(page.locator("#fleet-members [aria-selected=true]")).to_contain_text("trainer-0")
    page.locator("#fleet-search").fill("extra_0299")
    expect(page.locator("#fleet-differences .flag")).to_have_count(1)
    expect(difference(page, "extra_0299")).to_contain_text("in 49")


def test_the_view_can_be_used_by_keyboard(three, show, expect):
    page = show(three)
    expect(page.locator("#fleet-tab")).to_be_visible()
    page.keyboard.press("4")
    expect(member(page, "trainer-0")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("trainer-2")
    expect(page.locator("#fleet-members .member")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator("#fleet-members")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator(".fleet-detail")).to_contain_text("trainer-0")
    page.locator("#fleet-new").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("mode")
    page.keyboard.press("Tab")
    page.keyboard.type("best")
    page.locator("#fleet-reason").focus()
    page.keyboard.type("faster")
    page.keyboard.press("Enter")
    expect(page.locator("#fleet-apply")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#fleet-status")).to_contain_text("3 of 3 members have taken it")


def test_the_fleet_in_a_window_of_360_pixels_needs_no_scrolling_to_the_side(three, show, expect):
    page = look(show, three, viewport={"width": 360, "height": 640})
    page.locator("#fleet-new").click()
    expect(page.locator("#fleet-form")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
