"""pd_flags/bridge_gflags.hpp: the flags of Debian's gflags and glog in our registry."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import CHECKED, CXX, INCLUDE, WARNINGS, require, run, write

pytestmark = pytest.mark.extended

BRIDGE = r"""
#include <gflags/gflags.h>
#include <glog/logging.h>
#define PD_HEADER_ONLY
#include <pd_flags/bridge_gflags.hpp>
DEFINE_int32(bridge_level, 3, "A flag with a validator");
static bool positive(const char *, google::int32 value) { return value > 0; }
DEFINE_validator(bridge_level, positive);
DEFINE_string(bridge_mode, "fast", "A flag that gflags has changed");
DEFINE_double(bridge_ratio, 0.1, "A ratio");
DEFINE_uint64(taken, 1, "A name that another flag has");
static bool changed = (FLAGS_bridge_mode = "changed", true);
static std::vector<std::string> errors;
static const size_t bridged = pd::bridge_gflags(&errors);
extern "C" {
const char *first_error() { return changed && errors.size() == 1 ? errors[0].c_str() : ""; }
size_t again() { return pd::bridge_gflags() * 1000 + bridged; }
int verbosity() { return FLAGS_v; }
bool logs() { return VLOG_IS_ON(2); }
bool set_in_gflags(const char *name, const char *value) {
  return !google::SetCommandLineOption(name, value).empty();
}
const char *text_in_gflags(const char *name) {
  static std::string text;
  return google::GetCommandLineOption(name, &text) ? text.c_str() : "?";
}
int level() { return FLAGS_bridge_level; }
void assign(const char *text) { FLAGS_vmodule = text; }
void quiet(const char *text) { LOG(INFO) << text; }
}
"""

USED = """
import ctypes, os, sys
import paddle_flags as pf
pf.define("taken", 7, "The first of this name")
pf.parse(["program", "--v=2", "--minloglevel=1"], allow_pending=True)
pf.load_plugin(sys.argv[1])
bridge = ctypes.CDLL(sys.argv[1])
for name in ("text_in_gflags", "first_error"):
    getattr(bridge, name).restype = ctypes.c_char_p
for name in ("logs", "set_in_gflags"):
    getattr(bridge, name).restype = ctypes.c_bool
def seen(name):
    return bridge.text_in_gflags(name.encode()).decode()
print(bridge.verbosity(), bridge.logs(), pf.FLAGS["v"].source, seen("minloglevel"))
print(os.path.basename(pf.FLAGS["v"].module), "flagfile" in pf.FLAGS, "help" in pf.FLAGS)
pf.FLAGS.v = 0
pf.FLAGS.log_dir = "/tmp/a directory that is too long for a short string"
print(bridge.verbosity(), bridge.logs(), seen("log_dir"))
bridge.set_in_gflags(b"v", b"5")
bridge.assign(b"logging=1,other=2")
print(pf.FLAGS.v, pf.FLAGS["v"].source, pf.FLAGS.vmodule)
try:
    pf.FLAGS.bridge_level = -1
except pf.FlagError as error:
    print(error)
print(bridge.level(), bridge.set_in_gflags(b"bridge_level", b"0"), pf.FLAGS.bridge_level)
pf.FLAGS.bridge_level = 8
print(bridge.level(), seen("bridge_level"), pf.FLAGS["bridge_level"].default)
mode = pf.FLAGS["bridge_mode"]
print(mode.value, mode.default, mode.source, pf.FLAGS.bridge_ratio, seen("bridge_mode"))
with pf.override(bridge_mode="for a while"):
    print(seen("bridge_mode"))
print(seen("bridge_mode"), seen("taken"), pf.FLAGS.taken)
print(bridge.first_error().decode())
again = bridge.again()
print(again // 1000, again % 1000 > 20)
sys.stdout.flush()
pf.FLAGS.logtostderr = True
bridge.quiet(b"hidden by minloglevel")
pf.FLAGS["minloglevel"].reset()
bridge.quiet(b"shown")
"""


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a plugin that links gflags and glog, and nothing of ours."""
    require("libgflags-dev", "gflags/gflags.h")
    require("libgoogle-glog-dev", "glog/logging.h")
    place = tmp_path_factory.mktemp("bridge")
    source = write(place / "bridge.cc", BRIDGE)
    flags = ["-std=c++14", "-O0", "-shared", "-fPIC", *WARNINGS, "-Wno-conversion", *CHECKED]
    compiler = [*CXX, *flags, f"-I{INCLUDE}", source, "-o", place / "libbridge.so"]
    run(*compiler, "-lglog", "-lgflags")
    return place / "libbridge.so"


def test_flags_of_gflags_and_glog_are_flags_here_and_stay_in_step(bridge):
    ended = run(sys.executable, "-c", USED, bridge)
    told = ended.stdout.splitlines()
    assert told[0] == "2 True argv 1"
    assert told[1].startswith("libglog.so")
    assert told[1].endswith(" False False")
    assert told[2] == "0 False /tmp/a directory that is too long for a short string"
    assert told[3] == "5 run time logging=1,other=2"
    assert "bridge_level=-1" in told[4]
    assert told[5] == "3 False 3"
    assert told[6] == "8 8 3"
    assert told[7] == "changed fast run time 0.1 changed"
    assert told[8] == "for a while"
    assert told[9] == "changed 1 7"
    assert all(part in told[10] for part in ("'taken'", "bridge.cc", "already defined"))
    assert told[11] == "0 True"
    assert "hidden" not in ended.stderr
    assert "shown" in ended.stderr
