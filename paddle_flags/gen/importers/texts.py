"""Flags and values from what registries and programs say of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from paddle_flags.gen.importers import NO_HELP, Found
from paddle_flags.gen.model import ATTRIBUTES, FLOATING, INTEGERS, Flag, Place
from paddle_flags.gen.values import convert_if_quantity

if TYPE_CHECKING:
    from paddle_flags import Flag as LiveFlag

_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]{1,99}|[0-9]{1,99})")
_BOOLS = {"true": True, "false": False, "1": True, "0": False}


def parse_scalar_text(text: str, kind: str, unit: str | None = None) -> Any:
    """Return the value of a scalar; other text is returned unchanged."""
    if kind == "bool":
        return _BOOLS.get(text, text)
    number = convert_if_quantity(text, kind, unit) if unit else text
    if number is not text:
        return number
    if kind in INTEGERS and _INTEGER.fullmatch(text):
        return int(text, 16 if "x" in text.lower() else 10)
    if kind in FLOATING:
        try:
            return float.fromhex(text) if "x" in text.lower() else float(text)
        except (ValueError, OverflowError):
            return text
    return text


_ADVICE = re.compile(r"(.*); use --([A-Za-z_][A-Za-z0-9_]*)", re.DOTALL)


def split_advice(text: str) -> tuple[str, str | None]:
    """Return why a flag is deprecated, and the flag to use instead."""
    match = _ADVICE.fullmatch(text)
    return (match[1], match[2]) if match else (text, None)


def convert_live_flag(live: LiveFlag[Any], name: str, place: Place, found: Found) -> Flag:
    """Return a flag under this name, and report a missing help text."""
    if not live.help.strip():
        found.report_loss(place, f"{name}: help", "none", f"some; '{NO_HELP}' is written")
    default: Any = live.default
    kind = live.items or live.type
    unit = live.unit if not live.items else None
    return Flag(
        name=name,
        type=live.type,
        items=live.items,
        default=list(default) if live.items else default,
        help=live.help.strip() or NO_HELP,
        min=live.min,
        max=live.max,
        choices=[parse_scalar_text(each, kind, unit) for each in live.choices or ()],
        unit=live.unit,
        category=live.category,
        attributes=[each for each in ATTRIBUTES if getattr(live, each)],
        owner="",
        since="",
        at={"": place},
    )
