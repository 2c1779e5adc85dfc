"""load_plugin(): native libraries whose flags Python sees, sets and shares."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import CC, WINDOWS, build_plugin, close_library, link_python, run, write

import paddle_flags as pf

GETTERS = """
PD_DEFINE_bool({n}_check, false, "Check");
PD_DEFINE_int32({n}_level, 6, "Level", .min = 1, .max = 9, .category = "speed");
PD_DEFINE_double({n}_rate, 0.5, "Rate");
PD_DEFINE_string({n}_mode, "fast", "Mode", .choices = "fast|best", .aliases = "{n}_m");
int level(void) {{ return FLAGS_{n}_level; }}
double rate(void) {{ return FLAGS_{n}_rate; }}
const char *mode(void) {{ return FLAGS_{n}_mode; }}
int check(void);
int check(void) {{ return FLAGS_{n}_check; }}
"""
PROTOTYPES = "int level(void); double rate(void); const char *mode(void);\n"


def code(name: str) -> str:
    return PROTOTYPES + GETTERS.format(n=name)


def native(plugin: pf.Plugin) -> ctypes.CDLL:
    library = ctypes.CDLL(plugin.path)
    library.mode.restype = ctypes.c_char_p
    library.rate.restype = ctypes.c_double
    return library


def close(library: ctypes.CDLL) -> None:
    close_library(library)


def test_a_plugin_that_links_nothing_of_ours_reads_what_python_sets(name, plugin):
    loaded = pf.load_plugin(plugin(code(name)))
    library = native(loaded)
    pf.FLAGS[f"{name}_level"].value = 9
    pf.FLAGS[f"{name}_mode"].value = "best"
    pf.FLAGS[f"{name}_rate"].value = 2.25
    pf.FLAGS.update({f"{name}_check": True})
    assert (library.level(), library.mode(), library.rate()) == (9, b"best", 2.25)
    assert library.check() == 1
    with pf.override({f"{name}_level": 1}):
        assert library.level() == 1
    assert library.level() == 9
    loaded.unload()


def test_a_plugin_tells_its_flags_in_the_order_of_its_source(name, plugin):
    path = plugin(code(name))
    loaded = pf.load_plugin(path)
    assert list(loaded.flags) == [f"{name}_{x}" for x in ("check", "level", "rate", "mode")]
    flag = loaded.flags[f"{name}_level"]
    assert (flag.type, flag.default, flag.min, flag.max) == ("int32", 6, 1, 9)
    assert (flag.category, flag.module) == ("speed", str(path))
    assert loaded.flags[f"{name}_mode"].aliases == (f"{name}_m",)
    assert loaded.flags[f"{name}_mode"].choices == ("fast", "best")
    assert flag is pf.FLAGS[f"{name}_level"]
    assert repr(loaded) == f"<Plugin {path}: 4 flags>"
    loaded.unload()


def test_a_library_without_flags_can_be_loaded(plugin):
    path = plugin("int nothing; \n#define PD_NO")
    loaded = pf.load_plugin(path)
    assert loaded.flags == {}
    loaded.unload()


def test_a_flag_of_python_is_imported_by_native_code_that_comes_before_or_after(name, plugin):
    source = f"""
    PD_IMPORT_int64({name}_threads, 3);
    PD_IMPORT_string({name}_dir, "none");
    long threads(void); const char *dir(void);
    long threads(void) {{ return (long)FLAGS_{name}_threads; }}
    const char *dir(void) {{ return FLAGS_{name}_dir; }}
    """
    before = ctypes.CDLL(pf.load_plugin(plugin(source, "before")).path)
    assert before.threads() == 3
    threads = pf.define(f"{name}_threads", 8)
    pf.define(f"{name}_dir", "/somewhere")
    after = ctypes.CDLL(pf.load_plugin(plugin(source, "after")).path)
    for library in (before, after):
        library.dir.restype = ctypes.c_char_p
        assert (library.threads(), library.dir()) == (8, b"/somewhere")
    threads.value = 12
    pf.FLAGS[f"{name}_dir"].value = "größe"
    for library in (before, after):
        assert (library.threads(), library.dir().decode()) == (12, "größe")


def test_an_import_of_another_type_refuses_the_plugin_with_both_places(name, plugin):
    pf.define(name, 8)
    path = plugin(f"PD_IMPORT_int32({name}, 3);\n")
    with pytest.raises(pf.FlagTypeError) as refused:
        pf.load_plugin(path)
    assert "test_plugin.py:" in str(refused.value)
    assert "plugin.c:2" in str(refused.value)


@pytest.mark.parametrize("other", ["double", "int"])
def test_a_conflict_within_one_library_suggests_no_namespace(tmp_path, other):
    text = 'static pd::flag<int> one{"same", 1, "H"};\nstatic pd::flag<%s> other{"same", 2, "H"};\n'
    source = write(tmp_path / "twice.cpp", "#include <pd_flags.hpp>\n" + text % other)
    with pytest.raises(pf.FlagConflictError) as refused:
        pf.load_plugin(build_plugin(tmp_path / "libtwice.so", source))
    assert "is already defined" in str(refused.value)
    assert "namespace" not in str(refused.value)


def test_a_conflict_suggests_a_namespace_that_is_free(name, plugin):
    pf.define(name, "x")
    path = plugin(f'PD_DEFINE_int32({name}, 1, "");\n', "twin")
    with pytest.raises(pf.FlagConflictError) as refused:
        pf.load_plugin(path)
    expected = f'; to give its flags other names, use load_plugin({str(path)!r}, namespace="twin")'
    assert str(refused.value).endswith(expected)
    assert str(refused.value.errors[0]).endswith(expected)
    with pf.load_plugin(path, namespace="twin"), pytest.raises(pf.FlagConflictError) as refused:
        pf.load_plugin(path)  # it is loaded, so there is no choice left
    assert "namespace=" not in str(refused.value)
    pf.define(f"twin.{name}_other", 1)
    with pytest.raises(pf.FlagConflictError) as refused:
        pf.load_plugin(path)
    assert "namespace=" not in str(refused.value)


def test_a_conflict_suggests_no_namespace_that_makes_names_too_long(plugin):
    long = "long_" + "x" * 245
    path = plugin(f'PD_DEFINE_int32({long}, 1, "");\n', "twin_of_it")
    pf.define(long, "x")
    with pytest.raises(pf.FlagConflictError) as refused:
        pf.load_plugin(path)
    assert "namespace=" not in str(refused.value)


def test_a_plugin_with_a_conflict_is_refused_whole_and_leaves_nothing(name, plugin):
    taken = pf.define(f"{name}_level", 1)
    path = plugin(code(name))
    with pytest.raises(pf.FlagConflictError) as refused:
        pf.load_plugin(path)
    text = str(refused.value)
    assert f"test_plugin.py:{taken.line}" in text
    assert "plugin.c:5" in text
    assert f"{name}_mode" not in pf.FLAGS
    assert taken.value == 1
    assert str(path) not in Path("/proc/self/maps").read_text()


def test_all_refusals_of_a_plugin_come_together(name, plugin):
    pf.define(f"{name}_level", 1)
    pf.define(f"{name}_rate", 1)
    with pytest.raises(pf.FlagConflictError) as refused:
        pf.load_plugin(plugin(code(name)))
    assert len(refused.value.errors) == 2
    assert all(isinstance(error, pf.FlagConflictError) for error in refused.value.errors)


def test_an_unloaded_plugin_leaves_objects_that_say_so(name, plugin):
    path = plugin(code(name))
    loaded = pf.load_plugin(path)
    level = loaded.flags[f"{name}_level"]
    level.value = 7
    loaded.unload()
    assert not level.defined
    assert repr(level) == f"<Flag {name}_level: not defined>"
    assert f"{name}_level" not in pf.FLAGS
    for use in (
        lambda: level.value,
        lambda: setattr(level, "value", 3),
        lambda: level.text,
        lambda: level.history,
        lambda: level.help,
        level.reset,
        level.freeze,
        lambda: pf.FLAGS[f"{name}_level"].value,
    ):
        with pytest.raises(pf.UndefinedFlagError):
            use()
    with pytest.raises(pf.FlagArgumentError, match="is already unloaded"):
        loaded.unload()
    assert (loaded.flags, loaded.loaded) == ({}, False)
    assert repr(loaded) == f"<Plugin {path}: unloaded>"


def test_a_reloaded_plugin_finds_its_values_and_old_objects_work_again(name, plugin):
    path = plugin(code(name))
    first = pf.load_plugin(path)
    level = first.flags[f"{name}_level"]
    level.value = 7
    first.unload()
    second = pf.load_plugin(path)
    assert second.flags[f"{name}_level"] is level
    assert (level.value, native(second).level()) == (7, 7)
    second.unload()


def test_a_flag_that_comes_back_with_another_type_is_read_as_that(name, plugin):
    first = pf.load_plugin(plugin(f'PD_DEFINE_string({name}, "12", "");\n', "one"))
    flag = pf.FLAGS[name]
    assert flag.value == "12"
    first.unload()
    second = pf.load_plugin(plugin(f'PD_DEFINE_int32({name}, 5, "");\n', "two"))
    assert flag.value == 5
    second.unload()
    third = pf.load_plugin(plugin(f'PD_DEFINE_bool({name}, true, "");\n', "three"))
    flag.value = False
    assert flag.value is False
    third.unload()


class Unprintable:
    def __repr__(self):
        return "hunter2"


def test_a_flag_that_comes_back_as_a_sensitive_one_shows_no_value_any_more(name, plugin):
    pf.load_plugin(plugin(f'PD_DEFINE_string({name}, "12", "");\n', "open")).unload()
    kept = pf.load_plugin(plugin(f'PD_DEFINE_string({name}, "x", "");\n', "open_too"))
    flag = pf.FLAGS[name]
    assert flag.value == "x"
    kept.unload()
    secret = f'PD_DEFINE_string({name}, "hunter2", "", .sensitive = true);\n'
    with pf.load_plugin(plugin(secret, "secret")):
        flag.value = "hunter2"
        shown = [repr(flag), str(flag), repr(flag.history), pf.explain(name)]
        for wrong in (
            lambda: flag.set_from_string("hunter2\0"),
            lambda: flag.set_from_string("hunter2\ud800"),
            lambda: flag.set_from_string(Unprintable()),
            lambda: setattr(flag, "value", "hunter2\0"),
            lambda: setattr(flag, "value", Unprintable()),
            lambda: pf.FLAGS.update({name: "hunter2\0"}),
            lambda: pf.override({name: Unprintable()}).__enter__(),
        ):
            with pytest.raises(pf.FlagError) as caught:
                wrong()
            shown.append(str(caught.value))
        assert [text for text in shown if "hunter2" in text] == []


def test_a_plugin_may_be_loaded_for_a_block(name, plugin):
    with pf.load_plugin(plugin(code(name))) as loaded:
        assert f"{name}_level" in pf.FLAGS
    assert not loaded.loaded
    assert f"{name}_level" not in pf.FLAGS
    with pf.load_plugin(loaded.path) as loaded:
        loaded.unload()


def test_unload_tells_whether_the_library_has_left(name, plugin):
    path = plugin(code(name))
    loaded = pf.load_plugin(path)
    library = native(loaded)
    assert not loaded.unload()
    assert f"{name}_level" in pf.FLAGS
    close(library)
    assert f"{name}_level" not in pf.FLAGS
    assert pf.load_plugin(path).unload()


def test_the_refusal_of_a_library_that_came_past_us_can_be_asked_for(name, plugin, python):
    path = plugin(code(name))
    text = f"""
import ctypes
pf.check("modules")
pf.define("{name}_level", 1)
ctypes.CDLL(sys.argv[1])
try:
    pf.check("modules")
except pf.FlagConflictError as error:
    print(error)
"""
    assert f"'{name}_level' is already defined" in python(text, path).stdout


def test_loading_twice_needs_unloading_twice(name, plugin):
    path = plugin(code(name))
    first, second = pf.load_plugin(path), pf.load_plugin(str(path))
    first.unload()
    assert second.flags[f"{name}_level"].value == 6
    second.unload()
    assert f"{name}_level" not in pf.FLAGS


def test_two_plugins_with_the_same_source_share_one_flag(name, plugin):
    source = code(name)
    one = pf.load_plugin(plugin(source, "same"))
    copy = Path(one.path).with_name("libcopy.so")
    copy.write_bytes(Path(one.path).read_bytes())
    two = pf.load_plugin(copy)
    pf.FLAGS[f"{name}_level"].value = 3
    libraries = [native(one), native(two)]
    assert [library.level() for library in libraries] == [3, 3]
    assert list(one.flags) == list(two.flags)
    close(libraries[0])
    one.unload()
    assert one.path not in Path("/proc/self/maps").read_text()
    pf.FLAGS[f"{name}_level"].value = 4
    assert libraries[1].level() == 4
    close(libraries[1])
    two.unload()
    assert f"{name}_level" not in pf.FLAGS


def test_a_relative_path_is_a_file_and_never_searched_for(name, plugin, monkeypatch):
    path = plugin(code(name))
    monkeypatch.chdir(path.parent)
    pf.load_plugin(path.name).unload()
    with pytest.raises(pf.PluginLoadError) as refused:
        pf.load_plugin("libm.so.6")
    folder = repr(str(Path.cwd()))
    why = "only, as a path is relative to the current directory"
    assert str(refused.value) == f"libm.so.6: no such file; looked in {folder} {why}"
    below = re.escape(repr(str(Path.cwd() / "sub")))
    with pytest.raises(pf.PluginLoadError, match=rf"; looked in {below} only"):
        pf.load_plugin("sub/../sub/none.so")


def test_what_cannot_be_loaded_is_named_with_the_reason(tmp_path, plugin):
    text = write(tmp_path / "text.so", "no library\n")
    cut = tmp_path / "cut.so"
    cut.write_bytes(plugin("int x;").read_bytes()[:40])
    unresolved = {}
    if not WINDOWS:  # where it doesn't link
        path = plugin("int missing_function(void);\nint (*f)(void) = missing_function;")
        unresolved = {path: "undefined symbol: missing_function"}
    for path, reason in {
        tmp_path / "none.so": "no such file",
        tmp_path: "is a directory",
        text: "is not a shared library",
        cut: "is cut short",
        **unresolved,
    }.items():
        with pytest.raises(pf.PluginLoadError) as refused:
            pf.load_plugin(path)
        assert str(refused.value).startswith(f"{path}: ")
        assert reason in str(refused.value)
        assert "PD_HEADER_ONLY" not in str(refused.value)
        assert isinstance(refused.value, OSError)
    with pytest.raises(pf.FlagArgumentError, match="NUL"):
        pf.load_plugin("a\0b")
    with pytest.raises(TypeError):
        pf.load_plugin(12)


@pytest.mark.skipif(WINDOWS, reason="DLLs that lack a symbol are missing: they don't link")
def test_a_plugin_that_calls_the_registry_and_links_nothing_is_told_how_to(plugin):
    calls = plugin("pd_status again(void) { return pd_flag_reset(0, 0); }")
    assert calls.exists()
    with pytest.raises(pf.PluginLoadError) as refused:
        pf.load_plugin(calls)
    told = "undefined symbol: pd_flag_reset; compile with -DPD_HEADER_ONLY, or link libpd_flags"
    assert str(refused.value) == f"{calls}: {told}"
    assert [str(error) for error in refused.value.errors] == [str(refused.value)]


def test_a_bad_value_of_the_environment_comes_back_from_the_load(name, plugin, python):
    text = f"""
pf.parse(sys.argv[:1], env_prefix="FLAGS_")
try:
    pf.load_plugin(sys.argv[1])
except pf.PluginValueError as error:
    print(error)
    plugin = error.plugin
print(plugin.flags["{name}_level"].value, plugin.flags["{name}_rate"].value)
"""
    env = {**os.environ, f"FLAGS_{name}_level": "10", f"FLAGS_{name}_rate": "7.5"}
    ended = python(text, plugin(code(name)), env=env)
    assert ended.stdout == (
        f"environment: FLAGS_{name}_level=10: expected an integer in [1, 9]\n6 7.5\n"
    )


def test_a_python_extension_module_joins_by_import(name, tmp_path):
    import sysconfig

    has_limited_api = not sysconfig.get_config_var("Py_GIL_DISABLED")
    source = f"""
    {"#define Py_LIMITED_API 0x030B0000" * has_limited_api}
    #include <Python.h>
    #include <pd_flags.h>
    PD_DEFINE_int32({name}_depth, 3, "Depth");
    static PyObject *depth(PyObject *self, PyObject *none) {{
      (void)self; (void)none;
      return PyLong_FromLong(FLAGS_{name}_depth);
    }}
    static PyMethodDef methods[] = {{{{"depth", depth, METH_NOARGS, NULL}},
                                    {{NULL, NULL, 0, NULL}}}};
    static struct PyModuleDef module = {{PyModuleDef_HEAD_INIT, "ext_{name}", NULL, -1, methods,
                                        NULL, NULL, NULL, NULL}};
    PyMODINIT_FUNC PyInit_ext_{name}(void) {{ return PyModule_Create(&module); }}
    """
    file = write(tmp_path / "ext.c", source)
    out = tmp_path / f"ext_{name}{'.pyd' if WINDOWS else '.so'}"
    headers = ["-I" + sysconfig.get_path("include"), "-I" + pf.get_include()]
    run(*CC, "-shared", "-fPIC", *headers, file, "-o", out, *link_python())
    for order in ("import paddle_flags as pf, ext_{n}", "import ext_{n}, paddle_flags as pf"):
        text = order.format(n=name) + f"; pf.FLAGS.{name}_depth = 5; print(ext_{name}.depth())"
        ended = subprocess.run(
            [sys.executable, "-c", text],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ended.stdout == "5\n"
