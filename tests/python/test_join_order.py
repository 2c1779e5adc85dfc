"""Flags join before anything else of their module runs, and leave after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from joining import REGISTRY, Maker, environment, obey
from support import build_plugin, write

if TYPE_CHECKING:
    from pathlib import Path

DEFINES = """
#include <pd_flags.h>
PD_DEFINE_int32(order_level, 6, "How hard to try", .min = 0, .max = 99);
PD_DEFINE_string(order_mode, "fast", "How to search");
int level(void);
int level(void) { return FLAGS_order_level; }
"""
# This source doesn't know the header: only the module knows that it has flags.
RUNS = """
#include <stdio.h>
int level(void);
int host_knows(const char *name) __attribute__((weak));
static void say(const char *when) {
  printf("%s %d%s\\n", when, level(), host_knows && host_knows("order_level") ? " known" : "");
}
__attribute__((constructor(101))) static void c101(void) { say("constructor 101"); }
__attribute__((constructor)) static void constructor(void) { say("constructor"); }
__attribute__((destructor)) static void destructor(void) { say("destructor"); }
__attribute__((destructor(101))) static void d101(void) { say("destructor 101"); }
"""
OBJECTS = """
#include <cstdio>
#include <pd_flags.h>
PD_DEFINE_int32(order_level, 6, "How hard to try");
extern "C" int host_knows(const char *name) __attribute__((weak));
struct Reader {
  const char *name;
  explicit Reader(const char *n) : name(n) { say("made"); }
  ~Reader() { say("gone"); }
  void say(const char *what) const {
    bool known = host_knows && host_knows("order_level");
    std::printf("%s %s %d%s\\n", name, what, int(FLAGS_order_level), known ? " known" : "");
  }
};
static Reader last("plain");
__attribute__((init_priority(101))) static Reader first("101");
"""
SET = environment(FLAGS_order_level="31")


@pytest.fixture(scope="module", params=["flags_first", "flags_last"])
def runner(maker: Maker, request: pytest.FixtureRequest) -> Path:
    texts = [DEFINES, RUNS] if request.param == "flags_first" else [RUNS, DEFINES]
    return maker.plugin(f"runner_{request.param}", *texts)


@pytest.fixture(scope="module")
def objects(maker: Maker) -> Path:
    source = write(maker.directory / "objects.cc", OBJECTS)
    return build_plugin(maker.directory / "libobjects.so", source)


ARRIVE = (f"registry {REGISTRY}", "env FLAGS_")
MADE = ["constructor 101 31 known", "constructor 31 known"]
LEFT = ["destructor 40 known", "destructor 101 40 known"]


@pytest.mark.parametrize("how", ["load", "open local"])
def test_constructors_read_the_value_from_the_environment(
    host: Path, runner: Path, how: str
) -> None:
    said = obey(host, *ARRIVE, f"{how} {runner}", env=SET)
    assert said[:5] == ["ok", "ok", *MADE, "ok"]


def test_destructors_read_the_last_value_when_the_library_is_closed(
    host: Path, runner: Path
) -> None:
    leave = ["set order_level 40", f"close {runner}", "get order_level"]
    said = obey(host, *ARRIVE, f"open local {runner}", *leave, env=SET)
    gone = "PD_ERR_UNDEFINED: no flag is named 'order_level'"
    assert said == ["ok", "ok", *MADE, "ok", "ok", *LEFT, "ok", gone]


@pytest.mark.parametrize("first", ["registry", "plugin"])
def test_destructors_read_the_last_value_at_exit(host: Path, runner: Path, first: str) -> None:
    registry, plugin = f"registry {REGISTRY}", f"open local {runner}"
    arrive = [registry, plugin] if first == "registry" else [plugin, registry]
    said = obey(host, *arrive, "set order_level 40")
    assert said[-3:] == ["ok", *LEFT]


@pytest.mark.parametrize("first", ["registry", "plugin"])
def test_objects_of_cxx_read_the_value_from_first_to_last(
    host: Path, objects: Path, first: str
) -> None:
    plugin = f"open local {objects}"
    arrive = [*ARRIVE, plugin] if first == "registry" else [plugin, *ARRIVE]
    said = obey(host, *arrive, "set order_level 40", f"close {objects}", env=SET)
    made = ["101 made 31 known", "plain made 31 known"]
    early = ["101 made 6", "plain made 6"]
    start = ["ok", "ok", *made, "ok"] if first == "registry" else [*early, "ok", "ok", "ok"]
    assert said == [*start, "ok", "plain gone 40 known", "101 gone 40 known", "ok"]


def test_objects_of_cxx_read_the_value_at_exit(host: Path, objects: Path) -> None:
    said = obey(host, *ARRIVE, f"open local {objects}", "set order_level 40", env=SET)
    assert said[-2:] == ["plain gone 40 known", "101 gone 40 known"]


def test_constructors_of_a_plugin_read_the_flags_of_its_dependency(
    maker: Maker, host: Path
) -> None:
    inner = maker.plugin("inner", DEFINES)
    needed = (f"-L{inner.parent}", "-linner", f"-Wl,-rpath,{inner.parent}")
    outer = maker.plugin("outer", RUNS, flags=needed)
    said = obey(host, *ARRIVE, f"load {outer}", env=SET)
    assert said[:5] == ["ok", "ok", *MADE, "ok"]


def test_constructors_of_the_program_read_the_environment_that_a_library_turned_on(
    maker: Maker,
) -> None:
    # A dependency's constructor runs before the program's, and its flags are known to it.
    enables = """
#include <pd_flags.h>
__attribute__((constructor)) static void enable(void) {
  pd_environment_enable("FLAGS_", NULL, NULL);
}
"""
    links = (f"-L{REGISTRY.parent}", f"-Wl,-rpath,{REGISTRY.parent}", "-lpd_flags")
    enabler = maker.plugin("enabler", enables, flags=links)
    needed = (f"-L{enabler.parent}", "-Wl,--no-as-needed", "-lenabler", *links)
    program = maker.program(
        "enabled", DEFINES, RUNS, flags=(*needed, f"-Wl,-rpath,{enabler.parent}")
    )
    assert obey(program, env=SET)[:2] == ["constructor 101 31", "constructor 31"]


def test_nothing_runs_twice_when_the_registry_is_already_there(host: Path, runner: Path) -> None:
    said = obey(host, *ARRIVE, f"load {runner}", f"load {runner}", "modules", "exit", env=SET)
    assert said == ["ok", "ok", *MADE, "ok", "ok", "1"]
