"""Ours in one process with gflags and glog, abseil's flags and LLVM's: all keep to themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from joining import python
from support import ROOT, build, build_plugin, require, run

sys.path.insert(0, str(ROOT / "tests" / "matrix" / "peers"))

from libraries import LIBRARIES
from peers import Builder

pytestmark = pytest.mark.extended

C = ROOT / "tests" / "c"
PEERS = ROOT / "tests" / "matrix" / "peers"
VERBOSITY = C / "verbosity.c"

# A Python host: theirs are plugins with flags of the same names as ours.
HOST = """
import ctypes, sys
order, ours, *theirs = sys.argv[1:]

def load_ours():
    global pf, library
    import paddle_flags as pf
    library = ctypes.CDLL(pf.load_plugin(ours).path)

def load_theirs():
    global others
    others = [ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for path in theirs]

for load in (load_ours, load_theirs) if order == "ours" else (load_theirs, load_ours):
    load()
*parsers, glog = others

def look():
    print(*(other.a_own_level() for other in parsers), glog.a_verbosity(), end=" | ")
    print(pf.FLAGS.a_level, library.a_own_level(), pf.FLAGS.v, library.a_verbosity())

look()
pf.parse(["host", "--a_level=5", "--v=6"], exit=False)
look()
for number, other in enumerate(parsers):
    words = (ctypes.c_char_p * 3)(b"host", b"--a_level=%d" % (10 + number), None)
    assert other.a_parse(2, words, ctypes.create_string_buffer(1020)) == 0
look()
assert glog.a_set(b"v", b"7", None) == 0
look()
pf.FLAGS.update(a_level=8, v=9)
look()
"""

SEEN = """\
1 1 1 0 | 1 1 0 0
1 1 1 0 | 5 5 6 6
10 11 12 0 | 5 5 6 6
10 11 12 7 | 5 5 6 6
10 11 12 7 | 8 8 9 9
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory) -> list[Path]:
    """A plugin with each of the other libraries; glog's user is the last."""
    place = tmp_path_factory.mktemp("theirs")
    paths = []
    for name in ("gflags", "abseil", "llvm"):
        builder = Builder(LIBRARIES[name](place), place / name)
        paths.append(builder.plugin("a", "shared library", doubled=False))
    require("libgoogle-glog-dev", "glog/logging.h")
    glog = ["-lglog", "-lgflags"]
    run("g++", "-shared", "-fPIC", PEERS / "glog.cc", *glog, "-o", place / "libglog_user.so")
    return [*paths, place / "libglog_user.so"]


@pytest.fixture(autouse=True)
def _logs(monkeypatch, tmp_path):
    """Let glog write what it logs into the test's directory."""
    monkeypatch.setenv("GOOGLE_LOG_DIR", str(tmp_path))


@pytest.mark.release  # builds copies of the library
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_a_python_host_and_its_plugins_keep_to_themselves(first, theirs, tmp_path):
    plugin = ROOT / "tests" / "matrix" / "plugin.c"
    flags = ("-DX=a", "-DIS_A=1", "-DHAS_COMMON=0", "-DCOPY=0", "-Wno-strict-prototypes")
    ours = build_plugin(tmp_path / "libours.so", plugin, VERBOSITY, flags=flags)
    assert python(HOST, first, ours, *theirs) == SEEN.splitlines()


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("join", ["shared library", "static copy"])
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_a_c_host_and_its_plugins_keep_to_themselves(first, join, mode, theirs, tmp_path):
    builder = Builder(LIBRARIES["paddle_flags"](tmp_path), tmp_path)
    ours = builder.plugin("a", join, doubled=False, further=[VERBOSITY])
    host = build(tmp_path / "host", C / "coexist_host.c", flags=("-Wno-pedantic", "-ldl"))
    members = [ours, *theirs] if first == "ours" else [*theirs, ours]
    assert run(host, mode, *members).stdout == "apart\n"
