"""C programs as members of a fleet beside Python programs, by libpd_flags_fleet.so."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from random import Random

import pytest
from documents import blocks
from members import SOON, Failed, eventually, files_of
from native import Native, checked_host, host, module
from support import ROOT, build_plugin, build_program, preload, run, write

from paddle_flags.fleet import AbortedError, Change, Fleet, FleetError

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(sys.platform != "linux", reason="the module works on Linux"),
]


@pytest.fixture
def native(url):
    """Start C programs, which end with the test."""
    started: list[Native] = []

    def start(program=None, **variables: str) -> Native:
        started.append(Native(url, program or host(), **variables))
        return started[-1]

    yield start
    for each in started:
        each.clean()


def states(outcome):
    return {name: answer.state for name, answer in outcome.answers.items()}


def answer(fleet, name, revision):
    found = fleet.status().members
    return tuple({m.name: m for m in found}[name].answers[revision])


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


# ---- Being a member ----


def test_a_program_that_ends_or_leaves_is_no_member_any_longer(fleet, native):
    one, two = native().begin(name="one"), native().begin(name="two")
    assert sorted(fleet.members()) == ["one", "two"]
    assert one.end() == ""
    assert two.do("leave") == "ok"
    assert fleet.members() == {}
    fleet.set({"level": 2})
    assert two.value("level") == "1"
    assert two.begin(name="again").value("level") == "2"


def test_a_forked_child_has_the_values_and_is_no_member(fleet, native, url):
    fleet.set({"level": 7})
    one = native(CHILD=url).begin(name="one")
    assert one.do("fork") == ("7 this process is no member: its parent is; it may join, ok child")
    eventually(lambda: list(fleet.members()), ["one"])  # the child has left
    assert fleet.set({"level": 8}, wait=SOON).ok


def test_while_the_engine_is_away_values_are_kept_and_taken_again(fleet, native, folder):
    fleet.set({"level": 7})
    keep, drop = native().begin(name="keep"), native().begin(name="drop", lost="default")
    folder.rename(folder.with_name("away"))
    eventually(lambda: drop.value("level"), "1")
    assert keep.value("level") == "7"
    folder.with_name("away").rename(folder)
    eventually(lambda: drop.value("level"), "7")
    eventually(lambda: fleet.status().ok)


def test_on_lost_exit_ends_the_program(native, folder):
    one = native().begin(lost="exit")
    folder.rename(folder.with_name("away"))
    assert one.wait() == -signal.SIGTERM


def test_an_engine_that_lost_its_state_changes_nothing_and_status_says_so(
    fleet, native, folder, url
):
    fleet.set({"level": 7})
    one = native().begin(name="one")
    shutil.rmtree(folder)
    with Fleet(url) as other:
        other.set({"level": 8})
        eventually(lambda: [m.state for m in other.status().members], ["lost"])
        [member] = other.status().members
    assert "of fleet" in member.why
    assert one.value("level") == "7"


def test_a_lease_that_has_ended_is_taken_again(fleet, native):
    one = native().begin(name="one")
    one.signal(signal.SIGSTOP)
    eventually(fleet.members, {})
    one.signal(signal.SIGCONT)
    eventually(lambda: list(fleet.members()), ["one"])


def test_a_second_process_of_the_name_is_refused_but_a_successor_is_not(native, url, process):
    one = native().begin(name="one")
    assert "one is a member already" in native().do(f"join {url} name=one")
    with pytest.raises(Failed, match="one is a member already"):
        process().join(name="one")
    assert "is a member of a fleet already" in one.do(f"join {url} name=two")
    one.kill()
    native().begin(name="one")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("etcd://localhost/x", "C programs are members of fleets in a folder"),
        ("dir://host/x", "three slashes and a folder"),
        ("nowhere", "expected dir:///path"),
        ("dir:///tmp/x?pol=1", "expected poll and a number"),
        ("dir:///dev/null/x", "can't be created"),
        ("URL name=.x", "with a letter or digit first"),
        ("URL ttl=-1", "ttl is -1"),
    ],
)
def test_options_that_are_wrong_are_refused_with_a_reason(native, url, arguments, message):
    assert message in native().do(f"join {arguments.replace('URL', url)}")


def test_role_and_rank_come_from_the_variables_of_the_launcher(fleet, native, url):
    one = native(TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="3", PADDLE_TRAINERS_NUM="4").begin()
    [document] = fleet.members().values()
    assert [document[each] for each in ("name", "role", "rank", "world")] == [
        "trainer-3",
        "trainer",
        3,
        4,
    ]
    assert one.do("leave") == "ok"
    assert "RANK='x': expected a number" in native(RANK="x").do(f"join {url}")


def test_signals_are_the_programs_and_the_thread_blocks_all(native):
    one = native().begin()
    tasks = f"/proc/{one.pid}/task"
    [thread] = [t for t in os.listdir(tasks) if t != str(one.pid)]
    with open(f"{tasks}/{thread}/status") as file:
        text = file.read()
    blocked = int(text.partition("SigBlk:")[2].split()[0], 16)
    assert text.startswith("Name:\tpd_fleet")
    assert all(blocked >> (number - 1) & 1 for number in (signal.SIGTERM, signal.SIGUSR1))


def test_the_module_needs_a_registry(tmp_path, url):
    source = """
    #define PD_HEADER_ONLY
    #include <pd_flags/fleet.h>
    #include <stdio.h>
    int main(int count, char **words) {
      pd_error err;
      pd_fleet *fleet;
      pd_fleet_options options = {.size = sizeof options, .url = words[count - 1]};
      printf("%d %s\\n", pd_fleet_join(&options, &fleet, &err) == PD_ERR_UNSUPPORTED, err.message);
      return 0;
    }
    """
    place = module().parent
    flags = (f"-L{place}", f"-Wl,-rpath,{place}", "-lpd_flags_fleet", "-ldl")
    program = build_program(tmp_path / "main", write(tmp_path / "main.c", source), flags=flags)
    said = run(program, url).stdout
    assert said.startswith("1 ")
    assert "no registry is in this process" in said


# ---- What others see ----


def test_documents_of_c_and_python_are_alike(fleet, native, process):
    fleet.set({"level": 7, "odd": 3, "later": "é"})
    fleet.set({"lr": 0.25}, role="trainer")
    one = native().begin(name="one", role="trainer", rank=0, key="k")
    two = process()
    two.join(name="two", role="trainer", rank=1, key="k")
    two.do(PYTHON_FLAGS)
    one.do("set port 81")
    fleet.set({"level": 8}, wait=SOON)
    eventually(lambda: len({d["digest"] for d in fleet.members().values()}), 1)
    first, second = (fleet.members()[name] for name in ("one", "two"))
    different = ("name", "rank", "pid", "started", "time")
    assert first.keys() == second.keys()
    for key in first.keys() - set(different):
        assert first[key] == second[key], key
    assert fleet.diff() == []


PYTHON_FLAGS = """
lr = pf.define("lr", 0.1, "Learning rate", runtime=True)
level = pf.define("level", 1, "Level", runtime=True, min=0, max=100, type="int32")
odd = pf.define("odd", 1, "Odd", runtime=True, type="int32")
odd.validate(lambda value: value % 2 == 1, "expected an odd number")
name = pf.define("name", "none", "Needs a restart")
port = pf.define("port", 80, "Port", per_process=True, runtime=True, type="int32")
token = pf.define("token", "none", "Secret", sensitive=True, runtime=True)
"""


def change_at_random(fleet, random, both):
    """Let an operator do something, or the programs."""
    values = {
        "level": ["3", "50", "101", "x"],
        "odd": ["1", "2", "3"],
        "lr": ["0.5", "nan", "?"],
        "name": ["a", "b"],
        "later": ["1"],
        "port": ["1", "2"],
    }
    names = random.sample(sorted(values), random.randint(1, 3))
    on = [random.choice(["all", "all", "role:trainer", "role:other"]) for _ in names]
    batch = [
        Change(name, random.choice([None, *values[name]]), each) for name, each in zip(names, on)
    ]
    what = random.randint(0, 9)
    if what == 0 and fleet.revision > 1:
        fleet.reset(random.randint(1, fleet.revision))
    elif what == 1:
        fleet.change(batch, duration=random.choice([0.05, 1000]))
    elif what == 2:
        step = both.step + random.randint(0, 3)
        with contextlib.suppress(AbortedError):
            fleet.change(batch, at_step=step, wait=SOON)
    elif what == 3:
        with contextlib.suppress(AbortedError):
            fleet.change(batch, all_or_none=True, dry_run=random.random() < 0.3, wait=SOON)
    elif what == 4:
        both.tick()
    elif what == 5:
        both.set_level(random.randint(1, 9))
    else:
        fleet.change(batch)


class Both:
    """A C program and a Python program with the same flags, which do the same."""

    def __init__(self, native, python) -> None:
        self.native, self.python = native, python
        self.step = 0
        self.tick()

    def tick(self) -> None:
        self.step += 1
        assert self.native.do(f"tick {self.step}") == "ok"
        self.python.do(f"pf.fleet.tick({self.step})")

    def set_level(self, level: int) -> None:
        assert self.native.do(f"set level {level}") == "ok"
        self.python.do(f"level.value = {level}")


SAME = (
    "answers",
    "votes",
    "wanted",
    "digest",
    "selected",
    "sensitive",
    "revision",
    "fleet",
    "step",
)


def said_alike(fleet):
    """Return what a C and a Python member say differently, once both have read everything."""
    found = [fleet.members()[name] for name in ("one", "two")]
    if any(each["revision"] != fleet.revision for each in found):
        return "not yet"
    return {k: [each[k] for each in found] for k in SAME if found[0][k] != found[1][k]}


@pytest.mark.parametrize("seed", range(3))
def test_of_random_changes_c_and_python_make_the_same(fleet, native, process, seed):
    random = Random(seed)
    one, two = native(checked_host()), process()
    two.do(PYTHON_FLAGS)
    one.begin(name="one", role="trainer", rank=0)
    two.join(name="two", role="trainer", rank=1)
    both = Both(one, two)
    for _ in range(25):
        change_at_random(fleet, random, both)
        eventually(lambda: said_alike(fleet), {})
    assert one.end() == ""


def test_diff_names_what_a_c_program_has_differently(fleet, native, process):
    native().begin(name="one").do("set odd 7")
    two = process()
    two.join(name="two")
    two.do(PYTHON_FLAGS)
    fleet.set({"level": 3}, wait=SOON)
    eventually(lambda: [each.name for each in fleet.diff()], ["odd"])
    [difference] = fleet.diff()
    assert [(h.value, h.source, h.members) for h in difference.holders] == [
        ("7", "run time", ("one",)),
        ("the default", "default", ("two",)),
    ]


@pytest.mark.parametrize("differ", [False, True])
def test_check_is_one_barrier_for_c_and_python(native, process, differ):
    one, three = native(X_A="1").begin(name="one"), native(X_A="1").begin(name="three")
    two = process(X_A="2" if differ else "1")
    two.join(name="two")
    two.do(PYTHON_FLAGS)
    if differ:
        three.do("set odd 7")
    one.send("check 3 60 X_*")
    three.send("check 3 60 X_*")
    code = "pf.fleet.check(expect=3, environment=['X_*'])"
    if not differ:
        two.do(code)
        assert (one.receive(), three.receive()) == ("ok", "ok")
        return
    with pytest.raises(Failed) as raised:
        two.do(code)
    for text in (str(raised.value), one.receive(), three.receive()):
        assert "odd: '1' from default in one, two; '7' from run time in three" in text
        assert "$X_A: '1' in one, three; '2' in two" in text


def test_check_that_times_out_names_who_is_missing(native):
    one = native().begin(name="one")
    native().begin(name="two")
    assert "1 of 3 members are here after 0.5 s: two" in one.do("check 3 0.5")


# ---- Programs that aren't changed ----


def test_a_preloaded_module_joins_before_main_parses(fleet, native, url):
    fleet.set({"level": 7, "name": "x"})
    told = {**preload(module()), "PADDLE_FLAGS_FLEET": url, "PADDLE_FLAGS_FLEET_ROLE": "trainer"}
    one = native(host(static=True, joined=False), **told, PADDLE_FLAGS_FLEET_RANK="2")
    assert one.do("parse --level=3") == "ok"
    assert one.do("get level") == "7 fleet"
    assert one.value("name") == "x"
    assert fleet.set({"level": 8}, role="trainer", wait=SOON).ok
    assert list(fleet.members()) == ["trainer-2"]
    one.end()
    assert fleet.members() == {}


def test_a_preloaded_module_says_what_is_wrong_by_a_warning_and_the_program_runs(native):
    told = {**preload(module()), "PADDLE_FLAGS_FLEET": "etcd://localhost/x"}
    one = native(host(static=True, joined=False), **told)
    assert one.do("get level").startswith(
        "warning environment: PADDLE_FLAGS_FLEET: not a member: etcd://localhost/x: C programs"
    )
    assert one.receive() == "1 default"
    assert one.end() == ""


def test_programs_without_a_registry_and_python_are_left_alone(url, fleet):
    told = {**os.environ, **preload(module()), "PADDLE_FLAGS_FLEET": url}
    assert run("/bin/sh", "-c", "echo here", env=told).stdout == "here\n"
    code = "import paddle_flags as pf; print(pf.fleet.member())"
    assert run(sys.executable, "-c", code, env=told).stdout == "None\n"
    assert fleet.members() == {}


# ---- The page about it ----

PAGE = ROOT / "docs" / "how-to" / "join-a-fleet-from-c.md"


@pytest.fixture
def page(tmp_path):
    """Write the programs of the page."""
    files = {b.file: b.text for b in blocks(PAGE.read_text("utf-8")) if b.file}
    return {name: write(tmp_path / name, text) for name, text in files.items()}


def test_the_trainer_of_the_page_is_a_member(tmp_path, page, fleet, url):
    place = module().parent
    flags = (f"-L{place}", f"-Wl,-rpath,{place}", "-lpd_flags_fleet")
    program = build_program(tmp_path / "trainer", page["trainer.c"], flags=flags)
    fleet.set({"check_nan_inf": True}, role="trainer")
    told = {**os.environ, "FLEET": url, "RANK": "0"}
    assert run(program, env=told).stdout == "step 0 checks\n"


def test_the_plugin_of_the_page_has_the_values_of_the_fleet(tmp_path, page, fleet, url):
    plugin = build_plugin(tmp_path / "kernels.so", page["kernels.c"])
    fleet.set({"threads": 7}, role="kernels")
    assert run(sys.executable, page["embed.py"], url, plugin).stdout == "7\n"


# ---- Sanitizers, and what others leave in the folder ----


def test_the_module_is_clean_under_sanitizers(fleet, native, folder):
    one = native(checked_host(), CHILD=fleet.url).begin(name="one", patience=0.2)
    one.do("tick 0")
    batch = [Change("level", "3"), Change("lr", "0.5", "member:one")]
    fleet.change(batch, wait=SOON)
    fleet.set({"level": 4}, duration=0.2, wait=SOON)
    fleet.set({"odd": 3}, at_step=1, wait=SOON)
    with pytest.raises(AbortedError):
        fleet.set({"odd": 2}, all_or_none=True, wait=SOON)
    one.do("tick 1")
    one.do("check 1 5 HOME,X_*")
    one.do("fork")
    fleet.reset(1, wait=SOON)
    folder.rename(folder.with_name("away"))
    time.sleep(0.5)
    folder.with_name("away").rename(folder)
    one.do("leave")
    one.begin(name="again")
    assert one.end() == ""


@pytest.mark.parametrize(
    "litter",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b'{"kind":"change","changes":[["level","9"]]',
        b"[" * 100_000,
    ],
)
def test_what_is_no_record_is_a_batch_of_nothing(fleet, native, folder, litter):
    fleet.set({"level": 2})
    one = native(checked_host()).begin(name="one")
    (folder / "log" / f"{2:020}").write_bytes(litter)
    (folder / "members" / "two").write_bytes(litter)
    (folder / "decisions" / "r3").write_bytes(litter)
    os.mkfifo(folder / "members" / "pipe")
    assert fleet.set({"level": 3}, wait=SOON).ok
    assert one.value("level") == "3"
    assert one.end() == ""


def test_a_base_that_is_none_is_said_in_the_status(fleet, native, folder):
    fleet.set({"level": 2})
    one = native(checked_host()).begin(name="one")
    (folder / "base" / f"{9:020}").write_text(json.dumps({"revision": 9}))
    (folder / "log" / f"{1:020}").unlink()
    eventually(lambda: "base" in fleet.members().get("one", {}).get("problem", ""))
    assert one.value("level") == "2"
    assert one.end() == ""
