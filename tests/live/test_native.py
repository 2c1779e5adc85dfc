"""Programs in C: linked with the library, and with the library preloaded."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from serving import Client, until
from support import LIBDIR, SANITIZE, build_program, write

HOST = """
#include <pd_flags/live.h>
#include <stdio.h>
#include <string.h>

PD_DEFINE_int32(threads, 4, "Worker threads", .min = 1, .max = 64, .runtime = true);

int main(int argc, char **argv) {
  pd_error err;
  pd_live_server *server;
  char *line[] = {argv[0], NULL};
  int one = 1;
  if (pd_parse_argv(&one, line, NULL, &err) != PD_OK) return 2;
  pd_live_server_options options = {.size = sizeof options, .address = argv[1], .settable = NULL};
  if (argc > 2 && strcmp(argv[2], "preloaded") == 0) {
    puts("ready");
  } else if (pd_live_serve(&options, &server, &err) != PD_OK) {
    puts(err.message);
    return 1;
  } else {
    puts(pd_live_get_address(server));
  }
  fflush(stdout);
  getchar();
  printf("%d\\n", FLAGS_threads);
  return 0;
}
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("host")
    return build_program(
        folder / "host", write(folder / "host.c", HOST), flags=("-lpd_flags_live",)
    )


def run(host: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(host), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )


def test_a_c_program_serves_its_flags(host, tmp_path):
    process = run(host, f"{tmp_path}/flags.sock")
    assert process.stdout
    assert process.stdout.readline() == f"{tmp_path}/flags.sock\n"
    with Client(tmp_path / "flags.sock") as client:
        assert client.ask("hello")["program"] == "host"
        client.ask("flags.set", set={"threads": 2})
        assert (
            "expected an integer in [1, 64]"
            in client.fail("flags.set", set={"threads": 65})["message"]
        )
    assert process.communicate("\n", timeout=20) == ("2\n", None)
    assert not (tmp_path / "flags.sock").exists()


def test_an_address_that_is_no_path_is_an_error(host):
    process = run(host, "localhost:80")
    assert "expected a path with a slash" in process.communicate("\n", timeout=20)[0]


@pytest.mark.skipif(bool(SANITIZE), reason="it needs the library of the sanitizer")
def test_a_preloaded_library_serves_as_the_environment_says(host, tmp_path):
    process = run(
        host,
        "x",
        "preloaded",
        LD_PRELOAD=str(Path(LIBDIR) / "libpd_flags_live.so"),
        PADDLE_FLAGS_LIVE=f"{tmp_path}/flags.sock",
        PADDLE_FLAGS_LIVE_AUDIT=f"{tmp_path}/audit.jsonl",
    )
    until((tmp_path / "flags.sock").exists)
    with Client(tmp_path / "flags.sock") as client:
        client.ask("flags.set", set={"threads": 3})
    assert process.communicate("\n", timeout=20)[0].endswith("3\n")
    assert '"threads"' in (tmp_path / "audit.jsonl").read_text()


@pytest.mark.skipif(bool(SANITIZE), reason="it needs the library of the sanitizer")
def test_the_library_needs_nothing_but_libc():
    needed = subprocess.run(
        ["readelf", "-d", f"{LIBDIR}/libpd_flags_live.so"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = [line.split("[")[1].rstrip("]") for line in needed.splitlines() if "NEEDED" in line]
    assert set(found) <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"}
