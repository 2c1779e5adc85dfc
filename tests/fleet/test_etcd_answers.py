"""What answers at a port where etcd should be, and what of that reaches people."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
from contextlib import closing, contextmanager

import pytest
from members import SOON
from support import installed

from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import FleetError

pytestmark = pytest.mark.extended


@pytest.fixture(autouse=True)
def client():
    installed("urllib3")


class Page(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(404)
        self.end_headers()
        self.wfile.write(self.server.text)

    def log_message(self, *_):
        pass


@contextmanager
def answering(text):
    """Answer each request with a text; yield the URL of a fleet there."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        server.text = text
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"etcd://127.0.0.1:{server.server_port}/job"
        finally:
            server.shutdown()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"Nothing here", "answers 404 'Nothing here': expected the client port"),
        (b"\xff\x1b[31m\n{", "answers 404 '\ufffd\\x1b[31m\\n{': expected the client port"),
        (b"[1, 2]", "answers 404 '[1, 2]': expected the client port"),
        (b'{"detail": "Not found"}', "expected the client port"),
        (b'{"result": {}}', "expected the client port"),
        (b'{"error": "{odd} {0} \\u001b[31m\\u0000", "code": 3}', "{odd} {0} \\x1b[31m\\x00"),
        (b'{"error": {"grpc_code": null, "message": "odd"}}', "/job: odd"),
    ],
)
def test_what_else_answers_at_a_port_is_told(text, told):
    with (
        answering(text) as url,
        closing(open_store(url)) as store,
        pytest.raises(FleetError) as raised,
    ):
        store.last()
    assert told in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [b"\x1b[31mred\nFORGED", rb'{"error": "\u001b[31mred\u202e\u0007\nFORGED", "code": 3}'],
)
@pytest.mark.parametrize("verb", ["status", "set"])
def test_an_error_of_an_engine_moves_no_cursor_of_an_operator(verb, text):
    with answering(text) as url:
        command = [sys.executable, "-m", "paddle_flags", verb, url, *["a=1"] * (verb == "set")]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SOON)
    assert ended.returncode != 0
    assert "red" in ended.stderr
    assert [line for line in ended.stderr.split("\n") if not line.isprintable()] == []
    assert "\nFORGED" not in ended.stderr
