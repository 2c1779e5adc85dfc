"""Values that come before their flags: kept, applied in order, checked, reported."""

from __future__ import annotations

import os

import pytest
from support import write

import paddle_flags as pf


def give(*words: str) -> list[str]:
    return pf.parse(["prog", *words], allow_pending=True, exit=False)


def test_a_value_waits_for_its_flag_and_keeps_its_place(name):
    assert give("a", f"--{name}=7", "b") == ["a", "b"]
    assert name not in pf.FLAGS
    flag = pf.define(name, 1)
    assert (flag.value, flag.source, flag.place) == (7, "argv", "argv[2]")


def test_the_later_of_two_waiting_values_holds(name):
    give(f"--{name}=7", f"--{name}=8")
    give(f"--{name}=9")
    assert pf.define(name, 1).value == 9


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--{}"], True),
        (["--no{}"], False),
        (["--no-{}"], False),
        (["--no{}", "--{}"], True),
        (["--{}", "--no_{}"], False),
        (["--{}=true", "--no{}"], False),
    ],
)
def test_a_waiting_bool_may_be_negated(name, words, value):
    give(*(word.format(name) for word in words))
    assert pf.define(name, not value).value is value


def test_an_alias_serves_a_waiting_value(name):
    give(f"--{name}-old=7", f"--{name}=8", f"--{name}_old=9")
    assert pf.define(name, 1, aliases=[f"{name}_old"]).value == 9


def test_a_plugin_that_comes_late_finds_its_values_before_its_constructors_run(
    name, plugin, python
):
    source = f"""
    PD_DEFINE_int32({name}_level, 6, "Level", .min = 1, .max = 9);
    static int seen;
    __attribute__((constructor)) static void look(void) {{ seen = FLAGS_{name}_level; }}
    int level(void); int level(void) {{ return seen; }}
    """
    text = f"""
import ctypes
print(pf.parse(allow_pending=True))
print(ctypes.CDLL(pf.load_plugin(sys.argv[-1]).path).level(), pf.FLAGS["{name}_level"].source)
"""
    path = plugin(source)
    assert python(text, f"--{name}_level=3", path).stdout == f"['{path}']\n3 argv\n"


@pytest.mark.parametrize("load", ["pf.load_plugin(path).path", "path"])
def test_a_value_in_the_environment_reaches_a_plugin_that_is_loaded_after_parse(
    load, name, plugin, python
):
    source = f"""
    PD_DEFINE_int32({name}_level, 6, "Level", .min = 1, .max = 9);
    static int seen;
    __attribute__((constructor)) static void look(void) {{ seen = FLAGS_{name}_level; }}
    int first(void); int first(void) {{ return seen; }}
    int now(void); int now(void) {{ return FLAGS_{name}_level; }}
    """
    text = f"""
import ctypes
path = sys.argv.pop()
pf.parse(env_prefix="FLAGS_")
library = ctypes.CDLL({load})
flag = pf.FLAGS["{name}_level"]
print(library.first(), library.now(), flag.value, flag.source, flag.place)
"""
    env = {**os.environ, f"FLAGS_{name}_level": "3"}
    seen = python(text, plugin(source), env=env).stdout
    assert seen == f"3 3 3 environment FLAGS_{name}_level\n"


def test_nothing_of_a_lower_rank_overrides_a_waiting_value(python):
    text = """
pf.parse(["prog", "--x=3"], allow_pending=True, env_prefix="APP_")
flag = pf.define("x", 1)
print([(entry.value, entry.source) for entry in flag.history])
"""
    ended = python(text, env={**os.environ, "APP_x": "2"})
    assert ended.stdout == "[(3, 'argv'), (2, 'environment'), (1, 'default')]\n"


def test_a_waiting_value_that_does_not_suit_is_an_error_of_the_definition(name):
    give(f"--{name}=10", f"--{name}=8")
    with pytest.raises(pf.FlagValueError) as refused:
        pf.define(name, 1, max=9)
    assert str(refused.value) == f"--{name}=10: expected an integer <= 9"
    assert pf.FLAGS[name].value == 8


def test_a_space_before_a_waiting_value_is_diagnosed(name):
    assert give(f"--{name}", "12") == ["12"]
    with pytest.raises(pf.FlagParseError) as refused:
        pf.define(name, 1)
    assert str(refused.value) == (
        f"--{name}: the value is missing, expected a 64-bit integer; "
        f"before the flag is defined, only --{name}=12 is understood"
    )
    assert pf.FLAGS[name].value == 1


def test_a_refused_plugin_takes_no_waiting_value(name, plugin):
    pf.define(f"{name}_b", 1)
    give(f"--{name}_a=7")
    path = plugin(f'PD_DEFINE_int64({name}_a, 1, "");\nPD_DEFINE_int64({name}_b, 2, "");\n')
    with pytest.raises(pf.FlagConflictError):
        pf.load_plugin(path)
    assert pf.define(f"{name}_a", 1).value == 7


def test_check_pending_names_what_nobody_claimed(python):
    text = """
pf.define("level", 6)
pf.parse(["prog", "--levle=3", "--later=4", "--verbos"], allow_pending=True)
try:
    pf.check("pending")
except pf.UndefinedFlagError as error:
    print(*error.errors, sep="\\n")
pf.define("later", 1); pf.define("verbos", False); pf.define("levle", 1)
pf.check("pending")
"""
    assert python(text).stdout == (
        "--levle: the flag is not defined; did you mean 'level'?\n"
        "--later: the flag is not defined\n"
        "--verbos: the flag is not defined\n"
    )


def test_check_pending_names_values_of_flags_that_were_undefined(python):
    text = """
flag = pf.define("token", 1, sensitive=True)
pf.parse(["prog", "--token=7"])
pf.undefine(flag)
try:
    pf.check("pending")
except pf.UndefinedFlagError as error:
    print(error)
pf.define("token", 1)
pf.check("pending")
"""
    assert python(text).stdout == "--token: the flag is not defined\n"


def test_without_permission_unknown_flags_are_errors(name):
    with pytest.raises(pf.FlagParseError, match="no such flag"):
        pf.parse(["prog", f"--{name}=1"], exit=False)
    assert pf.define(name, 5).value == 5


def test_a_name_that_no_flag_can_have_does_not_wait():
    for word in ("--a b=1", "--=1", "--1x=2"):
        with pytest.raises(pf.FlagParseError):
            give(word)


def test_a_line_with_an_error_leaves_nothing_waiting(name):
    pf.define(f"{name}_n", 1)
    with pytest.raises(pf.FlagParseError):
        give(f"--{name}=7", f"--{name}_n=x")
    assert pf.define(name, 1).value == 1


# ---- namespaces ----

PORT = """
PD_DEFINE_int32(port, 80, "Port", .min = 1, .aliases = "p|po");
int port(void);
int port(void) { return FLAGS_port; }
"""


def test_two_strangers_with_one_name_live_in_their_namespaces(plugin, python):
    paths = [plugin(PORT, "one"), plugin(PORT.replace("80", "443"), "two")]
    text = """
import ctypes
one, two = (pf.load_plugin(path, namespace=space) for path, space in zip(sys.argv[1:3], "ab"))
pf.FLAGS["b.port"].value = 8443
print(list(pf.FLAGS), one.namespace, list(two.flags), pf.FLAGS["b.po"].value)
print([ctypes.CDLL(plugin.path).port() for plugin in (one, two)])
print(pf.parse(["prog", "--a.port=81", "--b.p=1"]), pf.FLAGS["a.port"].value)
"""
    assert python(text, *paths).stdout == (
        "['a.port', 'b.port'] a ['b.port'] 8443\n[80, 8443]\n[] 81\n"
    )


def test_a_value_waits_for_a_flag_in_a_namespace(plugin, python):
    text = """
pf.parse(["prog", "--a.port=81"], allow_pending=True, env_prefix="X_")
pf.load_plugin(sys.argv[1], namespace="a")
pf.load_plugin(sys.argv[2], namespace="b.c")
print(pf.FLAGS["a.port"].value, pf.FLAGS["b.c.port"].value)
"""
    env = {**os.environ, "X_b_c_port": "82"}
    assert python(text, plugin(PORT, "one"), plugin(PORT, "two"), env=env).stdout == "81 82\n"


def test_a_loaded_plugin_stays_in_its_namespace(plugin, name):
    source = PORT.replace("port", name).replace("p|po", f"{name}_p")
    path = plugin(source)
    first = pf.load_plugin(path, namespace="first")
    for other, place in (("second", "in namespace first"), ("", "in namespace first")):
        with pytest.raises(pf.FlagConflictError, match=f"is already loaded, {place}"):
            pf.load_plugin(path, namespace=other)
    pf.load_plugin(path, namespace="first").unload()
    first.unload()
    again = pf.load_plugin(path)
    with pytest.raises(pf.FlagConflictError, match="is already loaded, without a namespace"):
        pf.load_plugin(path, namespace="first")
    again.unload()


@pytest.mark.parametrize("bad", ["1", "a b", "a|b", "x" * 256, "a\0b"])
def test_what_cannot_begin_a_name_is_no_namespace(plugin, bad):
    with pytest.raises((pf.FlagNameError, pf.FlagArgumentError)):
        pf.load_plugin(plugin("int x;"), namespace=bad)


def test_a_name_that_a_namespace_makes_too_long_is_refused(plugin, name):
    path = plugin(f'PD_DEFINE_bool({name}_{"x" * 200}, true, "");\n')
    with pytest.raises(pf.FlagNameError, match="expected at most 255"):
        pf.load_plugin(path, namespace="y" * 60)


def test_imports_keep_their_names_in_a_namespace(plugin, name):
    source = f'PD_IMPORT_int64({name}, 3);\nPD_DEFINE_int64({name}_x, 1, "");\n'
    pf.define(name, 7)
    loaded = pf.load_plugin(plugin(source), namespace="ns")
    assert list(loaded.flags) == [f"ns.{name}_x"]
    loaded.unload()


@pytest.mark.parametrize(
    ("files", "value", "place"),
    [
        (["[late]\nb = 5\nc = 6\n"], {"b": 5, "c": 6}, "1.toml:2:1"),
        (["late.c = 6\nlate.b = 5\n"], {"c": 6, "b": 5}, "1.toml:1:1"),
        (["[late]\nb = 1\nc = 2\n", "[late]\nb = 3\n"], {"b": 3}, "2.toml:2:1"),
        (["[old-late]\nb = 5\n"], {"b": 5}, "1.toml:2:1"),
    ],
)
def test_a_table_waits_for_a_flag_that_is_a_dict(python, tmp_path, files, value, place):
    for number, text in enumerate(files, 1):
        write(tmp_path / f"{number}.toml", text)
    paths = [f"{number}.toml" for number in range(1, len(files) + 1)]
    text = f"""
pf.parse(config={paths}, allow_pending=True)
late = pf.define("late", {{"a": 1}}, aliases=["old_late"])
print(late.value, late.source, late.place, pf.reload())
pf.check("pending")
"""
    assert python(text, cwd=tmp_path).stdout == f"{value} file {place} []\n"


def test_a_bad_value_in_a_table_that_waited_is_an_error_of_the_definition(python, tmp_path):
    write(tmp_path / "a.toml", "[late]\nb = 5\nc = 'x'\n")
    text = """
pf.parse(config="a.toml", allow_pending=True)
try:
    pf.define("late", {"a": 1})
except pf.FlagValueError as error:
    print(error)
"""
    said = python(text, cwd=tmp_path).stdout
    assert said.startswith("a.toml:2:1: --late=")
    assert "item 2: expected an integer" in said
