"""The example plugins, run by the hosts in Python and in C, against wc, grep and cksum;
and what `make demo` shows."""

from __future__ import annotations

import os
import random
import re
import resource
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import CC, LIBDIR, ROOT, SANITIZE

pytestmark = pytest.mark.extended  # builds much

EXAMPLES = ROOT / "examples"
NAMES = ("scan", "search", "digest")

# UTF-8, so that wc and the hosts see the same letters; no flags but a test's.
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("FLAGS_")}
ENVIRONMENT["LC_ALL"] = "C.UTF-8"

Row = dict[str, str]


@dataclass
class Outcome:
    """How a run of a host ended; `results` has the fields of each file."""

    status: int
    out: str
    err: str
    results: dict[str, Row]


def run(*command: object, **options: object) -> subprocess.CompletedProcess[str]:
    env = {**ENVIRONMENT, **options.pop("env", {})}
    words = [str(word) for word in command]
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, **options)


def output(*command: object) -> str:
    """What a standard tool prints; grep ends with 1 when nothing matches."""
    ended = run(*command)
    assert ended.returncode in (0, 1), ended.stderr
    return ended.stdout


def table(text: str) -> list[Row]:
    """A table without blanks in its cells, as rows by column title."""
    titles, *rows = [line.split() for line in text.splitlines()]
    return [dict(zip(titles, row)) for row in rows]


def flags_of(out: str) -> dict[str, Row]:
    """The Python host's table of flags, whose cells may be empty."""
    first, *lines = out.partition("\nflags\n")[2].splitlines()
    titles = first.split()
    starts = [first.index(title) for title in titles]
    rows = [
        {t: line[a:b].strip() for t, a, b in zip(titles, starts, [*starts[1:], None])}
        for line in lines
    ]
    return {row["flag"]: row for row in rows}


@pytest.fixture(
    scope="session", params=["by_hand", pytest.param("of_flags_yaml", marks=pytest.mark.release)]
)
def build(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugins and the C host, built by the examples' own Makefiles; what holds for
    flags that are written by hand holds for those that are made of YAML."""
    path = tmp_path_factory.mktemp("examples")
    flags = os.environ.get("CFLAGS", "-O2") + " -Werror"
    settings = (f"BUILD={path}", f"LIBDIR={LIBDIR}", f"CFLAGS={flags}")
    made = run("make", "-C", EXAMPLES, *settings)
    if request.param == "of_flags_yaml":
        (path / "plugins").rename(path / "by_hand")
        made = run("make", "-C", EXAMPLES / "yaml", *settings, f"PYTHON={sys.executable}")
    assert made.returncode == 0, made.stderr
    return path


@pytest.fixture(scope="session")
def plugins(build: Path) -> list[Path]:
    return [build / "plugins" / f"lib{name}.so" for name in NAMES]


@pytest.fixture
def python_host(build: Path) -> Callable[..., Outcome]:
    def start(*arguments: object, env: dict[str, str] | None = None, **options: object) -> Outcome:
        ended = run(
            sys.executable,
            EXAMPLES / "host" / "host.py",
            *arguments,
            env={"PLUGINS": str(build / "plugins"), **(env or {})},
            **options,
        )
        first = ended.stdout.partition("whole files\n")[2].partition("\nonly the first")[0]
        results = {row.pop("file"): row for row in table(first)} if first else {}
        return Outcome(ended.returncode, ended.stdout, ended.stderr, results)

    return start


@pytest.fixture
def c_host(build: Path, plugins: list[Path]) -> Callable[..., Outcome]:
    def start(*arguments: object, **options: object) -> Outcome:
        ended = run(build / "examples" / "host", *plugins, *arguments, **options)
        lines = (line.partition(": ") for line in ended.stdout.splitlines())
        results = {
            path: dict(field.split("=") for field in fields.split())
            for path, _, fields in lines
            if path.startswith("/") and fields
        }
        return Outcome(ended.returncode, ended.stdout, ended.stderr, results)

    return start


@pytest.fixture(params=["python_host", "c_host"])
def host(
    request: pytest.FixtureRequest,
    python_host: Callable[..., Outcome],
    c_host: Callable[..., Outcome],
) -> Callable[..., Outcome]:
    """Each of the two hosts: what holds for one holds for the other."""
    return {"python_host": python_host, "c_host": c_host}[request.param]


@pytest.fixture(scope="session")
def own_files() -> list[str]:
    """The project's own texts."""
    suffixes = {".c", ".h", ".hpp", ".py", ".md", ".sh", ".toml"}
    folders = ("csrc", "docs", "examples", "paddle_flags", "tests")
    found = [
        str(path)
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in suffixes and path.is_file()
    ]
    assert len(found) >= 10
    return found


@pytest.fixture(scope="session")
def edge_files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Files that a line reader gets wrong easily."""
    folder = tmp_path_factory.mktemp("edge")
    spaces = "\t\v\f\r \u00a0\u1680\u2003\u2007\u202f\u205f\u3000"
    contents = {
        "empty": b"",
        "newline": b"\n",
        "no_newline_at_end": b"one\ntwo foo",
        "crlf": b"a foo b\r\nfoo\r\n\r\nend\r\n",
        "nul": b"a\0b foo\0\nfo\0o\n\0foo\nbar\0",
        "blanks": "".join(f"é{s}語{s}{s}foo" for s in spaces).encode() + b"\n",
        "letters": "Straße FÖO föo foo €\n😀foo FOO\n".encode(),
        "huge_line": b"x y" * 3_000_000 + b"foo\nfoo",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [str(folder / name) for name in contents]


@pytest.fixture(scope="session")
def large_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """More than 10 MB of lines, the same in every run."""
    choose = random.Random(2024)
    letters = "abcdefgXYZ0189.,é"
    words = ["".join(choose.choices(letters, k=choose.randint(1, 9))) for _ in range(999)]
    lines = [" ".join(choose.choices(words, k=choose.randint(0, 12))) for _ in range(20_000)]
    block = "\n".join(lines).encode()
    path = tmp_path_factory.mktemp("large") / "large.txt"
    with path.open("wb") as file:
        for number in range(10_000_000 // len(block) + 1):
            file.write(b"block %d " % number + block)
    assert path.stat().st_size >= 10_000_000
    return str(path)


def wc(paths: list[str]) -> dict[str, Row]:
    lines = [line.split() for line in output("wc", "-lwc", *paths).splitlines()]
    return {
        path: {"lines": lines_, "words": words, "bytes": size}
        for lines_, words, size, path in lines
        if path != "total"
    }


def grep(paths: list[str], *options: str) -> dict[str, str]:
    lines = output("grep", "-a", "-c", "-H", *options, "--", *paths).splitlines()
    return {path: count for path, _, count in (line.rpartition(":") for line in lines)}


def cksum(paths: list[str]) -> dict[str, str]:
    lines = [line.split() for line in output("cksum", *paths).splitlines()]
    return {path: crc for crc, _, path in lines}


def column(outcome: Outcome, *titles: str) -> dict[str, object]:
    """One or more fields of each file's results."""
    assert outcome.status == 0, outcome.err
    if len(titles) == 1:
        return {path: row[titles[0]] for path, row in outcome.results.items()}
    return {path: {t: row[t] for t in titles} for path, row in outcome.results.items()}


# -- each plugin against the standard tool ----------------------------------


def test_the_commands_of_the_readme_run_both_hosts(build):
    text = (EXAMPLES / "README.md").read_text("utf-8")
    made, *commands = re.findall(r"^    (\S.*)", text, re.MULTILINE)
    assert made.partition(" #")[0].split() == ["make", "-C", "examples"]
    assert len(commands) == 2
    for command in commands:
        line = command.replace("build/", f"{build}/").replace(".venv/bin/python", sys.executable)
        ended = run("sh", "-c", line, cwd=ROOT, env={"PLUGINS": str(build / "plugins")})
        assert (ended.returncode, ended.stderr) == (0, ""), line
        assert "matches" in ended.stdout


def test_scan_counts_the_projects_files_as_wc_does(host, own_files):
    assert column(host(*own_files), "lines", "words", "bytes") == wc(own_files)


def test_scan_counts_edge_files_as_wc_does(host, edge_files):
    assert column(host(*edge_files), "lines", "words", "bytes") == wc(edge_files)


@pytest.mark.parametrize("buffer", [1, 2, 7])
def test_the_buffer_size_changes_no_result(host, edge_files, buffer):
    small = edge_files[:-1]
    sizes = [f"--scan_buffer={buffer}", f"--digest_buffer={buffer}"]
    assert host(*sizes, *small).results == host(*small).results


def test_scan_reports_only_what_is_asked_for(host, own_files):
    outcome = host("--noscan_lines", "--scan_bytes=no", own_files[0])
    assert outcome.results[own_files[0]].keys() == {"words", "matches", "posix"}


PATTERNS = [
    ("flag", []),
    ("", []),
    ("^$", []),
    (r"^[[:space:]]*(if|for) .*\($", []),
    ("[0-9]{3,}|0x[0-9a-f]+", []),
    ("f.o", []),
    (".", []),
    ("FÖO|flag_?", ["-i"]),
    ("FLAGS_[a-z]+(_[a-z]+)+", ["-i", "-m", "3"]),
    ("foo", ["-m", "1"]),
    ("(*", ["-F"]),
    ("f.o", ["-F"]),
    (r"\n", ["-F"]),
    ("FOO)", ["-F", "-i"]),
    ("foo", ["-F", "-i", "-m", "2"]),
]


def search_flags(pattern: str, options: list[str]) -> list[str]:
    flags = [f"--search_pattern={pattern}"]
    if "-i" in options:
        flags.append("--search_ignore_case")
    if "-F" in options:
        flags.append("--search_fixed")
    if "-m" in options:
        flags.append(f"--search_max={options[-1]}")
    return flags


@pytest.mark.parametrize(("pattern", "options"), PATTERNS)
def test_search_counts_lines_as_grep_does(host, own_files, edge_files, pattern, options):
    paths = own_files + edge_files[:-1]
    regex = [] if "-F" in options else ["-E"]
    expected = grep(paths, "-e", pattern, *regex, *options)
    assert column(host(*search_flags(pattern, options), *paths), "matches") == expected


def test_search_counts_a_huge_line_as_grep_does(host, edge_files):
    huge = edge_files[-1]
    expected = grep([huge], "-E", "-e", "y?foo$")
    assert column(host("--search_pattern=y?foo$", huge), "matches") == expected


def test_posix_digest_is_what_cksum_prints(host, own_files, edge_files):
    paths = own_files + edge_files
    assert column(host(*paths), "posix") == cksum(paths)


def test_ieee_digest_is_what_zlib_computes(host, own_files, edge_files):
    paths = own_files + edge_files
    expected = {path: f"{zlib.crc32(Path(path).read_bytes()):08x}" for path in paths}
    assert column(host("--digest_kind=ieee", "--digest_hex", *paths), "ieee") == expected


def test_each_digest_has_its_published_check_value(host, tmp_path):
    path = tmp_path / "check"
    path.write_text("123456789")
    for kind, crc in {"posix": 0x377A6011, "ieee": 0xCBF43926, "castagnoli": 0xE3069283}.items():
        assert column(host(f"--digest_kind={kind}", path), kind) == {str(path): str(crc)}


def test_all_three_agree_with_the_standard_tools_on_a_large_file(host, large_file):
    outcome = host("--search_pattern=^block [0-9]+ |XYZ?[089]", large_file)
    assert column(outcome, "lines", "words", "bytes") == wc([large_file])
    assert column(outcome, "posix") == cksum([large_file])
    assert column(outcome, "matches") == grep([large_file], "-E", "-e", "^block [0-9]+ |XYZ?[089]")


@pytest.mark.parametrize("limit", [1, 1000, 4097])
def test_one_flag_of_the_host_limits_all_three_plugins(host, own_files, tmp_path, limit):
    path = max(own_files, key=os.path.getsize)
    head = tmp_path / "head"
    head.write_bytes(Path(path).read_bytes()[:limit])
    limited = host(f"--max_bytes={limit}", "--search_pattern=e", path)
    assert limited.results[path] == host("--search_pattern=e", head).results[str(head)]
    assert limited.results[path]["bytes"] == str(limit)


# -- what goes wrong --------------------------------------------------------


def test_files_that_cannot_be_read_are_named_and_the_others_are_done(host, own_files, tmp_path):
    paths = [tmp_path / "missing", own_files[0], tmp_path, own_files[1]]
    outcome = host(*paths)
    assert outcome.status == 1
    assert list(outcome.results) == own_files[:2]
    assert f"{tmp_path}/missing: " in outcome.err
    assert "No such file or directory" in outcome.err
    assert f"{tmp_path}: " in outcome.err
    assert "Is a directory" in outcome.err


def test_an_error_in_the_middle_of_reading_is_reported(host):
    outcome = host("/proc/self/mem")
    assert (outcome.status, outcome.results) == (1, {})
    assert "Input/output error" in outcome.err


def test_a_pattern_that_is_no_regular_expression_is_reported(host, own_files):
    outcome = host("--search_pattern=(", own_files[0])
    assert (outcome.status, outcome.results) == (1, {})
    assert "search_pattern: " in outcome.err


@pytest.mark.skipif(bool(SANITIZE), reason="a sanitizer needs more memory than the limit")
@pytest.mark.parametrize("flag", ["--scan_buffer=67108864", "--digest_buffer=67108864"])
def test_a_buffer_that_memory_cannot_hold_is_reported(c_host, own_files, flag):
    limit = 60_000_000
    outcome = c_host(
        flag,
        own_files[0],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert (outcome.status, outcome.results) == (1, {})
    assert "Cannot allocate memory" in outcome.err


def test_all_errors_of_a_command_line_come_together(host, own_files):
    outcome = host(
        "--scan_buffer=0", "--digest_kind=md5", "--serch_max=3", "--search_max=many", own_files[0]
    )
    assert (outcome.status, outcome.results) == (2, {})
    for part in ("--scan_buffer=0", "--digest_kind=md5", "serch_max", "--search_max=many"):
        assert part in outcome.err
    assert "search_max" in outcome.err.split("serch_max")[1].splitlines()[0]
    assert "posix" in outcome.err


def test_a_bad_value_in_the_environment_is_an_error(host, own_files):
    outcome = host(own_files[0], env={"FLAGS_search_max": "12abc"})
    assert (outcome.status, outcome.results) == (2, {})
    assert "FLAGS_search_max" in outcome.err


def test_help_lists_the_flags_of_the_host_and_of_the_plugins(host):
    outcome = host("--help")
    assert outcome.status == 0
    for text in ("max_bytes", "scan_words", "search_pattern", "digest_kind", "castagnoli"):
        assert text in outcome.out


# -- the Python host --------------------------------------------------------------


def test_the_python_host_tells_where_each_value_came_from(python_host, own_files):
    outcome = python_host(
        "--search-pattern=flag",
        "--search_max",
        "2",
        own_files[0],
        env={"FLAGS_digest_kind": "ieee", "FLAGS_search_max": "7"},
    )
    assert outcome.status == 0, outcome.err
    flags = flags_of(outcome.out)

    def told(name: str) -> tuple[str, str, str]:
        return flags[name]["value"], flags[name]["source"], flags[name]["module"]

    assert told("search_pattern") == ("flag", "argv", "libsearch.so")
    assert told("search_max") == ("2", "argv", "libsearch.so")
    assert told("digest_kind") == ("ieee", "environment", "libdigest.so")
    assert told("digest_buffer") == ("65536", "run time", "libdigest.so")
    assert told("scan_words") == ("True", "default", "libscan.so")
    assert told("max_bytes")[:2] == ("0", "default")
    assert "FLAGS_digest_kind" in flags["digest_kind"]["place"]
    assert len([name for name in flags if name.startswith(NAMES)]) == 11


def test_the_python_hosts_override_reaches_the_plugins_and_ends(python_host, own_files):
    path = max(own_files, key=os.path.getsize)
    outcome = python_host("--search_pattern=a", path)
    second = table(outcome.out.split("CRC-32C\n")[1].partition("\n\n")[0])
    assert second[0]["bytes"] == "1024"
    assert second[0].keys() == {"file", "lines", "bytes", "matches", "castagnoli"}
    assert int(outcome.results[path]["bytes"]) > 1024
    assert flags_of(outcome.out)["max_bytes"]["value"] == "0"


def test_the_python_host_leaves_a_buffer_size_alone_that_was_asked_for(python_host, own_files):
    outcome = python_host("--digest_buffer=7", "--scan_buffer=9", own_files[0])
    flags = flags_of(outcome.out)
    assert (flags["digest_buffer"]["value"], flags["digest_buffer"]["source"]) == ("7", "argv")
    outcome = python_host("--scan_buffer=9", own_files[0])
    assert flags_of(outcome.out)["digest_buffer"]["value"] == "9"


def test_the_python_host_without_files_reads_the_projects_own(python_host):
    outcome = python_host()
    assert outcome.status == 0, outcome.err
    paths = list(outcome.results)
    assert len(paths) >= 8
    assert column(outcome, "lines", "words", "bytes") == wc(paths)


def test_the_demo_shows_a_line_a_mistake_a_history_and_a_change_by_c(tmp_path):
    made = run("make", "-s", "-C", EXAMPLES, "demo", f"BUILD={tmp_path}")
    assert made.returncode == 0, made.stderr
    plugins = {"PLUGINS": str(tmp_path / "demo")}
    ended = run(EXAMPLES / "demo" / "run.sh", sys.executable, env=plugins)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    assert "C compresses with level 9; Python listens on port 99." in ended.stdout
    assert "Then C sets the level, and Python reads 1." in ended.stdout
    assert "--level=12: expected an integer in [1, 9]" in ended.stdout
    assert re.search(r"^  3 .* environment +DEMO_level$", ended.stdout, re.MULTILINE)
    lines = ended.stdout.splitlines()
    assert len(lines) <= 48
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 100


def test_the_python_host_without_its_plugins_names_the_missing_file(python_host, tmp_path):
    outcome = python_host(env={"PLUGINS": str(tmp_path)})
    assert outcome.status != 0
    assert f"{tmp_path}/libscan.so" in outcome.err


# -- the C host -------------------------------------------------------------


def test_the_c_host_shows_flags_with_value_source_and_module(c_host, own_files):
    outcome = c_host(
        "--show_flags", "--search_max=3", own_files[0], env={"FLAGS_digest_kind": "ieee"}
    )
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["search_max", "3", "argv", "libsearch.so"] in lines
    assert ["digest_kind", "ieee", "environment", "libdigest.so"] in lines
    assert ["scan_words", "true", "default", "libscan.so"] in lines
    assert ["max_bytes", "0", "default", "host"] in lines


def test_the_c_host_can_stop_at_the_first_error(c_host, own_files, tmp_path):
    outcome = c_host("--nokeep_going", tmp_path / "missing", own_files[0])
    assert (outcome.status, outcome.results) == (1, {})


def test_the_c_host_runs_any_part_of_the_plugins(build, plugins, own_files):
    host_path = build / "examples" / "host"
    ended = run(host_path, plugins[2], own_files[0])
    assert ended.stdout == f"{own_files[0]}: posix={cksum(own_files[:1])[own_files[0]]}\n"
    ended = run(host_path, plugins[2], "--scan_words", own_files[0])
    assert ended.returncode == 2
    assert "scan_words" in ended.stderr


def test_the_c_host_refuses_what_is_no_plugin(build, tmp_path):
    empty = tmp_path / "empty.so"
    empty.write_text("no image\n")
    folder = tmp_path / "folder.so"
    folder.mkdir()
    source = tmp_path / "other.c"
    source.write_text("int other(void) { return 1; }\n")
    other = tmp_path / "other.so"
    assert run(*CC, "-shared", "-fPIC", source, "-o", other).returncode == 0
    for path in (empty, folder, other, tmp_path / "missing.so"):
        ended = run(build / "examples" / "host", path)
        assert ended.returncode == 2
        assert str(path) in ended.stderr


# -- how the plugins are built ----------------------------------------------


def test_the_plugins_need_libc_alone_and_nothing_of_ours(plugins):
    for plugin in plugins:
        needed = [line for line in output("readelf", "-d", plugin).splitlines() if "NEEDED" in line]
        assert all("libc." in line or "san." in line for line in needed), needed
        undefined = output("nm", "-D", "--undefined-only", plugin)
        assert " pd_" not in undefined
