"""Classes for flags with types of Python, and what their tests share."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Any

import pytest

import paddle_flags as pf
from paddle_flags._native import ffi, lib


class Mode(enum.Enum):
    FAST = "fast"
    BEST = 2
    GOOD = 2  # noqa: PIE796 - an alias


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Colour(str, enum.Enum):  # noqa: UP042 - as older programs have it
    RED = "red"
    BLUE = "blue"


class Right(enum.Flag):
    READ = 1
    WRITE = 2
    ALL = 3


DAY = dt.datetime(2026, 1, 31)  # noqa: DTZ001 - flags may have no zone


def parse(*tokens: str) -> list[str]:
    return pf.parse(["program", *tokens], exit=False)


def errors(*tokens: str) -> list[str]:
    with pytest.raises(pf.FlagParseError) as caught:
        parse(*tokens)
    return [str(error) for error in caught.value.errors]


def in_c(flag: pf.Flag[Any]) -> str:
    text = ffi.new("char **")
    assert lib.pd_flag_get_string(flag.handle, ffi.cast("const char **", text), ffi.NULL) == 0
    return ffi.string(text[0]).decode()
