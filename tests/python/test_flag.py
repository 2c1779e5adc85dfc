"""Flag and FLAGS: reading, setting, and what is refused."""

from __future__ import annotations

import copy
import json
import math
import operator
import pathlib
import pickle
import sys
import threading
import weakref
from unittest import mock

import pytest

import paddle_flags as pf
from paddle_flags._core.assign import assign
from paddle_flags._native import lib


def test_a_value_set_by_attribute_name_or_flag_is_seen_by_all_of_them(name):
    flag = pf.define(name, 1)
    setattr(pf.FLAGS, name, 2)
    assert (flag.value, pf.get(name), getattr(pf.FLAGS, name)) == (2, 2, 2)
    flag.value = 3
    assert (pf.FLAGS[name].value, pf.get(name)) == (3, 3)
    pf.set(name, 4)
    assert (flag.value, flag.text) == (4, "4")
    flag.set_from_string("0x10")
    assert flag.value == 16
    pf.reset(name)
    assert (flag.value, flag.source) == (1, "default")


def test_dashes_and_underscores_are_alike(name):
    flag = pf.define(name, 1)
    assert pf.FLAGS[name.replace("_", "-")] is flag


def test_a_place_in_the_source_is_told_for_each_way_to_set(name):
    flag = pf.define(name, 1)
    flag.value = 2
    places = [flag.place]
    setattr(pf.FLAGS, name, 3)
    places.append(flag.place)
    pf.set(name, 4)
    places.append(flag.place)
    pf.FLAGS.update({name: 5})
    places.append(flag.place)
    flag.set_from_string("6")
    places.append(flag.place)
    lines = [int(place.rpartition(":")[2]) for place in places]
    assert all("test_flag.py:" in place for place in places)
    assert [line - lines[0] for line in lines] == [0, 2, 4, 6, 8]


def test_history_has_every_value_that_was_given_the_one_that_holds_first(name):
    flag = pf.define(name, 1)
    flag.value = 2
    flag.value = 3
    assert [(entry.value, entry.source, entry.replaced) for entry in flag.history] == [
        (3, "run time", False),
        (2, "run time", True),
        (1, "default", False),
    ]


def test_history_remembers_a_line_that_sets_a_flag_in_a_loop_once(name):
    flag = pf.define(name, 0)
    flag.value = 5
    for value in range(1000):
        flag.value = value
    assert [entry.value for entry in flag.history] == [999, 5, 0]


def test_history_of_a_flag_that_is_set_in_many_places_is_bounded(name):
    flag = pf.define(name, 0)
    places = [compile(f"flag.value = {value}", f"{value}.py", "exec") for value in range(1000)]
    for place in places:
        exec(place, {"flag": flag})  # noqa: S102 - a source file for each
    values = [entry.value for entry in flag.history]
    assert values == [*range(999, 983, -1), 0]


def test_history_tells_what_a_layer_was_given_until_it_ends(name):
    flag = pf.define(name, 1)
    with pf.override({name: 2}):
        flag.value = 3
        assert [(entry.value, entry.source) for entry in flag.history] == [
            (3, "override"),
            (2, "override"),
            (1, "default"),
        ]
    assert [entry.value for entry in flag.history] == [1]


TEXTS = ["", " ", "a=b", "Grüße, 世界", "line\nbreak\t\x01", "\udcff\udc80"]


@pytest.mark.parametrize("value", TEXTS)
def test_any_text_without_nul_comes_back_as_it_was(name, value):
    flag = pf.define(name, "")
    flag.value = value
    assert flag.value == value
    assert flag.text == value
    flag.reset()  # not every form of `dump` can hold it


def test_a_long_text_comes_back_whole(name):
    flag = pf.define(name, "")
    flag.value = "x" * 100_000
    assert flag.text == flag.value == "x" * 100_000


@pytest.mark.parametrize("value", [0.1, 1e308, 5e-324, -0.0, math.inf, -math.inf, 1 / 3])
def test_doubles_come_back_exactly(name, value):
    flag = pf.define(name, 0.0)
    flag.value = value
    assert math.copysign(1, flag.value) == math.copysign(1, value)
    assert flag.value == value
    flag.set_from_string(flag.text)
    assert flag.value == value


def test_nan_is_a_double(name):
    flag = pf.define(name, 0.0)
    flag.value = math.nan
    assert math.isnan(flag.value)
    assert flag.text == "nan"


class Scalar:
    """What a scalar of NumPy or PyTorch looks like from outside."""

    def __init__(self, content: object) -> None:
        self.content = content

    def item(self) -> object:
        if isinstance(self.content, list):
            raise ValueError  # noqa: TRY004 - as NumPy does
        return self.content


@pytest.mark.parametrize("content", [True, 7, 2.5, "text"])
def test_whatever_has_an_item_gives_its_value(name, content):
    flag = pf.define(name, type(content)())
    flag.value = Scalar(content)
    assert flag.value == content
    with pytest.raises(pf.FlagTypeError):
        flag.value = Scalar([content, content])
    with pytest.raises(pf.FlagTypeError):
        flag.value = Scalar(None)


def test_an_integer_serves_as_a_double(name):
    flag = pf.define(name, 0.5)
    flag.value = 3
    assert flag.value == 3.0
    flag.value = Index()
    assert flag.value == 12.0


class Index:
    def __index__(self) -> int:
        return 12


def test_whatever_has_an_index_serves_as_an_integer(name):
    flag = pf.define(name, 1)
    flag.value = Index()
    assert flag.value == 12
    assert type(flag.value) is int


def test_subclasses_of_str_and_int_serve_as_text_and_integer(name):
    class Text(str):
        __slots__ = ()

    class Number(int):
        pass

    pf.define(name, "").value = Text("abc")
    assert pf.get(name) == "abc"
    pf.define(name + "_n", 0).value = Number(3)
    assert pf.get(name + "_n") == 3


@pytest.mark.parametrize(
    ("default", "bad", "error", "text"),
    [
        (1, 3.9, pf.FlagTypeError, "=3.9: expected int for a flag of type int64, not float"),
        (1, "3", pf.FlagTypeError, "='3': expected int"),
        (1, True, pf.FlagTypeError, "=True: expected int"),
        (1, None, pf.FlagTypeError, "=None: expected int"),
        (1, 2**63, pf.FlagValueError, "=9223372036854775808: expected a 64-bit integer"),
        pytest.param(1, -(10**6000), pf.FlagValueError, "expected a 64-bit integer", id="huge"),
        (True, 1, pf.FlagTypeError, "=1: expected bool"),
        (True, "yes", pf.FlagTypeError, "='yes': expected bool"),
        (1.5, "1.5", pf.FlagTypeError, "='1.5': expected float"),
        (1.5, True, pf.FlagTypeError, "=True: expected float"),
        ("a", 1, pf.FlagTypeError, "=1: expected str for a flag of type string, not int"),
        ("a", b"x", pf.FlagTypeError, "=b'x': expected str"),
        ("a", "x\0y", pf.FlagValueError, "contains a NUL character"),
    ],
)
def test_a_value_that_does_not_suit_is_refused_and_changes_nothing(name, default, bad, error, text):
    flag = pf.define(name, default)
    for change in (
        lambda: setattr(flag, "value", bad),
        lambda: setattr(pf.FLAGS, name, bad),
        lambda: pf.set(name, bad),
        lambda: pf.FLAGS.update({name: bad}),
        lambda: pf.override({name: bad}).__enter__(),
    ):
        with pytest.raises(error) as refused:
            change()
        assert text in str(refused.value)
        assert (flag.value, flag.source) == (default, "default")


NO_INTEGERS = ["", " 1", "1 ", "1x", "3.9", "1e3", "0x", "--1", "99999999999999999999"]


@pytest.mark.parametrize("text", NO_INTEGERS)
def test_text_that_is_no_whole_integer_is_refused(name, text):
    flag = pf.define(name, 1)
    with pytest.raises(pf.FlagValueError, match="expected a 64-bit integer"):
        flag.set_from_string(text)
    assert flag.value == 1


def test_a_range_and_choices_are_kept_to(name):
    level = pf.define(name, 5, min=1, max=9)
    mode = pf.define(name + "_mode", "fast", choices=["fast", "best"])
    assert mode.choices == ("fast", "best")
    with pytest.raises(pf.FlagValueError, match=r"=10: expected an integer in .1, 9.$") as refused:
        level.value = 10
    assert refused.value.status == "PD_ERR_RANGE"
    with pytest.raises(pf.FlagValueError, match=r"=slow: expected one of fast, best$") as refused:
        mode.value = "slow"
    assert refused.value.status == "PD_ERR_CHOICE"
    assert (level.value, mode.value) == (5, "fast")


def test_a_read_only_flag_keeps_its_default(name):
    flag = pf.define(name, 1, read_only=True)
    with pytest.raises(pf.ReadOnlyFlagError, match="is read-only"):
        flag.value = 2
    with pytest.raises(AttributeError):
        setattr(pf.FLAGS, name, 2)
    assert flag.value == 1


def test_a_frozen_flag_changes_again_after_unfreeze(name):
    flag = pf.define(name, 1)
    flag.freeze()
    assert flag.frozen
    for change in (lambda: pf.set(name, 2), flag.reset, lambda: flag.set_from_string("2")):
        with pytest.raises(pf.FrozenFlagError, match="is frozen"):
            change()
    flag.unfreeze()
    flag.value = 2
    assert flag.value == 2


def test_a_startup_only_flag_is_frozen_by_parse(python):
    ended = python(
        "flag = pf.define('x', 1, startup_only=True)\n"
        "flag.value = 2\n"
        "pf.parse()\n"
        "try: flag.value = 3\n"
        "except pf.FrozenFlagError as error: print(error)\n"
        "print(flag.value, flag.frozen)\n"
    )
    assert ended.stdout == (
        "x: can be set at startup only, and the command line has been parsed\n2 True\n"
    )


def test_a_startup_only_flag_accepts_the_value_that_it_has(python):
    ended = python(
        "import multiprocessing\n"
        "def begin(level, sizes):\n"
        "    pf.parse(['prog', '--level=3', '--sizes=0x10,2'])\n"
        "    pf.FLAGS.level = level\n"
        "    pf.FLAGS.update(level=level, sizes=sizes)\n"
        "def work(_):\n"
        "    with pf.override(level=3):\n"
        "        flags = pf.FLAGS['level'], pf.FLAGS['sizes']\n"
        "        return [(flag.value, flag.source) for flag in flags]\n"
        "pf.define('level', 1, startup_only=True)\n"
        "pf.define('sizes', [1], startup_only=True)\n"
        "pf.parse(['prog', '--level=3', '--sizes=0x10,2'])\n"
        "fork = multiprocessing.get_context('fork')\n"
        "with fork.Pool(1, begin, (3, [16, 2])) as pool: print(pool.map(work, [0]))\n"
        "try: pf.FLAGS.update(level=3, sizes=[16])\n"
        "except pf.FrozenFlagError as error: print(error)\n"
    )
    assert ended.stdout.splitlines() == [
        "[[(3, 'argv'), ((16, 2), 'argv')]]",
        "sizes: can be set at startup only, and the command line has been parsed",
    ]


# ---- FLAGS ----


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
    assert pf.get("keys") == 2
    assert "keys" in list(pf.FLAGS.keys())
    with pytest.raises(pf.FlagNameError, match=r"write FLAGS\['keys'\].value"):
        pf.FLAGS.keys = 3


def test_a_name_with_a_dot_is_reached_by_its_name(name):
    pf.define(f"{name}.port", 1)
    pf.FLAGS[f"{name}.port"].value = 2
    assert pf.get(f"{name}.port") == 2


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


def test_a_flag_in_text_is_its_value(name):
    level = pf.define(name, 1.5)
    assert (f"{level}", f"{level:.3f}", f"{level!r}"[:5], str(level)) == (
        "1.5", "1.500", "<Flag", "1.5",
    )  # fmt: skip
    assert format(pf.define(name + "_n", 7), "04d") == "0007"
    assert str(pf.define(name + "_l", ["a", "b"])) == "('a', 'b')"
    token = pf.define(name + "_t", "secret", sensitive=True)
    assert (f"{token}", f"{token:>20}", str(token)) == ("<redacted>",) * 3


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


def test_flags_and_flag_have_representations_that_help(name):
    flag = pf.define(name, "text")
    assert repr(flag) == f"<Flag {name}: string = 'text' (default)>"
    assert copy.copy(pf.FLAGS) is not None


def test_flag_and_plugin_are_not_made_by_hand():
    for kind in (pf.Flag, pf.Plugin):
        with pytest.raises(TypeError, match="cannot create a "):
            kind()


def test_every_error_is_a_flag_error_and_a_built_in_one():
    kinds = [kind for kind in vars(pf).values() if isinstance(kind, type)]
    kinds = [kind for kind in kinds if issubclass(kind, Exception)]
    errors = [kind for kind in kinds if not issubclass(kind, Warning) and kind is not pf.FlagError]
    assert len(errors) >= 12
    for kind in errors:
        assert issubclass(kind, pf.FlagError)
        builtin = [base for base in kind.__mro__ if base.__module__ == "builtins"]
        assert builtin[0] is not Exception
        assert str(kind("a message")) == "a message"


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


def set_live(flag, value):
    assign([(flag, value)], ("pid 4312", 0), source=lib.PD_SOURCE_LIVE)


def test_a_live_value_and_one_of_run_time_hide_each_other(name):
    flag = pf.define(name, 1, runtime=True)
    flag.value = 2
    set_live(flag, 3)
    assert (flag.value, flag.source, flag.place) == (3, "live", "pid 4312")
    flag.value = 4
    assert [entry[:2] for entry in flag.history] == [
        (4, "run time"),
        (3, "live"),
        (2, "run time"),
        (1, "default"),
    ]
    del flag.value
    assert (flag.value, flag.source) == (3, "live")
    flag.reset()
    assert (flag.value, flag.source) == (1, "default")


def test_a_live_value_is_explained_saved_and_described_like_another(name):
    flag = pf.define(name, 1, runtime=True, unsafe=True)
    flag.value = 2
    set_live(flag, 3)
    rows = [line.split(maxsplit=1) for line in pf.explain(name).splitlines()[-3:]]
    assert [row[0] for row in rows] == ["3", "2", "1"]
    assert rows[0][1].split() == ["holds", "live", "pid", "4312"]
    assert rows[1][1].startswith("hidden by a live value")
    assert "attributes: runtime, unsafe" in pf.explain(name)
    assert f"--{name}=3" in pf.dump("argv")
    described = json.loads(pf.describe("json"))["flags"]
    (found,) = (each for each in described if each["name"] == name)
    assert (found["value"], found["source"], found["place"]) == (3, "live", "pid 4312")
    assert (found["runtime"], found["unsafe"]) == (True, True)


def test_mock_can_patch_flags(name):
    flag = pf.define(name, 1)
    with mock.patch.object(pf.FLAGS, name, 3):
        assert flag.value == 3
    assert (flag.value, flag.source) == (1, "default")
    with mock.patch.object(flag, "value", 4):
        assert flag.value == 4
    assert (flag.value, flag.source) == (1, "default")


def test_a_flag_that_is_taken_for_its_value_says_so(name):
    flag = pf.define(name, default=False)
    for mistake in (bool, operator.not_, lambda flag: flag and 1):
        with pytest.raises(TypeError, match=r"itself is neither true nor false: use its \.value"):
            mistake(flag)


NO_FLAGS = [3, 0.5, True, "x", b"x", None, (1,), [1], {1}, {1: 2}, object(), pathlib.Path()]


@pytest.mark.parametrize("other", NO_FLAGS, ids=lambda other: type(other).__name__)
def test_a_flag_that_is_compared_with_a_value_says_so(name, other):
    flag = pf.define(name, 3)
    compare = [getattr(operator, each) for each in ("eq", "ne", "lt", "le", "gt", "ge")]
    for mistake in (
        *compare,
        lambda flag, other: flag in [other, flag.value],
        lambda flag, other: other in flag,
    ):
        with pytest.raises(
            TypeError, match=rf"flag '{name}' itself has no value .*use its \.value"
        ):
            mistake(flag, other)
    for mistake in compare:
        with pytest.raises(
            TypeError, match=rf"flag '{name}' itself has no value .*use its \.value"
        ):
            mistake(other, flag)


def test_a_flag_is_equal_to_itself_alone_and_has_no_order(name):
    flag, twin = pf.define(name, 3), pf.define(name + "_twin", 3)
    assert flag == pf.FLAGS[name]
    assert not flag != pf.FLAGS[name]  # noqa: SIM202 - that is asked
    assert flag != twin
    assert flag in [twin, flag]
    assert [twin, flag].index(flag) == 1
    assert {flag: 1, twin: 2, name: 3}[flag] == 1
    assert hash(flag) == object.__hash__(flag)
    assert weakref.WeakKeyDictionary({flag: 1})[flag] == 1
    assert operator.eq(mock.ANY, flag)
    with pytest.raises(TypeError, match=r"flags have no order: compare their \.value or \.name"):
        sorted([flag, twin])


def test_copies_of_a_flag_are_the_flag(name):
    for whole in (pf.define(name, 1), pf.FLAGS):
        packed = pickle.dumps(whole)
        assert pickle.loads(packed) is whole  # noqa: S301 - our own
        assert copy.copy(whole) is whole
        assert copy.deepcopy([whole])[0] is whole


def test_assigning_by_name_tells_how_it_is_done(name):
    pf.define(name, 1)
    with pytest.raises(pf.FlagTypeError, match="value = 4"):
        pf.FLAGS[name] = 4


@pytest.mark.parametrize("wrong", [5, None, b"x", ["x"]])
def test_a_name_that_is_no_text_is_a_type_error(name, wrong):
    flag = pf.define(name, 1)
    for use in (
        lambda: pf.get(wrong),
        lambda: pf.set(wrong, 1),
        lambda: pf.FLAGS[wrong],
        lambda: flag.set_from_string(wrong),
    ):
        with pytest.raises(TypeError):
            use()


def test_the_registry_read_from_many_modules_is_one(name):
    flag = pf.define(name, 1, aliases=[f"{name}_old"])
    assert (pf.get(f"{name}_old"), pf.get(name)) == (1, 1)
    flag.value = 2
    assert (pf.get(f"{name}_old"), pf.get(name)) == (2, 2)


def test_many_threads_read_and_set_without_losing_a_value(name):
    flag = pf.define(name, 0)
    allowed = set(range(8))
    wrong = []

    def work(number: int) -> None:
        for _ in range(300):
            flag.value = number
            if flag.value not in allowed:
                wrong.append(flag.value)
            with pf.override({name: number}):
                operator.index(flag.value)

    threads = [threading.Thread(target=work, args=(n,)) for n in allowed]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert {entry.source for entry in flag.history} == {"run time", "default"}


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
