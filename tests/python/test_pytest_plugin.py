"""The plugin for pytest: projects whose suites run in a process of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import ROOT, package, write

pytestmark = pytest.mark.extended  # each test runs pytest

HEAD = """
import paddle_flags as pf
import pytest

level = pf.define("level", 3, "Level", min=1, max=9)
port = pf.define("server.port", 80)
token = pf.define("token", "", sensitive=True)
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def suite(tmp_path: Path) -> Run:
    """Run pytest over a file of tests that follow HEAD."""

    def run(tests: str, *options: str, head: str = HEAD) -> subprocess.CompletedProcess[str]:
        write(tmp_path / "test_it.py", head + tests)
        return pytest_in(tmp_path, *options)

    return run


def pytest_in(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder with our plugin and xdist: all the installed ones take seconds."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "paddle_flags", "-p", "xdist", *options]
    environment = {**os.environ, "COLUMNS": "120", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def count(ended: subprocess.CompletedProcess[str]) -> str:
    """ "2 passed, 1 error": the last line without the time."""
    found = re.findall(r"^(?:=+ )?(\d+ .*?) in \d", ended.stdout, re.MULTILINE)
    return found[-1] if found else ended.stdout


def test_each_test_with_the_fixture_begins_with_the_values_of_the_session(suite):
    ended = suite("""
@pytest.fixture
def other():
    level.value = 5

@pytest.mark.parametrize("n", range(2))
def test_it(n, other, pf_flags):
    assert pf_flags is pf.FLAGS
    assert level.value == 5
    pf_flags["server.port"].value = 81
    pf.override(level=8).__enter__()
    pf.define("mine", "one" if n else 1)
    pf.parse(["program", "--token=a"])
    level.validate(lambda _: False)

def test_after():
    assert [flag.value for flag in (level, port, token)] == [3, 80, ""]
    assert "mine" not in pf.FLAGS
    with pf.override(level=4):
        pass
""")
    assert count(ended) == "3 passed"


def test_markers_nest_and_the_innermost_wins(suite):
    ended = suite(
        """
pytestmark = pytest.mark.pf_flags({"server.port": 1}, level=4, token="m")

@pytest.mark.pf_flags(level=5)
class TestIt:
    def test_class(self):
        assert (level.value, port.value, token.value) == (5, 1, "m")

    @pytest.mark.pf_flags({"server.port": 3})
    @pytest.mark.pf_flags({"server.port": 2}, level=6)
    def test_function(self, seen):
        assert (level.value, port.value) == (6, 2) == seen

@pytest.fixture
def seen():
    return level.value, port.value

@pytest.mark.parametrize("n", [pytest.param(7, marks=pytest.mark.pf_flags(level=7)), 4])
def test_parameter(n):
    assert level.value == n
""",
        "--strict-markers",
    )
    assert count(ended) == "4 passed"


def test_a_wrong_marker_is_an_error_of_its_test_alone(suite):
    ended = suite("""
@pytest.mark.pf_flags(levle=4)
def test_name(): ...

@pytest.mark.pf_flags(level=44, token=3)
def test_value(): ...

@pytest.mark.pf_flags(4)
def test_form(): ...

@pytest.mark.pf_flags
def test_fine(): ...
""")
    assert count(ended) == "1 passed, 3 errors"
    assert "\nmarker pf_flags: no flag is named 'levle'; did you mean 'level'?\n" in ended.stdout
    assert "\nmarker pf_flags: level=44: expected an integer in [1, 9]\n" in ended.stdout
    assert "\nmarker pf_flags: token=<redacted>: expected str" in ended.stdout
    assert '4: expected a dict of names to values, as in pf_flags({"beta' in ended.stdout
    assert "handling of the above" not in ended.stdout


def test_values_of_the_command_line_and_the_configuration_hold_for_all_tests(suite, tmp_path):
    write(tmp_path / "pytest.ini", "[pytest]\npf_flags =\n  level=4\n  server.port=5\n  later=6\n")
    ended = suite(
        """
def test_values(pf_flags):
    assert (level.value, level.place) == (7, "--pf-flag:1")
    assert (port.value, port.place) == (5, "pytest.ini (pf_flags):2")
    pf.parse(["program", "--level=8"])
    assert level.value == 8
    assert pf.define("later", 1).value == 6
    assert pf.define("last", 1).value == 9

def test_again(pf_flags):
    assert (level.value, pf.define("later", 1).value, pf.define("last", 1).value) == (7, 6, 9)
""",
        "--pf-flag=level=7",
        "--pf-flag",
        "last=9",
    )
    assert count(ended) == "2 passed"
    assert ended.returncode == 0
    assert "never defined" not in ended.stdout


@pytest.mark.parametrize("parallel", [[], ["-n1"]], ids=["", "xdist"])
def test_a_name_that_no_flag_ever_had_is_reported_at_the_end(suite, tmp_path, parallel):
    write(tmp_path / "pytest.ini", "[pytest]\npf_flags =\n  tokne=4\n")
    ended = suite("def test_it(): ...", "--pf-flag=levle=7", *parallel)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    wrong = "--levle: the flag is not defined; did you mean 'level'?"
    assert f"error: --pf-flag:1: {wrong}" in ended.stdout
    wrong = "--tokne: the flag is not defined; did you mean 'token'?"
    assert f"warning: pytest.ini (pf_flags):1: {wrong}" in ended.stdout
    alone = suite("def test_it(): ...", *parallel)
    assert alone.returncode == 0
    assert wrong in alone.stdout


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("level", "--pf-flag:1: 'level': expected NAME=VALUE"),
        ("=7", "--pf-flag:1: '=7': expected NAME=VALUE"),
        ("a b=7", "'a b' can't be the name of a flag"),
        ("early=x", "--pf-flag:1: --early=x: expected a 64-bit integer"),
        ("level=\udcff=", "--pf-flag:1: --level="),
        ("level=x", "--pf-flag:1: --level=x: expected an integer in [1, 9]"),
    ],
)
def test_a_wrong_option_is_an_error(suite, tmp_path, option, why):
    write(tmp_path / "conftest.py", "import paddle_flags as pf\npf.define('early', 1)\n")
    ended = suite("def test_it(): ...", "--pf-flag", option)
    assert ended.returncode in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    assert why in ended.stdout
    assert "INTERNALERROR" not in ended.stdout


@pytest.mark.parametrize("parallel", [[], ["-n1"]], ids=["", "xdist"])
def test_a_failure_shows_the_flags_that_are_not_at_their_default(suite, parallel):
    ended = suite(
        """
@pytest.fixture
def broken(pf_flags):
    pf_flags.level = 4
    raise RuntimeError

def test_setup(broken): ...

@pytest.mark.pf_flags(token="geheim")
def test_call():
    level.value = 5
    assert not level.value

@pytest.mark.pf_flags(token="geheim")
@pytest.mark.xfail
def test_expected():
    assert False

def test_fine(): assert True
""",
        "--pf-flag=server.port=8",
        "--tb=short",
        *parallel,
    )
    assert count(ended) == "1 failed, 1 passed, 1 xfailed, 1 error"
    shown = ended.stdout.split("flags not at their default")
    assert len(shown) == 3
    assert re.search(
        r"\nlevel +4 +run time +\S*test_it.py:\d+\nserver.port +8 +argv +--pf", shown[1]
    )
    assert re.search(r"\nlevel +5 +run time +\S*test_it.py:\d+\n", shown[2])
    assert re.search(r"\ntoken +<redacted> +run time +test_it.py:\d+\n", shown[2])
    assert "geheim'" not in ended.stdout.replace('token="geheim"', "")


LEAKS = """
def test_one():
    level.value = 4

def test_two():
    assert level.value == 3
    token.value = "geheim"
    pf.override(level=5).__enter__()

@pytest.fixture(scope="module")
def wide():
    with pf.override({"server.port": 1}):
        yield

def test_wide(wide, monkeypatch):
    assert port.value == 1
    monkeypatch.setattr(level, "value", 6)

def test_passing():
    with pf.override(level=7):
        pass

def test_last():
    assert port.value == 1
"""


def test_a_test_that_leaves_a_flag_changed_is_warned(suite):
    ended = suite(LEAKS)
    assert count(ended) == "5 passed, 2 warnings"
    one = r"test_it.py:\d+: FlagChangedWarning: test_it.py::test_one left a flag changed:"
    assert re.search(
        one + r" level: 3 \[default\] -> 4 \[run time, \S*test_it.py:\d+\]", ended.stdout
    )
    assert "test_it.py::test_two left flags changed" in ended.stdout
    assert "token: <redacted> [default] -> <redacted> [run time," in ended.stdout
    assert "geheim" not in ended.stdout


def test_a_test_that_leaves_another_definition_is_warned(suite):
    ended = suite("""
level.validate(lambda value: value != 8, "no eight")
port.value = 81

def test_gone():
    pf.undefine(level)

def test_other():
    assert level.value == 3
    pf.define("server.port", "any", replace=True).validate(lambda text: text != "x")
    port.value = "all"

def test_is_back():
    assert (port.value, port.source) == (81, "run time")
    with pytest.raises(pf.FlagValueError, match="no eight"):
        level.value = 8

def define(help):
    return pf.define("again", 1, help, replace=True)

again = define("")

def test_it_runs_again():
    again.watch(print)
    define("")

def test_with_other_arguments():
    define("other")

def test_itself():
    assert again.help == ""
    with pf.testing.isolated():
        pf.undefine(again)
""")
    assert count(ended) == "6 passed, 3 warnings"
    assert "::test_gone left a flag changed: level: was undefined (it was" in ended.stdout
    assert re.search(
        r"::test_other left a flag changed: server.port: was defined at \S*test_it.py:\d+ \(",
        ended.stdout,
    )
    assert "::test_with_other_arguments left a flag changed: again: was defi" in ended.stdout


@pytest.mark.parametrize("option", ["--pf-strict", "-Werror"])
def test_with_an_option_that_is_an_error(suite, option):
    ended = suite(LEAKS, option)
    assert count(ended) == "5 passed, 2 errors"
    assert "\ntest_it.py::test_one left a flag changed: level: 3 [default] -> 4" in ended.stdout
    assert "pytest_support.py" not in ended.stdout


def test_unittest_and_asynchronous_tests_are_guarded(suite):
    ended = suite("""
import unittest

class TestIt(unittest.IsolatedAsyncioTestCase):
    @pytest.mark.pf_flags(level=5)
    async def test_async(self):
        assert level.value == 5

    def test_leak(self):
        level.value = 6

@pf.testing.isolated(level=7)
class TestClass(unittest.TestCase):
    def test_class(self):
        assert level.value == 7
        level.value = 8
""")
    assert count(ended) == "3 passed, 1 warning"
    assert "::TestIt::test_leak left a flag changed" in ended.stdout


def test_tests_of_pytest_asyncio_are_guarded(suite):
    package("pytest_asyncio", "pytest-asyncio")
    ended = suite(
        """
import asyncio
import pytest_asyncio

@pytest_asyncio.fixture
async def seen(pf_flags):
    await asyncio.sleep(0)
    pf_flags.level += 1
    yield level.value
    assert level.value == 7

@pytest.mark.asyncio
@pytest.mark.pf_flags(level=5)
async def test_it(seen):
    await asyncio.sleep(0)
    assert seen == 6
    level.value = 7

def test_after():
    assert level.value == 3
""",
        "-p",
        "asyncio",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
    )
    assert count(ended) == "2 passed"


def test_a_fixture_of_that_name_in_a_project_is_the_projects(suite):
    ended = suite("""
@pytest.fixture
def pf_flags():
    return "mine"

def test_it(pf_flags):
    assert pf_flags == "mine"
    level.value = 4
""")
    assert count(ended) == "1 passed, 1 warning"


def test_failing_fixtures_threads_forks_and_open_overrides_leave_nothing(suite):
    ended = suite("""
import os, threading

@pytest.fixture
def late(pf_flags):
    yield
    pf_flags.level = 9
    raise RuntimeError

def test_teardown(late): ...

def test_thread(pf_flags):
    def work():
        level.value = 4
        pf.override(level=5).__enter__()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert level.value == 5

def test_fork(pf_flags):
    if not (child := os.fork() if hasattr(os, "fork") else 1):
        level.value = 8
        os._exit(level.value)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 8
    level.value = 7

def test_raises(pf_flags):
    with pf.override(level=6):
        generator = (pf.override(level=7).__enter__() for _ in range(1))
        next(generator)
        raise RuntimeError

def test_after():
    assert level.history[0].source == "default"
    assert len(level.history) == 1
""")
    assert count(ended) == "1 failed, 4 passed, 1 error"


def test_a_project_that_uses_no_flags_does_not_import_them(suite):
    ended = suite(
        """
import sys

def test_it():
    names = {name.partition(".")[0] for name in sys.modules}
    assert not names & {"paddle_flags", "cffi", "_cffi_backend"}
""",
        head="",
    )
    assert count(ended) == "1 passed"


def test_a_project_that_imports_them_late_can_use_fixture_and_marker(suite):
    ended = suite(
        """
import pytest

def test_fixture(pf_flags):
    import paddle_flags as pf
    pf.define("level", 3)

@pytest.mark.pf_flags
def test_marker():
    import paddle_flags as pf
    assert "level" not in pf.FLAGS
""",
        head="",
    )
    assert count(ended) == "2 passed"


@pytest.mark.release
@pytest.mark.parametrize("options", [["-n2", "--dist=loadscope", "--pf-strict"], []])
def test_the_example_passes(tmp_path, options):
    folder = shutil.copytree(ROOT / "examples" / "pytest", tmp_path / "project")
    ended = pytest_in(folder, *options)
    assert count(ended) == "12 passed"
    ended = pytest_in(folder, *options, "--pf-flag=pool.timeout=2m")
    assert "AssertionError" in ended.stdout
    assert re.search(r"\npool.timeout +2m +argv +--pf-flag:1\n", ended.stdout)
