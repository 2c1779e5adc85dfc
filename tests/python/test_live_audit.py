"""The audit of changes from outside: logging, functions."""

from __future__ import annotations

import json
import logging
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from audited import REFUSED, SET, numbers_of, recording, text_of

import paddle_flags as pf
from paddle_flags.live._audit import make_sink, message_of

if not sys.platform.startswith("linux"):
    pytest.skip("flags are served on Linux only", allow_module_level=True)


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    with recording() as records:
        yield records


# ---- Logging ----


def test_a_change_is_one_line_with_all_of_it_as_extra(logged):
    make_sink()(text_of(SET))
    (record,) = logged
    assert (record.name, record.levelname) == ("paddle_flags.live", "INFO")
    assert record.getMessage() == (
        "change 7: alpha_level from '6' to '9'; by uid 1000, pid 815, paddle-flags;"
        " until 2026-11-25T16:40:00.000Z; reason 'loss is NaN'"
    )
    assert record.__dict__["paddle_flags"] == SET


def test_a_refusal_is_a_warning_with_its_status_and_detail(logged):
    make_sink()(text_of(REFUSED))
    (record,) = logged
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "refused: alpha_level; by 127.0.0.1, token ops;"
        " status 422 'alpha_level: expected an integer in [1, 9]'"
    )


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"event": "undo", "change": 8, "undoes": 7}, "undo 8 of change 7"),
        ({**SET, "event": "ended", "who": None, "until": None, "reason": None},
         "end of change 7: alpha_level"),
        ({"event": "set", "flags": [{"name": "token"}]}, "change: token"),
        ({"event": "set", "flags": [{"name": "x", "old": None, "new": "1"}]},
         "change: x from no value to '1'"),
        ({"event": "set", "flags": [{"name": "x", "new": None}]}, "change: x to no value"),
        ({"event": "set", "who": {}}, "change; by somebody unknown"),
        ({"event": "fleet", "fleet": "dir:///mnt/job 42", "on": "role:trainer",
          "flags": [{"name": "x", "new": "1"}]},
         "change of the fleet 'dir:///mnt/job 42' for role:trainer: x to '1'"),
    ],
)  # fmt: skip
def test_each_event_has_its_sentence(event, message):
    assert message_of(event) == message


HOSTILE = "a\nroot: change 9\r\x1b[2J\x00\u202e\u2028\x85\ud800 '; by uid 0\\"


@pytest.mark.parametrize("key", ["reason", "name", "old", "new", "command", "host", "label"])
def test_no_text_of_a_client_becomes_another_line_or_another_part(logged, key):
    event = json.loads(text_of(SET, reason="x"))
    place = event["flags"][0] if key in event["flags"][0] else event["who"]
    (event if key == "reason" else place)[key] = HOSTILE
    make_sink()(json.dumps(event).encode())
    text = logged[0].getMessage()
    assert not [c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    assert r"'a\nroot: change 9\r\x1b[2J\x00\u202e\u2028\x85\ud800 \'; by uid 0\\'" in text
    assert text.isprintable()


def test_percent_signs_stay(logged):
    make_sink()(text_of(SET, reason="100%s %(name)s %d"))
    assert logged[0].getMessage().endswith("reason '100%s %(name)s %d'")


def test_a_message_is_short_however_large_the_change_is(logged):
    flags = [{"name": f"flag_{i}", "old": "x" * 10_000, "new": "\n" * 10_000} for i in range(1000)]
    make_sink()(text_of(SET, flags=flags, reason="r" * 1000))
    text = logged[0].getMessage()
    assert len(text) < 10_000
    assert "and 990 more flags" in text
    assert logged[0].__dict__["paddle_flags"]["flags"] == flags


def test_an_event_that_is_no_json_is_reported_all_the_same(logged, tmp_path):
    make_sink(tmp_path / "audit.jsonl")(b"\xff{\n")
    assert logged[0].__dict__["paddle_flags"] == {"event": "unreadable", "text": repr(b"\xff{\n")}
    assert (tmp_path / "audit.jsonl").read_bytes() == b"\xff{ \n"


# ---- Functions ----


def test_a_function_gets_each_event_as_its_own_dictionary(logged):
    seen: list[Any] = []

    def keep(event: dict[str, Any]) -> None:
        seen.append(dict(event))
        event.clear()

    make_sink([keep, keep])(text_of(SET))
    assert seen == [SET, SET]
    assert logged[0].__dict__["paddle_flags"] == SET


def test_a_function_that_fails_stops_nothing(monkeypatch, tmp_path):
    failures: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)

    def fail(_: object) -> None:
        message = "no network"
        raise RuntimeError(message)

    path = tmp_path / "audit.jsonl"
    make_sink([fail, path])(text_of(SET))
    assert numbers_of(path) == [7]
    assert [str(failure.exc_value) for failure in failures] == ["no network"]


def test_a_filter_of_logging_that_fails_stops_nothing(monkeypatch, tmp_path):
    failures: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)
    logger = logging.getLogger("paddle_flags.live")

    def fail(_: object) -> bool:
        raise ZeroDivisionError

    logger.addFilter(fail)
    path = tmp_path / "audit.jsonl"
    try:
        make_sink(path)(text_of(REFUSED, change=3))
    finally:
        logger.removeFilter(fail)
    assert numbers_of(path) == [3]
    assert len(failures) == 1


@pytest.mark.parametrize("wrong", [3, [3], [["a"]], b"path"])
def test_another_audit_is_refused(wrong):
    with pytest.raises(pf.FlagTypeError, match="expected a path, an AuditFile or a function"):
        make_sink(wrong)
