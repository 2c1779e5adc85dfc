"""Names of flags, as they are written on command lines and in files."""

from __future__ import annotations


def normalize_name(name: str) -> str:
    """Return the name with _ for each -, as both mean the same flag."""
    return name.replace("-", "_")


def name_in_token(token: str) -> str:
    """Return the normalized name in --name or --name=value; of --noname, with its no."""
    return normalize_name(token.lstrip("-").partition("=")[0])
