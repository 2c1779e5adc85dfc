"""The commands of `paddle-flags` whose target is the URL of a gateway."""

from __future__ import annotations

import http.client
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from test_attack_wire import refused
from ways import TOKENS, Way, start

pytestmark = pytest.mark.extended  # HTTP is an extra

ERROR = "python -m paddle_flags: error: "


@pytest.fixture(scope="module")
def way(tmp_path_factory) -> Iterator[Way]:
    with start("tcp", tmp_path_factory.mktemp("commands")) as made:
        yield made


def output(way: Way, *words: object) -> str:
    """Return what a command prints, on stdout and stderr."""
    process: subprocess.Popen[str] = way.run(*words)
    return process.communicate(timeout=60)[0]


def token_file(place: Path, text: str) -> Path:
    file = place / "token"
    file.write_text(text)
    return file


def test_the_page_of_a_gateway_is_opened_and_needs_no_token_yet(way):
    pid = way.program.pid
    for target, end in ((way.origin, "/"), (f"{way.origin}/{pid}", f"/?pid={pid}")):
        url = output(way, "open", target, "--print").rstrip("\n")
        assert url == f"{way.origin}{end}"
        connection = http.client.HTTPConnection("127.0.0.1", way.port, timeout=60)
        connection.request("GET", f"{urlsplit(url).path}?{urlsplit(url).query}")
        assert connection.getresponse().read().startswith(b"<!doctype html>")
        connection.close()


def test_without_a_token_that_is_known_the_option_is_named(way, tmp_path):
    target = f"{way.origin}/{way.program.pid}"
    wanted = f"{ERROR}expected a token that the gateway knows: see --token-file\n"
    assert output(way, "list", target) == wanted
    assert output(way, "set", target, "level=3") == wanted
    other = token_file(tmp_path, "nobody-has-this-token\n")
    assert output(way, "list", target, "--token-file", other) == wanted


@pytest.mark.parametrize("text", ["", "ops change 0123456789abcdef\n"])
def test_a_file_without_a_token_alone_is_named(text, way, tmp_path):
    file = token_file(tmp_path, text)
    ended = output(way, "list", way.origin, "--token-file", file)
    assert ended.endswith(f"error: {file}: expected a token alone on the first line\n")


def test_a_url_that_is_no_process_says_what_was_expected(way, tmp_path):
    file = token_file(tmp_path, TOKENS["ops"] + "\n")
    wrong = f"{way.origin}/trainer"
    wanted = f"{ERROR}{wrong}: is no process of a gateway, expected http://HOST:PORT/PID\n"
    assert output(way, "list", wrong, "--token-file", file) == wanted


def test_https_where_no_tls_is_spoken_suggests_http(way):
    url = way.origin.replace("http:", "https:")
    ended = output(way, "list", f"{url}/1")
    assert ended.startswith(f"{ERROR}{url}/1: TLS failed: ")
    assert ended.endswith("; does the URL need http?\n")


@pytest.mark.parametrize("port", ["65536", "-1", "http", "٣"])
def test_a_port_that_cannot_be_is_refused(port):
    assert f"'{port}': expected a port, from 0 to 65535" in refused(f"--port={port}")
