"""Many rounds, many threads, forks and interpreters: nothing is lost, leaks or locks up."""

import sys
from pathlib import Path

import pytest
from joining import LEVEL, python
from packages import library_object
from support import INCLUDE, ROOT, SANITIZE, build_plugin, run, tool, with_subinterpreters, write

RELOAD = ROOT / "tests" / "c" / "reload.c"
CHECKS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
CODE = """
#include <pd_flags.h>
PD_DEFINE_int32(stress_000_level, 6, "How hard to try", .min = 0, .max = 99);
__attribute__((visibility("default"))) int level(void);
int level(void) { return FLAGS_stress_000_level; }
"""


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a directory of 100 plugins: one is built, the others are it under other names."""
    place = tmp_path_factory.mktemp("stress")
    first = build_plugin(place / "p000.so", write(place / "plugin.c", CODE)).read_bytes()
    for number in range(1, 100):
        named = first.replace(b"stress_000", b"stress_%03d" % number)
        (place / f"p{number:03d}.so").write_bytes(named)
    return place


def build_reload(factory: pytest.TempPathFactory, place: Path, *flags: str) -> tuple[Path, Path]:
    """Build the program and its plugin, the library compiled in."""
    library = library_object(factory, ["gcc"], *flags)
    options = ["gcc", "-std=gnu11", "-g", "-O1", f"-I{INCLUDE}", "-pthread", *flags]
    run(*options, RELOAD, library, "-o", place / "reload", "-ldl")
    source = write(place / "level.c", LEVEL)
    run(*options, "-shared", "-fPIC", source, "-o", place / "liblevel.so")
    return place / "reload", place / "liblevel.so"


@pytest.mark.release
def test_10000_reloads_lose_no_value_and_leak_nothing(tmp_path_factory, tmp_path):
    program, plugin = build_reload(tmp_path_factory, tmp_path, *CHECKS)
    ended = run(program, 10000, plugin)
    assert ended.stdout + ended.stderr == "done\n"


@pytest.mark.release  # needs Valgrind
def test_loading_unloading_and_reloading_is_clean_under_valgrind(tmp_path_factory, tmp_path):
    program, plugin = build_reload(tmp_path_factory, tmp_path)
    checks = ["--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,possible"]
    quiet = [tool("valgrind"), "-q", *checks, "--errors-for-leak-kinds=definite,possible"]
    ended = run(*quiet, program, 40, plugin)
    assert ended.stdout + ended.stderr == "done\n"


@pytest.mark.release  # takes 24 s
@pytest.mark.extended
def test_random_operations_on_4_threads_hold_what_the_model_says(tmp_path):
    script = ROOT / "tests" / "stress" / "run.py"
    ended = run(sys.executable, script, "--build", "plain", "--seconds", 3, "--out", tmp_path)
    assert ended.stdout.endswith("no failure\n")


THREADS = """
import ctypes, random, sys, threading
import paddle_flags as pf

place = sys.argv[1]
paths = [f"{place}/p{i:03d}.so" for i in range(100)]
pf.parse(["p", *(f"--stress_{i:03d}_level={i}" for i in range(100))], allow_pending=True)
start = threading.Barrier(16)
failures = []

def work(number):
    try:
        mine = random.Random(number).sample(paths, 100)
        start.wait()
        loaded = [pf.load_plugin(path) for path in mine]
        start.wait()
        for i, path in enumerate(paths):
            level = ctypes.CDLL(path).level()
            if not level == pf.FLAGS[f"stress_{i:03d}_level"].value == i:
                failures.append((path, level))
        start.wait()
        for plugin in loaded: plugin.unload()
    except BaseException as error:
        failures.append(error)
        start.abort()

threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(failures)
"""


def test_16_threads_load_100_plugins_at_once_and_each_gets_its_value(plugins):
    assert python(THREADS, plugins) == ["[]"]


FORKS = """
import os, signal, sys, threading
import paddle_flags as pf

place, busy = sys.argv[1:]
number = pf.define("fork_number", 0)
text = pf.define("fork_text", "")
done = False

def keep_setting():
    i = 0
    while not done:
        i += 1
        pf.FLAGS.update(fork_number=i, fork_text=str(i % 50))

def keep_loading():
    while not done:
        pf.load_plugin(f"{place}/p000.so").unload()

works = [keep_setting, keep_loading if busy == "loading" else keep_setting]
threads = [threading.Thread(target=work) for work in works]
for thread in threads: thread.start()
try:
    for i in range(100):
        child = os.fork()
        if child == 0:
            signal.alarm(240)
            pf.FLAGS.fork_number = -i
            pf.define(f"in_child_{i}", i)
            if busy == "setting":
                pf.load_plugin(f"{place}/p001.so")
                pf.FLAGS.stress_001_level = 9
            os._exit(0 if pf.FLAGS.fork_number == -i else 3)
        _, status = os.waitpid(child, 0)
        if status: sys.exit(f"child {i} ended with status {status}")
finally:
    done = True
    for thread in threads: thread.join()
print(pf.FLAGS["fork_number"].value > 0)
"""


# Gcc's sanitizers don't hold the locks of their own malloc while a process forks: a child
# may wait there for a thread that it doesn't have.
@pytest.mark.extended  # takes a second or more
@pytest.mark.skipif(bool(SANITIZE), reason="a sanitizer's malloc isn't safe to fork")
@pytest.mark.parametrize("busy", ["setting", "loading"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_works_whatever_other_threads_of_python_did_at_the_fork(busy, plugins):
    assert python(FORKS, plugins, busy) == ["True"]


# What a Python without the module for it calls an interpreter of its own kind.
INTERPRETERS = """
import ctypes, sys
import paddle_flags as pf

kind, plugin = sys.argv[1:]
outer = pf.define("outer", 1)
code = f'''
import sys
sys.path[:] = {sys.path}
import paddle_flags as pf
assert pf.FLAGS["outer"].value == 1, pf.FLAGS["outer"].value
pf.FLAGS.outer = 7
pf.define("inner", 3, min=0)
pf.load_plugin({plugin!r})
pf.FLAGS.stress_000_level = 42
'''
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    inner = interpreters.create(kind)
    problem = interpreters.exec(inner, code)
    if problem: print(problem.formatted)
else:
    import _xxsubinterpreters as interpreters
    inner = interpreters.create(isolated=kind == "isolated")
    try:
        interpreters.run_string(inner, code)
    except interpreters.RunFailedError as problem:
        print(problem)
interpreters.destroy(inner)
if outer.value != 1:
    pf.FLAGS.inner += 1
    print(outer.value, pf.FLAGS["inner"].value, ctypes.CDLL(plugin).level())
"""


@with_subinterpreters
def test_an_interpreter_with_the_same_lock_shares_the_registry_and_leaves_its_flags(plugins):
    assert python(INTERPRETERS, "legacy", plugins / "p000.so") == ["7 4 42"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="all interpreters share one lock")
def test_an_interpreter_with_a_lock_of_its_own_is_told_that_it_cannot_import(plugins):
    (said,) = python(INTERPRETERS, "isolated", plugins / "p000.so")
    assert "ImportError" in said
    assert "does not support loading in subinterpreters" in said
