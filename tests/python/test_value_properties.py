"""What holds for every value of a type, through the C functions themselves."""

from __future__ import annotations

import csv
import io
import math
import re
import struct
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paddle_flags._core import lists
from paddle_flags._core.values import LISTS, decode_native_value
from paddle_flags._native import ffi, lib

pytestmark = pytest.mark.extended  # needs much time

BITS = {"int32": 32, "uint32": 32, "int64": 64, "uint64": 64}
TYPES = [*BITS, "bool", "double", "string"]

WORDS = st.text(alphabet="0123456789+-.eExXpPabfinty_, \t\n", max_size=24)
GARBAGE = st.binary(max_size=64).map(lambda data: data.replace(b"\0", b"0"))


@cache
def flag_of(kind: str) -> Any:
    """Define a flag of a type; `int64 bytes` has a unit, `list double` is one."""
    words = kind.split()
    is_list = words[0] == "list"
    definition, flag = ffi.new("pd_flag_def *"), ffi.new("pd_flag **")
    number = lib.PD_TYPE_string if is_list else getattr(lib, f"PD_TYPE_{words[0]}")
    lib.pd_flag_def_init(definition, ffi.sizeof("pd_flag_def"), number)
    name = ffi.new("char[]", f"property_{'_'.join(words)}".encode())
    unit = ffi.new("char[]", words[-1].encode())
    definition.name = name
    if is_list:
        definition.list = getattr(lib, f"PD_TYPE_{words[1]}")
    elif len(words) == 2:
        definition.unit = unit
    assert lib.pd_flag_register(definition, flag, ffi.NULL) == lib.PD_OK
    return flag[0]


def text_of(kind: str) -> bytes:
    length = ffi.new("size_t *")
    assert lib.pd_flag_get_text(flag_of(kind), ffi.NULL, 0, length, ffi.NULL) == lib.PD_OK
    buffer = ffi.new("char[]", length[0] + 1)
    assert (
        lib.pd_flag_get_text(flag_of(kind), buffer, length[0] + 1, ffi.NULL, ffi.NULL) == lib.PD_OK
    )
    return ffi.string(buffer)


def set_text(kind: str, text: bytes) -> tuple[int, str]:
    error = ffi.new("pd_error *")
    status = lib.pd_flag_set_from_string(flag_of(kind), ffi.new("char[]", text), error)
    return status, ffi.string(error.message).decode("utf-8")


def plain(kind: str) -> str:
    first = kind.split(maxsplit=1)[0]
    return "string" if first == "list" else first


def set_value(kind: str, value: object) -> int:
    return getattr(lib, f"pd_flag_set_{plain(kind)}")(flag_of(kind), value, ffi.NULL)


def value_of(kind: str) -> Any:
    name = plain(kind)
    pointers = {"string": "char const **", "bool": "_Bool *", "double": "double *"}
    out = ffi.new(pointers.get(name, f"{name}_t *"))
    assert getattr(lib, f"pd_flag_get_{name}")(flag_of(kind), out, ffi.NULL) == lib.PD_OK
    return ffi.string(out[0]) if name == "string" else out[0]


def limits(kind: str) -> tuple[int, int]:
    bits = BITS[kind]
    return (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@pytest.mark.parametrize("kind", BITS)
@given(data=st.data())
def test_every_integer_of_a_type_reads_back_equal(kind: str, data: st.DataObject) -> None:
    value = data.draw(st.integers(*limits(kind)))
    assert set_value(kind, value) == lib.PD_OK
    assert text_of(kind) == str(value).encode()
    set_value(kind, 0)
    assert set_text(kind, str(value).encode())[0] == lib.PD_OK
    assert value_of(kind) == value


@pytest.mark.parametrize("kind", BITS)
@given(value=st.integers(-(2**70), 2**70), hexadecimal=st.booleans())
def test_an_integer_is_taken_exactly_when_the_type_can_hold_it(
    kind: str, value: int, hexadecimal: bool
) -> None:
    low, high = limits(kind)
    status, _ = set_text(kind, (hex(value) if hexadecimal else str(value)).encode())
    assert status == (lib.PD_OK if low <= value <= high else lib.PD_ERR_RANGE)
    if status == lib.PD_OK:
        assert value_of(kind) == value


@given(st.floats())
@example(5e-324)
@example(-0.0)
@example(1.7976931348623157e308)
def test_every_double_reads_back_equal(value: float) -> None:
    assert set_value("double", value) == lib.PD_OK
    text = text_of("double")
    set_value("double", 0.0)
    assert set_text("double", text)[0] == lib.PD_OK
    back = value_of("double")
    assert (math.isnan(value) and math.isnan(back)) or struct.pack("d", value) == struct.pack(
        "d", back
    )
    assert math.isnan(value) or float(text) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_that_python_writes_is_read_as_the_same(value: float) -> None:
    assert set_text("double", repr(value).encode())[0] == lib.PD_OK
    assert value_of("double") == value


@given(st.booleans())
def test_every_bool_reads_back_equal(value: bool) -> None:
    assert set_value("bool", value) == lib.PD_OK
    text = text_of("bool")
    set_value("bool", not value)
    assert set_text("bool", text)[0] == lib.PD_OK
    assert value_of("bool") is value


@given(st.binary(max_size=300).map(lambda data: data.replace(b"\0", b"")))
def test_all_text_reads_back_equal(value: bytes) -> None:
    assert set_value("string", ffi.new("char[]", value)) == lib.PD_OK
    assert text_of("string") == value_of("string") == value


@pytest.mark.parametrize("kind", TYPES)
@given(text=st.one_of(WORDS.map(str.encode), GARBAGE))
def test_garbage_is_refused_without_a_change_or_is_a_value(kind: str, text: bytes) -> None:
    before = text_of(kind)
    status, message = set_text(kind, text)
    if status == lib.PD_OK:
        after = text_of(kind)
        assert set_text(kind, after)[0] == lib.PD_OK
        assert text_of(kind) == after
    else:
        assert status in (lib.PD_ERR_VALUE, lib.PD_ERR_RANGE)
        assert text_of(kind) == before
        assert message.startswith(f"property_{kind}=")
        assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in message)


@given(text=WORDS)
def test_integers_and_doubles_agree_on_what_a_decimal_number_is(text: str) -> None:
    status, _ = set_text("int64", text.encode())
    plain = text.lstrip("+-")
    decimal = plain.isascii() and plain.isdigit() and len(text) - len(plain) <= 1
    if decimal:
        assert status == (lib.PD_OK if -(2**63) <= int(text) < 2**63 else lib.PD_ERR_RANGE)
        assert set_text("double", text.encode())[0] == lib.PD_OK
        assert value_of("double") == float(text)


@given(st.binary(max_size=300).map(lambda data: data.replace(b"\0", b"x")))
def test_any_name_is_valid_or_refused_with_one_line_of_text(end: bytes) -> None:
    name = b"property." + end
    definition, flag, error = ffi.new("pd_flag_def *"), ffi.new("pd_flag **"), ffi.new("pd_error *")
    lib.pd_flag_def_init(definition, ffi.sizeof("pd_flag_def"), lib.PD_TYPE_bool)
    text = ffi.new("char[]", name)
    definition.name = text
    status = lib.pd_flag_register(definition, flag, error)
    valid = all(c in b"_.-" or bytes([c]).isalnum() for c in name) and len(name) <= lib.PD_NAME_MAX
    assert status == (lib.PD_OK if valid else lib.PD_ERR_NAME)
    if not valid:
        assert "\n" not in ffi.string(error.message).decode("utf-8")
        assert lib.pd_flag_find(text, flag, error) == lib.PD_ERR_UNDEFINED


# ---- Units ----

SECONDS = {
    "d": Fraction(86400),
    "h": Fraction(3600),
    "min": Fraction(60),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
BYTES = {
    "B": Fraction(1),
    **{f"{p}B": Fraction(1000**n) for p, n in zip("kKMGTPE", [1, 1, 2, 3, 4, 5, 6])},
    **{f"{p}iB": Fraction(1024**n) for n, p in enumerate("KMGTPE", 1)},
}
UNITS = {"seconds": SECONDS, "bytes": BYTES}
KINDS_WITH_UNIT = [f"{kind} {unit}" for kind in [*BITS, "double"] for unit in UNITS]
PART = re.compile(r"(\d+\.?\d*|\.\d+)([A-Za-zµμ]+)", re.ASCII)


def meaning(unit: str, text: str) -> Fraction | None:
    """Give the exact quantity that a text with suffixes means; None: it means none."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("-", "+") else text
    parts = PART.findall(rest)
    if not parts or "".join(map("".join, parts)) != rest or len(text.encode()) > 99:
        return None
    if any(suffix not in UNITS[unit] for _, suffix in parts):
        return None
    sizes = [UNITS[unit][suffix] for _, suffix in parts]
    if len(sizes) > 1 and (unit == "bytes" or sizes != sorted(set(sizes), reverse=True)):
        return None
    return sign * sum(
        Fraction(number + "0" if number.endswith(".") else number) * UNITS[unit][suffix]
        for number, suffix in parts
    )


def quantities(unit: str) -> st.SearchStrategy[str]:
    digits = st.text("0123456789", min_size=1, max_size=25)
    number = st.one_of(
        st.integers(0, 2**66).map(str),
        st.builds("{}.{}".format, st.integers(0, 2000), digits),
        digits.map(".{}".format),
    )
    part = st.builds(str.__add__, number, st.sampled_from(sorted(UNITS[unit])))
    parts = st.lists(part, min_size=1, max_size=3)
    if unit == "seconds":  # in order more often than not
        order = list(SECONDS)
        parts = parts.map(lambda p: sorted(p, key=lambda t: order.index(t.lstrip("0123456789."))))
    whole = parts.map("".join)
    return st.builds(str.__add__, st.sampled_from(["", "", "-", "+"]), whole)


@given(kind=st.sampled_from(KINDS_WITH_UNIT), data=st.data())
@settings(max_examples=400)
def test_a_quantity_is_read_as_exact_arithmetic_says(kind: str, data: st.DataObject) -> None:
    name, unit = kind.split()
    text = data.draw(quantities(unit))
    expected = meaning(unit, text)
    set_value(kind, 0)
    status, message = set_text(kind, text.encode())
    if expected is None or (name != "double" and expected.denominator != 1):
        assert status == lib.PD_ERR_VALUE, message
        assert f"number of {unit}" in message
    elif name == "double":
        assert status == lib.PD_OK, message
        assert value_of(kind) == float(expected)
    else:
        low, high = limits(name)
        assert status == (lib.PD_OK if low <= expected <= high else lib.PD_ERR_RANGE), message
        assert value_of(kind) == (expected if low <= expected <= high else 0)


@given(kind=st.sampled_from([k for k in KINDS_WITH_UNIT if "double" not in k]), data=st.data())
def test_every_integer_is_read_exactly_in_any_unit_that_divides_it(
    kind: str, data: st.DataObject
) -> None:
    name, unit = kind.split()
    value = data.draw(st.integers(*limits(name)))
    suffix = data.draw(st.sampled_from(sorted(UNITS[unit])))
    number = Fraction(value) / UNITS[unit][suffix]
    twos = (number.denominator & -number.denominator).bit_length()
    places = max(twos, 20)  # enough where the denominator has but twos and fives
    scaled = abs(number) * 10**places
    if scaled.denominator == 1 and scaled.numerator < 10**60:
        digits = str(scaled.numerator).rjust(places + 1, "0")
        text = f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}{suffix}"
        set_value(kind, 0)
        assert set_text(kind, text.encode()) == (lib.PD_OK, "")
        assert value_of(kind) == value


@given(kind=st.sampled_from(KINDS_WITH_UNIT), data=st.data())
def test_every_value_with_a_unit_reads_back_equal(kind: str, data: st.DataObject) -> None:
    name = kind.split(maxsplit=1)[0]
    values = st.floats(allow_nan=False) if name == "double" else st.integers(*limits(name))
    value = data.draw(values)
    assert set_value(kind, value) == lib.PD_OK
    text = text_of(kind)
    set_value(kind, 0)
    assert set_text(kind, text)[0] == lib.PD_OK
    assert value_of(kind) == value
    assert set_value(name, value) == lib.PD_OK
    assert text == text_of(name)  # the plain number


SCRAPS = st.lists(
    st.sampled_from([*SECONDS, *BYTES, "1", "0", "9.5", ".", "-", "+", "x", "e", "K", " ", ","])
).map("".join)


@given(
    kind=st.sampled_from(KINDS_WITH_UNIT), text=st.one_of(SCRAPS, WORDS).map(str.encode) | GARBAGE
)
def test_garbage_for_a_unit_is_refused_without_a_change_or_is_a_value(
    kind: str, text: bytes
) -> None:
    name, unit = kind.split()
    before = text_of(kind)
    status, _ = set_text(kind, text)
    after = text_of(kind)
    if status != lib.PD_OK:
        assert after == before
        return
    assert set_text(kind, after)[0] == lib.PD_OK
    assert text_of(kind) == after
    if set_text(name, text)[0] != lib.PD_OK:  # no plain number
        assert meaning(unit, text.decode()) == Fraction(value_of(kind)) or name == "double"


# ---- Lists ----

ITEM_TYPES = ["bool", *BITS, "double", "string"]
LIST_TEXT = st.text(alphabet='ab1,," \t\r\n', max_size=30)


def items_of(text: bytes) -> list[bytes] | None:
    """Give the items of a list through pd_list_get; None: it is no list."""
    items: list[bytes] = []
    length, error = ffi.new("size_t *"), ffi.new("pd_error *")
    data = ffi.new("char[]", text)
    while True:
        buffer = ffi.new("char[]", len(text) + 1)
        status = lib.pd_list_get(data, len(items), buffer, len(text) + 1, length, error)
        if status == lib.PD_ERR_ARGUMENT:
            return items
        if status != lib.PD_OK:
            assert status == lib.PD_ERR_VALUE
            return None
        items.append(ffi.string(buffer))
        assert len(items[-1]) == length[0]


def written_by_csv(items: list[str], quoting: int) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=quoting).writerow(items)
    return out.getvalue()[: -len("\r\n")]


@given(st.lists(st.text(max_size=12).filter(lambda item: "\0" not in item), max_size=6))
@settings(max_examples=400)
def test_a_list_that_csv_writes_is_read_as_the_same_items(items: list[str]) -> None:
    expected = [item.encode("utf-8", "surrogatepass") for item in items]
    quoted = written_by_csv(items, csv.QUOTE_ALL).encode("utf-8", "surrogatepass")
    assert items_of(quoted) == expected
    # csv leaves blanks at the ends bare, which don't belong to the item here.
    minimal = written_by_csv(items, csv.QUOTE_MINIMAL).encode("utf-8", "surrogatepass")
    bare = [item if set(item) & set(',"\r\n') else item.strip(" \t") for item in items]
    assert items_of(minimal) == [item.encode("utf-8", "surrogatepass") for item in bare]


@given(LIST_TEXT)
@settings(max_examples=400)
@example('a,"b')
@example('"a"b')
@example('""')
@example(",")
@example(' "a" , b')
@example(" ")
def test_text_that_is_a_list_is_one_for_csv_too(text: str) -> None:
    items = items_of(text.encode())
    # csv takes blanks around items as they are, and quotes inside of them.
    trimmed = re.sub(r'[ \t]*("(?:[^"]|"")*"|[^,"\r\n]*?)[ \t]*(,|\Z)', r"\1\2", text)
    if items is not None:
        read = next(csv.reader(io.StringIO(trimmed, newline=""), strict=True), [])
        assert [item.encode() for item in read or [""] * bool(text)] == items
    else:
        assert re.search(r'["\r\n]', re.sub(r'(?<![^,])"(?:[^"]|"")*"(?![^,])', "", trimmed))


@given(st.lists(st.text(max_size=12).filter(lambda item: "\0" not in item), max_size=6))
def test_a_list_of_python_reads_back_equal(items: list[str]) -> None:
    items = [item.encode("utf-8", "replace").decode() for item in items]
    text = lists.encode(tuple(items))
    assert lists.parse_list(str, text) == tuple(items)
    assert items_of(text.encode()) == [item.encode() for item in items]


@given(item=st.sampled_from(ITEM_TYPES), data=st.data())
@settings(max_examples=300)
def test_python_and_c_agree_on_the_items_of_every_list(item: str, data: st.DataObject) -> None:
    kind = f"list {item}"
    numbers = [st.integers(-(2**65), 2**65).map(str), st.floats().map(repr)]
    others = [WORDS, st.integers(0, 99).map(hex), st.sampled_from(["T", "no", "FALSE"])]
    texts = st.one_of(*numbers, *others)
    text = ",".join(data.draw(st.lists(texts, max_size=4)))
    status, message = set_text(kind, text.encode())
    items = items_of(text.encode())
    parts = None if items is None else [set_text(item, part) for part in items]
    if status != lib.PD_OK:
        bad = next((n for n, part in enumerate(parts or [], 1) if part[0] != lib.PD_OK), None)
        assert parts is None or (bad is not None and f": item {bad}: expected " in message)
        return
    assert parts is not None
    kept = ffi.new("char[]", text.encode())
    seen = decode_native_value(LISTS[item], ffi.new("pd_value *", {"str": kept}))
    assert len(seen) == len(parts)
    for value, part in zip(seen, items or []):
        assert set_text(item, part)[0] == lib.PD_OK
        known = value_of(item)
        known = known.decode() if item == "string" else known
        assert value == known or (math.isnan(value) and math.isnan(known))
        assert type(value) is LISTS[item].item.python  # type: ignore[union-attr]
