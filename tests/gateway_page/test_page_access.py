"""The page for those who use only the keyboard, a screen reader, a small or a dark screen."""

from __future__ import annotations

import pytest
from flag_page import open_flag, stage

pytestmark = pytest.mark.extended


def test_everything_can_be_done_by_keyboard(trainer, show, expect):
    page = show(trainer, None)
    page.locator("#token-text").wait_for()
    page.keyboard.type("change-0123456789")
    page.keyboard.press("Enter")
    expect(page.locator("#state")).to_have_text("Live")
    page.keyboard.press("/")
    page.keyboard.type("log_every")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#list")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#edit")).to_be_focused()
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.type("to see more")
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_contain_text("log_every 10 → 5")
    expect(page.locator("#list")).to_be_focused()
    trainer.run("assert pf.FLAGS.log_every == 5")
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    expect(page.locator("#search")).to_have_value("")


def test_arrows_move_through_the_list_and_fold_groups(page, expect):
    page.locator("#list").focus()
    active = page.locator("#list [aria-selected=true]")
    page.keyboard.press("Home")
    expect(active).to_contain_text("Changed")
    page.keyboard.press("ArrowDown")
    expect(active).to_contain_text("endpoint")
    page.keyboard.press("ArrowLeft")
    expect(active).to_contain_text("Changed")
    page.keyboard.press("ArrowLeft")
    expect(active).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowDown")
    expect(active).not_to_contain_text("endpoint")
    identity = page.locator("#list").get_attribute("aria-activedescendant")
    expect(page.locator(f"#{identity}")).to_have_attribute("aria-selected", "true")


def test_a_question_mark_shows_the_keys_and_escape_closes_them(page, expect):
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_key_that_is_typed_into_a_field_is_text(page, expect):
    open_flag(page, "greeting")
    page.locator("#edit").fill("")
    page.keyboard.type("p/t?123")
    expect(page.locator("#edit")).to_have_value("p/t?123")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("view", ["#flags", "#changes", "#compare"])
def test_a_window_of_360_pixels_needs_no_scrolling_to_the_side(trainer, show, expect, view):
    page = show(trainer, view=view, viewport={"width": 360, "height": 640})
    expect(page.locator("#count-flags")).not_to_be_empty()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    if view == "#flags":
        stage(page, "batch_size", "65")
        expect(page.locator("#edit-error")).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_colors_follow_the_system_until_a_theme_is_chosen(trainer, show, expect):
    page = show(trainer, color_scheme="dark")
    color = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(color)
    page.keyboard.press("t")
    light = page.evaluate(color)
    assert light != dark
    page.reload()
    expect(page.locator("#state")).to_have_text("Live")
    assert page.evaluate(color) == light
    page.locator("#theme").click()
    page.locator("#theme").click()
    expect(page.locator("#theme")).to_have_attribute("title", "Color theme: automatic")
    assert page.evaluate(color) == dark
    page.emulate_media(color_scheme="light")
    assert page.evaluate(color) == light
