"""FLAGS_x, pd::flag<T> and assignable flags where C++ converts: what compiles is right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from support import INCLUDE, LIBDIR, WARNINGS, run, tool, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.extended  # each test compiles

# C++20 rewrites comparisons, and has all conversions of the older ones.
STANDARDS = [
    *(pytest.param(each, marks=pytest.mark.release) for each in ("c++11", "c++14", "c++17")),
    "c++20",
]
COMPILERS = {"g++": None, "clang++": "clang"}
both_compilers = pytest.mark.parametrize("compiler", COMPILERS)
every_standard = pytest.mark.parametrize("standard", STANDARDS)

# Every kind of flag, by one name: VIEW_<name> is an expression for it.
FLAGS = """
#include <pd_flags.hpp>
#include <cstdio>
#include <string>
PD_DEFINE_bool(b, true, "B");
PD_DEFINE_int32(i, -3, "I");
PD_DEFINE_uint32(u, 4000000000u, "U");
PD_DEFINE_int64(n, -5000000000, "N");
PD_DEFINE_uint64(m, 18446744073709551615u, "M");
PD_DEFINE_double(rate, 0.9, "Rate");
PD_DEFINE_string(s, "abc", "S");
PD_DEFINE_string(same, "abc", "The same text");
PD_IMPORT_double(far, 0.25);
static pd::flag<bool> ob{"ob", true, "B"};
static pd::flag<int> oi{"oi", -3, "I"};
static pd::flag<unsigned> ou{"ou", 4000000000u, "U"};
static pd::flag<int64_t> on{"on", -5000000000, "N"};
static pd::flag<uint64_t> om{"om", 18446744073709551615u, "M"};
static pd::flag<double> orate{"orate", 0.9, "Rate"};
static pd::flag<float> of{"of", 0.5f, "Float"};
static pd::flag<int8_t> ot{"ot", 65, "Tiny"};
static pd::flag<const char *> os{"os", "abc", "S"};
static pd::flag<std::string> ostring{"ostring", "abc", "S"};
static pd::flag<std::string> osame{"osame", "abc", "S"};
static pd::import<int64_t> ofar{"ofar", 7};
"""

# Each arithmetic type beside each flag: either the compiler refuses, or the conditional
# expression has the type that it has with a plain variable.
CONDITIONAL = """
template <class T>
T made(); /* a value where declval gives a reference */
template <class U, class F>
auto choose(int) -> decltype(true ? made<U>() : made<F>());
template <class U, class F>
struct refused {};
template <class U, class F>
refused<U, F> choose(...);

template <class U, class T, class F, class Written>
struct one_side {
  using both = decltype(true ? made<typename std::decay<U>::type>() : made<T>());
  using type = typename std::decay<Written>::type;
  static constexpr bool compiles = !std::is_same<type, refused<U, F>>::value &&
                                   !std::is_same<type, refused<F, U>>::value;
  static constexpr bool keeps = std::is_arithmetic<type>::value && sizeof(type) == sizeof(both) &&
                                std::is_signed<type>::value == std::is_signed<both>::value &&
                                std::is_floating_point<type>::value ==
                                    std::is_floating_point<both>::value;
  static_assert(!compiles || keeps, "compiles, and loses something");
  static_assert(compiles || !std::is_same<typename std::decay<U>::type, both>::value,
                "refused, though nothing would be lost");
};
template <class U, class T, class F>
constexpr bool check_one() {
  return sizeof(one_side<U, T, F, decltype(choose<U, F>(0))>) +
             sizeof(one_side<U, T, F, decltype(choose<F, U>(0))>) >
         0;
}
template <class U, class T, class F>
constexpr bool check_forms() {
  return check_one<U, T, F>() && check_one<U &, T, F>() && check_one<const U &, T, F>() &&
         check_one<volatile U &, T, F>();
}
template <class T, class F>
constexpr bool check_flag() {
  return check_forms<bool, T, F>() && check_forms<char, T, F>() &&
         check_forms<signed char, T, F>() && check_forms<unsigned char, T, F>() &&
         check_forms<wchar_t, T, F>() && check_forms<char16_t, T, F>() &&
         check_forms<char32_t, T, F>() && check_forms<short, T, F>() &&
         check_forms<unsigned short, T, F>() && check_forms<int, T, F>() &&
         check_forms<unsigned, T, F>() && check_forms<long, T, F>() &&
         check_forms<unsigned long, T, F>() && check_forms<long long, T, F>() &&
         check_forms<unsigned long long, T, F>() && check_forms<float, T, F>() &&
         check_forms<double, T, F>() && check_forms<long double, T, F>();
}
#define CHECK_VIEW(T, x) static_assert(check_flag<T, decltype((x))>(), #x)
CHECK_VIEW(bool, FLAGS_b);
CHECK_VIEW(int32_t, FLAGS_i);
CHECK_VIEW(uint32_t, FLAGS_u);
CHECK_VIEW(int64_t, FLAGS_n);
CHECK_VIEW(uint64_t, FLAGS_m);
CHECK_VIEW(double, FLAGS_rate);
CHECK_VIEW(double, FLAGS_far);
CHECK_VIEW(bool, ob);
CHECK_VIEW(int, oi);
CHECK_VIEW(unsigned, ou);
CHECK_VIEW(int64_t, on);
CHECK_VIEW(uint64_t, om);
CHECK_VIEW(double, orate);
CHECK_VIEW(float, of);
CHECK_VIEW(int8_t, ot);
CHECK_VIEW(int64_t, ofar);
"""
REFUSED = [
    "yes ? 2 : FLAGS_rate",
    "yes ? FLAGS_rate : 2",
    "yes ? 0 : FLAGS_n",
    "yes ? -1 : FLAGS_u",
    "yes ? 2 : orate",
    "yes ? 0 : on",
    "yes ? 0 : ofar",
    "yes ? small : FLAGS_rate",
]

# What a user may write, and what it gives. `yes` and `no` aren't known to the compiler.
USES = """
#include <algorithm>
#include <map>
#include <vector>
static volatile bool yes = true, no = false;
enum colour { red, green = 1 };
static int wrong;
#define EXPECT(...) \\
  if (!(__VA_ARGS__)) wrong++, std::printf("line %d: %s\\n", __LINE__, #__VA_ARGS__)
#define NEAR(a, b) ((a) - (b) < 1e-9 && (b) - (a) < 1e-9)
template <class T>
static T twice(T value) { return value + value; }
static double widened(double value) { return value; }
static int64_t widened_integer(int64_t value) { return value; }
static std::string text_of(const char *text) { return text; }
static int overloaded(int) { return 1; }
static int overloaded(int64_t) { return 2; }
static int overloaded(double) { return 3; }
static int overloaded(const char *) { return 4; }
template <class T>
static const char *made() { return FLAGS_s; }
struct holder {
  double rate = FLAGS_rate;
  int level() const { return FLAGS_i; }
};

static void conditional() {
  EXPECT(NEAR(no ? 2.0 : FLAGS_rate, 0.9) && NEAR(yes ? FLAGS_rate : 2.0, 0.9));
  EXPECT(NEAR(no ? FLAGS_i : FLAGS_rate, 0.9) && NEAR(no ? oi : FLAGS_rate, 0.9));
  EXPECT(NEAR(no ? FLAGS_b : orate, 0.9) && NEAR(no ? oi : orate, 0.9));
  EXPECT((no ? int64_t(0) : FLAGS_n) == -5000000000 && (no ? FLAGS_i : FLAGS_n) == -5000000000);
  EXPECT((no ? int64_t(0) : on) == -5000000000 && (no ? oi : on) == -5000000000);
  EXPECT((no ? FLAGS_n : ofar) == 7 && (no ? ofar : on) == -5000000000 && (no ? on : ofar) == 7);
  EXPECT((no ? 0 : FLAGS_i) == -3 && (no ? 0 : FLAGS_b) == 1 && (no ? 0 : ot) == 65);
  EXPECT((no ? 1u : FLAGS_u) == 4000000000u && (no ? INT64_C(-1) : FLAGS_u) == 4000000000);
  EXPECT((no ? red : FLAGS_i) == -3 && NEAR(no ? green : FLAGS_rate, 0.9));
  EXPECT((no ? FLAGS_i : FLAGS_i) == -3 && (no ? oi : oi) == -3);
  EXPECT(text_of(no ? "x" : FLAGS_s) == "abc" && text_of(yes ? FLAGS_s : "x") == "abc");
  EXPECT(text_of(no ? "x" : os) == "abc" && text_of(no ? FLAGS_s : FLAGS_same) == "abc");
  EXPECT((no ? std::string("x") : ostring) == "abc");
  EXPECT(NEAR(no ? 2 : FLAGS_rate.get(), 0.9) && NEAR(no ? 2 : *orate, 0.9));
  auto chosen = no ? FLAGS_i : FLAGS_rate;
  EXPECT(std::is_same<decltype(chosen), double>::value && NEAR(chosen, 0.9));
}

static void arithmetic() {
  int array[8] = {0, 1, 2, 3, 4, 5, 6, 7}, *end = array + 8, total = 0;
  EXPECT(FLAGS_i + 1 == -2 && 2 * FLAGS_i == -6);
  EXPECT(-FLAGS_i == 3 && ~FLAGS_i == 2 && FLAGS_i % 2 == -1);
  EXPECT(NEAR(FLAGS_rate + 1, 1.9) && NEAR(2 * FLAGS_rate, 1.8));
  EXPECT(NEAR(FLAGS_rate / FLAGS_far, 3.6));
  EXPECT((1 << FLAGS_b) == 2 && (FLAGS_u >> 1) == 2000000000u && (FLAGS_u & 1u) == 0 && !!FLAGS_b);
  EXPECT(end[FLAGS_i] == 5 && *(end + FLAGS_i) == 5 && FLAGS_i[end] == 5 && array[FLAGS_b] == 1);
  EXPECT(end[oi] == 5 && *(end + oi) == 5);
  EXPECT(NEAR(orate + 1, 1.9) && -oi == 3 && oi * on == 15000000000);
  EXPECT(FLAGS_i < 0 && 0 > FLAGS_i && FLAGS_rate < 1 && FLAGS_n < FLAGS_i && FLAGS_m > FLAGS_u);
  EXPECT(FLAGS_i == oi && oi == FLAGS_i && oi != on);
  EXPECT(FLAGS_i <= oi && oi >= FLAGS_i && oi < orate);
  total += FLAGS_i;
  total -= oi;
  for (int at = 0; at < -FLAGS_i; at++) total++;
  EXPECT(total == 3);
  switch (FLAGS_i) { case -3: total = 10; break; default: total = 0; }
  switch (oi) { case -3: total++; break; default: total = 0; }
  EXPECT(total == 11);
  if (FLAGS_b && FLAGS_i && FLAGS_s && ob && oi) total = 12;
  while (!FLAGS_b || !ob) total = 0;
  EXPECT(total == 12);
}

static void conversion() {
  double wide = FLAGS_i, wider = FLAGS_rate;
  int64_t whole = FLAGS_i;
  const char *text = FLAGS_s;
  std::string assigned;
  std::vector<int> sized(FLAGS_b ? 3 : 0), one(FLAGS_u / 4000000000u);
  std::map<int, int> map{{-3, 5}};
  assigned = FLAGS_s;
  assigned += FLAGS_s;
  EXPECT(NEAR(wide, -3) && NEAR(wider, 0.9) && whole == -3 && *text == 'a' && assigned == "abcabc");
  EXPECT(sized.size() == 3 && one.size() == 1 && map[FLAGS_i] == 5 && sized.at(FLAGS_b) == 0);
  EXPECT(NEAR(widened(FLAGS_i), -3) && widened_integer(FLAGS_i) == -3 && widened_integer(oi) == -3);
  EXPECT(overloaded(FLAGS_i) == 1 && overloaded(FLAGS_n) == 2 && overloaded(FLAGS_rate) == 3);
  EXPECT(overloaded(FLAGS_s) == 4 && overloaded(oi) == 1);
  EXPECT(overloaded(orate) == 3 && overloaded(os) == 4);
  EXPECT(std::to_string(FLAGS_i) == "-3" && std::to_string(FLAGS_n) == "-5000000000");
  EXPECT(std::to_string(oi) == "-3" && std::to_string(FLAGS_m) == "18446744073709551615");
  EXPECT(std::max<int64_t>(FLAGS_n, 3) == 3 && std::min(FLAGS_rate.get(), 2.0) < 1);
  EXPECT(std::min<double>(FLAGS_rate, 2) < 1 && std::min({FLAGS_i.get(), *oi, 4}) == -3);
  EXPECT(twice(FLAGS_i.get()) == -6);
  EXPECT(twice<double>(FLAGS_rate) > 1.7 && twice<int64_t>(FLAGS_i) == -6);
  EXPECT(static_cast<int>(FLAGS_rate) == 0);
  EXPECT(int(FLAGS_n.get() / 1000000000) == -5 && double(oi) < 0);
  auto later = [] { return FLAGS_i + oi; };
  auto copied = [=] { return whole + FLAGS_i; };
  EXPECT(later() == -6 && copied() == -6 && holder().level() == -3 && NEAR(holder().rate, 0.9));
  EXPECT(FLAGS_s == FLAGS_same && FLAGS_s == os);
  EXPECT(os == FLAGS_s && ostring == osame && os == "abc");
  EXPECT(!(FLAGS_s != FLAGS_same) && !(os != FLAGS_s));
  EXPECT(!(ostring != osame) && ostring == FLAGS_s.get());
  EXPECT(*made<int>() == 'a' && std::string(FLAGS_s).size() == 3 && !(FLAGS_s == nullptr));
  const auto &bound = FLAGS_i;
  EXPECT(bound == -3 && bound + 1 == -2);
}

int main() {
  conditional();
  arithmetic();
  conversion();
  return wrong;
}
"""
# Kept out of USES, since these are refused in both.
NEVER = [
    'std::printf("%d", FLAGS_i)',
    'std::printf("%s", FLAGS_s)',
    'std::printf("%d", oi)',
    'std::printf("%s", ostring)',
    "auto copy = FLAGS_i; (void)copy",
    "auto copy = oi; (void)copy",
    "std::max(FLAGS_i, 3)",
    "const void *at = &FLAGS_i; (void)at",
    "FLAGS_i = 3",
    "FLAGS_i++",
    "pd::flag_view<int32_t, &pd__cell_FLAGS_i> made(true)",
]

# Declared again and again, and wherever a declaration may stand but within a function.
PLACES = """
#include <pd_flags.h>
PD_DECLARE_int32(x);
extern "C" { PD_DECLARE_double(r); double from_c(); double from_c() { return FLAGS_r; } }
PD_DECLARE_int32(x);
PD_DEFINE_int32(x, 6, "X");
PD_DECLARE_int32(x);
namespace a {
PD_DECLARE_string(s);
namespace { PD_DEFINE_bool(hidden, true, "Hidden"); }
bool reads(); bool reads() { return FLAGS_hidden; }
}
namespace b { PD_DECLARE_string(s); PD_DEFINE_string(s, "text", "S"); }
PD_DEFINE_double(r, 0.5, "R");
template <class T>
T as() { return static_cast<T>(FLAGS_x); }
struct holder {
  static int level() { return FLAGS_x; }
  int kept = FLAGS_x;
};
int main() {
  auto later = [] { return FLAGS_r + FLAGS_x; };
  bool fine = as<int>() == 6 && as<double>() > 5 && later() > 6 && holder::level() == 6;
  fine = fine && holder().kept == 6 && from_c() > 0.4 && a::reads() && *a::FLAGS_s == 't';
  return fine && b::FLAGS_s == a::FLAGS_s ? 0 : 1;
}
"""

# The flags of the headers in compat are variables, and go on to be.
ASSIGNABLE = """
#include <pd_flags.h>
#include <gflags/gflags.h>
#include <c10/util/Flags.h>
DEFINE_double(rate, 0.9, "Rate");
DEFINE_int64(n, -5000000000, "N");
DEFINE_string(s, "abc", "S");
C10_DEFINE_double(c_rate, 0.9, "Rate");
static volatile bool no = false;
int main() {
  double rate = no ? 2 : FLAGS_rate, other = no ? 2 : FLAGS_c_rate;
  int64_t n = no ? 0 : FLAGS_n;
  std::string s = no ? "x" : FLAGS_s;
  auto copy = FLAGS_rate;
  return rate < 0.8 || other < 0.8 || n != -5000000000 || s != "abc" || copy < 0.8;
}
"""

STREAMS = """
#include <sstream>
#include <iomanip>
#include <iostream>
#include <chrono>
#include <vector>
#if __cplusplus >= 201703L
#include <optional>
#endif
namespace shapes {
enum class mode { fast, best };
enum plain { one, two };
struct point { int x, y; };
struct shown { int x; };
static inline pd::names<mode> pd_names(mode) {
  static const pd::name<mode> all[] = {{"fast", mode::fast}, {"best", mode::best}};
  return all;
}
static inline pd::names<plain> pd_names(plain) {
  static const pd::name<plain> all[] = {{"one", one}, {"two", two}};
  return all;
}
static inline bool pd_parse(const char *, point &, std::string &) { return true; }
static inline std::string pd_format(const point &) { return "1:2"; }
static inline bool pd_parse(const char *, shown &, std::string &) { return true; }
static inline std::string pd_format(const shown &) { return "text"; }
static inline std::ostream &operator<<(std::ostream &out, const shown &) { return out << "own"; }
}
static pd::flag<uint8_t> tiny{"tiny", 66, "Tiny"};
static pd::flag<shapes::mode> mode{"mode", shapes::mode::best, "Mode"};
static pd::flag<shapes::plain> plain{"plain", shapes::two, "Plain"};
static pd::flag<shapes::point> point{"point", shapes::point{1, 2}, "Point"};
static pd::flag<shapes::shown> shown{"shown", shapes::shown{1}, "Shown"};
static pd::flag<std::vector<int>> list{"list", {1, 2}, "List"};
static pd::flag<std::vector<std::string>> texts{"texts", {"a", "b,c"}, "Texts"};
static pd::flag<std::chrono::milliseconds> nap{"nap", std::chrono::milliseconds(250), "Nap"};
static pd::import<std::string> import{"import", "far"};
#if __cplusplus >= 201703L
static pd::flag<std::string_view> newer{"newer", "view", "View"};
static pd::flag<std::optional<int>> maybe{"maybe", 5, "Maybe"};
#else
static pd::flag<std::string> newer{"newer", "view", "View"};
static pd::flag<int> maybe{"maybe", 5, "Maybe"};
#endif
int main() {
  std::ostream &out = std::cout;
  out << FLAGS_b << ' ' << FLAGS_i << ' ' << FLAGS_u << ' ' << FLAGS_n << ' ' << FLAGS_m << ' '
      << FLAGS_rate << ' ' << FLAGS_s << ' ' << FLAGS_far << '\\n';
  out << ob << ' ' << oi << ' ' << ou << ' ' << on << ' ' << om << ' ' << orate << ' ' << of << ' '
      << ot << ' ' << os << ' ' << ostring << ' ' << ofar << '\\n';
  out << tiny << ' ' << mode << ' ' << plain << ' ' << point << ' ' << shown << ' ' << list << ' '
      << texts << ' ' << nap << ' ' << import << ' ' << newer << ' ' << maybe << '\\n';
  out << std::boolalpha << FLAGS_b << ob << std::setw(6) << ostring << std::hex << FLAGS_b << '\\n';
  std::ostringstream text;
  text << oi << FLAGS_s << pd::ref<int>();
  out << text.str() << (std::ostringstream() << oi).good() << '\\n';
  std::wcout << FLAGS_i << L' ' << FLAGS_s << L' ' << oi << L' ' << ostring << L' ' << list
             << L'\\n';
}
"""
SHOWN = """\
1 -3 4000000000 -5000000000 18446744073709551615 0.9 abc 0.25
1 -3 4000000000 -5000000000 18446744073709551615 0.9 0.5 65 abc abc 7
66 best two 1:2 own 1,2 a,"b,c" 0.25s far view 5
truetrue   abctrue
-3abctrue
-3 abc -3 abc 1,2
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uses")


def command(compiler: str, standard: str) -> list[str]:
    return [tool(compiler, COMPILERS[compiler]), f"-std={standard}", f"-I{INCLUDE}"]


def built(place: Path, text: str, compiler: str, standard: str, *flags: str) -> str:
    """What a program made of the text prints."""
    source, program = write(place / "uses.cc", text), place / "uses"
    run(*command(compiler, standard), *WARNINGS, source, *flags, "-o", program)
    return run(program).stdout


@both_compilers
@every_standard
def test_each_use_is_right(place: Path, compiler: str, standard: str) -> None:
    for optimiser in ("-O0", "-O2"):
        assert built(place, FLAGS + USES, compiler, standard, optimiser) == ""


@both_compilers
@every_standard
def test_a_conditional_expression_is_right_or_refused(
    place: Path, compiler: str, standard: str
) -> None:
    source = write(place / "conditional.cc", FLAGS + CONDITIONAL)
    run(*command(compiler, standard), "-w", "-fsyntax-only", source)


@both_compilers
@pytest.mark.parametrize("standard", [STANDARDS[0], "c++20"])
def test_what_would_narrow_or_pass_the_flag_itself_does_not_compile(
    place: Path, compiler: str, standard: str
) -> None:
    tried = [f"double made = {each}; (void)made" for each in REFUSED] + NEVER
    fine = "double made = yes ? 2.0 : FLAGS_rate + small; (void)made"
    lines = [f"void f{at}() {{ {each}; }}" for at, each in enumerate([*tried, fine])]
    start = f"{FLAGS}#include <algorithm>\nextern bool yes;\nextern short small;\n"
    source = write(place / "refused.cc", start + "#line 1\n" + "\n".join(lines) + "\n")
    ended = run(*command(compiler, standard), "-fsyntax-only", source, check=False)
    refused = {int(line) for line in re.findall(r"refused.cc:(\d+):\d+: error", ended.stderr)}
    assert [lines[at] for at in range(len(lines)) if at + 1 not in refused] == [lines[-1]]


@both_compilers
@every_standard
def test_flags_of_every_type_go_to_a_stream(place: Path, compiler: str, standard: str) -> None:
    assert built(place, FLAGS + STREAMS, compiler, standard, "-Wno-unused-variable") == SHOWN


@both_compilers
@pytest.mark.parametrize("optimiser", ["-O0", "-O2"])
@pytest.mark.parametrize("standard", [STANDARDS[0], "c++20"])
def test_a_flag_may_be_declared_in_many_places(
    place: Path, compiler: str, standard: str, optimiser: str
) -> None:
    assert built(place, PLACES, compiler, standard, optimiser) == ""


@both_compilers
def test_assignable_flags_are_variables(place: Path, compiler: str) -> None:
    linked = [f"-I{INCLUDE}/compat", f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags"]
    assert built(place, ASSIGNABLE, compiler, "c++11", *linked) == ""


# ---- One symbol, one type ----

SHARED = """
#include <pd_flags.h>
#if defined(__cplusplus)
extern "C" {
#endif
double read_there(void);
#if defined(__cplusplus)
}
#endif
"""
DEFINES = "".join(
    f"PD_DEFINE_{kind}(lto_{kind}, 1, NULL);\n"
    for kind in ("bool", "int32", "uint32", "int64", "uint64", "double")
)
DEFINES += 'PD_DEFINE_string(lto_string, "text", NULL);\n'
DECLARES = re.sub(r"DEFINE_(\w+)\((\w+), .*?\);", r"DECLARE_\1(\2);", DEFINES)
READ_ALL = """
  return (double)FLAGS_lto_int32 + (double)FLAGS_lto_uint32 + (double)FLAGS_lto_int64 +
         (double)FLAGS_lto_uint64 + FLAGS_lto_double + (double)*FLAGS_lto_string +
         (FLAGS_lto_bool ? 1 : 0);
"""
MAIN = f"{SHARED}{DECLARES}{DEFINES}int main(void) {{\n" + READ_ALL.replace(
    "return", "double here ="
)
MAIN += "  return here > 121 && here < 123 && read_there() < 123 ? 0 : 1;\n}\n"
THERE = f"{SHARED}{DECLARES}double read_there(void) {{ {READ_ALL} }}\n"


@pytest.mark.parametrize("optimiser", ["-O0", "-O1", "-O2"])
@pytest.mark.parametrize(("first", "second"), [("cc", "cc"), ("cc", "c"), ("c", "cc")])
def test_one_type_per_symbol_under_lto(
    place: Path, first: str, second: str, optimiser: str
) -> None:
    objects = []
    for name, suffix, text in (("main", first, MAIN), ("there", second, THERE)):
        source = write(place / f"{name}.{suffix}", text)
        objects.append(place / f"{name}.o")
        driver = tool("g++" if suffix == "cc" else "gcc")
        words = [driver, optimiser, "-flto", "-fPIC", *WARNINGS, f"-I{INCLUDE}", "-c", source]
        run(*words, "-o", objects[-1])
    linked = [tool("g++"), optimiser, "-flto", "-Wall", "-Werror", *objects, "-o", place / "lto"]
    assert "mismatch" not in run(*linked).stderr
    run(place / "lto")
