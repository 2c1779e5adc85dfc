"""The directory of this file is where `support` is imported from."""

import faulthandler
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

LIMIT = 900  # seconds for one test, on a slow and busy machine

# A shell ignores Ctrl-C in what it runs in the background, and so would all programs of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path.insert(0, str(Path(__file__).parent))

with suppress(ImportError):  # some environments have only what the basic tests need
    from hypothesis import HealthCheck, settings

    # A slow machine must not fail tests.
    settings.register_profile(
        "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("untimed")

_stderr = pytest.StashKey[int]()


def pytest_configure(config):
    config.stash[_stderr] = os.dup(2)  # before tests begin, whose output pytest captures


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """End the process of a test that hangs, with a traceback: pytest-xdist names the test."""
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=item.config.stash[_stderr])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
