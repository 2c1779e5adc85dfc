"""Each function of the C sources has a name of its own, so that a search for the name finds it."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from support import ROOT, write

if TYPE_CHECKING:
    from pathlib import Path

PARTS = ("src", "live", "python")
# The files of this folder are alternatives: each has the functions of another one for its system.
ALTERNATIVES = "src/platform/"


def functions_of(text: str) -> list[str]:
    """Return the names of the functions, static ones too, that a source or a header defines."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"(?m)^[ \t]*#(?:.*\\\n)*.*", "", text)  # directives
    text = re.sub(r"(?m)^[A-Z][A-Z_]*\([^()]*\)[ \t]*$", "", text)  # macros on lines of their own
    text = re.sub(r"__attribute__\(\(.*?\)\)+", "", text, flags=re.DOTALL)
    heads = re.findall(r"(?m)^(?=[A-Za-z_])([^;{}=]*\))\s*\{", text)
    return [re.findall(r"(\w+)\(", head)[0] for head in heads]


def repeated(csrc: Path) -> dict[str, list[str]]:
    """Return the names that occur several times, with the files that define them."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(path for part in PARTS for path in (csrc / part).rglob("*.[ch]")):
        file = path.relative_to(csrc).as_posix()
        # A file has a name twice only as alternatives of #if.
        for name in set(functions_of(path.read_text("utf-8"))):
            alternative = file.startswith(ALTERNATIVES)
            if not (alternative and any(other.startswith(ALTERNATIVES) for other in files[name])):
                files[name].append(file)
    return {name: found for name, found in files.items() if len(found) > 1}


def test_each_function_of_the_c_sources_has_a_name_of_its_own():
    assert repeated(ROOT / "csrc") == {}


def test_functions_are_found_however_they_are_written(tmp_path):
    text = """
/* static void commented(void) { } */
#define PASTED(name) \\
  static void name(void) { }
PASTED(made)
static __attribute__((noinline)) int *with_attribute(int a,
                                                     int b) {
  if (a) return b(a) { "quoted(void) {" };
}
PD__PRINTF(3, 4)
void pd__checked(const char *format, ...) { call(); }
static void (*pointer_of(const slot *from))(void) { return from; }
static inline bool is_one_line(void) { return true; }
static const int table[] = {size_of(table)};
typedef struct kept { int a; } kept;
int declared(void);
"""
    names = ["with_attribute", "pd__checked", "pointer_of", "is_one_line"]
    assert functions_of(text) == names
    for name in ("src/base/a.c", "src/value/b.h", "live/c.c", "python/d.c", "include/e.h"):
        write(tmp_path / name, "static int take(void) { return 1; }\n")
    for name in ("src/platform/one.c", "src/platform/other.c"):
        write(tmp_path / name, "int take(void) { return 1; }\nint open_file(void) { return 2; }\n")
    found = ["live/c.c", "python/d.c", "src/base/a.c", "src/platform/one.c", "src/value/b.h"]
    assert {name: sorted(files) for name, files in repeated(tmp_path).items()} == {"take": found}
