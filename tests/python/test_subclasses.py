"""Values of subclasses of str, int and float, members of enumerations above all."""

from __future__ import annotations

import enum

import pytest

import paddle_flags as pf


class Mode(str, enum.Enum):  # noqa: UP042 - as older programs have it
    FAST = "fast"
    BEST = "best"


class Level(int, enum.Enum):
    LOW = 1
    HIGH = 9


class Port(enum.IntEnum):
    WEB = 80


class Rate(float, enum.Enum):
    HALF = 0.5


class Loud(str):
    """A text that is shown as another."""

    __slots__ = ()

    def __str__(self) -> str:
        return "shown"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return "shown"

    def encode(self, *_: object) -> bytes:  # type: ignore[override]
        return b"shown"


class Odd(int):
    """An integer that other types see as another."""

    def __int__(self) -> int:
        return -1

    __index__ = __int__

    def __str__(self) -> str:
        return "shown"

    __repr__ = __str__


class OddFloat(float):
    def __float__(self) -> float:
        return -1.0


VALUES = [
    (Mode.BEST, "best"),
    (Loud("best"), "best"),
    (Level.HIGH, 9),
    (Port.WEB, 80),
    (Odd(3), 3),
    (Rate.HALF, 0.5),
    (OddFloat(0.25), 0.25),
]
if hasattr(enum, "StrEnum"):

    class Way(enum.StrEnum):
        UP = "up"

    VALUES.append((Way.UP, "up"))


@pytest.mark.parametrize(("value", "plain"), VALUES, ids=lambda value: type(value).__name__)
def test_a_member_of_an_enumeration_is_stored_as_its_value(name, value, plain):
    kind = type(plain)
    flag = pf.define(name, kind())
    items = pf.define(name + "_list", (kind(),))

    def check() -> None:
        assert (flag.value, type(flag.value)) == (plain, kind)
        assert (items.value, {type(item) for item in items.value}) == ((plain, plain), {kind})
        flag.reset()
        items.reset()

    flag.value = value
    items.value = [value, value]
    check()
    pf.FLAGS.update({name: value, items.name: (value, value)})
    check()
    with pf.override({name: value, items.name: (value, value)}):
        assert (flag.value, items.value) == (plain, (plain, plain))
    pf.FLAGS[name].value = value
    pf.FLAGS[items.name].value = (value, plain)
    check()


@pytest.mark.parametrize(("value", "plain"), VALUES, ids=lambda value: type(value).__name__)
def test_a_member_of_an_enumeration_is_a_default_and_a_choice(name, value, plain):
    flag = pf.define(name, value, choices=[value])
    items = pf.define(name + "_list", [value, value], choices=(value,))
    if isinstance(value, enum.Enum):
        assert flag.value is flag.default is value
        assert (items.value, items.choices, flag.choices) == ((value, value), *[(value.name,)] * 2)
        return
    assert (flag.value, flag.default, type(flag.value)) == (plain, plain, type(plain))
    assert flag.choices == (str(plain),)
    assert (items.value, items.choices) == ((plain, plain), (str(plain),))
    assert items.items == {str: "string", int: "int64", float: "double"}[type(plain)]


def test_all_members_of_an_enumeration_are_choices(name):
    flag = pf.define(name, Mode.FAST, choices=Mode)
    assert flag.choices == ("FAST", "BEST")
    text = pf.define(name + "_text", "fast", choices=Mode)
    assert (text.value, text.choices) == ("fast", ("fast", "best"))
    with pytest.raises(pf.FlagValueError, match="expected one of FAST, BEST"):
        flag.value = "Mode.FAST"


def test_a_bound_may_be_a_member_of_an_enumeration(name):
    flag = pf.define(name, 1, min=Level.LOW, max=Level.HIGH)
    assert (flag.min, flag.max) == (1, 9)


def test_texts_that_are_members_mean_their_values(name):
    flag = pf.define(Loud(name), "fast", Mode.BEST, category=Mode.FAST, aliases=[Loud(name + "_b")])
    assert (flag.name, flag.help, flag.category, flag.aliases) == (
        name, "best", "fast", (name + "_b",),
    )  # fmt: skip
    pf.FLAGS[Loud(name)].set_from_string(Loud("given"))
    assert flag.value == "given"
    with pytest.warns(pf.FlagWarning, match="has no effect"):
        assert pf.parse(["prog", Loud(f"--{name}=argv"), Loud("rest")]) == ["rest"]
    del flag.value
    assert flag.value == "argv"


def test_a_member_that_does_not_fit_is_refused_by_its_value(name):
    flag = pf.define(name, 1, max=5)
    with pytest.raises(pf.FlagValueError, match=f"{name}=9: expected an integer <= 5"):
        flag.value = Level.HIGH
    with pytest.raises(pf.FlagTypeError, match="expected int for a flag of type int64, not Mode"):
        flag.value = Mode.BEST
