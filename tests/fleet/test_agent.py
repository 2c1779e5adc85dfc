"""`paddle-flags join URL -- COMMAND`: programs in any language are members of a fleet."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import agents
import pytest
from agents import Agent
from members import SOON, eventually
from support import WINDOWS, in_url

from paddle_flags.fleet import AbortedError

if WINDOWS:
    pytest.skip("the agent is for Linux: many signals are missing", allow_module_level=True)

pytestmark = pytest.mark.extended  # each test starts processes


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    return {steps: agents.build(folder, steps=steps) for steps in (False, True)}


@pytest.fixture
def server(agent, fleet, programs):
    """Start the program as a member, and wait until its flags are known."""

    def start(*options: object, steps: bool = False, words: tuple[str, ...] = ()) -> Agent:
        made = agent("--name", "server", *options, "--", programs[steps], *words)
        eventually(lambda: "threads" in shown(fleet))
        return made

    return start


def shown(fleet):
    """Return the flags of the program that don't have their defaults."""
    return fleet.members().get("server", {}).get("values", {})


def test_a_program_has_the_values_of_the_fleet_before_its_first_line_runs(fleet, server):
    fleet.set({"threads": 9})
    made = server(words=("--threads=3", "--mode=b"))
    assert [made.line() for _ in range(2)] == ["constructor 9", "main 9 b"]
    assert shown(fleet)["threads"][:2] == ["9", "fleet"]


def test_a_change_reaches_a_program_that_knows_nothing_of_fleets(fleet, server):
    fleet.set({"threads": 9})
    made = server()
    outcome = fleet.set({"threads": 10}, wait=SOON)
    assert outcome.answers["server"].state == "applied"
    assert made.until(lambda line: line.startswith("step") and line.endswith(" 10"))
    with pytest.raises(AbortedError, match=r"threads=65: expected an integer in \[1, 64\]"):
        fleet.set({"threads": 65}, wait=SOON)
    with pytest.raises(AbortedError, match="did you mean threads"):
        fleet.set({"thread": 5}, wait=SOON)
    with pytest.raises(AbortedError, match="mode: not defined with runtime=True"):
        fleet.set({"mode": "c"}, wait=SOON)
    fleet.set({"threads": 20}, duration=0.5, wait=SOON)
    assert made.until(lambda line: line.endswith(" 20"))
    assert made.until(lambda line: line.endswith(" 10"))


def test_what_a_program_cannot_take_does_not_keep_it_from_starting(fleet, server):
    fleet.set({"threads": 9})
    fleet.set({"threads": 99}, force=True)
    made = server()
    assert made.until(lambda line: line.startswith("step")).endswith(" 9")

    def rejected() -> bool:
        [member] = fleet.status().members
        return any(
            "expected an integer in [1, 64]" in each.why for each in member.problems.values()
        )

    eventually(rejected)


def test_a_program_that_counts_steps_takes_a_change_at_its_step(fleet, server):
    fleet.set({"threads": 9})
    made = server(steps=True)
    made.until(lambda line: line.startswith("step"))
    step = 100 + int(shown_step(fleet))
    outcome = fleet.set({"threads": 10}, at_step=step + 400, wait=SOON)
    assert outcome.answers["server"].state in ("waits for its step", "applied")
    assert made.until(lambda line: line.startswith("step")) == f"step {step + 400} 10"


def shown_step(fleet):
    return fleet.members()["server"].get("step") or 0


def test_a_program_that_counts_no_steps_refuses_changes_at_a_step(fleet, server):
    fleet.set({"threads": 9})
    server()
    with pytest.raises(AbortedError, match="counts no steps"):
        fleet.set({"threads": 10}, at_step=10**6, wait=SOON)


def test_a_program_in_python_is_a_member_without_a_line_of_its_own(fleet, agent):
    code = (
        "import signal, paddle_flags as pf\n"
        "x = pf.define('x', 1, 'X', runtime=True, max=9)\n"
        "pf.parse(['prog', '--x=3'])\n"
        "print('x', x.value, x.source, flush=True)\n"
        "x.watch(lambda now: print('now', now.value, flush=True))\n"
        "signal.pause()\n"
    )
    fleet.set({"x": 5})
    made = agent("--name", "server", "--", sys.executable, "-c", code)
    assert made.line() == "x 5 fleet"
    eventually(lambda: "x" in shown(fleet))
    fleet.set({"x": 7}, wait=SOON)
    assert made.line() == "now 7"


def test_signals_go_to_the_program_and_its_exit_status_comes_back(fleet, server):
    fleet.set({"threads": 9})
    made = server()
    made.until(lambda line: line.startswith("main"))
    made.process.send_signal(signal.SIGTERM)
    assert made.until(lambda line: line.startswith("signal")) == f"signal {int(signal.SIGTERM)}"
    assert made.end() == 7
    assert [each.state for each in fleet.status().members] == ["left"]


def test_a_program_that_a_signal_ends_ends_its_agent_likewise(agent):
    assert agent("--", "sh", "-c", "kill -9 $$").end() == -signal.SIGKILL
    assert agent("--", "sh", "-c", "kill -15 $$").end() == -signal.SIGTERM


@pytest.mark.parametrize(
    ("command", "status", "why"),
    [
        (["sh", "-c", "exit 5"], 5, ""),
        (["no-such-program"], 127, "no-such-program: No such file or directory"),
        (["/"], 126, "/: Permission denied"),
    ],
)
def test_the_exit_status_is_that_of_a_shell(agent, command, status, why):
    made = agent("--", *command)
    assert made.end() == status
    assert why in made.errors()


def test_a_program_waits_until_enough_members_have_the_same(agent, fleet):
    first = agent("--name", "one", "--check", "2", "--", "echo", "started")
    eventually(lambda: "one" in fleet.members())
    assert agent("--name", "two", "--check", "2", "--", "echo", "started").line() == "started"
    assert first.line() == "started"


def test_a_program_that_outlives_its_agent_goes_on(fleet, server):
    fleet.set({"threads": 9})
    made = server(steps=True)
    eventually(lambda: fleet.members()["server"]["pid"] != made.process.pid)
    pid = fleet.members()["server"]["pid"]
    made.process.kill()
    made.end()
    os.kill(pid, signal.SIGUSR1)
    assert made.until(lambda line: line.startswith("signal")) == f"signal {int(signal.SIGUSR1)}"


def test_a_program_does_not_start_if_others_are_missing(agent, fleet):
    made = agent("--name", "one", "--check", "2", "--check-timeout", "0.5", "--", "echo", "started")
    assert made.end() == 1
    assert "1 of 2 members are here after 0.5 s" in made.errors()
    assert [each.state for each in fleet.status().members] == ["left"]


@pytest.mark.extended  # takes a second or more
def test_a_check_waits_for_a_program_and_compares_only_the_others(agent, process):
    made = agent("--name", "one", "--check", "3", "--", "sh", "-c", "echo started; exec sleep 60")
    two = [process(WORLD_SIZE="2", RANK=str(rank)).begin() for rank in range(2)]
    for each in two:
        each.send("do", "pf.fleet.check(expect=3)")
    for each in two:
        each.receive()
    assert made.line() == "started"


def test_the_next_process_of_a_script_follows_the_one_that_has_ended(fleet, agent, programs):
    fleet.set({"threads": 9})
    made = agent("--name", "server", "--", "sh", "-c", '"$0" & wait $!; exec "$0"', programs[False])
    eventually(lambda: "threads" in shown(fleet))
    first = fleet.members()["server"]["pid"]
    fleet.set({"threads": 10}, wait=SOON)
    os.kill(first, signal.SIGUSR1)
    made.until(lambda line: line.startswith("signal"))
    assert made.until(lambda line: line.startswith("step")) == "step 0 10"
    eventually(lambda: fleet.members()["server"]["pid"] not in (first, made.process.pid))
    fleet.set({"threads": 11}, wait=SOON)
    assert made.until(lambda line: line.startswith("step")).endswith(" 11")


def test_a_program_ends_when_its_agent_has_lost_the_engine(tmp_path, programs):
    url = f"dir://{in_url(tmp_path)}/engine"
    made = Agent(url, "--ttl", "1", "--on-lost", "exit", "--", programs[False])
    try:
        made.until(lambda line: line.startswith("step"))
        os.rename(tmp_path / "engine", tmp_path / "moved")
        assert made.until(lambda line: line.startswith("signal")) == f"signal {signal.SIGTERM:d}"
        assert made.end() == 7
    finally:
        made.clean()


def test_a_program_ignores_no_signal_that_a_shell_would_not(agent):
    """Python ignores SIGPIPE: `yes | head -1` would end with an error in an agent's program."""
    asked = ["grep", "SigIgn", "/proc/self/status"]
    expected = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    internal = 0b11 << 31  # two signals of the C library itself
    assert ignored(agent("--", *asked).line()) & ~internal == ignored(expected) & ~internal


def ignored(line):
    return int(line.split()[1], 16)


@pytest.mark.parametrize("number", [signal.SIGRTMIN + 6, signal.SIGTSTP, signal.SIGUSR2])
def test_an_agent_passes_on_every_signal(agent, number):
    code = (
        "import os, signal, sys\n"  # print() fails in a handler while another one flushes
        "signal.signal(int(sys.argv[1]), lambda n, _: os.write(1, b'got %d\\n' % n))\n"
        "os.write(1, b'ready\\n')\n"
        "while True: signal.pause()\n"
    )
    made = agent("--", sys.executable, "-c", code, int(number))
    made.until(lambda line: line == "ready")
    made.process.send_signal(number)
    assert made.until(lambda line: line.startswith("got")) == f"got {int(number)}"
    if number == signal.SIGTSTP:  # the agent stops next, and a SIGCONT before that would be lost
        os.waitid(os.P_PID, made.process.pid, os.WSTOPPED)
        made.process.send_signal(signal.SIGCONT)


def test_an_agent_that_is_ended_while_it_waits_for_others_leaves(agent, fleet):
    made = agent("--name", "one", "--check", "2", "--", "echo", "started")
    eventually(lambda: "one" in fleet.members())
    made.process.terminate()
    assert made.end() == -signal.SIGTERM
    assert [each.state for each in fleet.status().members] == ["left"]


def test_a_program_that_has_an_agent_cannot_join_beside_it(agent, url):
    code = f"import paddle_flags as pf; pf.fleet.join({url!r}, name='other')"
    made = agent("--name", "one", "--", sys.executable, "-c", code)
    assert made.end() == 1
    assert "this program is the member one of" in made.errors()
