"""The matrix of ways to link and load: each case is one process.

    python tests/matrix/matrix.py [--platform NAME] [--sample N] [--write FILE]

Two plugins, a and b, join in one of many ways each, in one of several hosts.
Each gets values from a command line before or after it is loaded, and is set
from every copy of the library in the process; then every module's own code must
read every value, and call the implementation of an operation that was chosen.
Prints the failures and a table; ends with 1 if a case fails.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from platforms import PLATFORMS, Case, Platform  # noqa: E402 - the path comes first
from sections import write_section  # noqa: E402
from support import LIBDIR, tool  # noqa: E402
from versions import build_library, newer, older  # noqa: E402
from windows import WindowsBuilder  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator


def possible(platform: Platform, case: Case) -> bool:
    """Tell whether somebody can parse."""
    copies = any(platform.joins[join].copy for join in (case.a, case.b))
    return case.host != "C, nothing" or copies


def cases(platform: Platform) -> Iterator[Case]:
    """Give each pair of joins in each host and mode; the other axes are drawn, always alike."""
    draw = random.Random("matrix")
    for host, a, b, mode in itertools.product(
        platform.hosts, platform.joins, platform.joins, platform.modes
    ):
        case = Case(
            host,
            a,
            b,
            mode,
            order=draw.choice(["ab", "ba"]),
            doubled=draw.choice([False, True]),
            when=draw.choice(["before", "after"]),
            unload=draw.choice([False, True]) and mode not in ("preload", "linked"),
        )
        if possible(platform, case):
            yield case


def draw_sample(every: list[Case], size: int) -> list[Case]:
    """Draw cases, always alike; first those that bring a value that an axis hasn't had."""
    drawn = random.Random("sample").sample(every, len(every))
    seen: set[tuple[int, object]] = set()
    bringing, others = [], []
    for case in drawn:
        values = set(enumerate(case))
        (others if values <= seen else bringing).append(case)
        seen |= values
    return [*bringing, *others][:size]


class Builder:
    """Builds libraries, plugins and hosts, each once, into one directory."""

    def __init__(self, platform: Platform, directory: Path) -> None:
        self.platform = platform
        self.directory = directory
        self.libraries = {"older": self.built("older", older)}
        self.libraries["newer"] = self.built("newer", newer)
        own = Path(LIBDIR) if platform.installed else self.built("own")
        self.libraries |= {"shared": own, "own": own}
        self.made: dict[str, Path] = {}

    def built(self, name: str, *changes: object) -> Path:
        """Build the library of changed sources."""
        (self.directory / name).mkdir()
        compiler = [tool(self.platform.compilers["gcc"][0]), *self.platform.compilers["gcc"][1:]]
        archiver = tool(self.platform.archiver)
        return build_library(self.directory / name, changes, compiler, archiver)

    def link(self, copy: str) -> list[str]:
        """Give the linker's arguments for a library."""
        where = self.libraries[copy]
        if copy == "shared":
            return [f"-L{where}", f"-Wl,-rpath,{where}", "-l:libpd_flags.so"]
        return [str(where / "libpd_flags.a"), "-ldl", "-pthread"]

    def include(self, copy: str) -> str:
        """Give the directory of the headers of a library."""
        if copy in ("older", "newer"):
            return str(self.libraries[copy] / "csrc" / "include")
        return str(Path(LIBDIR).parent / "include")

    def compile(self, compiler: str, out: Path, *arguments: object) -> Path:
        """Run a compiler unless it made the file before."""
        if str(out) not in self.made:
            out.parent.mkdir(parents=True, exist_ok=True)
            name, *options = self.platform.compilers[compiler]
            command = [tool(name), *options, *map(str, arguments), "-o", str(out)]
            subprocess.run(command, check=True)
            self.made[str(out)] = out
        return out

    def plugin(self, letter: str, join_name: str, *, doubled: bool) -> Path:
        """Build plugin a or b."""
        join = self.platform.joins[join_name]
        common = doubled or letter == "a"
        place = f"{join_name}, {'doubled' if doubled else 'single'}".replace(" ", "_")
        out = self.directory / place.replace(",", "") / f"lib{letter}.so"
        defines = [
            f"-DX={letter}",
            f"-DIS_A={int(letter == 'a')}",
            f"-DHAS_COMMON={int(common)}",
            f"-DCOPY={int(bool(join.copy))}",
            f"-DSCOPES={int(join.copy != 'older')}",
        ]
        sources = [HERE / "plugin.c", *([HERE / "common.c"] if common else [])]
        library = self.link(join.copy) if join.copy else []
        flags = ["-shared", "-fPIC", f"-I{self.include(join.copy)}", *defines, *join.flags]
        return self.compile(join.compiler, out, *flags, *sources, *library)

    def driver(self, case: Case, a: Path, b: Path) -> Path:
        """Build the C host; one that is linked with the plugins is a host of its own."""
        copy = {"C, shared library": "shared", "C, nothing": ""}.get(case.host, "own")
        flags = [f"-DCOPY={int(bool(copy))}", f"-I{self.include(copy)}"]
        flags += ["-rdynamic"] if "rdynamic" in case.host else []
        library = self.link(copy) if copy else ["-ldl"]
        name = case.host.replace(" ", "_").replace(",", "")
        linked: list[str] = []
        if case.mode == "linked":
            name += self.pair(case, a, b)
            linked = self.needed(case, a, b)
        out = self.directory / "hosts" / name
        return self.compile("gcc", out, *flags, HERE / "driver.c", *linked, *library)

    def both(self, case: Case, a: Path, b: Path) -> Path:
        """Build a library that is linked with both plugins, for a host that loads it."""
        out = self.directory / "both" / f"lib{self.pair(case, a, b)}.so"
        return self.compile("gcc", out, "-shared", *self.needed(case, a, b))

    @staticmethod
    def pair(case: Case, a: Path, b: Path) -> str:
        """Give a name for the two plugins in their order."""
        return f"-{a.parent.name}-{b.parent.name}-{case.order}"

    @staticmethod
    def needed(case: Case, a: Path, b: Path) -> list[str]:
        """Give the linker's arguments for the two plugins in their order."""
        order = [a, b] if case.order == "ab" else [b, a]
        return ["-Wl,--no-as-needed", *map(str, order)]


def command_of(builder: Builder, case: Case) -> tuple[list[str], dict[str, str]]:
    """Build what a case needs; give its command and environment."""
    a = builder.plugin("a", case.a, doubled=case.doubled)
    b = builder.plugin("b", case.b, doubled=case.doubled)
    if case.host == "python":
        host = [sys.executable, str(HERE / "driver.py")]
    else:
        host = [*builder.platform.runner, str(builder.driver(case, a, b))]
    mode = "present" if case.mode in ("preload", "linked") else case.mode
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FLAGS_")}
    if case.mode == "preload":
        order = [a, b] if case.order == "ab" else [b, a]
        preloaded = ":".join(map(str, order))
        if builder.platform.preload:
            host[-1:-1] = [word.format(preloaded) for word in builder.platform.preload]
        else:
            environment["LD_PRELOAD"] = preloaded
    words = [mode, case.order, case.when, str(int(case.unload)), str(a), str(b)]
    if (case.host, case.mode) == ("python", "linked"):
        words.append(str(builder.both(case, a, b)))
    return host + words, environment


def run_case(command: list[str], environment: dict[str, str]) -> str:
    """Run one process; give "" or what is wrong."""
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    if ended.returncode == 0:
        return ""
    said = (ended.stdout + ended.stderr).strip().splitlines()
    return f"status {ended.returncode}: {said[-1] if said else ''}"


def run_all(platform: Platform, chosen: list[Case], directory: Path) -> dict[Case, str]:
    """Build everything, then run the cases on all cores."""
    if platform is PLATFORMS["windows"]:
        commands = list(map(WindowsBuilder(platform, directory).command, chosen))
    else:
        builder = Builder(platform, directory)
        commands = [command_of(builder, case) for case in chosen]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = pool.map(lambda command: run_case(*command), commands)
        return dict(zip(chosen, outcomes))


def table(platform: Platform, outcomes: dict[Case, str]) -> str:
    """Give a Markdown table of cases and failures by host and mode."""
    count: dict[tuple[str, str], list[int]] = collections.defaultdict(lambda: [0, 0])
    for case, problem in outcomes.items():
        for key in ((case.host, case.mode), (case.host, "all"), ("all", "all"), ("all", case.mode)):
            count[key][0] += 1
            count[key][1] += bool(problem)
    columns = [*platform.modes, "all"]
    lines = [f"| host | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for host in [*platform.hosts, "all"]:
        cells = (f"{total} / {failed}" for total, failed in (count[host, c] for c in columns))
        lines.append(f"| {host} | {' | '.join(cells)} |")
    return "\n".join(lines)


def lacking(platform: Platform) -> str:
    """Tell which packages a platform's tools are missing from; "" where all are there."""
    return " ".join(p for t, p in platform.tools.items() if shutil.which(t) is None)


def run_platform(name: str, sample: int | None, write: Path | None) -> bool:
    """Run the cases of a platform, print how they end; tell if all are well."""
    platform = PLATFORMS[name]
    chosen = list(cases(platform))
    if sample:
        chosen = draw_sample(chosen, sample)
    directory = Path(tempfile.mkdtemp(prefix="matrix"))
    try:
        outcomes = run_all(platform, chosen, directory)
    finally:
        shutil.rmtree(directory)
    failed = {case: problem for case, problem in outcomes.items() if problem}
    for case, problem in failed.items():
        print(f"{case}: {problem}")
    shown = table(platform, outcomes)
    total = f"{len(outcomes)} cases, {len(failed)} failures"
    print(f"{name}:\n{shown}\n{total}", flush=True)
    if write:
        section = "matrix" if name == "glibc" else f"matrix on {name}"
        write_section(write, section, f"{shown}\n\n{total}")
    return not failed


def main() -> int:
    """Run the matrix from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--platform", choices=PLATFORMS, help="only this one")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many cases of each")
    parser.add_argument("--write", type=Path, metavar="FILE", help="renew the tables in it")
    options = parser.parse_args()
    well = True
    for name in [options.platform] if options.platform else PLATFORMS:
        packages = lacking(PLATFORMS[name])
        if packages:
            print(f"{name}: left out, it needs apt-get install {packages}")
            well &= not (options.platform or os.environ.get("PD_REQUIRE_TOOLS"))
        else:
            well &= run_platform(name, options.sample, options.write)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
