"""The corpus: plugins and libraries that were built with each version, in tests/corpus."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Obey = Callable[..., list[str]]  # lets a host do commands; gives the lines that it prints

CORPUS = Path(__file__).resolve().parent / "corpus"
HOST = CORPUS / "host.py"
LIBRARY = Path("linux-x86_64") / "libpd_flags.so"
# What differs between processes, or is only where a definition is written.
NOT_COMPARED = {"module", "history", "place", "line"}


def versions() -> list[Path]:
    """Give the directories of all versions, the newest last."""
    found = [path.parent for path in CORPUS.glob("*/expected.toml")]
    return sorted(found, key=lambda path: [int(number) for number in path.name.split(".")])


def expected(version: Path) -> dict[str, dict[str, list[str]]]:
    """Give what each plugin must do."""
    return tomllib.loads((version / "expected.toml").read_text("utf-8"))


def plugins(version: Path, platform: str) -> list[Path]:
    """Give the plugins of a platform."""
    names = expected(version)
    return sorted(path for path in (version / platform).iterdir() if path.stem in names)


def properties(report: str) -> dict[str, dict[str, object]]:
    """Give the properties of each flag that a report of JSON describes, by its name.

    What is false, zero or empty is left out.
    """
    return {
        flag["name"]: {k: v for k, v in flag.items() if v and k not in NOT_COMPARED}
        for flag in json.loads(report)["flags"]
    }


def recorded(version: Path) -> dict[str, dict[str, dict[str, object]]]:
    """Give the properties that each plugin's flags had when it was built."""
    return json.loads((version / "flags.json").read_text("utf-8"))


def sums(version: Path) -> str:
    """Give the digests of all binaries of a version, one a line."""
    binaries = sorted(path for path in version.glob("*-*/*") if path.is_file())
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(version).as_posix()}\n"
        for path in binaries
    )
    return "".join(lines)


def steps(version: Path, plugin: str, path: object) -> list[tuple[list[object], str]]:
    """Give the commands that a plugin at `path` obeys, each with the line that a host prints."""
    found = []
    for step in expected(version)[plugin]["does"]:
        command, _, line = step.partition(" -> ")
        first, *rest = command.split()
        found.append(([first, *([path] if first in ("call", "text") else []), *rest], line))
    return found


def check(version: Path, plugin: str, library: object, path: object, obey: Obey) -> None:
    """See that a host in which the plugin joins, early or late, finds all that is expected."""
    does = steps(version, plugin, path)
    commands = [word for words, _ in does for word in words]
    lines = [line for _, line in does]
    opened = obey("open", "local", path, "registry", library, *commands)
    assert without_messages(opened) == ["ok", "ok", *lines]
    end = ["unload", path, "mapped", path, "modules"]
    *loaded, mapped, modules = obey("registry", library, "load", path, *commands, *end)
    assert without_messages(loaded) == ["ok", "ok", *lines, "ok"]
    assert mapped == "yes" or modules == "0"  # some loaders keep what is unloaded
    described = obey("registry", library, "load", path, "json")
    assert described[:2] == ["ok", "ok"]
    assert properties("\n".join(described[2:])) == recorded(version)[plugin]


def without_messages(lines: list[str]) -> list[str]:
    """Leave only the statuses of errors: messages may change."""
    return [line.partition(":")[0] if line.startswith("PD_ERR_") else line for line in lines]
