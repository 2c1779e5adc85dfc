"""define(): what it makes of types, attributes and mistakes."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import paddle_flags as pf
from paddle_flags._core.header import MARKS, TEXTS


@pytest.mark.parametrize(
    ("default", "kind"), [(True, "bool"), (3, "int64"), (1.5, "double"), ("text", "string")]
)
def test_the_type_follows_from_the_default(name, default, kind):
    flag = pf.define(name, default)
    assert (flag.type, flag.value, flag.default) == (kind, default, default)
    assert type(flag.value) is type(default)


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64", "uint64"])
def test_a_type_can_be_named(name, kind):
    assert pf.define(name, 7, type=kind).type == kind


def test_an_integer_serves_as_the_default_of_a_double(name):
    flag = pf.define(name, 1, type="double")
    assert flag.value == 1.0
    assert isinstance(flag.value, float)


def test_the_flag_tells_all_of_its_definition(name):
    flag = pf.define(
        name,
        5,
        "How many",
        min=1,
        max=9,
        category="tuning",
        aliases=[f"{name}_a", f"{name}_b"],
        hidden=True,
        startup_only=True,
    )
    assert flag.name == name
    assert flag.help == "How many"
    assert (flag.min, flag.max) == (1, 9)
    assert flag.category == "tuning"
    assert flag.aliases == (f"{name}_a", f"{name}_b")
    assert flag.hidden
    assert flag.startup_only
    assert not flag.read_only
    assert flag.module == __name__
    assert Path(flag.file).name == "test_define.py"
    assert flag.line > 0
    assert flag.choices is None


def test_a_plain_flag_has_no_attributes(name):
    flag = pf.define(name, 5)
    assert (flag.min, flag.max, flag.choices, flag.aliases) == (None, None, None, ())
    assert (flag.help, flag.category) == ("", "")
    attributes = [flag.hidden, flag.read_only, flag.startup_only, flag.frozen]
    assert not any(attributes)
    assert (flag.unit, flag.items, flag.deprecated, flag.retired) == (None, None, None, None)
    assert flag.old_names == ()
    assert not any([flag.sensitive, flag.experimental, flag.required])
    assert not any([flag.runtime, flag.unsafe, flag.per_process])
    assert (flag.source, flag.history[0].value) == ("default", 5)


def test_the_flag_tells_how_it_is_to_be_used(name):
    old = pf.define(
        f"{name}_gone",
        0.5,
        unit="seconds",
        old_names=[f"{name}_a", f"{name}_b"],
        deprecated="use the other one",
        sensitive=True,
        experimental=True,
    )
    assert (old.unit, old.deprecated) == ("seconds", "use the other one")
    assert old.old_names == (f"{name}_a", f"{name}_b")
    assert (old.sensitive, old.experimental, old.required) == (True, True, False)
    assert pf.define(name, 1, retired="never read").retired == "never read"
    live = [
        pf.define(f"{name}_{number}", 1, runtime=runtime, unsafe=unsafe)
        for number, (runtime, unsafe) in enumerate([(True, False), (False, True), (True, True)])
    ]
    assert [(flag.runtime, flag.unsafe) for flag in live] == [
        (True, False),
        (False, True),
        (True, True),
    ]


def test_a_flag_of_each_process_says_so(name):
    assert pf.define(name, 8080, per_process=True).per_process
    assert "attributes: per process" in pf.explain(name)


def test_a_required_flag_says_so(python):
    # In a process of its own: no command line of another test gives it a value.
    assert python("print(pf.define('x', 1, required=True).required)").stdout == "True\n"


@pytest.mark.parametrize(
    ("default", "options", "items", "value"),
    [
        ((1, 2), {}, "int64", (1, 2)),
        ([1, 2], {}, "int64", (1, 2)),
        (range(3), {}, "int64", (0, 1, 2)),
        ((True, False), {}, "bool", (True, False)),
        ((0.5, 2), {}, "double", (0.5, 2.0)),
        (["a", "b,c"], {}, "string", ("a", "b,c")),
        ((), {}, "string", ()),
        ((), {"items": int}, "int64", ()),
        ([], {"items": bool}, "bool", ()),
        ((1, 2), {"items": float}, "double", (1.0, 2.0)),
        (("a",), {"type": "string", "items": str}, "string", ("a",)),
        ((1,), {"choices": [1, 2]}, "int64", (1,)),
    ],
)
def test_a_sequence_makes_a_list_of_its_items_type(name, default, options, items, value):
    flag = pf.define(name, default, **options)
    assert (flag.type, flag.items) == ("string", items)
    assert flag.value == flag.default == flag.history[0].value == value
    assert list(map(type, flag.value)) == list(map(type, value))
    assert (flag.min, flag.max) == (None, None)


def test_an_alias_serves_as_the_name(name):
    flag = pf.define(name, 1, aliases=[name + "_old"])
    pf.FLAGS[name + "_old"].value = 4
    assert flag.value == 4
    assert pf.FLAGS[name + "_old"] is flag


def test_the_same_definition_again_gives_the_same_flag(name):
    flags = [pf.define(name, 1, "help") for _ in range(2)]
    assert flags[0] is flags[1]


def test_another_definition_of_the_name_is_refused_with_both_places(name):
    first = pf.define(name, 1)
    with pytest.raises(pf.FlagConflictError) as refused:
        pf.define(name, 2)
    text = str(refused.value)
    assert f"test_define.py:{first.line} " in text
    assert f"test_define.py:{first.line + 2} " in text
    assert pf.FLAGS[name].value == 1


ATTRIBUTES: dict[str, Any] = {
    **dict.fromkeys(TEXTS, "other"),
    # Later tests may parse; multi and merge are for lists.
    **{mark: True for mark in MARKS if mark not in ("required", "multi", "merge")},
    "choices": ["1", "2"],
    "aliases": ["other_1"],
    "old_names": ["other_2"],
    "unit": "bytes",
    "min": 0,
    "max": 9,
}


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_definitions_that_differ_in_any_attribute_conflict_whichever_comes_first(name, attribute):
    differing = {attribute: ATTRIBUTES[attribute]}
    label = {"min": "range", "max": "range"}.get(attribute, attribute.replace("_", "[- ]"))
    for number, (first, second) in enumerate([({}, differing), (differing, {})]):
        define = partial(pf.define, f"{name}_{number}", 1, "help")
        assert define(**first) is define(**first)
        with pytest.raises(pf.FlagConflictError, match=f"py:.* refused: .*py:.*: .*{label}"):
            define(**second)


def test_a_definition_that_differs_in_required_conflicts(python):
    ended = python(
        "define = lambda **attributes: pf.define('x', 1, **attributes)\n"
        "define(required=True)\n"
        "try: define()\n"
        "except pf.FlagConflictError as error: print(error)\n"
    )
    assert ended.stdout.endswith(": not required; to define it again, pass replace=True\n")


@pytest.mark.parametrize("bad", ["", "1x", "a b", "a=b", "ä", "x" * 256])
def test_a_name_that_no_flag_can_have_is_refused(bad):
    with pytest.raises(pf.FlagNameError):
        pf.define(bad, 1)
    assert bad not in pf.FLAGS


@pytest.mark.parametrize(
    ("default", "options", "error", "text"),
    [
        (None, {}, pf.FlagTypeError, "expected `type`, as the default is None"),
        (
            1j,
            {},
            pf.FlagTypeError,
            "a list, set, tuple or dict of these, or a Type, not complex",
        ),
        (b"a", {}, pf.FlagTypeError, "default b'a': expected bool, int, float, str, an Enum"),
        ([1], {"type": "int64"}, pf.FlagTypeError, "default=[1]: expected int for a flag of type"),
        ([1, "a"], {}, pf.FlagTypeError, "default [1, 'a']: expected items that are all bool, int"),
        (["a", 1], {}, pf.FlagTypeError, "expected items that are all bool"),
        (["a", 0.5], {}, pf.FlagTypeError, "expected items that are all bool"),
        ([None], {}, pf.FlagTypeError, "expected bool, int, float, str, an Enum"),
        ([1], {"items": list}, pf.FlagTypeError, "expected bool, int, float, str, an Enum"),
        ([1], {"items": int, "type": "int64"}, pf.FlagTypeError, "a list has the type 'string'"),
        ([1.5], {"items": int}, pf.FlagTypeError, "default: item 1: 1.5: expected int, not float"),
        (5, {"items": int}, pf.FlagTypeError, "=5: expected a sequence of int for a list of int64"),
        ([2**63], {}, pf.FlagValueError, "item 1: expected a 64-bit integer"),
        ([1, 3], {"choices": [1, 2]}, pf.FlagValueError, "'1,3': item 2: expected one of 1, 2"),
        ([1], {"min": 1}, pf.FlagTypeError, "min: a list has no range"),
        ([1], {"unit": "bytes"}, pf.FlagTypeError, "unit 'bytes': expected the type of a number"),
        ("a", {"unit": "bytes"}, pf.FlagTypeError, "unit 'bytes': expected the type of a number"),
        (1, {"unit": "miles"}, pf.FlagArgumentError, "unit 'miles': expected bytes or seconds"),
        (1, {"unit": 3}, pf.FlagTypeError, "3: expected str, not int"),
        (1, {"deprecated": ""}, pf.FlagArgumentError, "deprecated: expected the reason"),
        (1, {"retired": True}, pf.FlagTypeError, "True: expected str, not bool"),
        (1, {"required": True, "retired": "x"}, pf.FlagArgumentError, "required and retired"),
        (1, {"runtime": True, "read_only": True}, pf.FlagArgumentError, "runtime and read-only"),
        (1, {"runtime": True, "startup_only": True}, pf.FlagArgumentError, "and startup only"),
        (1, {"runtime": True, "retired": "x"}, pf.FlagArgumentError, "runtime and retired"),
        (1, {"runtime": "unsafe"}, pf.FlagTypeError, "'unsafe': expected bool, not str"),
        (1, {"old_names": "ab"}, pf.FlagTypeError, "old_names: 'ab': expected a list, not str"),
        (1, {"old_names": ["a b"]}, pf.FlagNameError, "old name 'a b': expected a name"),
        (1.5, {"type": "int32"}, pf.FlagTypeError, "expected int for a flag of type int32"),
        (True, {"type": "int64"}, pf.FlagTypeError, "expected int"),
        (1, {"type": "bool"}, pf.FlagTypeError, "expected bool"),
        (1, {"type": "int16"}, pf.FlagTypeError, "'int16': expected one of bool, int32"),
        (2**31, {"type": "int32"}, pf.FlagValueError, "expected an integer in [-2147483648, 2147"),
        (-1, {"type": "uint64"}, pf.FlagValueError, "expected an integer in [0, 1844674407"),
        (0, {"min": 1}, pf.FlagValueError, "default 0: expected an integer >= 1"),
        (5, {"min": 9, "max": 1}, pf.FlagValueError, "min is above max"),
        (5, {"max": 2**70}, pf.FlagValueError, "max 1180591620717411303424: expected an integer"),
        ("a", {"choices": ["b", "c"]}, pf.FlagValueError, "default 'a': expected one of b, c"),
        ("a", {"choices": ["a", "b|c"]}, pf.FlagValueError, "'b|c': expected text without '|'"),
        ("a", {"min": 1}, pf.FlagTypeError, "a string has no range"),
        (True, {"max": 1}, pf.FlagTypeError, "a bool has no range"),
        ("a\0b", {}, pf.FlagValueError, "default='a\\x00b': contains a NUL"),
        (["a\0b"], {}, pf.FlagValueError, "default='a\\x00b': contains a NUL"),
        ("\ud800", {}, pf.FlagValueError, "surrogate"),
        (1, {"aliases": "ab"}, pf.FlagTypeError, "aliases: 'ab': expected a list, not str"),
        ("a", {"choices": "a|b"}, pf.FlagTypeError, "choices: 'a|b': expected a list, not str"),
        (1, {"help": None}, pf.FlagTypeError, "None: expected str, not NoneType"),
        (1, {"aliases": ["a b"]}, pf.FlagNameError, "alias 'a b': expected a name"),
        (10**400, {"type": "double"}, pf.FlagValueError, "expected a number that a double"),
    ],
)
def test_a_bad_definition_is_refused_and_defines_nothing(name, default, options, error, text):
    with pytest.raises(error) as refused:
        pf.define(name, default, **options)
    assert text in str(refused.value)
    assert name not in pf.FLAGS


@pytest.mark.parametrize(
    ("default", "options"),
    [
        ("hunter2", {"type": "int64"}),
        ("hunter2", {"choices": ["a"]}),
        ("hunter2\0", {}),
        ("hunter2\ud800", {}),
        (b"hunter2", {}),
        (["hunter2", 1], {}),
        (["hunter2"], {"items": int}),
        (["hunter2"], {"choices": ["a"]}),
        ("hunter2", {"items": str}),
        (77777777, {"type": "bool"}),
        (77777777, {"max": 9}),
        (2**64 + 77777777, {}),
    ],
)
def test_a_sensitive_default_never_stands_in_a_message(name, default, options):
    with pytest.raises(pf.FlagError) as refused:
        pf.define(name, default, sensitive=True, **options)
    message = str(refused.value)
    assert "<redacted>" in message
    assert "hunter2" not in message
    assert "7777777" not in message


def test_a_value_of_the_environment_waits_for_a_late_definition(python):
    text = """
    pf.parse(env_prefix="APP_")
    flag = pf.define("late.name", 1)
    print(flag.value, flag.source, flag.place)
    """
    ended = python(_dedent(text), env={**os.environ, "APP_late_name": "7"})
    assert ended.stdout == "7 environment APP_late_name\n"


def test_a_bad_value_of_the_environment_is_an_error_of_the_late_definition(python):
    text = """
    pf.parse(env_prefix="APP_")
    try:
        pf.define("late", 1)
    except pf.FlagValueError as error:
        print(error)
    print(pf.FLAGS.late, pf.FLAGS["late"].source)
    """
    ended = python(_dedent(text), env={**os.environ, "APP_late": "abc"})
    assert ended.stdout == "environment: APP_late=abc: expected a 64-bit integer\n1 default\n"


def test_a_script_is_the_module_of_its_flags(python):
    ended = python("print(pf.define('x', 1).module)")
    assert ended.stdout.rstrip().endswith("script.py")


def _dedent(text: str) -> str:
    import textwrap

    return textwrap.dedent(text)
