"""python -m paddle_flags doctor: flags that are in several registries, and variables of none."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support import CXX, INCLUDE, LIBDIR, package, require, run, tool, write

package("lief")

pytestmark = pytest.mark.extended  # builds much

REAL = (
    '#include <gflags/gflags.h>\nDEFINE_int32(doc_v, 1, "V");\nDEFINE_string(doc_dir, "", "D");\n'
)
OURS = 'PD_DEFINE_int32(doc_v, 1, "V");\nPD_DEFINE_string(doc_dir, "", "");\n'
COMPAT = f"-I{INCLUDE}/compat"


def report(*words: object, **variables: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "paddle_flags", "doctor", "--json", *words]
    ended = run(*command, check=False, env={**os.environ, **variables})
    found: dict[str, Any] = json.loads(ended.stdout)
    assert ended.returncode == (1 if found["problems"] else 0)
    return found


def shared(out: Path, text: str, *flags: str) -> Path:
    """Build a library from C++ text without our warnings: real headers have their own."""
    code = write(out.with_suffix(".cc"), text)
    run(*CXX, "-std=c++17", "-shared", "-fPIC", f"-I{INCLUDE}", code, "-o", out, *flags)
    return out


@pytest.fixture
def gflags_library(tmp_path: Path) -> Path:
    require("libgflags-dev", "gflags/gflags.h")
    return shared(tmp_path / "libreal.so", REAL, "-lgflags")


# -- our own headers --------------------------------------------------------


SOURCES = {
    "gflags": REAL
    + "int get(int *c, char ***v) { return gflags::ParseCommandLineFlags(c, v, 1); }",
    "c10": '#include <c10/util/Flags.h>\nC10_DEFINE_int(doc_v, 1, "V");\n'
    "bool get(int *c, char ***v) { return c10::C10FlagsRegistry()->Has(**v)"
    " && c10::ParseCommandLineFlags(c, v); }",
    "Paddle": '#include <paddle/common/flags.h>\nPD_DEFINE_int32(doc_v, 1, "V");\n'
    "void get(int *c, char ***v) { paddle::flags::ParseCommandLineFlags(c, v); }",
}


@pytest.mark.parametrize("library", SOURCES)
@pytest.mark.parametrize("kind", [pytest.param("program", marks=pytest.mark.release), "plugin"])
def test_a_program_built_with_our_headers_has_no_copy_of_the_library(library, kind, tmp_path):
    source = SOURCES[library]
    flags = (COMPAT, f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags")
    if kind == "program":
        main = "\nint main(int argc, char **argv) { get(&argc, &argv); }\n"
        code = write(tmp_path / "program.cc", source + main)
        path = tmp_path / "program"
        run(*CXX, "-std=c++17", "-rdynamic", f"-I{INCLUDE}", *flags[:1], code, "-o", path, *flags)
    else:
        path = shared(tmp_path / "libours.so", source, *flags)
    found = report(path)
    (file,) = found["files"]
    assert (file["joins"], file["others"]) == (True, {})
    assert "doc_v" in file["flags"]
    assert [each for each in found["other_libraries"] if each["path"] == str(path)] == []
    assert found["problems"] == []


def test_a_library_of_windows_built_with_our_headers_has_no_copy(tmp_path):
    code = write(tmp_path / "ours.cc", SOURCES["c10"])
    compiler = (tool("x86_64-w64-mingw32-g++"), "-std=c++17", "-shared", "-DPD_HEADER_ONLY")
    path = tmp_path / "ours.dll"
    run(*compiler, f"-I{INCLUDE}", COMPAT, code, "-o", path)
    (file,) = report(path)["files"]
    assert (file["format"], file["joins"], file["others"]) == ("PE", True, {})


_OTHERWISE = [
    pytest.param((option,), marks=pytest.mark.release)
    for option in ("-rdynamic", "-fvisibility=hidden")
]


@pytest.mark.parametrize("flags", [(), *_OTHERWISE], ids=str)
def test_a_program_with_gflags_inside_has_a_copy(flags, tmp_path):
    require("libgflags-dev", "gflags/gflags.h")
    main = "int main(int c, char **v) { gflags::ParseCommandLineFlags(&c, &v, true); }\n"
    code = write(tmp_path / "program.cc", REAL + main)
    path = tmp_path / "program"
    run(*CXX, "-no-pie", code, "-o", path, *flags, "-l:libgflags.a", "-lpthread")
    assert report(path)["files"][0]["others"] == {"gflags": "copy"}


# -- flags in two registries ------------------------------------------------


def test_flags_that_gflags_has_too_are_named(gflags_library, plugin):
    ours = plugin(OURS + 'PD_DEFINE_int32(doc_alone, 1, "");\n')
    found = report(ours, gflags_library)
    expected = [
        f"flag '{name}' is in two registries: paddle_flags ({ours}) and gflags ({gflags_library})"
        for name in ("doc_dir", "doc_v")
    ]
    assert found["problems"] == expected
    assert found["several_registries"][0] == {
        "name": "doc_dir",
        "registries": {"paddle_flags": [str(ours)], "gflags": [str(gflags_library)]},
    }
    assert report("-p", ours, gflags_library)["problems"] == expected
    assert report("-p", ours, "-p", gflags_library)["problems"][-2:] == expected


def test_flags_of_glog_are_in_the_report(plugin, tmp_path):
    require("libgoogle-glog-dev", "glog/logging.h")
    ours = plugin('PD_DEFINE_int32(v, 0, "");\nPD_DEFINE_int32(minloglevel, 0, "");\n')
    text = '#include <glog/logging.h>\nvoid say() { LOG(INFO) << "said"; }\n'
    logs = shared(tmp_path / "liblogs.so", text, "-lglog")
    code = f"import ctypes; ctypes.CDLL({str(logs)!r})\n"
    code += "import paddle_flags as pf; from paddle_flags._doctor.examine import examine\n"
    code += f"pf.load_plugin({str(ours)!r}); print(*examine([])['problems'], sep='\\n')"
    lines = run(sys.executable, "-c", code).stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "flag 'minloglevel' is in two registries",
        "flag 'v' is in two registries",
    ]
    assert all("libglog.so" in line for line in lines)


def test_flags_that_abseil_has_too_are_named(plugin, tmp_path):
    require("libabsl-dev", "absl/flags/flag.h")
    text = '#include <absl/flags/flag.h>\nABSL_FLAG(int, doc_v, 1, "V");\n'
    text += 'ABSL_FLAG(std::string, doc_dir, "", "D");\nint FLAGS_doc_alone = 1;\n'
    theirs = shared(tmp_path / "libtheirs.so", text, "-labsl_flags_internal")
    ours = plugin(OURS + 'PD_DEFINE_int32(doc_alone, 1, "");\n')
    assert report(ours, theirs)["problems"] == [
        f"flag '{name}' is in two registries: paddle_flags ({ours}) and abseil ({theirs})"
        for name in ("doc_dir", "doc_v")
    ]


def test_flags_that_the_bridge_brought_over_are_in_one_registry(tmp_path):
    require("libgflags-dev", "gflags/gflags.h")
    bridge = "#define PD_HEADER_ONLY\n#include <pd_flags/bridge_gflags.hpp>\n"
    bridge += "static const size_t bridged = pd::bridge_gflags();\n"
    path = shared(tmp_path / "libbridge.so", REAL + bridge, "-lgflags")
    found = report("-p", path)
    assert [p for p in found["problems"] if "registries" in p] == []
    assert [flag for flag in found["shared_flags"] if "doc_v" in flag["name"]] == []


def test_one_file_may_have_a_flag_in_both_registries(tmp_path):
    require("libgflags-dev", "gflags/gflags.h")
    text = "#include <pd_flags.h>\n" + OURS
    ours = write(tmp_path / "ours.c", text)
    run("cc", "-c", "-fPIC", f"-I{INCLUDE}", ours, "-o", tmp_path / "ours.o")
    path = shared(tmp_path / "libboth.so", REAL, "-lgflags", str(tmp_path / "ours.o"))
    (problem,) = report(path)["problems"]
    assert problem == (
        f"flag 'doc_v' is in two registries: paddle_flags ({path}) and gflags ({path})"
    )


# -- the environment --------------------------------------------------------


def test_variables_that_name_no_flag_are_problems_with_the_nearest_name(plugin):
    path = plugin('PD_DEFINE_int32(workers, 1, "");\nPD_DEFINE_bool(use_cache, true, "");\n')
    variables = {"DOC_workers": "2", "DOC_wokers": "3", "DOC_USE_CACH": "0", "DOC_zzz": "1"}
    expected = [
        "environment: DOC_USE_CACH: no flag has this name; did you mean 'DOC_USE_CACHE'?",
        "environment: DOC_wokers: no flag has this name; did you mean 'DOC_workers'?",
        "environment: DOC_zzz: no flag has this name",
    ]
    for words in (("-p", path), (path,)):
        found = report("--env-prefix", "DOC_", *words, **variables)
        assert found["problems"] == expected
    assert report("-p", path, **variables)["problems"] == []


def test_variables_in_capitals_and_those_of_built_in_names_are_no_problems(plugin):
    path = plugin('PD_DEFINE_int32(workers, 1, "");\n')
    variables = {"DOC_WORKERS": "2", "DOC_": "", "DOC_flagfile": "", "DOC_UNDEFOK": ""}
    assert report("--env-prefix=DOC_", "-p", path, **variables)["problems"] == []
    (problem,) = report("--env-prefix=DOC_", "-p", path, DOC_Workers="2")["problems"]
    assert problem.startswith("environment: DOC_Workers: no flag has this name")


def test_the_flags_of_a_plugin_that_is_refused_have_their_variables(plugin):
    path = plugin('PD_DEFINE_int32(doc_clash, 1, "");\n', "doc_one")
    other = plugin(
        'PD_DEFINE_int32(doc_clash, 2, "");\nPD_DEFINE_int32(doc_more, 2, "");', "doc_two"
    )
    found = report("--env-prefix=DOC_", "-p", path, "-p", other, DOC_doc_more="3")
    assert [p for p in found["problems"] if p.startswith("environment")] == []
