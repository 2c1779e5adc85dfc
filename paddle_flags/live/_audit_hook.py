"""Where the events of changes go."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from paddle_flags._core.unraisable import report

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import Union

    Audit = Union[str, "os.PathLike[str]", Callable[["dict[str, Any]"], object]]

_logger = logging.getLogger("paddle_flags.live")


def make_audit(audit: Any) -> Callable[[bytes], object]:
    """Return what the library calls with each event, as one line of JSON."""
    record = _recorder(audit)

    def call(text: bytes) -> None:
        try:
            record(json.loads(text), text)
        except BaseException as error:  # noqa: BLE001 - the change has happened
            report(error, "Exception ignored in the audit of a change", record)

    return call


def _recorder(audit: Any) -> Callable[[dict[str, Any], bytes], object]:
    def record(event: dict[str, Any], text: bytes) -> None:
        _logger.info("%s", text.decode("ascii", "replace"))
        if callable(audit):
            audit(event)

    return record
