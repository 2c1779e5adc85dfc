"""Bodies of live requests: which texts are read, and as what."""

from __future__ import annotations

import json

import pytest

from paddle_flags._native import lib
from paddle_flags.live._body import DEEPEST, MOST, BodyError, read_body

KINDS = {
    lib.PD_LIVE_NULL: "null",
    lib.PD_LIVE_BOOL: "bool",
    lib.PD_LIVE_NUMBER: "number",
    lib.PD_LIVE_TEXT: "text",
    lib.PD_LIVE_OBJECT: "object",
    lib.PD_LIVE_ARRAY: "array",
}


def fields(text):
    found = read_body(text if isinstance(text, bytes) else text.encode())
    return [(each.path, KINDS[each.kind], each.text) for each in found]


def test_a_body_becomes_its_values_in_their_order():
    assert fields('{"set": {"a": "1", "b": [true, null]}, "for": 1.50}') == [
        ("", "object", None),
        ("/set", "object", None),
        ("/set/a", "text", "1"),
        ("/set/b", "array", None),
        ("/set/b/0", "bool", "true"),
        ("/set/b/1", "null", None),
        ("/for", "number", "1.50"),
    ]


@pytest.mark.parametrize("text", ["-0", "1e400", "123456789012345678901234567890", "0.10"])
def test_a_number_keeps_its_text(text):
    assert fields(text) == [("", "number", text)]


def test_text_that_looks_like_a_number_stays_text():
    assert fields('"12"') == [("", "text", "12")]


def test_keys_are_escaped_as_a_json_pointer_wants_it():
    assert fields('{"a/b~c": 1, "": 2}')[1:] == [("/a~1b~0c", "number", "1"), ("/", "number", "2")]


def test_text_is_decoded():
    assert fields(r'"\ud83d\ude00 \u00e9\n"') == [("", "text", "\U0001f600 é\n")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "expected JSON"),
        (b"{", "expected JSON"),
        (b"{} {}", "expected JSON"),
        (b"'a'", "expected JSON"),
        (b"[1,]", "expected JSON"),
        (b"01", "expected JSON"),
        (b"+1", "expected JSON"),
        (b'"\n"', "expected JSON"),
        (b"\xef\xbb\xbf{}", "expected JSON"),
        ("{}".encode("utf-16"), "expected UTF-8"),
        (b'"\xff"', "expected UTF-8"),
        (b'"\xed\xa0\x80"', "expected UTF-8"),
        (b'{"a": 1, "b": 2, "a": 3}', "the key 'a' is there twice"),
        (b'{"set": {"a": 1, "\\u0061": 3}}', "the key 'a' is there twice"),
        (b"NaN", "NaN is not JSON"),
        (b"[Infinity]", "Infinity is not JSON"),
        (b"-Infinity", "-Infinity is not JSON"),
        (rb'{"a": "\ud800"}', "'/a': contains a lone surrogate"),
        (rb'{"a\udfff": 1}', "contains a lone surrogate"),
        (rb'{"a": "b\u0000"}', "'/a': contains a NUL"),
        (rb'{"\u0000": 1}', "contains a NUL"),
    ],
)
def test_what_is_no_json_is_refused_with_the_reason(text, reason):
    with pytest.raises(BodyError) as raised:
        read_body(text)
    assert reason in str(raised.value)


def test_containers_may_be_as_deep_as_is_said_and_no_deeper():
    assert len(fields("[" * DEEPEST + "]" * DEEPEST)) == DEEPEST
    with pytest.raises(BodyError, match="at most 16"):
        fields("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1))


@pytest.mark.parametrize(
    "text", ["[" * 1_000_000, '{"a":' * 200_000, "[" * 500_000 + "]" * 500_000]
)
def test_the_deepest_text_is_refused_without_recursion(text):
    with pytest.raises(BodyError, match="at most 16"):
        fields(text)


def test_brackets_within_text_do_not_count():
    text = json.dumps(["[" * 100, '\\"[[[[' * 20, "]" * 100])
    assert len(fields(text)) == 4


def test_a_body_has_a_bounded_number_of_values():
    assert len(fields(json.dumps([0] * (MOST - 1)))) == MOST
    with pytest.raises(BodyError, match="at most 10000 values"):
        fields(json.dumps([0] * MOST))
