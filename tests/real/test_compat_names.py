"""The headers of compat/ have every name of the headers that they replace.

The names are read from the wheels' headers when the test runs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import CXX, INCLUDE, run, write
from wheels import COMPAT, Real

pytestmark = pytest.mark.release  # needs gigabytes of packages

# What is left out, and why.
LEFT_OUT = {
    "paddle/common/flags.h": {
        "DEFINE_FROM_ENV_FUNC": "is undefined again at the end of their header",
    },
    "c10/util/Flags.h": {
        "C10_UTIL_FLAGS_H_": "the include guard, which ours has too",
        "C10_GFLAGS_DEF_WRAPPER": "a step of their macros on a gflags",
        "C10_GFLAGS_DECLARE_WRAPPER": "a step of their macros on a gflags",
        "GFLAGS_DLL_DEFINE_FLAG": "gflags' own, which they change with C10_USE_GFLAGS",
        "GFLAGS_DLL_DECLARE_FLAG": "gflags' own, which they change with C10_USE_GFLAGS",
        "RegistererC10FlagsRegistry": "registers a parser object: there are none here",
    },
}


def preprocessed(header: Path, *options: str) -> str:
    """Return the lines of the header itself, without those of headers that it includes."""
    text = run(*CXX, "-std=c++17", "-E", "-x", "c++", *options, header).stdout
    kept, inside = [], False
    for line in text.splitlines():
        if line.startswith("# "):
            inside = f'"{header}"' in line
        elif inside:
            kept.append(line)
    return "\n".join(kept)


def macros(header: Path) -> set[str]:
    """Return the macros that a header defines when no gflags is asked for."""
    return set(re.findall(r"(?m)^\s*#\s*define\s+(\w+)", header.read_text("utf-8")))


def declared(text: str) -> set[str]:
    """Return the functions, types and aliases of the namespaces in a preprocessed header."""
    names, scopes = set(), []
    text = re.sub(r'__attribute__ *\(\(\w+(\("\w+"\))?\)\)', "", text)
    pattern = r"namespace (\w+) ?\{|(?:class|struct) (\w+) \{|using (\w+) =|"
    pattern += r"(\w+) ?\([^;{}]*\) ?[;{]|(\{)|(\})"
    for match in re.finditer(pattern, re.sub(r"\s+", " ", text)):
        space, type_name, alias, function, _, closed = match.groups()
        name = type_name or alias or function
        if name and all(scopes):
            names.add("::".join([*scopes, name]))
        if closed:
            scopes.pop()
        elif match.group().endswith("{"):
            scopes.append(space or "")
    return names


def missing_names(ours: Path, names: set[str], place: Path) -> set[str]:
    """Return the names that a file with our header doesn't know."""
    text = f'#include "{ours}"\n'
    for number, name in enumerate(sorted(names)):
        text += f"namespace user_{number} {{ using ::{name}; }}\n"
    source = write(place / "names.cpp", text)
    options = [f"-I{COMPAT}", f"-I{INCLUDE}", "-std=c++17", "-fsyntax-only"]
    errors = run(*CXX, *options, source, check=False).stderr
    lines = {int(line) for line in re.findall(r"names\.cpp:(\d+):\d+: error", errors)}
    return {name for number, name in enumerate(sorted(names)) if number + 2 in lines}


@pytest.mark.parametrize(
    ("header", "least"),
    [
        ("paddle/common/flags.h", {"paddle::flags::UpdateLinkedFlags", "phi::FlagInfo"}),
        ("c10/util/Flags.h", {"c10::SetUsageMessage", "c10::C10FlagParser"}),
    ],
)
def test_every_name_of_their_header_is_in_ours(
    header: str, least: set[str], real: Real, tmp_path: Path
) -> None:
    include = real.site / header.split("/", maxsplit=1)[0].replace("c10", "torch") / "include"
    theirs, ours = include / header, Path(COMPAT, header)
    left_out = set(LEFT_OUT[header])
    source = write(tmp_path / "ours.cpp", f'#include "{ours}"\n')
    options = [f"-I{COMPAT}", f"-I{INCLUDE}"]
    known = run(*CXX, "-std=c++17", "-E", "-dM", *options, source).stdout
    wanted = macros(theirs) - left_out
    assert len(wanted) > 20
    assert not wanted - set(re.findall(r"#define (\w+)", known))

    names = declared(preprocessed(theirs, f"-I{include}"))
    assert least <= names
    names = {name for name in names if name.split("::")[-1] not in left_out}
    assert not missing_names(ours, names, tmp_path)
