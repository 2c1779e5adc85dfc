"""Operations at the command line: `paddle-flags impls`, explain, and completion."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support import build_plugin, run

import paddle_flags as pf
from paddle_flags._completion.flags import complete_flags

PLUGINS = Path(__file__).parents[1] / "c" / "plugins"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    place = tmp_path_factory.mktemp("impls")
    names = ("op_native", "op_fast", "op_unfit")
    return [str(build_plugin(place / f"lib{n}.so", PLUGINS / f"{n}.c")) for n in names]


def command(*words: str, libraries: list[str], check: bool = True):
    plugins = [word for each in libraries for word in ("-p", each)]
    return run(sys.executable, "-m", "paddle_flags", *words, *plugins, check=check)


def test_impls_lists_operations_and_what_runs(libraries):
    lines = command("impls", libraries=libraries).stdout.splitlines()
    assert lines[0].split() == ["operation", "signature", "runs", "implementations", "help"]
    assert lines[1].split("  ")[0] == "pow"
    assert "fit     native, fast, slow, unfit, fit" in lines[1]
    assert "double (double, int32_t)  native" in lines[2]


def test_impls_of_an_operation_says_of_each_implementation_why(libraries):
    text = command("impls", "pow", "--impl.pow=slow,*", libraries=libraries).stdout
    rows = {
        line.split()[0]: " ".join(line.split()[4:]) for line in text.splitlines() if "lib" in line
    }
    assert text.startswith("impl.pow = slow,*  (argv)\n\n*0: pow: double (double, double)\n")
    assert "x to the power of y, " in text
    assert rows["slow"] == "chosen"
    assert rows["fast"] == "after 'slow' in the order"
    assert rows["unfit"] == "the CPU lacks nothing but luck"


def test_impls_writes_json(libraries):
    [found] = json.loads(command("impls", "--json", libraries=libraries[:2]).stdout)
    assert found["name"] == "pow"
    assert found["value"] == "*"
    chosen = [each["name"] for each in found["signatures"][0]["impls"] if each["chosen"]]
    assert chosen == ["fast"]


def test_impls_without_operations_says_so():
    assert command("impls", libraries=[]).stdout == "no operations are defined\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["pwo"], "operation 'pwo' is not defined; did you mean 'pow'?"),
        (["pow", "sum"], "expected the name of one operation, not 2 arguments"),
        (["--impl.pow=fsat"], "'fsat' is no implementation of pow; did you mean 'fast'?"),
        (["--impl.pow=fast,,slow"], "expected"),
    ],
)
def test_mistakes_are_named(libraries, words, why):
    done = command("impls", *words, libraries=libraries, check=False)
    assert done.returncode == 2
    assert why in done.stderr


def test_explain_says_what_runs(libraries):
    text = command("explain", "impl.pow", "--impl.pow=slow,*", libraries=libraries).stdout
    assert (
        "runs:       slow for double (double, double); native for double (double, int32_t)" in text
    )


def test_names_of_implementations_are_completed(libraries):
    plugins = [pf.load_plugin(each) for each in libraries[:2]]
    answer = complete_flags([], "--impl.pow=f")
    assert [each.text for each in answer.candidates] == ["fast"]
    answer = complete_flags([], "--impl.pow=fast,")
    assert {each.text for each in answer.candidates} == {"native", "slow", "*"}
    for each in reversed(plugins):
        each.unload()
