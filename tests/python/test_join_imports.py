"""A cell for another module's flag follows it, whichever comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from joining import REGISTRY, Maker, environment, obey, python

if TYPE_CHECKING:
    from pathlib import Path

OWNER = """
#include <pd_flags.h>
PD_DEFINE_int32(shared_threads, 8, "How many", .aliases = "old_threads");
PD_DEFINE_string(shared_name, "owner", "Whose");
int owned(void);
int owned(void) { return FLAGS_shared_threads; }
"""
IMPORTER = """
#include <pd_flags.h>
PD_IMPORT_int32(shared_threads, 1);
PD_IMPORT_string(shared_name, "nobody");
int threads(void);
const char *name(void);
int threads(void) { return FLAGS_shared_threads; }
const char *name(void) { return FLAGS_shared_name; }
"""
BY_ALIAS = IMPORTER.replace("shared_threads", "old_threads")
OF_DOUBLE = """
#include <pd_flags.h>
PD_IMPORT_double(shared_threads, 1.5);
PD_DEFINE_bool(double_here, true, "Whether");
int threads(void);
int threads(void) { return (int)(FLAGS_shared_threads * 2); }
"""
OF_INT64 = """
#include <pd_flags.h>
PD_IMPORT_int64(late_number, -1);
int number(void);
int number(void) { return (int)FLAGS_late_number; }
"""
REGISTER = f"registry {REGISTRY}"


@pytest.fixture(scope="module")
def owner(maker: Maker) -> Path:
    return maker.plugin("owner", OWNER)


@pytest.fixture(scope="module")
def importer(maker: Maker) -> Path:
    return maker.plugin("importer", IMPORTER)


@pytest.mark.parametrize("first", ["owner", "importer", "registry_last"])
def test_an_import_follows_its_flag_whichever_comes_first(
    host: Path, owner: Path, importer: Path, first: str
) -> None:
    owns, imports = f"open local {owner}", f"open local {importer}"
    orders = {
        "owner": [REGISTER, owns, imports],
        "importer": [REGISTER, imports, owns],
        "registry_last": [imports, owns, REGISTER],
    }
    said = obey(
        host,
        *orders[first],
        f"call {importer} threads",
        f"text {importer} name",
        "set shared_threads 3",
        "set shared_name ours",
        f"call {importer} threads",
        f"text {importer} name",
        f"call {owner} owned",
        "cells shared_threads",
    )
    assert said[3:] == ["8", "owner", "ok", "ok", "3", "ours", "3", "2"]


def test_an_import_reads_its_own_value_while_nobody_defines_the_flag(
    host: Path, owner: Path, importer: Path
) -> None:
    read = [f"call {importer} threads", f"text {importer} name"]
    said = obey(
        host,
        REGISTER,
        f"open local {importer}",
        *read,
        f"load {owner}",
        "set shared_threads 5",
        *read,
        f"unload {owner}",
        *read,
        "get shared_threads",
        f"load {owner}",
        *read,
    )
    gone = "PD_ERR_UNDEFINED: no flag is named 'shared_threads'"
    own, bound = ["1", "nobody"], ["5", "owner"]
    assert said == ["ok", "ok", *own, "ok", "ok", *bound, "ok", *own, gone, "ok", *bound]


def test_an_import_may_leave_before_its_flag(host: Path, owner: Path, importer: Path) -> None:
    said = obey(
        host,
        REGISTER,
        f"load {importer}",
        f"load {owner}",
        f"unload {importer}",
        "set shared_threads 5",
        f"call {owner} owned",
        "cells shared_threads",
        f"load {importer}",
        f"call {importer} threads",
    )
    assert said == ["ok", "ok", "ok", "ok", "ok", "5", "1", "ok", "5"]


def test_an_import_by_an_alias_follows_the_flag(maker: Maker, host: Path, owner: Path) -> None:
    plugin = maker.plugin("alias", BY_ALIAS)
    for order in ([plugin, owner], [owner, plugin]):
        loads = [f"load {path}" for path in order]
        said = obey(host, REGISTER, *loads, "set shared_threads 4", f"call {plugin} threads")
        assert said == ["ok", "ok", "ok", "ok", "4"]
    leaves = [f"load {plugin}", f"load {owner}", f"unload {owner}", f"call {plugin} threads"]
    assert obey(host, REGISTER, *leaves)[-1] == "1"


def test_a_flag_that_is_defined_at_run_time_is_imported(maker: Maker, host: Path) -> None:
    plugin = maker.plugin("number", OF_INT64)
    call = f"call {plugin} number"
    after = obey(host, REGISTER, f"load {plugin}", call, "define late_number 7", call)
    assert after == ["ok", "ok", "-1", "ok", "7"]
    uses = [f"load {plugin}", call, "set late_number 70", call]
    assert obey(host, REGISTER, "define late-number 7", *uses) == [
        "ok",
        "ok",
        "ok",
        "7",
        "ok",
        "70",
    ]


def test_a_flag_that_python_defines_is_imported(maker: Maker) -> None:
    plugin = maker.plugin("number", OF_INT64)
    script = """
import ctypes, sys
import paddle_flags as pf
number = pf.define("late_number", 7, "A number")
pf.load_plugin(sys.argv[1])
native = ctypes.CDLL(sys.argv[1])
print(native.number())
pf.FLAGS.late_number = 70
print(native.number())
"""
    assert python(script, plugin) == ["7", "70"]


def test_a_value_from_the_environment_reaches_the_import(
    host: Path, owner: Path, importer: Path
) -> None:
    env = environment(FLAGS_shared_threads="12")
    loads = [f"load {importer}", f"call {importer} threads", f"load {owner}"]
    said = obey(host, REGISTER, "env FLAGS_", *loads, f"call {importer} threads", env=env)
    assert said == ["ok", "ok", "ok", "1", "ok", "12"]


def test_an_import_of_the_wrong_type_is_refused_with_both_places(
    maker: Maker, host: Path, owner: Path
) -> None:
    plugin = maker.plugin("double", OF_DOUBLE)
    said = obey(
        host,
        REGISTER,
        f"load {owner}",
        f"load {plugin}",
        f"mapped {plugin}",
        "get double_here",
        "set shared_threads 4",
        f"call {owner} owned",
    )
    assert said[2].startswith("PD_ERR_TYPE: 'shared_threads' is int32 at ")
    places = f"owner.c:3 in {owner}"[-100:], f"double.c:3 in {plugin}"[-100:]
    assert all(place in said[2] for place in places), said[2]
    undefined = "PD_ERR_UNDEFINED: no flag is named 'double_here'"
    assert said[3:] == ["no", undefined, "ok", "4"]


def test_a_flag_of_another_type_than_a_waiting_import_is_refused_each_time(
    maker: Maker, host: Path, owner: Path
) -> None:
    plugin = maker.plugin("double", OF_DOUBLE)
    said = obey(
        host,
        REGISTER,
        f"load {plugin}",
        f"load {owner}",
        f"load {owner}",
        f"mapped {owner}",
        "get shared_threads",
        f"call {plugin} threads",
        f"unload {plugin}",
        f"load {owner}",
        f"call {owner} owned",
    )
    assert said[2].startswith("PD_ERR_TYPE: 'shared_threads' is already imported, as double at ")
    assert "; expected double, refused: int32 at " in said[2]
    places = f"owner.c:3 in {owner}"[-100:], f"double.c:3 in {plugin}"[-100:]
    assert all(place in said[2] for place in places), said[2]
    undefined = "PD_ERR_UNDEFINED: no flag is named 'shared_threads'"
    assert said[3:] == [said[2], "no", undefined, "3", "ok", "ok", "8"]


def test_an_alias_that_is_imported_with_another_type_is_refused_too(
    maker: Maker, host: Path, owner: Path
) -> None:
    plugin = maker.plugin("old", OF_DOUBLE.replace("shared_threads", "old_threads"))
    said = obey(host, REGISTER, f"load {plugin}", f"load {owner}", "get shared_name")
    assert said[2].startswith("PD_ERR_TYPE: 'old_threads' is already imported, as double at ")
    assert said[3] == "PD_ERR_UNDEFINED: no flag is named 'shared_name'"


def test_a_definition_at_run_time_is_refused_alike_each_time(maker: Maker, host: Path) -> None:
    source = OF_DOUBLE.replace("shared_threads", "late_number")
    plugin = maker.plugin("late", source)
    define = "define late_number 7"
    said = obey(host, REGISTER, f"load {plugin}", define, define, f"call {plugin} threads")
    assert said[2].startswith("PD_ERR_TYPE: 'late_number' is already imported, as double at ")
    assert said[2].endswith("; expected double, refused: int64")
    assert said[3:] == [said[2], "3"]
    late = obey(host, REGISTER, f"load {plugin}", f"unload {plugin}", define, "get late_number")
    assert late[2:] == ["ok", "ok", "7"]
