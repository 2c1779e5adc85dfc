"""Calls with something of the wrong kind: a FlagError that names the parameter."""

from __future__ import annotations

import pytest

import paddle_flags as pf


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"help": 5}, "help: 5: expected str, not int"),
        ({"deprecated": True}, "deprecated: True: expected str, not bool"),
        ({"category": 5}, "category: 5: expected str, not int"),
        ({"hidden": "no"}, "hidden: 'no': expected bool, not str"),
        ({"required": None}, "required: None: expected bool, not NoneType"),
        ({"sensitive": "no"}, "sensitive: 'no': expected bool, not str"),
        ({"choices": 5}, "choices: 5: expected a list, not int"),
        ({"aliases": None}, "aliases: None: expected a list, not NoneType"),
        ({"type": bytes}, "type bytes: expected bool, int, float, str, an Enum"),
        ({"type": "int"}, "type 'int': expected one of bool, int32"),
        ({"type": []}, "type []: expected bool, int, float, str, an Enum"),
        ({"items": []}, "items []: expected bool, int, float, str, an Enum"),
    ],
)
def test_a_definition_names_the_attribute_that_it_refuses(name, attributes, message):
    with pytest.raises(pf.FlagTypeError) as refused:
        pf.define(name, 1, **attributes)
    assert str(refused.value).startswith(f"definition of '{name}': {message}")
    assert name not in pf.FLAGS


def test_a_definition_needs_text_as_its_name():
    with pytest.raises(pf.FlagTypeError, match=r"^definition of 5: name: 5: expected str,"):
        pf.define(5, 1)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pf.FLAGS[5].value, "name: 5: expected str, not int"),
        (lambda: pf.FLAGS[["x"]], "name: ['x']: expected str, not list"),
        (lambda: pf.explain(None), "name: None: expected str, not NoneType"),
        (lambda: pf.FLAGS.update([1]), "values: expected a mapping of names to values, not list"),
        (lambda: pf.FLAGS.update({5: 1}), "name: 5: expected str, not int"),
        (lambda: pf.override([1]), "values: expected a mapping of names to values, not list"),
        (lambda: pf.load_plugin(5), "path: 5: expected str, bytes or a path, not int"),
        (lambda: pf.load_plugin("x", namespace=5), "namespace: 5: expected str, not int"),
        (lambda: pf.describe(width="x"), "width: 'x': expected int, not str"),
        (lambda: pf.describe(color=5), "color: 5: expected bool, not int"),
        (lambda: pf.describe(program=5), "program: 5: expected str, not int"),
        (lambda: pf.describe("man", usage=5), "usage: 5: expected str, not int"),
        (lambda: pf.describe("json", version=1.2), "version: 1.2: expected str, not float"),
        (lambda: pf.describe("json", full="no"), "full: 'no': expected bool, not str"),
        (lambda: pf.dump(all="no"), "all: 'no': expected bool, not str"),
        (lambda: pf.dump("environment", prefix=5), "prefix: 5: expected str, not int"),
    ],
)
def test_a_function_names_the_parameter_that_it_refuses(call, message):
    with pytest.raises(pf.FlagTypeError) as refused:
        call()
    assert str(refused.value) == message


def test_a_flag_stands_for_its_name_and_keeps_its_place_in_flags(name):
    flag = pf.define(name, 1)
    pf.FLAGS.update({flag: 3})
    assert (flag.value, pf.FLAGS[name]) == (3, flag)
    with pytest.raises(pf.FlagTypeError, match=f"^{name}=5: expected str, not int$"):
        flag.set_from_string(5)  # type: ignore[arg-type]
    with pytest.raises(pf.FlagTypeError, match=rf"write del FLAGS\['{name}'\].value to drop"):
        del pf.FLAGS[name]  # type: ignore[attr-defined]
    assert (pf.FLAGS[name], flag.value) == (flag, 3)


def test_variables_cannot_begin_with_an_equals_sign():
    with pytest.raises(pf.FlagArgumentError, match=r"^prefix: 'A=': expected .* without '='$"):
        pf.dump("environment", prefix="A=")


def test_a_text_with_a_nul_is_refused_with_its_parameter():
    with pytest.raises(pf.FlagArgumentError, match=r"^namespace: 'a.x00': contains a NUL"):
        pf.load_plugin("x", namespace="a\0")
    with pytest.raises(pf.FlagArgumentError, match=r"^path: 'a.x00': contains a NUL character"):
        pf.load_plugin("a\0")
    with pytest.raises(pf.FlagArgumentError, match=r"^config: 'a.x00': contains a NUL character"):
        pf.parse(["prog"], config="a\0")
    with pytest.raises(pf.FlagArgumentError, match=r"^usage: 'a.x00': contains a NUL character"):
        pf.describe(usage="a\0")
