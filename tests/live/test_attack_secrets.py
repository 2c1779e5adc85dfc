"""Sensitive values in any output, and hostile texts in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from live_client import LIVE, READ_TOKEN, WRITE_TOKEN, Client, leaks
from live_flags import MARKUP, SECRET, SECRET_TOO
from live_subjects import Subject

OPEN = ("/", "/page.js", "/page.css", "/v1/openapi.json", "/v1/schemas/flags.json")


# ---- Sensitive values. The client checks each body and each header. ----


def change_secrets(subject: Subject, client: Client) -> None:
    """Set secrets from all sides, rightly and wrongly."""
    assert client.change(set={"secret": SECRET_TOO}, reason="rotate").status == 200
    assert client.change(set={"secret": SECRET}, dry_run=True).status == 200
    assert client.change(set={"secret_list": "5,6"}, for_="10m").status == 200
    assert client.change(set={"secret_list": f"1,{SECRET}"}).status == 422
    assert client.change(set={"secret_even": SECRET}).status == 422
    assert client.change(set={"secret_even": 3}).status == 422
    assert client.change(set={"secret_number": SECRET}).status == 422
    assert client.change(set={"secret_number": 12.5}).status == 422
    assert client.change(set={"secret": SECRET, "level": 99}).status == 422
    assert client.change(set={"secret": SECRET}, expect={"secret": SECRET}).status in (403, 409)
    assert client.change(set={"secret": SECRET, "plain": 1}).status == 403
    assert client.change(set={"secret": SECRET, "danger": 1}).status == 428
    subject.tell("set", "secret", SECRET)
    subject.tell("set", "secret", SECRET_TOO)
    assert client.post("/v1/undo", {}).status in (200, 409)
    assert client.set("secret", None)


def test_sensitive_values_are_in_no_answer(subject: Subject, client: Client):
    start = client.now()
    change_secrets(subject, client)
    for target in ("/v1/process", "/v1/flags", "/v1/changes", f"/v1/flags?since={start}", *OPEN):
        client.get(target)
    for name in ("secret", "secret_list", "secret_number"):
        flag = client.flag(name)
        assert not {"value", "text", "default", "default_text"} & set(flag)
        assert flag["history"]
        assert all(not {"value", "text"} & set(entry) for entry in flag["history"])
        assert all(not {"old", "new"} & set(event) for event in flag["log"])
    changes = client.get("/v1/changes").json["changes"]
    assert not any(
        {"old", "new"} & set(f) for c in changes for f in c["flags"] if "secret" in f["name"]
    )


def test_sensitive_values_are_in_no_event(subject: Subject, client: Client):
    start = client.now()
    change_secrets(subject, client)
    stream = client.stream(f"/v1/events?since={start}")
    events = [stream.next() for _ in range(1)]
    stream.reader.connection.close()
    assert events[0]


def test_sensitive_values_are_in_no_log_and_no_audit(
    subject: Subject, client: Client, tmp_path: Path
):
    change_secrets(subject, client)
    subject.end()
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert not leaks(file.read_bytes()), file.name
    assert (tmp_path / "audit.jsonl").exists()


def test_sensitive_values_are_not_in_the_source_of_the_page():
    for name in ("page.html", "page.js", "page.css"):
        text = (LIVE / name).read_bytes()
        assert not leaks(text)


def test_whether_a_guess_of_a_sensitive_value_is_right_is_not_told(reader: Client):
    right = reader.change(set={"level": 7}, expect={"secret": SECRET})
    wrong = reader.change(set={"level": 7}, expect={"secret": "guess"})
    assert right.status == wrong.status != 200
    assert right.body == wrong.body


def test_tokens_are_in_no_answer_and_no_log(subject: Subject, client: Client, tmp_path: Path):
    for token in (READ_TOKEN, WRITE_TOKEN, f"{WRITE_TOKEN}x"):
        for shape in (f"Bearer {token}", token, f"Basic {token}"):
            client.get("/v1/flags", {"Authorization": shape})
        client.get(f"/v1/flags?token={token}")
    client.set("level", 9)
    subject.end()
    assert not leaks((tmp_path / "log.txt").read_bytes())
    assert not leaks((tmp_path / "audit.jsonl").read_bytes())


# ---- Stored script ----


def test_stored_script_stays_text_of_json(client: Client):
    client.set("text", MARKUP, reason=MARKUP)
    client.change(set={"even": 3}, reason=MARKUP)
    wrong = client.change(set={MARKUP: MARKUP})
    assert wrong.status in (400, 404)
    for target in ("/v1/flags", "/v1/flags/markup", "/v1/changes", "/v1/process"):
        response = client.get(target)
        assert response.get("Content-Type") == "application/json"
        response.body.decode("ascii")
    assert client.flag("markup")["help"] == MARKUP
    assert client.get("/v1/changes").json["changes"][0]["reason"] == MARKUP
    for target in (
        "/v1/flags/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "/%3Cscript%3E",
        "/v1/flags?%3Cb%3E",
    ):
        response = client.get(target)
        assert response.status in (400, 404)
        assert response.get("Content-Type") == "application/problem+json"
    for target in OPEN:
        assert b"alert(1)" not in client.get(target).body


def test_the_page_runs_only_its_own_script_and_is_in_no_frame(reader: Client):
    policy = reader.get("/").get("Content-Security-Policy") or ""
    parts = {part.split()[0]: part.split()[1:] for part in policy.split(";") if part.strip()}
    assert parts["default-src"] == ["'none'"]
    assert parts["script-src"] == ["'self'"]
    assert parts["style-src"] == ["'self'"]
    assert parts["frame-ancestors"] == ["'none'"]
    assert parts["base-uri"] == ["'none'"]
    assert parts["form-action"] == ["'none'"]
    page = (LIVE / "page.html").read_text("utf-8")
    assert "<script>" not in page
    assert "<style>" not in page
    assert " style=" not in page
    assert " onclick=" not in page


def test_nothing_that_is_answered_is_stored_by_a_browser(reader: Client):
    for target in ("/v1/flags", "/v1/process", "/v1/changes", "/v1/flags/level"):
        assert "no-store" in (reader.get(target).get("Cache-Control") or "")


# ---- Header injection ----

LINES = (
    "\r\nX-Evil: 1",
    "\nX-Evil: 1",
    "\rX-Evil: 1",
    "%0d%0aX-Evil:%201",
    "%0aX-Evil:%201",
    "\u560d\u560aX-Evil: 1",
)


@pytest.mark.parametrize("line", LINES, ids=ascii)
def test_no_text_of_a_client_becomes_a_header(client: Client, line: str):
    client.set("text", line, reason=line)
    client.change(set={"names": line})
    for target in ("/v1/flags", "/v1/flags/text", "/v1/changes"):
        assert client.get(target).get("X-Evil") is None
    for response in (
        client.change(set={line: 1}),
        client.change(set={"level": line}),
        client.change(set={"level": 7}, expect={"text": "x"}),
        client.change(set={"level": 7}, for_=line),
        client.change(set={"level": 7}, confirm=[line], expect={"level": line}),
    ):
        assert response.get("X-Evil") is None
        assert "\n" not in response.json["detail"]
    if "%" in line:
        for target in (
            f"/v1/flags/{line}",
            f"/v1/flags?since={line}",
            f"/v1/events?since={line}",
            f"/{line}",
        ):
            response = client.get(target)
            assert response.status in (400, 404)
            assert response.get("X-Evil") is None
        for name in ("If-None-Match", "Last-Event-ID", "Origin", "Authorization", "X"):
            response = client.get("/v1/flags/level", {name: line})
            assert response.get("X-Evil") is None


# ---- Paths ----

PATHS = (
    *(
        "/v1/schemas/../openapi.json",
        "/v1/schemas/..%2fopenapi.json",
        "/v1/schemas/%2e%2e/page.html",
    ),
    *("/v1/schemas/../../../../../../etc/passwd", "/v1/schemas/..%2f..%2f..%2f..%2fetc%2fpasswd"),
    *(
        "/v1/schemas//etc/passwd",
        "/v1/schemas/%2fetc%2fpasswd",
        "/v1/schemas/flags.json/..",
        "/v1/schemas/",
    ),
    *(
        "/v1/schemas/flags.json%00.js",
        "/v1/schemas/..\\openapi.json",
        "/v1/schemas/%5c..%5cpage.js",
    ),
    *(
        "/v1/schemas/%252e%252e%252fpage.js",
        "/v1/schemas/.",
        "/v1/schemas/..",
        "/v1/schemas/__init__.py",
    ),
    *(
        "/../etc/passwd",
        "/..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/page.js/../__init__.py",
    ),
    *(
        "/__init__.py",
        "/_server.py",
        "/schemas/flags.json",
        "/page.html",
        "/.",
        "/./page.js",
        "/page.js%00",
    ),
    *("/v1/flags/../process", "/v1/flags/..%2fprocess", "/v1/flags/%2e%2e%2f%2e%2e%2fetc%2fpasswd"),
    *(
        "/v1/flags/level/../../process",
        "/v1/flags//level",
        "/v1/flags/level/",
        "/v1/flags/level%2f",
    ),
)


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_out_of_the_resources(reader: Client, path: str):
    response = reader.get(path)
    assert response.status in (400, 404), path
    assert b"root:" not in response.body
    assert b"import" not in response.body


def test_the_documents_of_the_package_are_no_programs():
    for file in sorted((LIVE / "schemas").glob("*.json")):
        json.loads(file.read_text("ascii"))
