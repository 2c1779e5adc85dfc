"""compat/paddle/common/flags.h beside Paddle's own library and header, from its wheel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import CXX, INCLUDE, run, tool
from wheels import COMPAT, LINK, OURS, Real, build, compile_text, exported

pytestmark = pytest.mark.release  # needs gigabytes of packages

ONLY = ("-DPD_HEADER_ONLY",)
COMMON = "paddle/libs/libcommon.so"
OWN_HEADER = "_of_paddle_flags__for_a_flag_of_Paddle_include_its_own_header"

# ---- Symbols ----

EVERYTHING = """
#include <paddle/common/flags.h>
PHI_DEFINE_EXPORTED_bool(benchmark, true, "");
PHI_DEFINE_EXPORTED_int32(call_stack_level, 7, "");
PHI_DEFINE_EXPORTED_int64(gpu_memory_limit_mb, 7, "");
PHI_DEFINE_EXPORTED_uint64(initial_cpu_memory_in_mb, 7, "");
PHI_DEFINE_EXPORTED_double(eager_delete_tensor_gb, 7, "");
PHI_DEFINE_EXPORTED_string(allocator_strategy, "ours", "");
PHI_DEFINE_EXPORTED_READONLY_bool(check_nan_inf, true, "");
PD_DEFINE_string(tensor_operants_mode, paddle::flags::StringFromEnv("MODE", "ours"), "");
PHI_DEFINE_double(fraction_of_cpu_memory_to_use, 0.5, "");
PD_DEFINE_VARIABLE(std::string, op_dir, "ours", "");
PADDLE_FORCE_LINK_FLAG(benchmark);
#ifdef REGISTRY  // which it must find
static int32_t number = 7;
static paddle::flags::FlagRegisterer late("paddle_num_threads", "", "here", &number, &number);
#endif
extern "C" const char *mode() { return FLAGS_allocator_strategy.c_str(); }
extern "C" int level() { return FLAGS_call_stack_level; }
int everything(int argc, char **argv) {
  paddle::flags::ParseCommandLineFlags(&argc, &argv);
  paddle::flags::PrintAllFlagHelp();
  paddle::flags::SetFlagsFromEnv({"x"}, true);
  paddle::flags::AllowUndefinedFlags();
  phi::FlagInfo info = phi::GetExportedFlagInfoMap().at("x");
  (*phi::GetMutableExportedFlagInfoMap())["y"] = info;
  return paddle::flags::BoolFromEnv("x", true) + paddle::flags::SetFlagValue("x", "y") +
         paddle::flags::UpdateLinkedFlags("x", "y") +
         static_cast<int>(paddle::flags::GetFromEnv<double>("x", 1)) +
         (paddle::get<std::string>(info.default_value) == "x");
}
"""

# Of the standard library, and of Paddle's header of the variant, which is Paddle's there too.
VARIANT = r"6paddle(6detail|3lib|7variant|18bad_variant_access|24throw_bad_variant_access)"
SHARED = rf"^_Z(T[ISV])?(N[KRV]*)?(St|9__gnu_cxx|{VARIANT})"


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("plugin") / "plugin.so"
    build(out, EVERYTHING, "-shared", *OURS, *ONLY)
    return out


@pytest.mark.parametrize("standard", ["c++11", "c++17", "c++17 with Paddle's variant"])
def test_a_module_exports_no_symbol_that_paddle_has_too(
    standard: str, real: Real, tmp_path: Path
) -> None:
    out = tmp_path / "everything.so"
    theirs = [f"-I{real.paddle}"] if "with" in standard else []
    build(out, EVERYTHING, "-shared", *OURS, *theirs, f"-std={standard[:5]}", *ONLY, "-DREGISTRY")
    ours = exported(out)
    assert f"FLAGS_benchmark{OWN_HEADER}" in ours
    assert f"string_FLAGS_allocator_strategy{OWN_HEADER}" in ours
    both = {
        symbol
        for library in real.libraries("paddle/libs/*.so", "paddle/base/libpaddle.so")
        for symbol in ours & exported(library)
    }
    assert not {symbol for symbol in both if not re.search(SHARED, symbol)}


IMPORTS = """
import ctypes, os, sys
order, plugin, scope = sys.argv[1:]
how = os.RTLD_NOW | {"local": os.RTLD_LOCAL, "global": os.RTLD_GLOBAL}[scope]
if order == "plugin first":
    ours = ctypes.CDLL(plugin, how)
import paddle
import paddle_flags as pf
if order == "paddle first":
    ours = ctypes.CDLL(plugin, how)
ours.mode.restype = ctypes.c_char_p
pf.FLAGS.update(allocator_strategy="set", call_stack_level=3)
paddle.set_flags({"FLAGS_call_stack_level": 2})
theirs = paddle.get_flags(["FLAGS_allocator_strategy", "FLAGS_call_stack_level"])
print(ours.mode().decode(), ours.level(), pf.FLAGS.allocator_strategy, pf.FLAGS.call_stack_level)
print(*theirs.values(), flush=True)
os._exit(0)  # not what the libraries of Paddle do at the end
"""


@pytest.mark.parametrize("scope", ["local", "global"])
@pytest.mark.parametrize("order", ["plugin first", "paddle first"])
def test_a_plugin_with_names_of_paddles_flags_and_paddle_live_in_one_process(
    order: str, scope: str, plugin: Path, real: Real
) -> None:
    shown = real.python(IMPORTS, order, plugin, scope)
    assert shown.splitlines()[-2:] == ["set 3 set 3", "auto_growth 2"]


PROGRAM = """
#include <paddle/common/flags.h>
#include <cstdio>
PD_DEFINE_string(allocator_strategy, "ours", "A string of Paddle's too");
PD_DEFINE_int32(call_stack_level, 7, "A number of Paddle's too");
extern "C" const char *theirs();
int main(int argc, char **argv) {
  paddle::flags::ParseCommandLineFlags(&argc, &argv);
  std::printf("%s %d %s\\n", FLAGS_allocator_strategy.c_str(), FLAGS_call_stack_level, theirs());
  std::fflush(stdout);
}
"""

THEIRS = """
#include <paddle/common/flags.h>
COMMON_DECLARE_string(allocator_strategy);
COMMON_DECLARE_int32(call_stack_level);
extern "C" const char *theirs() {
  static std::string text;
  return (text = FLAGS_allocator_strategy + " " + std::to_string(FLAGS_call_stack_level)).c_str();
}
"""


def test_a_program_may_define_flags_of_paddles_names(real: Real, tmp_path: Path) -> None:
    library = tmp_path / "theirs.so"
    build(library, THEIRS, "-shared", f"-I{real.paddle}", *real.link(COMMON))
    program = tmp_path / "program"
    linked = (str(library), *real.link(COMMON), "-rdynamic", *LINK)
    build(program, PROGRAM, *OURS, *linked)
    ended = run(program, "--allocator_strategy=best", "--call_stack_level=2")
    assert ended.stdout == "best 2 auto_growth 1\n"


def test_two_objects_of_one_module_may_use_the_two_headers(real: Real, tmp_path: Path) -> None:
    program = tmp_path / "program"
    build(tmp_path / "theirs.o", THEIRS, "-c", f"-I{real.paddle}")
    linked = (str(tmp_path / "theirs.o"), *real.link(COMMON), *LINK)
    build(program, PROGRAM, *OURS, *linked)
    assert run(program, "--call_stack_level=2").stdout == "ours 2 auto_growth 1\n"


DECLARED = """
#include <paddle/common/flags.h>
COMMON_DECLARE_string(allocator_strategy);
PADDLE_FORCE_LINK_FLAG(benchmark);
extern "C" const char *mode() { return FLAGS_allocator_strategy.c_str(); }
"""


def test_a_flag_of_paddle_that_our_header_declares_does_not_link(
    real: Real, tmp_path: Path
) -> None:
    out = tmp_path / "operator.so"
    told = build(out, DECLARED, "-shared", *OURS, *real.link(COMMON), "-Wl,-z,defs", check=False)
    assert f"undefined reference to `string_FLAGS_allocator_strategy{OWN_HEADER}'" in told
    assert f"undefined reference to `TouchPaddleFlagRegister_benchmark{OWN_HEADER}'" in told
    build(out, DECLARED, "-shared", *OURS, *real.link(COMMON))
    script = "import ctypes, sys\ntry: ctypes.CDLL(sys.argv[1])\nexcept OSError as e: print(e)"
    assert re.search(rf"undefined symbol: \w+{OWN_HEADER}", real.python(script, out))


# ---- Headers ----

OWN = "#include <paddle/common/flags.h>\n"
SHORT = "#include <pd_flags.h>\n"
LONG = "#define PD_NO_SHORT_NAMES\n"


def check(real: Real, place: Path, text: str, driver: str = CXX[0], standard: str = "c++17") -> str:
    options = ("-Werror", f"-I{INCLUDE}", "-isystem", str(real.paddle))
    ended = compile_text(place, text, *options, compiler=[tool(driver)], standard=standard)
    return ended.stderr


@pytest.mark.parametrize("driver", ["g++", "clang++"])
def test_pd_flags_and_paddles_own_header_want_the_long_names(
    driver: str, real: Real, tmp_path: Path
) -> None:
    for text in (SHORT + OWN, OWN + SHORT, "#include <pd_flags.hpp>\n" + OWN):
        errors = check(real, tmp_path, text, driver)
        assert "error: " in errors
        assert "define PD_NO_SHORT_NAMES" in errors
        assert "write PD_FLAG_DEFINE_<type>" in errors


USES = """
PD_FLAG_DEFINE_int32(mine_level, 6, "Ours", .min = 1, .max = 9);
PD_DEFINE_int32(their_level, 7, "Paddle's");
COMMON_DECLARE_int32(call_stack_level);
int sum() { return FLAGS_mine_level + FLAGS_their_level + FLAGS_call_stack_level; }
"""


@pytest.mark.parametrize("driver", ["g++", "clang++"])
@pytest.mark.parametrize("order", [SHORT + OWN, OWN + SHORT])
def test_with_the_long_names_both_have_their_meaning(
    order: str, driver: str, real: Real, tmp_path: Path
) -> None:
    assert check(real, tmp_path, LONG + order + USES, driver) == ""
    main = '#include <cstdio>\nint main() { std::printf("%d %d\\n", sum(), '
    main += 'paddle::flags::FindFlag("their_level") && !paddle::flags::FindFlag("mine_level")); }'
    program = tmp_path / "program"
    options = (f"-I{INCLUDE}", f"-I{real.paddle}", *real.link(COMMON))
    build(program, LONG + order + USES + main, *options)
    assert run(program).stdout == "14 1\n"


OURS_FIRST = f'#include "{COMPAT}/paddle/common/flags.h"\n'


@pytest.mark.parametrize("driver", ["g++", "clang++"])
@pytest.mark.parametrize("names", ["", LONG])
def test_paddles_own_header_and_the_one_of_compat_exclude_each_other(
    names: str, driver: str, real: Real, tmp_path: Path
) -> None:
    options = (f"-I{COMPAT}", f"-I{INCLUDE}")
    own = f'#include "{real.paddle}/paddle/common/flags.h"\n'

    def told(text: str) -> str:
        words = [*options, f"-I{real.paddle}"]
        return compile_text(tmp_path, names + text, *words, compiler=[tool(driver)]).stderr

    assert "put compat/ in front of it" in told(own + OURS_FIRST)
    assert "either_this_header_or_that_of_Paddle" in told(OURS_FIRST + own)
    assert "either_this_header_or_that_of_Paddle" in told(SHORT + OURS_FIRST + own)


def test_compat_behind_paddles_directory_is_an_error_of_the_other_name(
    real: Real, tmp_path: Path
) -> None:
    options = (f"-I{real.paddle}", f"-I{COMPAT}", f"-I{INCLUDE}")
    ended = compile_text(tmp_path, "#include <paddle/utils/flags.h>\n", *options)
    assert "put compat/ in front of Paddle's directory" in ended.stderr


def test_headers_of_paddle_take_the_one_of_compat(real: Real, tmp_path: Path) -> None:
    text = OWN + '#include "paddle/extension.h"\nPD_DEFINE_int32(level, 6, "Ours");\n'
    text += "static_assert(__is_same(decltype(FLAGS_level), int32_t));\n"
    words = ["-isystem", str(real.paddle), "-isystem", str(real.paddle / "third_party")]
    words += [
        "-isystem",
        real.python("import sysconfig as s; print(s.get_paths()['include'])").strip(),
    ]
    ended = compile_text(tmp_path, text, *OURS, *words)
    assert (ended.returncode, ended.stderr) == (0, "")
