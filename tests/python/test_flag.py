"""A flag: reading, setting, and what is refused."""

from __future__ import annotations

import json
import math
import operator
import threading

import pytest
from support import needs_fork

import paddle_flags as pf
from paddle_flags._core.assign import assign
from paddle_flags._native import lib


def test_a_value_set_by_attribute_name_or_flag_is_seen_by_all_of_them(name):
    flag = pf.define(name, 1)
    setattr(pf.FLAGS, name, 2)
    assert (flag.value, pf.FLAGS[name].value, getattr(pf.FLAGS, name)) == (2, 2, 2)
    flag.value = 3
    assert (pf.FLAGS[name].value, pf.FLAGS[name].value) == (3, 3)
    pf.FLAGS[name].value = 4
    assert (flag.value, flag.text) == (4, "4")
    flag.set_from_string("0x10")
    assert flag.value == 16
    pf.FLAGS[name].reset()
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
    pf.FLAGS[name].value = 4
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
    assert pf.FLAGS[name].value == "abc"
    pf.define(name + "_n", 0).value = Number(3)
    assert pf.FLAGS[name + "_n"].value == 3


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
        lambda: pf.FLAGS.update({name: bad}),
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
    by_name, by_text = lambda: pf.FLAGS.update({name: 2}), lambda: flag.set_from_string("2")
    for change in (by_name, flag.reset, by_text):
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


@needs_fork
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
    assert rows[0][1].split() == ["in", "effect", "live", "pid", "4312"]
    assert rows[1][1].startswith("hidden by a live value")
    assert "attributes: runtime, unsafe" in pf.explain(name)
    assert f"--{name}=3" in pf.dump("argv")
    described = json.loads(pf.describe("json"))["flags"]
    (found,) = (each for each in described if each["name"] == name)
    assert (found["value"], found["source"], found["place"]) == (3, "live", "pid 4312")
    assert (found["runtime"], found["unsafe"]) == (True, True)


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
