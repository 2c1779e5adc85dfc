"""Hooks in Python that a module's arrival or end concerns: when they are called, and what comes of
errors, at exit and in other interpreters too.
"""

from __future__ import annotations

import pytest
from joining import LEVEL, Maker, environment, python
from support import with_subinterpreters

# `load` loads a library without the GIL and without the package.
LOAD = """
import ctypes, sys

def load(path):
    is_windows = sys.platform == "win32"
    function = ctypes.windll.kernel32.LoadLibraryW if is_windows else ctypes.CDLL(None).dlopen
    function.restype = ctypes.c_void_p
    return function(path) if is_windows else function(path.encode(), 2)
"""
START = f"""{LOAD}
import threading, time, warnings
import paddle_flags as pf
told = []

def open_plainly():
    assert load(sys.argv[1])

def validate_and_wait(text):
    plugin = pf.load_plugin(sys.argv[1])
    pf.FLAGS["join_level"].validate(lambda value: value < 50, "expected less than 50")
    plugin.unload()
    pf.parse(["prog", f"--join_level={{text}}"], allow_pending=True, exit=False)
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return Maker(tmp_path_factory.mktemp("plugins")).plugin("level", LEVEL)


def test_a_waiting_value_that_a_validator_refuses_is_an_error_of_load_plugin(plugin):
    script = """
validate_and_wait(70)
try:
    pf.load_plugin(sys.argv[1])
except pf.PluginValueError as error:
    print(error, error.plugin.loaded, pf.FLAGS.join_level)
"""
    assert python(START + script, plugin) == ["--join_level=70: expected less than 50 True 6"]


def test_a_validator_is_asked_after_somebody_elses_dlopen(plugin):
    script = """
validate_and_wait(7)
open_plainly()
for _ in range(1000):
    time.sleep(0.001)
    if pf.FLAGS.join_level == 7:
        break
print(pf.FLAGS.join_level, pf.FLAGS["join_level"].source)
"""
    assert python(START + script, plugin) == ["7 argv"]


def test_a_value_that_is_refused_after_somebody_elses_dlopen_is_a_warning(plugin):
    script = """
validate_and_wait(70)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    open_plainly()
    pf.FLAGS.join_level = 8
print([(each.category.__name__, str(each.message)) for each in caught], pf.FLAGS.join_level)
"""
    message = "[('FlagWarning', '--join_level=70: expected less than 50')] 8"
    assert python(START + script, plugin) == [message]


def test_a_call_on_another_thread_settles_while_the_main_thread_waits(plugin):
    script = """
pf.define("other", 1)
def watch(flag):
    told.append((flag.name, threading.current_thread() is threading.main_thread()))
pf.watch(watch)
pf.parse(["prog", "--join_level=7"], allow_pending=True, exit=False)
def run():
    open_plainly()
    pf.FLAGS.other = 2
    print(sorted(told))
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""
    assert python(START + script, plugin) == ["[('join_level', False), ('other', False)]"]


def test_what_ends_a_program_is_raised_out_of_a_deferred_watcher(plugin):
    script = """
def stop(flag):
    raise SystemExit("stopped")
pf.watch(stop)
pf.parse(["prog", "--join_level=7"], allow_pending=True, exit=False)
try:
    open_plainly()
    for _ in range(1000):
        time.sleep(0.001)
except SystemExit as error:
    print(error, pf.FLAGS.join_level)
"""
    assert python(START + script, plugin) == ["stopped 7"]


def test_an_error_in_a_deferred_watcher_leaves_the_load_as_it_is(plugin):
    script = """
def fail(flag):
    raise KeyError(flag.name)
sys.unraisablehook = lambda failed: told.append(repr(failed.exc_value))
pf.watch(fail)
pf.parse(["prog", "--join_level=7"], allow_pending=True, exit=False)
pf.load_plugin(sys.argv[1])
print(told, pf.FLAGS.join_level)
"""
    assert python(START + script, plugin) == ["""["KeyError('join_level')"] 7"""]


AT_EXIT = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((destructor)) static void leave(void) {
  printf("%s\\n", dlopen(getenv("LATE"), RTLD_NOW) ? "opened" : dlerror());
}
"""


@pytest.mark.parametrize("when", ["after the package's own end", "after Python's end"])
def test_a_module_that_arrives_at_exit_finds_no_hook(plugin, tmp_path, when):
    script = f"""{LOAD}
import atexit
if sys.argv[2].startswith("after the package"):
    atexit.register(lambda: print("opened" if load(sys.argv[1]) else "failed"))
else:
    ctypes.CDLL(sys.argv[3])
import paddle_flags as pf
told = []
plugin = pf.load_plugin(sys.argv[1])
pf.FLAGS["join_level"].validate(lambda value: told.append(value) or True)
plugin.unload()
pf.watch(lambda flag: told.append(flag.name))
pf.parse(["prog", "--join_level=7"], allow_pending=True, exit=False)
atexit.register(lambda: print(told))
"""
    late = Maker(tmp_path).plugin("late", AT_EXIT)
    shown = python(script, plugin, when, late, env=environment(LATE=str(plugin)))
    assert shown == ["[]", "opened"]


@with_subinterpreters
def test_a_sub_interpreter_loads_a_plugin_whose_flag_is_watched(plugin):
    script = """
try:
    import _interpreters as interpreters
    options = ["legacy"]
except ImportError:
    import _xxsubinterpreters as interpreters
    options = []
pf.watch(lambda flag: told.append(flag.name))
pf.parse(["prog", "--join_level=7"], allow_pending=True, exit=False)
own = interpreters.create(*options) if options else interpreters.create(isolated=False)
failed = interpreters.run_string(own, f'''
import paddle_flags as pf
pf.watch(lambda flag: None)
pf.load_plugin({sys.argv[1]!r})
assert pf.FLAGS.join_level == 7
''')
assert failed is None, failed
interpreters.destroy(own)
print(told, pf.FLAGS.join_level)
"""
    assert python(START + script, plugin) == ["['join_level'] 7"]


def test_a_warning_of_native_code_has_a_class_of_its_own():
    script = """
from paddle_flags._native import ffi, lib
pf.define("old", 1, deprecated="use another")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    lib.pd_warning_report(b"something else", ffi.NULL)
    pf.FLAGS.old = 2
print([each.category.__name__ for each in caught])
print(issubclass(pf.DeprecatedFlagWarning, pf.FlagWarning))
"""
    assert python(START + script) == ["['FlagWarning', 'DeprecatedFlagWarning']", "True"]
