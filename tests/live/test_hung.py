"""A process whose Python hangs still shows its flags, and changes those that need no Python."""

from __future__ import annotations

import os

import pytest
from serving import Client, problems, until


@pytest.fixture
def hung(program):
    program.hang()
    return program


def test_flags_are_read_while_python_hangs(hung):
    with Client(hung.socket) as client:
        for _ in range(20):
            assert client.text("level") == "6"
        assert len(client.ask("flags.list")["flags"]) == 13
        assert client.ask("hello")["program"] == "program.py"


def test_flags_without_a_python_validator_are_changed_while_python_hangs(hung):
    with Client(hung.socket) as client:
        client.ask("flags.set", set={"level": 9}, reason="it hangs")  # it has a watcher
        client.ask("flags.set", set={"rate": 2}, for_="1h")
        client.ask("flags.set", set={"level": 8})
        assert (client.text("level"), client.text("rate")) == ("8", "2")
        client.ask("changes.undo")
        assert client.text("level") == "9"


def test_flags_are_read_and_changed_while_a_debugger_waits_for_a_command(program):
    folder = program.socket.parent
    os.mkfifo(folder / "commands")
    program.tell(
        "import pdb, io; pipe = open(os.open('commands', os.O_RDWR)); open('stopped', 'w').close();"
        " pdb.Pdb(stdin=pipe, stdout=io.StringIO(), nosigint=True).set_trace()"
    )
    until((folder / "stopped").exists)
    with Client(program.socket) as client:
        client.ask("flags.set", set={"mode": "best"})  # its validator is in Python
        assert client.text("mode") == "best"
    (folder / "commands").write_text("continue\n")
    program.read()


def test_a_temporary_value_ends_while_python_hangs(hung):
    with Client(hung.socket) as client:
        client.ask("flags.set", set={"level": 9}, for_="0.3s")
        until(lambda: client.text("level") == "6")


def test_a_change_that_needs_python_is_given_up_and_says_for_what_it_waited(program):
    program.hang()
    with Client(program.socket) as client, Client(program.socket) as other:
        error = client.fail("flags.set", set={"mode": "best"}, timeout=0.5)
        assert error["code"] == 504
        assert "validators of mode" in error["message"]
        waits = other.fail("flags.set", set={"rate": 2}, timeout=0.5)
        assert "earlier change" in waits["message"]
        assert problems(waits) == [(None, "timeout")]
        program.go_on()  # the validator accepts
        client.ask("flags.set", set={"level": 5})
        assert client.text("mode") == "fast"
        assert client.text("rate") == "0.5"


def test_an_undo_that_is_given_up_names_the_change_that_it_waits_for(program):
    with Client(program.socket) as client:
        number = client.ask("flags.set", set={"mode": "best"})["change"]
        program.hang()
        error = client.fail("changes.undo", timeout=0.5)
        assert f"waiting for validators of change {number}," in error["message"]
        program.go_on()


def test_a_change_whose_client_has_gone_does_not_happen_later(program):
    (program.socket.parent / "blocked").touch()
    with Client(program.socket) as client:
        client.send(
            '{"jsonrpc":"2.0","id":1,"method":"flags.set","params":{"set":{"mode":"best"}}}\n'
        )
        client.text("level")
        count = "print(len(os.listdir('/proc/self/fd')))"
        connected = int(program.run(count))
    until(lambda: int(program.run(count)) < connected)
    (program.socket.parent / "blocked").unlink()
    with Client(program.socket) as client:
        client.ask("flags.set", set={"level": 5})
        assert client.text("mode") == "fast"


def test_reads_are_answered_while_a_validator_takes_long(program):
    (program.socket.parent / "blocked").touch()
    with Client(program.socket) as client:
        client.send(
            '{"jsonrpc":"2.0","id":7,"method":"flags.set","params":{"set":{"mode":"best"}}}\n'
            '{"jsonrpc":"2.0","id":8,"method":"flags.get","params":{"name":"mode"}}\n'
        )
        assert client.read()["id"] == 8
        (program.socket.parent / "blocked").unlink()
        answer = client.read()
        assert answer["id"] == 7
        assert answer["result"]["flags"][0]["new"] == "best"


def test_only_so_many_changes_wait(program):
    (program.socket.parent / "blocked").touch()
    with Client(program.socket) as client:
        for i in range(70):
            client.send(
                f'{{"jsonrpc":"2.0","id":{i},"method":"flags.set",'
                '"params":{"set":{"mode":"best"},"timeout":60}}\n'
            )
        refused = [client.read() for _ in range(5)]
        assert {each["error"]["code"] for each in refused} == {503}
        (program.socket.parent / "blocked").unlink()
        done = ["result" in client.read() for _ in range(65)]
        assert done.count(True) in (64, 65)  # one may run already when the last one comes


def test_a_stopped_process_answers_when_it_goes_on(program):
    import signal

    with Client(program.socket) as client:
        program.process.send_signal(signal.SIGSTOP)
        client.send('{"jsonrpc":"2.0","id":1,"method":"hello"}\n')
        program.process.send_signal(signal.SIGCONT)
        assert client.read()["id"] == 1
