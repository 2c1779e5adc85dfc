"""Each function of the C core has a name of its own, so that a search for the name finds it."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from support import ROOT, write

if TYPE_CHECKING:
    from pathlib import Path

CORE = ROOT / "csrc" / "src"
# A file of platform/ has the functions of another one for another system.
ALTERNATIVES = "platform"
APART = {"live"}


def functions_of(text: str) -> list[str]:
    """Return the names of the functions, static ones too, that a source or a header defines."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"(?m)^[ \t]*#(?:.*\\\n)*.*", "", text)  # directives
    text = re.sub(r"(?m)^[A-Z][A-Z_]*\([^()]*\)[ \t]*$", "", text)  # macros on lines of their own
    text = re.sub(r"__attribute__\(\(.*?\)\)+", "", text, flags=re.DOTALL)
    heads = re.findall(r"(?m)^(?=[A-Za-z_])([^;{}=]*\))\s*\{", text)
    return [re.findall(r"(\w+)\(", head)[0] for head in heads]


def repeated(core: Path) -> dict[str, list[str]]:
    """Return the names that occur several times, with the files that define them."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(core.rglob("*.[ch]")):
        file = path.relative_to(core).as_posix()
        layer = file.partition("/")[0]
        if layer in APART:
            continue
        for name in functions_of(path.read_text("utf-8")):
            if layer != ALTERNATIVES or ALTERNATIVES not in places[name]:
                places[name].append(layer if layer == ALTERNATIVES else file)
    return {name: files for name, files in places.items() if len(files) > 1}


def test_each_function_of_the_core_has_a_name_of_its_own():
    assert repeated(CORE) == {}


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
    for name in ("base/a.c", "value/b.h", "live/c.c", "platform/d.c", "platform/e.c"):
        write(tmp_path / name, "static int take(void) { return 1; }\n")
    write(tmp_path / "platform" / "e.c", "int take(void) { return 1; }\nvoid own(void) { }\n")
    assert repeated(tmp_path) == {"take": ["base/a.c", "platform", "value/b.h"]}
