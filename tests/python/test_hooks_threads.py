"""Validators and watchers in Python that native threads call, at exit and in other interpreters."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
from support import build_plugin, needs_fork, with_subinterpreters, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.extended  # needs much time

# Sets flags on native threads: `go_on` until the process ends, `set_once` on one that ends.
SETTER = """
#include <pd_flags.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define VISIBLE __attribute__((visibility("default")))
typedef pd_status set_function(const char *, const char *, pd_error *);
extern VISIBLE void start(set_function *, int);
extern VISIBLE const char *set_once(set_function *, const char *, const char *);
extern VISIBLE const char *set_here(set_function *, const char *, const char *);

static set_function *set;

static void *go_on(void *number) {
  char text[24];
  for (uintptr_t i = (uintptr_t)number;; i++) {
    snprintf(text, sizeof text, "%u", (unsigned)(i % 100000));
    set("watched", text, NULL);
  }
  return NULL;
}

void start(set_function *function, int count) {
  set = function;
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, go_on, (void *)(uintptr_t)(i * 1000));
    pthread_detach(thread);
  }
}

static struct { const char *name, *text; pd_error err; } once;

static void *set_it(void *unused) {
  (void)unused;
  set(once.name, once.text, &once.err);
  return NULL;
}

const char *set_here(set_function *function, const char *name, const char *text) {
  set = function;
  once.name = name;
  once.text = text;
  memset(&once.err, 0, sizeof once.err);
  set_it(NULL);
  return once.err.message;
}

const char *set_once(set_function *function, const char *name, const char *text) {
  pthread_t thread;
  set = function;
  once.name = name;
  once.text = text;
  memset(&once.err, 0, sizeof once.err);
  pthread_create(&thread, NULL, set_it, NULL);
  pthread_join(thread, NULL);
  return once.err.message;
}
"""

BEGINNING = """
import ctypes, sys, time
import paddle_flags as pf
from paddle_flags._core import paths

setter = ctypes.CDLL(sys.argv[1])
setter.set_once.restype = setter.set_here.restype = ctypes.c_char_p
library = ctypes.CDLL(paths.get_shared_library())
set_by_name = ctypes.cast(library.pd_flag_set_by_name, ctypes.c_void_p)

def set_once(name, text):
    return setter.set_once(set_by_name, name.encode(), text.encode()).decode()

def set_here(name, text):
    return setter.set_here(set_by_name, name.encode(), text.encode()).decode()

"""


@pytest.fixture(scope="module")
def setter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("setter")
    code = write(place / "setter.c", SETTER)
    return build_plugin(place / "libsetter.so", code, flags=("-pthread",))


def run_python(setter: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    script = BEGINNING + textwrap.dedent(code)
    command = [sys.executable, *options, "-c", script, str(setter)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


# ---- The end of Python ----

ENDS = {
    "watched": "pf.define('watched', 0).watch(lambda flag: flag.value)",
    "validated": "pf.define('watched', 0).validate(lambda value: value >= 0)",
    "both": """
flag = pf.define('watched', 0)
flag.watch(lambda changed: changed.value)
pf.watch(lambda changed: None)
pf.validator(flag, pf.define('other', 0))(lambda value, other: True)
""",
}


@pytest.mark.parametrize(
    "hooks",
    [pytest.param(each, marks=[pytest.mark.release] if each != "both" else []) for each in ENDS],
)
def test_python_ends_while_16_native_threads_set_a_flag_with_hooks(setter, hooks):
    code = f"{ENDS[hooks]}\nsetter.start(set_by_name, 16)\ntime.sleep(0.05)\n"
    for _ in range(20):
        done = run_python(setter, code)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_watcher_that_never_ends_does_not_keep_python_from_ending(setter):
    code = """
    import threading
    flag = pf.define("watched", 0)
    begun = threading.Event()

    def wait(_):
        begun.set()
        threading.Event().wait()

    flag.watch(wait)
    setter.start(set_by_name, 1)
    begun.wait()
    """
    done = run_python(setter, code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@needs_fork
def test_a_child_of_a_fork_does_not_wait_for_a_thread_that_it_does_not_have(setter):
    code = """
    import os, signal, warnings
    warnings.simplefilter("ignore")
    sys.setswitchinterval(50)  # a thread that waits for the GIL goes on waiting
    pf.define("watched", 0).watch(lambda flag: flag.value)
    setter.start(set_by_name, 1)
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        pass
    child = os.fork()
    if child == 0:
        signal.alarm(240)
        pf.FLAGS.watched = 1
        sys.exit(7)
    sys.setswitchinterval(0.005)
    assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 7
    """
    done = run_python(setter, code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- Exceptions ----

REPORTS = """
reports = []

def note(args):
    reports.append((type(args.exc_value).__name__, str(args.exc_value), args.err_msg))

sys.unraisablehook = note

def fail(kind, *words):
    raise kind(*words)

flag, other = pf.define("watched", 0), pf.define("other", 0)
"""


@pytest.mark.parametrize("way", ["set_once", "set_here"])
@pytest.mark.parametrize("kind", ["RuntimeError", "KeyboardInterrupt", "SystemExit"])
def test_what_a_watcher_of_a_native_change_raises_is_reported_at_once(setter, kind, way):
    code = f"""
    flag.watch(lambda _: fail({kind}, "words"))
    assert {way}("watched", "5") == ""
    assert reports == [("{kind}", "words", "Exception ignored in a watcher of flag 'watched'")]
    pf.parse(["p", "--other=4"], exit=False)
    assert (len(reports), flag.value, other.value) == (1, 5, 4)
    """
    done = run_python(setter, REPORTS + textwrap.dedent(code))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("way", ["set_once", "set_here"])
@pytest.mark.parametrize("kind", ["RuntimeError", "KeyboardInterrupt"])
def test_what_a_validator_of_a_native_change_raises_is_reported_and_rejects(setter, kind, way):
    code = f"""
    def check(value):
        fail({kind}, "words")

    flag.validate(check)
    why = "watched=5: its validator check failed: {kind}: words"
    assert {way}("watched", "5") == why, {way}("watched", "5")
    report = ("{kind}", "words", "Exception ignored in a validator of flag 'watched'")
    assert reports == [report], reports
    other.value = 3
    assert (flag.value, other.value) == (0, 3)
    """
    done = run_python(setter, REPORTS + textwrap.dedent(code))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_validator_rejects_a_native_change_by_a_value_error_without_a_report(setter):
    code = """
    flag.validate(lambda value: fail(ValueError, "expected less"))
    assert set_once("watched", "5") == "watched=5: expected less"
    assert reports == []
    """
    done = run_python(setter, REPORTS + textwrap.dedent(code))
    assert (done.returncode, done.stderr) == (0, "")


def test_an_exception_of_a_native_change_within_a_watcher_is_reported_too(setter):
    code = """
    other.watch(lambda _: fail(KeyboardInterrupt))
    flag.watch(lambda _: set_here("other", "3"))
    assert set_once("watched", "5") == ""
    report = ("KeyboardInterrupt", "", "Exception ignored in a watcher of flag 'other'")
    assert reports == [report], reports
    """
    done = run_python(setter, REPORTS + textwrap.dedent(code))
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_of_a_reported_exception_is_kept(setter):
    code = """
    import gc, weakref
    class Kept: pass
    gone = []

    def check(value):
        kept = Kept()
        gone.append(weakref.ref(kept))
        raise KeyError(value)

    flag.validate(check)
    other.watch(check)
    set_once("watched", "5"), set_once("other", "5")
    gc.collect()
    assert [each() for each in gone] == [None, None]
    """
    done = run_python(setter, REPORTS + textwrap.dedent(code))
    assert (done.returncode, done.stderr) == (0, "")


def test_pythons_own_report_names_the_flag_and_the_line_that_raised(setter):
    code = """
    def fail(_):
        raise RuntimeError("words")

    pf.define("watched", 0).watch(fail)
    set_once("watched", "5")
    """
    done = run_python(setter, code)
    assert done.returncode == 0
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("Exception ignored in a watcher of flag 'watched': <function fail at")
    assert (last, "paddle_flags" in done.stderr) == ("RuntimeError: words", False)


def test_an_interrupt_in_one_validator_is_not_lost_to_the_next(setter):
    code = """
    flag.validate(lambda value: fail(KeyboardInterrupt))
    flag.validate(lambda value: True)
    try:
        flag.value = 5
    except KeyboardInterrupt:
        print("interrupted")
    """
    done = run_python(setter, REPORTS + textwrap.dedent(code))
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


# ---- Other interpreters ----

INTERPRETERS = """
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters

def create():
    if sys.version_info >= (3, 13):
        return interpreters.create("legacy")
    return interpreters.create(isolated=False)

def destroy(inner):
    # Python refuses while a native thread is in the interpreter, some versions only.
    while True:
        try:
            return interpreters.destroy(inner)
        except RuntimeError as error:
            assert "more than one thread" in str(error) or "already running" in str(error), error
            time.sleep(0.0005)

def run(inner, code):
    begin = f"import sys; sys.path[:] = {sys.path}; import paddle_flags as pf" + chr(10)
    failed = interpreters.run_string(inner, begin + textwrap.dedent(code))
    assert failed is None, failed

import textwrap
"""


@with_subinterpreters
def test_hooks_of_another_interpreter_run_there(setter):
    code = """
    inner = create()
    run(inner, '''
        sys.marked = True
        flag, seen = pf.define("watched", 3), []

        def is_small(value):
            seen.append(value)
            return sys.marked and value < 50

        flag.watch(lambda changed: seen.append((changed.value, sys.marked)))
        flag.validate(is_small, "expected less than 50")
        flag.value = 5
        try:
            flag.value = 60
        except pf.FlagValueError as error:
            assert str(error) == "watched=60: expected less than 50", error
        assert seen == [5, (5, True), 60], seen
        assert pf.parse(["program", "rest"], exit=False) == ["rest"]
        seen.clear()
    ''')
    assert set_once("watched", "70") == "watched=70: expected less than 50"
    assert set_here("watched", "7") == ""
    try:
        pf.FLAGS.watched = 80
    except pf.FlagValueError as error:
        assert str(error) == "watched=80: expected less than 50", error
    assert pf.FLAGS.watched == 7
    run(inner, "assert seen == [70, 7, (7, True), 80], seen")
    destroy(inner)
    pf.FLAGS.watched = 80
    assert set_once("watched", "70") == ""
    """
    done = run_python(setter, INTERPRETERS + textwrap.dedent(code))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@with_subinterpreters
def test_hooks_of_the_main_interpreter_run_there_if_another_sets_the_flag(setter):
    code = """
    sys.marked = True
    seen = []
    flag = pf.define("watched", 0)
    flag.watch(lambda changed: seen.append((changed.value, sys.marked)))
    flag.validate(lambda value: sys.marked and value < 50, "expected less than 50")
    inner = create()
    run(inner, '''
        pf.FLAGS.watched = 5
        try:
            pf.FLAGS.watched = 60
        except pf.FlagValueError as error:
            assert str(error) == "watched=60: expected less than 50", error
    ''')
    destroy(inner)
    assert seen == [(5, True)], seen
    """
    done = run_python(setter, INTERPRETERS + textwrap.dedent(code))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@with_subinterpreters
def test_another_interpreter_ends_while_native_threads_set_a_flag_with_hooks(setter):
    code = """
    pf.define("watched", 0)
    setter.start(set_by_name, 8)
    for _ in range(20):
        inner = create()
        run(inner, '''
            flag = pf.FLAGS["watched"]
            flag.watch(lambda changed: changed.value)
            flag.validate(lambda value: value >= 0)
        ''')
        time.sleep(0.005)
        destroy(inner)
    """
    done = run_python(setter, INTERPRETERS + textwrap.dedent(code))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@with_subinterpreters
@pytest.mark.release  # takes 7 s
@pytest.mark.parametrize("warned", [False, True])
def test_python_ends_while_native_threads_set_a_flag_with_hooks_of_other_interpreters(
    setter, warned
):
    code = """
    pf.define("watched", 0)
    setter.start(set_by_name, 8)
    left = [create() for _ in range(3)]
    for each in left:
        run(each, '''
            flag = pf.FLAGS["watched"]
            import time
            flag.watch(lambda changed: time.sleep(0.001))
            flag.validate(lambda value: value >= 0)
        ''')
    time.sleep(0.05)
    """
    code = INTERPRETERS + textwrap.dedent(code)
    if warned:  # at the very end, where a warning that is an error is shown
        code += "pf.define('old', 0, deprecated='no use')\nimport atexit\n"
        code += "atexit.register(set_once, 'old', '1')\n"
    # As an error, this warning of CPython 3.14 fails even a program that imports nothing.
    warnings = ("-W", "error", "-W", "ignore:remaining subinterpreters:RuntimeWarning")
    for _ in range(5):
        done = run_python(setter, code, *warnings)
        assert (done.returncode, done.stdout) == (0, "")
        assert ("paddle_flags.errors." in done.stderr) == warned, done.stderr


@with_subinterpreters
def test_another_interpreter_prints_help(setter):
    code = """
    pf.define("watched", 0, "About this flag")
    inner = create()
    run(inner, '''
        try:
            pf.parse(["program", "--help"], exit=False)
        except pf.HelpRequested as text:
            assert "About this flag" in str(text), text
    ''')
    destroy(inner)
    """
    done = run_python(setter, INTERPRETERS + textwrap.dedent(code))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


LEFT = {
    "imported": "pass",
    "served": "server = pf.serve()",
    "watched": "pf.define('watched', 0).watch(print)",
    "validated": "pf.define('watched', 0).validate(lambda value: True)",
    "overridden": "pf.define('watched', 0); left = pf.override(watched=1); left.__enter__()",
    "captured": "pf.define('watched', 0, scoped=True); left = pf.capture()",
    "set at exit": """
import atexit
flag = pf.define('watched', 0)
flag.watch(lambda flag: flag.value)
atexit.register(lambda: flag.reset())
""",
    "implemented": """
pf.impl("add", "native")(lambda a: a)
pf.impl("add", "better", rank=5, usable=lambda: None)(lambda a: a)
assert pf.op("add")(3) == 3
""",
    "set by native threads": """
import ctypes
from paddle_flags._core import paths
library = ctypes.CDLL(paths.get_shared_library())
flag = pf.define('watched', 0)
flag.watch(lambda flag: flag.value)
ctypes.CDLL(sys.argv[1]).start(ctypes.cast(library.pd_flag_set_by_name, ctypes.c_void_p), 4)
""",
}


@with_subinterpreters
@pytest.mark.parametrize("imported", [False, True], ids=["alone", "imported"])
@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT)
def test_an_interpreter_that_is_left_does_not_keep_python_from_ending(setter, left, imported):
    if "start(" in left and not imported and sys.version_info >= (3, 12):
        pytest.skip("since 3.12, only a main interpreter that has the package can stop the threads")
    code = "import sys, time, threading\n" + "import paddle_flags as pf\n" * imported + INTERPRETERS
    code += f"inner = create()\nrun(inner, {left!r})\n"
    code += "threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()\nsys.exit(3)"
    command = [sys.executable, "-c", code, str(setter)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
