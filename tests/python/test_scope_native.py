"""Scoped flags in native code: what a read costs, what doesn't compile, threads of others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from support import INCLUDE, ROOT, SANITIZE, WINDOWS, build_program, run, tool, write

if TYPE_CHECKING:
    from pathlib import Path

READS = """
#include <pd_flags.h>
PD_DEFINE_SCOPED_int32(level, 6, "Level");
PD_DEFINE_SCOPED_string(mode, "fast", "Mode");
PD_DEFINE_int32(plain_level, 6, "Level");
PD_DEFINE_string(plain_mode, "fast", "Mode");
int read_level(void);
int read_level(void) { return PD_SCOPED(level); }
const char *read_mode(void);
const char *read_mode(void) { return PD_SCOPED(mode); }
int read_plain_level(void);
int read_plain_level(void) { return FLAGS_plain_level; }
const char *read_plain_mode(void);
const char *read_plain_mode(void) { return FLAGS_plain_mode; }
"""


def instructions(listing: str, function: str) -> list[str]:
    """Return what runs up to the first return while no scope is open."""
    body = listing.split(f"<{function}>:\n")[1].split("\n\n", maxsplit=1)[0]
    steps = [line.split("\t")[1].strip() for line in body.splitlines()]
    returns = next(i for i, step in enumerate(steps) if step.startswith("ret"))
    return steps[: returns + 1]


@pytest.mark.parametrize(
    ("prefix", "package", "most"),
    [
        ("", None, 5 if WINDOWS else 3),  # callers make room for what they call, in two steps
        ("aarch64-linux-gnu-", "gcc-aarch64-linux-gnu", 2),
    ],
    ids=["here", "aarch64"],
)
@pytest.mark.parametrize("name", ["level", "mode"])
def test_a_read_without_scopes_takes_few_instructions_more_than_that_of_another_flag(
    tmp_path: Path, prefix: str, package: str | None, most: int, name: str
) -> None:
    source = write(tmp_path / "reads.c", READS)
    built = tmp_path / "reads.o"
    words = [tool(f"{prefix}gcc", package), f"-I{INCLUDE}", "-O2", "-fPIC"]
    run(*words, "-c", source, "-o", built)
    listing = run(f"{prefix}objdump", "-d", "--no-show-raw-insn", built).stdout
    scoped = instructions(listing, f"read_{name}")
    plain = instructions(listing, f"read_plain_{name}")
    assert not any(step.startswith(("call", "bl")) for step in scoped)
    assert len(scoped) <= len(plain) + most, "\n".join(scoped)


# ---- What doesn't compile ----

FLAGS = """
#include <pd_flags.h>
PD_DEFINE_SCOPED_int32(level, 6, "Level");
PD_DEFINE_int32(plain, 6, "Plain");
int f(void);
"""
GUARDS = FLAGS.replace("pd_flags.h>", "pd_flags.hpp>")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("int f(void) { return FLAGS_level; }", "read_it_by_PD_SCOPED"),
        ("int f(void) { return FLAGS_level + 1; }", "read_it_by_PD_SCOPED|invalid operands"),
        ("int f(void) { return PD_SCOPED(plain); }", "PD_SCOPED|not a structure or union"),
        ("int f(void) { FLAGS_level.value = 3; return 0; }", "read-only|const"),
        (
            'PD_DEFINE_SCOPED_int32(wide, 1ll << 40, "Wide");',
            r"wide: the value doesn\\?'t fit int32",
        ),
    ],
)
def test_a_plain_read_of_a_scoped_flag_and_a_scoped_one_of_a_plain_flag_do_not_compile_in_c(
    tmp_path: Path, compiler: str, text: str, says: str
) -> None:
    source = write(tmp_path / "bad.c", f"{FLAGS}{text}\n")
    refused = run(tool(compiler), f"-I{INCLUDE}", "-c", source, "-o", "/dev/null", check=False)
    assert refused.returncode != 0
    assert re.search(says, refused.stderr), refused.stderr


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "void g() { pd::scoped_value v{FLAGS_plain, 9}; }",
            "define it by PD_DEFINE_SCOPED_<type>",
        ),
        ("void g() { pd::scoped_value v{FLAGS_level, 9.5}; }", "takes an integer"),
        ('void g() { pd::scoped_value v{FLAGS_level, "9"}; }', "takes a number"),
        ("int f(void) { return PD_SCOPED(plain2); }", "FLAGS_plain2"),
        ("int f(void) { FLAGS_level = 3; return 0; }", "deleted|no viable|private"),
        ("int f(void) { auto copy = FLAGS_level; return copy; }", "deleted|scoped_view"),
    ],
)
def test_a_scope_on_a_plain_flag_and_values_that_do_not_suit_do_not_compile_in_cxx(
    tmp_path: Path, compiler: str, text: str, says: str
) -> None:
    source = write(tmp_path / "bad.cc", f"{GUARDS}{text}\n")
    package = "clang" if compiler == "clang++" else None
    words = [tool(compiler, package), "-std=c++17", f"-I{INCLUDE}"]
    refused = run(*words, "-c", source, "-o", "/dev/null", check=False)
    assert refused.returncode != 0
    assert re.search(says, refused.stderr), refused.stderr


def test_a_declaration_of_the_other_kind_does_not_link(tmp_path: Path) -> None:
    owner = write(tmp_path / "owner.c", FLAGS)
    user = write(
        tmp_path / "user.c",
        "#include <pd_flags.h>\nPD_DECLARE_int32(level);\nint main(void) { return FLAGS_level; }\n",
    )
    words = [tool("gcc"), f"-I{INCLUDE}", owner, user]
    refused = run(*words, "-o", tmp_path / "program", check=False)
    assert refused.returncode != 0
    assert "pd_flag_cell_int32_level" in refused.stderr


# ---- Threads of others: the examples ----

EXAMPLES = {
    "openmp.c": (
        ("-fopenmp",),
        (
            "before: each of 1000 blocks at level 6\n"
            "in the scope: each of 1000 blocks at level 9\n"
            "after: each of 1000 blocks at level 6\n"
        ),
    ),
    "pool.c": (("-pthread",), "first: fast\nsecond: best\nthird: fast\nfourth: best\n"),
    "async.cpp": (
        ("-std=c++17", "-pthread"),
        "rough 0.5, plain 1e-06, strict 0.25, here 1e-06\n",
    ),
}


@pytest.mark.extended  # takes a second or more
@pytest.mark.parametrize("name", EXAMPLES)
def test_threads_of_others_work_in_the_scopes_that_they_attach(tmp_path: Path, name: str) -> None:
    flags, expected = EXAMPLES[name]
    if SANITIZE and "-fopenmp" in flags:
        pytest.skip("libgomp isn't built for sanitizers")
    program = build_program(tmp_path / "program", ROOT / "examples" / "scopes" / name, flags=flags)
    assert run(program).stdout == expected
