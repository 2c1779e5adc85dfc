"""What takes how long when something breaks: the faults of the tests, some times each."""

from __future__ import annotations

import functools
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import faults_engine
import faults_members
from etcds import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    Rows = dict[str, dict[str, list[float]]]


def measure(engine: str, rounds: int, tell: Callable[[str], None]) -> Rows:
    """Let everything happen so many times; return the figures of each fault."""
    rows: Rows = {}
    with tempfile.TemporaryDirectory(prefix="fleet-") as name:
        place = Path(name)
        if engine == "dir":
            for index in range(rounds):
                _of_members(f"dir://{place}/fleet{index}-", place, rows, tell)
        elif engine == "etcd":
            with Cluster(place) as cluster:
                for _ in range(rounds):
                    _of_engine(cluster, rows, tell)
                    cluster.heal()
                    _of_members(cluster.url(faults_engine.new_fleet()), place, rows, tell)
        else:
            raise SystemExit(f"--faults --engine {engine}: expected dir or etcd")
    return rows


def _of_engine(cluster: Cluster, rows: Rows, tell: Callable[[str], None]) -> None:
    cut_off = faults_engine.members_cut_off
    faults: dict[str, Callable[[Cluster], dict[str, float]]] = {
        "the leader is killed": faults_engine.leader_killed,
        "the leader hangs": faults_engine.leader_stopped,
        "the leader is cut off": faults_engine.node_cut_off,
        "the quorum is lost": faults_engine.quorum_lost,
        "members are cut off": functools.partial(cut_off, compacts=False),
        "the same, and the log is compacted": functools.partial(cut_off, compacts=True),
    }
    for fault, happens in faults.items():
        cluster.heal()
        tell(fault)
        _note(rows, fault, happens(cluster))


def _of_members(url: str, place: Path, rows: Rows, tell: Callable[[str], None]) -> None:
    for index, (fault, happens) in enumerate(
        {
            "leases under load": faults_members.leases_under_load,
            "a member hangs": faults_members.slow_member,
            "members are killed": faults_members.members_killed,
            "killed between question and change": faults_members.two_phases,
            "a change at one step": faults_members.at_one_step,
        }.items()
    ):
        tell(fault)
        _note(rows, fault, happens(f"{url}{index}"))
    tell("a clock jumps")
    _note(rows, "a clock jumps", faults_members.clock_jumps(f"{url}clock", place))


def _note(rows: Rows, fault: str, figures: dict[str, float]) -> None:
    for name, value in figures.items():
        rows.setdefault(fault, {}).setdefault(name, []).append(value)


def text(rows: Rows) -> str:
    """Return the figures as a table: seconds, or counts."""
    lines = ["| fault | what | median | least .. most |", "|---|---|---|---|"]
    for fault, figures in rows.items():
        for name, values in figures.items():
            middle = _number(statistics.median(values))
            ends = f"{_number(min(values))} .. {_number(max(values))}"
            lines.append(f"| {fault} | {name} | {middle} | {ends} |")
            fault = ""  # noqa: PLW2901 - once
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f} s"
