"""The steps of a program in C: which one it has begun, and the gate that holds it back."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from serving import Client, until
from support import build_program, write

HOST = """
#include <pd_flags/live.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

PD_DEFINE_int32(level, 6, "Level", .runtime = true);

static void begin(long long step) {
  pd_error err;
  pd_status status = pd_live_step(step, &err);
  printf("%lld %d %s\\n", step, FLAGS_level, status == PD_OK ? "go" : err.message);
  fflush(stdout);
}

static void *count(void *end) {
  for (long long step = 0; step <= *(long long *)end; step++) pd_live_step(step, NULL);
  return end;
}

/* Steps on four threads at once. */
static void race(long long end) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, count, &end);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  begin(end);
}

/* The child isn't held by the gate of its parent, and is served by itself. */
static void spawn(long long step) {
  int status;
  pid_t child = fork();
  if (child == 0) alarm(240);
  if (child == 0) {
    char line[8];
    puts("child");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) _exit(1);
    begin(step);
    _exit(0);
  }
  if (waitpid(child, &status, 0) != child || status != 0) puts("the child has failed");
}

int main(int argc, char **argv) {
  pd_error err;
  pd_live_server *server;
  char line[100];
  if (argc > 2) pd_live_step(5, NULL); /* before it is served */
  pd_live_server_options options = {
      .size = sizeof options, .address = argv[1], .on_fork = PD_LIVE_FORK_REOPEN};
  if (pd_live_serve(&options, &server, &err) != PD_OK) return 1;
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    long long step;
    if (sscanf(line, "step %lld", &step) == 1) begin(step);
    if (sscanf(line, "race %lld", &step) == 1) race(step);
    if (sscanf(line, "fork %lld", &step) == 1) spawn(step);
    if (!strcmp(line, "stop\\n")) pd_live_stop(server);
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("host")
    source = write(folder / "host.c", HOST)
    return build_program(
        folder / "host", source, flags=("-Wl,--no-as-needed", "-lpd_flags_live", "-lpthread")
    )


class Loop:
    """The program, which begins a step when it is told to."""

    def __init__(self, host: Path, socket: Path, *arguments: str) -> None:
        self.socket = socket
        self.process = subprocess.Popen(
            [host, socket, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TSAN_OPTIONS": "die_after_fork=0"},
        )
        assert self.read() == "ready"

    def read(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().rstrip("\n")

    def tell(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def begin(self, step: int) -> str:
        """Begin a step; return what the program prints when it goes on."""
        self.tell(f"step {step}")
        return self.read()


@pytest.fixture
def loop(host, tmp_path):
    made = Loop(host, tmp_path / "flags.sock")
    yield made
    made.process.communicate(timeout=20)
    assert made.process.returncode == 0


@pytest.fixture
def client(loop):
    with Client(loop.socket) as made:
        yield made


def test_the_last_step_is_known_to_clients(loop, client):
    assert client.ask("steps.get") == {"step": None}
    assert loop.begin(0) == "0 6 go"
    assert client.ask("steps.get") == {"step": 0}
    assert loop.begin(-7) == "-7 6 go"
    assert client.ask("steps.get") == {"step": -7}


def test_a_step_before_the_program_is_served_is_noted(host, tmp_path):
    loop = Loop(host, tmp_path / "flags.sock", "early")
    with Client(loop.socket) as client:
        assert client.ask("steps.get") == {"step": 5}
    loop.process.communicate(timeout=20)


def test_a_change_is_made_between_two_steps(loop, client):
    loop.begin(3)
    assert client.ask("steps.gate", step=5) == {"step": 3}
    assert loop.begin(4) == "4 6 go"
    loop.tell("step 5")
    assert client.ask("steps.wait", step=5) == {"step": 5}
    client.ask("flags.set", set={"level": 9})
    assert client.ask("steps.gate", step=None) == {"step": 5}
    assert loop.read() == "5 9 go"
    assert loop.begin(6) == "6 9 go"


def test_a_later_step_waits_too_and_a_gate_that_moves_up_lets_it_go(loop, client):
    client.ask("steps.gate", step=5)
    loop.tell("step 8")
    client.ask("steps.wait", step=8)
    client.ask("steps.gate", step=8)
    client.ask("flags.set", set={"level": 9})
    client.ask("steps.gate", step=9)
    assert loop.read() == "8 9 go"


def test_who_comes_too_late_learns_it(loop, client):
    loop.begin(5)
    assert client.ask("steps.gate", step=5) == {"step": 5}
    client.ask("steps.gate")
    assert loop.begin(6) == "6 6 go"


def test_a_client_that_disconnects_opens_its_gate(loop):
    with Client(loop.socket) as client:
        client.ask("steps.gate", step=5, timeout=60)
        loop.tell("step 5")
        client.ask("steps.wait", step=5)
    assert loop.read() == "5 6 go"


def test_a_server_that_stops_opens_it_too(loop, client):
    client.ask("steps.gate", step=5, timeout=60)
    loop.tell("stop")
    assert client.read() == {}
    assert loop.begin(5) == "5 6 go"


def test_a_gate_that_nobody_opens_in_time_is_an_error_once(loop, client):
    client.ask("steps.gate", step=5, timeout=0.2)
    assert loop.begin(7) == (
        "7 6 step 7: a client has closed the gate at step 5, and hasn't opened it within 0.2 s"
    )
    assert loop.begin(8) == "8 6 go"
    client.ask("steps.gate", step=9)


def test_another_client_can_not_move_a_gate(loop, client):
    client.ask("steps.gate", step=5)
    with Client(loop.socket) as other:
        error = other.fail("steps.gate", step=9)
        assert (error["code"], error["message"]) == (
            409,
            "another client has closed the gate at step 5",
        )
        assert other.fail("steps.gate")["code"] == 409
        client.ask("steps.gate")
        other.ask("steps.gate", step=9)


def test_who_waits_for_a_step_delays_nobody(loop, client):
    client.send('{"jsonrpc":"2.0","id":"w","method":"steps.wait","params":{"step":3}}\n')
    assert client.ask("steps.get") == {"step": None}
    assert loop.begin(2) == "2 6 go"
    assert loop.begin(4) == "4 6 go"
    assert client.read() == {"jsonrpc": "2.0", "id": "w", "result": {"step": 4}}
    assert client.ask("steps.wait", step=4) == {"step": 4}


def test_a_step_that_does_not_come_is_not_waited_for_for_ever(client):
    error = client.fail("steps.wait", step=3, timeout=0.2)
    assert (error["code"], error["message"]) == (
        504,
        "given up after 0.2 s: the program hasn't begun step 3",
    )


def test_who_waits_may_leave_and_only_so_many_can(loop, client):
    line = '{"jsonrpc":"2.0","id":1,"method":"steps.wait","params":{"step":3,"timeout":60}}\n'
    with Client(loop.socket) as other:
        other.send(line * 65)
        error = other.read()["error"]
        assert (error["code"], error["message"]) == (503, "64 requests wait for a step already")
    wait = {"step": 3, "timeout": 0.1}
    until(lambda: client.fail("steps.wait", **wait)["code"] == 504)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("steps.wait", {}),
        ("steps.wait", {"step": "3"}),
        ("steps.gate", {"step": 1.5}),
        ("steps.gate", {"step": 2**63}),
    ],
)
def test_a_step_is_a_whole_number(client, method, params):
    error = client.fail(method, **params)
    assert (error["code"], error["message"]) == (-32602, "params: step: expected a whole number")


def test_threads_may_begin_steps_while_the_gate_moves(loop, client):
    client.ask("steps.gate", step=100)
    loop.tell("race 20000")
    for step in (100, *range(500, 20000, 250)):
        client.ask("steps.gate", step=step)
        client.ask("steps.wait", step=step)
    client.ask("steps.gate")
    assert loop.read() == "20000 6 go"


def test_a_forked_child_has_no_steps_and_no_gate(loop, client):
    loop.begin(3)
    client.ask("steps.gate", step=4, timeout=60)
    loop.tell("fork 9")
    assert loop.read() == "child"
    found = until(lambda: list(loop.socket.parent.glob("flags.sock.*")))
    with Client(found[0]) as child:
        assert child.ask("steps.get") == {"step": None}
        loop.tell("go")
        assert loop.read() == "9 6 go"
    client.ask("steps.gate")
    assert client.ask("steps.get") == {"step": 3}
