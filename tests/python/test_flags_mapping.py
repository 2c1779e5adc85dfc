"""FLAGS: flags by their names, and changes of many."""

from __future__ import annotations

import sys

import pytest

import paddle_flags as pf


def test_flags_is_a_mapping_of_names_to_flags(name):
    before = len(pf.FLAGS)
    flag = pf.define(name, 1)
    assert name in pf.FLAGS
    assert pf.FLAGS[name] is flag
    assert pf.FLAGS.get(name) is flag
    assert list(pf.FLAGS)[-1] == name
    assert len(pf.FLAGS) == before + 1
    assert dict(pf.FLAGS)[name] is flag
    assert list(pf.FLAGS.items())[-1] == (name, flag)
    assert name in dir(pf.FLAGS)


def test_an_unknown_name_is_an_error_that_names_the_nearest(name):
    pf.define(name + "_level", 1)
    for error, look in {
        AttributeError: lambda: getattr(pf.FLAGS, name + "_levle"),
        KeyError: lambda: pf.FLAGS[name + "_levle"],
        pf.UndefinedFlagError: lambda: setattr(pf.FLAGS, name + "_levle", 1),
    }.items():
        with pytest.raises(error) as missing:
            look()
        assert str(missing.value) == (
            f"no flag is named '{name}_levle'; did you mean '{name}_level'?"
        )
    assert getattr(pf.FLAGS, name + "_levle", None) is None
    assert pf.FLAGS.get(name + "_levle") is None
    assert name + "_levle" not in pf.FLAGS
    assert 12 not in pf.FLAGS
    assert "a\0b" not in pf.FLAGS


def test_a_flag_called_like_a_method_is_reached_by_its_name():
    pf.define("keys", 1)
    pf.FLAGS["keys"].value = 2
    assert pf.FLAGS["keys"].value == 2
    assert "keys" in list(pf.FLAGS.keys())
    with pytest.raises(pf.FlagNameError, match=r"write FLAGS\['keys'\].value"):
        pf.FLAGS.keys = 3


def test_a_name_with_a_dot_is_reached_by_its_name(name):
    pf.define(f"{name}.port", 1)
    pf.FLAGS[f"{name}.port"].value = 2
    assert pf.FLAGS[f"{name}.port"].value == 2


def test_update_takes_names_in_namespaces(name):
    flags = [pf.define(f"{name}.{key}", 1, max=9) for key in ("a", "b.c")]
    pf.FLAGS.update({f"{name}.a": 2, f"{name}.b.c": 3})
    assert [flag.value for flag in flags] == [2, 3]
    with pytest.raises(pf.FlagValueError):
        pf.FLAGS.update({f"{name}.a": 4, f"{name}.b.c": 10})
    assert [flag.value for flag in flags] == [2, 3]


def test_update_sets_all_or_none_and_tells_all_errors(name):
    one = pf.define(name + "_1", 1, max=9)
    two = pf.define(name + "_2", "a", choices=["a", "b"])
    pf.FLAGS.update({name + "_1": 2}, **{name + "_2": "b"})
    assert (one.value, two.value) == (2, "b")
    with pytest.raises(pf.FlagValueError) as refused:
        pf.FLAGS.update({name + "_1": 10, name + "_2": "c"})
    assert [error.status for error in refused.value.errors] == ["PD_ERR_RANGE", "PD_ERR_CHOICE"]
    assert str(refused.value).count("\n") == 1
    with pytest.raises(pf.FlagValueError) as refused:
        pf.FLAGS.update({name + "_1": 3, name + "_2": "c"})
    assert refused.value.errors == (refused.value.errors[0],)
    with pytest.raises(pf.UndefinedFlagError):
        pf.FLAGS.update({name + "_1": 3, name + "_3": 1})
    assert (one.value, two.value) == (2, "b")


def test_update_and_override_tell_errors_of_types_names_and_values_together(name):
    flags = [pf.define(f"{name}_{n}", 1, max=9) for n in range(4)]
    values = {f"{name}_0": "x", f"{name}_1": 10, "nobody": 1, f"{name}_2": None, f"{name}_3": 2}
    for change in (lambda: pf.FLAGS.update(values), lambda: pf.override(values).__enter__()):
        with pytest.raises(pf.FlagTypeError) as refused:
            change()
        assert [error.status for error in refused.value.errors] == [
            "PD_ERR_TYPE", "PD_ERR_RANGE", "PD_ERR_UNDEFINED", "PD_ERR_TYPE",
        ]  # fmt: skip
        lines = str(refused.value).splitlines()
        assert [line.rpartition(".py:")[2].lstrip("0123456789: ") for line in lines] == [
            f"{name}_0='x': expected int for a flag of type int64, not str",
            f"{name}_1=10: expected an integer <= 9",
            "no flag is named 'nobody'",
            f"{name}_2=None: expected int for a flag of type int64, not NoneType",
        ]
        assert [flag.value for flag in flags] == [1, 1, 1, 1]


def test_flags_are_shown_by_name_and_many_of_them_in_short(python):
    ended = python(
        "print(pf.FLAGS)\n"
        "pf.define('alpha', 1)\nprint(pf.FLAGS)\n"
        "pf.define('beta', 1)\nprint(repr(pf.FLAGS))\n"
        "for n in range(20): pf.define(f'long_name_{n}', 1)\nprint(pf.FLAGS)\n"
    )
    assert ended.stdout == (
        "<FLAGS: (0 flags)>\n"
        "<FLAGS: alpha (1 flag)>\n"
        "<FLAGS: alpha, beta (2 flags)>\n"
        "<FLAGS: alpha, beta, long_name_0, long_name_1, long_name_2, ... (22 flags)>\n"
    )


def test_deleting_drops_what_was_set_at_run_time(name):
    flag = pf.define(name, 1)
    pf.parse(["prog", f"--{name}=2"])
    flag.value = 3
    delattr(pf.FLAGS, name)
    assert (flag.value, flag.source) == (2, "argv")
    flag.value = 3
    del flag.value
    assert flag.value == 2
    with pytest.raises(pf.UndefinedFlagError):
        delattr(pf.FLAGS, name + "x")


def test_assigning_by_name_tells_how_it_is_done(name):
    pf.define(name, 1)
    with pytest.raises(pf.FlagTypeError, match="value = 4"):
        pf.FLAGS[name] = 4


@pytest.mark.parametrize("wrong", [5, None, b"x", ["x"]])
def test_a_name_that_is_no_text_is_a_type_error(name, wrong):
    flag = pf.define(name, 1)
    for use in (
        lambda: pf.FLAGS[wrong].value,
        lambda: pf.FLAGS.update({wrong: 1}),
        lambda: pf.FLAGS[wrong],
        lambda: flag.set_from_string(wrong),
    ):
        with pytest.raises(TypeError):
            use()


def test_the_registry_read_from_many_modules_is_one(name):
    flag = pf.define(name, 1, aliases=[f"{name}_old"])
    assert (pf.FLAGS[f"{name}_old"].value, pf.FLAGS[name].value) == (1, 1)
    flag.value = 2
    assert (pf.FLAGS[f"{name}_old"].value, pf.FLAGS[name].value) == (2, 2)


def test_a_flag_that_was_found_once_is_an_item_of_flags_without_python_code(name):
    flag = pf.define(name, 1)
    calls: list[str] = []
    assert pf.FLAGS[name] is flag
    sys.setprofile(lambda frame, event, _: calls.append(f"{event} {frame.f_code.co_name}"))
    try:
        pf.FLAGS[name]
    finally:
        sys.setprofile(None)
    assert not [call for call in calls if call.startswith("call ")]


UNDEFINING = """
import threading
kept = pf.define("kept", 1)
over = threading.Event()

def undefine():
    while not over.is_set():
        for name in "abc":
            pf.define(name, 1, scoped=name == "a")
        for name in "abc":
            pf.undefine(name)

other = threading.Thread(target=undefine)
other.start()
try:
    for _ in range(200):
        assert kept in pf.FLAGS.values() and ("kept", kept) in pf.FLAGS.items()
        gone = pf.FLAGS.get("b")
        gone in pf.FLAGS.values(), ("b", gone) in pf.FLAGS.items(), gone in pf.FLAGS
        list(pf.FLAGS.items()), [repr(each) for each in pf.FLAGS.values()], repr(pf.FLAGS)
        pf.FLAGS._repr_html_(), pf.dump("json"), pf.describe("json"), pf.sync()
        try: pf.FLAGS.c = 2
        except pf.UndefinedFlagError: pass
        pf.parse(["prog", "--c=3"], env_prefix="APP_", allow_pending=True)
finally:
    over.set()
    other.join()
"""


def test_looking_through_all_flags_goes_on_while_another_thread_undefines_some(python):
    python(UNDEFINING)


def test_only_a_defined_flag_is_among_the_values(name):
    flag = pf.define(name, 1)
    assert flag in pf.FLAGS.values()
    assert (name, flag) in pf.FLAGS.items()
    for other in (1, None):  # neither of which a flag can be compared with
        assert other not in pf.FLAGS.values()
        assert (name, other) not in pf.FLAGS.items()
    assert (name, flag, 1) not in pf.FLAGS.items()
    pf.undefine(name)
    assert flag not in pf.FLAGS.values()
    assert (name, flag) not in pf.FLAGS.items()
