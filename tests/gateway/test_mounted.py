"""A gateway that is mounted in the program's own web application."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documents import blocks
from support import ROOT, installed, write
from ways import Way, environment, start

import paddle_flags as pf

pytestmark = pytest.mark.extended  # HTTP is an extra

PAGE = ROOT / "docs" / "how-to" / "serve-flags.md"
HEAD = """
import paddle_flags as pf
pf.define("level", 3, "Compression level", min=1, max=9, runtime=True)
"""
STARLETTE = """
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

async def authorize(request):
    return {"alice": "change", "bob": "read"}.get(request.headers.get("x-user"))

app = Starlette(routes=[
    Route("/", lambda request: PlainTextResponse("mine")),
    Mount("/a/flags", pf.live.asgi(authorize=authorize)),
])
"""
# These use the files of the page; a header of the test says who the user is.
FASTAPI = """
from fastapi_site import app as site
site.get("/")(lambda: "mine")

async def app(scope, receive, send):
    scope["my_user"] = dict(scope.get("headers", ())).get(b"x-user", b"").decode()
    await site(scope, receive, send)
"""
FLASK = """
from flask_site import app as site
site.get("/")(lambda: "mine")
"""
DJANGO = """
from django.conf import settings
from django.http import HttpResponse
from django.urls import path
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1"], SECRET_KEY="x" * 50)
urlpatterns = [path("", lambda request: HttpResponse("mine"))]
from wsgi import application as site
"""
WSGI = """
def app(environ, start_response):
    environ["REMOTE_USER"] = environ.get("HTTP_X_USER", "")
    return site(environ, start_response)
"""
RUN_ASGI = """
import socket
import uvicorn
made = socket.create_server(("127.0.0.1", 0))
print(made.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run([made])
"""
RUN_WSGI = """
import wsgiref.simple_server
class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass
server = wsgiref.simple_server.make_server("127.0.0.1", 0, app, handler_class=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
"""
FRAMEWORKS = {  # the program, the packages that it needs, and where the gateway is
    "starlette": (HEAD + STARLETTE + RUN_ASGI, (), "/a/flags"),
    "fastapi": (FASTAPI + RUN_ASGI, ("fastapi",), "/flags"),
    "flask": (FLASK + WSGI + RUN_WSGI, ("flask", "a2wsgi"), "/flags"),
    "django": (DJANGO + WSGI + RUN_WSGI, ("django", "a2wsgi"), "/flags"),
}


class Site:
    def __init__(self, place, text: str, base: str = "") -> None:
        self.base = base
        for block in blocks(PAGE.read_text("utf-8")):
            if block.file:
                write(place / block.file, block.text)
        self.process = subprocess.Popen(
            [sys.executable, write(place / "site_of_it.py", text)],
            stdout=subprocess.PIPE,
            env=environment(place),
            text=True,
        )
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())

    def ask(
        self, path: str, method: str = "GET", body: Any = None, user: str = "alice", **more: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"X-User": user, **{key.replace("_", "-"): text for key, text in more.items()}}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def mounted(name: str, place: Path) -> Site:
    text, packages, base = FRAMEWORKS[name]
    for each in packages:
        installed(each)
    return Site(place, text, base)


@pytest.fixture(params=FRAMEWORKS)
def site(request, tmp_path):
    made = mounted(request.param, tmp_path)
    yield made
    made.close()


def test_it_works_mounted_in_a_framework(site):
    assert b"mine" in site.ask("/")[2]
    status, headers, _ = site.ask(site.base)
    assert status in (307, 308)
    assert re.fullmatch(rf"(http://127\.0\.0\.1:\d+)?{site.base}/", headers["location"])
    status, headers, body = site.ask(f"{site.base}/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert b"page.js" in body
    assert site.ask(f"{site.base}/page.js")[0] == 200
    [process] = json.loads(site.ask(f"{site.base}/v1/processes")[2])["processes"]
    assert process["pid"] == site.process.pid
    api = f"{site.base}/v1/processes/{process['pid']}"
    assert json.loads(site.ask(f"{api}/flags/level")[2])["flag"]["value"] == 3
    change = {"set": {"level": 5}, "reason": "why"}
    assert site.ask(f"{api}/changes", "POST", change)[0] == 200
    assert site.ask(f"{api}/changes", "POST", change, user="bob")[0] == 403
    assert site.ask(f"{api}/flags", user="bob")[0] == 200
    assert site.ask(f"{api}/flags", user="")[0] == 403
    assert site.ask(f"{api}/flags", Origin="http://evil.example")[0] == 403
    assert site.ask(f"{api}/flags", Sec_Fetch_Site="cross-site")[0] == 403
    [done] = json.loads(site.ask(f"{api}/changes")[2])["changes"]
    assert (done["reason"], done["undoable"]) == ("why", True)
    assert site.ask(f"{api[:-1]}/flags")[0] == 404


@pytest.mark.parametrize("name", ["flask", "django"])
def test_a_stream_of_a_server_that_answers_one_at_a_time_ends_soon(name: str, tmp_path):
    site = mounted(name, tmp_path)
    try:
        api = f"{site.base}/v1/processes/{site.process.pid}"
        status, headers, body = site.ask(f"{api}/events")
        assert (status, headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
        assert body.startswith(b"event: hello\n")
        assert body.endswith(b"retry: 1000\n\n")
        last = re.findall(rb"^id: (.+)$", body, re.MULTILINE)[0].decode()
        site.ask(f"{api}/changes", "POST", {"set": {"level": 5}})
        body = site.ask(f"{api}/events", Last_Event_ID=last)[2]
        assert b"event: changes" in body
        assert b"event: hello" not in body
    finally:
        site.close()


@pytest.mark.parametrize("answer", ["True", "'admin'", "''", "1", "['read']", "('alice', 'read')"])
def test_an_answer_of_authorize_that_means_nothing_lets_nobody_in(answer: str, tmp_path):
    text = HEAD + f"app = pf.live.asgi(authorize=lambda request: {answer})" + RUN_ASGI
    site = Site(tmp_path, text)
    try:
        status, _, body = site.ask("/v1/processes")
        assert status == 500
        assert b"level" not in body
    finally:
        site.close()


def test_what_authorize_raises_reaches_the_framework(tmp_path):
    text = HEAD + "app = pf.live.asgi(authorize=lambda request: 1 / 0)" + RUN_ASGI
    site = Site(tmp_path, text)
    try:
        assert site.ask("/v1/processes")[0] == 500
    finally:
        site.close()


def test_authorize_must_be_a_function():
    with pytest.raises(TypeError):
        pf.live.asgi()
    with pytest.raises(pf.FlagTypeError, match="authorize"):
        pf.live.asgi(authorize="read")


def test_hosts_are_checked_here_if_they_are_named(tmp_path):
    with start("mounted", tmp_path) as way:
        assert way.process(Host="127.0.0.1")[0] == 200
        assert way.process(Host="evil.example")[0] == 421


def test_a_change_says_who_made_it(way: Way):
    assert way.change({"level": 3})[0] == 200
    assert way.change({"level": 4})[0] == 200
    [last, _] = json.loads(way.process("/changes")[2])["changes"]
    behalf = last["who"].get("on_behalf_of")
    if way.kind == "loopback":
        assert behalf is None
    else:
        assert behalf == {"label": "ops", "host": "127.0.0.1"}
    assert last["undoable"]
