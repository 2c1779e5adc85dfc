"""The rows of the tables and their budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

COUNTS = {1000: "1,000", 10_000: "10,000", 100_000: "100,000", 1_000_000: "1,000,000"}
MEANT = (1000, 10_000, 100_000)  # the numbers of flags in the mean that is judged
PYTHONS = ("3.11", "3.13")


BEST = "the best peer"


@dataclass(frozen=True)
class Row:
    """One line of a table. All budgets that are set must hold.

    Times are judged by their ratio to peers measured in the same rounds: another machine, or a busy
    one, changes both. Counts have budgets in their unit.
    """

    key: str  # in the results
    title: str
    unit: str
    at_most: float | None = None  # in the unit
    ratio: float | None = None  # ours to `against`: at most; at least if `more`
    against: str = BEST
    ours: str = ""  # which of our ways is judged; by default the worse one
    mean_of: tuple[str, ...] = ()  # the geometric mean of these rows
    as_plain: bool = False  # no more than a plain global variable
    as_without: str = ""  # no worse than ours in this other row; needs `more`
    more: bool = False  # larger values are better

    @property
    def budget(self) -> str:
        """The budget as text; "" if there is none."""
        texts = []
        if self.at_most is not None:
            texts.append(f"≤ {self.at_most:g} {self.unit}")
        if self.ratio is not None:
            texts.append(f"{'≥' if self.more else '≤'} {self.ratio:g} times {self.against}")
        if self.as_plain:
            texts.append("as plain")
        if self.as_without:
            texts.append("as without a writer")
        return ", ".join(texts)


@dataclass(frozen=True)
class Table:
    """Rows with the same contestants."""

    name: str
    title: str
    contestants: tuple[str, ...]
    rows: tuple[Row, ...]


NATIVE = ("ours", "ours, record", "gflags", "abseil", "LLVM", "c10", "Paddle")
PYTHON = ("ours", "absl-py", "argparse", "click", "pydantic-settings")

DESCRIBED = "20,000"
# Of describe(): what rows call it, and its most times what json.dumps takes for the same facts.
FORMS = {
    "json": ("JSON", 4),
    "text": ("help", 3),
    "markdown": ("Markdown", 12),
    "man": ("a manual page", 12),
    "xml": ("XML", 3),
}


def by_count(work: str, title: str, counts: Iterable[int]) -> list[Row]:
    """Return a row for each number of flags."""
    return [Row(f"{work}/{count}", f"{title}, of {COUNTS[count]}", "ns") for count in counts]


def mean(work: str, title: str, ratio: float, against: str, ours: str = "") -> Row:
    """Return the row that is judged: the mean over typical numbers of flags."""
    keys = tuple(f"{work}/{count}" for count in MEANT)
    title = f"{title}, geometric mean of {COUNTS[MEANT[0]]} to {COUNTS[MEANT[-1]]}"
    return Row(f"{work}/mean", title, "ns", None, ratio, against, ours, keys)


FLAGS = [
    *by_count("register", "define a flag", COUNTS),
    mean("register", "define a flag", 1.25, "LLVM", "ours, record"),
    *by_count("set", "set by name from text", MEANT),
    mean("set", "set by name from text", 1.25, "LLVM"),
    mean("set", "set by name from text", 1.25, "LLVM, locked"),
    *by_count("parse", "parse `--name=value`", MEANT),
    mean("parse", "parse `--name=value`", 1, "LLVM"),
    *by_count("parse-random", "parse in random order", (1000, 100_000)),
]
MEMORY = [
    Row(
        "memory/100000", "heap for a flag, beyond its definition", "bytes", 160, ours="ours, record"
    ),
    Row("resident/100000", "resident memory for a flag, beyond its definition", "bytes"),
    Row("memory-set/100000", "heap when every flag has been set", "bytes"),
    Row("definition/100000", "definition and variable, laid down by the compiler", "bytes"),
]
READS = [
    Row("read-int-instructions", "instructions of a loop that reads an int", "", as_plain=True),
    Row(
        "read-string-instructions", "instructions of a loop that reads a string", "", as_plain=True
    ),
    Row("read-int", "one round of the loop that reads an int", "ns"),
    Row("read-string", "one round of the loop that reads a string", "ns"),
]
STARTS = [
    Row("start/0", "start of a process, no flags", "ms", ratio=1),
    Row("start/10000", "start of a process, 10,000 definitions", "ms", ratio=1.1),
    Row("start-cpu/0", "processor time of a start, no flags", "ms"),
    Row("start-cpu/10000", "processor time of a start, 10,000 definitions", "ms"),
]
SIZES = [
    Row("library-size", "the library, stripped", "KB", 163),
    Row("plugin-size", "a plugin with one flag, stripped", "KB", 16),
]


TWO = "threads/2"
THREADS = [
    Row(f"{TWO}/no-writer", "two readers of a string, no writer", "million/s", more=True),
    Row(
        f"{TWO}/writer-of-this-flag",
        "two readers of a string, beside a thread that sets it",
        "million/s",
        ratio=10,
        against="abseil",
        more=True,
    ),
    Row(
        f"{TWO}/writer-of-the-flag-beside",
        "two readers of a string, beside a thread that sets the next flag",
        "million/s",
        as_without=f"{TWO}/no-writer",
        more=True,
    ),
    Row("torn-share/2/writer-of-this-flag", "torn reads beside a writer", "%", 0.0),
]


def describe_rows(key: str) -> Iterable[Row]:
    """Return the rows of describe(), beside json.dumps."""
    for form, (name, ratio) in FORMS.items():
        title = f"describe {DESCRIBED} flags as {name}"
        yield Row(f"{key}/describe-{form}", title, "ms", ratio=ratio, against="plain")


def python_rows(version: str) -> tuple[Row, ...]:
    """Return the rows of one CPython."""
    key = f"python-{version}"
    return (
        Row(f"{key}/get", "`FLAGS.x`", "ns", ratio=0.25, against="absl-py"),
        Row(f"{key}/value", "`flag.value`", "ns", ratio=0.1, against="absl-py"),
        Row(f"{key}/list", "`FLAGS.x`, a list of 10,000", "ns", ratio=3, against="plain"),
        Row(f"{key}/contains", "`'x' in FLAGS`", "ns", ratio=1, against="absl-py"),
        Row(f"{key}/source", "`flag.source`", "ns", ratio=40, against="plain"),
        Row(f"{key}/assign", "`FLAGS.x = v`", "ns", ratio=0.25, against="absl-py"),
        Row(
            f"{key}/override", "enter and leave `override(x=v)`", "ns", ratio=0.5, against="absl-py"
        ),
        Row(f"{key}/define", "define a flag, of 10,000", "µs", ratio=0.5),
        Row(f"{key}/parse", "parse 10,000 arguments", "ms", ratio=0.25),
        *describe_rows(key),
        Row(f"{key}/import", "import, over an empty Python", "ms", ratio=0.75),
    )


def tables(pythons: tuple[str, ...] = PYTHONS) -> list[Table]:
    """Return all tables."""
    starters = ("ours", "ours, in a plugin", *NATIVE[2:])
    ways = (*NATIVE[:5], "LLVM, locked", *NATIVE[5:])
    native = [
        Table("reads", "Reading", ("plain", "ours", *NATIVE[2:]), tuple(READS)),
        Table("threads", "Threads", ("ours", *NATIVE[2:]), tuple(THREADS)),
        Table("flags", "Defining, setting, parsing", ways, tuple(FLAGS)),
        Table("memory", "Memory", NATIVE, tuple(MEMORY)),
        Table("processes", "Processes and files", starters, tuple(STARTS + SIZES)),
    ]
    return native + [
        Table(f"python-{version}", f"CPython {version}", ("plain", *PYTHON), python_rows(version))
        for version in pythons
    ]
