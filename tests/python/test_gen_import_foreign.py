"""gen import plugin: flags of other libraries are not the plugin's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import CXX, INCLUDE, package, require, run, write

package("ruamel.yaml")
package("jinja2")
pytestmark = pytest.mark.release  # compiles other libraries

GFLAGS = (
    '#include <gflags/gflags.h>\nDEFINE_int32(doc_v, 1, "V");\nDEFINE_string(doc_dir, "", "D");\n'
)
OURS = '#include <pd_flags.h>\nPD_DEFINE_int32(doc_own, 1, "Own");\n'
BRIDGE = "#include <pd_flags/bridge_gflags.hpp>\nstatic const size_t n = pd::bridge_gflags();\n"
HEADER_ONLY = "#define PD_HEADER_ONLY\n"


def imported(tmp_path: Path, text: str) -> tuple[int, str, list[str], Path]:
    """Build and import a plugin; give the exit status, the YAML and what is reported."""
    require("libgflags-dev", "gflags/gflags.h")
    path = tmp_path / "libtheirs.so"
    code = write(tmp_path / "theirs.cc", text)
    flags = ("-std=c++17", "-shared", "-fPIC", f"-I{INCLUDE}")
    run(*CXX, *flags, code, "-o", path, "-lgflags")
    out = tmp_path / "flags.yaml"
    command = (sys.executable, "-m", "paddle_flags", "gen", "import", "plugin", path, "-o", out)
    ended = run(*command, check=False)
    return ended.returncode, out.read_text("utf-8"), ended.stderr.splitlines(), path


def test_a_library_with_flags_of_another_registry_says_which_and_what_to_do(tmp_path):
    status, text, lines, path = imported(tmp_path, GFLAGS)
    (line,) = lines
    assert line == (
        f"{path}:1:1: found 2 flags of gflags (doc_dir, doc_v), expected flags of paddle_flags:"
        ' pf.bridge("gflags") makes them flags here; they are left out'
    )
    assert status == 1
    assert "flags: []" in text


def test_flags_of_both_are_told_apart(tmp_path):
    status, text, lines, path = imported(tmp_path, HEADER_ONLY + GFLAGS + OURS)
    assert [line.partition(" (")[0] for line in lines] == [f"{path}:1:1: found 2 flags of gflags"]
    assert status == 1
    assert "doc_own" in text
    assert "doc_v" not in text


def test_bridged_flags_are_left_out_with_a_note_of_their_registry(tmp_path):
    status, text, lines, path = imported(tmp_path, HEADER_ONLY + GFLAGS + OURS + BRIDGE)
    (line,) = lines
    assert line == (
        f"note: {path}: 2 flags of gflags (doc_dir, doc_v): the registry has them by a bridge;"
        " they are left out"
    )
    assert status == 0
    assert "doc_own" in text
    assert "doc_v" not in text
    lines = imported(tmp_path / "alone", HEADER_ONLY + GFLAGS + BRIDGE)[2]
    assert [line.partition(": ")[0] for line in lines] == ["note"]


def test_flags_of_libraries_that_the_plugin_needs_are_in_the_note_once_bridged(tmp_path):
    require("libgoogle-glog-dev", "glog/logging.h")
    code = write(tmp_path / "logs.cc", "#include <glog/logging.h>\nvoid say() { LOG(INFO); }\n")
    logs = tmp_path / "liblogs.so"
    run(*CXX, "-std=c++17", "-shared", "-fPIC", code, "-o", logs, "-lglog")
    main = write(tmp_path / "main.cc", HEADER_ONLY + "#include <gflags/gflags.h>\n" + OURS + BRIDGE)
    path = tmp_path / "libmain.so"
    flags = (f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-Wl,--no-as-needed", "-llogs", "-lgflags")
    run(*CXX, "-std=c++17", "-shared", "-fPIC", f"-I{INCLUDE}", main, "-o", path, *flags)
    out = tmp_path / "flags.yaml"
    ended = run(sys.executable, "-m", "paddle_flags", "gen", "import", "plugin", path, "-o", out)
    (line,) = ended.stderr.splitlines()
    assert "libglog.so" in line
    assert "minloglevel" in line
    assert "minloglevel" not in out.read_text("utf-8")


def test_a_plugin_with_our_own_header_of_gflags_has_no_flags_of_others(tmp_path):
    path = tmp_path / "libours.so"
    code = write(tmp_path / "ours.cc", HEADER_ONLY + GFLAGS)
    flags = ("-std=c++17", "-shared", "-fPIC", f"-I{INCLUDE}/compat", f"-I{INCLUDE}")
    run(*CXX, *flags, code, "-o", path)
    out = tmp_path / "flags.yaml"
    command = (sys.executable, "-m", "paddle_flags", "gen", "import", "plugin", path, "-o", out)
    ended = run(*command, check=False)
    assert "gflags" not in ended.stderr
    assert "doc_v" in out.read_text("utf-8")
