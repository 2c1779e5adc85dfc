"""Libraries with flags of gflags and of Abseil, as Debian has them, for the tests of bridges."""

from __future__ import annotations

import sys
from pathlib import Path

from support import require, run, write

GFLAGS = """
#include <gflags/gflags.h>
#include <unistd.h>
#include <stdexcept>
DEFINE_int32(g_level, 6, "A number");
DEFINE_string(g_mode, "fast", "A text");
static bool is_even(const char *, gflags::int32 value) {
  if (value == 13) throw std::runtime_error("unlucky");
  if (value == 200) usleep(2000);  // meanwhile it is in the variable
  return value % 2 == 0;
}
DEFINE_validator(g_level, &is_even);
extern "C" int level() { return FLAGS_g_level; }
extern "C" void assign(int value) { FLAGS_g_level = value; }
extern "C" void cut() { FLAGS_g_mode.assign("ab\\0cd", 5); }
extern "C" int length() { return static_cast<int>(FLAGS_g_mode.size()); }
"""

ABSEIL = """
#include <absl/flags/flag.h>
#include <absl/flags/reflection.h>
#include <absl/time/time.h>
#include <stdexcept>
#include <string>
#include <vector>
static int changes = 0;
static int (*set_by_name)(const char *, const char *, void *);
static void again();
static void slow();
ABSL_FLAG(bool, a_check, false, "A bool");
ABSL_FLAG(int16_t, a_short, 6, "A short number");
ABSL_FLAG(int, a_level, 6, "A number").OnUpdate([] { changes++; });
ABSL_FLAG(uint32_t, a_count, 6, "A number");
ABSL_FLAG(int64_t, a_big, 6, "A number");
ABSL_FLAG(uint64_t, a_bytes, 6, "A number");
ABSL_FLAG(float, a_share, 0.5, "A fraction");
ABSL_FLAG(double, a_ratio, 0.1, "A fraction");
ABSL_FLAG(std::string, a_mode, "fast", "A text");
ABSL_FLAG(absl::Duration, a_delay, absl::Seconds(2), "A duration");
ABSL_FLAG(std::vector<std::string>, a_list, {}, "A list");
ABSL_FLAG(int, a_again, 6, "Sets itself and another").OnUpdate(again);
ABSL_FLAG(int, a_slow, 6, "Calls back").OnUpdate(slow);
ABSL_FLAG(int, a_throwing, 6, "Throws").OnUpdate([] {
  if (set_by_name) throw std::runtime_error("no");
});
ABSL_RETIRED_FLAG(int, a_old, 6, "A retired flag");
extern "C" int level() { return absl::GetFlag(FLAGS_a_level); }
extern "C" int updates() { return changes; }
static void again() {
  if (!set_by_name || absl::GetFlag(FLAGS_a_again) == 99) return;
  set_by_name("a_big", "77", nullptr);
  set_by_name("a_again", "99", nullptr);
}
extern "C" void call(int (*function)(const char *, const char *, void *)) {
  set_by_name = function;
}
static void (*meanwhile)();
extern "C" void run_in_callback(void (*function)()) { meanwhile = function; }
extern "C" void assign_slow(int value) { absl::SetFlag(&FLAGS_a_slow, value); }
extern "C" int slow_level() { return absl::GetFlag(FLAGS_a_slow); }
static void slow() {
  if (meanwhile) meanwhile();
}
extern "C" int again_level() { return absl::GetFlag(FLAGS_a_again); }
extern "C" void assign(int value) { absl::SetFlag(&FLAGS_a_level, value); }
extern "C" void shorten(int value) { absl::SetFlag(&FLAGS_a_share, 1.0f / value); }
extern "C" int seconds() {
  return static_cast<int>(absl::ToInt64Seconds(absl::GetFlag(FLAGS_a_delay)));
}
"""

ABSEIL_PARTS = "reflection internal marshalling commandlineflag config private_handle_accessor"


def build_gflags(place: Path) -> Path:
    """Build a library that has flags of gflags."""
    require("libgflags-dev", "gflags/gflags.h")
    out = place / "libg.so"
    run("g++", "-shared", "-fPIC", write(place / "g.cpp", GFLAGS), "-o", out, "-lgflags")
    return out


def build_abseil(place: Path) -> Path:
    """Build a library that has flags of Abseil."""
    require("libabsl-dev", "absl/flags/flag.h")
    out = place / "liba.so"
    libraries = [f"-labsl_flags_{part}" for part in ABSEIL_PARTS.split()]
    libraries += [f"-labsl_{part}" for part in ("strings", "time", "hash", "raw_hash_set", "base")]
    source = write(place / "a.cpp", ABSEIL)
    run("g++", "-std=c++17", "-shared", "-fPIC", source, "-o", out, *libraries)
    return out


def program(script: str, *arguments: object, **options: object) -> list[str]:
    """Run a script in a process of its own, and return its lines."""
    head = "import ctypes, sys, paddle_flags as pf\n"
    ended = run(sys.executable, "-c", head + script, *arguments, **options)
    return ended.stdout.splitlines()
