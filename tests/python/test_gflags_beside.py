"""compat/gflags/gflags.h in one process with a real gflags, and beside its headers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import CXX, INCLUDE, ROOT, SANITIZE, require, run, tool, write
from test_gflags_programs import COMPILE, LINK, OURS, compiled, ending

pytestmark = pytest.mark.extended  # each test compiles

# ---- A program, and a library with a real gflags ----

OTHER = """
#include <gflags/gflags.h>
DEFINE_string(%s, "of the library", "");
DEFINE_int32(level, 7, "");
extern "C" const char *other(const char *name, const char *value) {
  if (value) google::SetCommandLineOption(name, value);
  static std::string text;
  return google::GetCommandLineOption(name, &text) ? text.c_str() : "none";
}
"""

BESIDE = """
#include <gflags/gflags.h>
#include <cstdio>
DEFINE_string(mode, "of the program", "");
DEFINE_int32(level, 7, "");
DECLARE_string(flagfile);
static bool short_enough(const char *, const std::string &value) { return value.size() < 20; }
DEFINE_validator(mode, short_enough);
extern "C" const char *other(const char *name, const char *value);
int main(int argc, char **argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  std::printf("%s %d; ", FLAGS_mode.c_str(), FLAGS_level);
  FLAGS_flagfile = "a file";
  std::printf("%s ", other(SHARED, nullptr));
  std::printf("%s", other("level", "3"));
  std::printf("; %s; %d; ", other("flagfile", nullptr), FLAGS_level);
  FLAGS_mode = "assigned";
  std::printf("%s", other(SHARED, nullptr));
  other(SHARED, "theirs");
  gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie("mode");
  std::printf(" %s %d\\n", info.current_value.c_str(), info.flag_ptr == &FLAGS_mode);
}
"""


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("speed", "best 8; of the library 3; ; 3; of the library assigned 1\n"),
        ("mode", "best 8; best 3; ; 3; assigned theirs 1\n"),
    ],
)
def test_a_program_and_a_library_with_a_real_gflags_share_flags_of_one_name(name, shown, tmp_path):
    require("libgflags-dev", "gflags/gflags.h")
    source = write(tmp_path / "beside.cc", BESIDE)
    library = tmp_path / f"lib{name}.so"
    other = write(tmp_path / f"{name}.cc", OTHER % name)
    run(*CXX, "-std=c++11", "-shared", "-fPIC", other, "-o", library, "-lgflags")
    flags = (str(library), f"-Wl,-rpath,{tmp_path}", "-rdynamic", f'-DSHARED="{name}"')
    program = compiled(tmp_path / f"with_{name}", source, flags=flags)
    assert ending(program, "--level=8", "--mode=best") == (0, shown)


@pytest.mark.release  # with another compiler
@pytest.mark.skipif(bool(SANITIZE), reason="the library has the runtime of another compiler")
@pytest.mark.parametrize("position", ["-fPIE -pie", "-fno-pie -no-pie"])
def test_a_string_of_an_optimizing_clang_stays_its_own(position, tmp_path):
    require("libgflags-dev", "gflags/gflags.h")
    source, library = write(tmp_path / "beside.cc", BESIDE), tmp_path / "libmode.so"
    other = write(tmp_path / "mode.cc", OTHER % "mode")
    run(*CXX, "-std=c++11", "-shared", "-fPIC", other, "-o", library, "-lgflags")
    clang = [tool("clang++"), "-std=c++11", "-O2", *position.split(), '-DSHARED="mode"']
    program = tmp_path / "program"
    run(*clang, *OURS, source, library, f"-Wl,-rpath,{tmp_path}", "-rdynamic", "-o", program, *LINK)
    shown = "best 8; of the library 3; ; 3; of the library assigned 1\n"
    assert ending(program, "--level=8", "--mode=best") == (0, shown)


# ---- Plugins, in both orders ----

MEMBER = """
#include <gflags/gflags.h>
DEFINE_string(beside_mode, MEMBER " mode", "Mode");
DEFINE_int32(beside_level, 7, "Level");
extern "C" const char *mode() { return FLAGS_beside_mode.c_str(); }
extern "C" int level() { return FLAGS_beside_level; }
extern "C" void assign(const char *value, int number) {
  FLAGS_beside_mode = value;
  FLAGS_beside_level = number;
}
extern "C" const char *own(const char *name, const char *value) {
#ifdef REAL
  if (value) google::SetCommandLineOption(name, value);
  static std::string text;
  return google::GetCommandLineOption(name, &text) ? text.c_str() : "none";
#else
  return name + (value != nullptr);
#endif
}
"""

HOST = """
import ctypes, os, sys
ours, theirs, order, scope, registry = sys.argv[1:]
how = os.RTLD_NOW | {"local": os.RTLD_LOCAL, "global": os.RTLD_GLOBAL}[scope]
members = {}

def load(path):
    members[path] = ctypes.CDLL(path, how)
    members[path].mode.restype = members[path].own.restype = ctypes.c_char_p

if registry == "first":
    import paddle_flags as pf
for path in (ours, theirs) if order == "ours first" else (theirs, ours):
    load(path)
import paddle_flags as pf

def look():
    own = [members[theirs].own(name, None) for name in (b"beside_mode", b"beside_level")]
    print(members[ours].mode().decode(), members[ours].level(), end=" | ")
    print(pf.FLAGS.beside_mode, pf.FLAGS.beside_level, end=" | ")
    print(members[theirs].mode().decode(), members[theirs].level(), *(o.decode() for o in own))

pf.FLAGS.update(beside_mode="python", beside_level=3)
look()
members[theirs].own(b"beside_mode", b"gflags")
members[theirs].own(b"beside_level", b"4")
look()
members[ours].assign(b"ours", 5)
look()
members[theirs].assign(b"theirs", 6)
look()
"""

APART = """\
python 3 | python 3 | theirs mode 7 theirs mode 7
python 3 | python 3 | gflags 4 gflags 4
ours 5 | ours 5 | gflags 4 gflags 4
ours 5 | ours 5 | theirs 6 theirs 6
"""

ONE = """\
python 3 | python 3 | python 3 python 3
gflags 4 | gflags 4 | gflags 4 gflags 4
ours 5 | ours 5 | ours 5 ours 5
theirs 6 | theirs 6 | theirs 6 theirs 6
"""


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build one source with our header and with gflags' own."""
    require("libgflags-dev", "gflags/gflags.h")
    place = tmp_path_factory.mktemp("members")
    source = write(place / "member.cc", MEMBER)
    ours, theirs = place / "libours.so", place / "libtheirs.so"
    flags = ("-shared", "-fPIC", '-DMEMBER="our"')
    compiled(ours, source, flags=flags, linked=False)
    flags = ("-shared", "-fPIC", '-DMEMBER="theirs"', "-DREAL")
    run(*CXX, "-std=c++11", *flags, source, "-o", theirs, "-lgflags")
    return ours, theirs


@pytest.mark.parametrize("registry", ["first", "last"])
@pytest.mark.parametrize("scope", ["local", "global"])
@pytest.mark.parametrize("order", ["ours first", "theirs first"])
def test_plugins_have_one_value_or_each_their_own(order, scope, registry, members, tmp_path):
    script = write(tmp_path / "host.py", HOST)
    ended = run(sys.executable, script, *members, order, scope, registry, cwd=ROOT)
    assert ended.stdout == (ONE if scope == "global" else APART)


# ---- Whether --version says that it is a debug build ----

CALLER = """
#include <gflags/gflags.h>
int call(int argc, char **argv);
int call(int argc, char **argv) { return gflags::ParseCommandLineFlags(&argc, &argv, true) > 1; }
"""

MAIN = """
#include <gflags/gflags.h>
int call(int argc, char **argv);
int unused(int argc, char **argv);
int unused(int argc, char **argv) { return gflags::ParseCommandLineFlags(&argc, &argv, true) > 1; }
int main(int argc, char **argv) { return call(argc, argv); }
"""


@pytest.mark.release  # compiles much
@pytest.mark.parametrize("release", [True, False])
def test_version_says_how_the_source_with_the_call_was_compiled(release, tmp_path):
    objects = []
    for name, text in (("main", MAIN), ("caller", CALLER)):
        defined = ["-DNDEBUG"] if release == (name == "caller") else []
        objects.append(tmp_path / f"{name}.o")
        source = write(tmp_path / f"{name}.cc", text)
        run(*COMPILE, *OURS, *defined, "-c", source, "-o", objects[-1])
    program = compiled(tmp_path / "program", *objects)
    shown = "program\n" if release else "program\nDebug build (NDEBUG not #defined)\n"
    assert ending(program, "--version") == (0, shown)


# ---- Headers of both ----


def check_headers(place: Path, *headers: str, driver: str = CXX[0]) -> str:
    """Compile a source with the headers in this order; return the compiler's messages."""
    text = "".join(f'#include "{header}"\n' for header in headers)
    source = write(place / "headers.cc", text + 'DEFINE_bool(one, true, "One");')
    options = ["-std=c++11", "-Wall", "-Werror", "-fsyntax-only"]
    return run(driver, *options, *OURS, source, check=False).stderr


@pytest.fixture
def theirs(tmp_path: Path) -> dict[str, str]:
    """gflags' own header, and a copy as older versions and vendored ones are: by its guard."""
    require("libgflags-dev", "gflags/gflags.h")
    found = run(*CXX, "-M", "-x", "c++", "-", input="#include <gflags/gflags.h>\n").stdout
    real = next(Path(word) for word in found.split() if word.endswith("/gflags.h"))
    declare = real.with_name("gflags_declare.h").read_text("utf-8")
    write(tmp_path / "copied.h", declare.replace("GFLAGS_DECLARE_H_", "OWN_DECLARE_H_"))
    text = real.read_text("utf-8").replace("gflags/gflags_declare.h", "copied.h")
    text = text.replace('#include "gflags_gflags.h"', "")  # the old name of the namespace
    return {
        "installed": str(real),
        "old": str(write(tmp_path / "old.h", text.replace("GFLAGS_GFLAGS_H_", "GOOGLE_GFLAGS_H_"))),
        "vendored": str(write(tmp_path / "vendored.h", text.replace("GFLAGS_GFLAGS_H_", "OWN_H_"))),
    }


OUR_HEADER = f"{INCLUDE}/compat/gflags/gflags.h"
ONLY_ONE = "is included already"


@pytest.mark.parametrize("driver", ["g++", "clang++"])
@pytest.mark.parametrize("kind", ["installed", "old", "vendored"])
def test_gflags_own_header_in_front_of_ours_is_an_error(kind, driver, theirs, tmp_path):
    assert ONLY_ONE in check_headers(tmp_path, theirs[kind], OUR_HEADER, driver=driver)


@pytest.mark.parametrize("driver", ["g++", "clang++"])
def test_gflags_own_header_behind_ours_is_skipped_or_an_error(driver, theirs, tmp_path):
    assert check_headers(tmp_path, OUR_HEADER, theirs["installed"], driver=driver) == ""
    assert check_headers(tmp_path, OUR_HEADER, theirs["old"], driver=driver) == ""
    errors = check_headers(tmp_path, OUR_HEADER, theirs["vendored"], driver=driver)
    assert "two_headers_of_gflags__include_either_the_one_of_paddle_flags_or_the_other" in errors


def test_a_copy_in_the_source_tree_may_lead_to_ours(tmp_path):
    text = "#include_next <gflags/gflags.h>\n"
    write(tmp_path / "gflags" / "gflags.h", text)
    ours = "#ifndef PD_COMPAT_GFLAGS_H\n#error theirs\n#endif"
    source = write(tmp_path / "main.cc", f'#include "gflags/gflags.h"\n{ours}')
    run(*CXX, "-std=c++11", "-fsyntax-only", *OURS, source)


@pytest.mark.parametrize("headers", [("gflags/gflags.h", "glog/logging.h"), ("glog/logging.h",)])
def test_glogs_header_takes_ours_in_both_orders(headers, tmp_path):
    require("libgoogle-glog-dev", "glog/logging.h")
    assert check_headers(tmp_path, *headers, "gflags/gflags.h") == ""
