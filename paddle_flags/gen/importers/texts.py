"""Values from the text that registries and programs print."""

from __future__ import annotations

import re
from typing import Any

from paddle_flags.gen.model import FLOATING, INTEGERS
from paddle_flags.gen.values import counted

_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]{1,99}|[0-9]{1,99})")
_BOOLS = {"true": True, "false": False, "1": True, "0": False}


def from_text(text: str, kind: str, unit: str | None = None) -> Any:
    """Return the value of a scalar; other text is returned unchanged."""
    if kind == "bool":
        return _BOOLS.get(text, text)
    number = counted(text, kind, unit) if unit else text
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


def advice(text: str) -> tuple[str, str | None]:
    """Return why a flag is deprecated, and the flag to use instead."""
    match = _ADVICE.fullmatch(text)
    return (match[1], match[2]) if match else (text, None)
