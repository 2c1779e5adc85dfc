"""Flags that are also in the registry of another library: those that `bridge` has joined."""

from __future__ import annotations


class Library:
    """Another library, whose flags are flags here."""

    def __init__(self, title: str) -> None:
        self.title = title
        """Its name in messages."""
        self.names: set[str] = set()
        """Of its flags that have joined, as they are here."""
        self.left_out: dict[str, str] = {}
        """Names of its other flags, and the reasons."""


libraries: dict[str, Library] = {}
"""By their names for `bridge`."""


def add_library(name: str, title: str) -> Library:
    """Return the library that `bridge` knows by this name."""
    return libraries.setdefault(name, Library(title))


def shared_with(name: str) -> str:
    """Return the title of the library behind a flag, or "" if it is ours alone."""
    return next((each.title for each in libraries.values() if name in each.names), "")
