"""What the commands of live share: clients, and text for a terminal."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from paddle_flags._core.values import REDACTED
from paddle_flags._report.facts import one_line, plain_text
from paddle_flags.cli.remote_common import cut, is_pattern, plain
from paddle_flags.cli.suggestions import suggestion
from paddle_flags.live._client import Client, token_from
from paddle_flags.live._errors import LiveError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping


def client_of(options: argparse.Namespace, target: str | None = None) -> Client:
    """Return a client of the target on the command line."""
    token = token_from(options.token_file)
    return Client(target or options.target, token=token, timeout=options.timeout)


# ---- Names ----


def names_of(flag: Mapping[str, Any]) -> list[str]:
    """Return all names of a flag."""
    return [flag["name"], *flag.get("aliases", ()), *flag.get("old_names", ())]


def check_names(patterns: Iterable[str], flags: Iterable[Mapping[str, Any]]) -> None:
    """Raise LiveError for a name that no flag has; a pattern may match none."""
    known = {plain(name) for flag in flags for name in names_of(flag)}
    for each in patterns:
        if not is_pattern(each) and plain(each) not in known:
            near = suggestion(plain(each), known)
            message = f"{one_line(each)}: is not defined{near}"
            raise LiveError(message)


# ---- Text ----


def is_sensitive(flag: Mapping[str, Any]) -> bool:
    """Return whether a flag is one whose values are never shown."""
    hidden = "text" not in flag and "value" not in flag
    return hidden or "sensitive" in flag.get("marks", ())


def value_of(flag: Mapping[str, Any], *, wide: bool = False) -> str:
    """Return the value of a flag, or of an entry of its history, for people."""
    if is_sensitive(flag):
        return REDACTED
    value = flag.get("value")
    if isinstance(value, list):
        value = tuple(item if isinstance(item, (bool, int, float)) else str(item) for item in value)
    text = plain_text(value, flag.get("unit"))
    return text if wide else cut(text)


def change_text(change: Mapping[str, Any]) -> str:
    """Return "6 -> 9" for what has an old and a new value; "" if it has neither."""
    old, new = (shown(change[key]) if key in change else "" for key in ("old", "new"))
    return f"{old} -> {new}" if old and new else old and f"was {old}" or new  # noqa: RUF021


def shown(text: str | None) -> str:
    """Return the text of a value on one line."""
    return "none" if text is None else one_line(text) or '""'


def who_text(who: Mapping[str, Any] | None) -> str:
    """Return who made a change."""
    if not who:
        return ""
    uid, pid = who.get("uid"), who.get("pid")
    parts = [
        who.get("label"),
        who.get("host"),
        None if uid is None else f"uid {uid}",
        who.get("command"),
        None if pid is None else f"pid {pid}",
    ]
    return one_line(", ".join(str(part) for part in parts if part))


def moment_of(text: str) -> datetime | None:
    """Return the moment that a document names, in local time; None if it isn't one."""
    try:
        moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
        return moment.astimezone()
    except (ValueError, OverflowError, OSError):  # of the last or the first year
        return None


def time_text(text: str | None) -> str:
    """Return a moment as local time, to the second."""
    if text is None:
        return ""
    moment = moment_of(text)
    return one_line(text) if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


def end_text(flag: Mapping[str, Any]) -> str:
    """Return when a temporary value ends, and which one follows; "" for other values."""
    temporary = flag.get("temporary", {})
    if "left" not in temporary:
        return ""
    below = temporary.get("below")
    if below is not None and "unit" in flag and re.fullmatch(r"-?\d{1,20}", below, re.ASCII):
        below = plain_text(int(below), flag["unit"])
    then = "" if below is None else f", then {shown(below)}"
    return left_text(temporary["left"]) + then


def left_text(seconds: float) -> str:
    """Return how long something still lasts: 6m52s."""
    whole = max(0, round(seconds))
    return plain_text(whole, "seconds") if whole else "0s"
