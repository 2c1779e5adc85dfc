"""python -m paddle_flags doctor: flags of other libraries, and whether they are flags here."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from support import CXX, INCLUDE, package, require, run, write

from paddle_flags._doctor.bridges import BUILT_IN

package("lief")

pytestmark = pytest.mark.extended

GFLAGS = (
    '#include <gflags/gflags.h>\nDEFINE_int32(doc_v, 1, "V");\nDEFINE_string(doc_dir, "", "D");\n'
)
ABSEIL = '#include <absl/flags/flag.h>\n#include <string>\nABSL_FLAG(int, doc_v, 1, "V");\n'
ABSEIL += 'ABSL_FLAG(std::string, doc_dir, "", "D");\n'
# Without flags of its own, it only has what abseil's headers bring.
ABSEIL_PARTS = "reflection internal marshalling commandlineflag config private_handle_accessor"
CPP_BRIDGE = """
#define PD_HEADER_ONLY
#include <pd_flags/bridge_gflags.hpp>
static const size_t bridged = pd::bridge_gflags();
"""
LIBRARIES = ("gflags", "abseil")


def shared(out: Path, text: str, *flags: str) -> Path:
    code = write(out.with_suffix(".cc"), text)
    run(*CXX, "-std=c++17", "-shared", "-fPIC", f"-I{INCLUDE}", code, "-o", out, *flags)
    return out


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build a library with two flags of each library."""
    require("libgflags-dev", "gflags/gflags.h")
    require("libabsl-dev", "absl/flags/flag.h")
    place = tmp_path_factory.mktemp("theirs")
    parts = [f"-labsl_flags_{part}" for part in ABSEIL_PARTS.split()]
    return {
        "gflags": shared(place / "libg.so", GFLAGS, "-lgflags"),
        "abseil": shared(place / "liba.so", ABSEIL, *parts, "-labsl_strings"),
    }


def examined(script: str, *arguments: object) -> tuple[dict[str, Any], list[str]]:
    """Run a program; return what the doctor says at its end, and the lines about bridges."""
    head = "import ctypes, json, sys\nimport paddle_flags as pf\n"
    head += "from paddle_flags._doctor.examine import examine\n"
    head += "from paddle_flags._doctor.text import format_report_lines\n"
    tail = "\nfound = examine([])\nprint(json.dumps([found, format_report_lines(found)]))"
    ended = run(sys.executable, "-c", head + script + tail, *arguments)
    found, lines = json.loads(ended.stdout.splitlines()[-1])
    title = "flags of other libraries in this process:"
    if title not in lines:
        return found, []
    at = lines.index(title) + 1
    return found, [line.strip() for line in lines[at : lines.index("", at)]]


def doctor(*words: object) -> dict[str, Any]:
    ended = run(sys.executable, "-m", "paddle_flags", "doctor", "--json", *words, check=False)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


# -- a process --------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
def test_flags_that_are_not_bridged_are_counted_with_the_call_for_it(library, theirs):
    found, lines = examined("ctypes.CDLL(sys.argv[1])", theirs[library])
    call = f'pf.bridge("{library}")'
    assert lines == [f"{library}: 2 flags, not bridged: {call} makes them flags here"]
    (report,) = found["foreign_flags"]
    assert (report["library"], report["bridge"]) == (library, call)
    assert (report["not_bridged"], report["bridged"]) == (["doc_dir", "doc_v"], [])
    assert found["problems"] == []


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("call", ["pf.bridge({!r})", "pf.bridge()"])
def test_bridged_flags_are_in_one_registry(library, call, theirs):
    script = "ctypes.CDLL(sys.argv[1])\n" + call.format(library)
    found, lines = examined(script, theirs[library])
    assert lines == [f"{library}: 2 flags, all bridged"]
    (report,) = [each for each in found["foreign_flags"] if each["library"] == library]
    assert report["bridged"] == ["doc_dir", "doc_v"]
    assert (report["not_bridged"], report["unlisted"], report["left_out"]) == ([], [], {})
    assert found["problems"] == []
    assert found["several_registries"] == []


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_flag_that_is_left_out_has_its_reason_and_the_way_to_another_name(library, theirs):
    script = f"ctypes.CDLL(sys.argv[1])\npf.define('doc_v', 5, 'V')\npf.bridge({library!r})"
    found, (line,) = examined(script, theirs[library])
    assert line.startswith(f"{library}: 1 of 2 flags bridged; left out: doc_v ('doc_v' is already")
    assert line.endswith(
        f'; pf.bridge("{library}", namespace="{library}") takes them with other names'
    )
    assert list(found["foreign_flags"][0]["left_out"]) == ["doc_v"]
    (problem,) = found["problems"]
    assert problem.startswith("flag 'doc_v' is in two registries: paddle_flags (run time) and")

    script += f"\npf.bridge({library!r}, namespace='theirs')"
    found, lines = examined(script, theirs[library])
    assert lines == [f"{library}: 2 flags, all bridged"]
    assert found["foreign_flags"][0]["bridged"] == ["doc_dir", "theirs.doc_v"]
    assert found["problems"] == []


def test_a_bridge_of_cpp_in_a_plugin_is_known_to_the_doctor(theirs, tmp_path):
    plugin = shared(
        tmp_path / "libbridge.so", GFLAGS.replace("doc", "own") + CPP_BRIDGE, "-lgflags"
    )
    found = doctor("-p", theirs["gflags"], "-p", plugin)
    (report,) = found["foreign_flags"]
    assert report["bridged"] == ["doc_dir", "doc_v", "own_dir", "own_v"]
    assert (report["not_bridged"], found["problems"]) == ([], [])
    (report,) = doctor("-p", plugin, "-p", theirs["gflags"])["foreign_flags"]
    assert (report["bridged"], report["not_bridged"]) == (
        ["own_dir", "own_v"],
        ["doc_dir", "doc_v"],
    )


def test_flags_of_absl_py_are_in_the_report():
    package("absl")
    script = "from absl import flags\nflags.DEFINE_integer('doc_p', 6, 'P')\n"
    found, (line,) = examined(script)
    assert "doc_p" in found["foreign_flags"][0]["not_bridged"]
    assert line == 'absl-py: 1 flag, not bridged: pf.bridge("absl-py") makes it a flag here'
    for call in ("pf.bridge('absl-py')", "pf.bridge(flags.FLAGS)"):
        found, (line,) = examined(script + call)
        assert "doc_p" in found["foreign_flags"][0]["bridged"]
        assert "bridged" in line
        assert "not bridged" not in line


def test_a_process_without_other_libraries_has_no_such_report():
    found, lines = examined("pf.define('doc_v', 1, 'V')")
    assert (found["foreign_flags"], lines) == ([], [])


# What a library has that was linked with a static gflags, and exports nothing of it.
HIDDEN = """
namespace gflags {
namespace {
struct FlagRegistry { int count(); };
__attribute__((noinline)) int FlagRegistry::count() { return 1; }
}
int count() { return FlagRegistry().count(); }
}
namespace fLI { __attribute__((visibility("hidden"))) int FLAGS_doc_v = 1; }
"""


def test_flags_of_a_copy_that_is_not_exported_are_out_of_reach(tmp_path):
    path = shared(tmp_path / "libhidden.so", HIDDEN)
    for script in ("ctypes.CDLL(sys.argv[1])", "ctypes.CDLL(sys.argv[1])\npf.bridge()"):
        found, lines = examined(script, path)
        (line,) = lines
        assert line == (
            f"gflags: 1 flag in {path}, not bridged, since the file does not export its copy of"
            " the library: its sources can include pd_flags/bridge_gflags.hpp"
        )
        assert found["foreign_flags"][0]["hidden"] == {str(path): ["doc_v"]}


# -- files ------------------------------------------------------------------


def test_files_of_debian_have_their_flags_and_the_call(theirs):
    place = Path("/usr/lib", run("gcc", "-print-multiarch").stdout.strip())
    require("libgoogle-glog-dev", "glog/logging.h")
    found = doctor(place / "libgflags.so", place / "libglog.so", theirs["abseil"])
    rows = {Path(each["path"]).name: each for each in found["other_libraries"]}
    assert rows["libgflags.so"]["has"] == "copy"
    assert set(rows["libgflags.so"]["flags"]) == BUILT_IN
    assert rows["libglog.so"]["has"] == "user"
    assert {"v", "minloglevel", "log_dir"} <= set(rows["libglog.so"]["flags"])
    assert rows["liba.so"]["flags"] == ["doc_dir", "doc_v"]
    calls = {name: each["bridge"] for name, each in rows.items()}
    gflags = 'pf.bridge("gflags")'
    assert calls == {
        "libgflags.so": gflags,
        "libglog.so": gflags,
        "liba.so": 'pf.bridge("abseil")',
    }
    assert found["problems"] == []
    ended = run(sys.executable, "-m", "paddle_flags", "doctor", place / "libglog.so")
    (row,) = [line for line in ended.stdout.splitlines() if line.startswith("  gflags ")]
    assert row.split()[-2:] == [str(len(rows["libglog.so"]["flags"])), gflags]


def test_a_copy_that_is_not_exported_needs_the_header_in_its_own_sources(tmp_path):
    require("libgflags-dev", "gflags/gflags.h")
    main = "int main(int c, char **v) { gflags::ParseCommandLineFlags(&c, &v, true); }\n"
    code = write(tmp_path / "program.cc", GFLAGS + main)
    cures = []
    for flags in ([], ["-rdynamic"]):
        path = tmp_path / "program"
        run(*CXX, "-no-pie", code, "-o", path, *flags, "-l:libgflags.a", "-lpthread")
        (row,) = doctor(path)["other_libraries"]
        assert row["has"] == "copy"
        assert {"doc_v", "doc_dir"} <= set(row["flags"])
        cures.append(row["bridge"])
    assert cures == ["pd_flags/bridge_gflags.hpp", 'pf.bridge("gflags")']


def test_the_flags_that_libraries_bring_along_are_those_that_bridges_skip():
    text = Path(INCLUDE, "pd_flags", "gflags_word_map.h").read_text("utf-8")
    assert set(re.findall(r"X\([A-Z]+, (\w+),", text)) == BUILT_IN


# -- other reports ----------------------------------------------------------


def test_explain_and_describe_name_the_library_that_a_flag_is_shared_with(theirs):
    script = """
import ctypes, json, sys
import paddle_flags as pf
ctypes.CDLL(sys.argv[1])
own = pf.define("own", 1, "ours")
before = json.loads(pf.describe("json"))
pf.bridge()
rows = json.loads(pf.describe("json", full=True))["flags"]
shared = {row["name"]: row.get("shared_with") for row in rows}
print(json.dumps([before, shared, pf.explain("doc_v"), pf.explain("own")]))
"""
    ended = run(sys.executable, "-c", script, theirs["gflags"])
    before, found, theirs_text, own_text = json.loads(ended.stdout)
    assert "shared_with" not in before["flags"][0]
    assert found == {"own": None, "doc_v": "gflags", "doc_dir": "gflags"}
    assert "\n  shared with: gflags\n" in theirs_text
    assert "shared with" not in own_text


def test_a_flag_that_a_bridge_of_cpp_has_taken_is_shared_once_python_bridges(tmp_path):
    require("libgflags-dev", "gflags/gflags.h")
    plugin = shared(
        tmp_path / "libbridge.so", GFLAGS.replace("doc", "own") + CPP_BRIDGE, "-lgflags"
    )
    script = "import sys, paddle_flags as pf\npf.load_plugin(sys.argv[1])\n"
    script += "print(pf.bridge())\nprint(pf.explain('own_v'))"
    lines = run(sys.executable, "-c", script, plugin).stdout.splitlines()
    assert lines[0] == "{}"
    assert "  shared with: gflags" in lines
