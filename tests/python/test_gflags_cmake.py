"""CMake projects whose find_package(gflags) is led to us."""

from __future__ import annotations

from pathlib import Path

from support import CHECKED, LIBDIR, run, tool, write

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
