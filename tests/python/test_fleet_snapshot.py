"""The values of a fleet that a file gives a process before its first definition."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from fleet_config import IMPORT
from joining import environment
from packages import library_object
from support import (
    CC,
    IS_ROOT,
    SANITIZE,
    build,
    build_plugin,
    build_program,
    make_fifo,
    missing,
    run,
    write,
)

URL = "etcd://10.0.0.5:2379/job42"
VARIABLE = "PADDLE_FLAGS_FLEET_SNAPSHOT"
HEAD = "paddle_flags fleet 1"

C = """
#include <pd_flags.h>
#include <dlfcn.h>
#include <stdio.h>
PD_DEFINE_int32(level, 6, "Level", .max = 9);
PD_DEFINE_string(mode, "fast", "Mode");
static int seen;
__attribute__((constructor)) static void look(void) { seen = FLAGS_level; }
static void warn(const char *message, pd_warning kind, void *context) {
  if (kind == PD_WARNING_DROPPED && !context) printf("%s\\n", message);
}
int main(int argc, char **argv) {
  pd_flag *flag;
  pd_flag_entry entry = {.size = sizeof entry};
  pd_warning_handle(warn, NULL, NULL);
  if (pd_flag_find("level", &flag, NULL) || pd_flag_get_entry(flag, 0, &entry, NULL)) return 2;
  printf("%d %d %s|", seen, FLAGS_level, FLAGS_mode);
  bool given = entry.origin.source == PD_SOURCE_FLEET;
  printf("%s %s %u\\n", pd_source_name(entry.origin.source), given ? entry.origin.place : "",
         given ? entry.origin.line : 0);
  if (argc > 1) {
    void *plugin = dlopen(argv[1], RTLD_NOW);
    int (*late)(void) = plugin ? (int (*)(void))(size_t)dlsym(plugin, "late") : NULL;
    printf("%d\\n", late ? late() : -1);
  }
  return 0;
}
"""
CPP = """
#include <pd_flags.hpp>
#include <cstdio>
#include <string>
static pd::flag<int> level("level", 6, "Level");
static pd::flag<std::string> mode("mode", "fast", "Mode");
struct user {
  int level_ = level;
  std::string mode_ = mode;
};
static user early;
int main() { std::printf("%d %s\\n", early.level_, early.mode_.c_str()); }
"""
PLUGIN = """
#include <pd_flags.h>
PD_DEFINE_int32(late_level, 6, "Level");
static int seen;
__attribute__((constructor)) static void look(void) { seen = FLAGS_late_level; }
__attribute__((visibility("default"))) int late(void);
int late(void) { return seen; }
"""


def fields(*texts: str) -> bytes:
    return b"".join(text.encode("utf-8", "surrogateescape") + b"\0" for text in texts)


@pytest.fixture
def snapshot(tmp_path):
    """Write a snapshot; the environment with its path."""

    def make(*values: tuple[str, int, str], content: bytes | None = None) -> dict[str, str]:
        path = tmp_path / "snapshot"
        texts = [part for name, revision, text in values for part in (name, str(revision), text)]
        path.write_bytes(fields(HEAD, URL, *texts, "") if content is None else content)
        return environment(**{VARIABLE: str(path)})

    return make


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A program in C, with the library linked and with a copy of its own; and one in C++."""
    place = tmp_path_factory.mktemp("programs")
    code = write(place / "main.c", C)
    own = library_object(tmp_path_factory, CC)
    return {
        "linked": build_program(place / "linked", code, flags=("-ldl",)),
        "own": build(place / "own", code, own, flags=("-pthread", "-ldl")),
        "C++": build_program(
            place / "cpp", write(place / "m.cpp", CPP), flags=("-std=c++11", "-Wl,--no-as-needed")
        ),
    }


@pytest.mark.extended  # takes a second or more
@pytest.mark.parametrize("host", ["linked", "own"])
def test_the_constructors_of_a_program_see_the_values(programs, snapshot, host):
    env = snapshot(("level", 12, "4"), ("mode", 7, "best"))
    assert run(programs[host], env=env).stdout == f"4 4 best|fleet {URL} 12\n"
    assert run(programs[host], env=environment()).stdout == "6 6 fast|default  0\n"


def test_so_do_static_objects_of_cpp(programs, snapshot):
    env = snapshot(("level", 12, "4"), ("mode", 7, "a\nb"))
    assert run(programs["C++"], env=env).stdout == "4 a\nb\n"


def test_a_plugin_that_is_loaded_late_has_them_before_its_constructors_run(
    programs, snapshot, tmp_path
):
    plugin = build_plugin(tmp_path / "late.so", write(tmp_path / "late.c", PLUGIN))
    env = snapshot(("late_level", 12, "4"))
    assert run(programs["linked"], plugin, env=env).stdout.splitlines()[1:] == ["4"]


def test_a_value_that_does_not_suit_is_dropped_with_its_revision(programs, snapshot):
    env = snapshot(("level", 12, "10"), ("mode", 12, "best"))
    assert run(programs["linked"], env=env).stdout == (
        f"{URL} revision 12: level=10: expected an integer <= 9; the fleet's values of revision 12"
        " are dropped\n6 6 fast|default  0\n"
    )


TEXTS = ["", " a ", "two\nlines\r\n", "'quotes\"\\", "é \U0001f600", "\udcff\x1b", "x" * 100_000]


def test_python_has_them_and_any_text(python, snapshot):
    env = snapshot(*((f"t_{i}", i + 1, text) for i, text in enumerate(TEXTS)))
    script = f"""
flags = [pf.define(f"t_{{i}}", "x") for i in range({len(TEXTS)})]
print([flag.value for flag in flags] == {TEXTS!r}, flags[2].source, flags[2].place)
print(*pf.explain("t_2").splitlines()[-2].split()[2:], sep=" ")
"""
    assert python(script, env=env).stdout.splitlines()[0] == f"True fleet {URL} revision 3"
    assert f"fleet {URL} revision 3" in python(script, env=env).stdout.splitlines()[1]


def test_children_get_the_same_values_and_the_fleet_replaces_them(python, snapshot):
    script = f"""{IMPORT}
import subprocess
print(pf.define("level", 1).value, flush=True)
if len(sys.argv) == 1:
    apply_values([])
    print(pf.FLAGS["level"].value, flush=True)
    subprocess.run([sys.executable, __file__, "child"], check=True)
"""
    assert python(script, env=snapshot(("level", 12, "4"))).stdout.split() == ["4", "1", "4"]


MOST = fields(HEAD, URL, "level", "12", "4")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", f"byte 0: expected {HEAD}"),
        (fields("paddle_flags fleet 2", URL, ""), f"byte 0: expected {HEAD}"),
        (fields(HEAD), "byte 21: expected the address of a fleet"),
        (MOST, "byte 59: expected the name of a flag, or an empty field as the last one"),
        (MOST[:-1], "byte 57: expected the text of a value"),
        (MOST + b"\0\0", "byte 60: expected the end of the file"),
        (MOST + fields("mode", "0", "x", ""), "byte 64: expected a revision, a number from 1 on"),
        (
            MOST + fields("mode", "4294967296", ""),
            "byte 64: expected a revision, a number from 1 on",
        ),
        (MOST + fields("mode"), "byte 64: expected a revision"),
        (MOST + fields("a b", "1", "x", ""), "byte 59: 'a b' can't be the name of a flag"),
    ],
)
def test_of_a_damaged_file_nothing_is_taken_and_one_warning_says_where(
    programs, snapshot, content, why
):
    env = snapshot(content=content)
    assert run(programs["linked"], env=env).stdout == (
        f"environment: {VARIABLE}: {env[VARIABLE]}: {why}; no value of the fleet is taken\n"
        "6 6 fast|default  0\n"
    )


def test_a_missing_file_is_a_warning(programs, python, tmp_path):
    env = environment(**{VARIABLE: str(tmp_path / "none")})
    said = f"environment: {VARIABLE}: {tmp_path / 'none'}: no such file; "
    assert run(programs["linked"], env=env).stdout.startswith(said)
    ended = python("print(pf.define('level', 1).value)", env=env)
    assert ended.stdout == "1\n"
    assert f"FlagWarning: {said}no value of the fleet is taken" in ended.stderr
    assert run(programs["linked"], env=environment(**{VARIABLE: ""})).stdout.startswith("6")


def test_a_pipe_is_no_file_and_nobody_waits_for_it(programs, tmp_path):
    make_fifo(tmp_path / "pipe")
    ended = run(programs["linked"], env=environment(**{VARIABLE: str(tmp_path / "pipe")}))
    assert "is a FIFO, expected a regular file; no value" in ended.stdout


def test_a_setuid_program_does_not_read_it(programs, snapshot, tmp_path):
    if not IS_ROOT:
        missing("the right to change owners", "run as root")
    if SANITIZE:
        return  # the runtime refuses such processes
    owned = Path(shutil.copy(programs["own"], tmp_path / "owned"))
    os.chown(owned, 65534, 65534)
    owned.chmod(0o4755)
    assert run(owned, env=snapshot(("level", 12, "4"))).stdout == "6 6 fast|default  0\n"


def test_a_process_without_flags_of_the_snapshot_is_as_ever(snapshot):
    env = snapshot(("level", 12, "4"))
    script = "import paddle_flags as pf; print(pf.parse(['prog', 'x']), list(pf.FLAGS))"
    assert run(sys.executable, "-W", "error", "-c", script, env=env).stdout == "['x'] []\n"
