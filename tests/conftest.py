"""The directory of this file is where `support` is imported from."""

import faulthandler
import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

LIMIT = 900  # seconds for one test, on a slow and busy machine

# A shell ignores Ctrl-C in what it runs in the background, and so would all programs of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# nohup does the same with the end of a terminal.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

sys.path.insert(0, str(Path(__file__).parent))

if os.name == "nt":  # the run path of programs there
    from paddle_flags._core.paths import get_library_dir

    os.environ["PATH"] = os.pathsep.join([str(Path(get_library_dir()).parent), os.environ["PATH"]])

with suppress(ImportError):  # some environments have only what the basic tests need
    from hypothesis import HealthCheck, settings

    # A slow machine must not fail tests, nor must the luck of a draw fail somebody's change: new
    # examples are drawn with PD_RANDOM=1.
    settings.register_profile(
        "steady",
        deadline=None,
        derandomize=not os.environ.get("PD_RANDOM"),
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("steady")

_stderr = pytest.StashKey[int]()


# A file of tests, one a line: those that pass are added to PD_PASSED_TO. Those of PD_PASSED have
# passed on another system of the same kind, and are left out.
PASSED_TO = os.environ.get("PD_PASSED_TO")
PASSED = frozenset(
    Path(os.environ["PD_PASSED"]).read_text("utf-8").splitlines()
    if os.environ.get("PD_PASSED")
    else ()
)


def pytest_configure(config):
    config.stash[_stderr] = os.dup(2)  # before tests begin, whose output pytest captures


def pytest_report_header():
    return [f"PD_PASSED: {len(PASSED)} tests have passed, and are left out"] if PASSED else []


# Files all of whose tests are extended, or for a release: `-m` would leave out each test, after
# pytest had taken seconds to rewrite the file's assertions, in each worker.
LEFT_OUT = {"not extended": "extended|release", "not release": "release"}


def pytest_ignore_collect(collection_path, config):
    marks = LEFT_OUT.get(config.option.markexpr)
    if marks is None or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text("utf-8")
    whole = re.search(rf"^pytestmark = \[?\s*pytest\.mark\.({marks})\b", text, re.MULTILINE)
    return True if whole else None


def pytest_itemcollected(item):
    if re.search(r"[\[-](clang|aarch64)", item.name):  # a change is checked with one compiler
        item.add_marker("release")
    if item.get_closest_marker("release"):
        item.add_marker("extended")


def pytest_collection_modifyitems(config, items):
    passed = [item for item in items if item.nodeid in PASSED]
    if passed:
        config.hook.pytest_deselected(items=passed)
        items[:] = [item for item in items if item.nodeid not in PASSED]


def pytest_runtest_logreport(report):
    in_worker = "PYTEST_XDIST_WORKER" in os.environ  # whose reports come to the first process too
    if PASSED_TO and not in_worker and report.when == "call" and report.passed:
        with open(PASSED_TO, "a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """End the process of a test that hangs, with a traceback: pytest-xdist names the test."""
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=item.config.stash[_stderr])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
