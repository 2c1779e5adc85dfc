"""Builds that generate flags from YAML: the examples of CMake, make and setuptools."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import CC, CXX, ROOT, package, tool, write

pytestmark = pytest.mark.release  # each test builds a project

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from packages import Home

package("ruamel.yaml")
package("jinja2")

FLAGS = ["direction", "dry", "pause", "rate", "tank", "valves"]
MORE = "".join(
    f"  - {{name: pump_more_{index}, type: bool, default: false, help: One more}}\n"
    for index in range(12)
)
WRONG = ("default: forward", "default: foward", "found 'foward', expected one of forward, backward")


class Project:
    """A copy of an example that builds a plugin, and what its builds do."""

    def __init__(self, home: Home, place: Path, folder: str, *build: object) -> None:
        shutil.copytree(ROOT / "examples" / "gen", place, dirs_exist_ok=True)
        self.home, self.folder = home, place / folder
        self.out = self.folder / "build"
        self.flags = place / "flags.yaml"
        self._text = self.flags.read_text()
        self._build = build

    def build(self, *, check: bool = True) -> str:
        """Build; gives what was printed."""
        ended = self.run(*self._build, check=check)
        return ended.stdout + ended.stderr

    def run(self, *command: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.home.run(*command, cwd=self.folder, check=check)

    def edit(self, before: str = "", after: str = "") -> None:
        """Write the flags as they were, with a change."""
        assert before in self._text
        write(self.flags, self._text.replace(before, after, 1))

    def times(self) -> dict[str, int]:
        """When each file was written, those apart in which a build keeps its books."""
        return {
            str(path.relative_to(self.out)): path.stat().st_mtime_ns
            for path in self.out.rglob("*")
            if path.is_file() and not path.name.startswith(".ninja")
        }

    def changed(self, act: Callable[[], object]) -> set[str]:
        """The files that an action writes."""
        before = self.times()
        act()
        return {name for name, when in self.times().items() if before.get(name) != when}

    def names(self) -> list[str]:
        """What the flags of the plugin are called, without what all begin with."""
        (plugin,) = self.out.glob("libpump.so")
        program = "import sys, paddle_flags as pf\nprint(*pf.load_plugin(sys.argv[1]).flags)"
        words = self.run(self.home.python, "-c", program, plugin).stdout.split()
        return sorted(word[len("pump_") :] for word in words if "_schema_" not in word)


IMPLIED = "implies:\n- {flag: pump_dry, value: true, sets: {pump_rate: 1}}\n"


def objects(names: set[str]) -> list[str]:
    return sorted(Path(name).name for name in names if name.endswith(".o"))


@pytest.fixture(scope="module")
def ninja(home, tmp_path_factory) -> Project:
    """The CMake project, built once."""
    tool("ninja", "ninja-build")
    command = ("ninja", "-C", "build", "-v", "-d", "explain")
    project = Project(home, tmp_path_factory.mktemp("cmake"), "cmake", *command)
    found = project.run(home.python, "-m", "paddle_flags", "config", "--cmakedir").stdout.strip()
    settings = (f"-Dpaddle_flags_DIR={found}", f"-DCMAKE_C_COMPILER={CC[0]}")
    project.run(tool("cmake"), "-G", "Ninja", "-B", "build", *settings)
    project.build()
    return project


def test_a_second_build_by_ninja_writes_nothing_and_compiles_nothing(ninja):
    ninja.edit()
    ninja.build()
    assert ninja.names() == FLAGS
    said = []
    assert ninja.changed(lambda: said.append(ninja.build())) == set()
    assert said[0].splitlines() == ["ninja: Entering directory `build'", "ninja: no work to do."]


def test_a_new_help_text_compiles_one_file(ninja):
    ninja.edit()
    ninja.build()
    ninja.edit("Which way it pumps", "Where to")
    said = []
    changed = ninja.changed(lambda: said.append(ninja.build()))
    assert len(objects(changed)) == 1, said
    assert len(re.findall(r" -c \S+", said[0])) == 1
    sources = [name for name in changed if name.endswith((".c", ".h"))]
    assert [f"{Path(name).name}.o" for name in sources] == objects(changed)
    assert "no work to do" in ninja.build()


def test_flags_that_come_bring_their_sources_along(ninja):
    ninja.edit()
    ninja.build()
    before = set(ninja.times())
    ninja.edit("  - name: pump_dry", f"{MORE}  - name: pump_dry")
    ninja.build()
    assert [name for name in set(ninja.times()) - before if re.search(r"pump_flags_\d+\.c$", name)]
    assert len(ninja.names()) == len(FLAGS) + 12
    assert "no work to do" in ninja.build()


def test_an_error_in_the_flags_ends_the_build_and_leaves_what_was_there(ninja):
    ninja.edit()
    ninja.build()
    ninja.edit(*WRONG[:2])
    said = []
    changed = ninja.changed(lambda: said.append(ninja.build(check=False)))
    assert f"{ninja.flags}:13:14: pump_direction: default: {WRONG[2]}" in said[0]
    assert [name for name in changed if not name.startswith("CMakeFiles/")] == []


def test_a_changed_file_beside_the_flags_is_noticed(ninja):
    ninja.edit()
    ninja.build()
    beside = ninja.flags.with_name("flags_compat.yaml")
    text = beside.read_text()
    beside.write_text(text.replace("pump_speed", "pump_pace"))
    assert objects(ninja.changed(ninja.build)), "the name is in a source"
    beside.write_text(text)


def test_a_file_beside_the_flags_that_goes_takes_its_sources_along(ninja):
    ninja.edit()
    beside = ninja.flags.with_name("flags_compat.yaml")
    text = beside.read_text()
    beside.write_text(text + IMPLIED)
    try:
        ninja.build()
        assert "pump_flags_implies.c" in {Path(name).name for name in ninja.times()}
        beside.unlink()
        ninja.build()
        assert "pump_flags_implies.c" not in {Path(name).name for name in ninja.times()}
        assert ninja.names() == FLAGS
        assert "no work to do" in ninja.build()
    finally:
        beside.write_text(text)


CPP = """
cmake_minimum_required(VERSION 3.13)
project(pump CXX)
find_package(paddle_flags REQUIRED)
add_library(pump MODULE pump.cc)
pd_flags_generate(pump FLAGS ../flags.yaml LANGUAGES cpp python OUTPUT_DIR made SPLIT 3)
get_target_property(files pump PD_FLAGS_FILES)
message(STATUS "files: ${files}")
"""
PUMP = """
#include "pump_flags.hpp"
extern "C" int rate() { return pump::flags::pump_rate(); }
"""


def test_a_project_of_cpp_alone_is_built_by_make_as_well(home, tmp_path):
    project = Project(home, tmp_path, "cpp", tool("cmake"), "--build", "build")
    project.folder.mkdir()
    write(project.folder / "CMakeLists.txt", CPP)
    write(project.folder / "pump.cc", PUMP)
    with open(project.flags.with_name("flags_compat.yaml"), "a") as compat:
        compat.write(IMPLIED)
    found = project.run(home.python, "-m", "paddle_flags", "config", "--cmakedir").stdout.strip()
    settings = (f"-Dpaddle_flags_DIR={found}", f"-DCMAKE_CXX_COMPILER={CXX[0]}")
    make = ("-G", "Unix Makefiles")
    said = project.run("cmake", *make, "-B", "build", *settings, "-DCMAKE_CXX_FLAGS=-O0").stdout
    assert re.search(r"files: \S+/build/made/pump_flags\.h;\S+pump_flags\.pyi\n", said)
    project.build()
    assert project.names() == FLAGS
    assert "Building" not in project.build()
    assert objects(project.changed(project.build)) == []
    project.edit("Which way it pumps", "Where to")
    assert len(objects(project.changed(project.build))) == 1
    (project.out / "made" / "pump_flags.h").unlink()
    assert "pump_flags.h" in {Path(name).name for name in project.changed(project.build)}
    project.flags.with_name("flags_compat.yaml").unlink()
    project.build()
    assert not (project.out / "made" / "pump_flags_implies.c").exists()
    assert project.names() == FLAGS


def test_a_call_that_is_wrong_says_what_was_expected(home, tmp_path):
    write(tmp_path / "CMakeLists.txt", CPP.replace("FLAGS ../flags.yaml", "FILE flags.yaml"))
    write(tmp_path / "pump.cc", PUMP)
    found = home.run(home.python, "-m", "paddle_flags", "config", "--cmakedir", cwd=tmp_path)
    command = (tool("cmake"), "-B", "build", f"-Dpaddle_flags_DIR={found.stdout.strip()}")
    ended = home.run(*command, "-DCMAKE_CXX_COMPILER_WORKS=1", cwd=tmp_path, check=False)
    assert ended.returncode != 0
    assert "expected a target, FLAGS with a file" in ended.stderr


def test_make_generates_compiles_and_then_has_nothing_to_do(home, tmp_path):
    project = Project(home, tmp_path, "make", tool("make"), f"CC={CC[0]}", "CFLAGS=-O0")
    project.build()
    assert project.names() == FLAGS
    said = []
    assert project.changed(lambda: said.append(project.build())) == set()
    assert said == ["make: Nothing to be done for 'all'.\n"]
    project.edit("Which way it pumps", "Where to")
    assert len(objects(project.changed(project.build))) == 1
    project.edit("  - name: pump_dry", f"{MORE}  - name: pump_dry")
    project.build()
    assert len(project.names()) == len(FLAGS) + 12
    project.edit(*WRONG[:2])
    assert project.changed(lambda: said.append(project.build(check=False))) == set()
    assert f"../flags.yaml:13:14: pump_direction: default: {WRONG[2]}" in said[1]
    project.edit()
    project.build()
    assert project.names() == FLAGS


SHORT = """
PYTHON ?= python3
include $(shell $(PYTHON) -m paddle_flags config --makefile)
$(eval $(call pd_flags_generate,../flags.yaml,build/flags,--lang $(LANGUAGES) --templates tp))

libpump.so: pump.o $(flags_OBJECTS)
\t$(CC) -shared $^ -o $@
pump.o: ../pump.c $(flags_HEADERS)
\t$(CC) $(flags_CPPFLAGS) -fPIC -c $< -o $@
"""


@pytest.mark.extended
def test_make_notices_options_templates_and_what_is_gone(home, tmp_path):
    make = (tool("make"), f"CC={CC[0]}", "CFLAGS=-O0 -fPIC", "LANGUAGES=c")
    project = Project(home, tmp_path, "short", *make)
    project.folder.joinpath("tp").mkdir(parents=True)
    write(project.folder / "Makefile", SHORT)
    project.build()
    assert (project.folder / "libpump.so").is_file(), "the user's first target is the goal"
    nothing = "make: 'libpump.so' is up to date.\n"
    assert project.build() == nothing

    def written(act: Callable[[], object]) -> set[str]:
        act()
        names = {Path(name).name for name in project.changed(project.build)}
        assert project.build() == nothing
        return names

    header = project.out / "flags" / "pump_flags.h"
    assert "pump_flags.h" in written(header.unlink)
    template = project.folder / "tp" / "schema.c.j2"
    own = (ROOT / "paddle_flags" / "gen" / "templates" / "schema.c.j2").read_text()
    assert "pump_flags_schema.c" in written(lambda: write(template, f"{own}/* ours */\n"))
    assert "pump_flags_schema.c" in written(lambda: write(template, f"{own}/* mine */\n"))
    assert "pump_flags_schema.c" in written(template.unlink)
    assert "pump_flags.c" in written(project.flags.with_name("flags_compat.yaml").unlink)
    project.run(*make[:-1], "LANGUAGES=c,docs")
    assert (project.out / "flags" / "pump_flags.md").is_file()


# ---- setuptools ----

USE = """
import counter, paddle_flags as pf
print(counter.count(3))
counter.FLAGS.counter_step = 5
print(counter.count(3), pf.FLAGS["counter_step"].help)
"""


@pytest.mark.extended
def test_setuptools_builds_a_package_whose_extension_has_flags_from_yaml(home, tmp_path):
    place = tmp_path / "counter"
    shutil.copytree(ROOT / "examples" / "gen" / "setuptools", place)
    command = ("env", "CFLAGS=-O0", home.python, "setup.py", "-q", "build")
    command += ("--build-lib", "lib", "--build-temp", "temp")
    write(place / "use.py", f"import sys; sys.path.insert(0, 'lib'){USE}")

    def built() -> dict[Path, int]:
        home.run(*command, cwd=place)
        paths = [*(place / "lib").rglob("*"), *(place / "temp").rglob("*")]
        return {path: path.stat().st_mtime_ns for path in paths if path.is_file()}

    first = built()
    assert {"counter_flags.py", "counter_flags.pyi"} <= {path.name for path in first}
    shutil.rmtree(place / "counter")  # what was built is meant
    assert home.run(home.python, "use.py", cwd=place).stdout.splitlines()[0] == "4"
    shutil.copytree(ROOT / "examples" / "gen" / "setuptools" / "counter", place / "counter")
    second = built()
    flags = place / "flags.yaml"
    assert {path.name for path in first if first[path] != second[path]} == set()
    flags.write_text(flags.read_text().replace("How far", "How very far"))
    third = built()
    written = {path.name for path in second if second[path] != third[path]}
    assert "counter_flags.c" in written
    assert "counter_flags.h" not in written
    shutil.rmtree(place / "counter")
    said = home.run(home.python, "use.py", cwd=place).stdout
    assert said == "4\n8 How very far one count goes\n"


@pytest.mark.extended
def test_a_source_distribution_holds_the_yaml_and_a_wheel_what_is_generated(home, tmp_path):
    place = tmp_path / "counter"
    shutil.copytree(ROOT / "examples" / "gen" / "setuptools", place)
    home.run(home.python, "setup.py", "-q", "sdist", "bdist_wheel", cwd=place)
    sdist, wheel = sorted((place / "dist").iterdir(), key=lambda path: path.suffix)
    held = home.run("tar", "-tzf", sdist, cwd=place).stdout
    assert "counter-1.0.0/flags.yaml\n" in held
    assert "counter_flags" not in held
    held = home.run(home.python, "-m", "zipfile", "-l", wheel, cwd=place).stdout
    assert "counter/counter_flags.py " in held
    assert "counter/counter_flags.pyi " in held
    assert "counter/py.typed " in held, "else type checkers don't read the stub"


MISTAKES = {
    "setup.py": (
        'extension="counter._native"',
        'extension="counter._natve"',
        "found 'counter._natve', expected one of counter._native; did you mean 'counter._native'?",
    ),
    "flags.yaml": (
        "default: 1",
        "default: 0",
        "flags.yaml:6:14: counter_step: default: found 0, expected a value in [1, 1000]",
    ),
}


@pytest.mark.parametrize("file", MISTAKES)
def test_setuptools_tells_what_is_wrong_and_where(home, tmp_path, file):
    before, after, expected = MISTAKES[file]
    place = tmp_path / "counter"
    shutil.copytree(ROOT / "examples" / "gen" / "setuptools", place)
    path = place / file
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))
    ended = home.run(home.python, "setup.py", "-q", "build_ext", cwd=place, check=False)
    assert ended.returncode == 1
    assert expected in ended.stderr
    assert "Traceback" not in ended.stderr
