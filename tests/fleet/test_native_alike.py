"""What others see of a member in C, and of one in Python that has done the same, is alike."""

from __future__ import annotations

import contextlib
import sys
from random import Random

import pytest
from members import SOON, Failed, eventually
from native import checked_host

from paddle_flags.fleet import AbortedError, Change

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(sys.platform != "linux", reason="the module works on Linux"),
]


def test_documents_of_c_and_python_are_alike(fleet, native, process):
    fleet.set({"level": 7, "odd": 3, "later": "é"})
    fleet.set({"lr": 0.25}, role="trainer")
    one = native().begin(name="one", role="trainer", rank=0, key="k")
    two = process()
    two.join(name="two", role="trainer", rank=1, key="k")
    two.do(PYTHON_FLAGS)
    one.do("set port 81")
    fleet.set({"level": 8}, wait=SOON)
    eventually(lambda: len({d["digest"] for d in fleet.members().values()}), 1)
    first, second = (fleet.members()[name] for name in ("one", "two"))
    different = ("name", "rank", "pid", "started", "time")
    assert first.keys() == second.keys()
    for key in first.keys() - set(different):
        assert first[key] == second[key], key
    assert fleet.diff() == []


PYTHON_FLAGS = """
lr = pf.define("lr", 0.1, "Learning rate", runtime=True)
level = pf.define("level", 1, "Level", runtime=True, min=0, max=100, type="int32")
odd = pf.define("odd", 1, "Odd", runtime=True, type="int32")
odd.validate(lambda value: value % 2 == 1, "expected an odd number")
name = pf.define("name", "none", "Needs a restart")
port = pf.define("port", 80, "Port", per_process=True, runtime=True, type="int32")
token = pf.define("token", "none", "Secret", sensitive=True, runtime=True)
"""


def change_at_random(fleet, random, both):
    """Let an operator do something, or the programs."""
    values = {
        "level": ["3", "50", "101", "x"],
        "odd": ["1", "2", "3"],
        "lr": ["0.5", "nan", "?"],
        "name": ["a", "b"],
        "later": ["1"],
        "port": ["1", "2"],
    }
    names = random.sample(sorted(values), random.randint(1, 3))
    on = [random.choice(["all", "all", "role:trainer", "role:other"]) for _ in names]
    batch = [
        Change(name, random.choice([None, *values[name]]), each) for name, each in zip(names, on)
    ]
    what = random.randint(0, 9)
    if what == 0 and fleet.revision > 1:
        fleet.reset(random.randint(1, fleet.revision))
    elif what == 1:
        fleet.change(batch, duration=random.choice([0.05, 1000]))
    elif what == 2:
        step = both.step + random.randint(0, 3)
        with contextlib.suppress(AbortedError):
            fleet.change(batch, at_step=step, wait=SOON)
    elif what == 3:
        with contextlib.suppress(AbortedError):
            fleet.change(batch, all_or_none=True, dry_run=random.random() < 0.3, wait=SOON)
    elif what == 4:
        both.tick()
    elif what == 5:
        both.set_level(random.randint(1, 9))
    else:
        fleet.change(batch)


class Both:
    """A C program and a Python program with the same flags, which do the same."""

    def __init__(self, native, python) -> None:
        self.native, self.python = native, python
        self.step = 0
        self.tick()

    def tick(self) -> None:
        self.step += 1
        assert self.native.do(f"tick {self.step}") == "ok"
        self.python.do(f"pf.fleet.tick({self.step})")

    def set_level(self, level: int) -> None:
        assert self.native.do(f"set level {level}") == "ok"
        self.python.do(f"level.value = {level}")


SAME = (
    "answers",
    "votes",
    "wanted",
    "digest",
    "selected",
    "sensitive",
    "revision",
    "fleet",
    "step",
)


def said_alike(fleet):
    """Return what a C and a Python member say differently, once both have read everything."""
    found = [fleet.members()[name] for name in ("one", "two")]
    if any(each["revision"] != fleet.revision for each in found):
        return "not yet"
    return {k: [each[k] for each in found] for k in SAME if found[0][k] != found[1][k]}


@pytest.mark.parametrize("seed", range(3))
def test_of_random_changes_c_and_python_make_the_same(fleet, native, process, seed):
    random = Random(seed)
    one, two = native(checked_host()), process()
    two.do(PYTHON_FLAGS)
    one.begin(name="one", role="trainer", rank=0)
    two.join(name="two", role="trainer", rank=1)
    both = Both(one, two)
    for _ in range(25):
        change_at_random(fleet, random, both)
        eventually(lambda: said_alike(fleet), {})
    assert one.end() == ""


def test_diff_names_what_a_c_program_has_differently(fleet, native, process):
    native().begin(name="one").do("set odd 7")
    two = process()
    two.join(name="two")
    two.do(PYTHON_FLAGS)
    fleet.set({"level": 3}, wait=SOON)
    eventually(lambda: [each.name for each in fleet.diff()], ["odd"])
    [difference] = fleet.diff()
    assert [(h.value, h.source, h.members) for h in difference.holders] == [
        ("7", "run time", ("one",)),
        ("the default", "default", ("two",)),
    ]


@pytest.mark.parametrize("differ", [False, True])
def test_check_is_one_barrier_for_c_and_python(native, process, differ):
    one, three = native(X_A="1").begin(name="one"), native(X_A="1").begin(name="three")
    two = process(X_A="2" if differ else "1")
    two.join(name="two")
    two.do(PYTHON_FLAGS)
    if differ:
        three.do("set odd 7")
    one.send("check 3 60 X_*")
    three.send("check 3 60 X_*")
    code = "pf.fleet.check(expect=3, environment=['X_*'])"
    if not differ:
        two.do(code)
        assert (one.receive(), three.receive()) == ("ok", "ok")
        return
    with pytest.raises(Failed) as raised:
        two.do(code)
    for text in (str(raised.value), one.receive(), three.receive()):
        assert "odd: '1' from default in one, two; '7' from run time in three" in text
        assert "$X_A: '1' in one, three; '2' in two" in text


def test_check_that_times_out_names_who_is_missing(native):
    one = native().begin(name="one")
    native().begin(name="two")
    assert "1 of 3 members are here after 0.5 s: two" in one.do("check 3 0.5")
