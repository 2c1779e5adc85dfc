"""Windows DLLs by mingw-w64, run under Wine: the library and what the tests build once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import mingw
import pytest
from support import ROOT, write

if TYPE_CHECKING:
    from collections.abc import Sequence

# The host's dlsym gives functions as void *, which ISO C doesn't know.
HOST_FLAGS = ["-Wno-pedantic", "-Wno-conversion"]


class Windows:
    """The library for Windows, and what is built and run beside it, in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = mingw.build_library(directory)
        self.shared = str(directory / "libpd_flags.dll.a")
        self.static = str(directory / "libpd_flags.a")
        self.registry = directory / "pd_flags.dll"
        self.host = self.program("host.exe", flags=HOST_FLAGS)

    def program(self, name: str, *flags_last: str, flags: Sequence[str] = ()) -> Path:
        """Build the host of the tests of joining; `flags_last` may name libraries."""
        source = ROOT / "tests" / "c" / "join_host.c"
        return mingw.build(self.directory / name, source, flags=[*flags, *flags_last])

    def dll(self, name: str, *texts: str, flags: Sequence[str] = (), by: str = "") -> Path:
        """Build <name>.dll of the texts: as it stands, nothing of ours is linked."""
        end = ".cc" if by == "g++" else ".c"
        place = self.directory / f"{name}.src"
        sources = [write(place / f"{name}{i or ''}{end}", t) for i, t in enumerate(texts)]
        out = self.directory / f"{name}.dll"
        return mingw.build(out, *sources, flags=["-shared", *flags], by=by)

    def obey(self, *commands: object, host: Path | None = None, **variables: str) -> list[str]:
        """Let a host do the commands; give the lines that it and its plugins print."""
        words: list[str] = []
        for command in commands:
            whole = isinstance(command, Path)
            words += [mingw.windows_path(command)] if whole else str(command).split()
        environment = mingw.wine_environment(**variables)
        return mingw.run_wine(host or self.host, *words, env=environment).stdout.splitlines()


@pytest.fixture(scope="session")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Windows:
    return Windows(tmp_path_factory.mktemp("windows"))
