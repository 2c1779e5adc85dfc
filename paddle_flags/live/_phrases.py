"""What follows the status in a response: people read it, programs don't."""

from __future__ import annotations

import http


def phrase_of(status: int) -> str:
    """Return the phrase of a status of HTTP."""
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
