"""The page and the command show the same words and the same values."""

from __future__ import annotations

import json
import re
import sys

import pytest
from flag_page import change, names, open_flag, row
from support import run

from paddle_flags._core.values import format_argument
from paddle_flags._report.facts import format_native_value

pytestmark = pytest.mark.release

COMMAND = [sys.executable, "-m", "paddle_flags"]
WHOLE = [0, 1, 59, 60, 61, 1023, 1024, 1280, 3600, 90061, 1 << 20, 3 << 28, (1 << 30) + 1]
WHOLE += [5 << 58, 2**64 - 1, -1, -90, -(1 << 31)]
REAL = [0.0, 0.25, 1.5, 90.5, 59.999999999, 1e-9, 1.5e-7, 2.5e-3, 1e-12, 86399.001, 65536.0]
REAL += [0.1 + 0.2, 1e15, 9e15, 1e20, -0.25, -90.0, float("inf"), float("nan")]
SHOWN = """async (all) => {
  const { shown } = await import('./page-text.js');
  return all.map(([type, unit, text]) => shown({ type, unit }, text));
}"""


def table(text):
    """Return the cells of a table of the command, a list for each line below the titles."""
    return [re.split(r"\s{2,}", line) for line in text.splitlines()[1:]]


def test_values_are_shown_as_the_command_lists_them(page, trainer, expect):
    page.locator("label.chip", has_text="hidden").click()
    trainer.run("pf.FLAGS.cache_size = 1 << 30; pf.FLAGS.shards = (); pf.undefine('greeting')")
    trainer.run("pf.define('empty', '', ''); pf.define('lines', 'a\\n\\u202eb', '')")
    expect(row(page, "lines")).to_have_count(1)
    expect(row(page, "cache_size").locator(".value")).to_have_text("1GiB")
    listed = table(run(*COMMAND, "list", trainer.address, "--all").stdout)
    expected = {name: value for name, _, value, *_ in listed}
    found = {name: row(page, name).locator(".value").inner_text() for name in names(page)}
    assert found == expected
    assert [found[each] for each in ("empty", "max_steps", "token", "lines")] == [
        '""',
        "none",
        "<redacted>",
        r"a\n\u202eb",
    ]


def test_the_panel_has_the_text_that_get_prints(page, trainer, expect):
    trainer.run("pf.FLAGS.cache_size = 1 << 30")
    open_flag(page, "cache_size")
    expect(page.locator("#panel .now .value")).to_have_text("1GiB")
    expect(page.locator("#edit")).to_have_value("1GiB")
    exact = page.locator("#panel .facts dt:text-is('exact') + dd")
    expect(exact).to_have_text(run(*COMMAND, "get", trainer.address, "cache_size").stdout.strip())


def test_quantities_are_written_as_the_command_writes_them(page):
    cases = [("int64", unit, each) for each in WHOLE for unit in ("bytes", "seconds", None)]
    cases += [("double", unit, each) for each in REAL for unit in ("bytes", "seconds", None)]
    found = page.evaluate(SHOWN, [(kind, unit, format_argument(v)) for kind, unit, v in cases])
    assert found == [format_native_value(value, unit) for _, unit, value in cases]


def test_the_facts_of_a_flag_are_those_of_explain(page, trainer, expect):
    open_flag(page, "cache_size")
    explained = run(*COMMAND, "explain", trainer.address, "cache_size").stdout
    lines = re.findall(r"^  ([a-z ]+): +(.*)$", explained, re.MULTILINE)
    expected = {title: text for title, text in lines if title not in ("help", "settable")}
    assert len(expected) > 4
    for title, text in expected.items():
        expect(page.locator(f"#panel .facts dt:text-is('{title}') + dd")).to_have_text(text)


def test_states_of_changes_are_those_of_log(page, trainer, expect):
    change(page, "log_every", "3")
    change(page, "batch_size", "8")
    page.keyboard.press("Escape")
    page.locator("nav a", has_text="Changes").click()
    page.get_by_role("button", name="Undo change 1").click()
    expect(page.locator("#changes li")).to_have_count(3)
    listed = json.loads(run(*COMMAND, "log", trainer.address, "--json").stdout)["changes"]
    lines = table(run(*COMMAND, "log", trainer.address).stdout)
    assert [each["change"] for each in listed] == [3, 2, 1]
    expect(page.locator("#changes .what")).to_have_text([line[2] for line in lines])
    assert [line[2] for line in lines] == ["undo of 1", "kept", "undone"]


def test_why_a_flag_cannot_be_changed_says_what_it_needs(page, trainer, expect):
    for name, needs in (("endpoint", ["runtime=True", "settable"]), ("workers", ["a restart"])):
        open_flag(page, name)
        explained = run(*COMMAND, "explain", trainer.address, name).stdout
        [why] = re.findall("settable: +no: (.*)", explained)
        expect(page.locator("#panel .refusal")).to_have_text(f"Not settable: {why}")
        for each in needs:
            expect(page.locator("#panel .refusal")).to_contain_text(each)


def test_changes_are_written_as_log_and_explain_write_them(page, trainer, expect):
    change(page, "cache_size", "1GiB")
    expect(page.locator("#panel .log li")).to_contain_text("64MiB → 1GiB")
    page.keyboard.press("Escape")
    page.locator("nav a", has_text="Changes").click()
    expect(page.locator("#changes .set")).to_contain_text("64MiB → 1GiB")
    for verb in (["log"], ["explain", "cache_size"]):
        words = [*COMMAND, verb[0], trainer.address, *verb[1:]]
        assert "64MiB -> 1GiB" in run(*words).stdout
    done = run(*COMMAND, "set", trainer.address, "cache_size=2GiB").stdout
    assert "cache_size: 1GiB -> 2GiB" in done
