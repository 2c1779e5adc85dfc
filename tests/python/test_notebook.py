"""Flags in notebooks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import package

import paddle_flags as pf

CELLS = [
    "import paddle_flags as pf\nlevel = pf.define('level', 3, 'How <hard> to try')",
    (
        "pf.define('token', 'hunter2', sensitive=True)\npf.define('inner', 1, hidden=True)\n"
        "pf.parse()\nlevel.value"
    ),
    "pf.parse(['notebook', '--level=5'])\nlevel.value",
    "pf.FLAGS",
    (
        "from IPython import get_ipython\n"
        "get_ipython().Completer.use_jedi = False\n"
        "sorted(get_ipython().complete('pf.FLAGS[\"le', 'pf.FLAGS[\"le')[1])"
    ),
    "level = pf.define('level', 8, 'Anew', max=9)\n(level.value, level.default, pf.FLAGS.level)",
    (
        "calls = []\n"
        "depth = pf.define('depth', 3)\n"
        "depth.watch(lambda flag: calls.append(flag.value))\n"
        "pf.FLAGS.depth += 1\n"
        "calls"
    ),
]
AGAIN = CELLS[-1]


@pytest.fixture(scope="module")
def outputs() -> list[list[Any]]:
    package("ipykernel")
    client = package("nbclient")
    nbformat = package("nbformat")
    cells = [nbformat.v4.new_code_cell(code) for code in [*CELLS, AGAIN]]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return [cell.outputs for cell in notebook.cells]


def shown(cell: list[Any], kind: str = "text/plain") -> str:
    results = [output for output in cell if output.output_type == "execute_result"]
    return str(results[0].data[kind])


@pytest.mark.extended
def test_parse_ignores_the_arguments_of_the_kernel_and_says_so(outputs):
    assert shown(outputs[1]) == "3"
    told = "".join(output.text for output in outputs[1] if output.output_type == "stream")
    assert "the arguments of its kernel are ignored; pass your own" in told


@pytest.mark.extended
def test_parse_reads_a_list_of_ones_own(outputs):
    assert shown(outputs[2]) == "5"


@pytest.mark.extended
def test_flags_are_shown_as_a_table(outputs):
    html = shown(outputs[3], "text/html")
    assert html.startswith("<table>")
    assert "level" in html
    assert "How &lt;hard&gt; to try" in html
    assert "argv" in html
    assert "inner" not in html
    assert "hunter2" not in json.dumps(outputs)


@pytest.mark.extended
def test_names_are_completed(outputs):
    assert "level" in shown(outputs[4])


@pytest.mark.extended
def test_a_cell_defines_a_flag_again_and_the_value_that_was_given_is_kept(outputs):
    assert shown(outputs[5]) == "(5, 8, 5)"


@pytest.mark.extended
def test_a_cell_that_runs_again_has_its_watcher_once(outputs):
    assert shown(outputs[6]) == "[4]"
    assert shown(outputs[7]) == "[5]"


def test_a_kernel_is_known_by_its_launcher(name, monkeypatch):
    flag = pf.define(name, 1)
    monkeypatch.setattr("sys.argv", ["/x/ipykernel_launcher.py", "-f", "kernel.json"])
    with pytest.warns(pf.FlagWarning, match="arguments of its kernel are ignored"):
        assert pf.parse(exit=False) == []
    assert flag.value == 1
