"""Libraries that are refused when they are opened or imported past load_plugin: nobody overlooks
that, and nothing else breaks."""

from __future__ import annotations

import os
import sys
import textwrap

import pytest
from joining import Maker, environment
from support import CXX, INCLUDE, needs_fork, package, run, write

import paddle_flags as pf

FIRST = '#include <pd_flags.h>\nPD_DEFINE_int32(shared_port, 80, "Port");\n'
SECOND = """
#include <pd_flags.h>
PD_DEFINE_int32(shared_port, 81, "Port");
PD_DEFINE_int32(second_other, 1, "Sound");
int port(void);
int port(void) { return FLAGS_shared_port; }
"""
LATE = """
#include <pd_flags.hpp>
static pd::flag<int> sound("late_sound", 1, "Sound");
static pd::flag<int> port("shared_port", 82, "Port");
static pd::flag<int> again("shared_port", 83, "Port");
"""
# Opens a library on a native thread, and waits for that with or without the GIL.
OPENER = """
#include <dlfcn.h>
#include <pthread.h>
static void *open_library(void *path) { return dlopen(path, RTLD_NOW); }
int open_elsewhere(char *path);
int open_elsewhere(char *path) {
  pthread_t thread;
  void *handle = 0;
  if (pthread_create(&thread, 0, open_library, path)) return 0;
  pthread_join(thread, &handle);
  return handle != 0;
}
"""
START = """
import ctypes, os, sys, threading, warnings
import paddle_flags as pf
first = ctypes.CDLL(sys.argv[1])

def refused():
    try:
        pf.parse(["prog"], exit=False)
    except pf.FlagConflictError as error:
        return error
    return None
"""


@pytest.fixture(scope="module")
def maker(tmp_path_factory):
    return Maker(tmp_path_factory.mktemp("refused"))


@pytest.fixture(scope="module")
def plugins(maker):
    """Two versions of one plugin: the files have the same name."""
    return maker.plugin("port", FIRST), Maker(maker.directory / "new").plugin("port", SECOND)


def start(script, *arguments, options=(), text=START, **variables):
    """Run a script in an interpreter of its own; give what it prints, and what goes to stderr."""
    command = [sys.executable, *options, "-c", text + textwrap.dedent(script)]
    ended = run(*command, *arguments, env=environment(**variables))
    return ended.stdout.splitlines(), ended.stderr


WARNED = "RefusedModuleWarning: "


# ---- The error ----


def test_the_next_parse_raises_what_differs_where_and_what_to_do(plugins):
    shown, _ = start(
        """
        assert refused() is None
        second = ctypes.CDLL(sys.argv[2])
        print(refused())
        print(len(refused().errors), second.port(), "second_other" in pf.FLAGS)
        """,
        *plugins,
    )
    first, second = plugins
    assert shown[0].endswith(
        f"/port.c:2 in {first}; refused: int32 at {second.parent}/port.src/port.c:3"
        f" in {second}: default 81, not 80; rename one of them, or give the refused library a"
        ' namespace: call load_plugin(path, namespace="...") before it is loaded otherwise'
    )
    assert shown[0].startswith("'shared_port' is already defined, int32 at ")
    assert shown[1:] == ["1 81 False"]


def test_parse_raises_before_it_reads_anything_and_whatever_the_line_asks_for(plugins):
    shown, _ = start(
        """
        level = pf.define("level", 1)
        ctypes.CDLL(sys.argv[2])
        for exit in (True, False, "gflags"):
            try:
                pf.parse(["prog", "--level=2", "--help"], exit=exit)
            except pf.FlagConflictError:
                print(level.value)
        print(pf.parse(["prog", "--level=2", "rest"], check_modules=False), level.value)
        """,
        *plugins,
    )
    assert shown == ["1", "1", "1", "['rest'] 2"]


def test_every_parse_raises_until_the_library_leaves_or_gets_a_namespace(plugins):
    shown, _ = start(
        """
        import _ctypes
        second = ctypes.CDLL(sys.argv[2])
        print(refused() is not None, refused() is not None)
        _ctypes.dlclose(second._handle)
        print(refused())
        ctypes.CDLL(sys.argv[2])
        print(refused() is not None)
        plugin = pf.load_plugin(sys.argv[2], namespace="two")
        print(refused(), sorted(plugin.flags))
        """,
        *plugins,
    )
    assert shown == ["True True", "None", "True", "None ['two.second_other', 'two.shared_port']"]


def test_an_error_that_load_plugin_has_raised_is_not_raised_again(plugins):
    shown, said = start(
        """
        try:
            pf.load_plugin(sys.argv[2])
        except pf.FlagConflictError as error:
            print("namespace" in str(error), refused())
        """,
        *plugins,
        options=["-W", "error"],
    )
    assert (shown, said) == (["True None"], "")


def test_check_modules_raises_the_same(plugins):
    shown, said = start(
        """
        ctypes.CDLL(sys.argv[2])
        error = refused()
        try:
            pf.check("modules")
        except pf.FlagConflictError as other:
            print(str(error) == str(other))
        """,
        *plugins,
        options=["-W", "ignore"],
    )
    assert (shown, said) == (["True"], "")


def test_libraries_that_were_there_before_the_package_are_noticed(plugins):
    script = "import paddle_flags as pf\nprint('imported')\n"
    shown, said = start(
        script, *plugins, text="import ctypes, sys\nkept = [*map(ctypes.CDLL, sys.argv[1:])]\n"
    )
    assert shown == ["imported"]
    assert said.count(WARNED) == 1


# ---- The warning ----


def test_a_warning_comes_at_the_line_that_opens_the_library_and_once(plugins):
    shown, said = start(
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            line = ctypes.CDLL(sys.argv[2]) and sys._getframe().f_lineno
            print(len(caught), caught[0].category.__name__, caught[0].lineno == line)
            for number in range(3):
                ctypes.CDLL(sys.argv[2])
                pf.define(f"flag_{number}", 1).value = 2
            print(len(caught), caught[0].filename)
            print(caught[0].message)
        """,
        *plugins,
    )
    first, second = plugins
    assert shown[0] == "1 RefusedModuleWarning True"
    assert shown[1] == "1 <string>"
    assert shown[2].startswith(
        f"{second}: was refused, and its own code sees only defaults: 'shared_port' is already"
    )
    assert f"in {first}; refused: int32 at" in shown[2]
    assert said == ""


def test_a_warning_that_is_an_error_lets_the_library_open_and_the_next_call_do_its_work(plugins):
    shown, said = start(
        """
        second = ctypes.CDLL(sys.argv[2])
        total = sum(number for number in range(10000))
        print(second.port(), total)
        try:
            pf.define("level", 5)
        except pf.RefusedModuleWarning as warning:
            print(warning.result is pf.FLAGS["level"], pf.FLAGS.level)
        pf.FLAGS.level = 6
        print(pf.FLAGS.level, refused() is not None)
        """,
        *plugins,
        options=["-W", "error"],
    )
    assert (shown, said) == (["81 49995000", "True 5", "6 True"], "")


def test_a_parse_that_raises_takes_the_place_of_the_warning(plugins):
    shown, said = start(
        """
        ctypes.CDLL(sys.argv[2])
        print(refused() is not None)
        pf.define("level", 5).value = 6
        """,
        *plugins,
        options=["-W", "error"],
    )
    assert (shown, said) == (["True"], "")


def test_a_warning_that_is_an_error_and_that_no_call_raises_is_told_at_exit(plugins):
    _, said = start("second = ctypes.CDLL(sys.argv[2])", *plugins, options=["-W", "error"])
    assert said.count(WARNED) == 1


def test_a_warning_that_cannot_be_shown_breaks_nothing(plugins):
    shown, said = start(
        """
        def fail(*unused):
            raise RuntimeError("no place to write to")
        warnings.showwarning = fail
        second = ctypes.CDLL(sys.argv[2])
        print(second.port())
        """,
        *plugins,
    )
    assert shown == ["81"]
    assert "Exception ignored while warning of a refused module" in said
    assert "no place to write to" in said


@pytest.mark.parametrize("options", [[], ["-W", "error"]])
def test_a_thread_of_python_opens_the_library(plugins, options):
    shown, said = start(
        """
        thread = threading.Thread(target=ctypes.CDLL, args=(sys.argv[2],))
        thread.start()
        thread.join()
        print(refused() is not None)
        """,
        *plugins,
        options=options,
    )
    assert shown == ["True"]
    assert said.count(WARNED) == (not options)


@pytest.mark.parametrize("options", [[], ["-W", "error"]])
@pytest.mark.parametrize("kind", ["CDLL", "PyDLL"])  # without and with the GIL
def test_a_native_thread_opens_the_library_and_waits_for_nobody(maker, plugins, kind, options):
    opener = maker.plugin("opener", OPENER, flags=["-ldl", "-lpthread"])
    shown, said = start(
        f"""
        opener = ctypes.{kind}(sys.argv[3])
        print(opener.open_elsewhere(os.fsencode(sys.argv[2])))
        print(refused() is not None)
        """,
        *plugins,
        opener,
        options=options,
    )
    assert shown == ["1", "True"]
    assert said.count(WARNED) == (not options)


def test_a_hook_that_opens_the_library_is_not_disturbed(plugins):
    shown, _ = start(
        """
        level = pf.define("level", 1)
        level.validate(lambda value: bool(ctypes.CDLL(sys.argv[2])))
        try:
            level.value = 2
        except pf.RefusedModuleWarning:
            print("warned")
        print(level.value)
        """,
        *plugins,
        options=["-W", "error"],
    )
    assert shown == ["warned", "2"]


def test_a_library_that_is_refused_at_exit_is_told(plugins):
    _, said = start(
        """
        import atexit
        atexit.register(ctypes.CDLL, sys.argv[2])
        """,
        *plugins,
    )
    assert said.count(WARNED) == 1


@needs_fork
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_fork_knows_of_a_refusal_and_is_told_of_its_own(plugins):
    shown, said = start(
        """
        def child(name, open_it):
            sys.stdout.flush()
            sys.stderr.flush()
            if os.fork() == 0:
                if open_it:
                    ctypes.CDLL(sys.argv[2])
                print(name, refused() is not None, flush=True)
                sys.stderr.flush()
                os._exit(0)
            os.wait()

        child("its own", True)
        ctypes.CDLL(sys.argv[2])
        child("its parent's", False)
        """,
        *plugins,
    )
    assert shown == ["its own True", "its parent's True"]
    assert said.count(WARNED) == 2


def test_a_flag_object_of_cpp_that_is_refused_alone_is_told_once(plugins, tmp_path):
    out = tmp_path / "liblate.so"
    code = write(tmp_path / "late.cpp", LATE)
    run(*CXX, "-std=c++11", "-shared", "-fPIC", f"-I{INCLUDE}", code, "-o", out)
    shown, said = start(
        """
        ctypes.CDLL(sys.argv[2])
        print(len(refused().errors), "late_sound" in pf.FLAGS)
        """,
        plugins[0],
        out,
    )
    assert shown == ["2 True"]
    assert said.count(WARNED) == 1
    assert "liblate.so: a flag was refused, and its own code sees only the default: " in said


PYBIND11 = """
#include <pd_flags.h>
#include <pybind11/pybind11.h>
PD_DEFINE_int32(shared_port, 90, "Port");
PYBIND11_MODULE(refused_extension, module) {
  module.def("port", [] { return (int)FLAGS_shared_port; });
}
"""


@pytest.mark.extended  # takes a second or more
def test_an_extension_module_of_pybind11_that_is_refused_is_imported_and_told(plugins, tmp_path):
    headers = [f"-I{INCLUDE}", f"-isystem{package('pybind11').get_include()}"]
    code = write(tmp_path / "extension.cpp", PYBIND11)
    out = tmp_path / "refused_extension.so"
    options = ["-std=c++17", "-O0", "-shared", "-fPIC", "-fvisibility=hidden"]
    import sysconfig

    python_headers = f"-I{sysconfig.get_path('include')}"
    run(*CXX, *options, *headers, python_headers, code, "-o", out)
    script = """
    import refused_extension
    print(refused_extension.port(), refused() is not None)
    """
    shown, said = start(script, plugins[0], PYTHONPATH=str(tmp_path))
    assert shown == ["90 True"]
    assert said.count(WARNED) == 1
    assert f"{out}: was refused" in said
    assert "import refused_extension" in said or "<string>:" in said
    strict, silent = start(script, plugins[0], options=["-W", "error"], PYTHONPATH=str(tmp_path))
    assert (strict, silent) == (["90 True"], "")


def test_a_sub_interpreter_that_opens_the_library_is_not_disturbed(plugins):
    shown, said = start(
        """
        try:
            import _interpreters as interpreters
            own = interpreters.create("legacy")
        except ImportError:
            import _xxsubinterpreters as interpreters
            own = interpreters.create(isolated=False)
        interpreters.run_string(own, f"import ctypes; ctypes.CDLL({sys.argv[2]!r})")
        interpreters.destroy(own)
        print(refused() is not None)
        """,
        *plugins,
    )
    assert shown == ["True"]
    assert said.count(WARNED) <= 1


def test_a_warning_of_a_refused_module_is_a_flag_warning():
    assert issubclass(pf.RefusedModuleWarning, pf.FlagWarning)


def test_hundreds_of_refusals_at_once_are_each_told_once(maker, plugins):
    library = maker.plugin("many", SECOND.replace("second_other", "many_other"))
    names = []
    for number in range(100):
        copy = library.with_name(f"libmany{number}.so")
        copy.write_bytes(library.read_bytes())
        names.append(copy)
    shown, said = start(
        """
        threads = [threading.Thread(target=ctypes.CDLL, args=(name,)) for name in sys.argv[2:]]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """,
        plugins[0],
        *names,
        options=["-W", "always"],
    )
    assert (shown, said.count(WARNED)) == ([], 100)
