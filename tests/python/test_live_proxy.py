"""paddle-flags open: the page through a server on 127.0.0.1, and attacks on that server."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from live_process import Opened, Served
from support import package, tool

package("h11")


@pytest.fixture
def served(tmp_path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.close()


@pytest.fixture
def opened(served) -> Iterator[Opened]:
    made = Opened(served, served.pid)
    yield made
    made.close()


@pytest.fixture
def page(opened) -> Opened:
    opened.enter()
    return opened


# ---- What a browser does ----


def test_the_url_gives_a_cookie_once(opened):
    status, headers, _ = opened.ask(opened.entry)
    assert status == 303
    name = f"paddle_flags_{opened.port}"
    assert re.fullmatch(
        rf"{name}=[\w-]{{43}}; Path=/; HttpOnly; SameSite=Strict", headers["set-cookie"]
    )
    status, headers, body = opened.ask(opened.entry)
    assert (status, "set-cookie" in headers) == (401, False)
    assert b"has been used" in body


def test_the_browser_that_has_the_cookie_may_go_back_to_the_url(page):
    status, headers, _ = page.ask(page.entry)
    assert (status, headers["location"], "set-cookie" in headers) == (303, "/", False)


def test_the_page_comes_from_this_package_with_its_policy(page):
    status, headers, _ = page.ask("/")
    assert status in (200, 404)  # 404 while the package has no page
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"


def test_the_api_of_the_process_is_passed_on(page, served):
    status, headers, body = page.ask("/v1/process")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body)["pid"] == served.process.pid
    tag = page.ask("/v1/flags")[1]["etag"]
    assert page.ask("/v1/flags", If_None_Match=tag)[0] == 304
    status, headers, body = page.ask("/v1/flags", "HEAD")
    assert (status, body) == (200, b"")


def test_the_page_may_change_flags(page, served):
    status, _, body = page.post("/v1/changes", {"set": {"level": 3}, "reason": "by hand"})
    assert (status, json.loads(body)["flags"][0]["new"]) == (200, "3")
    assert served.client().changes()[0]["reason"] == "by hand"
    assert page.post("/v1/undo", {})[0] == 200
    assert page.post("/v1/changes", {"set": {"level": 12}})[0] == 422


def test_events_reach_the_browser_as_they_happen(page, served):
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=60)
    connection.request("GET", "/v1/events", headers={"Cookie": page.cookie})
    answer = connection.getresponse()
    assert answer.getheader("Content-Type").startswith("text/event-stream")
    text = b""
    while b"event: hello" not in text:
        text += answer.read1()
    served.run("pf.FLAGS.level = 3")
    while b'"new":"3"' not in text.replace(b" ", b""):
        text += answer.read1()
    connection.close()


def test_a_second_process_is_below_peer(served, tmp_path):
    (tmp_path / "other").mkdir()
    other = Served(tmp_path / "other")
    opened = Opened(served, served.address, other.address)
    try:
        opened.enter()
        pids = [json.loads(opened.ask(f"{at}/v1/process")[2])["pid"] for at in ("", "/peer")]
        assert pids == [served.process.pid, other.process.pid]
        assert opened.post("/peer/v1/changes", {"set": {"level": 3}})[0] == 200
        assert other.client().flag("level")["value"] == 3
        assert served.client().flag("level")["value"] == 6
    finally:
        opened.close()
        other.close()


def test_without_a_second_process_there_is_no_peer(page):
    assert page.ask("/peer/v1/process")[0] == 404


def test_a_process_on_tcp_gets_the_token_and_the_browser_does_not(tmp_path):
    token = "a-token-of-sixteen-bytes"  # noqa: S105 - for this test
    tokens = f"'127.0.0.1:0', tokens={{'ops': pf.live.Token({token!r})}}"
    served = Served(tmp_path, tokens)
    served.env["PADDLE_FLAGS_LIVE_TOKEN"] = token
    opened = Opened(served, f"http://{served.address}")
    try:
        opened.enter()
        status, headers, body = opened.ask("/v1/process", Authorization="Bearer other")
        assert (status, json.loads(body)["you"]["label"]) == (200, "ops")
        assert token not in f"{headers}{body!r}"
        command = Path(f"/proc/{opened.process.pid}/cmdline").read_text("utf-8")
        assert token not in command
    finally:
        opened.close()
        served.close()


def test_a_process_that_has_ended_is_a_problem_in_the_page(page, served):
    served.close()
    status, headers, body = page.ask("/v1/flags")
    assert (status, headers["content-type"]) == (502, "application/problem+json")
    assert "reached" in json.loads(body)["detail"]


def test_ctrl_c_ends_it_cleanly_while_pages_are_open(page):
    with socket.create_connection(("127.0.0.1", page.port), 60) as made:
        made.sendall(page.head("GET /v1/events HTTP/1.1"))
        assert made.recv(100)
        page.process.send_signal(signal.SIGINT)
        text, _ = page.process.communicate(timeout=60)
    assert (page.process.returncode, text) == (0, "")


def test_it_ends_when_no_page_was_open_for_long(served):
    opened = Opened(served, served.pid, "--idle", "0.5")
    text, _ = opened.process.communicate(timeout=60)
    assert (opened.process.returncode, text) == (0, "")


def test_an_open_page_keeps_it_going(served):
    opened = Opened(served, served.pid, "--idle", "0.3")
    opened.enter()
    with socket.create_connection(("127.0.0.1", opened.port), 60) as made:
        made.sendall(opened.head("GET /v1/events HTTP/1.1"))
        assert made.recv(100)
        time.sleep(1.5)
        assert opened.process.poll() is None
    opened.process.communicate(timeout=60)


def test_nothing_is_opened_for_a_process_that_cannot_be_reached(served):
    ended = served.cli("open", served.runtime / "none.sock", "--print")
    assert (ended.returncode, ended.stdout) == (3, "")


# ---- A real browser ----

EVIL = """\
async (base) => {
  const body = '{"set": {"level": "9"}}';
  const plain = {method: "POST", mode: "no-cors", credentials: "include", body};
  const json = {"Content-Type": "application/json"};
  const asked = {credentials: "include"};
  const results = await Promise.allSettled([
    fetch(base + "/v1/changes", plain),
    fetch(base + "/v1/changes", {...plain, mode: "cors", headers: json}),
    fetch(base + "/v1/flags", asked).then((answer) => answer.text()),
  ]);
  return results.map((each) => each.status);
}
"""


class Evil(BaseHTTPRequestHandler):
    """A page on another port of this machine: for cookies, that is the same site."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>evil</p>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.extended
def test_a_browser_changes_flags_from_the_page_and_from_no_other(served):
    playwright = package("playwright.sync_api", "playwright")
    with ExitStack() as stack:
        opened = Opened(served, served.pid)
        stack.callback(opened.close)
        evil = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Evil))
        thread = threading.Thread(target=evil.serve_forever)
        thread.start()
        stack.callback(thread.join)
        stack.callback(evil.shutdown)
        started = stack.enter_context(playwright.sync_playwright())
        browser = started.chromium.launch(executable_path=tool("chromium"), args=["--no-sandbox"])
        page = stack.enter_context(browser.new_context()).new_page()
        page.goto(opened.origin + opened.entry)
        assert page.url == opened.origin + "/"
        change = "{method: 'POST', headers: {'Content-Type': 'application/json'},"
        change += """ body: '{"set": {"level": "4"}}'}"""
        ask = "async () => (await fetch('/v1/changes', " + change + ")).status"
        assert page.evaluate(ask) == 200
        assert page.evaluate("document.cookie") == ""
        page.goto(f"http://127.0.0.1:{evil.server_port}/")
        ended = page.evaluate(EVIL, opened.origin)
        assert ended == ["fulfilled", "rejected", "rejected"]  # the first is opaque: a refusal
        assert served.client().flag("level")["value"] == 4
