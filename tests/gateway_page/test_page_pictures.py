"""The pictures of docs/how-to/change-a-running-process.md."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from flag_page import HERE, TOKENS, apply, open_flag, search, stage

from paddle_flags.fleet import Fleet

pytestmark = pytest.mark.release

TIDY = "pf.undefine('greeting'); pf.undefine('inner')"


@pytest.fixture(scope="module")
def script():
    """The program, where its path is short."""
    with tempfile.TemporaryDirectory(prefix="job-") as place:
        yield Path(shutil.copy(HERE / "page_trainer.py", Path(place) / "trainer.py"))


@pytest.fixture
def scene(start, show, pictures, expect, script):
    """The page of a program in which something is going on."""
    pictures.mkdir(parents=True, exist_ok=True)
    program = start("gateway", "--batch_size=128", "--endpoint=http://ps-3:8800", script=script)
    program.run(TIDY)

    def run(**options):
        page = show(program, **options)
        page.mouse.move(600, 20)
        change(page, {"check_nan": True}, "600", "loss is NaN since step 41,000")
        change(page, {"log_every": "10"}, None, "more detail")
        expect(page.locator("#list .changed .name")).to_have_count(4)
        page.wait_for_timeout(1800)  # the marks of what has just changed fade
        return page

    def change(page, values, time, reason):
        body = json.dumps({"set": values, "reason": reason} | ({"for": time} if time else {}))
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKENS['ops']}"}
        answer = page.request.post(
            f"{program.url}v1/processes/{program.process.pid}/changes", data=body, headers=headers
        )
        assert answer.ok, answer.text()

    return run


def test_a_picture_of_the_list(scene, pictures):
    page = scene()
    page.locator("#list").blur()
    page.screenshot(path=pictures / "light.png")


def test_a_picture_of_a_batch_in_the_dark(scene, pictures, expect):
    page = scene(color_scheme="dark")
    stage(page, "learning_rate", "0.0005")
    stage(page, "cache_size", "1.5GiB")
    search(page, "")
    page.locator("#reason").fill("the loss oscillates")
    page.locator("#time").select_option("10m")
    expect(page.locator("#tray .tray-status")).to_contain_text("Checked")
    page.screenshot(path=pictures / "dark.png")


def test_a_picture_of_an_error(scene, pictures, expect):
    page = scene()
    stage(page, "batch_size", "100")
    expect(page.locator("#edit-error")).not_to_be_empty()
    search(page, "")
    page.screenshot(path=pictures / "error.png")


def test_a_picture_of_a_narrow_window(scene, pictures):
    page = scene(viewport={"width": 390, "height": 780})
    page.screenshot(path=pictures / "narrow.png")


def test_a_picture_of_the_changes(scene, pictures):
    page = scene()
    stage(page, "timeout", "3s")
    apply(page)
    open_flag(page, "log_every")
    page.locator("nav a", has_text="Changes").click()
    page.locator("#panel .log li").wait_for()
    page.wait_for_timeout(300)
    page.screenshot(path=pictures / "changes.png")


def test_a_picture_of_the_processes(start, show, pictures, expect, script):
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="job-") as place:
        server = Path(shutil.copy(script, Path(place) / "server.py"))
        beside = [start(f"{place}/{n}.sock", script=s) for n, s in enumerate((script, server))]
        arguments = (f"dir://{place}/job42", "trainer", "0")
        sockets = tuple(each.address for each in beside)
        member = Path(shutil.copy(HERE / "page_member.py", Path(place) / "reader.py"))
        first = start("gateway", *arguments, script=member, beside=sockets)
        page = show(first, None, viewport={"width": 1280, "height": 420})
        page.locator("#token-text").fill(TOKENS["ops"])
        page.keyboard.press("Enter")
        expect(page.locator("#processes tbody tr")).to_have_count(3)
        for each in beside:
            page.locator(f"#compare-{each.process.pid}").check()
        page.mouse.move(600, 20)
        page.screenshot(path=pictures / "processes.png")


def test_a_picture_of_two_processes(start, show, pictures, expect, script):
    pictures.mkdir(parents=True, exist_ok=True)
    one = start(f"{script.parent}/a.sock", "--batch_size=128", "--cache_size=1GiB", script=script)
    two = start(
        f"{script.parent}/b.sock",
        "--batch_size=64",
        "--learning_rate=0.01",
        "--log_every=10",
        script=script,
    )
    for program in (one, two):
        program.run(TIDY)
    command = [sys.executable, "-m", "paddle_flags", "open", one.address, two.address]
    proxy = subprocess.Popen([*command, "--print"], stdout=subprocess.PIPE, text=True)
    assert proxy.stdout
    url = proxy.stdout.readline().strip()
    page = show(SimpleNamespace(url=url), None, viewport={"width": 1280, "height": 420})
    page.keyboard.press("3")
    expect(page.locator("#compare-list .flag")).to_have_count(4)
    page.screenshot(path=pictures / "compare.png")
    proxy.terminate()
    proxy.communicate()


def test_a_picture_of_the_fleet(start, show, pictures, expect):
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="job-") as place:
        url = f"dir://{place}/job42"
        script = Path(shutil.copy(HERE / "page_member.py", Path(place) / "trainer.py"))

        def member(where, role, rank, *arguments):
            return start(where, url, role, str(rank), *arguments, script=script)

        first = member("gateway", "trainer", 0)
        second = member("-", "trainer", 1, "--learning_rate=0.01")
        others = [member("-", "trainer", 2), member("-", "trainer", 3), member("-", "pserver", 0)]
        second.run("pf.validator('batch_size', message='needs more memory')(lambda n: n < 100)")
        fleet = Fleet(url, by="night shift@node7")
        fleet.set({"mode": "best"}, role="trainer", reason="the last hours of the job", wait=30)
        page = show(first, viewport={"width": 1280, "height": 620})
        page.locator("#fleet-tab").click()
        page.locator("#fleet-new").click()
        page.get_by_label("Flag", exact=True).fill("batch_size")
        page.get_by_label("Value", exact=True).fill("128")
        page.locator("#fleet-reason").fill("the new nodes have memory")
        page.locator("#fleet-check").click()
        page.locator("#fleet-apply:enabled").click()
        expect(page.locator("#fleet-status")).to_contain_text("4 of 5")
        expect(page.locator("#fleet-members .member.bad")).to_have_count(1)
        expect(page.locator("#fleet-differences .flag")).to_have_count(2)
        page.locator("#toast").evaluate("each => each.replaceChildren()")
        page.screenshot(path=pictures / "fleet.png")
        for each in (first, second, *others):
            each.stop()
