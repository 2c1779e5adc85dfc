"""Texts of hostile programs and clients stay texts, and secrets stay secret."""

from __future__ import annotations

import json

import pytest
from flag_page import apply, open_flag, search, stage

pytestmark = pytest.mark.release

SCRIPT = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
FROM_START = "hunter2-of-the-server"


def test_script_in_names_help_values_and_reasons_is_shown_as_text(page, expect):
    open_flag(page, "greeting")
    expect(page.locator("#panel .help")).to_have_text(SCRIPT)
    expect(page.locator("#panel .now .value")).to_have_text(SCRIPT)
    stage(page, "greeting", f"{SCRIPT}2")
    page.locator("#reason").fill(SCRIPT)
    apply(page)
    expect(page.locator("#panel .log li").first).to_contain_text(SCRIPT)
    page.keyboard.press("2")
    expect(page.locator("#changes li").first).to_contain_text(SCRIPT)
    assert page.evaluate("window.hit") is None
    assert page.locator("main img, main script, .toast img").count() == 0


def test_script_in_an_error_is_shown_as_text(page, expect):
    stage(page, "batch_size", SCRIPT)
    expect(page.locator("#edit-error")).to_contain_text(SCRIPT)
    assert page.evaluate("window.hit") is None


def test_script_in_a_saved_file_is_shown_as_text(page, expect):
    page.keyboard.press("3")
    flag = {"name": SCRIPT, "text": SCRIPT, "value": SCRIPT, "source": SCRIPT, "module": SCRIPT}
    text = json.dumps({"flags": [flag]}).encode()
    file = {"name": f"{SCRIPT}.json", "mimeType": "application/json", "buffer": text}
    page.locator("#compare-file").set_input_files(file)
    expect(page.locator("#compare-b")).to_contain_text(SCRIPT)
    page.locator("#compare-search").fill("<script>")
    expect(page.locator("#compare-list .flag", has_text="not defined")).to_contain_text(
        [SCRIPT, SCRIPT]
    )
    assert page.evaluate("window.hit") is None


def test_a_secret_is_nowhere_in_the_page(page, trainer, expect):
    open_flag(page, "token")
    expect(page.locator("#panel .now .value")).to_have_text("<redacted>")
    expect(page.locator("#edit")).to_have_attribute("type", "password")
    stage(page, "token", "another-secret")
    apply(page)
    trainer.run("assert pf.FLAGS.token == 'another-secret'")
    expect(page.locator("#edit")).to_have_value("")
    search(page, "hunter2")
    expect(page.locator("#list .flag")).to_have_count(0)
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    for secret in (FROM_START, "another-secret"):
        assert secret not in page.content()
        assert secret not in stored


def test_the_page_works_under_its_own_policy(trainer, show):
    refused: list[str] = []
    page = show(trainer, None)
    page.on("console", lambda message: refused.append(message.text))
    page.reload()
    page.locator("#token-text").fill("change-0123456789")
    page.keyboard.press("Enter")
    page.locator("#state[data-state=live]").wait_for()
    open_flag(page, "batch_size")
    assert not [text for text in refused if "Content Security Policy" in text]
    page.evaluate(
        "document.body.append(document.createRange().createContextualFragment(evil))".replace(
            "evil", json.dumps(SCRIPT)
        )
    )
    page.wait_for_function("document.images.length === 1")
    assert page.evaluate("window.hit") is None  # even if there were a way to put HTML in
