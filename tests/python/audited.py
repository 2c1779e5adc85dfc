"""Events of the audit of changes from outside, and what collects them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WHO = {"uid": 1000, "pid": 815, "command": "paddle-flags", "host": None, "label": None}
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
    "status": 422,
    "detail": "alpha_level: expected an integer in [1, 9]",
    "who": {"uid": None, "pid": None, "command": None, "host": "127.0.0.1", "label": "ops"},
    "reason": None,
    "flags": [{"name": "alpha_level"}],
}


def text_of(event: dict[str, Any], **other: Any) -> bytes:
    return json.dumps({**event, **other}).encode()


def lines_of(path: Path) -> list[dict[str, Any]]:
    text = path.read_bytes()
    assert not text or text.endswith(b"\n")
    return [json.loads(line) for line in text.splitlines()]


def numbers_of(path: Path) -> list[int]:
    return [line["change"] for line in lines_of(path)]


class Records(logging.Handler):
    """Keeps the records of the audit's logger."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def recording() -> Iterator[list[logging.LogRecord]]:
    """Give the records of the audit's logger, of whatever level, until the block ends."""
    logger, handler = logging.getLogger("paddle_flags.live"), Records()
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield handler.records
    finally:
        logger.setLevel(logging.NOTSET)
        logger.removeHandler(handler)
