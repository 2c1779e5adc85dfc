"""`pf.live.app`: the live API as a WSGI application."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest
from served import Answer, ask, connect, wait_for
from support import package, write

import paddle_flags as pf
from paddle_flags.live import User


def call(app, method, path, body=None, **environ):
    """Call an application as a server does, checked by wsgiref."""
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "SCRIPT_NAME": ""}
    given.update(environ)
    if body is not None:
        given = {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(data)), **given}
    given["wsgi.input"] = io.BytesIO(data)
    setup_testing_defaults(given)
    found = []
    parts = validator(app)(given, lambda *start: found.append(start))
    text = b"".join(parts)
    parts.close()
    status, headers = found[0][:2]
    return Answer(int(status.split()[0]), dict(headers), text)


def app_for(answer, **options):
    return pf.live.app(authorize=lambda _: answer, **options)


def test_a_client_may_do_what_authorize_says(name):
    pf.define(name, 1)
    body = {"set": {name: "2"}}
    for answer, read, change in [
        (None, 403, 403),
        ("read", 200, 403),
        ("change", 200, 200),
        (User("alice"), 200, 403),
        (User("alice", "change"), 200, 200),
    ]:
        app = app_for(answer, settable=name)
        assert call(app, "GET", "/v1/flags").status == read
        assert call(app, "POST", "/v1/changes", body).status == change


def test_a_change_says_who_made_it(name):
    pf.define(name, 1)
    app = app_for(User("alice", "change"), settable=name)
    call(app, "POST", "/v1/changes", {"set": {name: "2"}}, REMOTE_ADDR="192.0.2.1")
    who = call(app, "GET", "/v1/changes").json["changes"][0]["who"]
    assert (who["label"], who["host"]) == ("alice", "192.0.2.1")


def test_authorize_gets_the_environ():
    app = pf.live.app(authorize=lambda environ: environ.get("REMOTE_USER") and "read")
    assert call(app, "GET", "/v1/process").status == 403
    assert call(app, "GET", "/v1/process", REMOTE_USER="alice").status == 200


@pytest.mark.parametrize("answer", [True, "admin", "", 1, ["read"], ("alice", "read")])
def test_an_answer_that_means_nothing_is_an_error(answer):
    with pytest.raises(pf.FlagTypeError, match=r"authorize returned .*, expected None, 'read', "):
        call(app_for(answer), "GET", "/v1/process")


def test_an_error_of_authorize_reaches_the_framework():
    def authorize(environ):
        raise KeyError(environ["PATH_INFO"])

    with pytest.raises(KeyError):
        call(pf.live.app(authorize=authorize), "GET", "/v1/process")


def test_authorize_must_be_given_and_a_function():
    async def later(_):
        return "change"

    for wrong in (None, "read", later):
        with pytest.raises(pf.FlagTypeError, match="expected a plain function"):
            pf.live.app(authorize=wrong)
    with pytest.raises(TypeError):
        pf.live.app()


def test_head_has_no_body():
    answer = call(app_for("read"), "HEAD", "/v1/process")
    assert (answer.status, answer.body) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 0


def test_events_end_at_once_and_a_client_comes_back(name):
    flag = pf.define(name, 1)
    app = app_for("read")
    first = call(app, "GET", "/v1/events")
    assert first.headers["Content-Type"].startswith("text/event-stream")
    assert b"event: hello" in first.body
    assert first.body.endswith(b"retry: 1000\n\n")
    last = re.findall(rb"^id: (\S+)$", first.body, re.MULTILINE)[-1].decode()
    flag.value = 5
    second = call(app, "GET", "/v1/events", HTTP_LAST_EVENT_ID=last)
    assert b'"new":"5"' in second.body
    third = call(app, "GET", "/v1/events", QUERY_STRING=f"since={last}")
    assert b'"new":"5"' in third.body


def test_names_in_a_path_are_those_that_the_client_sent(name):
    for escaped in ("é ü", "a%b", "a?b", "a#b", "a;b"):
        raw = "/v1/flags/" + escaped.encode().decode("latin-1")
        answer = call(app_for("read"), "GET", raw)
        assert answer.status == 404
        assert f"'{escaped}'" in answer.json["detail"]
    pf.define(name, 1)
    assert call(app_for("read"), "GET", f"/v1/flags/{name}").status == 200


@pytest.mark.parametrize("prefix", ["", "/flags", "/a/b"])
def test_the_page_is_reached_with_a_slash_at_its_end(prefix):
    answer = call_raw(app_for("read"), PATH_INFO="", SCRIPT_NAME=prefix)
    assert (answer.status, answer.headers["Location"]) == (308, f"{prefix}/")


@pytest.mark.parametrize("prefix", ["//evil.example", "/a\r\nX: y", "/\\evil.example"])
def test_a_strange_prefix_leads_nowhere_else(prefix):
    location = call_raw(app_for("read"), PATH_INFO="", SCRIPT_NAME=prefix).headers["Location"]
    assert re.fullmatch(r"/[^/\\\r\n][^\\\r\n]*", location)


def test_requests_from_other_sites_are_refused():
    for header in ({"HTTP_ORIGIN": "https://evil.example"}, {"HTTP_SEC_FETCH_SITE": "cross-site"}):
        answer = call(app_for("change"), "POST", "/v1/changes", {"set": {}}, **header)
        assert answer.status == 403
    own = {"HTTP_ORIGIN": "https://flags.example", "HTTP_HOST": "flags.example"}
    assert call(app_for("change"), "GET", "/v1/process", **own).status == 200


def test_hosts_may_be_checked_here():
    app = app_for("read", hosts=["flags.example"])
    assert call(app, "GET", "/v1/process", HTTP_HOST="flags.example").status == 200
    assert call(app, "GET", "/v1/process", HTTP_HOST="evil.example").status == 421


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "99", "9" * 30, "\u0663"])
def test_a_length_that_is_wrong_is_refused(length):
    given = {"REQUEST_METHOD": "POST", "PATH_INFO": "/v1/changes", "CONTENT_LENGTH": length}
    answer = call_raw(app_for("change"), CONTENT_TYPE="application/json", **given)
    assert answer.status in (400, 413)


def test_a_body_that_is_too_large_is_refused():
    assert call(app_for("change"), "POST", "/v1/changes", b" " * 1048577).status == 413


def test_a_body_without_a_length_is_read_to_its_end_only_if_the_server_ends_it(name):
    pf.define(name, 1)
    body = json.dumps({"set": {name: "3"}}).encode()
    app = app_for("change", settable=name)
    options = {"CONTENT_LENGTH": "", "CONTENT_TYPE": "application/json"}
    assert call(app, "POST", "/v1/changes", body, **options).status == 400
    options["wsgi.input_terminated"] = True
    assert call(app, "POST", "/v1/changes", body, **options).status == 200


@pytest.mark.parametrize("text", ["a\r\nb", "a\nb", "a\0b"])
def test_a_header_that_would_be_two_is_refused(text):
    assert call_raw(app_for("read"), HTTP_X_A=text).status == 400


def call_raw(app, **environ):
    given = {"REQUEST_METHOD": "GET", "PATH_INFO": "/v1/process", "QUERY_STRING": "", **environ}
    setup_testing_defaults(given)
    found = []
    text = b"".join(app(given, lambda *start: found.append(start)))
    return Answer(int(found[0][0].split()[0]), dict(found[0][1]), text)


# ---- In frameworks ----

FLASK = """
import flask
import paddle_flags as pf
from werkzeug.middleware.dispatcher import DispatcherMiddleware

pf.define("level", 1, runtime=True)
app = flask.Flask("site")

@app.get("/")
def home():
    return f"level {pf.FLAGS.level}"

def authorize(environ):
    return "change" if environ.get("HTTP_X_USER") == "ops" else None

app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/flags": pf.live.app(authorize=authorize)})
"""

DJANGO = """
import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path
import paddle_flags as pf

pf.define("level", 1, runtime=True)
urlpatterns = [path("", lambda request: HttpResponse(f"level {pf.FLAGS.level}"))]
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="x")
site = get_wsgi_application()

def authorize(environ):
    return "change" if environ.get("HTTP_X_USER") == "ops" else None

flags = pf.live.app(authorize=authorize)

def app(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/flags" or path.startswith("/flags/"):
        environ["SCRIPT_NAME"] += "/flags"
        environ["PATH_INFO"] = path[len("/flags"):]
        return flags(environ, start_response)
    return site(environ, start_response)
"""


def check_site(get):
    """Check a site with the application under /flags; `get` asks it."""
    ops = {"X-User": "ops"}
    assert get("GET", "/flags/v1/process", {}, None)[0] == 403
    assert get("GET", "/flags/v1/process", ops, None)[0] == 200
    status, body = get("POST", "/flags/v1/changes", ops, {"set": {"level": "7"}})
    assert status == 200, body
    assert get("GET", "/", {}, None) == (200, b"level 7")


@pytest.mark.extended
@pytest.mark.parametrize(("needed", "text"), [("flask", FLASK), ("django", DJANGO)])
def test_it_works_mounted_in_a_framework(needed, text, tmp_path):
    package(needed)
    check = """
import io, json, sys
from wsgiref.util import setup_testing_defaults
sys.path.insert(0, sys.argv[1])
from site_of_test import app
from test_live_wsgi import check_site

def get(method, path, headers, body):
    data = b"" if body is None else json.dumps(body).encode()
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "SCRIPT_NAME": ""}
    for name, text in headers.items():
        environ["HTTP_" + name.upper().replace("-", "_")] = text
    if body is not None:
        environ.update(CONTENT_TYPE="application/json", CONTENT_LENGTH=str(len(data)))
    environ["wsgi.input"] = io.BytesIO(data)
    setup_testing_defaults(environ)
    found = []
    text = b"".join(app(environ, lambda *start: found.append(start)))
    return int(found[0][0].split()[0]), text

check_site(get)
"""
    write(tmp_path / "site_of_test.py", text)
    script = write(tmp_path / "check.py", check)
    here = os.path.dirname(__file__)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.path.dirname(here)])}
    ended = subprocess.run(
        [sys.executable, script, tmp_path], env=env, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


def listens(path: Path) -> bool:
    """Return whether a server listens at a socket; it may have bound it, and not listen yet."""
    try:
        connect(str(path)).close()
    except OSError:
        return False
    return True


@pytest.mark.extended
@pytest.mark.parametrize("kind", ["sync", "gthread", "preload"])
def test_each_worker_of_gunicorn_serves_itself(kind, tmp_path):
    package("gunicorn")
    text = """
import paddle_flags as pf
pf.define("level", 1, runtime=True)
app = pf.live.app(authorize=lambda environ: "change")
"""
    write(tmp_path / "site_of_test.py", text)
    options = {"sync": [], "gthread": ["-k", "gthread", "--threads", "4"], "preload": ["--preload"]}
    socket = tmp_path / "socket"
    command = [sys.executable, "-m", "gunicorn", "-w", "2", "-b", f"unix:{socket}", *options[kind]]
    (tmp_path / "run").mkdir()
    env = {**os.environ, "PADDLE_FLAGS_LIVE": "1", "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    with subprocess.Popen([*command, "site_of_test:app"], cwd=tmp_path, env=env) as made:
        try:
            wait_for(lambda: listens(socket))
            place = tmp_path / "run" / "paddle_flags"
            pids = {
                ask(str(socket), "GET", "/v1/process", Connection="close").json["pid"]
                for _ in range(40)
            }
            assert made.pid not in pids
            body = {"set": {"level": "5"}, "for": 60}
            assert ask(str(socket), "POST", "/v1/changes", body, Connection="close").status == 200
            for pid in pids:  # each is also found from the command line
                own = wait_for(
                    lambda pid=pid: [p for p in place.iterdir() if p.name == f"{pid}.sock"]
                )
                assert ask(str(own[0]), "GET", "/v1/process").json["pid"] == pid
        finally:
            made.send_signal(signal.SIGTERM)
    assert made.returncode == 0
