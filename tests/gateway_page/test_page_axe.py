"""All views, with all that they can show, as axe-core sees them."""

from __future__ import annotations

import pytest
from flag_page import HERE, TOKENS, open_flag, row, search, stage

pytestmark = pytest.mark.release


@pytest.fixture
def site(start, tmp_path):
    """A gateway with two processes, one of which is a member of a fleet."""
    url = f"dir://{tmp_path}/job"
    other = start(f"{tmp_path}/b.sock", "--log_every=10")
    second = start("-", url, "trainer", "1", "--learning_rate=0.01", script=HERE / "page_member.py")
    second.run("pf.validator('batch_size', message='too large here')(lambda v: v < 100)")
    member = HERE / "page_member.py"
    first = start("gateway", url, "trainer", "0", script=member, beside=(other.address,))
    return first, other


@pytest.fixture
def check(axe):
    """Fail with what axe-core finds on the page as it is."""

    def run(page):
        page.evaluate("document.getAnimations().forEach(each => each.finish())")
        page.add_script_tag(content=axe)
        found = page.evaluate("axe.run()")["violations"]
        told = [f"{rule['id']}: {node['html']}" for rule in found for node in rule["nodes"]]
        assert not told, "\n".join(told)

    return run


def look_at_processes(page, check, expect):
    expect(page.locator("#token")).to_be_visible()
    check(page)
    page.locator("#token-text").fill(TOKENS["ops"])
    page.keyboard.press("Enter")
    expect(page.locator("#processes tbody tr")).to_have_count(2)
    check(page)


def look_at_flags(page, check, expect):
    expect(page.locator("#state")).to_have_text("Live")
    check(page)
    search(page, "nothing-like-this")
    expect(page.locator("#list + .nothing")).to_have_text("No flag matches.")
    check(page)
    for name in ("shards", "check_nan", "mode", "token", "workers", "cache_size"):
        open_flag(page, name)
        check(page)
    stage(page, "batch_size", "65")
    expect(page.locator("#edit-error")).not_to_be_empty()
    check(page)
    page.keyboard.press("Escape")
    page.locator("#tray").get_by_role("button", name="Discard", exact=True).click()
    stage(page, "log_every", "3")
    page.locator("#time").select_option("10m")
    page.locator("#tray button.main:enabled").click()
    expect(page.locator("#temporary")).to_be_visible()
    expect(page.locator("#panel .log li")).to_have_count(1)
    check(page)
    open_flag(page, "allocator")
    page.locator("#edit").select_option("system")
    page.get_by_role("button", name="Check change").click()
    page.get_by_role("button", name="Apply change").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    check(page)
    page.get_by_role("button", name="Change it anyway").click()
    expect(row(page, "allocator").locator(".value")).to_have_text("system")
    page.locator("#panel").get_by_role("button", name="Close").click()


def look_at_changes_and_comparison(page, check, expect, pid):
    page.locator("nav a", has_text="Changes").click()
    expect(page.locator("#changes li.change")).to_have_count(2)
    check(page)
    page.locator("nav a", has_text="Compare").click()
    expect(page.locator("#compare-list + .nothing")).to_be_visible()
    check(page)
    page.locator("#compare-with").select_option(str(pid))
    expect(page.locator("#compare-list .flag").first).to_be_visible()
    check(page)


def look_at_the_fleet(page, check, expect):
    expect(page.locator("#fleet-members .member")).to_have_count(2)
    check(page)
    page.locator("#fleet-differences .flag").first.click()
    page.locator("#fleet-new").click()
    page.get_by_label("Flag", exact=True).fill("batch_size")
    page.get_by_label("Value", exact=True).fill("128")
    page.locator("#fleet-reason").fill("more memory")
    page.locator("#fleet-check").click()
    expect(page.locator("#fleet-answers .bad")).to_be_visible()
    check(page)
    page.locator("#fleet-apply:enabled").click()
    expect(page.locator("#fleet-members .member.bad")).to_contain_text("rejected")
    page.locator("#fleet-members .member").first.click()
    check(page)
    page.locator("#fleet-search").fill("nothing-like-this")
    expect(page.locator("#fleet-members + .nothing")).to_have_text("No member matches.")
    check(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_view(site, show, expect, check, scheme):
    first, other = site
    page = show(first, None, bypass_csp=True, color_scheme=scheme)
    look_at_processes(page, check, expect)
    page.locator(f"#process-{other.process.pid}").click()
    look_at_flags(page, check, expect)
    look_at_changes_and_comparison(page, check, expect, first.process.pid)
    page.locator("#fleet-tab").click()
    look_at_the_fleet(page, check, expect)
    page.locator("#help").click()
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    check(page)
    page.keyboard.press("Escape")
    other.stop()
    expect(page.locator("#notice")).to_contain_text("has ended")
    check(page)
