"""Programs in C that use the server from several threads, and after forks."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from serving import Client, until
from support import LIBDIR, SANITIZE, build, build_program, write

# The validator reports so much that the list of changes forgets what it can.
REPORTING = """
#include <pd_flags/live.h>
#include <stdio.h>
#include <string.h>

static char text[4001];

static bool report(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  static pd_live_changed flags[1000];
  (void)entries, (void)context, (void)why, (void)size;
  for (int i = 0; i < 1000; i++) flags[i] = (pd_live_changed){"other", text, text};
  pd_live_change change = {.size = sizeof change, .by = "ops", .flags = flags, .count = 1000};
  return !*text || pd_live_report(&change, NULL) == PD_OK;
}

PD_DEFINE_int32(threads, 4, "Worker threads", .runtime = true, .validate = report);

int main(int argc, char **argv) {
  pd_error err;
  pd_live_server *server;
  char *line[] = {argv[0], NULL};
  int one = 1;
  if (argc < 2 || pd_parse_argv(&one, line, NULL, &err) != PD_OK) return 2;
  pd_live_server_options options = {.size = sizeof options, .address = argv[1]};
  if (pd_live_serve(&options, &server, &err) != PD_OK) return 1;
  memset(text, 'x', sizeof text - 1);
  puts("ready");
  fflush(stdout);
  getchar();
  return 0;
}
"""

# Children of forks end while another thread reports.
FORKING = """
#include <pd_flags/live.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *report(void *unused) {
  pd_live_changed flag = {"threads", "1", "2"};
  pd_live_change change = {.size = sizeof change, .by = "ops", .flags = &flag, .count = 1};
  while (pd_live_report(&change, NULL) == PD_OK) continue;
  return unused;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, report, NULL) != 0) return 2;
  for (int i = 0; i < 30; i++) {
    pid_t child = fork();
    int status;
    if (child == 0) alarm(240);
    if (child == 0) exit(0);
    if (waitpid(child, &status, 0) != child || status != 0) _exit(1);
  }
  _exit(0);
}
"""


# Children of forks stop their servers while these are opened again.
STOPPING = """
#include <pd_flags/live.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

PD_DEFINE_int32(threads, 4, "Worker threads", .runtime = true);

enum { SERVERS = 60, CHILDREN = 10 };

int main(int argc, char **argv) {
  static pd_live_server *servers[SERVERS];
  char address[256];
  pd_live_server_options options = {
      .size = sizeof options, .address = address, .on_fork = PD_LIVE_FORK_REOPEN};
  char *line[] = {argv[0], NULL};
  int one = 1;
  if (pd_parse_argv(&one, line, NULL, NULL) != PD_OK) return 2;
  for (int i = 0; i < SERVERS && argc == 2; i++) {
    snprintf(address, sizeof address, "%s/%d.sock", argv[1], i);
    if (pd_live_serve(&options, &servers[i], NULL) != PD_OK) return 2;
  }
  for (int i = 0; i < CHILDREN; i++) {
    pid_t child = fork();
    int status;
    if (child == 0) alarm(240);
    if (child == 0) usleep((useconds_t)(99500 + 200 * i));
    for (int k = 0; child == 0 && k < SERVERS; k++) pd_live_stop(servers[k]);
    if (child == 0) usleep(100000);
    if (child == 0) _exit(0);
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  for (int i = 0; i < SERVERS; i++) pd_live_stop(servers[i]);
  return 0;
}
"""

# Preloaded, the server is there before the registry is, whose lock is then taken first by a fork.
PRELOADED = """
#include <pd_flags.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

PD_DEFINE_int32(threads, 4, "Worker threads", .runtime = true);

int main(int argc, char **argv) {
  int status;
  if (pd_parse_argv(&argc, argv, NULL, NULL) != PD_OK) return 2;
  getchar();
  for (int i = 0; i < 500; i++) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  return 0;
}
"""

# What is freed is overwritten at once.
OVERWRITE = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


def built(folder: Path, source: str) -> Path:
    return build_program(
        folder / "host", write(folder / "host.c", source), flags=("-lpd_flags_live", "-lpthread")
    )


@pytest.fixture
def reporting(tmp_path):
    process = subprocess.Popen(
        [str(built(tmp_path, REPORTING)), f"{tmp_path}/flags.sock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **OVERWRITE},
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    yield tmp_path / "flags.sock"
    process.communicate("\n", timeout=20)
    assert process.returncode == 0


@pytest.mark.extended  # takes a second or more
def test_a_change_and_its_undo_outlast_reports_that_fill_the_list(reporting):
    with Client(reporting) as client:
        for number in (2, 3):
            made = client.ask("flags.set", set={"threads": number})
            assert [(each["old"], each["new"]) for each in made["flags"]] == [
                ("4" if number == 2 else "2", str(number))
            ]
        made = client.ask("flags.set", set={"threads": 5}, **{"for": 60})
        undone = client.ask("changes.undo", change=made["change"])
        assert undone["flags"] == [
            {"name": "threads", "old": "5", "new": "3", "source": "live", "hidden": False}
        ]


def test_a_process_that_reports_without_a_server_can_fork(tmp_path):
    env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # children lack the thread that reports
    ended = subprocess.run([built(tmp_path, FORKING)], env=env, timeout=60, check=False)
    assert ended.returncode == 0


def test_a_forked_child_may_stop_servers_while_they_are_opened_again(tmp_path):
    (tmp_path / "sockets").mkdir(0o700)
    host = built(tmp_path, STOPPING)
    ended = subprocess.run(
        [host, tmp_path / "sockets"], env={**os.environ, **OVERWRITE}, timeout=60, check=False
    )
    assert ended.returncode == 0
    assert not list((tmp_path / "sockets").iterdir())


@pytest.mark.extended
@pytest.mark.skipif(bool(SANITIZE), reason="it needs the library of the sanitizer")
def test_a_program_with_a_preloaded_server_forks_while_changes_are_listed(tmp_path):
    address = tmp_path / "flags.sock"
    variables = {
        "LD_PRELOAD": f"{LIBDIR}/libpd_flags_live.so",
        "PADDLE_FLAGS_LIVE": str(address),
    }
    copy = (f"{LIBDIR}/libpd_flags.a", "-lpthread", "-ldl", "-lm")
    host = build(tmp_path / "host", write(tmp_path / "host.c", PRELOADED), flags=copy)
    process = subprocess.Popen(
        [str(host)], stdin=subprocess.PIPE, text=True, env={**os.environ, **variables}
    )
    until(address.exists)
    with Client(address) as client:
        for number in range(200):
            client.ask("flags.set", set={"threads": number})
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.close()
        with suppress(ConnectionError, ValueError, KeyError):  # it has ended
            while process.poll() is None:
                client.ask("changes.list")
    assert process.wait(20) == 0
