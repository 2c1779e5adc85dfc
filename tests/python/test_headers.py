"""What the header promises to the compiler's user.

It compiles without warnings everywhere, a read is one load that is made every
time, and a write is refused.
"""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING

import pytest
from packages import library_object
from support import INCLUDE, LIBDIR, SANITIZE, WARNINGS, run, tool, write

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.extended  # each test compiles

C_STANDARDS = ["c99", "gnu99", "c11", "gnu11", "c17", "gnu17"]
BETWEEN = ("gnu++11", "c++14", "gnu++14", "c++17", "gnu++17", "gnu++20")
CXX_STANDARDS = [
    "c++11",
    *(pytest.param(each, marks=pytest.mark.release) for each in BETWEEN),
    "c++20",
]
NEWEST = {"c": ["c2x", "c23"], "cc": ["c++2b", "c++23", "gnu++23"]}  # where they are known
DRIVERS = {"c": {"gcc": "gcc", "clang": "clang"}, "cc": {"gcc": "g++", "clang": "clang++"}}
PACKAGES = {"g++": "g++", "clang++": "clang"}
# Stricter than what the project itself is compiled with: the headers of a
# library are read under other people's rules.
STRICT = [
    *WARNINGS,
    *["-Wcast-qual", "-Wundef", "-Wredundant-decls", "-Wsign-conversion", "-Wdouble-promotion"],
    *["-Wfloat-equal", "-Wwrite-strings", "-Wmissing-declarations", "-Wformat=2"],
]
STRICT_C = ["-Wmissing-prototypes", "-Wstrict-prototypes", "-Wnested-externs"]
STRICT_CXX = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant", "-Wnon-virtual-dtor"]

EVERYTHING = """
#include <pd_flags.h>
#include <pd_flags.h>
static bool is_fine(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  return entries[0]->value.i64 > 0 || context || !why || !size;
}
static void has_changed(pd_flag *flag, void *context) {
  (void)flag;
  (void)context;
}
PD_DEFINE_bool(a_bool, true, "A bool", .hidden = true, .startup_only = true);
PD_DEFINE_int32(an_int32, -5, "An int32", .min = -9, .max = 9, .category = "Numbers");
PD_DEFINE_uint32(a_uint32, 5, "A uint32", .max = 4000000000u);
PD_DEFINE_int64(an_int64, -5000000000, "An int64", .min = INT64_MIN, .max = INT64_MAX);
PD_DEFINE_uint64(a_uint64, 18446744073709551615u, "A uint64", .min = 1);
PD_DEFINE_double(a_double, 0.5, "A double", .min = 0, .max = 1.5);
PD_DEFINE_string(a_string, "fast", "A string", .choices = "fast|best", .category = "Text",
                 .aliases = "text|t", .hidden = true, .read_only = true, .startup_only = true);
PD_DEFINE_int32(bare, 1, NULL);
PD_DEFINE_int64(a_list_of_uses, 4096, "Every other attribute, in the order of C++", .min = 1,
                .max = 8192, .choices = "1KiB|4KiB", .category = "Uses", .aliases = "uses",
                .hidden = false, .read_only = false, .startup_only = false, .sensitive = true,
                .experimental = true, .unit = "bytes", .deprecated = "Use a_string",
                .old_names = "use|usage", .validate = is_fine, .watch = has_changed,
                .required = true, .runtime = true, .unsafe = true, .per_process = true);
PD_DEFINE_double(a_unit, 0.5, "A unit", .unit = "seconds", .retired = "Never read");
PD_DEFINE_string(a_list, "1,2", "A list", .list = PD_TYPE_int64, .required = true);
PD_DEFINE_string(a_text_list, "", NULL, .sensitive = true, .list = PD_TYPE_string);
PD_IMPORT_bool(b_bool, false);
PD_IMPORT_int32(b_int32, -5);
PD_IMPORT_uint32(b_uint32, 5);
PD_IMPORT_int64(b_int64, -5);
PD_IMPORT_uint64(b_uint64, 5);
PD_IMPORT_double(b_double, 2);
PD_IMPORT_string(b_string, "b");
PD_DECLARE_bool(c_bool);
PD_DECLARE_int32(c_int32);
PD_DECLARE_uint32(c_uint32);
PD_DECLARE_int64(c_int64);
PD_DECLARE_uint64(c_uint64);
PD_DECLARE_double(c_double);
PD_DECLARE_string(c_string);
PD_DEFINE_SCOPED_bool(s_bool, true, "A bool");
PD_DEFINE_SCOPED_int32(s_int32, -5, "An int32", .min = -9, .max = 9, .category = "Numbers");
PD_DEFINE_SCOPED_uint32(s_uint32, 5, "A uint32", .max = 4000000000u);
PD_DEFINE_SCOPED_int64(s_int64, -5000000000, "An int64", .unit = "bytes", .required = true);
PD_DEFINE_SCOPED_uint64(s_uint64, 18446744073709551615u, NULL);
PD_DEFINE_SCOPED_double(s_double, 0.5, "A double", .validate = is_fine, .watch = has_changed);
PD_DEFINE_SCOPED_string(s_string, "1,2", "A list", .list = PD_TYPE_int64);
PD_IMPORT_SCOPED_bool(t_bool, false);
PD_IMPORT_SCOPED_int32(t_int32, -5);
PD_IMPORT_SCOPED_uint32(t_uint32, 5);
PD_IMPORT_SCOPED_int64(t_int64, -5);
PD_IMPORT_SCOPED_uint64(t_uint64, 5);
PD_IMPORT_SCOPED_double(t_double, 2);
PD_IMPORT_SCOPED_string(t_string, "b");
PD_DECLARE_SCOPED_bool(u_bool);
PD_DECLARE_SCOPED_int32(u_int32);
PD_DECLARE_SCOPED_uint32(u_uint32);
PD_DECLARE_SCOPED_int64(u_int64);
PD_DECLARE_SCOPED_uint64(u_uint64);
PD_DECLARE_SCOPED_double(u_double);
PD_DECLARE_SCOPED_string(u_string);
const char *reads(bool *b, int32_t *i, uint32_t *u, int64_t *l, uint64_t *m, double *d);
const char *reads(bool *b, int32_t *i, uint32_t *u, int64_t *l, uint64_t *m, double *d) {
  *b = FLAGS_a_bool && FLAGS_b_bool && !FLAGS_c_bool;
  *i = FLAGS_an_int32 > FLAGS_b_int32 ? FLAGS_c_int32 : FLAGS_bare + 1;
  *u = FLAGS_a_uint32 + FLAGS_b_uint32 + FLAGS_c_uint32;
  *l = FLAGS_an_int64 + FLAGS_b_int64 + FLAGS_c_int64;
  *m = FLAGS_a_uint64 + FLAGS_b_uint64 + FLAGS_c_uint64;
  *d = FLAGS_a_double + FLAGS_b_double + FLAGS_c_double;
  return *FLAGS_a_string ? FLAGS_b_string : FLAGS_c_string;
}
const char *scoped(bool *b, int32_t *i, uint32_t *u, int64_t *l, uint64_t *m, double *d);
const char *scoped(bool *b, int32_t *i, uint32_t *u, int64_t *l, uint64_t *m, double *d) {
  *b = PD_SCOPED(s_bool) && PD_SCOPED(t_bool) && !PD_SCOPED(u_bool);
  *i = PD_SCOPED(s_int32) > PD_SCOPED(t_int32) ? PD_SCOPED(u_int32) : FLAGS_bare + 1;
  *u = PD_SCOPED(s_uint32) + PD_SCOPED(t_uint32) + PD_SCOPED(u_uint32);
  *l = PD_SCOPED(s_int64) + PD_SCOPED(t_int64) + PD_SCOPED(u_int64);
  *m = PD_SCOPED(s_uint64) + PD_SCOPED(t_uint64) + PD_SCOPED(u_uint64);
  *d = PD_SCOPED(s_double) + PD_SCOPED(t_double) + PD_SCOPED(u_double);
  if (!PD_SCOPED_FLAG(s_int32)) return "";
  return *PD_SCOPED(s_string) ? PD_SCOPED(t_string) : PD_SCOPED(u_string);
}
"""
# A macro of the user that has the name of a flag doesn't come between.
MACRO = '#include <pd_flags.h>\n#define level 3\nPD_DEFINE_int32(level, 6, "Level");\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("headers")


def compile_text(
    place: Path, compiler: str, suffix: str, text: str, *flags: str, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Compile a text to an object beside it."""
    driver = DRIVERS[suffix][compiler]
    source = write(place / f"source.{suffix}", text)
    words = [tool(driver, PACKAGES.get(driver)), f"-I{INCLUDE}", "-fPIC", *flags, "-c", source]
    return run(*words, "-o", place / "source.o", check=check)


def knows(place: Path, compiler: str, suffix: str, standard: str) -> bool:
    tried = compile_text(place, compiler, suffix, "", f"-std={standard}", check=False)
    return tried.returncode == 0


# ---- Without warnings ----


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("standard", [*C_STANDARDS, "newest"])
def test_c_compiles_without_a_warning(place: Path, compiler: str, standard: str) -> None:
    known = [s for s in NEWEST["c"] if knows(place, compiler, "c", s)]
    for each in known if standard == "newest" else [standard]:
        for text in (EVERYTHING, MACRO, "#include <pd_flags.h>\nextern int unused_unit;\n"):
            compile_text(place, compiler, "c", text, *STRICT, *STRICT_C, f"-std={each}", "-O2")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("standard", [*CXX_STANDARDS, "newest"])
def test_cxx_compiles_without_a_warning(place: Path, compiler: str, standard: str) -> None:
    known = [s for s in NEWEST["cc"] if knows(place, compiler, "cc", s)]
    for each in known if standard == "newest" else [standard]:
        for text in (EVERYTHING, MACRO, "#include <pd_flags.h>\n"):
            flags = (*STRICT, *STRICT_CXX, f"-std={each}", "-O2")
            compile_text(place, compiler, "cc", text, *flags)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_cxx_takes_flags_in_namespaces_and_without_exceptions(place: Path, compiler: str) -> None:
    text = """
#include <pd_flags.h>
namespace outer { namespace {
PD_DEFINE_int32(inner_level, 6, "Level", .max = 9);
} int level(); int level() { return FLAGS_inner_level; } }
"""
    compile_text(place, compiler, "cc", text, *WARNINGS, "-fno-exceptions", "-fno-rtti")


# ---- Writing is refused ----

FLAG = '#include <stdio.h>\n#include <pd_flags.h>\nPD_DEFINE_int32(x, 6, "X");\nvoid f(void);\n'
WRITES = ["FLAGS_x = 3", "FLAGS_x += 3", "FLAGS_x++", "--FLAGS_x", "int *p = &FLAGS_x; (void)p"]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("suffix", ["c", "cc"])
@pytest.mark.parametrize("statement", WRITES)
def test_writing_to_a_flag_does_not_compile(
    place: Path, compiler: str, suffix: str, statement: str
) -> None:
    text = f"{FLAG}void f(void) {{ {statement}; }}\n"
    refused = compile_text(place, compiler, suffix, text, "-Werror", check=False)
    assert refused.returncode != 0
    assert re.search(
        r"read-only|const|deleted|no match|no .operator|cannot (increment|decrement)|incompatible"
        r"|cannot convert|no viable",
        refused.stderr,
    ), refused.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("use", ['printf("%d", FLAGS_x)', "auto copy = FLAGS_x; (void)copy"])
def test_cxx_never_passes_the_view_itself_along(place: Path, compiler: str, use: str) -> None:
    refused = compile_text(
        place, compiler, "cc", f"{FLAG}void f() {{ {use}; }}\n", "-std=c++11", check=False
    )
    assert refused.returncode != 0
    assert "flag_view" in refused.stderr
    assert "use FLAGS_x.get()" in refused.stderr
    for value in ("int(FLAGS_x)", "FLAGS_x.get()"):
        fine = use.replace("FLAGS_x", value)
        compile_text(place, compiler, "cc", f"{FLAG}void f() {{ {fine}; }}\n", *WARNINGS)


CXX_USES = """
#include <algorithm>
#include <string>
#include <pd_flags.h>
PD_DEFINE_int32(n, 2, "N");
PD_DEFINE_string(s, "ab", "S");
PD_DEFINE_string(other, "ab", "The same text, elsewhere");
int main() {
  const std::string text("ab"), more = FLAGS_s.get(), direct(FLAGS_s);
  const char same[] = "ab", less[] = "a";
  std::string assigned;
  assigned = FLAGS_s;
  auto n = FLAGS_n.get();
  const bool equal = FLAGS_s == text && text == FLAGS_s && FLAGS_s == same && same == FLAGS_s &&
                     FLAGS_s == FLAGS_other && more == text && direct == text && assigned == text;
  const bool unlike = FLAGS_s != text || text != FLAGS_s || FLAGS_s != same || same != FLAGS_s ||
                      FLAGS_s != FLAGS_other || FLAGS_s == less || FLAGS_s == nullptr ||
                      FLAGS_s == std::string("a") || !(FLAGS_s != std::string());
  return equal && !unlike && std::max(FLAGS_n.get(), 3) == 3 && n == 2 && FLAGS_n == 2 ? 0 : 1;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("standard", ["c++11", "c++17", "c++20"])
def test_cxx_compares_strings_by_their_text_and_gets_values_for_templates(
    place: Path, compiler: str, standard: str
) -> None:
    compile_text(place, compiler, "cc", CXX_USES, *WARNINGS, f"-std={standard}", "-fno-lto")
    run(DRIVERS["cc"][compiler], place / "source.o", "-o", place / "uses")
    run(place / "uses")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c_passes_a_flag_to_printf(place: Path, compiler: str) -> None:
    text = f'{FLAG}void f(void) {{ printf("%d", FLAGS_x); }}\n'
    compile_text(place, compiler, "c", text, *WARNINGS)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("suffix", ["c", "cc"])
def test_a_default_that_does_not_suit_the_type_does_not_compile(
    place: Path, compiler: str, suffix: str
) -> None:
    text = '#include <pd_flags.h>\nPD_DEFINE_int32(x, "six", "X");\n'
    refused = compile_text(place, compiler, suffix, text, "-Werror", check=False)
    assert refused.returncode != 0


TYPOS = {
    "int": ("int32", "int64"),
    "uint": ("uint32", "uint64"),
    "long": ("int64",),
    "float": ("double",),
    "str": ("string",),
}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("suffix", ["c", "cc"])
def test_a_type_that_there_is_not_is_refused_with_the_one_to_use(
    place: Path, compiler: str, suffix: str
) -> None:
    verbs = ("DEFINE", "IMPORT", "DECLARE", "DEFINE_SCOPED", "IMPORT_SCOPED", "DECLARE_SCOPED")
    lines = [f"PD_{verb}_{typo}(x{i}_{typo}, 1);" for i, verb in enumerate(verbs) for typo in TYPOS]
    text = "\n".join(["#include <pd_flags.h>", *lines, ""])
    every = ["-ferror-limit=0"] if compiler == "clang" else []
    refused = compile_text(place, compiler, suffix, text, *every, check=False)
    said = refused.stdout + refused.stderr
    assert refused.returncode != 0
    for verb in verbs:
        for typo, right in TYPOS.items():
            use = f" or {'_' if 'SCOPED' in verb else f'PD_{verb}_'}".join(right)
            assert f"error: PD_{verb}_{typo}: use PD_{verb}_{use}\n" in said


MISFITS = [
    ("int32", "3.7"),
    ("int32", "2147483648"),
    ("int32", "0xffffffffu"),
    ("uint32", "-1"),
    ("uint32", "4294967296"),
    ("int64", "9223372036854775808u"),
    ("int64", "1e9"),
    ("uint64", "-1"),
    ("uint64", "0.5"),
    ("bool", "5"),
    ("bool", "-1"),
    ("bool", "0.5"),
]
FITS = [
    ("int32", "-2147483647 - 1"),
    ("int32", "2147483647u"),
    ("int32", "1 ? 'a' : 2"),
    ("uint32", "4294967295"),
    ("uint32", "0u"),
    ("uint64", "0"),
    ("int64", "0"),
    ("bool", "false"),
    ("int64", "INT64_MIN"),
    ("int64", "sizeof(int)"),
    ("uint64", "UINT64_MAX"),
    ("bool", "1"),
    ("bool", "!0"),
    ("bool", "3 > 2"),
    ("double", "3"),
    ("double", "-0.0"),
    ("double", "1 / 3.0"),
]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(("suffix", "standard"), [("c", "c99"), ("c", "gnu17"), ("cc", "c++11")])
def test_a_value_that_the_type_cannot_hold_does_not_compile(
    place: Path, compiler: str, suffix: str, standard: str
) -> None:
    def compiles(kind: str, value: str, *flags: str) -> bool:
        text = f'#include <pd_flags.h>\nPD_DEFINE_{kind}(x, {value}, "X");\n'
        text += f"PD_IMPORT_{kind}(y, {value});\n"
        tried = compile_text(
            place, compiler, suffix, text, f"-std={standard}", *flags, "-fsyntax-only", check=False
        )
        return tried.returncode == 0

    assert [each for each in MISFITS if compiles(*each)] == []
    strict = (*WARNINGS, *(STRICT_C if suffix == "c" else STRICT_CXX))
    assert [each for each in FITS if not compiles(*each, *strict)] == []


@pytest.mark.parametrize("suffix", ["c", "cc"])
@pytest.mark.parametrize(
    ("first", "second", "complaint"),
    [
        ("PD_DEFINE_int32(x, 6, NULL);", "PD_DEFINE_int32(x, 6, NULL);", "multiple definition"),
        ("PD_DEFINE_int32(x, 6, NULL);", "PD_IMPORT_int32(x, 6);", "multiple definition"),
        ("PD_DEFINE_int32(x, 6, NULL);", "PD_DEFINE_int64(x, 6, NULL);", "multiple definition"),
        ("PD_DECLARE_int32(x);", "", "undefined|isn't defined"),
        ("PD_DECLARE_int64(x);", "PD_DEFINE_int32(x, 6, NULL);", "undefined|isn't defined"),
    ],
    ids=["twice", "defined_and_imported", "two_types", "declared_only", "declared_otherwise"],
)
def test_a_flag_that_a_module_has_twice_or_not_at_all_does_not_link(
    place: Path, suffix: str, first: str, second: str, complaint: str
) -> None:
    reads = "int f(void);\nint f(void) { return FLAGS_x; }\n"
    texts = (f"#include <pd_flags.h>\n{first}\n{reads}", f"#include <pd_flags.h>\n{second}\n")
    objects = []
    for number, text in enumerate(texts):
        compile_text(place, "gcc", suffix, text)
        objects.append((place / "source.o").rename(place / f"part{number}.o"))
    refused = run("gcc", "-shared", *objects, "-o", place / "refused.so", check=False)
    assert refused.returncode != 0
    assert re.search(complaint, refused.stderr)
    assert re.search(r"pd_flag_\w+_x\b", refused.stderr)  # a name that tells the user's


# ---- Reading is one load ----

READS = """
#include <pd_flags.h>
PD_DEFINE_bool(a_bool, true, "A bool");
PD_DEFINE_int32(an_int32, 1, "An int32");
PD_DEFINE_uint64(a_uint64, 1, "A uint64");
PD_DEFINE_double(a_double, 1, "A double");
PD_DEFINE_string(a_string, "a", "A string");
#ifdef __cplusplus
extern "C" {
#endif
bool read_bool(void);
int32_t read_int32(void);
uint64_t read_uint64(void);
double read_double(void);
const char *read_string(void);
bool read_bool(void) { return FLAGS_a_bool; }
int32_t read_int32(void) { return FLAGS_an_int32; }
uint64_t read_uint64(void) { return FLAGS_a_uint64; }
double read_double(void) { return FLAGS_a_double; }
const char *read_string(void) { return FLAGS_a_string; }
#ifdef __cplusplus
}
#endif
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 machine code")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("suffix", ["c", "cc"])
def test_reading_is_one_mov_from_the_cell(place: Path, compiler: str, suffix: str) -> None:
    compile_text(place, compiler, suffix, READS, "-O2", "-fcf-protection=none")
    words = [tool("objdump", "binutils"), "-d", "-r", "--no-show-raw-insn", place / "source.o"]
    functions = re.findall(r"<read_(\w+)>:\n(.*?)\bret", run(*words).stdout, re.DOTALL)
    assert sorted(name for name, _ in functions) == ["bool", "double", "int32", "string", "uint64"]
    for name, body in functions:
        code = re.findall(r"^ +[0-9a-f]+:\t(\w+) ", body, re.MULTILINE)
        cells = re.findall(r"R_X86_64_PC32\tpd_flag_cell_(\w+)", body)
        assert len(cells) == 1, body
        assert cells[0].startswith(f"{name}_a")
        assert code[0].startswith("mov"), body
        # At most one more, that narrows a bool or moves a double: no call, no lock.
        assert len(code) <= 2, body
        assert all(word.startswith(("mov", "and")) for word in code), body


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("suffix", ["c", "cc"])
def test_no_two_flags_share_a_line_of_the_cache(place: Path, compiler: str, suffix: str) -> None:
    compile_text(place, compiler, suffix, READS, "-O2", "-fPIC")
    module = place / "lines.so"
    run(DRIVERS[suffix][compiler], "-shared", place / "source.o", "-o", module)
    symbols = run(tool("nm", "binutils"), module).stdout
    cells = re.findall(r"^([0-9a-f]+) \w pd_flag_cell_", symbols, re.MULTILINE)
    assert len({int(address, 16) // 64 for address in cells}) == len(cells) == 5


SPIN = """
#include <pthread.h>
#include <stdio.h>
#include <pd_flags.h>
PD_DEFINE_bool(spin_stop, false, "Whether to stop");
PD_DEFINE_int32(spin_level, 0, "What to wait for");
PD_DEFINE_double(spin_ratio, 0, "What to wait for");
PD_DEFINE_string(spin_mode, "", "What to wait for");
static void *spin(void *unused) {
  while (FLAGS_spin_level == 0) {}
  while (FLAGS_spin_ratio < 1) {}
  while (!*FLAGS_spin_mode) {}
  while (!FLAGS_spin_stop) {}
  return unused;
}
static void set(const char *name, const char *text) {
  pd_flag *flag;
  if (pd_flag_find(name, &flag, NULL) != PD_OK ||
      pd_flag_set_from_string(flag, text, NULL) != PD_OK) {
    puts("cannot set");
  }
}
int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, spin, NULL)) return 1;
  set("spin_level", "1");
  set("spin_ratio", "1");
  set("spin_mode", "x");
  set("spin_stop", "true");
  pthread_join(thread, NULL);
  puts("stopped");
  return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("suffix", ["c", "cc"])
@pytest.mark.skipif(bool(SANITIZE), reason="the library needs the sanitizer in the program")
def test_a_loop_reads_the_flag_again_each_round(place: Path, compiler: str, suffix: str) -> None:
    compile_text(place, compiler, suffix, SPIN, *WARNINGS, "-O3")
    program = place / "spin"
    linked = [f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags", "-pthread"]
    run(DRIVERS[suffix][compiler], place / "source.o", "-o", program, *linked)
    assert run(program).stdout == "stopped\n"


# ---- Races ----

RACE = """
#include <pthread.h>
#include <string.h>
#include <pd_flags.h>
PD_DEFINE_int32(race_level, 0, "Set while it is read");
PD_DEFINE_double(race_ratio, 0, "Set while it is read");
PD_DEFINE_string(race_mode, "start", "Set while it is read");
#ifdef PLAIN
extern int32_t plain_level __asm__("pd_flag_cell_int32_race_level");
#define LEVEL plain_level
#else
#define LEVEL FLAGS_race_level
#endif
static void *read_all(void *total) {
  size_t sum = 0;
  for (int i = 0; i < 20000; i++) {
    sum += (size_t)LEVEL + (size_t)FLAGS_race_ratio + strlen(FLAGS_race_mode);
  }
  *(size_t *)total = sum;
  return NULL;
}
static pd_flag *find(const char *name) {
  pd_flag *flag = NULL;
  pd_flag_find(name, &flag, NULL);
  return flag;
}
int main(void) {
  static size_t total;
  char mode[] = "mode 0";
  pthread_t thread;
  if (pthread_create(&thread, NULL, read_all, &total)) return 1;
  pd_flag *level = find("race_level"), *ratio = find("race_ratio"), *text = find("race_mode");
  for (int i = 0; i < 2000; i++) {
    mode[5] = (char)('0' + i % 10);
    pd_flag_set_int32(level, i, NULL);
    pd_flag_set_double(ratio, i, NULL);
    pd_flag_set_string(text, mode, NULL);
  }
  pthread_join(thread, NULL);
  return total == 0;
}
"""


@pytest.fixture
def under_tsan(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Build program and library for ThreadSanitizer; give what it says."""

    def start(compiler: str, suffix: str, *flags: str) -> str:
        library = library_object(tmp_path_factory, [DRIVERS["c"][compiler]], "-fsanitize=thread")
        return run_under_tsan(place, library, compiler, suffix, *flags)

    return start


def run_under_tsan(place: Path, library: Path, compiler: str, suffix: str, *flags: str) -> str:
    checked = ["-fsanitize=thread", "-O1", "-g"]
    program = place / f"race-{compiler}-{suffix}"
    compile_text(place, compiler, suffix, RACE, *checked, *flags)
    driver = DRIVERS[suffix][compiler]
    run(driver, *checked, place / "source.o", library, "-o", program, "-pthread", "-ldl")
    ended = run(program, check=False)
    if "unexpected memory mapping" in ended.stderr:  # more random addresses than it bears
        ended = run(tool("setarch", "util-linux"), "-R", program, check=False)
    return f"{ended.returncode}\n{ended.stderr}"


@pytest.mark.release
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("suffix", ["c", "cc"])
def test_reading_while_another_thread_sets_is_no_race(
    under_tsan: Callable[..., str], compiler: str, suffix: str
) -> None:
    assert under_tsan(compiler, suffix) == "0\n"


@pytest.mark.release
def test_the_sanitizer_would_see_a_plain_read(under_tsan: Callable[..., str]) -> None:
    assert "data race" in under_tsan("gcc", "c", "-DPLAIN")
