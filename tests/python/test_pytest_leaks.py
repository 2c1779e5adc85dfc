"""The plugin for pytest: what tests and shared fixtures leave, and the command line of a test."""

from __future__ import annotations

import re

import pytest
from test_pytest_plugin import count, suite

__all__ = ["suite"]

pytestmark = pytest.mark.release  # each test runs pytest

FIXTURES = """
@pytest.fixture(scope="module")
def wide():
    level.value = 5
    yield
    port.value = 81

@pytest.fixture(scope="class")
def narrow():
    yield pf.override(level=7).__enter__()

@pytest.fixture(scope="module")
def tidy():
    with pf.override(level=6):
        mine = pf.define("mine", 1)
        yield
    pf.undefine(mine)

@pytest.fixture(scope="session")
def whole():
    token.value = "a"

class TestIt:
    def test_class(self, whole, wide, narrow):
        assert (level.value, token.value) == (7, "a")

    def test_again(self):
        assert level.value == 7

def test_function(tidy):
    assert level.value == 6

def test_last(wide):
    assert level.value == 6
"""


def test_what_shared_fixtures_leave_is_an_error(suite):
    ended = suite(FIXTURES, "--pf-strict")
    assert count(ended) == "4 passed, 2 errors"
    assert re.search(
        r"\nthe fixture 'narrow' of this class left a flag changed: level: 5 \[run time, .*\] -> 7"
        r" \[override, .*\] \(it was put back; undo it in the teardown of the fixture\)\n",
        ended.stdout,
    )
    assert "\nthe fixture 'wide' of this module left flags changed (it was put" in ended.stdout
    assert re.search(r"\n  level: 3 \[default\] -> 5 \[run time, ", ended.stdout)
    assert re.search(r"\n  server.port: 80 \[default\] -> 81 \[run time, ", ended.stdout)
    assert "left flags changed" not in suite(FIXTURES).stdout


def test_what_setup_of_a_module_or_class_leaves_is_an_error(suite):
    ended = suite(
        """
import unittest

def setup_module():
    level.value = 4

class TestUnit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        port.value = 81

    def test_unit(self):
        assert (level.value, port.value) == (4, 81)

class TestClass:
    def setup_class(self):
        pf.define("left", 1)

    def test_class(self):
        assert (level.value, port.value, pf.FLAGS["left"].value) == (4, 80, 1)

def test_after():
    assert (level.value, "left" in pf.FLAGS) == (4, False)
""",
        "--pf-strict",
    )
    assert count(ended) == "3 passed, 3 errors"
    assert "left a flag changed: server.port: 80 [default] -> 81" in ended.stdout
    assert re.search(r"left a flag changed: left: was defined at \S+test_it.py:\d+ ", ended.stdout)
    assert "left a flag changed: level: 3 [default] -> 4" in ended.stdout


def test_a_fixture_that_ends_before_a_later_one_leaves_its_flags(suite):
    ended = suite(
        """
@pytest.fixture(scope="module")
def first():
    level.value = 5

@pytest.fixture(scope="session")
def whole():
    port.value = 81

def test_first(first): ...

def test_whole(whole):
    assert (level.value, port.value) == (5, 81)
""",
        "--pf-strict",
    )
    assert count(ended) == "2 passed, 1 error"
    expected = "'first' of this module left a flag changed: level (it stays: another fixture has"
    assert expected in ended.stdout


SCOPES = """
scope = pf.define("depth", 3, scoped=True)

def test_override():
    pf.override(level=3).__enter__()

def test_scope():
    pf.scoped(depth=4).__enter__()

def test_scope_of_the_same_value():
    pf.scoped(depth=3).__enter__()

def test_with_the_fixture(pf_flags):
    pf.scoped(depth=5).__enter__()

def test_nothing_is_open():
    assert len(level.history) == len(scope.history) == 1
    with pf.scoped(depth=7):
        assert scope.value == 7
"""


@pytest.mark.parametrize("option", ["--pf-strict", "-Wignore::Warning"])
def test_overrides_and_scopes_that_are_left_open_are_reported_and_end(suite, option):
    ended = suite(SCOPES, option)
    if option == "--pf-strict":
        assert count(ended) == "5 passed, 3 errors"
        assert re.search(r"_override left .*: level: 3 \[default\] -> 3 \[override", ended.stdout)
        assert re.search(r"_scope left .*: depth: 3 \[default\] -> 4 \[scope", ended.stdout)
        assert re.search(r"_value left .*: depth: 3 \[default\] -> 3 \[scope", ended.stdout)
    else:
        assert count(ended) == "5 passed"


DEFINITIONS = """
def test_leaves():
    pf.define("mine", 1)

def test_again():
    assert ("mine" in pf.FLAGS) is NOT_STRICT

def test_imports(tmp_path, monkeypatch):
    (tmp_path / "defines_a_flag.py").write_text("import paddle_flags as pf; pf.define('its', 1)")
    monkeypatch.syspath_prepend(str(tmp_path))
    import defines_a_flag

def test_with_the_fixture(pf_flags):
    pf.define("other", 1)

def test_undefines():
    pf.undefine(pf.define("third", 1))

def test_last():
    assert "its" in pf.FLAGS and "other" not in pf.FLAGS
"""


@pytest.mark.parametrize("strict", [False, True])
def test_a_test_that_leaves_a_flag_defined_is_an_error_where_that_is_strict(suite, strict):
    options = ["--pf-strict"] if strict else []
    ended = suite(DEFINITIONS.replace("NOT_STRICT", str(not strict)), *options)
    assert count(ended) == ("6 passed, 1 error" if strict else "6 passed")
    assert not strict or "::test_leaves left a flag changed: mine: was defined at" in ended.stdout


PARSES = """
import sys

rest = pf.parse()

def test_parse(pf_flags):
    assert pf.parse(exit=False) == rest == []
    assert pf.parse(arguments=False) == []

def test_of_its_own(pf_flags, monkeypatch):
    monkeypatch.setattr(sys, "argv", [sys.argv[0], "--level=4", "rest"])
    assert pf.parse() == ["rest"]
    assert level.value == 4
"""


@pytest.mark.parametrize("options", [["-v", "-k", "parse or own"], ["-n1"], ["--pf-flag=level=5"]])
def test_parse_does_not_see_the_arguments_of_pytest(suite, options):
    assert count(suite(PARSES, *options)) == "2 passed"


def test_parse_sees_the_arguments_of_a_program_that_runs_pytest(suite):
    ended = suite("""
import subprocess, sys

def test_outer(tmp_path):
    inner = tmp_path / "test_inner.py"
    inner.write_text(
        "import paddle_flags as pf, sys\\n"
        "def test_it(): assert pf.parse(known_only=True) == sys.argv[1:] == ['--mine', 'a']"
    )
    code = f"import pytest, sys; sys.exit(pytest.main(['-q', {str(inner)!r}]))"
    assert subprocess.run([sys.executable, "-c", code, "--mine", "a"]).returncode == 0
""")
    assert count(ended) == "1 passed"
