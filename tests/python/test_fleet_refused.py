"""Values of a fleet that a flag can't take: the process starts without them, and says so."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from fleet_config import IMPORT, FleetValue, apply_values

import paddle_flags as pf
from paddle_flags._native import lib

URL = "dir:///mnt/job42"
AND = "; the fleet's values of revision 12 are dropped"


@pytest.fixture(autouse=True)
def _leave():
    yield
    apply_values([])


def give(revision: int = 12, **values: object) -> None:
    apply_values(FleetValue(name, value, URL, revision) for name, value in values.items())  # type: ignore[arg-type]


def dropped(text: str = ""):
    """Expect one warning, about a value of revision 12."""
    return pytest.warns(pf.FlagWarning, match=f"{re.escape(text)}.*{re.escape(AND)}$")


def count() -> int:
    return lib.pd_config_count_dropped(lib.PD_SOURCE_FLEET)


def test_a_value_out_of_range_leaves_the_default_and_warns_at_the_definition(name):
    before = count()
    give(**{name: 10})
    with dropped(f"{URL} revision 12: {name}=10: expected an integer <= 9") as seen:
        flag = pf.define(name, 1, max=9)
    assert (flag.value, flag.source, count() - before) == (1, "default", 1)
    assert [each.filename for each in seen] == [__file__]


def test_a_value_of_another_type_leaves_that_of_the_command_line(name):
    give(**{name: "many"})
    pf.parse(["prog", f"--{name}=5"], allow_pending=True, exit=False)
    with dropped(f"{name}=many"):
        flag = pf.define(name, 1)
    assert (flag.value, flag.source) == (5, "argv")


def test_the_revision_is_dropped_as_a_whole(name):
    mate, other = pf.define(f"{name}_mate", 1), pf.define(f"{name}_other", 1)
    values = [(mate.name, 5, 12), (other.name, 6, 13), (f"{name}_bad", 10, 12)]
    apply_values(FleetValue(one, value, URL, revision) for one, value, revision in values)
    seen: list[int] = []
    mate.watch(lambda now: seen.append(now.value))
    with dropped():
        pf.define(f"{name}_bad", 1, max=9)
    assert (mate.value, mate.source, other.value, seen) == (1, "default", 6, [1])


def test_what_a_validator_rejects_that_is_added_to_a_flag_is_dropped_at_once(name):
    give(**{name: 3})
    flag = pf.define(name, 2)
    hook = flag.validate(lambda value: value % 2 == 0, "expected an even number")
    assert flag.value == 2
    with dropped(f"{name}=3: expected an even number"):
        pf.define(f"{name}_next", 1)  # hooks warn with the next call
    hook.remove()


def test_a_validator_that_raises_is_no_cause_of_later_errors(name):
    give(**{name: 3})
    flag = pf.define(name, 0)
    flag.validate(lambda value: 6 // (value - 3) < 6)
    with dropped("ZeroDivisionError"):
        others = [pf.define(f"{name}_{i}", "") for i in range(2)]
    rule = pf.add_group(*others, rule="at_most_one")
    others[0].value = "a"
    with pytest.raises(pf.FlagValueError) as refused:
        others[1].value = "b"
    assert refused.value.__cause__ is None
    rule.remove()


def test_what_a_type_of_text_does_not_take_is_dropped(name):
    give(**{name: "soon"})
    with dropped(f"{name}=soon"):
        flag = pf.define(name, 7, type=pf.Type(parse=int, expected="a number"))
    assert flag.value == 7


def test_what_a_type_of_numbers_does_not_take_is_dropped(name):
    give(**{name: float("inf")})
    with dropped(f"{name}=inf"):
        flag = pf.define(name, timedelta(seconds=1))
    assert flag.value == timedelta(seconds=1)


ORDERED = "low must be below high"
SEVERAL = f"""{IMPORT}
import warnings
warnings.simplefilter("ignore")
apply_values([FleetValue("low", 9, "dir:///x", 12)])
low, high = pf.define("low", 1), pf.define("high", 3)
pf.validator("low", "high", message="{ORDERED}")(lambda a, b: a < b)
print(low.value)
try:
    pf.parse(sys.argv, exit=False)
except pf.FlagError as error:
    print(error)
print(low.value, high.value)
"""


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["--high=10"], "9\n9 10\n"),
        ([], "9\n1 3\n"),
        (["--low=2"], "9\n2 3\n"),
        (
            ["--high=0"],
            f"9\n--low=1 (default), --high=0 (argv[1]): {ORDERED} (validator <lambda>)\n9 3\n",
        ),
    ],
)
def test_a_validator_of_several_flags_decides_when_the_command_line_is_known(
    python, arguments, printed
):
    assert python(SEVERAL, *arguments).stdout == printed


def test_a_plugin_that_comes_late_is_loaded_without_the_value(name, plugin):
    give(**{f"{name}_level": 10, f"{name}_size": 5, name: 3})
    flag = pf.define(name, 1)
    source = (
        f'PD_DEFINE_int32({name}_level, 6, "", .max = 9);\nPD_DEFINE_int32({name}_size, 1, "");'
    )
    with dropped(f"{name}_level=10"):
        loaded = pf.load_plugin(plugin(source))
    assert ([pf.FLAGS[each].value for each in sorted(loaded.flags)], flag.value) == ([6, 1], 1)
    loaded.unload()


def test_what_a_flag_kept_is_dropped_if_its_new_definition_refuses_it(name):
    pf.define(name, 1)
    give(**{name: 10})
    with dropped():
        flag = pf.define(name, 1, max=9, replace=True)
    assert (flag.value, flag.source) == (1, "default")


def test_a_validator_after_a_new_definition_drops_it_too(name):
    pf.define(name, 2)
    give(**{name: 3})
    flag = pf.define(name, 4, replace=True)
    assert flag.value == 3
    with dropped():
        flag.validate(lambda value: value % 2 == 0)
    assert flag.value == 4
