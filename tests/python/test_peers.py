"""The seed of the project, in the matrix of other flag libraries: one shape, theirs and ours."""

from __future__ import annotations

import sys

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "tests" / "matrix" / "peers"))

from libraries import LIBRARIES
from peers import Builder, Case, Outcome, run_case

pytestmark = pytest.mark.release

# The plugins have the shared library; values are given when they are loaded.
SEED = Case(
    host="static, -rdynamic",
    a="shared library",
    b="shared library",
    mode="local",
    order="ab",
    doubled=False,
    when="after",
    unload=False,
)


def end_of(library: str, case: Case, directory) -> Outcome:
    builder = Builder(LIBRARIES[library](directory), directory)
    return run_case(*builder.command(case))


def test_gflags_dies_of_flagfile_when_a_static_host_loads_a_plugin_with_the_shared_one(tmp_path):
    verdict, text = end_of("gflags", SEED, tmp_path)
    assert verdict == "dies"
    assert "something wrong with flag 'flagfile' in file 'gflags.cc'" in text
    assert "linked both statically and dynamically" in text


def test_gflags_splits_in_silence_when_that_host_exports_nothing(tmp_path):
    case = SEED._replace(host="static copy")
    assert end_of("gflags", case, tmp_path) == ("splits", "a's level: 1, expected 3")


@pytest.mark.parametrize("host", ["static, -rdynamic", "static copy"])
def test_ours_has_one_registry_in_the_same_two_hosts(host, tmp_path):
    assert end_of("paddle_flags", SEED._replace(host=host), tmp_path) == ("survives", "")


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_survives_where_all_share_one(library, tmp_path):
    case = SEED._replace(host="shared library")
    assert end_of(library, case, tmp_path) == ("survives", "")


@pytest.mark.parametrize(("library", "verdict"), [("gflags", "dies"), ("paddle_flags", "survives")])
def test_a_source_in_two_plugins_kills_gflags_and_not_ours(library, verdict, tmp_path):
    case = SEED._replace(host="shared library", doubled=True)
    assert end_of(library, case, tmp_path).verdict == verdict
