"""Values of C programs as members of a fleet beside Python programs, by libpd_flags_fleet.so."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

import pytest
from members import SOON, answer, eventually, files_of, states
from native import host
from support import run

from paddle_flags.fleet import AbortedError, Fleet, FleetError

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(sys.platform != "linux", reason="the module works on Linux"),
]


# ---- Values ----


@pytest.mark.parametrize("static", [True, False])
def test_a_value_is_there_before_parse_and_above_the_command_line(fleet, native, static):
    fleet.set({"level": 7, "later": "3", "name": "x"})
    one = native(host(static=static)).begin(role="trainer", rank=0)
    assert one.do("get level") == "7 fleet"
    assert one.do("parse --level=3 --name=y") == "ok"
    assert one.do("get level") == "7 fleet"
    assert one.do("get name") == "x fleet"
    assert one.do("define") == "ok"
    assert one.do("get later") == "3 fleet"


def test_a_change_reaches_members_in_c_and_in_python(fleet, native, process):
    one = native().begin(role="trainer", rank=0)
    two = process().begin(role="trainer", rank=1)
    outcome = fleet.set({"level": 9}, wait=SOON, reason="why")
    assert outcome.ok
    assert states(outcome) == {"trainer-0": "applied", "trainer-1": "applied"}
    assert one.value("level") == "9"
    assert two.ask("level.value") == 9
    fleet.unset("level", wait=SOON)
    assert one.value("level") == "1"


def test_the_most_specific_value_holds(fleet, native):
    one = native().begin(role="trainer", rank=0)
    fleet.set({"level": 1})
    fleet.set({"level": 4}, member="trainer-0")
    fleet.set({"level": 2}, role="trainer", wait=SOON)
    assert one.value("level") == "4"
    fleet.unset("level", member="trainer-0", wait=SOON)
    assert one.value("level") == "2"


def test_what_a_program_refuses_changes_nothing_and_the_answer_says_why(fleet, native):
    one = native().begin(name="one")
    outcome = fleet.set({"level": 101, "lr": 0.5}, wait=SOON)
    assert states(outcome) == {"one": "rejected"}
    assert "[0, 100]" in outcome.answers["one"].why
    assert one.value("lr") == "0.1"
    assert states(fleet.set({"odd": 2}, wait=SOON)) == {"one": "rejected"}
    assert states(fleet.set({"odd": 3}, wait=SOON)) == {"one": "applied"}
    with pytest.raises(FleetError, match="token: is sensitive in one"):
        fleet.set({"token": "x"})


def test_values_of_the_program_hold_and_startup_flags_need_a_restart(fleet, native):
    one = native().begin(name="one")
    assert one.do("set level 5") == "ok"
    assert tuple(fleet.set({"level": 9}, wait=SOON).answers["one"]) == ("held", "level by run time")
    assert one.do("parse") == "ok"
    outcome = fleet.set({"name": "x"}, wait=SOON)
    assert tuple(outcome.answers["one"]) == ("needs a restart", "name: has no attribute runtime")
    assert one.value("name") == "none"
    again = native().begin(name="two")
    assert again.value("name") == "x"


def test_an_undefined_flag_is_pending_until_it_is_defined(fleet, native):
    one = native().begin(name="one")
    outcome = fleet.set({"later": 4}, wait=SOON)
    assert states(outcome) == {"one": "pending"}
    one.do("define")
    assert one.value("later") == "4"
    fleet.set({"level": 2}, wait=SOON)
    eventually(lambda: answer(fleet, "one", 1), ("applied", ""))


def test_a_program_that_joins_again_keeps_what_needs_a_restart(fleet, native, url):
    fleet.set({"name": "x", "level": 2})
    one = native(CHILD=url).begin(name="one")
    assert one.do("parse") == "ok"
    assert one.do("leave") == "ok"
    fleet.unset("level")
    one.begin(name="one")
    assert (one.value("name"), one.value("level")) == ("x", "1")
    assert answer(fleet, "one", 1) == ("applied", "")


def test_a_value_that_a_later_flag_refuses_stops_no_other_change(fleet, native):
    fleet.set({"later": "x", "lr": 0.5})
    one = native().begin(name="one")
    assert "later=x" in one.do("define")
    assert states(fleet.set({"level": 9}, wait=SOON)) == {"one": "applied"}
    assert answer(fleet, "one", 1)[0] == "rejected"
    assert states(fleet.set({"later": 7}, wait=SOON)) == {"one": "applied"}


def test_check_publishes_no_secret_of_the_environment(fleet, native, folder):
    secret = "swordfish"  # noqa: S105
    one = native(PADDLE_FLAGS_FLEET_KEY=secret, FLAGS_token=secret, FLAGS_level="3")
    one.begin(name="one")
    assert one.do("check 1 20 PADDLE_*,FLAGS_*") == "ok"
    assert fleet.members()["one"]["check"]["variables"]["FLAGS_level"] == "3"
    assert secret.encode() not in files_of(folder)


def test_one_that_was_killed_and_not_waited_for_has_a_successor(native, fleet):
    one = native().begin(name="one", ttl=SOON)
    one.signal(signal.SIGKILL)
    os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
    native().begin(name="one")
    assert len(fleet.members()) == 1


def test_nobody_else_may_write_what_a_program_writes(native, folder):
    native().begin(name="one")
    (folder / "members").chmod(0o770)
    two = native().begin(name="two")
    assert (folder / "members" / "two").stat().st_mode & 0o777 == 0o640
    assert two.value("level") == "1"


def test_a_base_that_says_another_revision_is_an_error(fleet, native, folder, url):
    fleet.set({"level": 2})
    for name in ("5", "²"):
        (folder / "base" / name).write_text("{}")
    native().begin(name="one")
    base = {"version": 1, "fleet": "x", "revision": 1, "tables": {}}
    (folder / "base" / f"{5:020}").write_text(json.dumps(base))
    assert "base 5: expected the values of a fleet" in native().do(f"join {url} name=two")


def test_a_temporary_value_ends_by_itself_even_if_the_engine_is_away(fleet, native, folder):
    one = native().begin(name="one")
    fleet.set({"level": 9}, duration=1.0, wait=SOON)
    assert one.value("level") == "9"
    folder.rename(folder.with_name("away"))
    eventually(lambda: one.value("level"), "1")


def test_reset_brings_a_revision_back_and_a_base_is_read(fleet, native, monkeypatch):
    one = native().begin(name="one")
    fleet.set({"level": 2})
    fleet.set({"level": 3, "odd": 5})
    fleet.reset(1, wait=SOON)
    assert (one.value("level"), one.value("odd")) == ("2", "1")
    monkeypatch.setattr("paddle_flags.fleet._follow._MOST", 3)
    monkeypatch.setattr("paddle_flags.fleet._follow._KEPT", 1)
    one.signal(signal.SIGSTOP)
    for level in (4, 5, 6, 7, 8, 9):
        fleet.set({"level": level})
    one.signal(signal.SIGCONT)
    eventually(lambda: one.value("level"), "9")
    assert native().begin(name="two").value("level") == "9"


# ---- Proposals ----


def test_one_that_rejects_keeps_all_from_changing(fleet, native, process):
    one = native().begin(name="one")
    two = process().begin(name="two")
    with pytest.raises(AbortedError, match=r"one rejects it: .*\[0, 100\]") as raised:
        fleet.set({"level": 101}, all_or_none=True, wait=SOON)
    assert raised.value.outcome.answers["one"].state == "rejected"
    assert fleet.set({"level": 9}, all_or_none=True, wait=SOON).ok
    assert (one.value("level"), two.ask("level.value")) == ("9", 9)
    assert fleet.set({"level": 5}, dry_run=True, wait=SOON).verdict == "dry run"
    assert one.value("level") == "9"


def test_when_an_operator_dies_a_c_program_aborts_what_it_had_proposed(fleet, native, url):
    native().begin(name="one")
    code = f"""if True:
        import os, paddle_flags as pf
        from paddle_flags.fleet import _operate
        _operate.decide = lambda *_: os._exit(0)
        _fleet = pf.fleet.Fleet({url!r})
        import paddle_flags.fleet._fleet as module
        module._LONGER = 0.0
        _fleet.set({{"level": 5}}, all_or_none=True, wait=0.2)
    """
    run(sys.executable, "-c", code)
    eventually(lambda: fleet.status().undecided, [])
    assert "nobody had decided" in str(fleet.log()[-1].verdict)


def test_a_change_at_a_step_happens_at_it_in_all(fleet, native, process):
    one = native().begin(name="one")
    two = process().begin(name="two")
    one.do("tick 1")
    two.do("pf.fleet.tick(1)")
    assert fleet.set({"level": 9}, at_step=5, wait=SOON).ok
    for step in (2, 3, 4):
        one.do(f"tick {step}")
        two.do(f"pf.fleet.tick({step})")
    assert (one.value("level"), two.ask("level.value")) == ("1", 1)
    assert one.do("tick 5") == "ok"
    two.do("pf.fleet.tick(5)")
    assert (one.value("level"), two.ask("level.value")) == ("9", 9)
    eventually(lambda: answer(fleet, "one", 1), ("applied", ""))
    with pytest.raises(AbortedError, match="one rejects it: has begun step 5"):
        fleet.set({"level": 3}, at_step=5, member="one", wait=SOON)


def test_each_of_two_changes_at_steps_happens_at_its_own(fleet, native):
    one = native().begin(name="one")
    one.do("tick 1")
    assert fleet.set({"level": 4}, at_step=4, wait=SOON).ok
    assert fleet.set({"level": 6}, at_step=6, wait=SOON).ok
    found = []
    for step in range(2, 8):
        one.do(f"tick {step}")
        found.append(one.value("level"))
    assert found == ["1", "1", "4", "4", "6", "6"]


def test_a_loop_that_runs_gets_a_change_at_its_step_or_not_at_all(fleet, native):
    one = native().begin(name="one")
    one.do("tick 0")
    thread = threading.Thread(target=lambda: one.do("count 1500"))
    thread.start()
    outcome = fleet.set({"level": 9}, at_step=1000, wait=SOON)
    thread.join()
    assert outcome.ok
    assert one.value("level") == "9"
    eventually(lambda: answer(fleet, "one", 1), ("applied", ""))


def test_a_c_program_that_counts_no_steps_rejects(fleet, native):
    native().begin(name="one")
    with pytest.raises(AbortedError, match=r"one rejects it: counts no steps"):
        fleet.set({"level": 3}, at_step=5, wait=SOON)


@pytest.mark.parametrize("late", [0, 1])
def test_a_tick_waits_for_the_decision_and_fails_when_there_is_none(fleet, native, url, late):
    options = {"late": 1} if late else {}
    one = native().begin(name="one", patience=0.5, **options)
    one.do("tick 0")
    stuck = native().begin(name="stuck")
    stuck.do("tick 0")
    stuck.signal(signal.SIGSTOP)
    with Fleet(url) as other:

        def propose_nine():
            with pytest.raises(AbortedError):
                other.set({"level": 9}, at_step=3, wait=3)

        propose = threading.Thread(target=propose_nine)
        propose.start()
        eventually(lambda: fleet.members().get("one", {}).get("votes"), {"1": "accept"})
        said = one.do("tick 3")
        propose.join()
    assert (said == "ok") == bool(late), said
    assert late or "revision 1 is to happen at this step" in said
    assert one.value("level") == "1"
