"""Libraries with flags, and for each: two of its flags, and a library that uses its own headers."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from support import INCLUDE, require, run, write


class Specimen(NamedTuple):
    """A library and two of its flags."""

    name: str
    load: str
    """Python code that brings it into the process; `own` is the path of its user. May set
    `witness`, which has the functions of that user."""
    number: str
    text: str
    source: str
    """A C++ source that uses its own headers."""


FUNCTIONS = """
#define SHOWN extern "C" __attribute__((visibility("default")))
SHOWN int own_number() { return %(number)s; }
SHOWN const char *own_text() {
  static std::string text;
  text = %(text)s;
  return text.c_str();
}
SHOWN int own_set(const char *name, const char *text) { return %(set)s; }
"""

PADDLE = Specimen(
    "paddle",
    "import paddle",
    "get_host_by_name_time",
    "cudnn_dir",
    """
#include "paddle/common/flags.h"
COMMON_DECLARE_int32(get_host_by_name_time);
COMMON_DECLARE_string(cudnn_dir);
"""
    + FUNCTIONS
    % {
        "number": "FLAGS_get_host_by_name_time",
        "text": "FLAGS_cudnn_dir",
        "set": "paddle::flags::SetFlagValue(name, text)",
    },
)
C10 = Specimen(
    "c10",
    "import torch",
    "torch_lazy_metrics_samples",
    "torch_lazy_metrics_percentiles",
    """
#include <c10/util/Flags.h>
TORCH_DECLARE_int(torch_lazy_metrics_samples);
TORCH_DECLARE_string(torch_lazy_metrics_percentiles);
"""
    + FUNCTIONS
    % {
        "number": "FLAGS_torch_lazy_metrics_samples",
        "text": "FLAGS_torch_lazy_metrics_percentiles",
        "set": "c10::C10FlagsRegistry()->Create(name, text)->success()",
    },
)
GFLAGS = Specimen(
    "gflags",
    "import ctypes; ctypes.CDLL(own)",
    "g_level",
    "g_mode",
    """
#include <gflags/gflags.h>
DEFINE_int32(g_level, 6, "A number");
DEFINE_string(g_mode, "fast", "A text");
"""
    + FUNCTIONS
    % {
        "number": "FLAGS_g_level",
        "text": "FLAGS_g_mode",
        "set": "!gflags::SetCommandLineOption(name, text).empty()",
    },
)
ABSEIL = Specimen(
    "abseil",
    "import ctypes; ctypes.CDLL(own)",
    "a_level",
    "a_mode",
    """
#include <absl/flags/flag.h>
#include <absl/flags/reflection.h>
#include <string>
ABSL_FLAG(int, a_level, 6, "A number");
ABSL_FLAG(std::string, a_mode, "fast", "A text");
static bool set_flag(const char *name, const char *text) {
  std::string error;
  return absl::FindCommandLineFlag(name)->ParseFrom(text, &error);
}
"""
    + FUNCTIONS
    % {
        "number": "absl::GetFlag(FLAGS_a_level)",
        "text": "absl::GetFlag(FLAGS_a_mode)",
        "set": "set_flag(name, text)",
    },
)
ABSL_PY = Specimen(
    "absl-py",
    """
from absl import flags
flags.DEFINE_integer("p_level", 6, "A number")
flags.DEFINE_string("p_mode", "fast", "A text")
class witness:
    own_number = staticmethod(lambda: flags.FLAGS.p_level)
    own_text = staticmethod(lambda: flags.FLAGS.p_mode.encode())
    def own_set(name, text):
        flags.FLAGS[name.decode()].value = int(text) if text.isdigit() else text.decode()
        return True
""",
    "p_level",
    "p_mode",
    "",
)
ALL = (PADDLE, C10, GFLAGS, ABSEIL)


def build_own(specimen: Specimen, place: Path, packages: Path) -> Path:
    """Build the library that uses the specimen's own headers."""
    source = write(place / f"{specimen.name}_own.cpp", specimen.source)
    out = place / f"lib{specimen.name}_own.so"
    flags: list[str] = []
    if specimen is PADDLE:
        libs = packages / "paddle" / "libs"
        flags = [f"-I{packages}/paddle/include", f"-L{libs}", "-l:libcommon.so"]
        flags += ["-l:libphi_core.so", "-Wl,-rpath," + str(libs), "-Wl,--allow-shlib-undefined"]
    elif specimen is C10:
        libs = packages / "torch" / "lib"
        flags = [f"-I{packages}/torch/include", f"-L{libs}", "-lc10", "-ltorch_cpu"]
        flags += ["-Wl,-rpath," + str(libs)]
    elif specimen is GFLAGS:
        require("libgflags-dev", "gflags/gflags.h")
        flags = ["-lgflags"]
    else:
        require("libabsl-dev", "absl/flags/flag.h")
        parts = ("reflection", "internal", "marshalling", "commandlineflag", "config")
        flags = [f"-labsl_flags_{part}" for part in parts]
        flags += ["-labsl_flags_private_handle_accessor", "-labsl_strings", "-labsl_hash"]
        flags += ["-labsl_raw_hash_set", "-labsl_synchronization", "-labsl_base"]
    run("g++", "-std=c++17", "-O1", "-shared", "-fPIC", source, "-o", out, *flags)
    return out


PLAIN = """
#include <pd_flags.h>
PD_IMPORT_{type}({number}, -1);
PD_IMPORT_string({text}, "none");
PD_DEFINE_int32(beside, 1, "A flag of the plugin");
int plugin_number(void) {{ return (int)FLAGS_{number}; }}
const char *plugin_text(void) {{ return FLAGS_{text}; }}
int plugin_beside(void) {{ return FLAGS_beside; }}
"""

# Defines flags of its library's names itself, with the headers that stand for the library's.
COMPAT = {
    "paddle": """
#include <paddle/common/flags.h>
PHI_DEFINE_EXPORTED_int32({number}, 1, "A number of the plugin");
PHI_DEFINE_EXPORTED_string({text}, "mine", "A text of the plugin");
PD_DEFINE_int32(beside, 1, "A flag of the plugin");
""",
    "c10": """
#include <c10/util/Flags.h>
C10_DEFINE_int({number}, 1, "A number of the plugin");
C10_DEFINE_string({text}, "mine", "A text of the plugin");
C10_DEFINE_int(beside, 1, "A flag of the plugin");
""",
    "gflags": """
#include <gflags/gflags.h>
DEFINE_int32({number}, 1, "A number of the plugin");
DEFINE_string({text}, "mine", "A text of the plugin");
DEFINE_int32(beside, 1, "A flag of the plugin");
""",
}
COMPAT_FUNCTIONS = """
extern "C" __attribute__((visibility("default"))) int plugin_number() {{ return FLAGS_{number}; }}
extern "C" __attribute__((visibility("default"))) const char *plugin_text() {{
  return FLAGS_{text}.c_str();
}}
extern "C" __attribute__((visibility("default"))) int plugin_beside() {{ return FLAGS_beside; }}
"""


def build_plugin(specimen: Specimen, kind: str, place: Path) -> Path:
    """Build a plugin of ours: plain imports the two flags, compat defines them itself."""
    names = {"number": specimen.number, "text": specimen.text}
    out = place / f"lib{specimen.name}_{kind}.so"
    if kind == "plain":
        of_type = "int64" if specimen is ABSL_PY else "int32"
        text = PLAIN.format(type=of_type, **names)
        source = write(place / f"{specimen.name}_plain.c", text)
        run("cc", "-shared", "-fPIC", f"-I{INCLUDE}", source, "-o", out)
        return out
    text = (COMPAT[specimen.name] + COMPAT_FUNCTIONS).format(**names)
    source = write(place / f"{specimen.name}_compat.cpp", text)
    include = [f"-I{INCLUDE}/compat", f"-I{INCLUDE}", "-DPD_HEADER_ONLY"]
    run("g++", "-std=c++17", "-shared", "-fPIC", *include, source, "-o", out)
    return out
