"""The words for a bool: the same wherever text is read."""

from __future__ import annotations

import pytest

import paddle_flags as pf
from paddle_flags.live import _attach_values

EXPECTED = "expected true or false (or yes/no, on/off, y/n, t/f, 1/0)"


@pytest.mark.parametrize(("word", "value"), [("on", True), ("OFF", False), ("Yes", True)])
def test_on_and_off_are_bools_like_yes_and_no_wherever_text_is_read(name, word, value, monkeypatch):
    flag = pf.define(name, not value)
    pf.define(f"{name}.list", [not value])
    pf.define(f"{name}.dict", {"a": not value})
    line = [f"--{name}={word}", f"--{name}.list={word},{word}", f"--{name}.dict=a={word}"]
    pf.parse(["program", *line])
    assert flag.value is value
    assert pf.FLAGS[f"{name}.list"].value == (value, value)
    assert pf.FLAGS[f"{name}.dict"].value == {"a": value}
    flag.reset()
    monkeypatch.setenv(f"BOOLS_{name}", word)
    pf.parse(["program"], env_prefix="BOOLS_")
    assert (flag.value, flag.source) == (value, "environment")
    assert _attach_values.parse_list_items(word, "bool") == [value]


@pytest.mark.parametrize("type_", [bool, list[bool], dict[str, bool]])
def test_the_message_about_a_bool_lists_the_words(name, type_):
    flag = pf.define(name, None, type=type_)
    with pytest.raises(pf.FlagValueError) as raised:
        flag.set_from_string("a=maybe" if type_ == dict[str, bool] else "maybe")
    assert EXPECTED in str(raised.value)
