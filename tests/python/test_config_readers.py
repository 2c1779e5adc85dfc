"""The readers of TOML, YAML and JSON against those of the formats, and the way back."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import package

import paddle_flags as pf
from paddle_flags._input import json_reader, toml_reader, yaml_reader
from paddle_flags._input.reading import Reading, Stop

package("ruamel.yaml")

# What the readers of the formats make of a document must be what we make of it.

keys = st.text(min_size=1, max_size=5) | st.sampled_from(["a", "b-c", "x.y", "'", '"', "é\n"])
leaves = (
    st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=8)
)
values = leaves | st.lists(leaves, max_size=3)
documents = st.recursive(
    st.dictionaries(keys, values, max_size=4),
    lambda inner: st.dictionaries(keys, inner | values, max_size=3),
    max_leaves=8,
)


def flat(table: dict, *above: str) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, value in table.items():
        if value and isinstance(value, dict):
            found += flat(value, *above, key)
        else:
            found.append((".".join((*above, key)), value))
    return found


def texts_of(value: object) -> object:
    if isinstance(value, list):
        return len(value)
    return str(value).lower() if isinstance(value, bool) else value


def agree(reading: Reading, document: dict) -> None:
    if reading.problems:  # two ways to one name, or a name of surrogates
        return
    expected = {name: texts_of(value) for name, value in flat(document)}
    if len(expected) < len(flat(document)):  # one of two ways is an empty table
        return
    assert [value.name for value in reading.values] == list(expected)
    for value in reading.values:
        wanted = expected[value.name]
        if value.kind == "table":
            assert wanted == {}
        elif value.kind in ("integer", "number") and not value.is_list:
            assert type(wanted)(value.text) == wanted
        elif not value.is_list:
            assert value.text == wanted


@given(documents)
def test_json_is_read_as_its_own_reader_does(document):
    reading = Reading("a.json")
    text = json.dumps(document, indent=1)
    json_reader.read(text, reading)
    agree(reading, json.loads(text))


@given(documents)
def test_yaml_is_read_as_json_where_it_is_json(document):
    reading = Reading("a.yaml")
    text = json.dumps(document, ensure_ascii=False)
    for separator in "\x85\u2028\u2029":  # lines end there in YAML
        text = text.replace(separator, f"\\u{ord(separator):04x}")
    try:
        yaml_reader.read(text, reading)
    except Stop:  # it may be no YAML: keys of more than 1024 characters, DEL
        return
    agree(reading, document)


MARKS = [*"[]{},.=#'\"\\\n:- \t&*!%|>~", '"""', "'''", "\r\n", "[[", "]]"]
WORDS = ["a", "b.c", "1", "0x1f", "1_0", "inf", "true", "é", "2024-05-01"]
LINES = ["[t]\n", "\nk = ", "x = 1\n", "a: ", "- ", "\n  "]
fragments = st.lists(st.sampled_from(MARKS + WORDS + LINES), max_size=25).map("".join)


@given(fragments)
@example("[[a]]")
def test_toml_is_refused_where_its_own_reader_refuses_it_and_nowhere_else(text):
    reading = Reading("a.toml")
    try:
        document = tomllib.loads(text)
    except ValueError:
        document = None
    try:
        toml_reader.read(text, reading)
    except Stop:
        assert reading.problems
    assert not any("can't read" in problem for problem in reading.problems)
    assert reading.problems or document is not None
    not_ours = ("array of tables", "twice", "date", "plain values")
    for problem in reading.problems if document is not None else []:
        assert any(words in problem for words in not_ours), problem


@given(fragments | st.text(max_size=30))
def test_no_text_crashes_a_reader(text):
    for reader in (json_reader, yaml_reader):
        reading = Reading("a")
        try:
            reader.read(text, reading)
        except Stop:
            assert reading.problems


def read_yaml(read, *arguments, **named):
    reading = Reading("a.yaml")
    with suppress(Stop):
        read(*arguments, reading, **named)
    return reading.values, reading.problems


@given(fragments)
def test_yaml_is_read_the_same_with_libyaml_and_without(text):
    assert read_yaml(yaml_reader.read, text) == read_yaml(yaml_reader.read, text, pure=True)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb: [1, -2, 0o17, 0x1f, 1.5, .inf, x]\n'c d': {e: 'q', f: \"r\"}\ng:\n- y\n- no\n",
        "a: 007\nb: 1_000\nc: -0\nd: +1\ne: 1e3\nf: 2024-05-01x\ng: ~x\nh: ''\n",
        "a: 1\nb: 2\na: 3\n",
        "a: [1\n",
        "a:\n  - - 1\n",
        "a: x\x85y\n",
        "a: \n",
        "é: ü\nb: 😀\n",
    ],
)
def test_yaml_has_the_same_places_with_libyaml_and_without(text):
    assert read_yaml(yaml_reader.read, text) == read_yaml(yaml_reader.read, text, pure=True)


@pytest.mark.parametrize(
    "value",
    [
        "!hunter2",
        "!hunter2 x",
        "!!hunter2 x",
        "!<hunter2> x",
        "!hunter2!b x",
        "!hunter2 [a]",
        "!hunter2 {a: 1}",
        "&hunter2 x",
        "*hunter2",
        "%hunter2",
        "|hunter2",
        '"hunter2',
        "hunter2: x",
        "[hunter2, {a: b}]",
        '"\\U11111111hunter2"',
    ],
)
def test_an_error_in_yaml_does_not_show_the_value_which_may_be_a_secret(value):
    reading = Reading("a.yaml")
    with suppress(Stop):
        yaml_reader.read(f"password: {value}\n", reading)
    assert reading.problems or value == "&hunter2 x"
    assert "hunter" not in "".join(reading.problems)


@pytest.mark.parametrize(
    ("value", "default"),
    [
        ("{hunter2}", ""),
        ("{hunter2: 1}", ""),
        ("{hunter2: [{a: b}]}", ""),
        ("{hunter2}", {"a": 1}),
        ("{hunter2: 1, hunter2: 2}", {"a": 1}),
    ],
)
def test_a_secret_in_braces_is_not_shown_as_a_name(tmp_path, value, default):
    (tmp_path / "a.yaml").write_text(f"password: {value}\n")
    with pf.testing.isolated():
        pf.define("password", default, sensitive=True)
        with pytest.raises(pf.FlagParseError, match=": --password: ") as refused:
            pf.parse(["prog"], config=tmp_path / "a.yaml", allow_pending=True, exit=False)
    assert "hunter" not in str(refused.value)


def test_a_sensitive_dict_may_be_a_table(tmp_path):
    (tmp_path / "a.yaml").write_text("passwords: {a: 1}\n")
    with pf.testing.isolated():
        flag = pf.define("passwords", {"b": 2}, sensitive=True)
        pf.parse(["prog"], config=tmp_path / "a.yaml", exit=False)
        assert flag.value == {"a": 1}


texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12)
VALUES = {
    "bool": st.booleans(),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False),
    "str": texts,
    "list": st.lists(texts, max_size=4).map(tuple),
    "numbers": st.lists(st.floats(allow_nan=False), max_size=4).map(tuple),
    "deep.er": texts,
}
DEFAULTS = dict(zip(VALUES, (False, 1, 0.5, "x", ("x",), (0.5,), "")))


@pytest.mark.extended  # takes a second or more
@given(st.fixed_dictionaries(VALUES), st.sampled_from([".toml", ".json", ".flags"]))
def test_what_dump_writes_is_read_back_the_same(tmp_path_factory, wanted, suffix):
    package("tomli_w")
    flags = {key: pf.define(f"dumped.{key}", default) for key, default in DEFAULTS.items()}
    pf.FLAGS.update({f"dumped.{key}": value for key, value in wanted.items()})
    text = pf.dump({".flags": "flagfile"}.get(suffix, suffix[1:]))
    for flag in flags.values():
        flag.reset()
    path = tmp_path_factory.getbasetemp() / f"dumped{suffix}"
    path.write_bytes(text.encode())
    pf.parse(["prog"], config=path, exit=False)
    assert {key: flag.value for key, flag in flags.items()} == wanted
