"""paddle_flags.extend: its names, and a package outside of the tree that needs nothing else."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest
from support import ROOT, write

from paddle_flags import extend

sys.path.insert(0, str(ROOT / "tools"))

import layers

NAMES = extend.__all__
DOCUMENTED = (ROOT / "docs" / "reference" / "python-api.md").read_text("utf-8")


def test_the_names_are_those_of_the_listing_each_once():
    tree = ast.parse((ROOT / "paddle_flags" / "_extend.py").read_text("utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    listed = [alias.asname for node in found for alias in node.names]
    assert listed == NAMES
    assert len(set(listed)) == len(listed)
    assert dir(extend) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_name_exists_and_is_documented(name):
    found = getattr(extend, name)
    if isinstance(found, type) or callable(found):
        assert found.__doc__
        assert re.search(rf"(?m)^\.\. auto\w+:: paddle_flags\.extend\.{name}$", DOCUMENTED)
    else:
        assert re.search(rf"(?m)^\.\. py:data:: paddle_flags\.extend\.{name}$", DOCUMENTED)


def test_no_name_is_documented_that_is_not_there():
    assert set(re.findall(r":: paddle_flags\.extend\.(\w+)", DOCUMENTED)) == set(NAMES)


def test_each_name_has_a_user_among_the_extensions():
    package = ROOT / "paddle_flags"
    paths = [p for folder in layers.EXTENSIONS for p in (package / folder).rglob("*.*")]
    texts = [p.read_text("utf-8") for p in paths if p.suffix in (".py", ".j2")]
    used = "\n".join(text for text in texts if "paddle_flags.extend import" in text)
    assert [name for name in NAMES if not re.search(rf"\b{name}\b", used)] == []


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'paddle_flags.extend' has no attribute 'shwon'"):
        getattr(extend, "shwon")  # noqa: B009 - a type checker reports `extend.shwon`


LOADED = """
import sys
before = set(sys.modules)
import paddle_flags.extend
print(sorted(set(sys.modules) - before))
from paddle_flags.extend import quote_value
print(sorted(set(sys.modules) - before))
"""


def test_a_name_brings_its_own_module_alone(python):
    assert python(LOADED).stdout.splitlines() == ["['paddle_flags.extend']"] * 2


# ---- a bridge to a toy library of flags ----

TOY = '''"""A flag library."""

from __future__ import annotations


class Setting:
    def __init__(self, name, default, help, where):
        self.name, self.default, self.help, self.where = name, default, help, where
        self.value = default


settings: dict[str, Setting] = {}


def setting(name, default, help, where=("toy", "toy.ini", 1)):
    settings[name] = Setting(name, default, help, where)
'''

BRIDGE = '''"""The settings of toy as flags."""

from __future__ import annotations

import toy

from paddle_flags import FLAGS, Flag, FlagError, FlagValueError
from paddle_flags.extend import (
    FlagSnapshot,
    JoinedLibrary,
    ParseOptions,
    add_validator,
    assign_values,
    check_call,
    define_at,
    flag_finders,
    format_value,
    hides_internal_frames,
    joined_libraries,
    lib,
    new_error,
    normalize_name,
    quote_value,
    read_argv,
    suggest_name,
    to_bytes,
)

_library = joined_libraries.setdefault("toy", JoinedLibrary("the toy library"))


def _take() -> bool:
    known = _library.names
    new = [each for each in toy.settings.values() if normalize_name(each.name) not in known]
    for each in new:
        flag = define_at(each.where, normalize_name(each.name), each.default, each.help)
        _library.names.add(flag.name)
        flag.watch(lambda flag, each=each: setattr(each, "value", flag.value))
    return bool(new)


@hides_internal_frames
def join() -> None:
    """Take the settings that are there, and later those that come."""
    _take()
    flag_finders.append(_take)


@hides_internal_frames
def set_from_file(path: str, values: dict[str, object]) -> None:
    """Set what a file of the toy library says, all or nothing."""
    for name in values:
        if name not in FLAGS:
            raise FlagValueError(f"{quote_value(name)}: no setting{suggest_name(name, FLAGS)}")
    assign_values(values, (path, 1), lib.PD_SOURCE_FILE)


def read(*tokens: str) -> list[str]:
    return read_argv(["toy", *tokens], ParseOptions(allow_pending=True))


def forbid(low: Flag[int], high: Flag[int]) -> None:
    add_validator([low, high], lambda a, b: a <= b, "low must not be above high")


def drop(name: str) -> None:
    """Drop what the command line gave."""
    err = new_error()
    check_call(lib.pd_flag_drop(FLAGS[name].handle, lib.PD_SOURCE_ARGV, err), err)


def set_text(name: str, text: str) -> None:
    err = new_error()
    check_call(lib.pd_flag_set_from_string(FLAGS[name].handle, to_bytes(text), err), err)


def report() -> list[str]:
    return [
        f"{about.name}={format_value(about.flag, about.flag.value)} [{about.type_text}]"
        for about in map(FlagSnapshot, FLAGS.values())
    ]
'''

PROGRAM = """
import sys
import traceback

import toy
toy.setting("low-mark", 1, "The lowest", ("app", "app.ini", 7))

import toy_bridge
import paddle_flags as pf

toy_bridge.join()
toy.setting("high", 9, "The highest")          # later: it is found by its name
print(pf.FLAGS.high, pf.FLAGS["low_mark"].line, pf.FLAGS["low_mark"].file)
print(toy_bridge.read("--low-mark=3", "rest"), toy.settings["low-mark"].value)
toy_bridge.drop("low_mark")
print(pf.FLAGS.low_mark, toy.settings["low-mark"].value)
toy_bridge.set_from_file("/etc/toy.ini", {"high": 8})
print(pf.FLAGS["high"].source, pf.FLAGS["high"].place)
toy_bridge.forbid(pf.FLAGS["low_mark"], pf.FLAGS["high"])
for call in (
    lambda: toy_bridge.set_text("low_mark", "10"),
    lambda: toy_bridge.set_text("low_mark", "many"),
    lambda: toy_bridge.set_from_file("/etc/toy.ini", {"hihg": 1}),
):
    try:
        call()
    except pf.FlagError as error:
        print(type(error).__name__, error)
print(toy_bridge.report())
print("shared with" in pf.explain("high"), "the toy library" in pf.explain("high"))
"""

OUTPUT = """\
9 7 app.ini
['rest'] 3
1 1
file /etc/toy.ini:1
FlagValueError --low_mark=10 (run time), --high=8 (/etc/toy.ini:1): \
low must not be above high (validator <lambda>)
FlagValueError low_mark=many: expected a 64-bit integer
FlagValueError 'hihg': no setting; did you mean 'high'?
['low_mark=1 [int64]', 'high=8 [int64]']
True True
"""


def test_a_bridge_outside_of_the_tree_needs_no_other_module(tmp_path):
    write(tmp_path / "toy.py", TOY)
    bridge = write(tmp_path / "toy_bridge.py", BRIDGE)
    write(tmp_path / "program.py", PROGRAM)
    used = layers.every_import("toy_bridge", bridge)
    assert not [name for name in used if layers.is_private(name, set())]
    command = [sys.executable, tmp_path / "program.py"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.stdout, ended.stderr) == (OUTPUT, "")
