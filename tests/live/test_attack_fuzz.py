"""Random bytes for each server: it answers well-formed HTTP or closes, and lives on.

PD_LIVE_EXAMPLES is how many examples each test tries.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from live_client import Client, Reader, check
from live_subjects import Subject, kinds, running

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

EXAMPLES = int(os.environ.get("PD_LIVE_EXAMPLES", "60"))
SETTINGS = settings(max_examples=EXAMPLES, deadline=None)


@pytest.fixture(scope="module", params=kinds("python-unix", "python-tcp", "c-unix", "c-tcp"))
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    with running(request.param, tmp_path_factory.mktemp("shared")) as made:
        yield made
        assert made.process.poll() is None
        assert made.client.get("/v1/process").status == 200


def converse(client: Client, data: bytes) -> None:
    """Send bytes, and check all that comes back until the end."""
    with client.address.connect() as connection:
        with contextlib.suppress(OSError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        reader = Reader(connection, 0.2)
        while True:
            response = reader.head()
            if response is None:
                return
            if response.get("Content-Type") == "text/event-stream":
                return  # it would go on for ever
            if response.status != 100 and not read_body(reader, response, data):
                return
            if response.status != 100 and response.body:
                check("GET", "/nothing", response, echoes=True)


def read_body(reader: Reader, response: Any, data: bytes) -> bool:
    """Read a body; return False if there may be none, as after HEAD."""
    length = response.get("Content-Length")
    if b"HEAD" in data or response.status == 304 or response.get("Content-Type") is None:
        return False
    assert length is not None, response
    while len(reader.rest) < int(length):
        if not reader.more():
            return False
    response.body = reader.exactly(int(length))
    return True


# ---- HTTP ----

PARTS = (
    *(b"GET", b"POST", b"HEAD", b"PUT", b" ", b"/", b"/v1/flags", b"/v1/process", b"/v1/changes"),
    *(
        b"/v1/flags/level",
        b"/v1/undo",
        b"/v1/events",
        b"?since=",
        b"%00",
        b"%zz",
        b" HTTP/1.1",
        b" HTTP/1.0",
    ),
    *(
        b"\r\n",
        b"\n",
        b"\r",
        b"\r\n\r\n",
        b"\x00",
        b"\t",
        b"Host: localhost\r\n",
        b"Host: evil\r\n",
        b":",
    ),
    *(
        b"Content-Length: 0\r\n",
        b"Content-Length: 10\r\n",
        b"Content-Length: -1\r\n",
        b"Connection: close\r\n",
    ),
    *(
        b"Transfer-Encoding: chunked\r\n",
        b"0\r\n\r\n",
        b"5\r\nabcde\r\n",
        b"ffffffff\r\n",
        b"Expect: 100-continue\r\n",
    ),
    *(
        b"Content-Type: application/json\r\n",
        b'{"set": {"level": 7}}',
        b"Upgrade: websocket\r\n",
        b"{",
        b"X: ",
    ),
    *(
        b"Connection: keep-alive\r\n",
        b"Origin: http://evil\r\n",
        b"Authorization: Bearer x\r\n",
        b"\xff\xfe",
    ),
)
PIECES = st.one_of(st.sampled_from(PARTS), st.binary(max_size=20))


@given(st.lists(PIECES, max_size=30))
@SETTINGS
def test_random_bytes_are_answered_by_well_formed_http_or_closed(
    shared: Subject, pieces: list[bytes]
):
    converse(shared.client, b"".join(pieces))


@given(
    st.sampled_from(["GET", "POST", "DELETE", "OPTIONS"]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60),
    st.lists(
        st.tuples(st.from_regex("[A-Za-z-]{1,12}", fullmatch=True), st.binary(max_size=40)),
        max_size=6,
    ),
)
@SETTINGS
def test_random_targets_and_headers_are_answered(
    shared: Subject, method: str, target: str, headers: list[tuple[str, bytes]]
):
    own = shared.client.address.headers()
    lines = [f"{method} /{target} HTTP/1.1", *(f"{name}: {value}" for name, value in own.items())]
    rest = b"".join(name.encode() + b": " + value + b"\r\n" for name, value in headers)
    converse(shared.client, "\r\n".join(lines).encode() + b"\r\n" + rest + b"\r\n")


@given(st.data(), st.integers(0, 3), st.integers(1, 40))
@SETTINGS
def test_a_damaged_request_is_answered_or_closed(
    shared: Subject, data: Any, kind: int, length: int
):
    client = shared.client
    body = b'{"set": {"level": 7}, "dry_run": true}'
    own = "".join(f"{name}: {value}\r\n" for name, value in client.address.headers().items())
    head = f"POST /v1/changes HTTP/1.1\r\n{own}Content-Type: application/json\r\n"
    whole = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    at = data.draw(st.integers(0, len(whole)))
    noise = data.draw(st.binary(max_size=length))
    damaged = {
        0: whole[:at] + noise + whole[at:],
        1: whole[:at] + whole[at + length :],
        2: whole[:at] + noise + whole[at + length :],
        3: whole[:at] + whole[max(at - length, 0) :],
    }[kind]
    before = client.now()
    converse(client, damaged)
    if client.now() != before:  # `dry_run` or what follows was damaged, but the rest was right
        client.set("level", None)


# ---- Bodies ----

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=12,
)
NAMES = st.sampled_from(
    ["level", "check", "text", "names", "plain", "danger", "secret", "nobody", "lvl"]
)
MEMBERS = st.fixed_dictionaries(
    {"set": st.dictionaries(NAMES | st.text(max_size=8), VALUES, max_size=4)},
    optional={
        "expect": st.dictionaries(NAMES, VALUES, max_size=3),
        "reason": VALUES,
        "for": VALUES | st.sampled_from(["10m", "90s", 5, 0.1]),
        "dry_run": st.booleans() | VALUES,
        "confirm": st.lists(NAMES) | VALUES,
        "change": VALUES,
    },
)
STATUSES = {200, 400, 403, 404, 409, 422, 428}


def post(client: Client, target: str, body: bytes) -> None:
    """Post a body; if it is refused, nothing has changed."""
    before = client.now()
    response = client.post(target, body)
    assert response.status in STATUSES
    if response.status != 200 or response.json["dry_run"]:
        assert client.now() == before


@given(MEMBERS)
@SETTINGS
def test_random_changes_happen_or_are_refused(shared: Subject, members: dict[str, Any]):
    members.pop("for", None)  # what ends by itself would change something later
    post(shared.client, "/v1/changes", json.dumps(members).encode())


@given(MEMBERS, st.data())
@SETTINGS
def test_damaged_json_is_refused_or_read(shared: Subject, members: dict[str, Any], data: Any):
    members.pop("for", None)
    text = json.dumps(members, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "replace")
    at = data.draw(st.integers(0, len(text)))
    post(
        shared.client, "/v1/changes", text[:at] + data.draw(st.binary(max_size=6)) + text[at + 1 :]
    )


@given(st.binary(max_size=200) | st.text(max_size=60).map(lambda t: json.dumps(t).encode()))
@SETTINGS
def test_random_bodies_are_refused(shared: Subject, body: bytes):
    for target in ("/v1/changes", "/v1/undo"):
        post(shared.client, target, body)
