"""Each library, in each order of loading, with each kind of plugin, set in each way: one value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import specimens
from specimens import ABSL_PY, ALL, COMPAT, Specimen

if TYPE_CHECKING:
    from wheels import Real

pytestmark = pytest.mark.release  # needs gigabytes of packages

# `order` has the letters of what is loaded: L the library, P the plugin, B the bridge.
PROGRAM = """
import ctypes, json, os, sys
library, load, own, plugin, order, number, text = sys.argv[1:]
import paddle_flags as pf
from paddle_flags._core.paths import get_library_dir

seen, refused = {}, []
witness = extension = None

def take(step):
    global witness, extension
    if step == "L":
        names = {"own": own, "__name__": "__main__"}
        exec(load, names)
        witness = names.get("witness") or ctypes.CDLL(own)
        witness.own_text.restype = ctypes.c_char_p
    elif step == "P" and plugin:
        try:
            path = pf.load_plugin(plugin).path
        except pf.FlagConflictError as error:
            refused.append(str(error))
        else:
            extension = ctypes.CDLL(path)
            extension.plugin_text.restype = ctypes.c_char_p
    elif step == "B":
        refused.extend(pf.bridge(*([library] if "L" in order[: order.index("B")] else [])).values())

for step in order:
    take(step)

def look(way):
    pf.sync()
    row = [[pf.FLAGS[number].value, pf.FLAGS[text].value]]
    row.append([witness.own_number(), witness.own_text().decode()])
    if extension is not None:
        row.append([extension.plugin_number(), extension.plugin_text().decode()])
    if library == "paddle":
        values = sys.modules["paddle"].get_flags([f"FLAGS_{number}", f"FLAGS_{text}"])
        row.append(list(values.values()))
    seen[way] = row

c = ctypes.CDLL(os.path.join(get_library_dir(), "libpd_flags.so"))
pf.parse(["program"], env_prefix="FLAGS_")
look("environment")
pf.parse(["program", f"--{number}=12", f"--{text}=of the command line"])
look("argv")
for name, value in ((number, b"13"), (text, b"of C")):
    assert c.pd_flag_set_by_name(name.encode(), value, None) == 0
look("C")
pf.FLAGS.update({number: 14, text: "of Python, and so long that it is on the heap"})
look("Python")
for name, value in ((number, b"15"), (text, b"of its own functions")):
    assert witness.own_set(name.encode(), value)
look("own")
if library == "paddle":
    sys.modules["paddle"].set_flags({f"FLAGS_{number}": 16, f"FLAGS_{text}": "of set_flags"})
    look("set_flags")
refused.extend(pf.bridge().values())  # those of libraries that came later
beside = None
if extension is not None:
    pf.parse(["program", "--beside=7"])
    beside = extension.plugin_beside()
print(json.dumps({"seen": seen, "refused": refused, "beside": beside}))
"""

WANTED = {
    "environment": [11, "of the environment"],
    "argv": [12, "of the command line"],
    "C": [13, "of C"],
    "Python": [14, "of Python, and so long that it is on the heap"],
    "own": [15, "of its own functions"],
    "set_flags": [16, "of set_flags"],
}
ORDERS = ("LPB", "LBP", "PLB", "PBL", "BLP", "BPL")


@pytest.fixture(scope="module")
def built(real: Real, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Build what the libraries need once."""
    place = tmp_path_factory.mktemp("specimens")
    files: dict[tuple[str, str], Path] = {}
    for each in (*ALL, ABSL_PY):
        if each.source:
            files[each.name, "own"] = specimens.build_own(each, place, real.site)
        files[each.name, "plain"] = specimens.build_plugin(each, "plain", place)
        if each.name in COMPAT:
            files[each.name, "compat"] = specimens.build_plugin(each, "compat", place)
    return files


def run(
    real: Real, built: dict[tuple[str, str], Path], specimen: Specimen, kind: str, order: str
) -> dict[str, Any]:
    plugin = built[specimen.name, kind] if kind != "own" else ""
    own = built.get((specimen.name, "own"), "")
    arguments = (specimen.name, specimen.load, own, plugin, order, specimen.number, specimen.text)
    variables = {f"FLAGS_{specimen.number}": "11", f"FLAGS_{specimen.text}": "of the environment"}
    found: dict[str, Any] = json.loads(real.run(PROGRAM, *arguments, **variables).splitlines()[-1])
    return found


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("specimen", [*ALL, ABSL_PY], ids=lambda each: each.name)
def test_a_plain_plugin_and_the_library_have_one_value_however_it_is_set(
    real, built, specimen, order
):
    found = run(real, built, specimen, "plain", order)
    assert found["refused"] == []
    assert found["beside"] == 7
    for way, row in found["seen"].items():
        assert row == [WANTED[way]] * len(row), way


@pytest.mark.parametrize("order", ["LB", "BL"])
@pytest.mark.parametrize("specimen", ALL, ids=lambda each: each.name)
def test_an_extension_with_the_librarys_own_headers_has_its_value(real, built, specimen, order):
    found = run(real, built, specimen, "own", order)
    for way, row in found["seen"].items():
        assert row == [WANTED[way]] * len(row), way


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", list(COMPAT))
def test_a_plugin_that_defines_the_names_itself_is_refused_or_leaves_the_librarys_out(
    real, built, name, order
):
    specimen = next(each for each in ALL if each.name == name)
    found = run(real, built, specimen, "compat", order)
    assert any(f"'{specimen.number}' is already defined" in each for each in found["refused"])
    first = "library" if order.index("L") < order.index("P") and "P" not in order[:2] else "plugin"
    for way, row in found["seen"].items():
        assert WANTED[way] in row, (way, first)
