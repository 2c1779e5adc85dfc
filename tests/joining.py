"""Processes in which modules and the registry meet, for the tests of joining."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support import ROOT, build, build_plugin, run, write

from paddle_flags._core import paths

if TYPE_CHECKING:
    from collections.abc import Sequence

REGISTRY = Path(paths.get_shared_library())
HOST_SOURCE = ROOT / "tests" / "c" / "join_host.c"

# What most plugins of these tests are: a flag of each kind, and how C reads them.
LEVEL = """
#include <pd_flags.h>
PD_DEFINE_int32(join_level, 6, "How hard to try", .min = 0, .max = 99);
PD_DEFINE_string(join_mode, "fast", "How to search", .choices = "fast|best");
__attribute__((visibility("default"))) int level(void);
__attribute__((visibility("default"))) const char *mode(void);
int level(void) { return FLAGS_join_level; }
const char *mode(void) { return FLAGS_join_mode; }
"""


def environment(**variables: str) -> dict[str, str]:
    """Give the environment of the tests without anybody's flags, and with `variables`."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("FLAGS_")}
    return {**inherited, **variables}


class Maker:
    """Builds plugins from texts into one directory, each once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def plugin(self, name: str, *texts: str, flags: Sequence[str] = ()) -> Path:
        """Build a shared library lib<name>.so of C sources."""
        out = self.directory / f"lib{name}.so"
        return build_plugin(out, *self.sources(name, *texts), flags=tuple(flags))

    def program(self, name: str, *texts: str, flags: Sequence[str] = ()) -> Path:
        """Build the host of the tests with further C sources, all symbols visible."""
        sources = (HOST_SOURCE, *self.sources(name, *texts))
        # dlsym's results become function pointers, which ISO C doesn't know.
        options = ("-Wno-pedantic", "-rdynamic", *flags, "-ldl")
        return build(self.directory / name, *sources, flags=options)

    def sources(self, name: str, *texts: str) -> list[Path]:
        """Write the texts as C files into a directory of the name."""
        place = self.directory / f"{name}.src"
        return [write(place / f"{name}{i or ''}.c", text) for i, text in enumerate(texts)]


def obey(program: Path, *commands: object, **options: Any) -> list[str]:
    """Let the host do the commands; give the lines that it and its plugins print.

    A command is a text of words, or a path, which is one more word as it is.
    """
    words: list[str] = []
    for command in commands:
        words += [str(command)] if isinstance(command, Path) else str(command).split()
    options.setdefault("env", environment())
    return run(program, *words, **options).stdout.splitlines()


def python(script: str, *arguments: object, **options: Any) -> list[str]:
    """Run a script in a fresh interpreter of the kind that runs the tests."""
    options.setdefault("env", environment())
    return run(sys.executable, "-c", script, *arguments, **options).stdout.splitlines()
