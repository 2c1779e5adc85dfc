"""hello, flags.list and flags.get."""

from __future__ import annotations

import os


def test_hello_says_what_the_process_is(program, client):
    found = client.ask("hello")
    assert found["api"] == 1
    assert found["program"] == "program.py"
    assert found["pid"] == program.process.pid
    assert found["flags"] == 13
    assert found["temporary"] == 0
    assert found["you"]["uid"] == os.getuid()
    assert found["you"]["pid"] == os.getpid()


def test_a_flag_is_described_with_its_values(client):
    flag = client.get("level")
    assert flag["type"] == "int64"
    assert flag["help"] == "Compression level"
    assert (flag["value"], flag["text"]) == (6, "6")
    assert (flag["default"], flag["default_text"]) == (6, "6")
    assert (flag["min"], flag["max"]) == (1, 9)
    assert flag["aliases"] == ["lvl"]
    assert flag["marks"] == ["runtime"]
    assert flag["settable"] is True
    assert "refusal" not in flag
    assert client.get("lvl")["name"] == "level"
    assert client.get("mode")["choices"] == ["fast", "best"]


def test_values_are_of_their_type_in_json(client):
    assert client.get("rate")["value"] == 0.5
    assert client.get("sizes")["value"] == [1, 2]
    assert client.get("sizes")["items"] == "int64"
    assert client.get("danger")["value"] is False
    assert client.get("limit")["value"] is None
    assert client.get("limit")["text"] is None
    client.ask("flags.set", set={"rate": "inf"})
    assert client.get("rate")["value"] == "inf"
    client.ask("flags.set", set={"rate": "1"})
    assert str(client.get("rate")["value"]) == "1.0"


def test_a_sensitive_value_never_leaves_the_process(client):
    client.ask("flags.set", set={"token": "swordfish2"})
    answers = [client.request("flags.get", {"name": "token"}), client.request("flags.list")]
    answers += [client.request("changes.list")]
    assert "swordfish" not in str(answers)
    assert "value" not in answers[0]["result"]["flag"]


def test_why_a_flag_cannot_be_changed_is_said(client):
    assert client.get("seed")["refusal"] == "needs a restart"
    assert "runtime=True" in client.get("closed")["refusal"]


def test_an_unknown_flag_has_the_nearest_name(client):
    error = client.fail("flags.get", name="levl")
    assert error["code"] == 404
    assert "did you mean 'level'?" in error["message"]


def test_all_flags_are_listed_and_then_what_has_changed(program, client):
    first = client.ask("flags.list")
    assert first["complete"] is True
    assert first["next"] is None
    assert len(first["flags"]) == 13
    since = f"{first['epoch']}-{first['revision']}"
    assert client.ask("flags.list", since=since)["flags"] == []
    program.run("pf.FLAGS.level = 7")
    program.run("pf.define('late', 1, 'Late'); pf.define('gone', 1, 'G'); pf.undefine('gone')")
    later = client.ask("flags.list", since=since)
    assert later["complete"] is False
    assert [flag["name"] for flag in later["flags"]] == ["level", "late"]
    assert later["removed"] == ["gone"]
    assert client.ask("flags.list", since="0123456789abcdef-3")["complete"] is True


def test_a_long_list_comes_in_pages(program, client):
    program.run("for i in range(2000): pf.define(f'many_{i}', 'x' * 300, 'One of many')")
    program.run("pass")
    names, pages, after = [], 0, None
    while pages == 0 or after is not None:
        page = client.ask("flags.list", after=after)
        names += [flag["name"] for flag in page["flags"]]
        after = page["next"]
        pages += 1
    assert pages > 3
    assert len(names) == len(set(names)) == 2013


def test_a_long_text_is_shown_by_its_digest_except_to_who_asks_for_it(program, client):
    text = "x" * 70_000
    client.ask("flags.set", set={"greeting": text})
    assert client.text("greeting") == text
    [flag] = [each for each in client.ask("flags.list")["flags"] if each["name"] == "greeting"]
    digest = program.run(f"import hashlib; print(hashlib.sha256(b'x' * {len(text)}).hexdigest())")
    assert flag["text"] == {"length": 70_000, "sha256": digest}
    assert "value" not in flag
    [change] = client.ask("changes.list")["changes"]
    assert change["flags"][0]["new"] == flag["text"]


def test_the_history_and_the_log_say_what_happened(program, client):
    program.run("pf.FLAGS.level = 7")
    client.ask("flags.set", set={"level": 8}, reason="higher")
    flag = client.get("level")
    assert [each["text"] for each in flag["history"]] == ["8", "7", "6"]
    assert [each["source"] for each in flag["history"]] == ["live", "run time", "default"]
    assert [(each["old"], each["new"]) for each in flag["log"]] == [("7", "8"), ("6", "7")]
    assert flag["log"][0]["reason"] == "higher"
    assert flag["log"][0]["who"]["pid"] == os.getpid()


def test_bytes_that_are_not_utf_8_are_written_as_python_reads_them(program, client):
    program.run("pf.FLAGS.greeting = 'caf\\udce9 \"\\u00e9\\U0001f600'")
    assert client.text("greeting") == 'caf\udce9 "\u00e9\U0001f600'
