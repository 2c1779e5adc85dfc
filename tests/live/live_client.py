"""A client of the live API that knows only the document, and checks what holds for each answer."""

from __future__ import annotations

import contextlib
import json
import re
import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
from live_flags import SECRET, SECRET_TOO
from support import ROOT

LIVE = ROOT / "paddle_flags" / "live"
DEADLINE = 60.0  # seconds that a test waits for what must happen
READ_TOKEN = "reads-0123456789abcdef"  # noqa: S105 - of tests
WRITE_TOKEN = "writes-0123456789abcdef"  # noqa: S105 - of tests
PROBLEMS = {
    400: "malformed",
    401: "token",
    403: "forbidden",
    404: "unknown",
    405: "method",
    408: "timeout",
    409: "conflict",
    413: "too-large",
    415: "media-type",
    421: "host",
    422: "rejected",
    428: "confirm",
    431: "headers",
    500: "internal",
    503: "busy",
    504: "unreachable",
}


def schema(name: str, part: str = "") -> jsonschema.Draft202012Validator:
    """Return the validator of a schema, or of a part of it, as the OpenAPI document has it."""
    document = json.loads((LIVE / "openapi.json").read_text("ascii"))
    pointer = f"#/components/schemas/{name}" + (f"/$defs/{part}" if part else "")
    whole = {"$ref": pointer, "components": document["components"]}
    return jsonschema.Draft202012Validator(whole)


_validators: dict[tuple[str, str], jsonschema.Draft202012Validator] = {}


def matches(value: object, name: str, part: str = "") -> None:
    """Fail unless a value is as the schema says."""
    if (name, part) not in _validators:
        _validators[name, part] = schema(name, part)
    errors = list(_validators[name, part].iter_errors(value))
    assert not errors, f"{name}: {errors[0].json_path}: {errors[0].message}"


@dataclass
class Response:
    status: int
    headers: list[tuple[str, str]]
    body: bytes = b""
    reason: str = ""

    def get(self, name: str) -> str | None:
        """Return a header; that there are two of one name is an error."""
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(found) <= 1, f"{name}: {found}"
        return found[0] if found else None

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> str:
        """Return the last part of the type of a problem."""
        return str(self.json["type"]).rpartition(":")[2]


@dataclass
class Address:
    """Where a server listens, and how a client that may do everything asks it."""

    unix: str | None = None
    port: int | None = None
    token: str | None = None
    host: str = "localhost"
    family: int = socket.AF_INET
    prefix: str = ""  # of a WSGI application

    def connect(self) -> socket.socket:
        if self.unix:
            return connect_unix(self.unix)
        return socket.create_connection(("127.0.0.1", self.port), DEADLINE)

    def headers(self) -> dict[str, str]:
        port = "" if self.unix else f":{self.port}"
        plain = {"Host": f"{self.host}{port}"}
        if self.token:
            plain["Authorization"] = f"Bearer {self.token}"
        return plain


def connect_unix(path: str) -> socket.socket:
    """Connect, and wait while the queue of the server is full."""
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(DEADLINE)
    end = time.monotonic() + DEADLINE
    while True:
        try:
            made.connect(path)
        except BlockingIOError:
            assert time.monotonic() < end, "the queue stays full"
            time.sleep(0.001)
        except OSError:
            made.close()
            raise
        else:
            return made


def encode(method: str, target: str, headers: dict[str, str | None], body: bytes | None) -> bytes:
    """Return a request as bytes; a header that is None is left out."""
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
    if body is not None and not any(n.lower() == "content-length" for n in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + (body or b"")


class Reader:
    """Reads answers from a socket, strictly.

    With `patience`, a server from which nothing comes for so many seconds is taken to have closed:
    it may wait for the rest of a request.
    """

    def __init__(self, connection: socket.socket, patience: float | None = None) -> None:
        self.connection = connection
        self.patience = patience
        self.quiet = False
        self.rest = b""
        self.ended = False

    def more(self) -> bool:
        """Receive something; return whether there was anything."""
        if self.patience and not select.select([self.connection], [], [], self.patience)[0]:
            self.quiet = True
            return False
        try:
            part = self.connection.recv(65536)
        except ConnectionError:
            part = b""
        self.ended |= not part
        self.rest += part
        return bool(part)

    def until(self, mark: bytes) -> bytes | None:
        """Return the bytes before a mark, or None if the connection ends before."""
        while mark not in self.rest:
            if not self.more():
                return None
        found, _, self.rest = self.rest.partition(mark)
        return found

    def exactly(self, count: int) -> bytes:
        while len(self.rest) < count:
            assert self.more(), f"the connection ended before {count} bytes: {self.rest!r}"
        found, self.rest = self.rest[:count], self.rest[count:]
        return found

    def head(self) -> Response | None:
        """Return the status line and the headers; None if there is no answer."""
        text = self.until(b"\r\n\r\n")
        if text is None:
            assert self.quiet or not self.rest, f"half an answer: {self.rest!r}"
            return None
        lines = text.decode("ascii").split("\r\n")
        first = re.fullmatch(r"HTTP/1\.[01] ([0-9]{3}) ?(.*)", lines[0])
        assert first, lines[0]
        headers = []
        for line in lines[1:]:
            header = re.fullmatch(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*", line)
            assert header, f"not a header: {line!r}"
            headers.append((header[1], header[2]))
        return Response(int(first[1]), headers, reason=first[2])

    def answer(self, *, body: bool = True) -> Response | None:
        """Return a whole answer, or None if the connection was closed without one."""
        response = self.head()
        if response is None or not body or response.status in (100, 204, 304):
            return response
        if response.status >= 400 and response.get("Content-Type") is None:  # see check()
            while self.more():
                continue
            response.body, self.rest = self.rest, b""
        elif (response.get("Transfer-Encoding") or "").lower() == "chunked":
            response.body = b"".join(self.chunks())
        elif (length := response.get("Content-Length")) is not None:
            response.body = self.exactly(int(length))
        else:
            assert (response.get("Connection") or "").lower() == "close"
            while self.more():
                continue
            response.body, self.rest = self.rest, b""
        return response

    def chunks(self) -> Iterator[bytes]:
        """Return the parts of a chunked body."""
        while True:
            size = self.until(b"\r\n")
            if size is None:
                return
            part = self.exactly(int(size, 16))
            assert self.exactly(2) == b"\r\n"
            if not part:
                return
            yield part


SCHEMAS = {
    "/v1/process": "process",
    "/v1/flags": "flags",
    "/v1/changes": "changes",
    "/v1/undo": "change-result",
    "/v1/fleet": "fleet",
    "/v1/fleet/changes": "fleet-change-result",
}


def check(method: str, target: str, response: Response, *, echoes: bool = False) -> Response:
    """Check what holds for each answer, whatever was asked.

    With `echoes`, the answer may have what the client has sent in the wrong place.
    """
    assert echoes or not leaks(response.body), "a secret in the body"
    for name, value in response.headers:
        assert not leaks(f"{name}: {value}".encode()), "a secret in a header"
    if response.status == 304:
        assert not response.body
        return response
    if is_of_microhttpd(response):
        return response
    assert response.get("X-Content-Type-Options") == "nosniff"
    policy = response.get("Content-Security-Policy") or ""
    assert "default-src 'none'" in policy, policy
    assert "unsafe" not in policy
    assert "*" not in policy
    assert response.get("Access-Control-Allow-Origin") is None
    path = target.partition("?")[0]
    kind = (response.get("Content-Type") or "").partition(";")[0]
    if response.status >= 400:
        assert kind == "application/problem+json", response
        if method != "HEAD":
            check_problem(response)
    elif path.startswith("/v1/") and path != "/v1/events":
        assert kind == "application/json", response.headers
        if method != "HEAD":
            check_body(method, path, response)
    return response


def is_of_microhttpd(response: Response) -> bool:
    """Return whether libmicrohttpd itself has refused a request, with a fixed text, and closed.

    No server can change that text. Version 0.9.75 sends the head of it twice.
    """
    head = rb"(HTTP/1\.1 4\d\d [A-Za-z ]+\r\n([A-Za-z-]+: [A-Za-z0-9 :,]+\r\n)+\r\n)?"
    page = (
        rb"<html><head><title>[A-Za-z ]+</title></head><body>([A-Za-z ().,'-]|</?b>)*</body></html>"
    )
    closes = response.get("Connection") == "close"
    return closes and re.fullmatch(head + page, response.body.strip()) is not None


def check_problem(response: Response) -> None:
    response.body.decode("ascii")
    problem = response.json
    matches(problem, "problem")
    assert problem["status"] == response.status
    assert response.problem == PROBLEMS[response.status]
    if response.status == 405:
        assert response.get("Allow")
    if response.status == 401:
        assert (response.get("WWW-Authenticate") or "").startswith("Bearer")


def check_body(method: str, path: str, response: Response) -> None:
    response.body.decode("ascii")
    if path == "/v1/changes" and method == "POST":
        matches(response.json, "change-result")
    elif path in SCHEMAS:
        matches(response.json, SCHEMAS[path])
    elif path.startswith("/v1/flags/"):
        matches(response.json, "flag")


def leaks(output: bytes) -> bool:
    """Return whether an output has a secret."""
    return any(
        secret.encode() in output for secret in (SECRET, SECRET_TOO, READ_TOKEN, WRITE_TOKEN)
    )


@dataclass
class Event:
    kind: str
    id: str
    data: Any


@dataclass
class Stream:
    """Server-sent events, as a browser reads them."""

    reader: Reader
    response: Response
    text: str = ""
    retry: str | None = None
    comments: int = 0
    events: list[Event] = field(default_factory=list)

    def bytes(self) -> bytes | None:
        if (self.response.get("Transfer-Encoding") or "").lower() == "chunked":
            return next(self.reader.chunks(), None)
        if not self.reader.rest and not self.reader.more():
            return None
        found, self.reader.rest = self.reader.rest, b""
        return found

    def next(self) -> Event | None:
        """Return the next event; None if the stream ended."""
        while True:
            block, found, rest = self.text.partition("\n\n")
            if found:
                self.text = rest
                event = self.read(block)
                if event:
                    self.events.append(event)
                    return event
                continue
            more = self.bytes()
            if more is None:
                return None
            assert not leaks(more), "a secret in an event"
            self.text += more.decode("ascii")
            assert "\r" not in self.text

    def read(self, block: str) -> Event | None:
        fields: dict[str, str] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            if not name:
                self.comments += 1
                continue
            assert name in ("event", "id", "data", "retry"), line
            assert name not in fields, block
            fields[name] = value.removeprefix(" ")
        self.retry = fields.pop("retry", self.retry)
        if not fields:
            return None
        event = Event(fields["event"], fields["id"], json.loads(fields["data"]))
        if event.kind == "hello":
            matches(event.data, "process")
        else:
            assert event.kind in ("changes", "gap")
            matches(event.data, "event", event.kind)
        assert re.fullmatch("[0-9a-f]{16}-[0-9]+", event.id)
        assert event.id.endswith(f"-{event.data['revision']}")
        return event


class Client:
    """Asks a server, one connection for each request."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def ask(
        self,
        method: str,
        target: str,
        headers: dict[str, str | None] | None = None,
        body: bytes | None = None,
    ) -> Response:
        """Send a request and check the answer; a header that is None isn't sent."""
        target = self.address.prefix + target
        sent: dict[str, str | None] = {**self.address.headers(), "Connection": "close"}
        sent.update(headers or {})
        response = self.send(encode(method, target, sent, body), body=method != "HEAD")
        assert response, f"{method} {target}: no answer"
        return check(method, target[len(self.address.prefix) :], response)

    def send(self, request: bytes, *, body: bool = True) -> Response | None:
        """Send bytes and return the first answer, if there is one."""
        with self.address.connect() as connection:
            with contextlib.suppress(ConnectionError):  # if it is refused before its end
                connection.sendall(request)
            return Reader(connection).answer(body=body)

    def get(self, target: str, headers: dict[str, str | None] | None = None) -> Response:
        return self.ask("GET", target, headers)

    def post(
        self, target: str, value: object, headers: dict[str, str | None] | None = None
    ) -> Response:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.ask(
            "POST", target, {"Content-Type": "application/json", **(headers or {})}, body
        )

    def change(self, **fields: object) -> Response:
        """Change flags; `for_` is `for`."""
        return self.post("/v1/changes", {key.rstrip("_"): each for key, each in fields.items()})

    def set(self, name: str, value: object, **fields: object) -> Any:
        response = self.change(set={name: value}, **fields)
        assert response.status == 200, response.body
        return response.json

    def flag(self, name: str) -> Any:
        response = self.get(f"/v1/flags/{name}")
        assert response.status == 200, response.body
        return response.json["flag"]

    def flags(self) -> dict[str, Any]:
        return {each["name"]: each for each in self.get("/v1/flags").json["flags"]}

    def text(self, name: str) -> str:
        return str(self.flag(name)["text"])

    def now(self) -> str:
        """Return the epoch and the revision, as events and `since` have them."""
        process = self.get("/v1/process").json
        return f"{process['epoch']}-{process['revision']}"

    def stream(
        self, target: str = "/v1/events", headers: dict[str, str | None] | None = None
    ) -> Stream:
        """Open a stream of events; the caller closes it."""
        connection = self.address.connect()
        target = self.address.prefix + target
        sent: dict[str, str | None] = {**self.address.headers(), **(headers or {})}
        connection.sendall(encode("GET", target, sent, None))
        reader = Reader(connection)
        response = reader.head()
        assert response, "no answer"
        assert response.status == 200, response
        assert response.get("Content-Type") == "text/event-stream"
        return Stream(reader, response)


def asset(name: str) -> Path:
    """Return the path of a file that a server sends as it is."""
    return LIVE / name
