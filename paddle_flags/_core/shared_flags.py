"""Flags that are also in the registry of another library: those that `bridge` has joined."""

from __future__ import annotations


class JoinedLibrary:
    """Another library of flags, in `joined_libraries`."""

    def __init__(self, title: str) -> None:
        self.title = title
        """Its name in messages."""
        self.names: set[str] = set()
        """Of its flags that have joined, as they are here."""
        self.left_out: dict[str, str] = {}
        """Names of its other flags, and the reasons."""


joined_libraries: dict[str, JoinedLibrary] = {}
"""The libraries whose flags have joined, by their names for `bridge`."""


def library_title_of(name: str) -> str:
    """Return the title of the library behind a flag, or "" if it is ours alone."""
    libraries = list(joined_libraries.values())  # another thread may add one
    return next((each.title for each in libraries if name in each.names), "")
