"""A real browser, and real programs that serve their flags to it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flag_page import TOKENS, Trainer
from support import package, tool

HERE = Path(__file__).parent
SWITCHES = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update"]  # fmt: skip


@pytest.fixture
def start() -> Iterator[Callable[..., Trainer]]:
    """Start programs that serve their flags."""
    for name in ("starlette", "uvicorn"):
        package(name)
    started: list[Trainer] = []

    def run(*arguments: str, **options: Any) -> Trainer:
        started.append(Trainer(*arguments, **options))
        return started[-1]

    yield run
    for each in started:
        each.close()


@pytest.fixture
def trainer(start: Callable[..., Trainer]) -> Trainer:
    return start("gateway", "--log_every=10", "--endpoint=http://ps-3:8800")


@pytest.fixture(scope="module")  # Playwright has an event loop, which other tests must not meet
def browser() -> Iterator[Any]:
    """A Chromium without a window."""
    package("playwright")
    path = shutil.which("chromium") or shutil.which("google-chrome") or tool("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=SWITCHES)
        yield opened
        opened.close()


@pytest.fixture
def show(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open the page of a program. No script may fail, and nothing may ask another server."""
    contexts: list[Any] = []
    errors: list[str] = []

    def run(program: Trainer, who: str | None = "ops", view: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: check_origin(request.url, program.url))
        page.set_default_timeout(30_000)
        page.goto(program.url + view)
        if who:
            page.locator("#token-text").fill(TOKENS[who])
            page.get_by_role("button", name="Use token").click()
            page.locator("#state[data-state=live]").wait_for()
        return page

    def check_origin(url: str, origin: str) -> None:
        if not url.startswith((re.findall("^http://[^/]+/", origin)[0], "data:")):
            errors.append(f"asked for {url}")

    yield run
    for each in contexts:
        each.close()
    assert not errors


@pytest.fixture
def page(trainer: Trainer, show: Callable[..., Any]) -> Any:
    return show(trainer)


@pytest.fixture
def expect() -> Any:
    """Playwright's assertions, which wait."""
    package("playwright")
    from playwright.sync_api import expect

    expect.set_options(timeout=30_000)
    return expect


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core."""
    found = package("axe_core_python", "axe-core-python").__file__
    assert found
    return next(Path(found).parent.rglob("axe.min.js")).read_text("utf-8")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where pictures go: PD_SCREENSHOTS=docs/_static/live renews those of the documents."""
    return Path(os.environ.get("PD_SCREENSHOTS") or tmp_path)
