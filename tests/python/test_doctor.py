"""python -m paddle_flags doctor: what it finds in a process and in files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import CC, INCLUDE, LIBDIR, build_plugin, package, run, tool, write

package("lief")

pytestmark = pytest.mark.extended  # each test loads LIEF

LEVEL = 'PD_DEFINE_int32(doc_level, 6, "Level");\n'
GFLAGS = 'int marker(void) __asm__("_ZN6google21ParseCommandLineFlagsEPiPPPcb");\n'


def doctor(*words: object) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "paddle_flags", "doctor", *words, check=False)


def report(*words: object) -> dict[str, Any]:
    ended = doctor("--json", *words)
    found: dict[str, Any] = json.loads(ended.stdout)
    assert ended.returncode == (1 if found["problems"] else 0)
    return found


@pytest.fixture
def static_copy(tmp_path: Path) -> Path:
    """A plugin with a copy of the library inside."""
    text = "#include <pd_flags.h>\n" + LEVEL + "const char *v(void);\n"
    code = write(tmp_path / "copy.c", text + "const char *v(void) { return pd_version(); }\n")
    library = str(Path(LIBDIR, "libpd_flags.a"))
    return build_plugin(tmp_path / "libcopy.so", code, flags=(library, "-ldl"))


def test_a_process_without_plugins_is_well():
    ended = doctor()
    assert ended.returncode == 0
    assert ended.stdout.endswith("\n\nno problems\n")
    assert report()["modules"] == []


def test_modules_and_copies_of_the_registry_are_listed(plugin, static_copy):
    path = plugin('PD_DEFINE_int32(doc_other, 6, "Other");\n')
    found = report("-p", path, "-p", static_copy)
    assert [(m["path"], m["flags"], m["joins"]) for m in found["modules"]] == [
        (str(path), 1, "header"),
        (str(static_copy), 1, "static copy"),
    ]
    assert {(Path(c["path"]).name, c["hosting"]) for c in found["copies"]} == {
        ("libpd_flags.so", True),
        ("libcopy.so", False),
    }
    assert found["problems"] == []


def test_a_plugin_that_links_the_shared_library_is_told(tmp_path):
    text = "#include <pd_flags.h>\n" + LEVEL + "const char *(*keep)(void) = pd_version;\n"
    code = write(tmp_path / "linked.c", text)
    flags = (f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-l:libpd_flags.so")
    path = build_plugin(tmp_path / "liblinked.so", code, flags=flags)
    (module,) = report("-p", path)["modules"]
    assert module["joins"] == "shared library"


def test_a_flag_with_several_variables_names_their_modules(plugin):
    paths = [plugin(LEVEL, "doc_one"), plugin("PD_IMPORT_int32(doc_level, 1);\n", "doc_two")]
    (flag,) = report("-p", paths[0], "-p", paths[1])["shared_flags"]
    assert flag["name"] == "doc_level"
    cells = {(cell["module"], cell["kind"], cell["in_step"]) for cell in flag["cells"]}
    assert cells == {(str(paths[0]), "definition", True), (str(paths[1]), "import", True)}


def test_a_variable_that_somebody_overwrote_is_a_problem(plugin):
    source = LEVEL + 'extern int cell __asm__("pd_flag_cell_int32_doc_level");\n'
    source += "__attribute__((constructor)) static void spoil(void) { cell = 12345; }\n"
    path = plugin(source)
    (problem,) = report("-p", path)["problems"]
    what = "was overwritten: it doesn't hold the value of the flag"
    assert problem == f"doc_level: the variable in {path} {what}"


def test_what_loading_refuses_and_what_nobody_claims_are_problems(plugin):
    paths = [plugin(LEVEL, "doc_one"), plugin(LEVEL.replace("6", "7"), "doc_two")]
    words = ["-p", paths[0], "-p", paths[1], "-p", "none.so", "--doc_levle=3"]
    conflict, missing, unclaimed = report(*words)["problems"]
    assert conflict.startswith("'doc_level' is already defined")
    assert missing.startswith("none.so: no such file; looked in ")
    assert unclaimed == "--doc_levle: the flag is not defined; did you mean 'doc_level'?"


def test_a_file_tells_how_it_joins(plugin, static_copy):
    path = plugin(LEVEL + 'PD_DEFINE_bool(doc_bool, false, "");\n')
    library = Path(LIBDIR, "libpd_flags.so")
    found = {Path(file["path"]).name: file for file in report(path, static_copy, library)["files"]}
    assert found[path.name]["joins"]
    assert found[path.name]["definitions"] == 2
    assert not found[path.name]["copy"]
    assert found["libcopy.so"]["joins"]
    assert found["libcopy.so"]["copy"]
    assert found["libpd_flags.so"]["copy"]
    assert not found["libpd_flags.so"]["joins"]


@pytest.mark.extended
def test_a_file_of_windows_tells_how_it_joins(tmp_path):
    code = write(tmp_path / "alpha.c", "#include <pd_flags.h>\n" + LEVEL)
    path = tmp_path / "alpha.dll"
    run(tool("x86_64-w64-mingw32-gcc"), "-shared", f"-I{INCLUDE}", code, "-o", path)
    (file,) = report(path)["files"]
    assert (file["format"], file["joins"], file["copy"]) == ("PE", True, False)


def test_two_copies_of_another_flag_library_are_a_problem(tmp_path):
    paths = []
    for name in ("one", "two"):
        code = write(tmp_path / f"{name}.c", GFLAGS + "int marker(void) { return 0; }\n")
        paths.append(tmp_path / f"lib{name}.so")
        run(*CC, "-shared", "-fPIC", code, "-o", paths[-1])
    user = tmp_path / "libuser.so"
    code = write(tmp_path / "user.c", GFLAGS + "int (*use)(void) = marker;\n")
    run(*CC, "-shared", "-fPIC", code, "-o", user)
    assert report(paths[0], user)["problems"] == []
    found = report(*paths, user)
    assert [(Path(o["path"]).name, o["has"]) for o in found["other_libraries"]] == [
        ("libone.so", "copy"),
        ("libtwo.so", "copy"),
        ("libuser.so", "user"),
    ]
    (problem,) = found["problems"]
    assert problem == (
        f"gflags is in {paths[0]}, {paths[1]}: a process with two copies ends,"
        " or has two sets of flags"
    )


def test_the_text_says_the_same(plugin):
    path = plugin(LEVEL)
    ended = doctor("-p", path, "--doc_lvl=3", path)
    assert ended.returncode == 1
    for text in (
        f"  {path}  header only             1",
        "libpd_flags.so  0.1.0    host",
        "joins the registry  flags\n",
    ):
        assert text in ended.stdout
    assert "problems:\n  --doc_lvl: the flag is not defined" in ended.stdout


def test_the_text_says_why_a_file_does_not_join(tmp_path):
    code = write(tmp_path / "plain.c", "int plain(void) { return 1; }\n")
    run(*CC, "-shared", "-fPIC", code, "-o", tmp_path / "libplain.so")
    shown = doctor(tmp_path / "libplain.so", Path(LIBDIR, "libpd_flags.so")).stdout
    assert "  ELF     no, because it defines no flags with pd_flags.h" in shown
    assert "  ELF     no, but it can host the registry" in shown


def test_a_file_that_is_no_library_is_a_problem(tmp_path):
    text = write(tmp_path / "text", "no library\n")
    assert report(text, "none")["problems"] == [
        f"{text}: expected a library or program in ELF, PE or Mach-O",
        "none: no such file",
    ]
