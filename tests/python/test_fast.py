"""The plain cases, which C does, and the others, which Python does: nobody sees the border."""

from __future__ import annotations

import ctypes
import enum
import gc
import inspect
import math
import sys
import threading
import warnings
import weakref
from typing import Any

import pytest
from support import build_plugin, run, with_subinterpreters, write

import paddle_flags as pf
from paddle_flags._core import paths
from paddle_flags._native import ffi


class Text(str):
    __slots__ = ()


class Number(enum.IntEnum):
    SEVEN = 7


VALUES = [
    True,
    False,
    0,
    -1,
    7,
    2**31,
    2**32 - 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
    -(2**63),
    10**400,
    Number.SEVEN,
    0.5,
    3.0,
    math.inf,
    "",
    "text",
    "Grüße",
    "\udc80",
    "\ud800",
    "a\0b",
    Text("own"),
    b"bytes",
    None,
    (1, 2),
    [],
    object,
]
DEFAULTS = {
    "bool": False,
    "int32": 1,
    "uint32": 1,
    "int64": 1,
    "uint64": 1,
    "double": 0.25,
    "string": "a",
}


def outcome(flag, do) -> tuple[object, ...]:
    """What comes of setting a flag: its value and type, or the error with its text."""
    flag.reset()
    try:
        do()
    except pf.FlagError as error:
        return type(error), str(error), error.status, flag.value
    return flag.value, type(flag.value)


@pytest.mark.parametrize("kind", DEFAULTS)
def test_each_way_to_set_takes_and_refuses_the_same_values(name, kind):
    flag = pf.define(name, DEFAULTS[kind], type=kind)
    for value in VALUES:
        expected = outcome(flag, lambda value=value: pf.FLAGS.update({name: value}))
        for do in (
            lambda value=value: setattr(flag, "value", value),
            lambda value=value: setattr(pf.FLAGS, name, value),
            lambda value=value: pf.FLAGS.update({name: value}),
        ):
            assert outcome(flag, do) == expected, value


@pytest.mark.parametrize("attribute", [True, False])
def test_all_refusals_of_one_value_come_together_with_what_caused_them(name, attribute):
    flag = pf.define(name, 1)
    flag.validate(lambda value: value < 5, "expected less than 5")
    flag.validate(lambda value: 1 // value >= 0, "expected something else")

    def change(value: int) -> None:
        if attribute:
            setattr(pf.FLAGS, name, value)
        else:
            flag.value = value

    with pytest.raises(pf.FlagValueError) as slow:
        pf.FLAGS.update({name: 9})
    with pytest.raises(pf.FlagValueError) as fast:
        change(9)
    assert [str(error) for error in fast.value.errors] == [str(e) for e in slow.value.errors]
    with pytest.raises(pf.FlagValueError, match="ZeroDivisionError") as failed:
        change(0)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    assert flag.value == 1


def test_a_validator_is_asked_once_for_a_value_that_it_refuses(name):
    pf.define(name, 1)
    asked = []
    refuse = pf.FLAGS[name].validate(lambda value: asked.append(value) is not None, "not that")
    with refuse, pytest.raises(pf.FlagValueError):
        setattr(pf.FLAGS, name, 2)
    assert asked == [2]


@pytest.mark.parametrize("kind", DEFAULTS)
def test_an_override_takes_and_refuses_what_a_set_does(name, kind):
    flag = pf.define(name, DEFAULTS[kind], type=kind)

    def override(value: object) -> None:
        with pf.override({name: value}):
            seen.append((flag.value, type(flag.value), flag.source))

    for value in VALUES:
        seen: list[object] = []
        expected = outcome(flag, lambda value=value: pf.FLAGS.update({name: value}))
        got = outcome(flag, lambda value=value: override(value))
        if seen:
            assert seen == [(*expected, "override")]
        else:  # the message begins with the place of the override if C makes it
            assert (got[0], *got[2:]) == (expected[0], *expected[2:])
            assert str(got[1]).endswith(str(expected[1]))
        assert flag.value == DEFAULTS[kind]


def test_an_override_of_many_flags_takes_all_or_none_and_has_one_place(name):
    flags = [pf.define(f"{name}_{n}", 1, max=5) for n in range(12)]
    for count in (0, 1, 8, 9, 12):
        with pf.override({flag.name: 2 for flag in flags[:count]}):
            assert [flag.value for flag in flags] == [2] * count + [1] * (12 - count)
            assert len({flag.place for flag in flags[:count]}) == min(count, 1)
            assert all(str(flag.place).startswith(__file__) for flag in flags[:count])
        with pytest.raises(pf.FlagError) as caught:
            pf.override({**{flag.name: 2 for flag in flags[:count]}, flags[0].name: 9}).__enter__()
        assert len(caught.value.errors) == 1
        assert [flag.value for flag in flags] == [1] * 12


def test_a_validator_is_asked_once_about_an_override_that_it_refuses(name):
    pf.define(name, 1)
    asked = []
    refuse = pf.FLAGS[name].validate(lambda value: asked.append(value) is not None, "not that")
    with refuse, pytest.raises(pf.FlagValueError, match="not that"):
        pf.override({name: 2}).__enter__()
    assert asked == [2]


def test_an_interrupt_in_a_callback_reaches_who_assigns_to_an_attribute(name):
    flag = pf.define(name, 1)

    def interrupt(_: object) -> bool:
        raise KeyboardInterrupt

    for hook in (flag.validate(interrupt), flag.watch(interrupt)):
        with hook, pytest.raises(KeyboardInterrupt):
            setattr(pf.FLAGS, name, 2)
    setattr(pf.FLAGS, name, 3)
    assert flag.value == 3


def test_a_warning_of_an_assignment_is_about_the_line_that_assigns(name):
    pf.define(name, 1, deprecated="use another")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        setattr(pf.FLAGS, name, 2)
    assert [warning.filename for warning in caught] == [__file__]


# ---- Names ----


def test_attributes_that_are_no_flags_win_however_often_they_are_asked_for(name):
    flags = [pf.define(each, name) for each in ("update", "mro", "__own__")]
    for _ in range(3):
        assert [pf.FLAGS[flag.name] for flag in flags] == flags
        assert callable(pf.FLAGS.update)
        assert name == pf.FLAGS.mro
        with pytest.raises(AttributeError):
            getattr(pf.FLAGS, "__own__")  # noqa: B009 - Python would mangle it
        for taken in ("update", "mro"):
            with pytest.raises(pf.FlagNameError, match="is not a flag"):
                setattr(pf.FLAGS, taken, "b")


def test_an_alias_is_read_set_and_dropped_as_the_name_is(name):
    flag = pf.define(name, 1, aliases=[f"{name}_alias"])
    for _ in range(2):
        setattr(pf.FLAGS, f"{name}_alias", 5)
        assert (getattr(pf.FLAGS, f"{name}_alias"), getattr(pf.FLAGS, name)) == (5, 5)
        delattr(pf.FLAGS, f"{name}_alias")
        assert flag.value == getattr(pf.FLAGS, name.replace("_", "-")) == 1
    with pytest.raises(pf.UndefinedFlagError, match="did you mean"):
        getattr(pf.FLAGS, f"{name}_alia")


@pytest.mark.parametrize("other", [0, None, ["x"], "", "\udc80", "a\0b", Text("missing")])
def test_what_names_no_flag_is_not_in_flags(name, other):
    assert other not in pf.FLAGS
    assert f"{name}_missing" not in pf.FLAGS


def test_a_flag_is_in_flags_by_each_of_its_names_while_it_is_defined(name, tmp_path):
    pf.define(name, 1, aliases=[f"{name}_alias"])
    for _ in range(2):
        assert name in pf.FLAGS
        assert Text(name) in pf.FLAGS
        assert f"{name}_alias" in pf.FLAGS
        assert f"{name}-alias" in pf.FLAGS
        assert getattr(pf.FLAGS, name) == 1  # from now on it is known
    code = write(tmp_path / "code.c", PLUGIN.format(type="int32", name=f"{name}_x", value=1))
    path = build_plugin(tmp_path / "libx.so", code)
    for _ in range(2):
        with pf.load_plugin(path):
            assert f"{name}_x" in pf.FLAGS
            assert pf.FLAGS[f"{name}_x"].source == "default"
        assert f"{name}_x" not in pf.FLAGS


def test_the_source_of_an_undefined_flag_is_an_error(name, tmp_path):
    code = write(tmp_path / "code.c", PLUGIN.format(type="int32", name=f"{name}_x", value=1))
    with pf.load_plugin(build_plugin(tmp_path / "libx.so", code)):
        flag = pf.FLAGS[f"{name}_x"]
    with pytest.raises(pf.UndefinedFlagError, match=f"{name}_x"):
        _ = flag.source


def test_another_view_of_the_flags_is_one_too(name):
    pf.define(name, 1)
    view = type(pf.FLAGS)()
    setattr(view, name, 2)
    assert getattr(pf.FLAGS, name) == getattr(view, name) == 2


# ---- Lists ----


def test_a_list_that_did_not_change_is_the_same_tuple(name):
    flag = pf.define(name, [1, 2, 3])
    first = flag.value
    assert first == (1, 2, 3)
    assert flag.value is first
    assert getattr(pf.FLAGS, name) is first


def test_a_list_is_read_anew_whoever_changes_it(name):
    flag = pf.define(name, [1, 2])
    library = ctypes.CDLL(paths.get_shared_library())
    library.pd_flag_set_from_string.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    assert flag.value == (1, 2)
    assert library.pd_flag_set_from_string(address(flag), b"3,4", None) == 0
    assert flag.value == (3, 4)
    thread = threading.Thread(target=setattr, args=(pf.FLAGS, name, [5]))
    thread.start()
    thread.join()
    assert flag.value == (5,)
    with pf.override({name: []}):
        assert flag.value == ()
    assert flag.value == (5,)
    flag.reset()
    assert flag.value == (1, 2)


@pytest.mark.parametrize("first", ["int64", "string", "bool", "double"])
def test_one_text_is_read_as_each_type_of_list_that_has_it(name, tmp_path, first):
    values = {"int64": (1, 0), "string": ("1", "0"), "bool": (True, False), "double": (1.0, 0.0)}
    for item in (first, *values):
        code = write(tmp_path / f"{item}.c", LIST_PLUGIN.format(name=f"{name}_x", item=item))
        with pf.load_plugin(build_plugin(tmp_path / f"lib{item}.so", code)):
            for _ in range(2):
                assert repr(getattr(pf.FLAGS, f"{name}_x")) == repr(values[item])


def test_nothing_is_kept_of_a_sensitive_list(name):
    flag = pf.define(name, ["a", "b"], sensitive=True)
    assert flag.value == ("a", "b")
    assert flag.value is not flag.value


def test_nothing_is_kept_of_what_a_list_is_given_once_it_is_sensitive(name, tmp_path):
    for item, secret in (("int64", (5, 6)), ("int64, .sensitive = true", (7, 8))):
        code = write(tmp_path / "code.c", LIST_PLUGIN.format(name=f"{name}_x", item=item))
        with pf.load_plugin(build_plugin(tmp_path / f"lib{len(item)}.so", code)):
            flag = pf.FLAGS[f"{name}_x"]
            flag.value = secret
            assert flag.value == secret
            assert (flag.value is flag.value) == (not flag.sensitive)


# ---- A flag's life ----

PLUGIN = """
#include <pd_flags.h>
PD_DEFINE_{type}({name}, {value}, "Of a plugin");
"""
LIST_PLUGIN = """
#include <pd_flags.h>
PD_DEFINE_string({name}, "1,0", "Of a plugin", .list = PD_TYPE_{item});
"""
# Each type, and the value that Python sees.
LIVES = [
    ("int32", "-3", -3),
    ("string", '"a"', "a"),
    ("bool", "true", True),
    ("double", "0.5", 0.5),
    ("uint64", "18446744073709551615u", 2**64 - 1),
    ("string", '"b"', "b"),
    ("uint32", "4294967295u", 2**32 - 1),
    ("int64", "INT64_MIN", -(2**63)),
]


def test_a_flag_that_comes_back_with_another_type_gives_values_of_that_type(name, tmp_path):
    flag = None
    for number, (kind, text, value) in enumerate(LIVES):
        code = write(
            tmp_path / f"{number}.c", PLUGIN.format(type=kind, name=f"{name}_x", value=text)
        )
        with pf.load_plugin(build_plugin(tmp_path / f"lib{number}.so", code)) as plugin:
            flag = plugin.flags[f"{name}_x"] if flag is None else flag
            assert plugin.flags == {flag.name: flag}
            for _ in range(2):
                seen = [flag.value, getattr(pf.FLAGS, f"{name}_x")]
                assert [(each, type(each)) for each in seen] == [(value, type(value))] * 2
            setattr(pf.FLAGS, f"{name}_x", value)
            flag.value = value
            assert flag.history[0].source == "run time"
            wrong = 1 if isinstance(value, str) else "1"
            with pytest.raises(pf.FlagTypeError):
                setattr(pf.FLAGS, f"{name}_x", wrong)
            flag.reset()
        with pytest.raises(pf.UndefinedFlagError, match="has been unloaded"):
            _ = flag.value
        with pytest.raises(pf.UndefinedFlagError, match="has been unloaded"):
            flag.value = value
        with pytest.raises(pf.UndefinedFlagError, match="no flag is named"):
            getattr(pf.FLAGS, f"{name}_x")
        with pytest.raises(pf.UndefinedFlagError, match="no flag is named"):
            setattr(pf.FLAGS, f"{name}_x", value)


def test_a_flag_is_let_go_of_by_weak_references_and_was_never_made_by_hand():
    empty = pf.Flag.__new__(pf.Flag)
    with pytest.raises(pf.FlagArgumentError):
        _ = empty.value
    with pytest.raises(pf.FlagArgumentError):
        empty.value = 1
    with pytest.raises(pf.FlagArgumentError):
        del empty.value
    seen = weakref.ref(empty)
    del empty
    gc.collect()
    assert seen() is None


# ---- Threads ----

WRITER = """
#include <stdatomic.h>
#include <time.h>
#include <pd_flags.h>

typedef int set_string(pd_flag *, const char *, pd_error *);
typedef int set_int64(pd_flag *, int64_t, pd_error *);
static atomic_int stop;

/* Set a text and a number, by functions of the library, until told to end. */
long write_both(set_string *text, pd_flag *a, set_int64 *number, pd_flag *b) {
  long count = 0;
  for (; !atomic_load(&stop); count++) {
    text(a, count & 1 ? "odd, and quite a bit longer" : "even", NULL);
    number(b, count & 1 ? -1 : 0x7777777700000000, NULL);
  }
  return count;
}
void end(void) { atomic_store(&stop, 1); }

/* Changes wait for another thread, which is that of an interpreter. */
static atomic_int waiting, released, missed;
static void watch(pd_flag *flag, void *context) {
  atomic_store(&waiting, 1);
  for (int i = 0; i < 5000 && !atomic_load(&released); i++) {
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  atomic_store(&missed, !atomic_load(&released));
  atomic_store(&waiting, 0);
  atomic_store(&released, 0);
}
int is_waiting(void) { return atomic_load(&waiting); }
int was_missed(void) { return atomic_load(&missed); }
void release(void) { atomic_store(&released, 1); }
PD_DEFINE_int64(%s_slow, 1, "A change of it waits", .watch = watch);
"""


@pytest.fixture
def native(name, tmp_path):
    code = write(tmp_path / "writer.c", WRITER % name)
    path = build_plugin(tmp_path / "libwriter.so", code, flags=("-Wno-unused-parameter",))
    with pf.load_plugin(path):
        yield ctypes.CDLL(str(path))


def address(flag: pf.Flag[Any]) -> int:
    return int(ffi.cast("uintptr_t", flag.handle))


def test_readers_beside_a_native_writer_see_whole_values_alone(name, native):
    text, number = pf.define(f"{name}_text", "even"), pf.define(f"{name}_number", -1)
    library = ctypes.CDLL(paths.get_shared_library())
    write_both = native.write_both
    write_both.restype = ctypes.c_long
    write_both.argtypes = [ctypes.c_void_p] * 4
    arguments = [
        ctypes.cast(library.pd_flag_set_string, ctypes.c_void_p),
        address(text),
        ctypes.cast(library.pd_flag_set_int64, ctypes.c_void_p),
        address(number),
    ]
    counts = []
    writer = threading.Thread(target=lambda: counts.append(write_both(*arguments)))
    writer.start()
    seen = set()
    for _ in range(20_000):
        seen |= {text.value, number.value}
        seen |= {getattr(pf.FLAGS, text.name), getattr(pf.FLAGS, number.name)}
    native.end()
    writer.join()
    assert counts[0] > 0
    assert seen <= {"even", "odd, and quite a bit longer", -1, 0x7777777700000000}


@pytest.mark.parametrize("way", ["attribute", "value"])
def test_other_threads_run_while_a_native_watcher_waits_for_one(name, native, way):
    def let_go() -> None:
        while not native.is_waiting():
            pass
        native.release()

    assert getattr(pf.FLAGS, f"{name}_slow") == 1  # from now on C knows the attribute
    other = threading.Thread(target=let_go)
    other.start()
    if way == "attribute":
        setattr(pf.FLAGS, f"{name}_slow", 2)
    else:
        pf.FLAGS[f"{name}_slow"].value = 2
    other.join()
    assert not native.was_missed()
    native.release()  # the watcher need not wait when the plugin is unloaded


INTERPRETERS = """
try:
    import _interpreters as interpreters
    options = ["legacy"]
except ImportError:
    import _xxsubinterpreters as interpreters
    options = []
flag = pf.define("outer", 1)
for number in range(3):
    own = interpreters.create(*options) if options else interpreters.create(isolated=False)
    failed = interpreters.run_string(own, '''
import paddle_flags as pf
pf.FLAGS.outer += 1
pf.define("inner", "a").value = "b"
assert pf.parse(["program", "--outer=7", "rest"]) == ["rest"]
''')
    assert failed is None, failed
    interpreters.destroy(own)
    assert (flag.value, pf.FLAGS.outer, pf.FLAGS.inner) == (number + 2, number + 2, "b")
pf.define("old", 1, deprecated="use inner")
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    pf.FLAGS.old = 2
print(len(caught))
"""


@with_subinterpreters
def test_interpreters_of_one_process_come_and_go_and_share_the_flags(python):
    assert python(INTERPRETERS).stdout == "1\n"


# ---- Definitions and command lines ----


def test_a_plain_definition_says_the_same_as_one_that_python_makes(name):
    plain = pf.define(
        name, 3, "Help", min=1, max=9, category="Own", hidden=True, deprecated="Why", type="int32"
    )
    other = pf.define(
        f"{name}_other", Number(7) - 4, Text("Help"), min=1, max=9, category="Own", hidden=True,
        deprecated="Why", type="int32",
    )  # fmt: skip
    facts = (
        "type", "default", "help", "min", "max", "category", "hidden", "deprecated", "module",
        "file", "read_only", "startup_only", "required", "sensitive", "experimental", "unit",
    )  # fmt: skip
    assert [getattr(plain, fact) for fact in facts] == [getattr(other, fact) for fact in facts]
    assert plain.file == __file__
    assert other.line - plain.line == 3


def test_define_shows_its_parameters_and_says_which_are_wrong(name):
    parameters = inspect.signature(pf.define).parameters
    assert [*parameters][:5] == ["name", "default", "help", "type", "items"]
    assert {"hidden", "required", "category", "retired", "old_names"} < {*parameters}
    with pytest.raises(TypeError, match=r"^define\(\) got an unexpected keyword argument 'minn'"):
        pf.define(name, 1, minn=1)
    with pytest.raises(TypeError, match=r"^define\(\) takes from 2 to 3 positional arguments"):
        pf.define(name, 1, "Help", 5)


def test_one_definition_met_twice_gives_one_object(name):
    flags = [pf.define(name, 3, "Help") for _ in range(2)]
    assert flags[0] is flags[1] is pf.FLAGS[name]


def test_a_definition_whose_waiting_value_is_refused_is_made_all_the_same(name):
    pf.parse(["program", f"--{name}=x"], allow_pending=True)
    with pytest.raises(pf.FlagValueError, match=f"--{name}=x: expected"):
        pf.define(name, 3)
    assert pf.FLAGS[name].value == 3


def test_arguments_come_back_as_the_objects_that_they_were(name):
    pf.define(name, 0)
    words = ["", "a b", "\udcff", Text("own"), "x" * 5000, *map(str, range(1000))]
    line = ["program", *words[:3], f"--{name}=5", *words[3:]]
    rest = pf.parse(line)
    assert len(rest) == len(words)
    assert all(mine is theirs for mine, theirs in zip(rest, words))
    assert pf.FLAGS[name].value == 5


@pytest.mark.parametrize("word", [5, None, b"x", "a\0b", "\ud800"])
def test_a_word_that_is_no_text_is_refused(name, word):
    flag = pf.define(name, 0)
    with pytest.raises((pf.FlagTypeError, pf.FlagValueError), match=r"^argv"):
        pf.parse(["program", f"--{name}=5", word], exit=False)
    assert flag.value == 0


# ---- The module ----


def test_an_import_loads_nothing_that_takes_its_time():
    text = """
import sys
slow = {"typing", "re", "enum", "collections", "contextlib", "threading", "warnings", "json"}
for name in slow:
    sys.modules.pop(name, None)
import paddle_flags
print(sorted(slow & set(sys.modules)))
"""
    assert run(sys.executable, "-c", text).stdout == "[]\n"
