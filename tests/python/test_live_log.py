"""What is logged of changes from outside."""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Iterator

import pytest

from paddle_flags.live._log import format_event, log_event

WHO = {"uid": 1000, "pid": 815, "command": "paddle-flags"}
SET = {
    "event": "set",
    "result": "applied",
    "change": 7,
    "at": "2026-11-25T16:30:00.000Z",
    "kind": "set",
    "undoes": None,
    "who": WHO,
    "reason": "loss is NaN",
    "until": "2026-11-25T16:40:00.000Z",
    "state": "on",
    "flags": [{"name": "alpha_level", "old": "6", "new": "9"}],
}
REFUSED = {
    "event": "refused",
    "result": "refused",
    "at": "2026-11-25T16:30:00.000Z",
    "kind": "rejected",
    "detail": "alpha_level: expected an integer in [1, 9]",
    "who": {**WHO, "on_behalf_of": {"label": "ops", "host": "127.0.0.1"}},
    "reason": None,
    "flags": [{"name": "alpha_level"}],
}


class Records(logging.Handler):
    """Keeps the records of the audit's logger."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    logger = logging.getLogger("paddle_flags.live")
    records = Records()
    level = logger.level
    logger.addHandler(records)
    logger.setLevel(logging.INFO)
    yield records.records
    logger.removeHandler(records)
    logger.setLevel(level)


def test_a_change_is_one_line_with_all_of_it_as_extra(logged):
    log_event(SET)
    (record,) = logged
    assert (record.name, record.levelname) == ("paddle_flags.live", "INFO")
    assert record.getMessage() == (
        "change 7: alpha_level from '6' to '9'; by uid 1000, pid 815, paddle-flags;"
        " until 2026-11-25T16:40:00.000Z; reason 'loss is NaN'"
    )
    assert record.__dict__["paddle_flags"] == SET


def test_a_refusal_is_a_warning_with_its_kind_and_detail(logged):
    log_event(REFUSED)
    (record,) = logged
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "refused: alpha_level; by uid 1000, pid 815, paddle-flags, on behalf of ops at 127.0.0.1;"
        " rejected 'alpha_level: expected an integer in [1, 9]'"
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
        ({"event": "fleet", "change": 7, "flags": [{"name": "x", "old": None, "new": "1"}],
          "who": {"uid": 0, "on_behalf_of": {"label": "ann", "host": "dir:///mnt/job"}}},
         "fleet change 7: x from no value to '1'; by uid 0, on behalf of ann at dir:///mnt/job"),
    ],
)  # fmt: skip
def test_each_event_has_its_sentence(event, message):
    assert format_event(event) == message


HOSTILE = "a\nroot: change 9\r\x1b[2J\x00\u202e\u2028\x85\ud800 '; by uid 0\\"


@pytest.mark.parametrize("key", ["reason", "name", "old", "new", "command", "host", "label"])
def test_no_text_of_a_client_becomes_another_line_or_another_part(logged, key):
    event = json.loads(json.dumps({**SET, "reason": "x"}))
    event["who"]["on_behalf_of"] = {}
    places = (event["flags"][0], event["who"], event)
    place = next((each for each in places if key in each), event["who"]["on_behalf_of"])
    place[key] = HOSTILE
    log_event(event)
    text = logged[0].getMessage()
    assert not [c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    assert repr(HOSTILE) in text
    assert text.isprintable()


def test_percent_signs_stay(logged):
    log_event({**SET, "reason": "100%s %(name)s %d"})
    assert logged[0].getMessage().endswith("reason '100%s %(name)s %d'")


def test_a_message_is_short_however_large_the_change_is(logged):
    flags = [{"name": f"flag_{i}", "old": "x" * 10_000, "new": "\n" * 10_000} for i in range(1000)]
    log_event({**SET, "flags": flags, "reason": "r" * 1000})
    text = logged[0].getMessage()
    assert len(text) < 10_000
    assert "and 990 more flags" in text
    assert logged[0].__dict__["paddle_flags"]["flags"] == flags
