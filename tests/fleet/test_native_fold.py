"""Python's fold and that of libpd_flags_fleet.so say the same of every log: of the vectors in
`vectors/`, which any implementation can read, and of random logs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native import fold
from test_state import LOGS

from paddle_flags.fleet import FleetError
from paddle_flags.fleet._follow import _decode
from paddle_flags.fleet._record import PROPOSE, encode
from paddle_flags.fleet._state import Selected, State, from_json, to_json, values_of

VECTORS = sorted((Path(__file__).parent / "vectors").glob("*.json"))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the module works on Linux")


# ---- Python's answer ----


def state_of(log: dict[str, Any]) -> State | None:
    state = State()
    if log.get("base") is not None:
        try:
            state = from_json(log["base"].encode(), "base")
        except FleetError:
            return None
    for text in log["records"]:
        record = _decode(text.encode(), state.revision + 1)
        verdict = log["decisions"].get(str(state.revision + 1))
        state = state.with_record(record, verdict if record.kind == PROPOSE else None)
    for revision, verdict in log.get("later", []):
        state = state.with_decision(revision, verdict)
    return state


def in_python(log: dict[str, Any]) -> Any:
    """Return what a log says, as JSON."""
    state = state_of(log)
    if state is None:
        return {"refused": True}

    def holds(entry):
        waits = entry.at_step is not None and entry.at_step > log.get("step", -1)
        ended = entry.duration is not None and entry.revision in log.get("ended", [])
        return not waits and not ended

    member = Selected(log["name"], log.get("role"), log["host"])
    said = {
        "revision": state.revision,
        "fleet": state.fleet,
        "tables": state.tables,
        "open": [step.revision for step in state.open_proposals()],
        "values": values_of(state.tables, member, holds),
    }
    return json.loads(json.dumps(said))


# ---- C's answer ----


class Folder:
    """The test program, which answers one line after the other."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [fold()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, log: dict[str, Any]) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(log) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            _, errors = self.process.communicate()
            pytest.fail(f"{log}\n{errors}")
        return json.loads(line)


@pytest.fixture(scope="module")
def in_c():
    folder = Folder()
    yield folder.ask
    errors = folder.process.communicate()[1]
    assert folder.process.returncode == 0, errors


# ---- Vectors ----


def full(case: dict[str, Any]) -> dict[str, Any]:
    """Return the log of a vector as both programs read it: records as text."""
    asked = {"name": "m", "role": "x", "host": "h", "decisions": {}, "base": None, **case}
    if isinstance(asked["base"], dict):
        asked["base"] = json.dumps(asked["base"])
    asked["records"] = [r if isinstance(r, str) else json.dumps(r) for r in asked["records"]]
    return {key: value for key, value in asked.items() if key not in ("about", "says")}


CASES = [
    pytest.param(case, id=f"{path.stem}: {case['about']}")
    for path in VECTORS
    for case in json.loads(path.read_text("utf-8"))
]


def said_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of an answer that vectors have: values with the revision of each."""
    if "refused" in answer:
        return {"refused": True}
    values = {name: [entry[0], entry[1]] for name, entry in sorted(answer["values"].items())}
    return {"revision": answer["revision"], "open": answer["open"], "values": values}


@pytest.mark.parametrize("case", CASES)
def test_python_says_what_the_vector_says(case):
    assert said_of(in_python(full(case))) == case["says"]


@pytest.mark.extended
@pytest.mark.parametrize("case", CASES)
def test_c_says_what_the_vector_says_and_all_else_as_python(case, in_c):
    answer = in_c(full(case))
    assert said_of(answer) == case["says"]
    assert answer == in_python(full(case))


# ---- Random logs ----

SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]
MANY = settings(max_examples=150, deadline=None, suppress_health_check=SLOW)


def log_of(records, known, order, **more):
    """Return a log; of its proposals, some are decided when they are read, others later."""
    decisions, later = {}, []
    for number, (record, verdict) in enumerate(records, 1):
        if record.kind != PROPOSE:
            continue
        fate = known.pop() if known else "open"
        if fate == "known":
            decisions[str(number)] = verdict
        elif fate == "later":
            later.append([number, verdict])
    order.shuffle(later)
    texts = [encode(record).decode() for record, _ in records]
    return {"records": texts, "decisions": decisions, "later": later, **more}


LOOKS = st.fixed_dictionaries(
    {
        "name": st.just("m"),
        "role": st.sampled_from(["x", None]),
        "host": st.just("h"),
        "step": st.integers(-1, 100),
        "ended": st.lists(st.integers(1, 12)),
    }
)
FATES = st.lists(st.sampled_from(["known", "later", "open"]))


@pytest.mark.extended
@MANY
@given(LOGS, FATES, st.randoms(), LOOKS)
def test_of_random_logs_both_say_the_same(in_c, records, known, order, look):
    log = log_of(records, known, order, **look, base=None)
    assert in_c(log) == in_python(log)
    cut = order.randint(0, len(records))
    begun = state_of({**log, "records": log["records"][:cut], "later": []})
    if begun is not None and not begun.tail:
        base = to_json(begun.tables, begun.revision, begun.fleet).decode()
        rest = {**log, "base": base, "records": log["records"][cut:]}
        assert in_c(rest) == in_python(rest)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
FIELDS = {
    "kind": st.sampled_from(["change", "propose", "other", 1]),
    "changes": st.lists(
        st.lists(
            st.sampled_from(["a", "a-b", "1", "all", "role:x", "host:", "member:m", ""]) | JSON,
            max_size=4,
        ),
        max_size=3,
    )
    | JSON,
    "by": st.text(max_size=3) | JSON,
    "time": st.floats() | st.integers() | JSON,
    "at_step": st.integers() | JSON,
    "duration": st.floats() | JSON,
    "dry_run": st.booleans() | JSON,
    "reset": st.integers() | JSON,
    "members": st.lists(st.text(max_size=3)) | JSON,
    "other": JSON,
}


@st.composite
def texts(draw):
    """Text that is nearly a record, or damaged."""
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), unique=True))
    value = {name: draw(FIELDS[name]) for name in {*names, "kind", "changes"}}
    text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    if draw(st.integers(0, 3)) == 0 and text:
        at = draw(st.integers(0, len(text) - 1))
        text = (
            text[:at]
            + draw(st.sampled_from(["", "\0", "\ufeff", "\\", '"', "1", "\x7f", "]"]))
            + text[at + 1 :]
        )
    return text.encode("utf-8", "replace").decode()


@pytest.mark.extended
@MANY
@given(st.lists(texts(), max_size=3))
def test_both_take_and_refuse_the_same_text_as_records(in_c, records):
    log = {"records": records, "decisions": {}, "base": None, "name": "m", "role": "x", "host": "h"}
    assert in_c(log) == in_python(log)


@st.composite
def bases(draw):
    """Text that is nearly a base."""
    scalars = [
        st.none() | st.sampled_from(["1", "2"]),
        st.integers(1, 9),
        st.floats(0, 9),
        st.text(max_size=2),
        st.text(max_size=2),
        st.none() | st.floats(1, 9),
        st.none() | st.integers(0, 9),
    ]

    def entry(depth):
        values = [draw(each) for each in scalars]
        below = entry(depth - 1) if depth and draw(st.booleans()) else None
        made = [*values, below]
        if draw(st.integers(0, 15)) == 0:
            made[draw(st.integers(0, 7))] = draw(JSON)
        return made

    tables = {
        on: {name: entry(draw(st.integers(0, 8))) for name in ("a", "b")}
        for on in draw(st.lists(st.sampled_from(["all", "role:x", "member:m"]), unique=True))
    }
    base = {"version": 1, "fleet": "f", "revision": draw(st.integers(0, 9)), "tables": tables}
    if draw(st.integers(0, 7)) == 0:
        base[draw(st.sampled_from(sorted(base)))] = draw(JSON)
    return json.dumps(base)


@pytest.mark.extended
@MANY
@given(bases())
def test_both_take_and_refuse_the_same_text_as_bases(in_c, base):
    log = {"records": [], "decisions": {}, "base": base, "name": "m", "role": "x", "host": "h"}
    assert in_c(log) == in_python(log)
