"""Real sources that use gflags, built on compat/gflags/gflags.h as they are.

They come from Debian's source packages when the tests run. glog is built without Debian's
patches: one of them breaks glog's own logging_unittest, with gflags as with ours.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from gflags_source import fetch, fetch_part
from support import CHECKED, CXX, INCLUDE, LIBDIR, require, run

pytestmark = pytest.mark.release

PACKAGE_DIR = Path(LIBDIR, "cmake", "paddle_flags")
BARE = ["WITH_GTEST", "WITH_UNWIND", "WITH_PKGCONFIG", "BUILD_SHARED_LIBS"]
# Those that flags do most in; all others pass as well.
TESTS = ["logging", "signalhandler", "cleanup_immediately"]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build glog and some of its tests, with find_package(gflags) led to us."""
    require("cmake", program="cmake")
    place = tmp_path_factory.mktemp("glog")
    fetch(place, "google-glog")
    (description,) = place.glob("*-source/*.dsc")
    tree = place / "tree"
    run("dpkg-source", "--skip-patches", "-x", description, tree)
    options = [f"-D{name}=OFF" for name in BARE]
    options += [f"-Dgflags_DIR:PATH={PACKAGE_DIR}", "-DCMAKE_BUILD_TYPE=None"]
    options += [f"-DCMAKE_CXX_FLAGS=-O0 {' '.join(CHECKED)}"]
    run("cmake", "-S", tree, "-B", place / "build", *options)
    targets = [f"{name}_unittest" for name in TESTS]
    run("cmake", "--build", place / "build", "--parallel", "2", "--target", *targets)
    return place / "build"


def test_glog_and_its_tests_run_on_our_header(build, tmp_path):
    linked = run("ldd", build / "logging_unittest").stdout
    assert "libpd_flags.so" in linked
    assert "libgflags" not in linked
    chosen = "|".join([*TESTS, "cleanup_init", "cleanup_logdir"])
    place = {**os.environ, "TMPDIR": str(tmp_path)}  # of the logs that the tests write
    told = run("ctest", "-R", f"^({chosen})$", cwd=build, env=place).stdout
    # The time that a line takes is checked in `logging`; glog takes a slow machine for a skip.
    assert "100% tests passed, 0 tests failed out of 5" in told
    assert re.search(r"cleanup_immediately \.+ +Passed", told)


def test_flags_of_glog_are_read_and_listed(build):
    program = build / "cleanup_immediately_unittest"
    ended = run(program, "--helpon=logging", check=False)
    assert ended.returncode == 1
    assert re.search(r"-minloglevel \(.*\n?.*type: int32\s+default: 0", ended.stdout)
    wrong = run(program, "--minloglevel=low", check=False)
    assert wrong.returncode == 1
    assert wrong.stderr == "ERROR: illegal value 'low' specified for int32 flag 'minloglevel'\n"


# ---- Two programs of RocksDB, whose library brings a real gflags ----

DUMP = b"ROCKDUMP\0\0\0\0\0\0\0\1\2\0\0\0{}\3\0\0\0key\5\0\0\0value\5\0\0\0other\0\0\0\0"


@pytest.fixture(scope="module")
def rocksdb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the programs that write and read dumps of a database; their directory."""
    require("librocksdb-dev", "rocksdb/db_dump_tool.h")
    place = tmp_path_factory.mktemp("rocksdb")
    tree = fetch_part(place, "rocksdb", "tools/dump", "include", "util")
    for name in ("rocksdb_dump", "rocksdb_undump"):
        source = tree / "tools" / "dump" / f"{name}.cc"
        flags = ["-std=c++17", "-O0", "-DGFLAGS=1", f"-I{INCLUDE}/compat", f"-I{INCLUDE}"]
        headers = [f"-I{tree}", f"-I{tree / 'include'}"]
        link = [f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags", "-lrocksdb"]
        run(*CXX, *CHECKED, *flags, *headers, source, "-o", place / name, *link)
    return place


def test_programs_of_rocksdb_run_beside_the_gflags_of_their_library(rocksdb, tmp_path):
    dump, again, database = tmp_path / "dump", tmp_path / "again", tmp_path / "db"
    dump.write_bytes(DUMP)
    words = [f"--db_path={database}", "--dump_location"]
    run(rocksdb / "rocksdb_undump", *words, dump, "--compact")
    run(rocksdb / "rocksdb_dump", "-anonymous", *words, again)
    assert again.read_bytes() == DUMP
    assert "libgflags" in run("ldd", rocksdb / "rocksdb_dump").stdout
    wrong = run(rocksdb / "rocksdb_dump", "--anonymous=perhaps", "--who", check=False)
    assert wrong.returncode == 1
    assert wrong.stderr == (
        "ERROR: illegal value 'perhaps' specified for bool flag 'anonymous'\n"
        "ERROR: unknown command line flag 'who'\n"
    )
