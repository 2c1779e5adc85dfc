"""Python callbacks that a plugin's arrival calls, within the loader's lock, while another thread
that has the GIL waits for that lock: neither may wait for the other.

The order of locks is the GIL, the loader, the registry. A plugin here takes its time inside
dlopen before it joins, so that the other thread is surely in between.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from joining import LEVEL, Maker, environment

SLOW = """
#include <unistd.h>
void linger(void);
void linger(void) { usleep(400 * 1000); } /* the loader calls it first of all */
"""

# Two threads: one loads a plugin, the other, 0.2 s later, imports an extension module.
RACE = """
import importlib, sys, threading, time
import paddle_flags as pf

def load():
    try:
        loaded.append(pf.load_plugin(sys.argv[1]))
    except pf.FlagError as error:
        failed.append(error)

def import_extension():
    time.sleep(0.2)
    importlib.import_module("_decimal")

def race():
    assert "_decimal" not in sys.modules
    threads = [threading.Thread(target=load), threading.Thread(target=import_extension)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "_decimal" in sys.modules

loaded, failed, told = [], [], []
"""

TRIES = 3


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    maker = Maker(tmp_path_factory.mktemp("plugins"))
    return maker.plugin("slow", LEVEL, SLOW, flags=["-Wl,-init,linger"])


def run_race(before: str, after: str, plugin) -> None:
    script = textwrap.dedent(RACE) + textwrap.dedent(before) + "race()\n" + textwrap.dedent(after)
    for _ in range(TRIES):
        try:
            ended = subprocess.run(
                [sys.executable, "-c", script, str(plugin)],
                capture_output=True,
                text=True,
                timeout=20,
                env=environment(),
            )
        except subprocess.TimeoutExpired:
            pytest.fail("the threads wait for each other")
        assert ended.returncode == 0, ended.stdout + ended.stderr


SEVEN = "assert not failed, failed\nassert pf.FLAGS.join_level == 7\n"
TOLD = 'assert told == [("join_level", 7)], told\n'
AGAIN = """
plugin = pf.load_plugin(sys.argv[1])
pf.FLAGS["join_level"].{hook}
plugin.unload()
pf.parse(["prog", "--join_level={value}"], allow_pending=True, exit=False)
"""
WATCH = "watch(lambda flag: told.append((flag.name, flag.value)))"
HOOKS = {
    "a watcher of all flags": (
        f"pf.{WATCH}\npf.parse(['prog', '--join_level=7'], allow_pending=True, exit=False)\n",
        SEVEN + TOLD,
    ),
    "a watcher of a flag that comes again": (AGAIN.format(hook=WATCH, value=7), SEVEN + TOLD),
    "a validator that accepts": (
        AGAIN.format(hook="validate(lambda value: told.append(value) or value < 50)", value=7),
        SEVEN + "assert 7 in told, told",
    ),
    "a validator that refuses": (
        AGAIN.format(hook="validate(lambda value: value < 50, 'expected less than 50')", value=70),
        "assert pf.FLAGS.join_level == 6",
    ),
}


@pytest.mark.parametrize(("before", "after"), HOOKS.values(), ids=HOOKS)
def test_a_hook_runs_for_a_waiting_value_while_another_thread_imports(slow, before, after):
    run_race(before, after, slow)


def test_a_warning_is_given_while_another_thread_imports(tmp_path):
    plugin = Maker(tmp_path).plugin(
        "deprecated",
        """
        #include <pd_flags.h>
        PD_DEFINE_int32(join_level, 6, "How hard to try", .deprecated = "use another one");
        """,
        SLOW,
        flags=["-Wl,-init,linger"],
    )
    run_race(
        """
        import warnings
        warnings.simplefilter("ignore")
        pf.parse(["prog", "--join_level=7"], allow_pending=True, exit=False)
        """,
        """
        assert pf.FLAGS.join_level == 7
        """,
        plugin,
    )


def test_a_watcher_is_told_by_a_plugin_that_ctypes_loads_while_another_thread_imports(slow):
    """Where somebody else calls dlopen, without the GIL, the watcher can't have it there."""
    run_race(
        """
        import ctypes
        pf.watch(lambda flag: told.append((flag.name, flag.value)))
        pf.parse(["prog", "--join_level=7"], allow_pending=True, exit=False)
        libc = ctypes.CDLL(None)  # whose functions are called without the GIL
        libc.dlopen.restype = ctypes.c_void_p

        def load():
            loaded.append(libc.dlopen(sys.argv[1].encode(), 2))
        """,
        """
        assert loaded[0]
        assert pf.FLAGS.join_level == 7
        assert told == [("join_level", 7)], told
        """,
        slow,
    )


def test_a_plugin_is_closed_whose_last_assignment_is_told_while_another_thread_imports(tmp_path):
    """A destructor within dlclose never waits for the GIL either."""
    plugin = Maker(tmp_path).plugin(
        "leaving",
        """
        #define PD_HEADER_ONLY
        #include <pd_flags.h>
        #include <unistd.h>
        PD_DEFINE_int32(join_level, 6, "How hard to try");
        __attribute__((destructor)) static void leave(void) {
          usleep(400 * 1000);
          pd_flag_set_by_name("other_level", "9", NULL);
        }
        """,
    )
    run_race(
        """
        other = pf.define("other_level", 1)
        other.watch(lambda flag: told.append((flag.name, flag.value)))
        plugin = pf.load_plugin(sys.argv[1])

        def load():
            plugin.unload()
        """,
        """
        assert other.value == 9
        assert told == [("other_level", 9)], told
        """,
        plugin,
    )
