"""paddle_flags.paddle: Paddle's set_flags, get_flags and flag_guard."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from support import build_plugin, write

import paddle_flags as pf
from paddle_flags.paddle import NotExportedError, flag_guard, get_flags, set_flags

PLUGIN = """
#define PD_HEADER_ONLY
#include <pd_flags.h>
PD_DEFINE_int32(pt_before, 3, "As pd_flags.h has it", .max = 9);
#include <paddle/common/flags.h>
#include <pd_flags.h>
PD_DEFINE_int32(pt_after, 4, "As Paddle has it", .max = 9);
PHI_DEFINE_EXPORTED_bool(pt_check, false, "Stop at the first NaN or Inf");
PHI_DEFINE_EXPORTED_int32(pt_level, 6, "Level");
PHI_DEFINE_EXPORTED_uint64(pt_bytes, 1ULL << 63, "Bytes");
PHI_DEFINE_EXPORTED_double(pt_share, 0.92, "Share of memory");
PHI_DEFINE_EXPORTED_string(pt_mode, "fast", "How to search");
PHI_DEFINE_EXPORTED_READONLY_bool(pt_fixed, true, "Known at build time");
PHI_DEFINE_int32(pt_inner, 1, "Not for Python");
extern "C" __attribute__((visibility("default"))) int pt_assign(const char *mode) {
  FLAGS_pt_level = 8;
  FLAGS_pt_after = FLAGS_pt_before;
  FLAGS_pt_mode = mode;
  return FLAGS_pt_check;
}
extern "C" __attribute__((visibility("default"))) int pt_set(const char *name, const char *text) {
  return paddle::flags::SetFlagValue(name, text);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Load a plugin for all tests of this file."""
    place = tmp_path_factory.mktemp("paddle")
    source = write(place / "paddle.cpp", PLUGIN)
    compat = f"-I{pf.get_include()}/compat"
    path = build_plugin(place / "libpaddle.so", source, flags=("-std=c++11", compat))
    pf.load_plugin(path)
    return path


@pytest.fixture(autouse=True)
def _fresh(library: Path) -> None:
    assert library.exists()
    for flag in pf.FLAGS.values():
        if flag.name.startswith("pt_"):
            flag.reset()


@pytest.mark.extended  # takes a second or more
def test_exported_flags_are_set_and_read_by_paddles_names() -> None:
    set_flags({"FLAGS_pt_check": True, "FLAGS_pt_level": 3, "FLAGS_pt_share": 1})
    assert get_flags("FLAGS_pt_level") == {"FLAGS_pt_level": 3}
    everything = ("FLAGS_pt_check", "FLAGS_pt_share", "FLAGS_pt_mode", "FLAGS_pt_fixed")
    assert get_flags(everything) == {
        "FLAGS_pt_check": True,
        "FLAGS_pt_share": 1.0,
        "FLAGS_pt_mode": "fast",
        "FLAGS_pt_fixed": True,
    }
    assert get_flags(["FLAGS_pt_bytes"]) == {"FLAGS_pt_bytes": 1 << 63}
    assert pf.FLAGS.pt_level == 3


def test_what_native_code_assigns_is_seen_at_once(library: Path) -> None:
    loaded = ctypes.CDLL(str(library))
    assert loaded.pt_assign(b"best") == 0
    assert get_flags(["FLAGS_pt_level", "FLAGS_pt_mode"]) == {
        "FLAGS_pt_level": 8,
        "FLAGS_pt_mode": "best",
    }
    assert pf.FLAGS["pt_mode"].source == "run time"
    set_flags({"FLAGS_pt_check": 1})
    assert loaded.pt_assign(b"worst") == 1
    assert pf.FLAGS.pt_mode == "worst"


def test_both_headers_serve_in_one_file_that_links_nothing(library: Path) -> None:
    loaded = ctypes.CDLL(str(library))
    assert loaded.pt_set(b"pt_before", b"5") == 1
    assert loaded.pt_set(b"pt_before", b"10") == 0
    loaded.pt_assign(b"best")
    assert pf.FLAGS.pt_after == 5
    assert pf.FLAGS["pt_after"].max == 9


@pytest.mark.parametrize("value", [2, -1, 1.0, "true", "1", None, []])
def test_a_bool_takes_only_what_is_one(value: object) -> None:
    with pytest.raises(pf.FlagError):
        set_flags({"FLAGS_pt_check": value})  # type: ignore[dict-item]
    assert get_flags("FLAGS_pt_check") == {"FLAGS_pt_check": False}


@pytest.mark.parametrize("value", [3.9, "3", 1 << 31, None])
def test_an_integer_takes_only_integers_that_fit(value: object) -> None:
    with pytest.raises(pf.FlagError):
        set_flags({"FLAGS_pt_level": value})  # type: ignore[dict-item]
    assert get_flags("FLAGS_pt_level") == {"FLAGS_pt_level": 6}


def test_either_all_flags_are_set_or_none_and_all_errors_are_told() -> None:
    with pytest.raises(pf.FlagError) as caught:
        set_flags({"FLAGS_pt_level": 3, "FLAGS_pt_levl": 1, "FLAGS_pt_share": "x", "pt_mode": "a"})
    assert [str(error) for error in caught.value.errors] == [
        "no flag is named 'FLAGS_pt_levl'; did you mean 'FLAGS_pt_level'?",
        "pt_share='x': expected float for a flag of type double, not str",
        "pt_mode: expected a name that begins with FLAGS_",
    ]
    assert pf.FLAGS.pt_level == 6


@pytest.mark.parametrize("name", ["FLAGS_pt_inner", "pt_level", "FLAGS_nobody", "FLAGS_", ""])
def test_other_names_are_value_errors_as_in_paddle(name: str) -> None:
    with pytest.raises(ValueError) as setting:  # noqa: PT011 - the built-in is the point
        set_flags({name: 1})
    with pytest.raises(ValueError) as reading:  # noqa: PT011
        get_flags(name)
    assert isinstance(setting.value, NotExportedError)
    assert isinstance(reading.value, pf.UndefinedFlagError)


def test_a_readonly_flag_is_set_by_others_alone() -> None:
    with pytest.raises(pf.ReadOnlyFlagError, match=r"FLAGS_pt_fixed: .* reading alone"):
        set_flags({"FLAGS_pt_fixed": False})
    pf.FLAGS["pt_fixed"].set_from_string("false")
    assert get_flags("FLAGS_pt_fixed") == {"FLAGS_pt_fixed": False}


@pytest.mark.parametrize("flags", [None, 3, [("FLAGS_pt_level", 3)]])
def test_set_flags_takes_a_dict(flags: object) -> None:
    with pytest.raises(TypeError, match="expected a dict"):
        set_flags(flags)  # type: ignore[arg-type]


@pytest.mark.parametrize("flags", [None, 3, {"FLAGS_pt_level"}, [3]])
def test_get_flags_takes_names(flags: object) -> None:
    with pytest.raises(TypeError, match="flags: expected"):
        get_flags(flags)  # type: ignore[arg-type]


def test_flag_guard_gives_values_for_a_block_and_for_a_function() -> None:
    with flag_guard("FLAGS_pt_level", 9):
        assert pf.FLAGS.pt_level == 9
        with flag_guard({"FLAGS_pt_level": 2, "FLAGS_pt_mode": "best"}):
            assert get_flags("FLAGS_pt_mode") == {"FLAGS_pt_mode": "best"}
            set_flags({"FLAGS_pt_level": 1})
        assert pf.FLAGS.pt_level == 9
    assert pf.FLAGS.pt_level == 6

    @flag_guard("FLAGS_pt_level", 4)
    def read() -> object:
        return pf.FLAGS.pt_level

    assert (read(), pf.FLAGS.pt_level) == (4, 6)


def test_flag_guard_ends_after_an_exception_and_refuses_as_set_flags_does() -> None:
    with pytest.raises(ZeroDivisionError), flag_guard("FLAGS_pt_level", 9):
        _ = 1 / 0
    assert pf.FLAGS.pt_level == 6
    with pytest.raises(NotExportedError), flag_guard("FLAGS_pt_inner", 9):
        pass
    with pytest.raises(pf.FlagTypeError, match=r"flag_guard\(name, value\)"):
        flag_guard("FLAGS_pt_level")
    with pytest.raises(pf.FlagTypeError, match=r"flag_guard\(name, value\)"):
        flag_guard({"FLAGS_pt_level": 1}, 2)


def test_a_flag_of_python_is_exported_by_its_category(name: str) -> None:
    flag = pf.define(name, 1, category="exported")
    set_flags({f"FLAGS_{name}": 2})
    assert flag.value == 2
    assert flag.history[0].place.startswith(__file__)
