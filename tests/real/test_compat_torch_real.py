"""compat/c10/util/Flags.h beside PyTorch's own libraries and header, from its wheel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import INCLUDE, run, tool
from wheels import COMPAT, LINK, OURS, Real, build, compile_text, exported

pytestmark = pytest.mark.release  # needs gigabytes of packages

C10 = "torch/lib/libc10.so"
CPU = "torch/lib/libtorch_cpu.so"
OWN_HEADER = "_of_paddle_flags__for_a_flag_of_c10_include_its_own_header"

# ---- Symbols ----

EVERYTHING = """
#include <c10/util/Flags.h>
C10_DEFINE_bool(caffe2_keep_on_shrink, false, "");
C10_DEFINE_int(caffe2_log_level, 7, "");
C10_DEFINE_int32(minloglevel, 7, "");
C10_DEFINE_int64(caffe2_max_keep_on_shrink_memory, 7, "");
C10_DEFINE_double(share, 0.5, "");
C10_DEFINE_string(torch_lazy_metrics_percentiles, "ours", "");
C10_DEFINE_typed_var(bool, torch_jit_disable_cat, true, "");
extern "C" const char *mode() { return FLAGS_torch_lazy_metrics_percentiles.c_str(); }
extern "C" int level() { return FLAGS_caffe2_log_level; }
bool everything(int argc, char **argv) {
  c10::SetUsageMessage(c10::UsageMessage());
  c10::C10FlagsRegistry()->Keys();
  c10::C10FlagsRegistry()->HelpMessage();
  return c10::ParseCommandLineFlags(&argc, &argv) && c10::CommandLineFlagsHasBeenParsed() &&
         c10::C10FlagsRegistry()->Create("x", "y")->success();
}
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("plugin") / "plugin.so"
    build(out, EVERYTHING, "-shared", *OURS, "-DPD_HEADER_ONLY")
    return out


@pytest.mark.parametrize("theirs", [True, False])
def test_a_module_exports_no_symbol_that_pytorch_has_too(
    theirs: bool, real: Real, tmp_path: Path
) -> None:
    out = tmp_path / "everything.so"
    headers = [f"-I{real.torch}"] if theirs else []
    build(out, EVERYTHING, "-shared", *OURS, *headers, "-DPD_HEADER_ONLY")
    ours = exported(out)
    assert f"FLAGS_caffe2_keep_on_shrink{OWN_HEADER}" in ours
    assert f"string_FLAGS_torch_lazy_metrics_percentiles{OWN_HEADER}" in ours
    for library in real.libraries("torch/lib/libc10.so", "torch/lib/libtorch_*.so"):
        both = ours & exported(library)
        assert not {name for name in both if not re.match(r"_ZN?[KRV]*(St|9__gnu_cxx)", name)}


IMPORTS = """
import ctypes, os, sys
order, plugin, scope = sys.argv[1:]
how = os.RTLD_NOW | {"local": os.RTLD_LOCAL, "global": os.RTLD_GLOBAL}[scope]
if order == "plugin first":
    ours = ctypes.CDLL(plugin, how)
import torch
import paddle_flags as pf
if order == "torch first":
    ours = ctypes.CDLL(plugin, how)
ours.mode.restype = ctypes.c_char_p
pf.FLAGS.update(torch_lazy_metrics_percentiles="set", caffe2_log_level=3)
c10 = ctypes.CDLL(sys.modules["torch"].__path__[0] + "/lib/libc10.so")
theirs = ctypes.c_int.in_dll(c10, "FLAGS_caffe2_log_level").value
print(ours.mode().decode(), ours.level(), pf.FLAGS.caffe2_log_level, theirs)
print(int(torch.ones(3).sum()), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("scope", ["local", "global"])
@pytest.mark.parametrize("order", ["plugin first", "torch first"])
def test_a_plugin_with_names_of_torchs_flags_and_torch_live_in_one_process(
    order: str, scope: str, plugin: Path, real: Real
) -> None:
    assert real.python(IMPORTS, order, plugin, scope).splitlines() == ["set 3 3 1", "3"]


# ---- Flags of PyTorch in sources with our header ----

TORCHS = """
#include <c10/util/Flags.h>
#include <torch/csrc/lazy/core/config.h>
TORCH_DECLARE_int64(caffe2_max_keep_on_shrink_memory);
C10_DEFINE_string(mine, "ours", "Ours");
extern "C" const char *theirs() {
  static std::string text;
  text = FLAGS_mine + (FLAGS_torch_lazy_reuse_ir ? " 1" : " 0");
  text += " " + std::to_string(FLAGS_torch_lazy_shape_cache_size);
  text += " " + std::to_string(FLAGS_caffe2_max_keep_on_shrink_memory);
  return (text += " " + FLAGS_torch_lazy_metrics_percentiles).c_str();
}
"""

READ = """
import ctypes, sys, torch, paddle_flags as pf
library = ctypes.CDLL(sys.argv[1])
pf.FLAGS.mine = "set"
library.theirs.restype = ctypes.c_char_p
print(library.theirs().decode())
"""


def test_flags_that_torch_declares_are_torchs_own(real: Real, tmp_path: Path) -> None:
    out = tmp_path / "extension.so"
    build(out, TORCHS, "-shared", *OURS, f"-I{real.torch}", *real.link(CPU, C10), "-Wl,-z,defs")
    shown = real.python(READ, out)
    assert shown == "set 0 4096 9223372036854775807 0.01:0.05:0.1:0.2:0.5:0.8:0.9:0.95:0.99\n"


DECLARED = """
#include <c10/util/Flags.h>
C10_DECLARE_bool(caffe2_keep_on_shrink);
extern "C" bool keep() { return FLAGS_caffe2_keep_on_shrink; }
"""


def test_a_flag_of_torch_that_c10_declare_of_ours_declares_does_not_link(
    real: Real, tmp_path: Path
) -> None:
    out = tmp_path / "extension.so"
    options = ("-shared", *OURS, f"-I{real.torch}", *real.link(C10))
    told = build(out, DECLARED, *options, "-Wl,-z,defs", check=False)
    assert f"undefined reference to `FLAGS_caffe2_keep_on_shrink{OWN_HEADER}'" in told
    build(out, DECLARED, *options)
    script = "import ctypes, sys, torch\n"
    script += "try: ctypes.CDLL(sys.argv[1])\nexcept OSError as e: print(e)"
    expected = f"undefined symbol: FLAGS_caffe2_keep_on_shrink{OWN_HEADER}\n"
    assert real.python(script, out).endswith(expected)


PROGRAM = """
#include <c10/util/Flags.h>
#include <cstdio>
C10_DEFINE_bool(caffe2_keep_on_shrink, false, "A name of c10's too");
C10_DEFINE_int(caffe2_log_level, 7, "A name of c10's too");
bool keep();
int main(int argc, char **argv) {
  bool read = c10::ParseCommandLineFlags(&argc, &argv);
  std::printf("%d %d %d %d\\n", read, FLAGS_caffe2_keep_on_shrink, FLAGS_caffe2_log_level, keep());
}
"""


def test_two_objects_of_one_module_may_use_the_two_headers(real: Real, tmp_path: Path) -> None:
    theirs = DECLARED.replace('extern "C" ', "")
    build(tmp_path / "theirs.o", theirs, "-c", f"-I{real.torch}")
    program = tmp_path / "program"
    build(program, PROGRAM, *OURS, str(tmp_path / "theirs.o"), *real.link(C10), *LINK)
    assert run(program, "--caffe2_log_level=3").stdout == "1 0 3 1\n"


# ---- Headers ----


@pytest.mark.parametrize("driver", ["g++", "clang++"])
def test_torchs_own_header_in_front_of_ours_is_an_error_and_behind_it_is_skipped(
    driver: str, real: Real, tmp_path: Path
) -> None:
    ours = f'#include "{COMPAT}/c10/util/Flags.h"\n'
    theirs = f'#include "{real.torch}/c10/util/Flags.h"\n'
    options = (f"-I{INCLUDE}", f"-I{real.torch}", "-idirafter", COMPAT, "-Werror")

    def told(text: str) -> str:
        return compile_text(tmp_path, text, *options, compiler=[tool(driver)]).stderr

    assert "put compat/ in front of its directory" in told(theirs + ours)
    mine = 'C10_DEFINE_string(mine, "", "Ours");\nint size = sizeof(pd_flag_info);\n'
    assert told(ours + theirs + mine) == ""


@pytest.mark.parametrize("order", ["ours first", "theirs first"])
def test_pd_flags_and_torchs_own_header_share_no_names(
    order: str, real: Real, tmp_path: Path
) -> None:
    headers = ["#include <pd_flags.h>\n", "#include <c10/util/Flags.h>\n"]
    text = "".join(headers if order == "ours first" else headers[::-1])
    text += 'PD_DEFINE_int32(mine, 1, "");\nC10_DEFINE_int(other, 1, "");\n'
    ended = compile_text(tmp_path, text, "-Werror", f"-I{INCLUDE}", "-isystem", str(real.torch))
    assert (ended.returncode, ended.stderr) == (0, "")
