"""Edits: a control for each type, the dry run, batches, time limits, conflicts, undo."""

from __future__ import annotations

import pytest
from flag_page import apply, change, open_flag, row, search, stage

pytestmark = pytest.mark.extended


@pytest.mark.parametrize(
    ("name", "typed", "shown"),
    [
        ("learning_rate", "1e-3", "0.001"),
        ("batch_size", "0x80", "128"),
        ("seed", "18446744073709551613", "18446744073709551613"),
        ("cache_size", "1.5GiB", "1.5GiB"),
        ("timeout", "1m30s", "1m30s"),
        ("max_steps", "9007199254740993", "9007199254740993"),
        ("greeting", 'quotes "and" commas, all', 'quotes "and" commas, all'),
    ],
)
def test_a_text_sets_the_value_exactly(page, expect, name, typed, shown):
    change(page, name, typed)
    expect(row(page, name).locator(".value")).to_have_text(shown)


def test_a_bool_has_a_switch(page, expect):
    open_flag(page, "check_nan")
    page.get_by_role("switch").click()
    page.get_by_role("button", name="Check change").click()
    apply(page)
    expect(row(page, "check_nan").locator(".value")).to_have_text("true")


def test_choices_have_a_select(page, expect):
    open_flag(page, "mode")
    expect(page.locator("#edit option")).to_have_text(["fast", "best", "off"])
    page.locator("#edit").select_option("best")
    page.get_by_role("button", name="Check change").click()
    apply(page)
    expect(row(page, "mode").locator(".value")).to_have_text("best")


def test_a_range_has_a_slider(page, expect):
    open_flag(page, "batch_size")
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator("#edit")).to_have_value("4096")


def test_a_list_has_an_editor_of_items(page, trainer, expect):
    open_flag(page, "shards")
    page.get_by_role("button", name="Add item").click()
    page.get_by_label("Item 3", exact=True).fill('odd, "one"')
    page.get_by_role("button", name="Move item 3 up").click()
    page.get_by_role("button", name="Remove item 1").click()
    page.get_by_role("button", name="Check change").click()
    apply(page)
    expect(row(page, "shards")).to_contain_text('"odd, ""one""",train-01')
    trainer.run("assert pf.FLAGS.shards == ('odd, \"one\"', 'train-01'), pf.FLAGS.shards")


def test_an_optional_flag_without_a_value_gets_one_and_loses_it(page, expect):
    search(page, "max_steps")
    expect(row(page, "max_steps").locator(".value")).to_have_text("none")
    change(page, "max_steps", "7")
    expect(row(page, "max_steps").locator(".value")).to_have_text("7")
    page.get_by_role("button", name="Take back").click()
    apply(page)
    expect(row(page, "max_steps").locator(".value")).to_have_text("none")


def test_the_words_of_a_validator_are_shown_and_nothing_can_be_applied(page, trainer, expect):
    stage(page, "batch_size", "65")
    expect(page.locator("#edit-error")).to_contain_text("expected a multiple of 8")
    expect(page.locator("#edit")).to_be_focused()
    expect(page.locator("#edit")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Apply change")).to_be_disabled()
    page.locator("#edit").fill("72")
    page.keyboard.press("Enter")
    expect(page.locator("#edit-error")).to_be_empty()
    trainer.run("assert pf.FLAGS.batch_size == 64")  # a dry run changes nothing
    apply(page)
    trainer.run("assert pf.FLAGS.batch_size == 72")


def test_a_slow_check_leaves_the_focus_where_the_user_has_gone(page, expect):
    waiting = []
    page.route(
        "**/changes",
        lambda route: (
            waiting.append(route) if route.request.method == "POST" else route.continue_()
        ),
    )
    with page.expect_request(lambda request: request.method == "POST"):
        stage(page, "batch_size", "65")
    page.locator("#search").click()
    waiting[0].continue_()
    expect(page.locator("#edit-error")).to_contain_text("expected a multiple of 8")
    expect(page.locator("#search")).to_be_focused()


def test_a_batch_is_applied_as_a_whole_with_its_reason(page, trainer, expect):
    stage(page, "batch_size", "65")
    stage(page, "log_every", "5")
    expect(page.locator("#tray")).to_contain_text("2 pending changes")
    expect(page.get_by_role("button", name="Apply 2 changes")).to_be_disabled()
    trainer.run("assert pf.FLAGS.log_every == 10")
    page.get_by_role("button", name="Discard the change of batch_size").click()
    stage(page, "learning_rate", "0.5")
    page.locator("#reason").fill("the loss oscillates")
    apply(page)
    trainer.run("assert pf.FLAGS.log_every == 5 and pf.FLAGS.learning_rate == 0.5")
    expect(page.locator("#tray")).to_be_hidden()
    page.locator("body").evaluate("() => document.activeElement.blur()")  # a key is no text then
    page.keyboard.press("2")
    expect(page.locator("#changes li").first).to_contain_text("the loss oscillates")
    expect(page.locator("#changes li").first).to_contain_text("ops")


def test_a_temporary_value_counts_down_and_ends(page, trainer, expect):
    stage(page, "log_every", "3")
    page.locator("#time").select_option("own")
    page.locator("#own-time").fill("4s")
    page.locator("#own-time").press("Tab")
    apply(page)
    expect(page.locator("#temporary")).to_contain_text("log_every")
    expect(page.locator("#temporary .clock")).to_contain_text("0:0")
    expect(row(page, "log_every").locator(".clock")).to_be_visible()
    expect(page.locator("#panel .until")).to_contain_text("then 10")
    expect(page.locator("#temporary")).to_be_hidden()
    expect(row(page, "log_every").locator(".value")).to_have_text("10")
    trainer.run("assert pf.FLAGS.log_every == 10")


def test_a_wrong_time_is_told_in_the_words_of_the_process(page, expect):
    stage(page, "log_every", "3")
    page.locator("#time").select_option("own")
    page.locator("#own-time").fill("soon")
    page.locator("#own-time").press("Tab")
    expect(page.locator("#tray [role=alert]")).to_contain_text("for")
    expect(page.get_by_role("button", name="Apply change")).to_be_disabled()


def test_a_time_that_is_not_entered_is_not_for_ever(page, expect):
    stage(page, "log_every", "3")
    expect(page.locator("#tray .tray-status")).to_contain_text("Checked")
    page.locator("#time").select_option("own")
    expect(page.locator("#tray [role=alert]")).to_contain_text("for")
    expect(page.get_by_role("button", name="Apply change")).to_be_disabled()


def test_a_change_is_undone_by_its_author(page, trainer, expect):
    change(page, "log_every", "3")
    page.keyboard.press("2")
    page.get_by_role("button", name="Undo change 1").click()
    expect(page.locator("#changes li").nth(1)).to_contain_text("undone")
    trainer.run("assert pf.FLAGS.log_every == 10")


def test_an_undo_that_would_fail_is_not_offered(page, trainer, expect):
    undo = page.get_by_role("button", name="Undo change 1")
    change(page, "log_every", "3")
    expect(page.locator("#toast").get_by_role("button")).to_have_text("Undo")
    page.keyboard.press("Escape")
    page.locator("nav a", has_text="Changes").click()
    shown = page.locator("#changes").get_by_role("button", name="Undo change 1")
    expect(shown).to_be_visible()
    trainer.run("log_every.freeze()")
    expect(undo).to_have_count(0)
    trainer.run("log_every.unfreeze()")
    expect(shown).to_be_visible()
    trainer.run("pf.FLAGS.log_every = 4")
    expect(undo).to_have_count(0)
    expect(page.locator("#changes li")).to_contain_text("kept")


def test_an_undo_of_a_secret_that_is_not_kept_is_not_offered(page, expect):
    for number in (1, 2):
        change(page, "token", f"secret-{number}")
        expect(page.locator("#toast")).to_contain_text(f"Change {number} applied")
        expect(page.locator("#toast").get_by_role("button")).to_have_count(2 - number)


def test_only_what_clients_have_set_can_be_taken_back(page, expect):
    take_back = page.get_by_role("button", name="Take back")
    open_flag(page, "log_every")
    expect(page.locator("#panel .history tbody tr").first).to_be_visible()
    expect(take_back).to_have_count(0)
    change(page, "log_every", "3")
    expect(take_back).to_be_visible()
    take_back.click()
    apply(page)
    expect(take_back).to_have_count(0)
    expect(page.locator("#panel .now .value")).to_have_text("10")


def test_the_change_of_another_one_has_no_undo(page, trainer, show, expect):
    change(show(trainer, "night"), "log_every", "3")
    page.locator("nav a", has_text="Changes").click()
    expect(page.locator("#changes li")).to_contain_text("night-shift")
    expect(page.get_by_role("button", name="Undo change 1")).to_have_count(0)


def test_a_conflict_shows_who_changed_the_flag_meanwhile(page, trainer, show, expect):
    stage(page, "log_every", "3")
    expect(page.locator("#tray .tray-status")).to_contain_text("Checked")
    other = show(trainer, "night")
    stage(other, "log_every", "4")
    other.locator("#reason").fill("my turn")
    apply(other)
    conflict = page.locator("#tray .conflict")
    expect(conflict).to_contain_text("from 10 to 4")
    expect(conflict).to_contain_text("night-shift")
    expect(conflict).to_contain_text("my turn")
    page.get_by_role("button", name="Change it anyway").click()
    apply(page)
    trainer.run("assert pf.FLAGS.log_every == 3")


def test_a_conflict_that_only_the_process_knows_changes_nothing(page, trainer, expect):
    page.route("**/events", lambda route: route.abort())  # from now on, it learns nothing
    trainer.restart()
    expect(page.locator("#state")).not_to_have_attribute("data-state", "live")
    trainer.run("pf.FLAGS.log_every = 12")
    stage(page, "log_every", "3")
    expect(page.locator("#tray .conflict")).to_contain_text("from 10 to 12")
    expect(page.get_by_role("button", name="Apply change")).to_be_disabled()
    trainer.run("assert pf.FLAGS.log_every == 12")


def test_an_unsafe_flag_asks_first(page, trainer, expect):
    open_flag(page, "allocator")
    page.locator("#edit").select_option("system")
    page.get_by_role("button", name="Check change").click()
    page.get_by_role("button", name="Apply change").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("allocator")
    page.keyboard.press("Escape")
    trainer.run("assert pf.FLAGS.allocator == 'pool'")
    page.get_by_role("button", name="Apply change").click()
    dialog.get_by_role("button", name="Change it anyway").click()
    expect(row(page, "allocator").locator(".value")).to_have_text("system")
    trainer.run("assert pf.FLAGS.allocator == 'system'")


def test_who_may_only_read_gets_no_editor(trainer, show, expect):
    page = show(trainer, "viewer")
    expect(page.locator("#you")).to_have_text("read only")
    open_flag(page, "log_every")
    expect(page.locator("#panel .refusal")).to_be_visible()
    expect(page.locator("#edit")).to_have_count(0)
