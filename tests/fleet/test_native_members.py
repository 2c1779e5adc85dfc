"""C programs that join a fleet, leave it and lose it, also by LD_PRELOAD."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time

import pytest
from documents import blocks
from members import SOON, Failed, eventually, member_states
from native import checked_host, host, module
from support import ROOT, build_plugin, build_program, preload, run, write

from paddle_flags.fleet import AbortedError, Change, Fleet

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(sys.platform != "linux", reason="the module works on Linux"),
]


# ---- Being a member ----


def test_a_program_that_ends_or_leaves_is_no_member_any_longer(fleet, native):
    one, two = native().begin(name="one"), native().begin(name="two")
    fleet.set({"level": 1}, wait=SOON)
    assert sorted(fleet.members()) == ["one", "two"]
    assert one.end() == ""
    assert two.do("leave") == "ok"
    assert fleet.members() == {}
    assert member_states(fleet) == {"one": "left", "two": "left"}
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
