"""The matrix for other flag libraries, and for ours beside them: each case is one process.

    python tests/matrix/peers/peers.py [--sample N] [--write FILE]

Two plugins, each with the library in one of the ways that all libraries know, in
a host that has it in another; otherwise as in matrix.py, whose driver.c runs them.
Prints how the cases end, and the texts with which processes die. Ends with 1 if a
case of ours does not survive. Needs g++, and Debian's packages of the libraries.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

from libraries import LIBRARIES, Library, version  # noqa: E402 - the path comes first
from matrix import Case  # noqa: E402
from sections import write_section  # noqa: E402
from tables import report  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# How a plugin has the library inside: the library, options to compile, options to link.
JOINS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "shared library": ("shared", (), ()),
    "static copy": ("static", (), ()),
    "static, hidden": ("static", ("-fvisibility=hidden",), ("-Wl,--exclude-libs,ALL",)),
    "static, stripped": ("static", (), ("-s",)),
    "static, gc-sections": (
        "static",
        ("-ffunction-sections", "-fdata-sections"),
        ("-Wl,--gc-sections",),
    ),
}
HOSTS = {
    "shared library": ("shared", ()),
    "static copy": ("static", ()),
    "static, -rdynamic": ("static", ("-rdynamic",)),
    "nothing": ("", ()),
}
MODES = ["local", "global", "deepbind", "preload", "linked"]


class Outcome(NamedTuple):
    """How a process ended."""

    verdict: str  # survives, splits or dies
    text: str = ""


def cases() -> Iterator[Case]:
    """Give each pair of joins in each host and mode, with all of the other axes but the order."""
    draw = random.Random("peers")
    either = (False, True)
    for host, a, b, mode, doubled, when, unload in itertools.product(
        HOSTS, JOINS, JOINS, MODES, either, ("after", "before"), either
    ):
        order = draw.choice(["ab", "ba"])
        if not (unload and mode in ("preload", "linked")):
            yield Case(host, a, b, mode, order, doubled, when, unload)


class Builder:
    """Builds the plugins and hosts of one library, each once, into one directory."""

    def __init__(self, library: Library, directory: Path) -> None:
        self.subject = library
        self.directory = directory
        self.made: set[Path] = set()

    def make(self, out: Path, *command: object) -> Path:
        """Run a compiler unless it made the file before."""
        if out not in self.made:
            out.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([*map(str, command), "-o", str(out)], check=True)
            self.made.add(out)
        return out

    def object(self, source: Path, *options: str) -> Path:
        """Compile a source."""
        compiler = "g++" if source.suffix == ".cc" else "gcc"
        common = ["-O1", "-fPIC", *options]
        if source.suffix == ".cc" or not self.subject.peer:
            common += self.subject.compile
        name = "_".join([source.stem, *options]).replace("=", "-")
        out = self.directory / "objects" / f"{name}.o"
        return self.make(out, compiler, "-c", source, *common)

    def plugin(
        self, letter: str, join: str, *, doubled: bool, further: Sequence[Path] = ()
    ) -> Path:
        """Build plugin a or b, with further sources in it."""
        copy, compiled, linked = JOINS[join]
        common = doubled or letter == "a"
        defines = (f"-DX={letter}", f"-DIS_A={int(letter == 'a')}", "-DCOPY=1")
        source = self.subject.source
        objects = [
            self.object(source("plugin"), *defines, f"-DHAS_COMMON={int(common)}", *compiled)
        ]
        if common:
            objects.append(self.object(source("common"), *compiled))
        objects += [self.object(other) for other in further]
        place = f"{join}-{'doubled' if doubled else 'single'}".replace(", ", "-").replace(" ", "-")
        out = self.directory / place / f"lib{letter}.so"
        library = self.subject.link(copy, pic=True)
        return self.make(out, "g++", "-shared", *linked, *objects, *library)

    def host(self, case: Case, a: Path, b: Path) -> Path:
        """Build the host; one that is linked with the plugins is a host of its own."""
        copy, options = HOSTS[case.host]
        peer = f"-DPEER={int(self.subject.peer)}"
        objects = [self.object(HERE.parent / "driver.c", f"-DCOPY={int(bool(copy))}", peer)]
        if copy and self.subject.peer:
            objects.append(self.object(HERE / "host.cc", "-DX=host"))
        name = case.host.replace(", ", "-").replace(" ", "-")
        linked: list[object] = []
        if case.mode == "linked":
            name += f"-{a.parent.name}-{b.parent.name}-{case.order}"
            linked = ["-Wl,--no-as-needed", *([a, b] if case.order == "ab" else [b, a])]
        library = self.subject.link(copy, pic=False) if copy else []
        out = self.directory / "hosts" / name
        return self.make(out, "g++", *options, *objects, *linked, *library, "-ldl")

    def command(self, case: Case) -> tuple[list[str], dict[str, str]]:
        """Build what a case needs; give its command and environment."""
        a = self.plugin("a", case.a, doubled=case.doubled)
        b = self.plugin("b", case.b, doubled=case.doubled)
        host = self.host(case, a, b)
        mode = "present" if case.mode in ("preload", "linked") else case.mode
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FLAGS_")}
        if case.mode == "preload":
            order = [a, b] if case.order == "ab" else [b, a]
            environment["LD_PRELOAD"] = ":".join(map(str, order))
        words = [mode, case.order, case.when, str(int(case.unload)), str(a), str(b)]
        return [str(host), *words], environment


def run_case(command: list[str], environment: dict[str, str]) -> Outcome:
    """Run one process and judge how it ended."""
    try:
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    except subprocess.TimeoutExpired as late:
        return Outcome("dies", f"hangs while {step_of(late.stdout or b'')}")
    if ended.returncode == 0:
        return Outcome("survives")
    if ended.returncode == 3:  # reads another value
        return Outcome("splits", ended.stdout.splitlines()[-1])
    return Outcome("dies", reason(ended))


def step_of(stdout: str | bytes) -> str:
    """Give the last step that the driver began."""
    lines = (stdout.decode() if isinstance(stdout, bytes) else stdout).splitlines()
    return lines[-1] if lines else "starting"


def reason(ended: subprocess.CompletedProcess[str]) -> str:
    """Give what a process said before it died, else its signal and step."""
    said = [line for line in ended.stderr.splitlines() if line.strip()]
    if said:
        text = re.sub(r"([\w.+~-]*/)+(?=[\w.+-])", "", said[0])  # files without directories
        return re.sub(r"^\w*: (?=CommandLine)|(?<= ) +", "", text)[:300]
    if ended.returncode < 0:
        return f"{signal.Signals(-ended.returncode).name} while {step_of(ended.stdout)}"
    return f"status {ended.returncode}, {step_of(ended.stdout)}"


def run_all(library: Library, chosen: list[Case], directory: Path) -> dict[Case, Outcome]:
    """Build everything, then run the cases on all cores."""
    builder = Builder(library, directory / library.name.replace(" ", "-"))
    commands = [builder.command(case) for case in chosen]
    # A process that dies by a signal is a result, not worth a core file.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = pool.map(lambda command: run_case(*command), commands)
        return dict(zip(chosen, outcomes))


def main() -> int:
    """Run the matrix from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, metavar="N", help="only so many cases of each")
    parser.add_argument("--write", type=Path, metavar="FILE", help="renew the tables in it")
    parser.add_argument("--library", dest="libraries", choices=list(LIBRARIES), action="append")
    options = parser.parse_args()
    chosen = list(cases())
    if options.sample:
        chosen = random.Random("sample").sample(chosen, options.sample)
    directory = Path(tempfile.mkdtemp(prefix="peers"))
    try:
        outcomes = {
            name: run_all(LIBRARIES[name](directory), chosen, directory)
            for name in options.libraries or LIBRARIES
        }
    except pytest.skip.Exception as lacking:
        sys.exit(str(lacking))
    finally:
        shutil.rmtree(directory)
    versions = ", ".join(map(version, outcomes))
    shown = f"{versions}.\n\n{report(outcomes, list(HOSTS), MODES)}"
    print(shown)
    if options.write:
        write_section(options.write, "peers", shown)
    ours = outcomes.get("paddle_flags", {})
    failed = {case: found for case, found in ours.items() if found.verdict != "survives"}
    for case, found in failed.items():
        print(f"{case}: {found.text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
