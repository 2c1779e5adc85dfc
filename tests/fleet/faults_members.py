"""What happens to a fleet when members are in trouble. Each returns figures, in seconds or counts.

The URL is of any engine. What is guaranteed is asserted; how long things take is not.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crews import Crew, until
from members import ask, decide
from writers import Writer, check_changes

import paddle_flags as pf
from paddle_flags.fleet import open_store

Figures = dict[str, float]

MEMBERS = 6
TTL = 2.0  # seconds
DAY = 86_400


def pair(value: int) -> dict[str, int]:
    return {"pair_a": value, "pair_b": value}


# -- leases -----------------------------------------------------------------------------------


def leases_under_load(url: str) -> Figures:
    """More processes than processors, and changes all the time: nobody who lives loses a lease."""
    with Crew() as crew, pf.fleet.Fleet(url) as fleet:
        names = crew.start_many(MEMBERS, [url], join={"ttl": TTL})
        busy = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(2 * (os.cpu_count() or 2))
        ]
        try:
            looks, missed = 0, 0
            with Writer(fleet) as writer:
                end = time.monotonic() + 4 * TTL
                while time.monotonic() < end:
                    looks += 1
                    missed += len(set(names) - set(fleet.members()))
                    time.sleep(0.1)
                crew.kill(names[0])
                dead = until(lambda: names[0] not in fleet.members())
                crew.stop(names[1])
                stopped = until(lambda: names[1] not in fleet.members())
                writer.wait_acknowledged(3)
                crew.resume(names[1])
                back = until(lambda: names[1] in fleet.members())
            check_changes(fleet, writer, crew, names[1:])
        finally:
            for process in busy:
                process.kill()
                process.wait()
        assert not missed, "a member that lives has lost its lease"
        return {
            "looks at all members": looks,
            "members that were missing in one": missed,
            "killed until its lease had ended": dead,
            "stopped until its lease had ended": stopped,
            "resumed until it was announced again": back,
        }


def slow_member(url: str) -> Figures:
    """A member is stopped by SIGSTOP: it is named, and nobody waits for it."""
    with Crew() as crew, pf.fleet.Fleet(url) as fleet:
        names = crew.start_many(MEMBERS, [url], join={"ttl": 10})
        fleet.set(pair(1), wait=30)
        slow, *others = names
        crew.stop(slow)
        outcome = fleet.set(pair(2), force=True, wait=0.5)
        changed = time.monotonic()
        taken = crew.wait_applied(2, others)
        assert set(outcome.silent) >= {slow}
        assert "slow" in outcome.silent[slow]
        assert not outcome.ok
        named = until(lambda: [m.name for m in fleet.status().members if m.state == "slow"])
        assert [m.name for m in fleet.status().members if m.state == "slow"] == [slow]
        with pytest.raises(pf.fleet.AbortedError, match=slow):
            fleet.set(pair(3), wait=0.5)
        fleet.set(pair(4), force=True)
        crew.wait_applied(4, others)
        resumed = time.monotonic()
        crew.resume(slow)
        late = crew.wait_applied(4, [slow])
        assert not [e for e in crew.events if e.get("b") == 3], "nobody took what was aborted"
        assert not crew.halves()
        return {
            "others had it, after the operator's wait": max(
                0.0, max(taken.values()) / 1e9 - changed
            ),
            "until status calls it slow": named,
            "resumed until it has all": late[slow] / 1e9 - resumed,
        }


# -- members that die -------------------------------------------------------------------------


def members_killed(url: str, seed: int = 1, seconds: float = 8) -> Figures:
    """Members are killed at random moments while changes are made, and new ones join."""
    choose = random.Random(f"members {seed}")
    with Crew() as crew, pf.fleet.Fleet(url) as fleet:
        names = crew.start_many(MEMBERS, [url], join={"ttl": TTL})
        kills = 0
        with Writer(fleet, 0.02) as writer:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(choose.uniform(0, 0.3))
                name = choose.choice(names)
                crew.kill(name)
                kills += 1
                crew.start(name, url, join={"ttl": TTL})
                crew.read()
        pids = {process.pid for process in crew.processes.values()}
        crew.until(lambda: pids <= {e["pid"] for e in crew.events if "joined" in e})
        written = fleet.revision
        behind = check_changes(fleet, writer, crew, names)
        return {
            "members killed": kills,
            "changes acknowledged": len(writer.acknowledged),
            "revision": written,
            "members with half a batch": len(crew.halves()),
            "last change until all have it": behind,
        }


def joined(crew: Crew) -> list[str]:
    return [event["m"] for event in crew.events if "joined" in event]


def accepted(fleet: pf.fleet.Fleet, asked: int) -> set[str]:
    """Return the members that would take a change."""
    said = {name: each["answers"] for name, each in fleet.members().items()}
    return {
        name for name, each in said.items() if asked in each and each[asked].state == "accepted"
    }


def verdict(fleet: pf.fleet.Fleet, asked: int) -> str | None:
    """Return what became of a question, as far as it was decided."""
    return next((each.verdict for each in fleet.log() if each.revision == asked), None)


def two_phases(url: str) -> Figures:
    """Members and operators die at each point of a change that members are asked about."""
    with Crew() as crew, pf.fleet.Fleet(url) as fleet, contextlib.closing(open_store(url)) as store:
        names = crew.start_many(MEMBERS, [url], join={"ttl": TTL})
        fleet.set(pair(1), wait=30)
        crew.wait_applied(1, names)

        # A member dies before it has answered: the others have the change, and it is named.
        crew.stop(names[0])
        outcomes: list[pf.fleet.Outcome] = []
        thread = threading.Thread(target=lambda: outcomes.append(fleet.set(pair(2), wait=60)))
        begin = time.monotonic()
        thread.start()
        time.sleep(0.5)
        crew.kill(names[0])
        thread.join()
        passed_over = time.monotonic() - begin
        assert outcomes[0].silent.keys() == {names[0]}
        crew.wait_applied(2, names[1:])

        # A member dies after it has accepted; the change is made, and its successor has it.
        crew.start(names[0], url, join={"ttl": TTL})
        until_joined(crew, names[0], 2)
        asked = ask(store, pair(3))
        until(lambda: accepted(fleet, asked) >= set(names))
        crew.kill(names[1])
        decide(store, asked)
        crew.wait_applied(3, [n for n in names if n != names[1]])
        crew.start(names[1], url, join={"ttl": TTL})
        until_joined(crew, names[1], 2)
        assert crew.look(names[1])["b"] == 3

        # The operator dies before it decides: members abort when its time is over.
        asked = ask(store, pair(4), patience=1)
        until(lambda: accepted(fleet, asked) >= set(names))
        abandoned = until(lambda: verdict(fleet, asked))
        decide(store, asked)
        assert str(verdict(fleet, asked)).startswith("aborted"), "made once"

        fleet.set(pair(5), wait=30)
        crew.wait_applied(5, names)
        assert not [e for e in crew.events if e.get("b") == 4], "nobody took what was aborted"
        assert not crew.halves()
        return {
            "member killed before it answered until the change was made": passed_over,
            "operator gone (1 s to decide) until members aborted": abandoned,
        }


def at_one_step(url: str) -> Figures:
    """Members take a change at one step, although one of them dies and an operator does."""
    options: dict[str, Any] = {"ticks": 0.01, "join": {"ttl": TTL, "tick_timeout": 60}}
    with Crew() as crew, pf.fleet.Fleet(url) as fleet, contextlib.closing(open_store(url)) as store:
        names = crew.start_many(MEMBERS, [url], **options)

        # One dies after it has accepted; its successor begins again, and takes it at that step.
        step = last_step(crew) + 300
        fleet.set(pair(1), at_step=step, wait=30)
        assert not crew.applied(1, names), "it is too early"
        crew.kill(names[0])
        crew.start(names[0], url, **options)
        until_joined(crew, names[0], 2)
        crew.wait_applied(1, names)
        crew.until(lambda: len(steps_of(crew, 1)) == MEMBERS)
        assert set(steps_of(crew, 1).values()) == {step}

        # The operator dies before it decides: at its step, members wait, abort, and go on.
        step = last_step(crew) + 100
        asked = ask(store, pair(2), patience=3, at_step=step)
        until(lambda: accepted(fleet, asked) >= set(names[1:]))
        crew.until(lambda: all(ticks(crew, name) > step for name in names[1:]))
        assert str(verdict(fleet, asked)).startswith("aborted")
        assert not crew.applied(2, names)
        pauses = [longest_tick(crew, name, step) for name in names[1:]]
        assert not crew.halves()
        return {"operator gone (3 s to decide): a step took": max(pauses)}


def ticks(crew: Crew, name: str) -> int:
    """Return the last step that a member has told, since it was started."""
    steps: list[int] = [e["step"] for e in crew.events[-3000:] if e["m"] == name and "step" in e]
    return max(steps)


def last_step(crew: Crew) -> int:
    crew.until(lambda: any("step" in event for event in crew.events[-100:]))
    steps: list[int] = [event["step"] for event in crew.events[-100:] if "step" in event]
    return max(steps)


def steps_of(crew: Crew, value: int) -> dict[str, int]:
    """Return the step that each member was in when it first had a value."""
    found: dict[str, int] = {}
    for event in crew.events:
        if "step" in event and event["b"] == value:
            found.setdefault(event["m"], event["step"])
    return found


def longest_tick(crew: Crew, name: str, step: int) -> float:
    """Return the longest pause between two told steps about a step, in seconds."""
    times: list[int] = [
        event["t"]
        for event in crew.events
        if event["m"] == name and abs(event.get("step", -100) - step) <= 30
    ]
    return max(after - before for before, after in itertools.pairwise(times)) / 1e9


def until_joined(crew: Crew, name: str, times: int) -> None:
    crew.until(lambda: joined(crew).count(name) == times)


# -- clocks -----------------------------------------------------------------------------------


def clock_jumps(url: str, place: Path) -> Figures:
    """The wall clock of a member jumps by a day, forth and back; that of its fleet does not."""
    clock = place / f"clock{time.monotonic_ns()}"
    jump_to(clock, 0)
    with Crew() as crew, pf.fleet.Fleet(url) as fleet:
        crew.start("still", url, join={"ttl": TTL})
        crew.start("jumping", url, join={"ttl": TTL}, clock=str(clock))
        crew.wait_joined(["still", "jumping"])
        names, found = ["still", "jumping"], {}
        for value, jump in ((1, DAY), (2, -DAY)):
            fleet.set({"passing": value}, duration=2.0)
            until_two(crew, passing, value)
            jump_to(clock, jump)
            fleet.set(pair(value))
            crew.wait_applied(value, names)
            shown = crew.look("jumping")["clock"] - time.time()
            assert abs(shown - jump) < DAY / 2, "it has jumped"
            until_two(crew, ends, value)
            for name in names:
                lasted = ends(crew, value)[name] - passing(crew, value)[name]
                assert lasted >= 1.9e9, "a jump ends no value"
                found[f"{name}, {jump / DAY:+.0f} day: a value for 2 s lasted"] = lasted / 1e9
            assert set(names) <= set(fleet.members())
        end = time.monotonic() + 3 * TTL
        while time.monotonic() < end:
            assert set(names) <= set(fleet.members()), "a jump ends no lease"
            time.sleep(0.2)
        assert not crew.halves()
        return {**found, **joins_with_wrong_clock(crew, fleet, clock)}


def until_two(crew: Crew, times: Callable[[Crew, int], dict[str, int]], value: int) -> None:
    crew.until(lambda: len(times(crew, value)) == 2)


def jump_to(clock: Path, seconds: int) -> None:
    """Let the clocks of members that use this file be wrong by so much."""
    new = clock.with_suffix(".new")
    new.write_text(str(seconds), "ascii")
    new.replace(clock)


def joins_with_wrong_clock(crew: Crew, fleet: pf.fleet.Fleet, clock: Path) -> Figures:
    """Who joins while a temporary value is in effect has it until those end it who saw it begin."""
    given = fleet.set({"passing": 9}, duration=8.0).revision
    names = {"right": 0, "ahead": DAY, "behind": -DAY}
    for name, jump in names.items():
        jump_to(clock, jump)
        crew.start(name, fleet.url, join={"ttl": TTL}, clock=str(clock))
        crew.wait_joined([name])
    every = {"still", "jumping", *names}
    crew.until(lambda: ends(crew, 9).keys() >= every)
    over = [each for each in fleet.log() if each.record.of == given and each.verdict == "ended"]
    assert len(over) == 1, "it ends once, for all"
    return {
        f"joined, clock {name}: a value for 8 s lasted": (
            ends(crew, 9)[name] - passing(crew, 9)[name]
        )
        / 1e9
        for name in names
    }


def passing(crew: Crew, value: int) -> dict[str, int]:
    """Return when members took a temporary value, in ns."""
    return {e["m"]: e["t"] for e in crew.events if e.get("passing") == value}


def ends(crew: Crew, value: int) -> dict[str, int]:
    """Return when it ended: the first 0 after it."""
    began = passing(crew, value)
    found: dict[str, int] = {}
    for event in crew.events:
        name = event["m"]
        if event.get("passing") == 0 and name in began and event["t"] > began[name]:
            found.setdefault(name, event["t"])
    return found
