"""What a command line gives a flag that code has set: it has no effect, and a warning says so."""

from __future__ import annotations

import warnings

import pytest

import paddle_flags as pf


def _said(*tokens: str) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pf.parse(["nb", *tokens], exit=False)
    return [str(each.message) for each in caught]


def test_a_warning_names_the_flag_both_values_and_what_to_do(name):
    flag = pf.define(name, 1.0)
    flag.value = 5
    with pytest.warns(pf.FlagWarning) as caught:
        pf.parse(["nb", f"--{name}=7"])
    assert flag.value == 5
    place = f"{__file__}:{flag.place.rpartition(':')[2]}"
    expected = (
        f"--{name}=7.0 has no effect: code has set the flag to 5.0 at {place}, which takes"
        f" precedence over the command line; to use the line, call FLAGS['{name}'].reset() before"
        " parse()"
    )
    assert [str(each.message) for each in caught] == [expected]
    flag.reset()
    assert _said(f"--{name}=7") == []
    assert flag.value == 7


def test_other_spellings_are_warned_of_too(name):
    flag = pf.define(name, 1, aliases=[f"{name}_a"])
    on = pf.define(f"{name}_on", False)
    many = pf.define(f"{name}_many", [1], multi=True)
    secret = pf.define(f"{name}_secret", "", sensitive=True)
    flag.value, on.value, many.value, secret.value = 5, True, [3], "geheim"
    for tokens, what in (
        ([f"--{name}", "7"], f"--{name}=7 "),
        ([f"-{name}-a=8"], f"--{name}=8 "),
        ([f"--no{name}_on"], f"--{name}_on=False "),
        ([f"--{name}_many=1", f"--{name}_many=3"], f"--{name}_many=(1, 3) "),
        ([f"--{name}_secret=verborgen"], f"--{name}_secret=<redacted> "),
    ):
        (said,) = _said(*tokens)
        assert said.startswith(what)
        assert "geheim" not in said


def test_a_line_that_changes_nothing_or_does_not_name_the_flag_is_not_warned_of(name):
    flag, other = pf.define(name, 1), pf.define(f"{name}_other", 1, aliases=[f"{name}_a"])
    pf.parse(["nb", f"--{name}=4"], exit=False)
    flag.value = 5
    assert _said(f"--{name}=5") == []
    assert _said(f"--{name}_a=3", f"--{name}_other=4") == []
    assert _said("--", f"--{name}=6") == []
    with pf.override({other: 7}):
        assert _said(f"--{name}_other=4") == []
