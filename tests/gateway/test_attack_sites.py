"""Attacks by other sites in the same browser, and by clients without a token."""

from __future__ import annotations

import json
import re

import pytest
from ways import KINDS, TOKENS, Way, start

pytestmark = pytest.mark.extended  # HTTP is an extra

# Requests that say something of flags, or change them, and what every client may ask for over TCP.
READS = ("", "/flags", "/flags/level", "/changes", "/events")
WRITES = ("/changes", "/undo")
PAGE = ("/", "/page.js", "/page.css", "/v1/openapi.json")


def all_requests(way: Way) -> list[tuple[str, str]]:
    process = f"/v1/processes/{way.program.pid}"
    asked = [("GET", "/v1/processes"), ("GET", "/v1/fleets"), ("GET", "/v1/fleets/1")]
    asked += [(method, process + path) for path in READS for method in ("GET", "HEAD")]
    asked += [("POST", process + path) for path in WRITES]
    return [*asked, ("POST", "/v1/fleets/1/changes"), *(("GET", path) for path in PAGE)]


def is_page(method: str, path: str) -> bool:
    return method == "GET" and path in PAGE


def is_refused(status: int, body: bytes, expected: int) -> bool:
    """Whether an answer is a problem of this status, and says nothing of flags."""
    return status == expected and not re.search(rb"level|trainer|hunter2", body)


# ---- Hosts and origins ----


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::2]", "a b"])
def test_dns_rebinding_fails_as_only_names_of_the_server_are_answered(shared: Way, host: str):
    for method, path in all_requests(shared):
        body = {} if method == "POST" else None
        status, _, answer = shared.ask(path, method, body, Host=f"{host}:{shared.port}")
        assert is_refused(status, answer, 421), path


def test_a_name_that_is_allowed_is_answered(shared: Way):
    for host in (f"localhost:{shared.port}", "localhost", f"LOCALHOST:{shared.port}"):
        assert shared.process(Host=host, Origin=None)[0] == 200


def test_a_request_with_no_host_or_two_is_refused(shared: Way):
    path = f"GET {shared.api}/flags HTTP/1.1"
    for lines in (["Host: evil.example"], ["Host: 127.0.0.1", "Host: evil.example"]):
        assert shared.raw(shared.head(path, *lines)).startswith(b"HTTP/1.1 400 ")
    old = f"GET {shared.api}/flags HTTP/1.0\r\n\r\n"
    assert shared.raw(old.encode()).startswith(b"HTTP/1.1 421 ")


def test_a_host_in_the_target_does_not_replace_the_header(shared: Way):
    target = (
        f"GET http://127.0.0.1:{shared.port}{shared.api} HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    )
    assert re.match(rb"HTTP/1.1 4\d\d ", shared.raw(target.encode()))


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1", ""]
)
def test_a_request_from_another_origin_is_refused(shared: Way, origin: str):
    for method, path in all_requests(shared):
        body = {} if method == "POST" else None
        status, headers, answer = shared.ask(path, method, body, Origin=origin)
        assert is_refused(status, answer, 403), path
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Same-Origin", ""])
def test_a_request_that_another_site_has_caused_is_refused(shared: Way, site: str):
    for method, path in all_requests(shared):
        body = {} if method == "POST" else None
        status, _, answer = shared.ask(path, method, body, Sec_Fetch_Site=site)
        assert is_refused(status, answer, 403), path


def test_two_origins_or_two_sites_are_refused(shared: Way):
    path = f"GET {shared.api}/flags HTTP/1.1"
    for name, text in (("Origin", shared.origin), ("Sec-Fetch-Site", "same-origin")):
        twice = [f"{name}: {text}", f"{name}: {text}"]
        assert shared.raw(shared.head(path, *twice)).startswith(b"HTTP/1.1 400 ")


def test_the_page_itself_may_change_flags(way: Way):
    status, _, _ = way.change({"level": 3}, Origin=way.origin, Sec_Fetch_Site="same-origin")
    assert status == 200
    assert way.program.client().flag("level")["value"] == 3


def test_a_form_of_another_site_changes_nothing(shared: Way):
    body = b'{"set": {"level": "3"}}'
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data", ""):
        status, _, _ = shared.process("/changes", "POST", body, Content_Type=kind)
        assert status == 415


def test_a_change_by_cookie_must_come_from_the_page(tmp_path):
    with start("loopback", tmp_path) as way:
        assert way.change({"level": 3}, Origin=None)[0] == 403
        assert way.change({"level": 3}, Origin=None, Sec_Fetch_Site="none")[0] == 403
        assert way.change({"level": 3}, Origin=None, Sec_Fetch_Site="same-origin")[0] == 200


def test_an_image_of_another_site_reads_and_changes_nothing(shared: Way):
    for path in ("/changes?set=level", "/undo", "/changes?change=1"):
        status, _, _ = shared.process(path, Sec_Fetch_Site="cross-site", Origin=None)
        assert status == 403


def test_a_websocket_is_given_to_nobody(shared: Way):
    lines = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    lines.append("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    for site in ("cross-site", "same-origin"):
        head = shared.head(f"GET {shared.api}/events HTTP/1.1", *lines, f"Sec-Fetch-Site: {site}")
        with shared.connect() as made:
            made.sendall(head)
            assert b" 101 " not in made.recv(1000)


# ---- Tokens, links and users ----


def test_without_a_token_nothing_is_read_or_changed(shared: Way):
    wanted = 403 if shared.kind == "mounted" else 401
    for method, path in all_requests(shared):
        if shared.kind == "tcp" and is_page(method, path):
            continue
        body = {} if method == "POST" else None
        origin = shared.origin if method == "POST" else None
        status, _, answer = shared.ask(path, method, body, who=None, Origin=origin)
        assert is_refused(status, answer, wanted), path


def test_what_everybody_may_have_says_nothing_of_flags(tmp_path):
    with start("tcp", tmp_path) as way:
        for path in PAGE:
            status, _, body = way.ask(path, who=None)
            assert status == 200
            assert not re.search(rb"hunter2|trainer\.py|Compression|[0-9]+\.sock", body)
        assert way.ask("/v1/openapi.json/", who=None)[0] in (401, 404)
        assert way.ask("/v1/openapi.jsonx", who=None)[0] == 401


@pytest.mark.parametrize(
    "given",
    [
        "Bearer",
        "Bearer ",
        "Bearer change-012345678",
        "Bearer change-01234567890",
        "Basic Y2hhbmdlLTAxMjM0NTY3ODk=",
        TOKENS["ops"],
        f"Bearer {TOKENS['ops']},{TOKENS['ops']}",
        f"Bearer {TOKENS['ops'].upper()}",
    ],
)
def test_what_is_nearly_a_token_is_none(tmp_path_factory, given: str):
    with start("tcp", tmp_path_factory.mktemp("near")) as way:
        assert way.process(who=None, Authorization=given)[0] == 401


def test_a_token_in_the_query_or_a_cookie_is_none(tmp_path):
    with start("tcp", tmp_path) as way:
        for name in ("token", "access_token", "authorization"):
            path = f"/flags?{name}={TOKENS['ops']}"
            assert way.process(path, who=None)[0] == 401
            assert way.process("/flags", who=None, Cookie=f"{name}={TOKENS['ops']}")[0] == 401


@pytest.mark.parametrize("kind", ["tcp", "mounted"])
def test_who_may_read_changes_nothing(kind: str, tmp_path):
    with start(kind, tmp_path) as way:
        assert way.process("/flags", who="viewer")[0] == 200
        assert json.loads(way.process(who="viewer")[2])["you"]["may"] == ["read"]
        for path in WRITES:
            assert way.process(path, "POST", {"set": {"level": 3}}, who="viewer")[0] == 403
        assert way.ask("/v1/fleets/1/changes", "POST", {}, who="viewer")[0] == 403
        assert way.program.client().changes() == []


def test_nobody_changes_flags_in_the_name_of_another(way: Way):
    behalf = b'"on_behalf_of": {"label": "root"}'
    escaped = b'"on\\u005fbehalf_of": {"label": "root"}'
    for text in (behalf, escaped, b'"on_behalf_of": null', b'"\\u006fn_behalf_of":{}'):
        for body in (
            b'{"set": {"level": 3}, %s}' % text,
            b'{%s, "set": {"level": 3}}' % text,
            b'{%s,\r\n%s, "set": {"level": 3}}' % (text, text),
        ):
            status, _, answer = way.process("/changes", "POST", body)
            assert status == 400, answer
    assert way.program.client().changes() == []
    assert way.change({"level": 3})[0] == 200
    who = way.program.client().changes()[0]["who"]
    behalf_of = who.get("on_behalf_of") or {}
    assert behalf_of.get("label") == (None if way.kind == "loopback" else "ops")


@pytest.mark.parametrize(
    "body",
    [
        b'{"set": {"level": 3}}\n{"jsonrpc": "2.0", "id": 2, "method": "hello"}',
        b'{"set": {"level": 3}}}, {',
        b'{"set": {"level": 3}} {"set": {"mode": "best"}}',
        b'{"reason": "a\nb", "set": {"level": 3}}',
        b'[{"set": {"level": 3}}]',
        b'"set"',
        b"\xef\xbb\xbf{}",
        '{"set": {"level": 3}}'.encode("utf-16"),
        b'{"set": {"level": 3}, "reason": "\xff"}',
        b"{" * 100_000,
        b'{"set": {"level": NaN}}',
        b"{,}",
        b'{"set": {"level": 3},}',
        b'\0{"set": {"level": 3}}',
    ],
    ids=range(14),
)
def test_a_body_cannot_become_another_request(shared: Way, body: bytes):
    assert shared.process("/changes", "POST", body)[0] == 400


def test_line_breaks_between_members_are_no_end_of_a_request(way: Way):
    body = b'\r\n{\n"set"\n:\r{"level"\n:\n3},\r\n"reason": "a\\nb"}\n'
    assert way.process("/changes", "POST", body)[0] == 200
    assert way.program.client().changes()[0]["reason"] == "a\nb"


# ---- The link ----


def test_the_link_works_once(tmp_path):
    with start("loopback", tmp_path) as way:
        assert way.ask(way.entry, who=None)[0] == 401
        assert way.ask(way.entry)[0] == 303  # gone back to
        assert way.process(who=None)[0] == 401


def test_the_cookie_is_for_this_page_alone(tmp_path):
    with start("loopback", tmp_path, enters=False) as way:
        header = way.ask(way.entry, who=None)[1]["set-cookie"]
        assert header.startswith(f"paddle_flags_{way.port}=")
        attributes = {part.strip().lower() for part in header.split(";")[1:]}
        assert attributes == {"httponly", "path=/", "samesite=strict"}


def test_a_wrong_link_gets_nothing_and_does_not_use_up_the_right_one(tmp_path):
    with start("loopback", tmp_path, enters=False) as way:
        for end in ("", "x", "A" * 43, "%00", "../v1/flags", "%F0%9F", "%ff"):
            status, headers, _ = way.ask(f"/open/{end}", who=None)
            assert (status, "set-cookie" in headers) == (401, False)
        assert way.ask(way.entry, who=None, Host=f"evil.example:{way.port}")[0] == 421
        assert way.ask(way.entry, who=None, Sec_Fetch_Site="cross-site")[0] == 403
        way.sign_in()


def test_a_wrong_cookie_is_none(tmp_path):
    with start("loopback", tmp_path) as way:
        name, secret = way.cookie.split("=")
        for cookie in (f"{name}={secret[:-1]}", f"{name}=", f"x{name}={secret}", name, secret):
            assert way.process(Cookie=cookie)[0] == 401
        assert way.process(Cookie=f"a=b; {name}={secret}; c")[0] == 200


# ---- What a browser may do with an answer ----


def test_no_answer_is_stored_framed_or_run_by_a_browser(shared: Way):
    policy = "default-src 'none'; script-src 'self'; style-src 'self'"
    for path, who in (*((each, "ops") for each in PAGE), ("/v1/processes", None), ("/x", "ops")):
        _, headers, _ = shared.ask(path, who=who)
        assert headers["content-security-policy"].startswith(policy)
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_and_links_are_in_no_log(kind: str, tmp_path):
    with start(kind, tmp_path) as way:
        way.process("/flags")
        way.process("/flags", who=None)
        way.raw(way.head("GET / HTTP/1.1", "Transfer-Encoding: x"))
        way.raw(b"no http\r\n\r\n")
        for each in way.processes:
            each.terminate()
            assert each.stdout
            text = each.stdout.read()
            assert not re.search(f"{'|'.join(TOKENS.values())}|{way.entry or 'nothing'}", text)
            assert way.cookie == "" or way.cookie.split("=")[1] not in text
