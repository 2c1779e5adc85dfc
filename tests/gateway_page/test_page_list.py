"""The list of flags: groups, search, filters, and many flags."""

from __future__ import annotations

import pytest
from flag_page import names, open_flag, row, search

pytestmark = pytest.mark.extended


def test_changed_flags_come_first_and_others_by_module_and_category(page, expect):
    groups = page.locator("#list .group")
    expect(groups.nth(0)).to_contain_text("Changed")
    assert names(page)[:2] == ["endpoint", "log_every"]
    expect(groups.filter(has_text="Training")).to_contain_text("page_trainer.py")
    expect(groups.filter(has_text="Training")).to_contain_text("5")


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("BATCH-size", ["batch_size"]),  # by name, with dashes and in any case
        ("samples cache", ["cache_size"]),  # by two words of the help
        ("64MiB", ["cache_size"]),  # by the value, as it is shown
        ("67108864", ["cache_size"]),  # and exactly
        ("train-01", ["shards"]),
        ("nothing-like-this", []),
    ],
)
def test_what_is_typed_finds_flags_by_name_help_and_value(page, expect, typed, found):
    search(page, typed)
    expect(page.locator("#list .flag")).to_have_count(len(found))
    assert names(page) == found
    expect(page.locator("#shown")).to_contain_text(f"{len(found)} of ")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("changed", ["endpoint", "log_every"]),
        ("temporary", []),
        ("sensitive", ["token"]),
    ],
)
def test_a_filter_shows_only_its_flags(page, expect, name, found):
    page.locator("label.chip", has_text=name).click()
    expect(page.locator("#list .flag")).to_have_count(len(found))
    assert names(page) == found


def test_the_filter_settable_hides_what_needs_a_restart(page, expect):
    expect(row(page, "workers")).to_have_count(1)
    page.locator("label.chip", has_text="settable").click()
    expect(row(page, "workers")).to_have_count(0)
    expect(row(page, "mode")).to_have_count(1)


def test_hidden_flags_appear_when_asked_for(page, expect):
    expect(row(page, "inner")).to_have_count(0)
    page.locator("label.chip", has_text="hidden").click()
    expect(row(page, "inner")).to_have_count(1)


def test_a_flag_that_needs_a_restart_says_so(page, expect):
    open_flag(page, "workers")
    expect(page.locator("#panel")).to_contain_text("needs a restart")
    expect(page.locator("#edit")).to_have_count(0)


def test_the_panel_explains_where_a_value_comes_from(page, expect):
    open_flag(page, "log_every")
    cells = page.locator("#panel .history tbody tr")
    expect(cells.nth(0)).to_contain_text("in effect")
    expect(cells.nth(0)).to_contain_text("argv")
    expect(cells.nth(1)).to_contain_text("50")
    expect(cells.nth(1)).to_contain_text("hidden by argv")


def test_ten_thousand_flags_are_few_elements_and_all_are_found(start, show, expect):
    page = show(start("gateway", extra=10_000))
    expect(page.locator("#count-flags")).to_have_text("10016")
    assert page.locator("#list .flag").count() < 100
    search(page, "extra_09999")
    expect(row(page, "extra_09999")).to_contain_text("9999")
    search(page, "")
    page.locator("#list").focus()
    page.keyboard.press("End")
    expect(row(page, "seed")).to_be_visible()
    assert page.locator("#list .flag").count() < 100
