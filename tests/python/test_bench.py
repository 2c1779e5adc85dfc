"""The bench measures everybody, writes its part of the documents, and judges instructions.

Nothing here looks at a time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from support import ROOT, SANITIZE, package, require, run, tool

sys.path.insert(0, str(ROOT))

pytest.importorskip("resource", reason="resource is missing, by which bench measures")

from bench import document, free_threaded, instructions, live, measure, pythons, rows, scopes, table

COMMITTED = ROOT / "bench" / "results"
pytestmark = pytest.mark.skipif(bool(SANITIZE), reason="what is measured is what ships")


def bench(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a part of the bench in the tree, as make does."""
    command = [sys.executable, "-m", *map(str, words)]
    environment = {**os.environ, **environment}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900
    )


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Results of the smallest run, with all peers."""
    require("libgflags-dev", "gflags/gflags.h")
    require("libabsl-dev", "absl/flags/flag.h", program="pkg-config")
    require("llvm-dev", program="llvm-config")
    tool("valgrind")
    for module in ("absl", "click", "matplotlib", "pydantic_settings"):
        package(module)
    out = tmp_path_factory.mktemp("bench")
    ended = bench("bench", "--quick", "--output", out)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return out, ended.stdout, json.loads((out / "results.json").read_text("utf-8"))


def known(quick, row: str) -> set[str]:
    return set(quick[2]["rows"][row])


@pytest.mark.release
def test_every_peer_is_measured(quick):
    native = {"ours", "gflags", "abseil", "LLVM"}
    for work in ("register", "set", "parse", "parse-random", "memory", "resident"):
        assert known(quick, f"{work}/100") == {*native, "ours, record", "LLVM, locked"}
    for row in ("read-int", "read-string", "read-int-instructions"):
        assert known(quick, row) == {*native, "plain"}
    assert known(quick, "start/10") == {*native, "ours, in a plugin"}
    assert known(quick, "plugin-size") == native
    (version,) = quick[2]["pythons"]
    for work in ("value", "contains", "override"):
        assert known(quick, f"python-{version}/{work}") == {"ours", "absl-py"}
    keepers = {"ours", "absl-py", "pydantic-settings"}
    for work, others in (("get", set()), ("assign", set()), ("list", {"plain"})):
        assert known(quick, f"python-{version}/{work}") == keepers | others
    for work in ("source", *(f"describe-{form}" for form in rows.FORMS)):
        assert known(quick, f"python-{version}/{work}") == {"plain", "ours"}
    for work in ("define", "parse", "import"):
        assert known(quick, f"python-{version}/{work}") == set(rows.PYTHON)


@pytest.mark.release
def test_each_number_is_a_median_with_its_range(quick):
    for of_all in quick[2]["rows"].values():
        for summary in of_all.values():
            assert summary["low"] <= summary["median"] <= summary["high"]


@pytest.mark.release
def test_an_int_flag_is_read_by_the_instructions_of_a_plain_variable(quick):
    for kind in ("int", "string"):
        counted = quick[2]["rows"][f"read-{kind}-instructions"]
        assert counted["ours"] == counted["plain"]


@pytest.mark.release
def test_results_are_saved_as_tables_numbers_and_plots_without_verdicts_if_quick(quick):
    out, printed, results = quick
    assert (out / "results.md").read_text("utf-8") in printed
    assert table.page(results) in printed
    assert "with few flags" in printed  # which no budget is about
    assert "best peer" not in printed
    assert "not met" not in printed
    assert (out / "flags.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.release
def test_the_loops_that_read_are_shown(quick):
    shown = quick[2]["disassembly"]
    assert set(shown) == {"plain", "ours", "gflags", "abseil"}
    assert all("mov" in text and "\nj" in text for text in shown.values())


def test_a_peer_that_is_not_installed_is_named_with_what_installs_it(tmp_path):
    words = ("bench", "--quick", "--only", "reads", "--output", tmp_path)
    ended = bench(*words, CXX=str(tmp_path / "no-compiler"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "- gflags: not installed: apt-get install g++ libgflags-dev" in ended.stdout
    (line,) = [
        each
        for each in ended.stdout.splitlines()
        if each.startswith("| one round of the loop that reads an int ")
    ]
    assert line.count("not installed") == 3


def test_the_document_shows_the_committed_results():
    results = json.loads((COMMITTED / "results.json").read_text("utf-8"))
    path = ROOT / "docs" / "explanation" / "performance.md"
    text = path.read_text("utf-8")
    assert document.filled(text, document.sections(results)) == text, "make bench ARGS=--render"
    of_scopes = json.loads((COMMITTED / "scopes.json").read_text("utf-8"))
    assert document.filled(text, {"scopes": scopes.text(of_scopes)}) == text
    of_live = json.loads((COMMITTED / "live.json").read_text("utf-8"))
    assert document.filled(text, {"live": live.text(of_live)}) == text
    assert not list(live.exceeded(of_live))


@pytest.mark.extended  # takes a second or more
@pytest.mark.skipif(sys.platform != "linux", reason="flags are served on Linux")
def test_a_process_that_serves_its_flags_can_be_attacked():
    ended = bench("bench.live", "--rounds", 1, "--seconds", 1)
    assert "`flags.get` over a new connection" in ended.stdout, ended.stderr


@pytest.mark.parametrize("work", scopes.WORKS)
@pytest.mark.parametrize("who", scopes.WHO)
def test_each_library_with_scopes_can_be_measured(who, work):
    for name in filter(None, [scopes.WHO[who]]):
        pytest.importorskip(name)
    ended = run(sys.executable, ROOT / "bench" / "python" / "scopes.py", who, work, 20)
    assert json.loads(ended.stdout)["ns"] > 0


@pytest.mark.parametrize("work", free_threaded.WORKS)
@pytest.mark.parametrize("who", free_threaded.WHO)
def test_each_library_can_be_measured_in_threads(who, work):
    pytest.importorskip("absl")
    script, library = ROOT / "bench" / "python" / "threads.py", pythons.MODULES[who]
    ended = run(sys.executable, script, library, work, 2, 20)
    assert json.loads(ended.stdout)["per_s"] > 0


def results_with(row: str, **values: float | list[float]) -> table.Results:
    summaries = {
        who.replace("_", ", "): measure.summary(value if isinstance(value, list) else [value])
        for who, value in values.items()
    }
    return {"rows": {row: summaries}, "contestants": {}, "pythons": ["3.11"]}


def judged(row: str, results: table.Results) -> table.Verdict:
    """Judge one row of results."""
    ((place, found),) = [
        (each, line) for each in rows.tables() for line in each.rows if line.key == row
    ]
    return table.judge(results, place, found)


def verdict(row: str, **values: float | list[float]) -> table.Verdict:
    """Judge one row of numbers."""
    return judged(row, results_with(row, **values))


def test_a_budget_in_a_unit_is_met_up_to_its_limit():
    assert verdict("memory/100000", ours_record=160.0, gflags=256.0).met == "yes"
    assert verdict("memory/100000", ours_record=240.0, gflags=256.0).met == "**no**, 1.5 times"
    assert verdict("memory/100000", ours_record=240.0, gflags=120.0).ratio == 2


def test_the_worse_of_our_ways_is_judged():
    assert verdict("resident/100000", ours=9.0, ours_record=11.0, gflags=1.0).ours == 11
    assert verdict("resident/100000", ours=11.0, ours_record=9.0, gflags=1.0).ours == 11


def test_a_budget_of_a_time_is_a_ratio_to_a_peer_of_the_same_run():
    values = {"ours": 110.0, "gflags": 100.0, "LLVM": 200.0}
    assert verdict("start/10000", **values).met == "yes: 1.1 times"
    assert verdict("start/10000", **{**values, "ours": 120.0}).met == "**no**: 1.2 times"
    assert verdict("python-3.11/get", ours=100.0, **{"absl-py": 399.0}).met == "**no**: 0.251 times"
    assert verdict("python-3.11/get", ours=100.0, **{"absl-py": 400.0}).met == "yes: 0.25 times"
    assert verdict("threads/2/writer-of-this-flag", ours=99.0, abseil=9.0).met == "yes: 11 times"
    assert verdict("threads/2/writer-of-this-flag", ours=45.0, abseil=9.0).met == "**no**: 5 times"


def test_a_ratio_is_the_median_of_the_ratios_of_all_rounds():
    # The medians have the ratio 1; the machine was busy in the third round for both.
    ours, peer = [100.0, 110.0, 900.0], [110.0, 100.0, 300.0]
    assert verdict("start/10000", ours=ours, gflags=peer).met == "yes: 1.1 times"
    assert verdict("start/10000", ours=ours, gflags=[300.0, 55.0, 450.0]).judged == 2


def test_no_row_has_a_budget_of_a_time_in_a_unit_of_time():
    units = {line.unit for each in rows.tables() for line in each.rows if line.at_most is not None}
    assert units <= {"bytes", "KB", "%"}


def of_counts(**values: list[float]) -> table.Results:
    """Give results of defining 1,000, 10,000 and 100,000 flags."""
    results = results_with("register/1")
    for place, count in enumerate(rows.MEANT):
        numbers = {who: of_all[place] for who, of_all in values.items()}
        results["rows"].update(results_with(f"register/{count}", **numbers)["rows"])
    return results


def test_numbers_of_flags_are_judged_by_their_geometric_mean_and_the_way_that_the_row_names():
    peer = [100.0, 100.0, 100.0]
    slower = of_counts(ours=[900.0] * 3, ours_record=[200.0, 100.0, 100.0], LLVM=peer)
    assert judged("register/mean", slower).met == "**no**: 1.26 times"
    faster = of_counts(ours=[900.0] * 3, ours_record=[195.0, 100.0, 100.0], LLVM=peer)
    assert judged("register/mean", faster).met == "yes: 1.25 times"
    assert judged("register/1000", slower).met == ""


def test_a_budget_against_a_peer_that_is_not_there_is_not_judged():
    assert judged("register/mean", of_counts(ours_record=[1.0, 2.0, 3.0])).met == ""
    assert verdict("start/10000", ours=1.0).met == ""


def test_budgets_that_are_missed_are_listed_the_worst_first():
    results = results_with("start/10000", ours=165.0, gflags=100.0)
    results["rows"]["memory/100000"] = {"ours, record": measure.summary([320.0])}
    first, second = table.worst(results)
    heap = "heap for a flag, beyond its definition"
    assert first == f"2 times the budget: Memory: {heap}: 320 bytes, budget ≤ 160 bytes"
    start = "start of a process, 10,000 definitions: 165 ms, 1.65 times the best peer"
    assert (
        second
        == f"1.5 times the budget: Processes and files: {start}, budget ≤ 1.1 times the best peer"
    )


def test_more_than_three_per_cent_over_the_record_is_an_error(capsys):
    record = {"conditions": {"compiler": "gcc 12"}, "instructions": {"find": 1000, "set": 1000}}
    assert instructions.judge(record, {"find": 1030, "set": 500}, record["conditions"]) == 0
    assert instructions.judge(record, {"find": 1031, "set": 500}, record["conditions"]) == 1
    said = capsys.readouterr().err
    assert "error: find: 1,000 instructions before, 1,031 now: +3.1%" in said
    assert "make bench-instructions ARGS=--renew" in said


def test_a_row_that_is_new_or_gone_is_an_error():
    assert instructions.compare({"find": 1}, {"set": 1}) == [
        "find: not counted",
        "set: not in the record",
    ]


def test_counts_of_another_compiler_are_not_compared_and_that_is_said(capsys):
    record = {"conditions": {"compiler": "gcc 12"}, "instructions": {"find": 1}}
    assert instructions.judge(record, {"find": 99}, {"compiler": "gcc 14"}) == 0
    said = capsys.readouterr().out
    assert "recorded with compiler gcc 12, here it is gcc 14" in said
    assert "nothing was checked" in said


@pytest.mark.release
def test_instructions_are_counted_and_compared_with_the_record(tmp_path):
    tool("valgrind")
    record = tmp_path / "record.json"
    renewed = bench("bench.instructions", "--renew", "--record", record)
    assert renewed.returncode == 0, renewed.stdout + renewed.stderr
    held = json.loads(record.read_text())
    assert set(held["instructions"]) == set(
        json.loads(instructions.RECORD.read_text())["instructions"]
    )
    assert bench("bench.instructions", "--record", record).returncode == 0
    held["instructions"]["find"] //= 2
    record.write_text(json.dumps(held))
    ended = bench("bench.instructions", "--record", record)
    assert ended.returncode == 1
    assert "error: find: " in ended.stderr
