"""bridge() beside the real Paddle and PyTorch: their flags are ours, whole, and both ways."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from documents import blocks, commands
from support import INCLUDE, ROOT, run, write

if TYPE_CHECKING:
    from pathlib import Path

    from wheels import Real

pytestmark = pytest.mark.release  # needs gigabytes of packages


def told(real: Real, script: str, *arguments: object, **variables: str) -> list[str]:
    return real.run(script, *arguments, **variables).splitlines()


def extension(real: Real, library: str, source: Path) -> Path:
    """Build an extension with the library's own headers."""
    include, libs = {
        "paddle": ("paddle/include", "paddle/libs"),
        "torch": ("torch/include", "torch/lib"),
    }[library]
    linked = {"paddle": ["-l:libcommon.so"], "torch": ["-lc10"]}[library]
    out = source.with_suffix(".so")
    place = real.site
    flags = [f"-I{place / include}", f"-L{place / libs}", f"-Wl,-rpath,{place / libs}"]
    run("g++", "-std=c++17", "-shared", "-fPIC", source, "-o", out, *flags, *linked)
    return out


EVERY_PADDLE = """
import json
import paddle
import paddle_flags as pf
theirs = paddle.base.core.globals()
print(json.dumps(pf.bridge("paddle")), len(list(theirs.keys())))
print(sorted(set(theirs.keys()) - {"FLAGS_" + name for name in pf.FLAGS}))
print([n for n in theirs.keys() if pf.FLAGS[n[6:]].value != theirs[n]])
print([n for n in theirs.keys() if type(pf.FLAGS[n[6:]].value) is not type(theirs[n])])
print([n for n in theirs.keys() if pf.FLAGS[n[6:]].source != "default"])
def other(value):
    return not value if isinstance(value, bool) else value + type(value)(1)
wrong = []
for name in list(theirs.keys()):
    flag, before = pf.FLAGS[name[6:]], theirs[name]
    new = before + "x" * 40 if isinstance(before, str) else other(before)
    flag.value = new
    if theirs[name] != new:
        wrong.append(name)
    flag.value = before
    if theirs.is_public(name):
        paddle.set_flags({name: new})
        if flag.value != new:
            wrong.append(name)
        paddle.set_flags({name: before})
print(wrong)
"""


def test_all_exported_flags_of_paddle_have_one_value_on_both_sides(real):
    lines = told(real, EVERY_PADDLE)
    count = int(lines[0].split()[1])
    assert lines[0].startswith("{} ")
    assert count > 200
    assert lines[1:] == ["[]"] * 5


USES = """
import sys
import paddle
import paddle_flags as pf
from paddle_flags.paddle import flag_guard, set_flags
pf.bridge("paddle")
seen = []
pf.FLAGS["check_nan_inf_level"].watch(lambda flag: seen.append(flag.value))
@pf.validator("check_nan_inf_level")
def known(value):
    if value not in range(5):
        raise ValueError("expected 0 to 4")
    return True
paddle.set_flags({"FLAGS_check_nan_inf_level": 3})
pf.sync()
print(seen, paddle.get_flags("FLAGS_check_nan_inf_level"))
try:
    pf.FLAGS.check_nan_inf_level = 9
except pf.FlagError as error:
    print(error)
print(paddle.get_flags("FLAGS_check_nan_inf_level"))
with pf.override(check_nan_inf_level=1):
    print(paddle.get_flags("FLAGS_check_nan_inf_level"))
with flag_guard("FLAGS_check_nan_inf_level", 2):
    print(paddle.get_flags("FLAGS_check_nan_inf_level"))
print(paddle.get_flags("FLAGS_check_nan_inf_level"), pf.FLAGS.check_nan_inf_level)
entries = pf.FLAGS["check_nan_inf_level"].history
print(entries[0].source, entries[0].place.endswith("libcommon.so"))
"""


def test_watchers_validators_and_overrides_serve_paddles_flags(real):
    assert told(real, USES) == [
        "[3] {'FLAGS_check_nan_inf_level': 3}",
        "check_nan_inf_level=9: expected 0 to 4",
        "{'FLAGS_check_nan_inf_level': 3}",
        "{'FLAGS_check_nan_inf_level': 1}",
        "{'FLAGS_check_nan_inf_level': 2}",
        "{'FLAGS_check_nan_inf_level': 3} 3",
        "run time True",
    ]


LINKED = """
import paddle
import paddle_flags as pf
pf.bridge("paddle")
def others():
    names = ("enable_unique_name", "call_stack_level")
    return [paddle.get_flags("FLAGS_" + name)["FLAGS_" + name] for name in names]
before = others()
if {from_here}:
    pf.FLAGS.dump_api_and_gradnode_python_stack_dir = "x"
else:
    paddle.set_flags({{"FLAGS_dump_api_and_gradnode_python_stack_dir": "x"}})
print(before != others(), others(), [pf.FLAGS.enable_unique_name, pf.FLAGS.call_stack_level])
"""


def test_flags_that_paddle_links_to_another_follow_as_with_set_flags(real):
    ours = told(real, LINKED.format(from_here=True))
    theirs = told(real, LINKED.format(from_here=False))
    assert ours == theirs
    assert ours[0].startswith("True ")


def test_the_environment_is_read_strictly_and_keeps_its_source(real):
    script = """
import paddle
import paddle_flags as pf
pf.bridge("paddle")
flag = pf.FLAGS["get_host_by_name_time"]
print(flag.value, flag.default, flag.source, flag.history[0].place)
pf.parse(["program", "--get_host_by_name_time=5"], env_prefix="FLAGS_")
print(flag.value, flag.source, pf.FLAGS.check_nan_inf, paddle.get_flags("FLAGS_check_nan_inf"))
"""
    variables = {"FLAGS_get_host_by_name_time": "7", "FLAGS_check_nan_inf": "yes"}
    assert told(real, script, **variables) == [
        "7 120 environment FLAGS_get_host_by_name_time",
        "5 argv True {'FLAGS_check_nan_inf': True}",
    ]


LATER = {
    "paddle": """
#include "paddle/common/flags.h"
PHI_DEFINE_EXPORTED_int32(later_level, 6, "A flag of an extension");
PHI_DEFINE_EXPORTED_string(later_mode, "fast", "A text of an extension");
extern "C" int level() { return FLAGS_later_level; }
""",
    "torch": """
#include <c10/util/Flags.h>
C10_DEFINE_int(later_level, 6, "A flag of an extension");
C10_DEFINE_string(later_mode, "fast", "A text of an extension");
extern "C" int level() { return FLAGS_later_level; }
""",
}


@pytest.mark.parametrize("library", list(LATER))
def test_flags_of_extensions_that_come_later_join_with_the_values_that_wait(
    real, library, tmp_path
):
    source = write(tmp_path / "later.cpp", LATER[library])
    script = f"""
import ctypes, sys
import {library}
import paddle_flags as pf
pf.bridge({library!r})
pf.parse(["program", "--later_level=8", "--later_mode=slow"], allow_pending=True)
own = ctypes.CDLL(sys.argv[1])
print(pf.FLAGS.later_level, own.level(), pf.FLAGS["later_level"].source, pf.FLAGS.later_mode)
pf.FLAGS.later_level = 9
print(own.level())
"""
    built = extension(real, library, source)
    assert told(real, script, built) == ["8 8 argv slow", "9"]


EVERY_C10 = """
import json
import torch
import paddle_flags as pf
left_out = pf.bridge("torch")
print(json.dumps([left_out, {flag.name: flag.type for flag in pf.FLAGS.values()}]))
"""

# Names and types as PyTorch's sources define them.
C10_TYPES = {
    "caffe2_keep_on_shrink": "bool",
    "caffe2_log_level": "int32",
    "caffe2_max_keep_on_shrink_memory": "int64",
    "minloglevel": "int32",
    "torch_jit_num_profiled_runs": "int64",
    "torch_lazy_metrics_percentiles": "string",
    "torch_lazy_shape_cache_size": "int32",
    "v": "int32",
}


def test_all_flags_of_c10_are_found_with_their_types(real):
    left_out, types = json.loads(told(real, EVERY_C10)[0])
    libraries = [real.site / "torch" / "lib" / f"lib{name}.so" for name in ("c10", "torch_cpu")]
    symbols = "".join(run("nm", "-D", "--defined-only", each).stdout for each in libraries)
    exported = {
        line.split()[-1].partition("FLAGS_")[2].removesuffix("B5cxx11")
        for line in symbols.splitlines()
        if line.split()[-1].startswith("FLAGS_") or line.split()[-1].endswith("B5cxx11")
        if "FLAGS_" in line and "_ZN" not in line
    }
    assert left_out == {}
    assert exported - {""} == set(types)
    assert {name: types[name] for name in C10_TYPES} == C10_TYPES


def test_the_page_about_other_libraries_shows_what_a_terminal_shows(real, tmp_path):
    page = ROOT / "docs" / "how-to" / "use-beside-other-libraries.md"
    found = blocks(page.read_text("utf-8"))
    for block in found:
        if block.file:
            write(tmp_path / block.file, block.text)
    run("cc", "-shared", "-fPIC", f"-I{INCLUDE}", "alpha.c", "-o", "libalpha.so", cwd=tmp_path)
    shown = commands(next(block.text for block in found if block.language == "text"))
    for command, expected in shown[1:]:
        assert command.startswith("python program.py")
        ended = subprocess.run(
            [real.root / "bin" / "python", "-W", "ignore", *command.split()[1:]],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        # Paddle writes to the terminal itself, at its own time.
        assert sorted(ended.stdout.splitlines()) == sorted(expected.splitlines())
        assert ended.returncode == (2 if "error" in expected else 0)


def test_paddle_torch_and_absl_in_one_process_are_one_registry(real):
    script = """
import paddle, torch
from absl import flags, logging
import paddle_flags as pf
left_out = pf.bridge()
print({name: "already defined" in why for name, why in left_out.items()})
flags.FLAGS(["program", "--caffe2_log_level=3", "--check_nan_inf", "--stderrthreshold=info"])
print(pf.FLAGS.caffe2_log_level, paddle.get_flags("FLAGS_check_nan_inf"), pf.FLAGS.stderrthreshold)
"""
    lines = told(real, script)
    names = json.loads(lines[0].replace("'", '"').replace("True", "true"))
    assert all(names.values())
    assert set(names) <= {"v", "verbosity", "logtostderr", "minloglevel"}
    assert lines[1] == "3 {'FLAGS_check_nan_inf': True} info"
