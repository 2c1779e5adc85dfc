"""What this process itself asks its live API, whether it serves its flags or not."""

from __future__ import annotations

import json
from typing import Any

from paddle_flags._native import lib
from paddle_flags.live._application import Application, Request
from paddle_flags.live._sockets import Peer


def look(path: bytes) -> dict[str, Any]:
    """Return the answer to a GET request."""
    application = Application()
    try:
        answer = application.answer(Request(b"GET", path, [], Peer(), lib.PD_LIVE_READ))
    finally:
        application.close()
    found: dict[str, Any] = json.loads(answer.body)
    return found
