"""Types with constraints: those of annotated_types, of pydantic and of neither."""

from __future__ import annotations

import datetime as dt
import pathlib
import subprocess
import sys
from typing import Annotated, Any, NamedTuple, Optional

import pytest
from python_types import errors, parse

import paddle_flags as pf

a = pytest.importorskip("annotated_types")
pydantic = pytest.importorskip("pydantic")

REFUSED: list[tuple[Any, Any, str, str]] = [  # type, default, refused text, what was expected
    (pydantic.PositiveInt, 1, "-5", "an integer > 0"),
    (Annotated[int, a.Gt(0)], 1, "0", "an integer > 0"),
    (Annotated[int, a.Interval(ge=1, lt=9)], 1, "9", "an integer >= 1 and < 9"),
    (Annotated[float, a.Le(0.5)], 0.5, "0.6", "a number <= 0.5"),
    (Annotated[float, a.MultipleOf(0.1)], 0.3, "0.25", "a number that is a multiple of 0.1"),
    (Annotated[int, a.MultipleOf(8)], 8, "9", "an integer that is a multiple of 8"),
    (Annotated[str, a.MinLen(2)], "ab", "a", "text of length >= 2"),
    (Annotated[str, a.Len(1, 2)], "ab", "abc", "text of length >= 1 and of length <= 2"),
    (Annotated[str, a.Predicate(str.islower)], "a", "A", "text that str.islower accepts"),
    (list[pydantic.PositiveInt], [1], "1,0", "item 2: expected an integer > 0"),
    (Annotated[list[int], a.MaxLen(2)], [1], "1,2,3", "a list of length <= 2"),
    (dict[str, pydantic.PositiveInt], {"a": 1}, "a=-1", "item 1: expected an integer > 0"),
    (Optional[pydantic.PositiveInt],  # noqa: UP045 - as older programs have it
     None, "-5", "an integer > 0"),
    (Annotated[dt.timedelta, a.Gt(dt.timedelta(0))], dt.timedelta(1), "0", "0:00:00"),
    (pydantic.FilePath, None, "/does/not/exist", "Path does not point to a file"),
    (list[pydantic.FilePath], [], "/does/not/exist", "Path does not point to a file"),
    (Annotated[int, pydantic.Field(gt=3)], 4, "3", "greater than 3"),
    (pydantic.constr(pattern="^a"), "a", "b", "String should match pattern"),
    (pydantic.conlist(int, min_length=1), [1], "", "a list of length >= 1"),
    (pydantic.HttpUrl, None, "ftp://x", "URL scheme should be"),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "default", "text", "expected"), REFUSED, ids=str)
def test_a_value_that_a_constraint_forbids_is_refused(name, hint, default, text, expected):
    flag = pf.define(name, default, type=hint)
    before = flag.value
    (error,) = errors(f"--{name}={text}")
    assert error.startswith(f"--{name}={text}: ")
    assert expected in error
    assert (flag.value, flag.source) == (before, "default")


@pytest.mark.parametrize(
    ("hint", "bad", "good"),
    [
        (pydantic.PositiveInt, 0, 2),
        (Annotated[float, a.Gt(0)], -1, 1),
        (list[pydantic.PositiveInt], [1, -1], (2, 3)),
        (Annotated[str, a.MinLen(1)], "", "x"),
    ],
)
def test_so_are_a_default_and_an_assigned_value(name, hint, bad, good):
    with pytest.raises(pf.FlagValueError, match="expected"):
        pf.define(name, bad, type=hint)
    assert name not in list(pf.FLAGS)
    flag = pf.define(name, good, type=hint)
    with pytest.raises(pf.FlagValueError, match="expected"):
        flag.value = bad
    flag.value = good
    assert flag.value == good
    with pytest.raises(pf.FlagTypeError):
        flag.value = object()


def test_what_waits_for_the_flag_is_checked(name):
    pf.parse(["program", f"--{name}=-1"], allow_pending=True, exit=False)
    with pytest.raises(pf.FlagValueError, match="expected an integer > 0"):
        pf.define(name, 1, type=pydantic.PositiveInt)
    assert pf.FLAGS[name].value == 1


def test_native_code_sees_the_type_without_the_constraint(name):
    assert pf.define(name, 1, type=pydantic.PositiveInt).type == "int64"
    sizes = pf.define(f"{name}s", [1], type=list[pydantic.PositiveInt])
    parse(f"--{name}s=0x10,2")
    assert sizes.value == (16, 2)
    assert pf.define(f"{name}_f", 1, type=Annotated[float, a.Gt(0)]).value == 1.0


def test_pydantic_may_change_a_value(name, tmp_path):
    flag = pf.define(name, "a", type=Annotated[str, pydantic.StringConstraints(to_upper=True)])
    parse(f"--{name}=b")
    assert (flag.value, flag.text) == ("B", "B")
    file = pf.define(f"{name}_file", None, type=pydantic.FilePath)
    (tmp_path / "x").touch()
    parse(f"--{name}_file={tmp_path / 'x'}")
    assert file.value == pathlib.Path(tmp_path / "x")


class Unknown(NamedTuple):
    way: str


def test_metadata_that_cannot_be_enforced_is_refused(name):
    with pytest.raises(pf.FlagTypeError, match="can't be enforced; expected constraints of"):
        pf.define(name, 1, type=Annotated[int, Unknown("odd")])
    flag = pf.define(name, 1, type=Annotated[int, "a note", None])
    assert flag.type == "int64"


def test_constraints_need_no_package(tmp_path):
    program = tmp_path / "p.py"
    program.write_text(
        "import sys; sys.modules['annotated_types'] = sys.modules['pydantic'] = None\n"
        "import paddle_flags as pf\nfrom typing import Annotated\n"
        "class Gt:\n    def __init__(self, gt): self.gt = gt\n"
        "pf.define('n', 1, type=Annotated[int, Gt(0)])\n"
        "pf.parse(['p', '--n=0'])\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--n=0: expected an integer > 0" in done.stderr
