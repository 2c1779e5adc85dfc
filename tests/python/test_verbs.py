"""The verbs of paddle-flags, beside a real process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from live_process import Served, spawn_cli
from support import run, write

from paddle_flags.cli.target import EXPECTED

pytestmark = pytest.mark.extended  # each test starts a process

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
ERROR = "python -m paddle_flags: error: "


@pytest.fixture
def other(tmp_path) -> Iterator[Served]:
    (tmp_path / "other").mkdir()
    made = Served(tmp_path / "other")
    yield made
    made.close()


# ---- list ----


def test_list_and_status_without_a_target_list_the_processes_that_serve(served):
    served.run("pf.FLAGS.level = 3")
    served.client().change({"mode": "best"}, duration=600)
    ended = served.cli("list")
    lines = ended.stdout.splitlines()
    assert lines[0].split()[:4] == ["pid", "program", "flags", "temporary"]
    row = next(line.split() for line in lines if line.startswith(f"{served.pid} "))
    assert row[2:4] == ["11", "1"]
    assert ended.returncode == 0
    assert served.cli("status").stdout == ended.stdout


def test_list_lists_processes_as_json(served):
    found = json.loads(served.cli("list", "--json").stdout)["processes"]
    own = next(each for each in found if each["pid"] == served.process.pid)
    assert own["socket"] == served.address
    assert {"pid", "program", "flags", "temporary", "user", "socket"} < set(own)


def test_list_skips_sockets_that_dead_processes_left(served):
    served.close()
    assert os.path.exists(served.address)
    assert served.pid not in served.cli("list").stdout.split()


def test_list_begins_with_the_flags_that_were_changed(served):
    served.run("pf.FLAGS.rate = 0.25")
    expected = (
        "flag      type        value       source    module\n"
        "rate      double      0.25        run time  trainer.py\n"
        "level     int64       6           default   trainer.py\n"
        "mode      string      fast        default   trainer.py\n"
        "check     bool        false       default   trainer.py\n"
        'names     string,...  ""          default   trainer.py\n'
        'note      string      ""          default   trainer.py\n'
        "reckless  bool        false       default   trainer.py\n"
        "port      int64       8080        default   trainer.py\n"
        "token     string      <redacted>  default   trainer.py\n"
        "cache     int64       64MiB       default   trainer.py\n"
    )
    for words in ([served.pid], [served.address], ["--", served.pid], ["trainer.py"], ["trainer"]):
        assert served.cli("list", *words).stdout == expected


def names(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines()[1:]]


def test_list_takes_patterns_and_filters(served):
    served.run("pf.FLAGS.rate = 0.25")
    assert names(served.cli("list", served.pid, "le*", "?ode", "cache").stdout) == [
        "level",
        "mode",
        "cache",
    ]
    assert names(served.cli("list", served.pid, "--changed").stdout) == ["rate"]
    assert "port" not in names(served.cli("list", served.pid, "--settable").stdout)
    assert "inner" in names(served.cli("list", served.pid, "--all").stdout)
    assert names(served.cli("list", served.pid, "inner").stdout) == ["inner"]


def test_list_shows_when_temporary_values_end(served):
    served.client().change({"cache": "1GiB"}, duration="10m")
    shown = served.cli("list", served.pid, "--temporary").stdout
    assert re.search(
        r"\ncache +int64 +1GiB +override +trainer\.py +(10m|9m\d+s), then 64MiB\n", shown
    )


def test_list_of_an_unknown_name_suggests_the_nearest(served):
    ended = served.cli("list", served.pid, "levle")
    assert ended.stderr == f"{ERROR}no flag is named 'levle'; did you mean 'level'?\n"
    assert ended.returncode == 1


def test_list_as_json_is_the_document_of_the_process(served):
    document = json.loads(served.cli("list", served.pid, "level", "--json").stdout)
    assert document["process"]["pid"] == served.process.pid
    assert [each["name"] for each in document["flags"]] == ["level"]
    assert {"epoch", "revision", "complete", "removed"} < set(document)


def test_what_a_process_says_cannot_control_the_terminal(tmp_path):
    flags = r'pf.define("a", "x", "", category="C\x1b[2J", runtime=True)'
    served = Served(tmp_path, flags=flags)
    try:
        served.client().change({"a": "\x1b[31m\n\x9b"}, reason="\x1b]0;title\x07")
        for words in (["list", served.pid], ["explain", served.pid, "a"], ["log", served.pid]):
            shown = served.cli(*words).stdout
            assert "x1b[31m" in shown
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
    finally:
        served.close()


def test_list_reads_a_process_that_serves_nothing_from_its_memory(served):
    served.run("pf.FLAGS.level = 3; server.close()")
    shown = served.cli("list", "--attach", served.pid, "level", "token").stdout
    assert [line.split()[2] for line in shown.splitlines()] == ["value", "3", "<redacted>"]
    document = json.loads(served.cli("list", "--attach", served.pid, "--json").stdout)
    assert (document["pid"], document["torn"]) == (served.process.pid, [])
    assert f"list --attach {served.pid}' reads" in served.cli("list", served.pid).stderr
    served.close()
    assert served.cli("list", "--attach", served.pid).returncode == 3


# ---- get ----


def test_get_prints_the_value_alone_or_several_by_name(served):
    assert served.cli("get", served.pid, "level").stdout == "6\n"
    ended = served.cli("get", served.pid, "cache", "note", "mode")
    assert ended.stdout == "cache=67108864\nnote=\nmode=fast\n"


def test_get_explains_a_flag_as_explain_does(served):
    served.client().change({"level": 3}, reason="loss is NaN")
    shown = served.cli("explain", served.pid, "level").stdout
    assert shown.startswith("level = 3\n\n  type:       int64\n  help:       Compression level\n")
    assert "  allowed:    1 to 9\n" in shown
    assert "  settable:   yes\n" in shown
    assert re.search(r"\n  3 +in effect +live .*\n  6 +hidden by a live value +default ", shown)
    assert re.search(rf"\nchanges, .*:\n.*\n  {TIME} +6 -> 3 +uid \d+, .* +loss is NaN\n", shown)


def test_get_says_why_a_flag_cannot_be_set(served):
    assert "  settable:   no: " in served.cli("explain", served.pid, "port").stdout


def test_get_never_shows_a_sensitive_value(served):
    ended = served.cli("get", served.pid, "token")
    assert ended.stderr == f"{ERROR}token: is sensitive, so its value is never shown\n"
    assert ended.returncode == 1
    assert "hunter2" not in served.cli("explain", served.pid, "token", "--json").stdout


# ---- set ----


def test_set_changes_flags_and_prints_old_and_new(served):
    ended = served.cli("set", served.pid, "level=3", "note=a b", "names=x,y", "--reason", "why not")
    assert ended.stdout == 'level: 6 -> 3\nnote: "" -> a b\nnames: "" -> x,y\nchange 1\n'
    assert ended.returncode == 0
    assert served.client().changes()[0]["reason"] == "why not"


def test_set_takes_options_and_values_in_any_order_and_with_dashes(served):
    words = ["--expect", "level=6", served.pid, "--reason", "-5%", "note=--x", "--", "rate=-1"]
    assert served.cli("set", *words).stdout == 'note: "" -> --x\nrate: 0.5 -> -1\nchange 1\n'
    assert served.cli("set", served.pid, "note=", "--unset=rate").returncode == 0
    flags = {
        each["name"]: each["text"] for each in served.client().flags()["flags"] if "text" in each
    }
    assert (flags["note"], flags["rate"]) == ("", "0.5")


def test_set_can_end_by_itself(served):
    ended = served.cli("set", served.pid, "level=9", "--for", "10m")
    assert re.fullmatch(rf"level: 6 -> 9\nchange 1, until {TIME}\n", ended.stdout)
    assert served.cli("set", served.pid, "level=8", "--for", "600").returncode == 0


def test_set_can_try_without_changing(served):
    ended = served.cli("set", served.pid, "level=9", "--dry-run")
    assert ended.stdout == "would set level: 6 -> 9\n"
    assert served.client().flag("level")["value"] == 6


REFUSED = {
    "level=12 mode=bst": [
        "level=12: expected an integer in [1, 9]",
        "mode=bst: expected one of fast, best",
    ],
    "levle=1 colour=2": [
        "no flag is named 'levle'; did you mean 'level'?",
        "no flag is named 'colour'",
    ],
    "reckless=1": ["reckless: is unsafe to change; add --confirm reckless"],
    "level=1 --expect level=7": ["level: is 6, expected 7"],
    "level=1 --for 10y": [
        "--for: expected seconds, or a quantity such as 90s, 10m or 1h30m, from 0.1 s to 30 d"
    ],
}


REFUSED_TOGETHER = [
    (
        "port: may not be changed from outside: the program neither defines it with"
        " runtime=True nor serves it as settable"
    ),
    "reckless: is unsafe to change; add --confirm reckless",
    "mode: is fast, expected best",
    "level=12: expected an integer in [1, 9]",
    "no flag is named 'levle'; did you mean 'level'?",
]


def test_set_prints_problems_of_all_kinds_together(served):
    words = ["levle=1", "level=12", "reckless=1", "port=3", "--expect", "mode=best"]
    ended = served.cli("set", served.pid, *words)
    assert sorted(ended.stderr.splitlines()) == sorted(ERROR + line for line in REFUSED_TOGETHER)
    assert served.client().changes() == []


@pytest.mark.parametrize("words", REFUSED)
def test_set_prints_each_problem_on_a_line(words, served):
    ended = served.cli("set", served.pid, *words.split())
    assert ended.stderr.splitlines() == [ERROR + line for line in REFUSED[words]]
    assert (ended.stdout, ended.returncode) == ("", 1)
    assert served.client().changes() == []


def test_set_prints_what_a_validator_says(served):
    served.run("pf.validator('level', message='four is unlucky')(lambda level: level != 4)")
    ended = served.cli("set", served.pid, "level=4", "--dry-run")
    assert ended.stderr == f"{ERROR}level=4: four is unlucky\n"
    assert ended.returncode == 1


def test_set_confirms_unsafe_flags_by_name(served):
    ended = served.cli("set", served.pid, "reckless=true", "--confirm", "reckless")
    assert ended.stdout == "reckless: false -> true\nchange 1\n"


USAGE = {
    "set": f"expected a target: {EXPECTED}",
    "get": f"expected a target: {EXPECTED}",
    "reset": "expected a target: the URL of a fleet",
    "get 1": "expected NAME after 1",
    "undo 1 2 3": "unexpected argument 3",
    "set 1": "expected NAME=VALUE, --unset NAME or --file FILE",
    "set 1 level": "level: expected NAME=VALUE",
    "set 1 =5": "=5: expected NAME=VALUE",
    "set 1 a-b=1 a_b=2": "a_b: is given twice",
    "set 1 a=1 --unset a": "a: is given twice",
    "set 1 a=1 --expect a": "--expect: a: expected NAME=VALUE",
    "set 1 --level=3": "no such option --level; flags are written NAME=VALUE, without dashes",
    "set 1 a=1 --resaon=x": "no such option --resaon; did you mean --reason?",
    "set 1 a=1 --timeout=0": "argument --timeout: '0': expected a positive number of seconds,"
    " up to 1000000",
    "undo 1 last": "'last': expected the number of a change, as 'log' lists them",
    "list --changed": "--changed: expected a target, of which to list the flags",
    "list http://a:b@localhost": "a secret in a URL can be seen by everybody on this machine; use"
    " a file with the token, or $PADDLE_FLAGS_LIVE_TOKEN",
}


@pytest.mark.parametrize("words", USAGE)
def test_a_wrong_command_line_is_explained(words, served):
    ended = served.cli(*words.split())
    assert ended.stderr.splitlines()[-1].partition(" error: ")[2] == USAGE[words]
    assert ended.returncode == 2


def test_a_mistyped_verb_gets_the_nearest_one(served):
    ended = served.cli("wacth", "1")
    assert ended.stderr.endswith("error: no such command wacth; did you mean watch?\n")
    assert ended.returncode == 2


def test_a_process_that_cannot_be_reached_is_status_3(served):
    for words in (
        ["get", "x.sock", "a"],
        ["set", served.pid, "level=3"],
        ["list", "1"],
        ["watch", "y.sock"],
    ):
        if words[0] == "set":
            served.close()
        ended = served.cli(*words)
        assert (ended.returncode, ended.stdout) == (3, "")
        assert len(ended.stderr.splitlines()) == 1


# ---- undo and changes ----


def test_undo_takes_back_the_last_change_or_one_by_number(served):
    served.cli("set", served.pid, "level=3")
    served.cli("set", served.pid, "mode=best")
    assert served.cli("undo", served.pid, "1").stdout == "level: 3 -> 6\nchange 3\n"
    assert (
        served.cli("undo", served.pid, "--reason", "no").stdout == "mode: best -> fast\nchange 4\n"
    )
    ended = served.cli("undo", served.pid)
    assert (ended.returncode, ended.stdout) == (1, "")


def test_changes_lists_who_changed_what_and_why(served):
    assert served.cli("log", served.pid).stderr == "no client has changed anything\n"
    served.cli("set", served.pid, "level=3", "--reason", "loss is NaN")
    served.cli("undo", served.pid)
    lines = served.cli("log", served.pid).stdout.splitlines()
    who = rf"uid {os.geteuid()}, \S+, pid \d+"
    assert lines[0].split() == ["change", "at", "state", "flags", "who", "reason"]
    assert re.fullmatch(rf"2 +{TIME}  undo of 1 +level: 3 -> 6  {who}", lines[1])
    assert re.fullmatch(rf"1 +{TIME}  undone +level: 6 -> 3  {who} +loss is NaN", lines[2])


# ---- watch ----


def ended_by(process, sign: int = signal.SIGINT) -> tuple[int, str]:
    process.send_signal(sign)
    text, _ = process.communicate(timeout=60)
    return process.returncode, text


def test_watch_prints_changes_from_any_side_until_ctrl_c(served):
    watch = spawn_cli(served, "watch", served.pid)
    assert watch.stdout.readline().startswith("watching ")
    served.run("pf.FLAGS.level = 2")
    assert re.fullmatch(rf"{TIME}  level: 6 -> 2  \(run time, .*\)\n", watch.stdout.readline())
    served.cli("set", served.pid, "level=3", "--reason", "why", "--for", "10m")
    line = watch.stdout.readline()
    expected = rf"{TIME}  level: 2 -> 3  \(override, uid .*\)  until {TIME}  because why\n"
    assert re.fullmatch(expected, line), line
    served.run("pf.FLAGS.token = 'hunter3'")
    assert "token: <redacted>" in watch.stdout.readline()
    assert ended_by(watch) == (0, "")


def test_watch_prints_only_what_matches_and_as_json_lines(served):
    watch = spawn_cli(served, "watch", served.pid, "mo*", "--json")
    assert json.loads(watch.stdout.readline())["event"] == "hello"
    served.run("pf.FLAGS.level = 2; pf.FLAGS.mode = 'best'")
    change = json.loads(watch.stdout.readline())
    assert (change["event"], change["name"], change["new"]) == ("change", "mode", "best")
    assert ended_by(watch) == (0, "")


def test_watch_says_which_names_no_flag_has_and_waits_for_them(served):
    watch = spawn_cli(served, "watch", served.pid, "levle", "mo*")
    assert watch.stdout.readline() == "no flag is named 'levle'; did you mean 'level'?\n"
    assert watch.stdout.readline().startswith("watching ")
    served.run('pf.define("levle", 1, "")')
    assert "levle: defined" in watch.stdout.readline()
    assert ended_by(watch) == (0, "")


def test_watch_ends_when_the_process_ends(served):
    watch = spawn_cli(served, "watch", served.pid)
    watch.stdout.readline()
    served.close()
    text, _ = watch.communicate(timeout=60)
    assert watch.returncode in (0, 3)
    assert len(text.splitlines()) == 1


def test_watch_goes_on_with_the_next_process_at_the_same_socket(tmp_path):
    path = str(tmp_path / "trainer.sock")
    first = Served(tmp_path, repr(path))
    watch = spawn_cli(first, "watch", path, "--reconnect")
    assert watch.stdout.readline().startswith("watching ")
    first.close()
    assert watch.stdout.readline().startswith("connection lost: ")
    second = Served(tmp_path, repr(path))
    try:
        line = watch.stdout.readline()
        while line.startswith("connection lost: "):
            line = watch.stdout.readline()
        assert line.startswith("some changes were lost up to revision ")
        second.run("pf.FLAGS.level = 2")
        assert "level: 6 -> 2" in watch.stdout.readline()
        assert ended_by(watch) == (0, "")
    finally:
        second.close()


def test_watch_ends_quietly_when_nobody_reads(served):
    command = f"{sys.executable} -m paddle_flags watch {served.pid} | head -n 1"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    shell = subprocess.Popen(["sh", "-c", command], env=served.env, text=True, **pipes)
    assert shell.stderr.readline().startswith("watching ")
    deadline = time.monotonic() + 60
    while shell.poll() is None:
        served.run("pf.FLAGS.level = pf.FLAGS.level % 9 + 1")
        assert time.monotonic() < deadline
        time.sleep(0.05)
    text, errors = shell.communicate()
    assert "level: 6 -> 7" in text
    assert errors == ""


# ---- diff ----


def test_diff_shows_the_flags_that_differ_with_their_sources(served, other):
    assert served.cli("diff", served.address, other.address).returncode == 0
    served.run("pf.FLAGS.level = 3")
    other.run("pf.define('more', 1)")
    ended = served.cli("diff", served.address, other.address)
    assert ended.returncode == 1
    rows = [re.split("  +", line) for line in ended.stdout.splitlines()]
    assert rows[0] == ["flag", served.address, "source", other.address, "source"]
    assert [row[:2] for row in rows[1:]] == [["level", "3"], ["more", "not defined"]]
    assert rows[1][2].startswith("run time, ")
    assert ended.stderr == "not compared, as they are sensitive: token\n"
    assert served.cli("diff", served.address, other.address, "mode").returncode == 0


def test_diff_compares_with_a_file_that_list_has_written(served, tmp_path):
    saved = write(tmp_path / "saved.json", served.cli("list", served.pid, "--json").stdout)
    served.run("pf.FLAGS.level = 3")
    document = json.loads(served.cli("diff", saved, served.pid, "--json").stdout)
    assert [each["name"] for each in document["different"]] == ["level"]
    found = document["different"][0]
    assert (found["a"]["text"], found["b"]["text"], found["b"]["source"]) == ("6", "3", "run time")
    assert document["a"]["pid"] == document["b"]["pid"] == served.process.pid
    same = served.cli("diff", "-", saved, input=saved.read_text("utf-8"))
    assert same.returncode == 0


# ---- tokens, help, completion ----

TOKEN = "a-token-of-sixteen-bytes"  # noqa: S105 - for tests


def test_a_token_comes_from_a_file_or_the_environment(tmp_path):
    served = Served(tmp_path)
    tokens = write(tmp_path / "tokens", f"ops read {TOKEN}\n")
    tokens.chmod(0o600)
    gateway = spawn_cli(served, "gateway", served.pid, "--port", 0, "--token-file", tokens)
    try:
        assert gateway.stdout
        url = gateway.stdout.readline().removeprefix("serving ").strip()
        assert served.cli("get", url, "level").returncode == 1
        file = write(tmp_path / "token", TOKEN + "\n")
        ended = served.cli("get", url, "level", "--token-file", file)
        assert (ended.stdout, ended.stderr) == ("6\n", "")
        env = {**served.env, "PADDLE_FLAGS_LIVE_TOKEN": TOKEN}
        assert served.cli("get", url, "level", env=env).stdout == "6\n"
        ended = served.cli("get", url, "level", "--token-file", tmp_path / "none")
        assert ended.returncode == 2
    finally:
        gateway.kill()
        gateway.communicate()
        served.close()


def complete(served: Served, line: str) -> list[str]:
    """Give what a shell would offer at the end of a line."""
    env = {**served.env, "_PD_FLAGS_COMPLETE": f"fish 1 0 {line}"}
    code = f"exec 8>&1 1>/dev/null; exec {sys.executable} -m paddle_flags"
    text = run("sh", "-c", code, env=env).stdout
    return [each.split("\t")[0] for each in text.splitlines()[1:]]


def test_commands_options_processes_flags_and_values_are_completed(served):
    assert {"list", "set", "watch"} < set(complete(served, "paddle-flags "))
    assert {served.pid, "trainer.py"} <= set(complete(served, "paddle-flags list "))
    assert complete(served, "paddle-flags wa") == ["watch"]
    assert complete(served, "paddle-flags set 1 --dr") == ["--dry-run"]
    assert served.pid in complete(served, "paddle-flags get ")
    assert complete(served, f"paddle-flags get {served.pid} le") == ["level"]
    assert complete(served, f"paddle-flags set {served.pid} mo") == ["mode="]
    assert complete(served, f"paddle-flags set {served.pid} po") == []
    assert complete(served, f"paddle-flags set {served.pid} mode=b") == ["mode=best"]
    assert complete(served, f"paddle-flags set {served.pid} --confirm rec") == ["reckless"]
