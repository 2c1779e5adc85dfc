"""Members of a fleet in programs that do what programs should not do."""

from __future__ import annotations

import os
import signal
import time

import pytest
from members import FLAGS, SOON, Failed, eventually, files_of

from paddle_flags.fleet import FleetError

pytestmark = pytest.mark.extended  # each test starts processes

SECRET = 'token = pf.define("token", "none", runtime=True, sensitive=True, old_names=["key"])'  # noqa: S105


# ---- Secrets ----


def test_check_publishes_no_secret_of_the_environment(folder, fleet, process):
    variables = {
        "PADDLE_FLAGS_FLEET_KEY": "swordfish",
        "PADDLE_FLAGS_ETCD_PASSWORD": "swordfish",
        "FLAGS_token": "swordfish",
        "FLAGS_key": "swordfish",
    }
    two = [process(**variables, FLAGS_level=level) for level in "78"]
    for rank, each in enumerate(two):
        each.begin(role="trainer", rank=rank)
        each.do(SECRET)
        each.send("do", "pf.fleet.check(environment=['PADDLE_*', 'FLAGS_*'], expect=2)")
    for each in two:  # a difference lets them publish all that they have
        with pytest.raises(Failed, match=r"\$FLAGS_level: '[78]' in trainer-."):
            each.receive()
    said = fleet.members()["trainer-0"]["details"]["variables"]
    assert {name for name in said if name in variables} == set()
    assert said["FLAGS_level"] == "7"
    assert b"swordfish" not in files_of(folder)


def test_a_sensitive_flag_that_is_defined_later_takes_no_value_of_the_fleet(fleet, process):
    fleet.set({"token": "swordfish", "level": 7})
    one = process()
    one.join(role="trainer", rank=0)
    one.do(FLAGS + SECRET)
    assert one.ask("token.value") == "none"
    assert one.ask("level.value") == 7
    one.wait_for("pf.fleet.member().answers[1].state", "rejected")
    fleet.set({"level": 8}, wait=SOON)
    assert one.ask("(token.value, level.value)") == ["none", 8]


def test_a_value_that_a_later_flag_rejects_keeps_no_program_from_starting(fleet, process):
    given = fleet.set({"level": 500, "lr": 0.5}).revision
    one = process().begin(role="trainer", rank=0)
    one.do("pf.parse(['train.py'])")
    assert one.ask("(level.value, lr.value)") == [1, 0.1]
    one.wait_for(f"pf.fleet.member().answers[{given}].state", "rejected")
    eventually(lambda: given in fleet.status().members[0].problems)  # it has published its answer
    [member] = fleet.status().members
    assert "level=500: expected an integer in" in member.problems[given].why
    with pytest.raises(Failed, match=f"trainer-0: revision {given}: rejected: .*level=500"):
        one.do("pf.fleet.check(timeout=1)")
    assert fleet.set({"level": 7}, wait=SOON).ok
    assert one.ask("(level.value, lr.value)") == [7, 0.1]


def test_no_operator_writes_a_secret_under_a_former_name_of_its_flag(folder, fleet, process):
    one = process()
    one.begin(role="trainer", rank=0)
    one.do(SECRET)
    eventually(lambda: fleet.members()["trainer-0"]["sensitive"] != [])
    for name in ("token", "key"):
        with pytest.raises(FleetError, match=f"{name}: is sensitive in trainer-0"):
            fleet.set({name: "swordfish"})
    assert b"swordfish" not in files_of(folder)


# ---- Joining again ----


def test_a_member_that_joins_again_keeps_what_needs_a_restart(fleet, process):
    fleet.set({"name": "x", "level": 2})
    one = process().begin(role="trainer", rank=0)
    one.do("pf.parse(['x'])")
    one.do("pf.fleet.leave()")
    fleet.set({"level": 3})
    fleet.unset("level")
    one.join(role="trainer", rank=0)
    assert one.ask("(name.value, level.value)") == ["x", 1]
    assert one.ask("pf.fleet.member().answers[1].state") == "applied"


def test_a_forked_child_that_joins_keeps_what_needs_a_restart(fleet, process):
    fleet.set({"name": "x"})
    one = process().begin(role="trainer", rank=0)
    one.do("pf.parse(['x'])")
    one.do("read, write = os.pipe()")
    one.do(
        "if not os.fork():\n"
        " made = pf.fleet.join("
        f"{fleet.url!r}, name='child')\n"
        " os.write(write, (name.value + ' ' + made.answers[1].state).encode())\n"
        " os._exit(0)"
    )
    assert one.ask("os.read(read, 100).decode()") == "x applied"
    one.do("os.wait()")


def test_one_that_was_killed_and_not_waited_for_has_a_successor(members, process, fleet):
    [one] = members(1, ttl=SOON)
    os.kill(one.pid, signal.SIGKILL)
    os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
    process().begin(role="trainer", rank=0)
    assert len(fleet.members()) == 1
    one.wait()


def test_a_member_stays_while_the_engine_has_no_room(members, fleet):
    [one] = members(1)
    one.do(
        "from paddle_flags.fleet import _files\n"
        "def write(*_, **__): raise OSError(28, 'No space left on device')\n"
        "_files.write_temporary = write\n"
        "level.value = 3"
    )
    one.wait_for("'No space left' in pf.fleet.member().problem", True)
    assert not one.ask("'None' in pf.fleet.member().problem")
    for _ in range(30):
        time.sleep(0.1)
        assert fleet.members()


def test_a_join_that_fails_leaves_no_values(fleet, members, process):
    fleet.set({"level": 7})
    members(1)
    two = process()
    with pytest.raises(Failed, match="trainer-0 is a member already"):
        two.begin(role="trainer", rank=0)
    two.do("level = pf.define('level', 1)")
    assert two.ask("level.value") == 1


# ---- Validators ----


@pytest.mark.parametrize("call", ["pf.fleet.leave()", "pf.fleet.join('dir:///x')"])
def test_a_validator_that_joins_or_leaves_while_its_program_joins_is_told(fleet, process, call):
    fleet.set({"level": 7})
    one = process()
    one.do("level = pf.define('level', 1, runtime=True)")
    one.do(f"level.validate(lambda value: value == 1 or {call} is None)")
    one.join(name="one")
    assert one.ask("level.value") == 1
    why = one.ask("pf.fleet.member().answers[1].why")
    assert "this process is joining a fleet" in why


@pytest.mark.parametrize("error", ["SystemExit(3)", "KeyboardInterrupt"])
def test_a_validator_that_ends_its_thread_rejects(fleet, members, error):
    [one] = members(1)
    one.do(f"def check(value):\n if value == 2: raise {error}\n return True\nlevel.validate(check)")
    outcome = fleet.set({"level": 2}, force=True, wait=SOON)
    assert outcome.answers["trainer-0"].state == "rejected"
    assert fleet.set({"level": 3}, wait=SOON).answers["trainer-0"].state == "applied"


# ---- Arguments ----


@pytest.mark.parametrize(
    "options",
    [
        "role=5",
        "role='a\\0'",
        "role='\\ud800'",
        "rank=-1",
        "rank=True",
        "rank='0'",
        "rank=1.5",
        "rank=1 << 31",
        "name=5",
        "key=5",
    ],
)
def test_join_says_which_argument_is_wrong(process, options):
    name = options.partition("=")[0]
    one = process()
    with pytest.raises(Failed, match=rf"Flag(Argument|Type)Error: {name}"):
        one.do(f"pf.fleet.join({one.url!r}, {options})")


@pytest.mark.parametrize("time", ["0s", "1e9", "400d"])
def test_a_time_that_is_too_long_is_told_as_it_was_given(fleet_command, time):
    done = fleet_command("set", "a=1", "--for", time)
    assert done.returncode == 2
    assert f"'{time}': expected" in done.stderr
