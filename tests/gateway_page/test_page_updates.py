"""What changes while the page is open, and what happens to its connection."""

from __future__ import annotations

import re

import pytest
from flag_page import open_flag, row, search

pytestmark = pytest.mark.release


def test_a_change_by_the_program_appears_in_its_row_alone(page, trainer, expect):
    search(page, "shard")
    expect(page.locator("#list .flag")).to_have_count(2)
    mark = "rows => rows.map(row => row.firstChild).forEach(cell => { cell.mine = true; })"
    page.locator("#list .flag").evaluate_all(mark)
    trainer.run("pf.FLAGS.timeout = 3.0")
    expect(row(page, "timeout").locator(".value")).to_have_text("3s")
    expect(row(page, "timeout").locator(".source")).to_have_text("run time")
    assert row(page, "shards").evaluate("row => row.firstChild.mine") is True
    assert row(page, "timeout").evaluate("row => row.firstChild.mine") is None


def test_the_panel_follows_its_flag_and_keeps_what_is_being_typed(page, trainer, expect):
    open_flag(page, "log_every")
    page.locator("#edit").fill("77")
    trainer.run("pf.FLAGS.log_every = 12")
    expect(page.locator("#panel .now .value")).to_have_text("12")
    expect(page.locator("#panel .log li")).to_contain_text("10 → 12")
    expect(page.locator("#edit")).to_have_value("77")


def test_flags_that_come_and_go_appear_and_disappear(page, trainer, expect):
    trainer.run("late = pf.define('late', 5, 'Defined later')")
    expect(row(page, "late")).to_contain_text("5")
    open_flag(page, "late")
    trainer.run("pf.undefine('late')")
    expect(row(page, "late")).to_have_count(0)
    expect(page.locator("#panel")).to_be_hidden()


def test_the_page_says_that_it_has_lost_the_process_and_finds_it_again(page, trainer, expect):
    trainer.stop()
    expect(page.locator("#state")).to_have_text(re.compile("Reconnecting|Stale"))
    expect(page).to_have_title(re.compile("reconnecting|stale"))
    trainer.start(trainer.address)
    trainer.run("pf.FLAGS.log_every = 99")
    expect(page.locator("#state")).to_have_text("Live")
    expect(row(page, "log_every").locator(".value")).to_have_text("99")
    expect(page.locator("#where")).to_contain_text(str(trainer.process.pid))


def test_a_process_that_stays_away_is_shown_as_stale(page, trainer, expect):
    page.clock.install()
    trainer.stop()
    expect(page.locator("#state")).to_have_text("Reconnecting")
    page.clock.run_for(40_000)
    expect(page.locator("#state")).to_have_text("Stale")
    expect(page.locator("#notice")).to_contain_text("were current at")


def test_a_server_that_keeps_no_stream_open_is_asked_again(start, show, expect):
    program = start("wsgi")
    page = show(program, None)
    expect(page.locator("#state")).to_have_text("Live, polling")
    program.run("pf.FLAGS.log_every = 12")
    expect(row(page, "log_every").locator(".value")).to_have_text("12")
    program.run("pf.FLAGS.log_every = 13")
    expect(row(page, "log_every").locator(".value")).to_have_text("13")


def test_a_wrong_token_is_asked_for_again_and_the_right_one_is_kept_in_the_tab(
    trainer, show, expect
):
    page = show(trainer, None)
    page.locator("#token-text").fill("wrong-0123456789abc")
    page.keyboard.press("Enter")
    expect(page.locator("#token-why")).to_contain_text("refused")
    page.locator("#token-text").fill("change-0123456789")
    page.keyboard.press("Enter")
    expect(page.locator("#state")).to_have_text("Live")
    page.reload()
    expect(page.locator("#state")).to_have_text("Live")
    assert page.evaluate("JSON.stringify({...localStorage})").find("change-0123456789") < 0
    assert page.context.cookies() == []


def test_whoever_gives_no_token_can_do_so_later(trainer, show, expect):
    page = show(trainer, None)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#state")).to_have_text("No token")
    page.get_by_role("button", name="Give a token").click()
    page.locator("#token-text").fill("change-0123456789")
    page.keyboard.press("Enter")
    expect(page.locator("#state")).to_have_text("Live")
