"""Programs of typer, whose newer versions have a copy of click."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from support import package, run, write

import paddle_flags as pf

PROGRAM = """
import typer
import paddle_flags as pf

pf.define("threads", 4, "Threads", min=1)
app = typer.Typer()

@app.command()
def greet(name: str, greeting: str = "Hello"):
    print(greeting, name, pf.FLAGS.threads, pf.FLAGS["threads"].source)

@app.command()
def leave():
    print("Bye", pf.FLAGS.threads)

"""

PARSE_FIRST = "app(pf.parse(known_only=True))\n"
ADD = "command = typer.main.get_command(app)\npf.add_options(command)\ncommand()\n"


@pytest.fixture
def uses_click() -> bool:
    package("typer")
    bases = package("typer.core").TyperCommand.__mro__
    return any(base.__module__.startswith("click.") for base in bases)


@pytest.fixture
def start(tmp_path: Any) -> Any:
    package("typer")

    def start(ending: str, *args: str) -> Any:
        script = write(tmp_path / "prog.py", PROGRAM + ending)
        return run(sys.executable, script, *args, check=False)

    return start


@pytest.mark.extended  # takes a second or more
def test_parse_reads_its_flags_before_typer(start: Any) -> None:
    ended = start(PARSE_FIRST, "greet", "Ann", "--threads=8", "--greeting", "Hi")
    assert ended.stdout == "Hi Ann 8 argv\n"
    assert start(PARSE_FIRST, "--threads", "8", "leave").stdout == "Bye 8\n"
    failed = start(PARSE_FIRST, "leave", "--threads=0")
    assert failed.returncode == 2
    assert "--threads=0: expected an integer >= 1" in failed.stderr
    unknown = start(PARSE_FIRST, "leave", "--thread=1")
    assert unknown.returncode == 2
    assert "--thread" in unknown.stderr


def test_a_command_gets_the_flags_if_it_is_one_of_click(start: Any, uses_click: bool) -> None:
    if uses_click:
        assert start(ADD, "--threads=8", "leave").stdout == "Bye 8\n"
        assert "--threads" in start(ADD, "--help").stdout
        return
    failed = start(ADD, "leave")
    assert "FlagUnsupportedError: add_options: <" in failed.stderr
    assert "read the flags first: app(paddle_flags.parse(known_only=True))" in failed.stderr


def test_an_app_itself_is_refused_with_advice(uses_click: bool) -> None:
    advice = "expected typer.main.get_command" if uses_click else "parse\\(known_only=True\\)"
    with pytest.raises((pf.FlagTypeError, pf.FlagUnsupportedError), match=advice):
        pf.add_options(package("typer").Typer())
