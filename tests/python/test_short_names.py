"""Macros of the user with short names don't reach into the headers."""

from __future__ import annotations

import itertools
import re
import string
from typing import TYPE_CHECKING

import pytest
from mingw import compiler as mingw_compiler
from support import WARNINGS, run, tool, write
from test_public_headers import INCLUDE, ON_PATH, PUBLIC

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.extended  # each test compiles

# Not for macros of a user: keywords, and names that the headers are there to give.
KEYWORDS = {"asm", "and", "do", "for", "if", "int", "new", "not", "or", "try", "xor"}
GIVEN = {"c10", "fL", "fLB", "fLD", "fLI", "fLS", "fLU", "gf", "op", "pd", "phi", "std"}
PUSH = INCLUDE / "pd_flags" / "names_push.h"
POP = INCLUDE / "pd_flags" / "names_pop.h"
LETTERS = string.ascii_letters
# C++ brings the standard library's headers, which have short names of their own.
OF_ONE_LETTER = set(LETTERS)
OF_TWO_LETTERS = {a + b for a, b in itertools.product(LETTERS, LETTERS + string.digits)}
TYPES = ("bool", "int32", "uint32", "int64", "uint64", "double")
MACROS = "".join(
    f'PD_DEFINE_{kind}(defined_{kind}, 1, "Help", .category = "Short", .hidden = true);\n'
    f"PD_IMPORT_{kind}(imported_{kind}, 1);\nPD_DECLARE_{kind}(declared_{kind});\n"
    for kind in TYPES
)
MACROS += """
PD_DEFINE_string(defined_string, "text", "Help", .choices = "text|other");
PD_IMPORT_string(imported_string, "text");
PD_DECLARE_string(declared_string);
double sum_of_all(void);
double sum_of_all(void) { return FLAGS_defined_int32 + FLAGS_imported_double; }
"""
GFLAGS = "".join(
    f'DEFINE_{kind}(g_{kind}, {"true" if kind == "bool" else 1}, "Help");\n'
    f"DECLARE_{kind}(h_{kind});\n"
    for kind in TYPES
)
C10 = "".join(
    f'C10_DEFINE_{kind}(c_{kind}, 1, "Help");\nC10_DECLARE_{kind}(k_{kind});\n'
    for kind in ("bool", "int", "int32", "int64", "double")
)
PHI = "".join(
    f'PHI_DEFINE_EXPORTED_{kind}(phi_{kind}, 1, "Help");\n'
    f'PD_DEFINE_{kind}(own_{kind}, 1, "Help");\n'
    f"PD_DECLARE_{kind}(their_{kind});\n"
    for kind in TYPES
    if kind != "uint32"
)
USES = {
    "pd_flags.h": MACROS,
    "pd_flags.hpp": 'static pd::flag<int> object{"object", 6, "Help", pd::range(1, 9)};\n'
    'static pd::flag<std::vector<bool>> many{"many", {true}, "Help", pd::watch([] {})};\n'
    "int object_now(); int object_now() { return object + static_cast<int>(many->size()); }\n",
    "gflags/gflags.h": GFLAGS + 'DEFINE_string(g_string, "text", "Help");\n',
    "c10/util/Flags.h": C10 + 'C10_DEFINE_string(c_string, "text", "Help");\n',
    "paddle/common/flags.h": PHI + 'PHI_DEFINE_EXPORTED_string(phi_string, "text", "Help");\n',
}


def put_aside() -> set[str]:
    """Return the short names that occur in the headers, as tools/lists.py finds them."""
    return set(re.findall(r'push_macro\("(\w+)"\)', PUSH.read_text("utf-8")))


def test_all_short_names_that_are_put_aside_come_back() -> None:
    assert set(re.findall(r'pop_macro\("(\w+)"\)', POP.read_text("utf-8"))) == put_aside()


def compile_among(
    macros: set[str], text: str, place: Path, command: list[str], first: str = ""
) -> str:
    """Compile a text behind macros, and `first` in front of them; give what the compiler says."""
    defined = sorted(macros - KEYWORDS - GIVEN)
    lines = "".join(f"#define {name} ) broken {name}_is_a_macro (\n" for name in defined)
    suffix = "cc" if "++" in command[0] else "c"
    source = write(place / f"macros.{suffix}", f"{first}{lines}{text}extern int unit;\n")
    words = [tool(command[0]), *command[1:], *ON_PATH, *WARNINGS, "-fsyntax-only", source]
    return run(*words, check=False).stderr


@pytest.mark.parametrize("command", ["gcc -std=c99", "clang -std=c17"])
@pytest.mark.parametrize("options", ["", "#define PD_HEADER_ONLY\n"])
def test_the_c_header_bears_a_macro_of_any_short_name(
    command: str, options: str, tmp_path: Path
) -> None:
    macros = OF_ONE_LETTER | OF_TWO_LETTERS | put_aside()
    text = f"{options}#include <pd_flags.h>\n{MACROS}"
    assert compile_among(macros, text, tmp_path, command.split()) == ""


@pytest.mark.parametrize("command", ["g++ -std=c++11", "clang++ -std=c++20"])
@pytest.mark.parametrize(
    "header",
    [
        pytest.param(
            each, marks=[] if each in ("pd_flags.h", "pd_flags.hpp") else pytest.mark.release
        )
        for each in PUBLIC
    ],
)
def test_every_header_bears_them_in_cxx(header: str, command: str, tmp_path: Path) -> None:
    macros = OF_ONE_LETTER | put_aside()
    macros |= OF_TWO_LETTERS if header == "pd_flags.h" else set()
    text = f"#include <{header}>\n{USES.get(header, '')}"
    first = "#include <string>\n#include <vector>\n"
    if header.startswith("absl/"):  # Abseil and the standard library needn't bear them
        first += "#include <functional>\n#include <map>\n#include <optional>\n"
        for own in ("absl/strings/string_view.h", "absl/types/optional.h"):
            first += f"#if __has_include(<{own}>)\n#include <{own}>\n#endif\n"
        command = command.replace("c++11", "c++17")
    assert compile_among(macros, text, tmp_path, command.split(), first) == ""


@pytest.mark.extended
def test_the_header_bears_them_on_windows(tmp_path: Path) -> None:
    command = [word for word in mingw_compiler("gcc") if not word.startswith("-L")]
    text = f"#include <pd_flags.h>\n{MACROS}"
    assert compile_among(OF_ONE_LETTER | put_aside(), text, tmp_path, command) == ""


def test_a_macro_has_its_meaning_again_behind_the_header(tmp_path: Path) -> None:
    text = "#define S 7\n#define b 8\n#include <pd_flags.hpp>\n#include <gflags/gflags.h>\n"
    text += '#ifdef V\n#error "V is left over"\n#endif\n'
    text += 'static_assert(S == 7 && b == 8, "");\n'
    assert compile_among(set(), text, tmp_path, ["g++", "-std=c++11"]) == ""


def test_a_header_that_does_not_put_them_aside_would_be_seen(tmp_path: Path) -> None:
    text = "#include <stdint.h>\n#include <pd_flags/record.h>\n"
    assert "broken" in compile_among({"abi"}, text, tmp_path, ["g++", "-std=c++11"])


# ---- The short names of our own macros ----

# A source with another header that has PD_DEFINE_<type>, as Paddle's does.
LONG_NAMES = """
#define PD_NO_SHORT_NAMES
#include <pd_flags.h>
#define PD_DEFINE_int32(name, value, help) extern int theirs_##name
#if defined(PD_DECLARE_bool) || defined(PD_IMPORT_string)
#error "a short name is left"
#endif
#define level 3
PD_FLAG_DEFINE_int32(level, 6, "Level", .min = 1, .max = 9);
PD_FLAG_IMPORT_string(mode, "fast");
PD_FLAG_DECLARE_double(rate);
PD_DEFINE_int32(n, 1, "N");
double all_of_them(void);
double all_of_them(void) { return FLAGS_level + *FLAGS_mode + FLAGS_rate; }
"""


@pytest.mark.parametrize("command", ["gcc -std=c99", "clang -std=c17", "g++ -std=c++11"])
def test_without_short_names_another_header_may_have_them(command: str, tmp_path: Path) -> None:
    assert compile_among(set(), LONG_NAMES, tmp_path, command.split()) == ""


# What a source with Paddle's own header has, in either order.
MACROS_OF_PADDLE = "#define PD_DEFINE_bool(name, value, help) extern int theirs_##name\n"
PADDLE = f"namespace paddle {{ void AllowUndefinedFlags(); }}\n{MACROS_OF_PADDLE}"


@pytest.mark.parametrize("command", ["g++ -std=c++11", "clang++ -std=c++20"])
@pytest.mark.parametrize(
    "text", ["#include <pd_flags.h>\n" + PADDLE, PADDLE + "#include <pd_flags.h>\n"]
)
def test_paddles_own_header_beside_the_short_names_is_an_error(
    text: str, command: str, tmp_path: Path
) -> None:
    told = compile_among(set(), text, tmp_path, command.split())
    assert "error: " in told
    assert "define PD_NO_SHORT_NAMES" in told
    assert "write PD_FLAG_DEFINE_<type>" in told
    assert (
        compile_among(set(), f"#define PD_NO_SHORT_NAMES\n{text}", tmp_path, command.split()) == ""
    )
