"""How agents and their programs begin and end, at the worst moments."""

from __future__ import annotations

import os
import signal
import time

import agents
import pytest
import support
from members import SOON, eventually

from paddle_flags.fleet import AbortedError

pytestmark = pytest.mark.extended  # each test starts processes

# Makes `rename` of the document of a member, and what follows a start, take as long as a test says.
SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*renames)(const char *, const char *);
typedef int (*spawns)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                      const posix_spawnattr_t *, char *const[], char *const[]);

int rename(const char *from, const char *to) {
  const char *go = getenv("SLOW_ANNOUNCE");
  if (go && strstr(to, "/members/")) {
    char seen[4096];
    snprintf(seen, sizeof seen, "%s.seen", go);
    close(open(seen, O_CREAT | O_WRONLY, 0600));
    while (access(go, F_OK) != 0) usleep(1000);
  }
  return ((renames)dlsym(RTLD_NEXT, "rename"))(from, to);
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  spawns spawn = (spawns)dlsym(RTLD_NEXT, "posix_spawnp");
  int error = spawn(pid, file, actions, attributes, argv, envp);
  if (getenv("SLOW_SPAWN")) usleep(100000);
  return error;
}
"""


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    place = tmp_path_factory.mktemp("slow")
    flags = ("-shared", "-fPIC", "-ldl")
    built = place / "slow.so"
    support.run("cc", support.write(place / "slow.c", SLOW), "-o", built, *flags)
    return support.preload(built)["LD_PRELOAD"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return agents.build(tmp_path_factory.mktemp("program"), steps=False)


def test_an_agent_that_is_ended_while_it_joins_starts_no_program(
    agent, slow, tmp_path, monkeypatch
):
    go = tmp_path / "go"
    monkeypatch.setenv("LD_PRELOAD", slow)
    monkeypatch.setenv("SLOW_ANNOUNCE", str(go))
    made = agent("--name", "one", "--", "sh", "-c", "echo began; sleep 1; echo went on")
    eventually((tmp_path / "go.seen").exists)
    made.process.terminate()
    time.sleep(0.5)  # the agent gives up what it waits for, and then it comes
    go.touch()
    assert made.end() == -signal.SIGTERM
    assert made.line() == ""


def test_an_agent_notices_the_end_of_a_program_however_short_it_is(agent, slow, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", slow)
    monkeypatch.setenv("SLOW_SPAWN", "1")
    for _ in range(6):
        assert agent("--name", "one", "--", "sh", "-c", "exit 3").end() == 3


@pytest.mark.parametrize("text", ["echo no interpreter\n", "\x7fELF"])
def test_what_is_no_program_is_told_from_what_is_not_there(agent, tmp_path, text):
    path = tmp_path / "odd"
    path.write_text(text)
    path.chmod(0o755)
    made = agent("--", path)
    assert made.end() == 126
    assert f"{path}: Exec format error" in made.errors()


def test_the_agent_of_a_program_that_hangs_is_a_member_that_says_so(agent, fleet, program):
    fleet.set({"threads": 9})
    made = agent("--name", "server", "--ttl", "2", "--", program)
    made.until(lambda line: line.startswith("step"))
    eventually(lambda: "threads" in fleet.members().get("server", {}).get("values", {}))
    pid = fleet.members()["server"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        eventually(lambda: [each.state for each in fleet.status().members], ["lost"])
        time.sleep(3)  # more than a lease
        [found] = fleet.status().members
        assert (found.state, found.pid) == ("lost", pid)
        assert "the program can't be reached" in found.why
        with pytest.raises(AbortedError, match="no answer of server"):
            fleet.set({"threads": 10}, wait=1)
    finally:
        os.kill(pid, signal.SIGCONT)
    eventually(lambda: [each.state for each in fleet.status().members], ["current"])
    assert fleet.set({"threads": 11}, wait=SOON).ok
    made.until(lambda line: line.endswith(" 11"))
