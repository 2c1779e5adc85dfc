"""The rows of the tables, each with its budget: the one place that holds them."""

from __future__ import annotations

from dataclasses import dataclass

COUNTS = {1000: "1,000", 10_000: "10,000", 100_000: "100,000", 1_000_000: "1,000,000"}
PYTHONS = ("3.11", "3.13")


@dataclass(frozen=True)
class Row:
    """One line of a table. Of the budgets, those that are given must all hold."""

    key: str  # in the results
    title: str
    unit: str
    at_most: float | None = None  # in the unit
    times: float = 0.0  # how many times better than `against` ours must be, at least
    against: str = ""
    as_plain: bool = False  # no more than a plain global variable
    as_without: str = ""  # no worse than ours in this other row, of `more`
    more: bool = False  # a bigger value is better

    @property
    def budget(self) -> str:
        """The budget in words, or nothing."""
        texts = []
        if self.at_most is not None:
            texts.append(f"≤ {self.at_most:g} {self.unit}")
        if self.times:
            texts.append(f"≥ {self.times:g} times {self.against}")
        if self.as_plain:
            texts.append("as plain")
        if self.as_without:
            texts.append("as without a writer")
        return ", ".join(texts)


@dataclass(frozen=True)
class Table:
    """Rows that have the same contestants."""

    name: str
    title: str
    contestants: tuple[str, ...]
    rows: tuple[Row, ...]


NATIVE = ("ours", "ours, record", "gflags", "abseil", "LLVM", "c10", "Paddle")
PYTHON = ("ours", "absl-py", "argparse", "click")


def by_count(work: str, title: str, budgets: dict[int, float | None]) -> list[Row]:
    """Give a row for each number of flags."""
    return [
        Row(f"{work}/{count}", f"{title} {COUNTS[count]}", "ns", at_most)
        for count, at_most in budgets.items()
    ]


FLAGS = [
    *by_count("register", "define a flag of", dict.fromkeys(COUNTS, 100.0)),
    *by_count("set", "set by name from text, of", {1000: 60.0, 10_000: 80.0, 100_000: 200.0}),
    *by_count("parse", "parse `--name=value`, of", {1000: 80.0, 10_000: 80.0, 100_000: 80.0}),
    *by_count("parse-random", "the same in random order, of", {1000: None, 100_000: None}),
]
MEMORY = [
    Row("memory/100000", "heap for a flag, beyond its definition", "bytes", 100.0),
    Row("resident/100000", "the same as resident memory", "bytes"),
    Row("memory-set/100000", "heap when every flag has been set", "bytes"),
    Row("definition/100000", "definition and variable, laid down by the compiler", "bytes"),
]
READS = [
    Row("read-int-instructions", "instructions of a loop that reads an int", "", as_plain=True),
    Row("read-string-instructions", "the same of a string", "", as_plain=True),
    Row("read-int", "one round of the loop that reads an int", "ns"),
    Row("read-string", "the same of a string", "ns"),
]
STARTS = [
    Row("start/0", "start of a process, no flags", "ms", 0.3),
    Row("start/10000", "the same, 10,000 definitions", "ms", 1.2),
    Row("start-cpu/0", "processor time of it, no flags", "ms"),
    Row("start-cpu/10000", "the same, 10,000 definitions", "ms"),
]
SIZES = [
    Row("library-size", "the library, stripped", "KB", 80.0),
    Row("plugin-size", "a plugin with one flag, stripped", "KB", 16.0),
]


TWO = "threads/2"
THREADS = [
    Row(f"{TWO}/no-writer", "two readers of a string, no writer", "million/s", more=True),
    Row(
        f"{TWO}/writer-of-this-flag",
        "the same beside a thread that sets it",
        "million/s",
        times=10,
        against="abseil",
        more=True,
    ),
    Row(
        f"{TWO}/writer-of-the-flag-beside",
        "the same beside a thread that sets the next flag",
        "million/s",
        as_without=f"{TWO}/no-writer",
        more=True,
    ),
    Row("torn-share/2/writer-of-this-flag", "torn reads beside a writer", "%", 0.0),
]


def python_rows(version: str) -> tuple[Row, ...]:
    """Give the rows of one CPython."""
    key = f"python-{version}"
    return (
        Row(f"{key}/get", "`FLAGS.x`", "ns", times=4, against="absl-py"),
        Row(f"{key}/value", "`flag.value`", "ns", times=10, against="absl-py"),
        Row(f"{key}/assign", "`FLAGS.x = v`", "ns", 500.0, times=4, against="absl-py"),
        Row(f"{key}/define", "define a flag, of 10,000", "µs", 2.5),
        Row(f"{key}/parse", "parse 10,000 arguments", "ms", 6.0),
        Row(f"{key}/import", "import, over an empty Python", "ms", 12.0),
    )


def tables(pythons: tuple[str, ...] = PYTHONS) -> list[Table]:
    """Give all tables."""
    starters = ("ours", "ours, in a plugin", *NATIVE[2:])
    native = [
        Table("reads", "Reading", ("plain", "ours", *NATIVE[2:]), tuple(READS)),
        Table("threads", "Threads", ("ours", *NATIVE[2:]), tuple(THREADS)),
        Table("flags", "Defining, setting, parsing", NATIVE, tuple(FLAGS)),
        Table("memory", "Memory", NATIVE, tuple(MEMORY)),
        Table("processes", "Processes and files", starters, tuple(STARTS + SIZES)),
    ]
    return native + [
        Table(f"python-{version}", f"CPython {version}", PYTHON, python_rows(version))
        for version in pythons
    ]
