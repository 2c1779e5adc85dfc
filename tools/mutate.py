"""Change the library in small ways, and tell which changes no test in C notices.

    mutate.py --sample 200 --seed 1

builds the library with gcov and runs each test of tests/c once, to know which lines it runs. Then
it makes each change (see mutants.py), compiles that file, links the library, and runs the tests
that run the line, the fastest first, until one fails. The report lists the changes that survived.
Those in tools/equivalent_mutants.txt were judged to change nothing that a program can see.
--python also runs tests of joining in Python for the survivors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from mutants import Mutant, find_mutants

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "csrc" / "src"
TESTS = ROOT / "tests" / "c"
OUT = ROOT / "build" / "mutation"
FOLDERS = ("registry", "definition", "op", "module")
CC = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
# Without debug information, a change that the compiler sees through gives the same object.
COMPILE = ["-O1", "-fPIC", "-fvisibility=hidden", "-fexceptions", "-pthread", "-w"]
COMPILE += [f"-I{ROOT / 'csrc' / 'include'}"]
LONGEST = 20.0  # seconds: tests that take longer are left out
TEST = re.compile(r"^TEST\((\w+)\)", re.MULTILINE)
BUILT_WITH = re.compile(r"^ \* Built with:(.*)$", re.MULTILINE)
JOINING = ("join", "join_conflicts", "join_imports", "join_order", "late", "plugin")


class Test(NamedTuple):
    """One TEST of a file."""

    source: str
    name: str


class Change(NamedTuple):
    """A mutant of one source."""

    source: Path
    mutant: Mutant
    line: int

    def show(self) -> str:
        """Describe it as file:line: change."""
        return f"{self.source.relative_to(SOURCES)}:{self.line}: {self.mutant.what}"


def run(
    *command: object, seconds: float = 300, cwd: Path | None = None, **variables: object
) -> str | None:
    """Run a command; give its output, or None if it fails or takes too long."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FLAGS_")}
    environment.update({name: str(value) for name, value in variables.items()})
    with subprocess.Popen(
        [*map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=environment,
        cwd=cwd,
        start_new_session=True,
    ) as started:
        try:
            output, _ = started.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, 9)
            return None
    return output.decode(errors="replace") if started.returncode == 0 else None


def need(*command: object, cwd: Path | None = None) -> None:
    """Run a command that must succeed."""
    if run(*command, cwd=cwd) is None:
        sys.exit(f"failed: {shlex.join(map(str, command))}")


# ---- Building ----


def object_of(source: Path, out: Path) -> Path:
    """Give the object of a source."""
    return out / ("_".join(source.relative_to(SOURCES).parts) + ".o")


def compile_library(out: Path, *, coverage: bool) -> list[Path]:
    """Compile all sources; with `coverage`, those that are changed are compiled for gcov."""
    out.mkdir(parents=True, exist_ok=True)

    def compile_one(source: Path) -> None:
        counted = coverage and source.parent.name in FOLDERS
        options = ["-O0", "--coverage"] if counted else []
        need(*CC, "-std=gnu11", *COMPILE, *options, "-c", source, "-o", object_of(source, out))

    sources = sorted(SOURCES.rglob("*.c"))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_one, sources))
    return [object_of(source, out) for source in sources]


def link_library(objects: list[Path], out: Path, *flags: str) -> bool:
    """Link a shared library; tell whether it links."""
    out.mkdir(parents=True, exist_ok=True)
    options = ["-shared", "-pthread", "-Wl,-soname,libpd_flags.so", "-Wl,-z,nodelete"]
    options += ["-Wl,-Bsymbolic-functions", "-ldl", *flags]
    return run(*CC, *objects, *options, "-o", out / "libpd_flags.so") is not None


def build_plugins() -> None:
    """Build tests/c/plugins, as conftest.py does."""
    out = OUT / "plugins"
    out.mkdir(parents=True, exist_ok=True)
    for source in sorted((TESTS / "plugins").glob("*.c")):
        found = BUILT_WITH.search(source.read_text("utf-8"))
        flags = found[1].replace("$PLUGINS", str(out)).split() if found else []
        made = out / f"lib{source.stem}.so"
        need(*CC, *COMPILE[:2], "-w", COMPILE[-1], "-shared", source, "-o", made, *flags)


def arguments_of(source: Path) -> list[str]:
    """Give the arguments for the compiler in the first comment of a test."""
    found = BUILT_WITH.search(source.read_text("utf-8"))
    expanded = found[1].replace("$PLUGINS", str(OUT / "plugins")) if found else ""
    return expanded.replace("$SOURCES", str(SOURCES)).split()


def has_library_inside(source: Path) -> bool:
    """Tell whether a test has the objects of the library inside."""
    return "$LIBRARY" in source.read_text("utf-8").split("*/")[0]


def compile_test(source: Path, out: Path) -> Path:
    """Compile a test, which is linked for each library."""
    made = out / f"{source.name}.o"
    compiler = CXX if source.suffix == ".cpp" else [*CC, "-std=gnu11"]
    flags = [flag for flag in arguments_of(source) if flag.startswith(("-I", "-std", "-D"))]
    need(*compiler, "-w", "-pthread", COMPILE[-1], *flags, "-c", source, "-o", made)
    return made


def link_test(source: Path, objects: list[Path], library: Path, out: Path, *flags: str) -> bool:
    """Link a test with the library, or with its objects where the test has it inside."""
    compiler = CXX if source.suffix == ".cpp" else CC
    given = [flag for flag in arguments_of(source) if not flag.startswith(("-I", "-std", "-D"))]
    linked: list[object] = []
    for flag in given:
        linked += objects if flag == "$LIBRARY" else [flag]
    if "$LIBRARY" not in given:
        linked += [f"-L{library}", "-lpd_flags"]
    command = [*compiler, OUT / "tests" / f"{source.name}.o", *linked, *flags, "-pthread", "-ldl"]
    program = program_of(source.name, out)
    program.parent.mkdir(parents=True, exist_ok=True)
    return run(*command, "-o", program) is not None


def program_of(source: str, out: Path) -> Path:
    """Give the place of a test's program; messages contain its name."""
    return out / source / "program"


def test_sources() -> list[Path]:
    """List the sources with tests."""
    found = [*TESTS.glob("test_*.c"), *TESTS.glob("test_*.cpp")]
    return sorted(source for source in found if TEST.search(source.read_text("utf-8")))


# ---- Which test runs which line ----


class Coverage(NamedTuple):
    """The seconds of each test, and the tests of each line."""

    seconds: dict[Test, float]
    lines: dict[tuple[str, int], list[Test]]


def run_test(test: Test, programs: Path, library: Path, seconds: float, **more: Path) -> bool:
    """Tell whether a test passes."""
    program = program_of(test.source, programs)
    variables = {"PLUGINS": OUT / "plugins", "LD_LIBRARY_PATH": library, **more}
    variables["LIBRARY"] = library / "libpd_flags.so"
    passed = run(program, test.name, seconds=seconds, cwd=program.parent, **variables)
    return passed is not None


def read_counts(place: Path, objects: Path) -> set[tuple[str, int]]:
    """Give the lines that a test ran, from what it has left in `place`."""
    found: set[tuple[str, int]] = set()
    counted = place / str(objects).lstrip("/")
    files = sorted(counted.glob("*.gcda")) if counted.is_dir() else []
    for file in files:
        note = file.with_suffix(".gcno")
        note.symlink_to(objects / note.name)
    if not files:
        return found
    output = run("gcov", "--json-format", "--stdout", *files, cwd=place) or ""
    for text in output.splitlines():
        for each in json.loads(text)["files"]:
            name = str(Path(each["file"]).resolve())
            found |= {(name, line["line_number"]) for line in each["lines"] if line["count"]}
    return found


def measure(sources: list[Path]) -> Coverage:
    """Run each test of the sources once with gcov."""
    objects, programs, library = OUT / "covered", OUT / "covered_programs", OUT / "covered_lib"
    made = compile_library(objects, coverage=True)
    if not link_library(made, library, "--coverage"):
        sys.exit("the library doesn't link with gcov")
    tests = []
    for source in sources:
        if not link_test(source, made, library, programs, "--coverage"):
            print(f"left out: {source.name} doesn't link", flush=True)
            continue
        tests += [Test(source.name, name) for name in TEST.findall(source.read_text("utf-8"))]
    result = Coverage({}, defaultdict(list))

    def measure_one(test: Test) -> None:
        place = OUT / "counts" / test.source / test.name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        began = time.monotonic()
        good = run_test(test, programs, library, LONGEST, GCOV_PREFIX=place)
        taken = time.monotonic() - began
        lines = read_counts(place, objects) if good else set()
        shutil.rmtree(place)
        if good:
            result.seconds[test] = taken
        else:
            print(f"left out: {test.source}: {test.name} fails or takes too long", flush=True)
        for line in lines:
            result.lines[line].append(test)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(measure_one, tests))
    return result


def digest(*paths: Path) -> str:
    """Give a number that changes with any of the files."""
    number = hashlib.sha256()
    for path in paths:
        number.update(str(path).encode() + path.read_bytes())
    return number.hexdigest()


def state_of_sources() -> str:
    """Give a number that changes with any source, or with what all tests share."""
    tops = (SOURCES, ROOT / "csrc" / "include", TESTS)
    files = {path for top in tops for path in top.rglob("*") if path.is_file()}
    return digest(*sorted(files - {*test_sources()}))


def read_coverage(read: dict[str, Any], known: set[str]) -> Coverage:
    """Give what was measured of the tests of these sources."""
    tests = [Test(*each) for each in read["tests"]]
    seconds = {test: taken for test, taken in zip(tests, read["seconds"]) if test.source in known}
    lines: dict[tuple[str, int], list[Test]] = defaultdict(list)
    for file, number, of in read["lines"]:
        lines[file, number] = [tests[i] for i in of if tests[i].source in known]
    return Coverage(seconds, lines)


def load_coverage() -> Coverage:
    """Read the coverage of these sources, and measure that of tests that have changed."""
    kept, state = OUT / "coverage.json", state_of_sources()
    read = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    states = {source.name: digest(source) for source in test_sources()}
    before = read["test_states"] if read.get("state") == state else {}
    known = {name for name, each in states.items() if before.get(name) == each}
    result = read_coverage(read, known) if known else Coverage({}, defaultdict(list))
    changed = [source for source in test_sources() if source.name not in known]
    if not changed:
        return result
    print(f"run each test of {len(changed)} files with gcov", flush=True)
    made = measure(changed)
    result.seconds.update(made.seconds)
    for line, tests in made.lines.items():
        result.lines[line] += tests
    numbers = {test: i for i, test in enumerate(result.seconds)}
    covered = [[*line, [numbers[test] for test in of]] for line, of in result.lines.items()]
    text = {"state": state, "test_states": states, "tests": [*numbers]}
    kept.write_text(json.dumps({**text, "seconds": [*result.seconds.values()], "lines": covered}))
    return result


# ---- Mutants ----


class Trial:
    """The unchanged library, by which mutants are tried."""

    def __init__(self) -> None:
        build_plugins()
        (OUT / "tests").mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda source: compile_test(source, OUT / "tests"), test_sources()))
        self.coverage = load_coverage()
        self.objects = compile_library(OUT / "objects", coverage=False)
        self.programs = OUT / "programs"
        self.programs.mkdir(exist_ok=True)
        link_library(self.objects, OUT / "lib")
        for source in test_sources():
            if not has_library_inside(source):
                link_test(source, self.objects, OUT / "lib", self.programs)

    def tests_of(self, change: Change) -> list[Test]:
        """Give the tests that run the line or, of a statement of several, its first line."""
        for line in range(change.line, max(change.line - 4, 0), -1):
            found = self.coverage.lines.get((str(change.source), line))
            if found:
                return sorted(found, key=lambda test: self.coverage.seconds[test])
        return []

    def judge(self, change: Change) -> str:
        """Say what becomes of a change: "killed", "survived", "same code" or "no code"."""
        named = f"{change.show()} at {change.mutant.start}"  # a line may have two such changes
        place = OUT / "trials" / hashlib.sha256(named.encode()).hexdigest()[:12]
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        try:
            return self.judge_in(place, change)
        finally:
            shutil.rmtree(place)

    def judge_in(self, place: Path, change: Change) -> str:
        """Do so in a directory of its own."""
        source, made = place / change.source.name, place / "changed.o"
        source.write_text(change.mutant.apply(change.source.read_text("utf-8")), "utf-8")
        include = f"-iquote{change.source.parent}"
        named = f"-ffile-prefix-map={place}={change.source.parent}"
        compiler = [*CC, "-std=gnu11", *COMPILE, include, named]
        if run(*compiler, "-c", source, "-o", made) is None:
            return "no code"
        before = object_of(change.source, OUT / "objects")
        if before.read_bytes() == made.read_bytes():
            return "same code"
        objects = [made if each == before else each for each in self.objects]
        if not link_library(objects, place):
            return "no code"
        for test in self.tests_of(change):
            if not self.passes(test, objects, place):
                return "killed"
        return "survived"

    def passes(self, test: Test, objects: list[Path], place: Path) -> bool:
        """Tell whether a test passes with the changed library."""
        source, programs = TESTS / test.source, self.programs
        if has_library_inside(source):
            programs = place
            if not program_of(source.name, place).exists() and not link_test(
                source, objects, place, place
            ):
                return False
        seconds = 5 + 10 * self.coverage.seconds[test]
        return run_test(test, programs, place, seconds)


def passes_in_python(trial: Trial, change: Change) -> bool:
    """Run the tests of joining in Python with the changed library."""
    place = OUT / "trials" / "python"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    source, made = place / change.source.name, place / "changed.o"
    source.write_text(change.mutant.apply(change.source.read_text("utf-8")), "utf-8")
    need(*CC, "-std=gnu11", *COMPILE, f"-iquote{change.source.parent}", "-c", source, "-o", made)
    before = object_of(change.source, OUT / "objects")
    link_library([made if each == before else each for each in trial.objects], place)
    files = [ROOT / "tests" / "python" / f"test_{name}.py" for name in JOINING]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", *files]
    return run(*command, seconds=300, LD_LIBRARY_PATH=place, cwd=ROOT) is not None


# ---- Choosing and reporting ----


def list_changes(folders: list[str], without: list[str]) -> list[Change]:
    """List all changes of the folders, except those of files in `without`."""
    found = []
    for folder in folders:
        for source in sorted((SOURCES / folder).glob("*.c")):
            if source.name in without:
                continue
            text = source.read_text("utf-8")
            found += [Change(source, each, each.line(text)) for each in find_mutants(text)]
    return found


def read_equivalent() -> set[str]:
    """Give the changes that were judged to change nothing, which the file lists."""
    path = ROOT / "tools" / "equivalent_mutants.txt"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {line.split(" # ")[0] for line in lines if not line.startswith("#")}


def name_change(change: Change) -> str:
    """Describe it as `file: line of code: change`, which stays when lines are added above."""
    line = change.source.read_text("utf-8").splitlines()[change.line - 1].strip()
    return f"{change.source.relative_to(SOURCES)}: {line}: {change.mutant.what}"


def write_report(results: dict[Change, str]) -> None:
    """Print the survivors, the share of killed changes of each folder, and lines of no change."""
    equivalent = read_equivalent()
    stale = equivalent - {name_change(each) for each in list_changes([*FOLDERS], [])}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    survivors = []
    for change, result in results.items():
        judged = result == "survived" and name_change(change) in equivalent
        counts[change.source.parent.name]["equivalent" if judged else result] += 1
        if result == "survived" and not judged:
            survivors.append(change)
    print("\nSurvived:")
    for change in sorted(survivors):
        print(f"  {change.show()}\n    {name_change(change)}")
    if stale:
        print("\nIn equivalent_mutants.txt, but no change of this code:")
    for name in sorted(stale):
        print(f"  {name}")
    print()
    for folder, count in counts.items():
        alive = count["killed"] + count["survived"]
        share = f"{100 * count['killed'] / alive:.1f} %" if alive else "-"
        print(
            f"{folder}: {count['killed']} of {alive} killed, {share};"
            f" {count['equivalent'] + count['same code']} change nothing,"
            f" {count['no code']} don't compile"
        )


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--sample", type=int, help="how many changes; all by default")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--folder", action="append", choices=FOLDERS, help="all by default")
    parser.add_argument("--without", action="append", default=[], help="a file, as scope.c")
    parser.add_argument("--file", help="only changes of this file, as scope.c")
    parser.add_argument("--python", action="store_true", help="also run tests of joining in Python")
    return parser.parse_args()


def main() -> None:
    """Try the changes and report."""
    given = parse_arguments()
    changes = list_changes(given.folder or [*FOLDERS], given.without)
    changes = [each for each in changes if given.file in (None, each.source.name)]
    if given.sample and given.sample < len(changes):
        changes = random.Random(given.seed).sample(changes, given.sample)  # noqa: S311 - to repeat a sample
    trial = Trial()
    results: dict[Change, str] = {}

    def judge(change: Change) -> None:
        results[change] = trial.judge(change)
        if results[change] == "survived":
            print(f"survived: {change.show()}", flush=True)

    print(f"try {len(changes)} changes", flush=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(judge, changes))
    for change in [each for each in results if given.python and results[each] == "survived"]:
        if not passes_in_python(trial, change):
            results[change] = "killed"
    write_report(results)


if __name__ == "__main__":
    main()
