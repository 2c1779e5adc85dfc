"""CMake projects whose find_package(gflags) is led to us."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import CHECKED, LIBDIR, ROOT, run, tool, write

pytestmark = pytest.mark.release  # runs CMake, as test_consumers does

LISTS = """\
cmake_minimum_required(VERSION 3.13)
project(one CXX)
find_package(gflags REQUIRED COMPONENTS nothreads_static)
list(GET GFLAGS_INCLUDE_DIR 0 headers)
if(NOT GFLAGS_FOUND OR NOT EXISTS "${headers}/gflags/gflags.h")
  message(FATAL_ERROR "no variables in capitals")
endif()
add_library(once OBJECT one.cpp)
target_link_libraries(once gflags)
foreach(plain static shared nothreads_static nothreads_shared)
  add_executable(${plain} $<TARGET_OBJECTS:once>)
  target_link_libraries(${plain} gflags::gflags_${plain})
  add_executable(${plain}_2 $<TARGET_OBJECTS:once>)
  target_link_libraries(${plain}_2 gflags_${plain})
endforeach()
add_executable(chosen $<TARGET_OBJECTS:once>)
target_link_libraries(chosen ${GFLAGS_LIBRARIES})
find_package(gflags REQUIRED COMPONENTS ${MORE})
"""
ONE = """\
#include <gflags/gflags.h>
DEFINE_int32(one, 1, "");
int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  return FLAGS_one;
}
"""


def test_cmake_finds_each_target_of_gflags_and_refuses_other_components(tmp_path):
    cmake = tool("cmake")
    write(tmp_path / "CMakeLists.txt", LISTS)
    write(tmp_path / "one.cpp", ONE)
    package = f"-Dgflags_DIR:PATH={Path(LIBDIR, 'cmake', 'paddle_flags')}"
    options = [package, f"-DCMAKE_CXX_FLAGS=-O0 {' '.join(CHECKED)}"]
    configure = [cmake, "-S", tmp_path, "-B", tmp_path / "build", *options]
    refused = run(*configure, "-DMORE=fibers", check=False)
    assert refused.returncode != 0
    told = " ".join(refused.stderr.split())
    assert "no component 'fibers': expected shared, static, nothreads_shared or" in told
    run(*configure, "-DMORE=static")
    targets = ["chosen", "static", "shared", "nothreads_static_2", "nothreads_shared_2"]
    run(cmake, "--build", tmp_path / "build", "--target", *targets)
    for target in targets:
        program = tmp_path / "build" / target
        assert run(program, "--one=7", check=False).returncode == 7
        assert ("libpd_flags.so" in run("ldd", program).stdout) == ("shared" in target)


INSTALLED = """\
cmake_minimum_required(VERSION 3.16)
project(one CXX)
find_package(gflags REQUIRED)
find_library(FOUND NAMES gflags)
add_executable(target one.cpp)
target_link_libraries(target gflags)
add_executable(path one.cpp)
target_include_directories(path PRIVATE ${gflags_INCLUDE_DIR})
target_link_libraries(path ${FOUND})
install(TARGETS target path RUNTIME DESTINATION bin)
"""


def test_an_installed_program_finds_the_library_with_the_option_that_the_docs_name(tmp_path):
    cmake = tool("cmake")
    write(tmp_path / "CMakeLists.txt", INSTALLED)
    write(tmp_path / "one.cpp", ONE)
    build, place = tmp_path / "build", tmp_path / "installed"
    options = [
        f"-Dgflags_DIR:PATH={Path(LIBDIR, 'cmake', 'paddle_flags')}",
        f"-DFOUND={Path(LIBDIR, 'libpd_flags.so')}",
        f"-DCMAKE_CXX_FLAGS=-O0 {' '.join(CHECKED)}",
        f"-DCMAKE_INSTALL_PREFIX={place}",
    ]
    kept = "-DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON"
    assert kept in Path(ROOT, "docs/how-to/migrate-from-gflags.md").read_text()
    run(cmake, "-S", tmp_path, "-B", build, *options, kept)
    run(cmake, "--build", build)
    run(cmake, "--install", build)
    for program in (place / "bin/target", place / "bin/path"):
        assert run(program, "--one=7", check=False).returncode == 7
