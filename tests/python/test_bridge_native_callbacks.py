"""Callbacks of gflags and of Abseil, and of this library, for flags that are bridged."""

from __future__ import annotations

import pytest
from bridged import program

pytestmark = pytest.mark.extended


def test_validators_and_watchers_here_serve_flags_of_the_library(gflags):
    told = program(
        """
own = ctypes.CDLL(sys.argv[1])
pf.bridge("gflags")
seen = []
@pf.validator("g_level")
def small(value):
    return value < 100
pf.FLAGS["g_level"].watch(lambda flag: seen.append(flag.value))
try:
    pf.FLAGS.g_level = 200
except pf.FlagError as error:
    print(error)
own.assign(8)
print(seen)
pf.sync()
print(seen)
own.assign(200)  # what a program has done can't be refused
print(pf.FLAGS.g_level, seen)
""",
        gflags,
    )
    assert "g_level=200" in told[0]
    assert told[1:] == ["[]", "[8]", "200 [8, 200]"]


def test_callbacks_of_abseil_may_set_flags_here_and_may_throw(abseil):
    told = program(
        """
import os, warnings
from paddle_flags._core.paths import get_library_dir
own = ctypes.CDLL(sys.argv[1])
c = ctypes.CDLL(os.path.join(get_library_dir(), "libpd_flags.so"))
pf.bridge("abseil")
own.call(c.pd_flag_set_by_name)
pf.FLAGS.a_again = 5
print(pf.FLAGS.a_again, own.again_level(), pf.FLAGS.a_big)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    pf.FLAGS.a_throwing = 7
    print(pf.FLAGS.a_throwing, *[str(each.message) for each in caught])
""",
        abseil,
    )
    assert told == ["99 99 77", "7 a_throwing: its callback in Abseil threw: no"]


def test_a_callback_may_bridge_while_a_pending_value_is_applied(abseil):
    told = program(
        """
import threading
own = ctypes.CDLL(sys.argv[1])
def bridge_elsewhere():
    other = threading.Thread(target=pf.bridge)
    other.start()
    pf.bridge("abseil")
    other.join()
function = ctypes.CFUNCTYPE(None)(bridge_elsewhere)
own.run_in_callback(function)
pf.parse(["program", "--a_slow=9"], allow_pending=True)
pf.bridge("abseil")
print(pf.FLAGS.a_slow, own.slow_level())
""",
        abseil,
    )
    assert told == ["9 9"]


def test_what_another_thread_sets_in_abseil_during_a_change_here_is_seen(abseil):
    told = program(
        """
import threading
own = ctypes.CDLL(sys.argv[1])
pf.bridge("abseil")
others = []
def set_elsewhere():
    if not others:
        others.append(threading.Thread(target=own.assign_slow, args=(77,)))
        others[0].start()
        while own.slow_level() != 77:
            pass
function = ctypes.CFUNCTYPE(None)(set_elsewhere)
own.run_in_callback(function)
pf.FLAGS.a_slow = 5
others[0].join()
pf.sync()
print(pf.FLAGS.a_slow, own.slow_level())
pf.FLAGS.a_slow = 5
print(pf.FLAGS.a_slow, own.slow_level())
""",
        abseil,
    )
    assert told == ["77 77", "5 5"]


def test_a_value_that_its_own_validator_rejects_stays_in_the_library(gflags):
    told = program(
        """
own = ctypes.CDLL(sys.argv[1])
own.assign(7)
print(pf.bridge("gflags"), pf.FLAGS.g_level, own.level())
""",
        gflags,
    )
    assert told == ["{} 7 7"]


def test_values_on_trial_in_gflags_are_not_taken_for_the_flags_value(gflags):
    told = program(
        """
import threading, time
own = ctypes.CDLL(sys.argv[1])
pf.bridge("gflags")
pf.validator("g_level")(lambda value: value < 100)
pf.parse(["program", "--g_level=8"])
seen, ends = set(), time.monotonic() + 1.5
pf.FLAGS["g_level"].watch(lambda flag: seen.add(flag.value))
def refuse():
    while time.monotonic() < ends:
        try: pf.FLAGS.g_level = 200
        except pf.FlagError: pass
def read():
    while time.monotonic() < ends: seen.add(pf.FLAGS.g_level)
threads = [threading.Thread(target=each) for each in (refuse, refuse, read, read)]
for each in threads: each.start()
for each in threads: each.join()
print(pf.FLAGS.g_level, pf.FLAGS["g_level"].source, seen, own.level())
""",
        gflags,
    )
    assert told == ["8 argv {8} 8"]


def test_a_validator_of_gflags_that_throws_rejects_and_later_values_are_seen(gflags):
    told = program(
        """
own = ctypes.CDLL(sys.argv[1])
pf.bridge("gflags")
try: pf.FLAGS.g_level = 13
except pf.FlagError as error: print(error)
own.assign(8)
print(pf.FLAGS.g_level, own.level())
""",
        gflags,
    )
    assert told[0].endswith("g_level=13: unlucky")
    assert told[1] == "8 8"
