"""The values of a fleet: how they are checked and applied."""

from __future__ import annotations

import json

import pytest
from fleet_config import IMPORT, FleetValue, apply_values, check_values

import paddle_flags as pf

LATE = "can be set at startup only, and the command line has been parsed"
URL = "dir:///mnt/job42"


@pytest.fixture(autouse=True)
def _leave():
    yield
    apply_values([])


def give(**values: object) -> list[FleetValue]:
    return [FleetValue(name, value, URL, 12) for name, value in values.items()]  # type: ignore[arg-type]


def test_a_fleet_gives_values_with_its_address_and_revision(name):
    flag = pf.define(name, 1)
    apply_values([FleetValue(name, "5", URL, 12)])
    assert (flag.value, flag.source, flag.place) == (5, "fleet", f"{URL} revision 12")
    apply_values([FleetValue(name, 6, URL, 13)])
    assert flag.history[0] == (6, "fleet", f"{URL} revision 13", False)
    assert len(flag.history) == 2
    apply_values([])
    assert (flag.value, flag.source) == (1, "default")


@pytest.mark.parametrize(
    ("default", "value", "expected"),
    [
        (False, True, True),
        (0.5, 1e-7, 1e-7),
        (0.5, 3, 3.0),
        (0.5, float("inf"), float("inf")),
        ("a", "b c", "b c"),
        (["a"], ["b", "c,d", ""], ("b", "c,d", "")),
        (["a"], [""], ("",)),
        (["a"], [], ()),
        ([1], [2, 3], (2, 3)),
        ([1], "2,3", (2, 3)),
        (1, "7", 7),
    ],
)
def test_values_are_typed_as_json_has_them_or_text(name, default, value, expected):
    flag = pf.define(name, default)
    apply_values(give(**{name: value}))
    assert flag.value == expected


@pytest.mark.parametrize(
    ("default", "value", "message"),
    [
        ("a", 1.1, "=1.1: expected text; write it in quotes"),
        (1, True, "=true: expected a 64-bit integer"),
        (1, [1], "=1: expected one value, not a list"),
        (["a"], [1], "=1: expected items of text; write them in quotes"),
    ],
)
def test_a_value_of_another_type_is_refused(name, default, value, message):
    flag = pf.define(name, default)
    (error,) = check_values(give(**{name: value}))
    assert str(error) == f"{URL} revision 12: {name}{message}"
    with pytest.raises(type(error), match=f"{name}="):
        apply_values(give(**{name: value}))
    assert flag.source == "default"


@pytest.mark.parametrize("value", [None, {"a": 1}, [None], b"x"])
def test_what_json_has_but_no_flag_is_refused(name, value):
    pf.define(name, "x")
    with pytest.raises(pf.FlagTypeError, match=f"^{name}: .*expected text, a number, true"):
        apply_values(give(**{name: value}))


def test_a_check_names_every_error_and_changes_nothing(name):
    low, even = pf.define(f"{name}_low", 1, max=9), pf.define(f"{name}_even", 2)
    even.validate(lambda value: value % 2 == 0, "expected an even number")
    apply_values(give(**{low.name: 3}))
    refused = check_values(give(**{low.name: 10, even.name: "x"}))
    assert [type(error) for error in refused] == [pf.FlagValueError, pf.FlagValueError]
    (error,) = check_values(give(**{even.name: 3}))
    assert str(error) == f"{URL} revision 12: {even.name}=3: expected an even number"
    assert check_values(give(**{even.name: 4})) == []
    assert (low.value, even.value) == (3, 2)


def test_what_raises_in_a_validator_refuses_and_is_the_cause(name):
    flag = pf.define(name, 1)

    def fail(_: int) -> bool:
        raise ZeroDivisionError

    hook = flag.validate(fail)
    with pytest.raises(pf.FlagValueError) as refused:
        apply_values(give(**{name: 2}))
    hook.remove()
    assert isinstance(refused.value.__cause__, ZeroDivisionError)


def test_all_values_are_applied_or_none(name):
    one, two = pf.define(f"{name}_1", 1), pf.define(f"{name}_2", 2, max=9)
    with pytest.raises(pf.FlagValueError) as refused:
        apply_values(give(**{one.name: 5, two.name: 10}))
    assert len(refused.value.errors) == 1
    assert (one.value, two.value) == (1, 2)


def test_run_time_stands_above_the_fleet_and_files_below(name):
    flag = pf.define(name, 1)
    apply_values(give(**{name: 5}))
    flag.value = 6
    apply_values(give(**{name: 7}))
    assert flag.value == 6
    del flag.value
    assert flag.value == 7
    pf.parse(["prog", f"--{name}=8"], exit=False)
    assert flag.value == 7
    states = [line.split(maxsplit=1)[1] for line in pf.explain(name).splitlines()[-3:]]
    assert states[0].split(maxsplit=3) == ["in", "effect", "fleet", f"{URL} revision 12"]
    assert states[1].startswith("hidden by the fleet")


def test_a_value_of_the_fleet_is_saved_and_described_like_another(name):
    pf.define(name, 1)
    apply_values(give(**{name: 5}))
    assert f"--{name}=5" in pf.dump("argv")
    (found,) = (f for f in json.loads(pf.describe("json"))["flags"] if f["name"] == name)
    assert (found["source"], found["place"]) == ("fleet", f"{URL} revision 12")


def test_a_value_waits_for_its_definition(name):
    assert check_values(give(**{name: 5})) == []
    apply_values(give(**{name: 5}))
    assert pf.define(name, 1).history[0][:2] == (5, "fleet")


def test_watchers_see_a_change_once(name):
    flag = pf.define(name, 1)
    seen: list[int] = []
    flag.watch(lambda now: seen.append(now.value))
    apply_values(give(**{name: 5}))
    apply_values(give(**{name: 5}))
    apply_values([])
    assert seen == [5, 1]


STARTUP = f"""{IMPORT}
from paddle_flags.extend import lib

pf.define("threads", 1, startup_only=True)
apply_values([FleetValue("threads", 4, "dir:///x", 1)])
print(lib.pd_startup_over())
pf.parse(["prog", "--threads=2"])
print(lib.pd_startup_over(), pf.FLAGS.threads)
for value in 4, 5:
    print(*check_values([FleetValue("threads", value, "dir:///x", 2)]))
"""


def test_startup_ends_with_the_command_line(python):
    assert python(STARTUP).stdout.splitlines() == [
        "False",
        "True 4",
        "",
        f"dir:///x revision 2: threads: {LATE}",
    ]
