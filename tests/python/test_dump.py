"""The way back: what dump() writes gives the same values again."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support import WINDOWS, package, run, tool, write

import paddle_flags as pf
from paddle_flags.extend import format_install_command

package("tomli_w", "tomli-w")

# ---- any definitions, any values ----

TEXT = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=12)
TRICKY = st.sampled_from(
    ["", " ", "\n", "$'", "$'x'", "'", '"', "\\", "a\\nb", "#x", "--x=1", ",", "a,b", '""', "\r\n",
     "\ufeff", "\x1b[31m", "\x7f\x85\u2028", "é", "日本", "true", "1.10", "null", "[x]", "x ",
     "\tx", "${HOME}", "\\x41", "e\u0301"]
)  # fmt: skip
WORDS = TEXT | TRICKY | st.lists(TRICKY, max_size=3).map("".join)
RAW = st.binary(max_size=8).map(lambda b: b.replace(b"\0", b"").decode("utf-8", "surrogateescape"))
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=True) | st.sampled_from([0.1, -0.0, 1e300, 5e-324, 3.0])


def kinds(
    words: st.SearchStrategy[str],
) -> dict[str, tuple[dict[str, Any], st.SearchStrategy[Any]]]:
    """Give how a flag is defined, and what its values are."""

    def items(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
        return st.lists(of, max_size=4).map(tuple)

    return {
        "bool": ({}, st.booleans()),
        "int32": ({"type": "int32"}, INT32),
        "uint32": ({"type": "uint32"}, st.integers(0, 2**32 - 1)),
        "int64": ({}, INT64),
        "uint64": ({"type": "uint64"}, st.integers(0, 2**64 - 1)),
        "double": ({}, FLOATS),
        "string": ({}, words),
        "bytes": ({"unit": "bytes"}, INT64),
        "seconds": ({"unit": "seconds"}, FLOATS),
        "bools": ({"items": bool}, items(st.booleans())),
        "ints": ({"items": int}, items(INT64)),
        "floats": ({"items": float}, items(FLOATS)),
        "strings": ({"items": str}, items(words)),
    }


_numbers = itertools.count()
STEMS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True)


@st.composite
def states(
    draw: Callable[..., Any], words: st.SearchStrategy[str]
) -> list[tuple[str, str, Any, Any]]:
    """Give name, kind, default and value (None: not given) of some flags."""
    kind_of = kinds(words)
    found = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(sorted(kind_of)))
        values = kind_of[kind][1]
        found.append((draw(STEMS), kind, draw(values), draw(st.none() | values)))
    return found


def reset_all() -> None:
    """Reset all flags; undefine those that can't be.

    What another test has left behind would be written, and read, too.
    """
    for other in list(pf.FLAGS.values()):
        try:
            other.reset()
        except pf.FlagError:
            with suppress(pf.FlagConflictError):  # of a plugin
                pf.undefine(other)


def define(state: list[tuple[str, str, Any, Any]]) -> list[pf.Flag[Any]]:
    """Define the flags under names that no other example has, some as tables in tables."""
    reset_all()
    number = next(_numbers)
    made: list[pf.Flag[Any]] = []
    for index, (stem, kind, default, value) in enumerate(state):
        attributes = kinds(WORDS)[kind][0]
        flag = pf.define(f"t{number}.{stem}.x{index}", default, **attributes)
        if value is not None:
            flag.value = value
        made.append(flag)
    return made


def state_of(flags: list[pf.Flag[Any]]) -> list[tuple[str, str, bool]]:
    return [(flag.name, repr(flag.value), flag.source != "default") for flag in flags]


# ---- reading back ----


def read_flagfile(directory: Path, text: str) -> None:
    path = directory / "values.flags"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    pf.parse(["prog", f"--flagfile={path}"], exit=False)


def read_argv(_: Path, words: list[str]) -> None:
    assert pf.parse(["prog", *words], exit=False) == []


def read_environment(_: Path, variables: dict[str, str]) -> None:
    if WINDOWS and "" in variables.values():
        pytest.skip("empty variables are missing on Windows")
    os.environ.update(variables)
    try:
        pf.parse(["prog"], env_prefix="DUMP_", exit=False)
    finally:
        for name in variables:
            del os.environ[name]


def read_config(suffix: str) -> Callable[[Path, str], None]:
    def read(directory: Path, text: str) -> None:
        path = directory / f"values.{suffix}"
        path.write_bytes(text.encode())
        pf.parse(["prog"], config=path, exit=False)

    return read


FORMS = {
    "flagfile": (read_flagfile, {}),
    "argv": (read_argv, {}),
    "environment": (read_environment, {"prefix": "DUMP_"}),
    "toml": (read_config("toml"), {}),
    "json": (read_config("json"), {}),
}
EVERY = [("s", "string", "a", value) for value in ["", "\n", " $'\\", "\r", "x\ufeff", "\x01é"]]
EVERY += [("l", "strings", (), value) for value in [(), ("",), ("", ""), ('"', " ", ",\n")]]
EVERY += [("u", "uint64", 0, 2**64 - 1), ("d", "double", 0.0, float("nan")), ("i", "int64", 5, 5)]
untimed = settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def check_way_back(form: str, state: list[tuple[str, str, Any, Any]], directory: Path) -> None:
    read, options = FORMS[form]
    flags = define(state)
    before = state_of(flags)
    written = pf.dump(form, **options)
    reset_all()
    read(directory, written)
    assert state_of(flags) == before
    reset_all()


@pytest.mark.parametrize("form", FORMS)
@untimed
@given(state=states(WORDS))
@example(state=EVERY)
def test_what_is_written_gives_the_same_state_again(form, state, tmp_path):
    check_way_back(form, state, tmp_path)


@pytest.mark.extended  # takes a second or more
@pytest.mark.parametrize("form", ["flagfile", "argv", "environment"])
@untimed
@given(state=states(WORDS | RAW))
@example(state=[("s", "string", "", "\udcff\n"), ("l", "strings", (), ("\udce9", "\udcff,"))])
def test_bytes_that_are_not_utf8_come_back_too(form, state, tmp_path):
    check_way_back(form, state, tmp_path)


@pytest.mark.parametrize(("form", "what"), [("toml", "TOML"), ("json", "JSON")])
def test_bytes_that_a_form_cannot_hold_are_an_error(form, what, name):
    flag = pf.define(name, ("x",))
    flag.value = ("y", "\udcff")
    message = f"{name}: the value has bytes that are not UTF-8, which {what} cannot hold"
    with pytest.raises(pf.FlagValueError, match=message):
        pf.dump(form)
    flag.reset()


# ---- what is written ----

PROGRAM = """
import json
pf.define("level", 6, min=1)
pf.define("net.host", "here")
pf.define("net.port", 80, type="uint64")
pf.define("net", False)
pf.define("deep.down.x", 0.5, aliases=["x"])
pf.define("list", ("a", "b"))
pf.define("token", "hunter2", sensitive=True)
pf.define("fixed", 3, read_only=True)
pf.define("turbo", 3, retired="it is always on")
pf.define("trace", False, hidden=True)
"""


def dumped(python: Callable[..., Any], call: str, *words: str) -> Any:
    text = f"{PROGRAM}\npf.parse()\nprint(json.dumps(pf.dump({call})))"
    return json.loads(python(text, *words).stdout)


def test_what_was_given_is_written_even_where_it_is_the_default(python):
    given = ["--level=6", "--notrace", "--token=x"]
    assert dumped(python, "'argv'", *given) == ["--level=6", "--trace=false"]


def test_all_means_defaults_too_but_not_what_cannot_be_given(python):
    assert dumped(python, "'argv', all=True", "--level=2") == [
        "--level=2",
        "--net.host=here",
        "--net.port=80",
        "--net=false",
        "--deep.down.x=0.5",
        "--list=a,b",
        "--trace=false",
    ]


def test_variables_have_the_prefix_and_the_folded_name(python):
    words = ["--net.host=there", "--list=c"]
    expected = {"FLAGS_net_host": "there", "FLAGS_list": "c"}
    assert dumped(python, "'environment'", *words) == expected
    assert dumped(python, "'environment', prefix='X_'", "--level=3") == {"X_level": "3"}


def test_variables_begin_as_the_last_parse_reads_them(python):
    ended = python(
        "pf.define('level', 1)\npf.FLAGS.level = 2\nprint(pf.dump('environment'))\n"
        "pf.parse(['prog'], env_prefix='APP_')\npf.parse(['prog'])\nprint(pf.dump('environment'))\n"
        "try:\n    pf.parse(['prog', '--nobody'], env_prefix='BAD_', exit=False)\n"
        "except pf.FlagParseError:\n    print(pf.dump('environment'))\n"
    )
    assert ended.stdout == "{'FLAGS_level': '2'}\n{'APP_level': '2'}\n{'APP_level': '2'}\n"


def test_two_flags_of_one_variable_are_an_error(name):
    first, second = pf.define(f"{name}.x", 1), pf.define(f"{name}_x", 1)
    first.value = 2
    message = f"{name}.x and {name}_x would both use the environment variable FLAGS_{name}_x"
    with pytest.raises(pf.FlagConflictError, match=message):
        pf.dump("environment", prefix="FLAGS_")
    first.reset()
    assert f"FLAGS_{name}_x" not in pf.dump("environment", prefix="FLAGS_")
    second.reset()


def test_names_with_dots_are_tables_where_no_flag_is_in_the_way(python):
    words = ["--net.host=there", "--net", "--deep.down.x=1", "--net.port=18446744073709551615"]
    expected = {
        "net": True,
        "net.host": "there",
        "net.port": 18446744073709551615,
        "deep": {"down": {"x": 1.0}},
    }
    assert json.loads(dumped(python, "'json'", *words)) == expected
    assert dumped(python, "'toml'", *words) == (
        '"net.host" = "there"\n'
        '"net.port" = "18446744073709551615"\n'
        "net = true\n"
        "\n"
        "[deep.down]\n"
        "x = 1.0\n"
    )


def test_an_unknown_form_is_refused_with_those_that_there_are():
    with pytest.raises(pf.FlagArgumentError, match="'yaml': expected one of flagfile, argv, envir"):
        pf.dump("yaml")


def test_values_of_a_layer_are_written_while_it_lasts(name):
    flag = pf.define(name, 1)
    with pf.override({name: 5}):
        assert f"--{name}=5" in pf.dump("argv")
    assert flag.value == 1
    assert not [word for word in pf.dump("argv") if name in word]


# ---- the command line ----

PLUGIN = """
PD_DEFINE_string(alpha_mode, "fast", "How to search");
PD_DEFINE_int32(alpha_level, 6, "Compression level");
"""


def test_variables_in_capitals_that_are_there_are_written_too(python):
    ended = python(
        "pf.define('level', 1)\npf.define('mode', 1)\npf.define('Twin', 1)\npf.define('TWIN', 1)\n"
        "pf.FLAGS.level = pf.FLAGS.mode = pf.FLAGS.Twin = 2\n"
        "print(pf.dump('environment', prefix='App_'))\n",
        env={**os.environ, "App_LEVEL": "5", "App_TWIN": "3"},
    )
    assert (
        ended.stdout == "{'App_level': '2', 'App_mode': '2', 'App_Twin': '2', 'App_LEVEL': '2'}\n"
    )


@pytest.mark.parametrize("form", ["flagfile", "argv", "environment", "toml", "json-config"])
def test_list_writes_what_the_shell_and_parse_read(plugin, form, tmp_path):
    path, value = plugin(PLUGIN), "two words 'and' $HOME\n\"x\""
    command = [sys.executable, "-m", "paddle_flags"]
    words = ["-p", path, f"--format={form}", "--alpha_mode", value]
    written = run(*command, "list", *words).stdout
    file = write(tmp_path / f"values.{form.replace('-config', '')}", written)
    line = {
        "argv": f"--format=json -p {path} {written}",
        "flagfile": f"--format=json -p {path} --flagfile={file}",
        "environment": f"--format=json --env-prefix=FLAGS_ -p {path}",
    }.get(form)
    if line is None:
        script = (
            f"import paddle_flags as pf; pf.load_plugin({str(path)!r});"
            f" pf.parse(config={str(file)!r}); print(pf.describe('json'))"
        )
        shown = run(sys.executable, "-c", script).stdout
    else:
        variables = written if form == "environment" else ""
        text = f"{variables}\n{shlex.join(command)} list {line}"
        shown = subprocess.run(
            [tool("sh"), "-c", text], capture_output=True, text=True, check=True
        ).stdout
    flags = {flag["name"]: flag for flag in json.loads(shown)["flags"]}
    assert flags["alpha_mode"]["value"] == value
    assert flags["alpha_level"]["source"] == "default"


# ---- what is left out ----

LEFT_OUT = {
    "token": "is sensitive",
    "later": "is not defined",
    "a.b": "is not defined",
}
WORDS_LEFT = ["--level=7", "--token=hunter2", "--later=hunter2", "--a.b=1"]


def dump_with_pending(python: Callable[..., Any], call: str) -> str:
    text = f"{PROGRAM}\npf.parse(allow_pending=True)\nfound = {{}}\n{call}\nprint(found)"
    ended = python(text, *WORDS_LEFT)
    assert "hunter" not in ended.stdout
    return ended.stdout


@pytest.mark.parametrize("form", FORMS)
def test_what_is_left_out_of_any_form_comes_with_its_reason(python, form):
    shown = dump_with_pending(python, f"pf.dump({form!r}, left_out=found)")
    assert shown == f"{LEFT_OUT}\n"
    more = dump_with_pending(python, f"pf.dump({form!r}, all=True, left_out=found)")
    assert "'fixed': 'is read-only'" in more
    assert "'turbo': 'is retired'" in more


def test_values_of_flags_that_were_undefined_are_left_out(python):
    text = (
        "pf.define('level', 1).value = 7\npf.define('same', 1)\nfound = {}\n"
        "pf.undefine('level')\npf.undefine('same')\n"
        "print(pf.dump('argv', left_out=found), found)\nprint(pf.dump(), end='')"
    )
    assert python(text).stdout == (
        "[] {'level': 'is not defined'}\n# pending\n# --level: left out, not defined\n"
    )


def test_comments_name_what_is_left_out(python):
    assert dump_with_pending(python, "print(pf.dump('toml'))").startswith(
        "# left out: token is sensitive\n"
        "# left out: later is not defined\n"
        "# left out: a.b is not defined\n"
        "\n"
        "level = 7\n"
    )
    assert dump_with_pending(python, "print(pf.dump(), end='')").endswith(
        "--level=7\n"
        "# --token: left out, sensitive\n"
        "\n"
        "# pending\n"
        "# --later: left out, not defined\n"
        "# --a.b: left out, not defined\n"
        "{}\n"
    )


def test_forms_with_comments_are_read_back(python, tmp_path):
    for form, suffix in (("toml", "toml"), ("flagfile", "flags")):
        path = tmp_path / f"values.{suffix}"
        dump_with_pending(python, f"open({str(path)!r}, 'w').write(pf.dump({form!r}))")
        shown = python(f"{PROGRAM}\npf.parse(config={str(path)!r})\nprint(pf.FLAGS.level)")
        assert shown.stdout == "7\n"


def test_what_is_left_out_must_go_into_a_dictionary(name):
    with pytest.raises(pf.FlagTypeError, match=r"left_out: .*: expected a dict, not list"):
        pf.dump(left_out=[])  # type: ignore[call-overload]
    found = {"mine": "stays"}
    pf.define(name, "x", sensitive=True).value = "y"
    pf.dump("argv", left_out=found)
    assert found["mine"] == "stays"
    assert found[name] == "is sensitive"


@pytest.mark.parametrize("form", ["argv", "environment", "json-config"])
def test_list_reports_what_a_form_without_comments_leaves_out(plugin, form):
    path = plugin('PD_DEFINE_string(token, "", "", .sensitive = true);\n')
    command = [sys.executable, "-m", "paddle_flags", "list", "-p", path]
    ended = run(*command, f"--format={form}", "--token=hunter2")
    assert ended.stderr.endswith(": left out: token is sensitive\n")
    assert ended.stderr.count("\n") == 1
    assert run(*command, f"--format={form}").stderr == ""


def test_a_writer_that_is_missing_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "tomli_w", None)
    remedy = f"writing TOML requires tomli-w: {format_install_command('toml')}"
    with pytest.raises(pf.FlagArgumentError, match=re.escape(remedy)):
        pf.dump("toml")
