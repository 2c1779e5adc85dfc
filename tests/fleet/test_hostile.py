"""What a fleet does with what nobody should have stored in its engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from members import SOON, Failed, eventually, write
from support import WINDOWS, in_url

from paddle_flags import errors
from paddle_flags.fleet import AbortedError, Fleet, FleetError
from paddle_flags.fleet._record import CHECK, Record

LONG = 900_000  # ten of such records are more than a store reads at once


def put(folder, name, **document):
    """Write the document of a member that nobody runs."""
    path = os.fsencode(folder / "members") + b"/" + os.fsencode(name)
    with open(path, "w") as file:
        file.write("1000\n" + json.dumps(document))


# ---- Long logs ----


def test_reset_finds_its_revision_in_a_log_that_no_store_reads_at_once(fleet):
    for number in range(12):
        fleet.set({"number": number, "long": "x" * LONG})
    fleet.reset(12)
    assert fleet.values()["number"].value == "11"


# ---- Documents ----

ODD = [
    {"revision": "x"},
    {"revision": [1]},
    {"revision": 1e999},
    {"answers": [1]},
    {"answers": {"x": ["applied", "", []]}},
    {"answers": {"1": ["applied", ""]}},
    {"answers": {"1": ["applied", "", "more"]}},
    {"answers": {"1": [1, 2, [3]]}},
    {"standing": ["1"]},
    {"counting": [[]]},
    {"sensitive": 5},
    {"sensitive": [[]]},
    {"role": [1]},
    {"role": "\ud800"},
    {"rank": "x"},
    {"rank": 1.5},
    {"rank": 0, "world": "x"},
    {"rank": 0, "world": 1 << 80},
    {"pid": "x"},
    {"step": [1]},
    {"values": [1]},
    {"values": {"a": 1}},
    {"values": {"a": ["x"]}},
    {"wanted": 5},
    {"wanted": {"a": [1]}},
    {"selected": 5},
    {"check": 5},
    {"check": {"round": "x", "stage": "y"}},
    {"check": {"round": 1, "stage": 1, "values": 5}},
    {"details": {"of": "x", "values": {"a": 1}, "variables": 5}},
    {"time": "now", "process": 5, "defaults": [1]},
    {"problem": {"a": 1}},
    {"fleet": [1], "host": [1]},
]


@pytest.mark.parametrize("document", ODD, ids=json.dumps)
def test_a_document_of_another_form_disturbs_no_operator(fleet, folder, document):
    fleet.set({"a": "1"})
    put(folder, "odd", **document)
    put(folder, "well", revision=2, values={"a": ["1", "fleet", ""]}, wanted={"a": "2"})
    assert {each.name for each in fleet.status().members} == {"odd", "well"}
    with pytest.raises(AbortedError, match=r"no answer of odd, well after 0\.1 s"):
        fleet.set({"a": "2"}, wait=0.1)
    assert "odd" in fleet.set({"a": "2"}, force=True, wait=0.1).silent
    assert not fleet.set({"a": "2"}, wait=0.1, dry_run=True).ok
    assert len(fleet.diff()) < 2
    json.dumps(fleet.members()).encode()


def test_a_document_of_another_form_disturbs_no_check(url, folder, process):
    with Fleet(url) as fleet:
        fleet.set({"level": 5})
        put(folder, "odd", check={"round": "x", "stage": "y"}, selected=5, values=[1])
    one = process()
    one.join(role="trainer", rank=0)
    one.do("pf.fleet.check(expect=1, timeout=20)")


ODD_CHECKS = [
    {"round": "1", "stage": "alike"},
    {"round": [1], "stage": {}},
    {"round": 1, "stage": "compares", "who": 5},
    {"round": 1, "stage": "tell", "environment": 5},
    {"round": 1, "stage": "tell", "environment": [5]},
]


@pytest.mark.parametrize("check", ODD_CHECKS, ids=json.dumps)
def test_a_record_of_another_form_disturbs_no_check(store, fleet, process, check):
    write(store, Record(CHECK, check=check))
    one = process().begin(name="one")
    one.do("pf.fleet.check(expect=1, timeout=20)")
    write(store, Record(CHECK, check=check))
    assert fleet.set({"level": 2}, wait=SOON).ok
    assert one.ask("pf.fleet.member().problem") == ""


ODD_FINDINGS = [
    {"lines": 5, "missing": 5},
    {"lines": [5, []], "differences": 5},
    {"lines": [], "missing": ["x"]},
    {"differences": [["a"]]},
    {"differences": [["a", 1, 2, [3]]]},
    {"differences": [["a", None, None, None]]},
]


@pytest.mark.parametrize("found", ODD_FINDINGS, ids=json.dumps)
def test_a_finding_of_another_form_is_an_error_of_the_fleet(store, process, found):
    one = process().begin(name="one")
    store.announce("two", b"{}", SOON)
    write(store, Record(CHECK, check={"round": 1, "stage": "compares", "who": "two"}))
    one.send("do", "pf.fleet.check(expect=2, timeout=20)")
    eventually(lambda: json.loads(store.member("one").document)["check"].get("round"), 1)
    write(store, Record(CHECK, check={"round": 1, "stage": "different", "who": "two", **found}))
    with pytest.raises(Failed, match="CheckError"):
        one.receive()


ANY_BYTES = pytest.mark.skipif(WINDOWS, reason="such names of files are missing on Windows")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(b"\xff", marks=ANY_BYTES),
        "é".encode(),
        b"a b",
        pytest.param(b"a\nb", marks=ANY_BYTES),
    ],
)
def test_a_file_whose_name_no_member_can_have_is_no_member(fleet, folder, name):
    fleet.set({"a": "1"})
    put(folder, name)
    fleet.set({"a": "2"})
    assert not fleet.status().members


# ---- Logs and bases ----


@pytest.mark.parametrize("name", ["²", "5", "05", "000000000000000000005"])
def test_a_file_whose_name_no_record_has_is_no_record(fleet, folder, name):
    fleet.set({"a": "1"})
    for part in ("log", "base"):
        (folder / part / name).write_text("{}")
    assert fleet.set({"a": "2"}).revision == 2
    with Fleet(fleet.url) as other:
        assert other.revision == 2


def test_a_base_that_says_another_revision_is_an_error(fleet, folder):
    fleet.set({"a": "1"})
    data = {"version": 2, "fleet": "x", "revision": 1, "changed": 0, "batches": []}
    (folder / "base" / f"{5:020}").write_text(json.dumps(data))
    code = f"import paddle_flags as pf; pf.fleet.Fleet({fleet.url!r}).values_by_selector()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=SOON, check=False
    )
    assert "base 5: expected the values of a fleet" in done.stderr


# ---- Addresses ----


@pytest.mark.parametrize("given", [None, 5, b"dir:///x"])
def test_what_is_no_address_is_refused(given):
    with pytest.raises(errors.FlagTypeError, match="expected the address of a fleet"):
        Fleet(given)


@pytest.mark.parametrize("path", ["a%00b", "a\0b"])
def test_no_address_has_a_nul(path):
    with pytest.raises(FleetError, match="NUL"):
        Fleet(f"dir:///{path}")


def test_an_address_has_no_fragment_that_would_be_left_out(tmp_path):
    with pytest.raises(FleetError, match="write %23"):
        Fleet(f"dir://{in_url(tmp_path)}/job#2")
    with Fleet(f"dir://{in_url(tmp_path)}/job%232") as fleet:
        fleet.set({"level": 5})
        assert (tmp_path / "job#2").is_dir()


# ---- What reaches a terminal ----

ODD_TEXT = "\x1b[31mred\u202e\x07\x0b\x85\u2028\r\nFORGED"


def check_plain(text):
    assert "red" in text
    lines = text.split("\n")
    assert [line for line in lines if not line.isprintable()] == []
    assert [line for line in lines if line.lstrip().startswith("FORGED")] == []


@pytest.fixture
def odd(fleet, folder):
    """Let somebody write signs that move the cursor wherever there is room for text."""
    fleet.set({"a": ODD_TEXT}, reason=ODD_TEXT)
    facts = [ODD_TEXT, ODD_TEXT, ODD_TEXT, ODD_TEXT]
    answers = {number: ["rejected", ODD_TEXT, [ODD_TEXT]] for number in range(9)}
    said = {"answers": answers, "standing": [1], "values": {"a": facts, ODD_TEXT: facts}}
    texts = dict.fromkeys(("role", "host", "problem", "digest"), ODD_TEXT)
    put(folder, "odd", **texts, **said, check={"round": 1})
    put(folder, "plain", values={"a": ["x", "default", "", "x"]})


@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize(
    "tokens",
    [["status"], ["diff"], ["list"], ["log"], ["explain", "a"], ["set", "a=1", "--wait", "0.1"]],
    ids=lambda tokens: tokens[0],
)
def test_what_others_wrote_moves_no_cursor_of_an_operator(fleet_command, tokens):
    ended = fleet_command(*tokens)
    check_plain(ended.stdout + ended.stderr)


NAMES = [
    ["status", "dir:///no/{}"],
    ["status", "configmap://{place}"],
    ["set", "dir://{place}/job", "--file", "{}.toml"],
    ["set", "dir://{place}/job", "{}=1"],
    ["join", "dir://{place}/job", "--", "./{}"],
    ["mirror", "configmap://{place}", "dir://{place}/job", "--once"],
]


@pytest.mark.skipif(WINDOWS, reason="control characters in names of files are missing on Windows")
@pytest.mark.parametrize("tokens", NAMES, ids=lambda tokens: " ".join(tokens[:2]))
def test_the_name_of_a_file_moves_no_cursor(tmp_path, tokens):
    (tmp_path / ODD_TEXT).write_text("1")
    command = [each.format(ODD_TEXT, place=tmp_path) for each in tokens]
    ended = subprocess.run(
        [sys.executable, "-m", "paddle_flags", *command],
        capture_output=True,
        text=True,
        timeout=SOON,
        cwd=tmp_path,
    )
    assert ended.returncode != 0
    check_plain(ended.stdout + ended.stderr)


@pytest.mark.usefixtures("odd")
def test_what_others_wrote_moves_no_cursor_in_an_error(fleet, process):
    with pytest.raises(AbortedError) as caught:
        fleet.set({"a": 1}, wait=SOON)
    check_plain(str(caught.value))
    one = process()
    one.join(name="one")
    one.do("from paddle_flags.fleet import _check; _check._GRACE = 0")
    one.do("a = pf.define('a', 'x', runtime=True)")
    with pytest.raises(Failed) as failed:
        one.do("pf.fleet.check(expect=1, timeout=1)")
    check_plain(str(failed.value))
