"""Names of flags, as they are written on command lines and in files."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Iterable


def normalize_name(name: str) -> str:
    """Return the name with _ for each -, as both mean the same flag."""
    return name.replace("-", "_")


def name_in_token(token: str) -> str:
    """Return the normalized name in --name or --name=value; of --noname, with its no."""
    return normalize_name(token.lstrip("-").partition("=")[0])


def find_nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is spelled most alike, in any case; "" if none is near."""
    import difflib

    by_fold = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(name.casefold()[:100], by_fold, n=1, cutoff=0.7)
    return by_fold[found[0]] if found else ""


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" if a known name is near, else ""."""
    near = find_nearest(name, known)
    return f"; did you mean '{near}'?" if near else ""
