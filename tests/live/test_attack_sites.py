"""Attacks by other sites in a browser, and by clients without a right."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_client import READ_TOKEN, WRITE_TOKEN, Address, Client, Reader, Response, check
from live_subjects import kinds, running
from support import ROOT

TCP = kinds("python-tcp", "c-tcp")
ROUTES = (
    *("/v1/process", "/v1/flags", "/v1/flags/level", "/v1/changes", "/v1/undo", "/v1/events"),
    *("/v1/fleet", "/v1/fleet/changes"),
    *("/v1/openapi.json", "/v1/schemas/flags.json", "/", "/page.js", "/page.css"),
)
OPEN = ROUTES[8:]  # for everybody
ALLOWED = {route: {"GET", "HEAD"} for route in ROUTES}
ALLOWED["/v1/undo"] = ALLOWED["/v1/fleet/changes"] = {"POST"}
ALLOWED["/v1/changes"] = {"GET", "HEAD", "POST"}
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
CHANGE = json.dumps({"set": {"level": 9}}).encode()


class Steady:
    """Sends requests on one connection as long as the server keeps it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.reader: Reader | None = None

    def ask(self, method: str, target: str, lines: list[tuple[str, str]], body: bytes) -> Response:
        text = f"{method} {self.address.prefix}{target} HTTP/1.1\r\n"
        text += "".join(f"{name}: {value}\r\n" for name, value in lines)
        if method not in ("GET", "HEAD"):
            text += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        whole = (text + "\r\n").encode("latin-1") + (body if method not in ("GET", "HEAD") else b"")
        for _ in range(3):
            response = self.send(whole, method)
            if response:
                return check(method, target, response)
        raise AssertionError(f"no answer to {whole!r}")

    def send(self, whole: bytes, method: str) -> Response | None:
        if self.reader is None:
            self.reader = Reader(self.address.connect())
        try:
            self.reader.connection.sendall(whole)
            response = self.reader.answer(body=method != "HEAD")
        except ConnectionError:
            response = None
        streams = response and response.get("Content-Type") == "text/event-stream"
        closes = response and (response.get("Connection") or "").lower() == "close"
        if response is None or closes or streams:
            self.close()
        return response

    def close(self) -> None:
        if self.reader:
            self.reader.connection.close()
        self.reader = None


def untouched(client: Client) -> tuple[str, object]:
    return client.now(), client.get("/v1/changes").json["changes"]


# ---- Everything at once ----

HOSTS = (None, "evil.example", "")  # None: the right one
ORIGINS = (None, ("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site"))
AUTHORIZATIONS = (f"Bearer {WRITE_TOKEN}", "", "Bearer wrong-0123456789abcdef")


def faults(route: str, method: str, host: object, origin: object, token: str) -> set[int]:
    """Return the statuses that a request deserves."""
    found = set()
    if host is not None:
        found |= {421, 400} if host == "" else {421}
    if origin is not None:
        found.add(403)
    if route not in OPEN and token != AUTHORIZATIONS[0]:
        found.add(401)
    if method not in ALLOWED[route]:
        found.add(405)
    return found


def combinations() -> Iterator[tuple[str, str, object, tuple[str, str] | None, str]]:
    for route, method in itertools.product(ROUTES, METHODS):
        for host, origin, token in itertools.product(HOSTS, ORIGINS, AUTHORIZATIONS):
            if faults(route, method, host, origin, token):
                yield route, method, host, origin, token


@pytest.mark.parametrize("kind", TCP)
def test_every_method_with_a_wrong_host_origin_or_token_on_every_route_is_refused(
    kind: str, tmp_path: Path
):
    with running(kind, tmp_path) as subject:
        before = untouched(subject.client)
        steady = Steady(subject.address)
        right = subject.address.headers()["Host"]
        for route, method, host, origin, token in combinations():
            lines = [("Host", right if host is None else str(host))]
            lines += [origin] if origin else []
            lines += [("Authorization", token)] if token else []
            body = b"{}" if route == "/v1/undo" else CHANGE
            response = steady.ask(method, route, lines, body)
            wrong = faults(route, method, host, origin, token)
            assert response.status in wrong, (route, method, host, origin, token)
        steady.close()
        assert untouched(subject.client) == before


@pytest.mark.parametrize("kind", TCP)
def test_what_is_open_to_everybody_says_nothing_of_flags(kind: str, tmp_path: Path):
    with running(kind, tmp_path) as subject:
        client = Client(subject.at("tcp", None))
        for route in OPEN:
            response = client.get(route)
            assert response.status == 200, route
            assert b"opened_a" not in response.body
            assert str(subject.process.pid).encode() not in response.body


# ---- DNS rebinding ----

WRONG_HOSTS = (
    *("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:{port}"),
    *("localhost@evil.example", "user@localhost:{port}", "localhost:{port}:80", "localhost:"),
    *("localhost, evil.example", "localhost evil.example", "0.0.0.0:{port}", "0", "[::1", "::"),
    *("http://localhost:{port}", "localhost/", "localhost.", "localhost:x", "*", "%6cocalhost"),
)


@pytest.mark.parametrize("kind", TCP)
def test_dns_rebinding_fails_as_only_names_of_the_server_are_answered(kind: str, tmp_path: Path):
    with running(kind, tmp_path) as subject:
        client = subject.client
        before = untouched(client)
        for host in WRONG_HOSTS:
            named: dict[str, str | None] = {"Host": host.format(port=client.address.port)}
            for target in ("/v1/flags", "/", "/v1/openapi.json"):
                assert client.get(target, named).status in (400, 421), host
            assert client.post("/v1/changes", CHANGE, named).status in (400, 421)
        assert untouched(client) == before
        for host in ("localhost", "LocalHost:{port}", "127.0.0.1:{port}", "127.0.0.1"):
            named = {"Host": host.format(port=client.address.port)}
            assert client.get("/v1/flags", named).status == 200, host


@pytest.mark.parametrize("kind", TCP)
def test_a_request_with_no_host_or_two_is_refused(kind: str, tmp_path: Path):
    with running(kind, tmp_path) as subject:
        client = subject.client
        assert client.get("/v1/flags", {"Host": None}).status in (400, 421)
        good = f"localhost:{client.address.port}"
        for second in (good, "evil.example"):
            steady = Steady(client.address)
            lines = [("Host", good), ("Host", second), ("Authorization", f"Bearer {WRITE_TOKEN}")]
            assert steady.ask("GET", "/v1/flags", lines, b"").status in (400, 421)
            steady.close()


@pytest.mark.parametrize("kind", TCP)
def test_a_host_in_the_target_does_not_replace_the_header(kind: str, tmp_path: Path):
    with running(kind, tmp_path) as subject:
        client = subject.client
        target = f"http://localhost:{client.address.port}/v1/flags"
        response = client.get(target, {"Host": "evil.example"})
        assert response.status in (400, 404, 421)


# ---- Cross-site requests ----


def test_a_form_of_another_site_changes_nothing(reader: Client):
    before = untouched(reader)
    kinds = ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain")
    for kind, site in itertools.product(kinds, (None, "cross-site", "same-site")):
        for origin in (None, "null", "http://evil.example"):
            headers = {"Content-Type": kind, "Sec-Fetch-Site": site, "Origin": origin}
            response = reader.ask("POST", "/v1/changes", headers, CHANGE)
            assert response.status == 403 if site or origin else response.status == 415
    assert untouched(reader) == before


def test_an_image_of_another_site_reads_and_changes_nothing(reader: Client):
    before = untouched(reader)
    headers: dict[str, str | None] = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}
    for target in (*ROUTES, "/v1/changes?set=level=9", "/v1/flags/level?value=9"):
        response = reader.get(target, {**headers, "Sec-Fetch-Mode": "no-cors"})
        assert response.status in (400, 403, 405), target
    assert reader.get("/v1/changes?set=level=9").status == 400
    assert untouched(reader) == before


ORIGINS_OF_OTHERS = (
    *("http://evil.example", "null", "", "file://", "http://localhost", "http://localhost:1"),
    *("{own}.evil.example", "{own}@evil.example", "http://evil.example#{own}", "{own}/"),
    *("http://evil.example {own}", "{own}, http://evil.example", "chrome-extension://abc"),
)


def test_a_fetch_of_another_site_is_refused_and_gets_no_permission(reader: Client):
    before = untouched(reader)
    own = f"http://{reader.address.headers()['Host']}"
    for origin in ORIGINS_OF_OTHERS:
        headers: dict[str, str | None] = {"Origin": origin.format(own=own)}
        if reader.address.unix and origin == "http://localhost":
            continue
        assert reader.get("/v1/flags", headers).status in (400, 403), origin
        assert reader.post("/v1/changes", CHANGE, headers).status in (400, 403), origin
        preflight = {**headers, "Access-Control-Request-Method": "POST"}
        response = reader.ask("OPTIONS", "/v1/changes", preflight)
        assert response.status in (400, 403, 405)
        assert not [n for n, _ in response.headers if n.lower().startswith("access-control")]
    for site in ("cross-site", "same-site", "", "Same-Origin", "none, cross-site", "x"):
        assert reader.get("/v1/flags", {"Sec-Fetch-Site": site}).status in (400, 403), site
        response = reader.post("/v1/changes", CHANGE, {"Sec-Fetch-Site": site, "Origin": own})
        assert response.status in (400, 403), site
    assert untouched(reader) == before


def test_two_origins_or_two_sites_are_refused(reader: Client):
    own = f"http://{reader.address.headers()['Host']}"
    for name, values in (
        ("Origin", (own, "http://evil.example")),
        ("Sec-Fetch-Site", ("none", "cross-site")),
    ):
        for pair in itertools.permutations(values):
            steady = Steady(reader.address)
            lines = [*reader.address.headers().items(), *((name, value) for value in pair)]
            assert steady.ask("POST", "/v1/changes", lines, CHANGE).status in (400, 403)
            steady.close()
    assert reader.text("level") == "6"


def test_the_page_itself_may_change_flags(client: Client):
    own = f"http://{client.address.headers()['Host']}"
    headers: dict[str, str | None] = {"Origin": own, "Sec-Fetch-Site": "same-origin"}
    assert client.post("/v1/changes", CHANGE, headers).status == 200
    assert client.get("/v1/flags", {"Sec-Fetch-Site": "none"}).status == 200


def test_a_websocket_of_another_site_is_refused_and_nobody_gets_one(reader: Client):
    upgrade: dict[str, str | None] = {
        "Connection": "Upgrade, close",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    for target in ("/v1/process", "/v1/flags", "/"):
        response = reader.get(target, {**upgrade, "Origin": "http://evil.example"})
        assert response.status in (400, 403)
        assert reader.get(target, upgrade).status in (200, 400)
    upgrade["Upgrade"] = "h2c"
    assert reader.get("/v1/process", {**upgrade, "HTTP2-Settings": "AAMAAABkAAQAAP__"}).status in (
        200,
        400,
    )


# ---- Tokens ----


def shapes(token: str) -> list[str]:
    half = len(token) // 2
    return [
        *(
            "",
            "Bearer",
            "Bearer ",
            token,
            f"Basic {token}",
            f"Token {token}",
            f"Bearer {token[:-1]}",
        ),
        *(
            f"Bearer {token}x",
            f"Bearer x{token}",
            f"Bearer {token.upper()}",
            f"Bearer {token[:half]}",
        ),
        *(f"Bearer {token} x", f'Bearer "{token}"', f"Bearer {token},{token}", f"Bearer{token}"),
        *("Bearer " + "x" * 512, "Bearer " + "x" * 5000, f"Bearer {token}\u00ff", "Bearer \u00ff"),
    ]


@pytest.mark.parametrize("kind", TCP)
def test_without_the_token_nothing_is_read_or_changed_over_tcp(kind: str, tmp_path: Path):
    with running(kind, tmp_path) as subject:
        before = untouched(subject.client)
        steady = Steady(subject.address)
        host = ("Host", subject.address.headers()["Host"])
        for route in (route for route in ROUTES if route not in OPEN):
            method = "GET" if "GET" in ALLOWED[route] else "POST"
            for shape in [None, *shapes(WRITE_TOKEN)]:
                lines = [host] + ([("Authorization", shape)] if shape is not None else [])
                response = steady.ask(method, route, lines, b"{}")
                assert response.status in (400, 401), (route, shape)
            two = [host, *[("Authorization", f"Bearer {WRITE_TOKEN}")] * 2]
            assert steady.ask(method, route, two, b"{}").status in (400, 401)
        for shape in shapes(WRITE_TOKEN):
            response = steady.ask("POST", "/v1/changes", [host, ("Authorization", shape)], CHANGE)
            assert response.status in (400, 401)
        steady.close()
        assert untouched(subject.client) == before


@pytest.mark.parametrize("kind", TCP)
def test_a_token_in_the_query_or_a_cookie_is_none(kind: str, tmp_path: Path):
    with running(kind, tmp_path) as subject:
        client = Client(subject.at("tcp", None))
        for name in ("token", "access_token"):
            assert client.get(f"/v1/flags?{name}={WRITE_TOKEN}").status in (400, 401)
        assert client.get("/v1/flags", {"Cookie": f"token={WRITE_TOKEN}"}).status == 401


@pytest.mark.parametrize("kind", TCP)
def test_a_token_for_reading_changes_nothing(kind: str, tmp_path: Path):
    with running(kind, tmp_path) as subject:
        subject.client.set("level", 8)
        before = untouched(subject.client)
        reader = Client(subject.at("tcp", READ_TOKEN))
        assert reader.get("/v1/process").json["you"]["may"] == ["read"]
        assert reader.get("/v1/process").json["you"]["label"] == "reader"
        for body in ({"set": {"level": 9}}, {"set": {"level": 9}, "dry_run": True}, {}):
            assert reader.post("/v1/changes", body).status == 403
        assert reader.post("/v1/undo", {}).status == 403
        assert reader.post("/v1/undo", {"change": 1}).status == 403
        assert untouched(subject.client) == before


@pytest.mark.parametrize("kind", TCP)
@pytest.mark.parametrize(
    "tokens", [[], [{"text": "short", "label": "x", "may": "change"}]], ids=str
)
def test_tcp_without_a_token_is_not_served(kind: str, tokens: list[object], tmp_path: Path):
    with (
        pytest.raises(AssertionError, match=r"[Tt]oken"),
        running(kind, tmp_path, {"tokens": tokens}),
    ):
        pass


def body_of(function: str, source: str) -> str:
    found = re.search(
        rf"^[^\n]*\b{function}\([^;{{]*\{{\n(.*?)^\}}", source, re.DOTALL | re.MULTILINE
    )
    assert found, function
    return found[1]


def test_tokens_are_compared_in_a_time_that_does_not_depend_on_them():
    source = (ROOT / "csrc" / "src" / "live" / "guard.c").read_text("utf-8")
    finds, compares = body_of("find_token", source), body_of("same_secret", source)
    assert not re.search(r"\b(str\w*cmp|memcmp|break)\b", finds + compares)
    loop = finds.partition("for (")[2]
    assert "return" not in loop.partition("}")[0], "it ends at the first token that fits"
    assert "return" not in compares.rpartition(";\n  return")[0], "it ends at the first difference"
    assert "volatile" in compares
    for file in (ROOT / "csrc").rglob("*.c"):
        if "live" in file.parts:
            text = file.read_text("utf-8")
            assert not re.search(r"(str\w*cmp|memcmp)\([^;]*token[^;]*->text", text), file
    for file in (ROOT / "paddle_flags" / "live").glob("*.py"):
        assert not re.search(
            r"[=!]= *(self\.)?_?token\b|\btoken\.text *[=!]=", file.read_text("utf-8")
        )
