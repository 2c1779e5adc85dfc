"""What holds for every value of a type, through the C functions themselves."""

from __future__ import annotations

import math
import struct
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paddle_flags._native import ffi, lib

settings.register_profile("untimed", deadline=None)  # machines differ
settings.load_profile("untimed")

BITS = {"int32": 32, "uint32": 32, "int64": 64, "uint64": 64}
TYPES = [*BITS, "bool", "double", "string"]

WORDS = st.text(alphabet="0123456789+-.eExXpPabfinty_, \t\n", max_size=24)
GARBAGE = st.binary(max_size=64).map(lambda data: data.replace(b"\0", b"0"))


@cache
def flag_of(kind: str) -> Any:
    definition, flag = ffi.new("pd_flag_def *"), ffi.new("pd_flag **")
    lib.pd_flag_def_init(definition, ffi.sizeof("pd_flag_def"), getattr(lib, f"PD_TYPE_{kind}"))
    name = ffi.new("char[]", f"property_{kind}".encode())
    definition.name = name
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


def set_value(kind: str, value: object) -> int:
    return getattr(lib, f"pd_flag_set_{kind}")(flag_of(kind), value, ffi.NULL)


def value_of(kind: str) -> Any:
    out = ffi.new(
        {"string": "char const **", "bool": "_Bool *", "double": "double *"}.get(
            kind, f"{kind}_t *"
        )
    )
    assert getattr(lib, f"pd_flag_get_{kind}")(flag_of(kind), out, ffi.NULL) == lib.PD_OK
    return ffi.string(out[0]) if kind == "string" else out[0]


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
