"""gen import helpxml: flags.yaml from programs of gflags."""

from __future__ import annotations

from pathlib import Path

import pytest
from generating import imported
from support import build, package, require, run, write

package("ruamel.yaml")
package("jinja2")

from paddle_flags.gen import load  # noqa: E402 - behind the look for what is needed

SOURCE = r"""
#include <gflags/gflags.h>
// DEFINE_int32(in_comment, 1, "no");
/* DEFINE_int32(in_comment, 1, "no"); */
static const char *text = "DEFINE_int32(in_text, 1, \"no\");";
DEFINE_int32(port, 8080, "Port "  // a comment
             "to listen \
on");
DEFINE_uint32(mask, 0xFFu | 0x100, "bits");
DEFINE_uint64(size, 64ULL << 20, "Size: \"q\" \x41\n\u00e9\303\251\t?");
DEFINE_int64(low, -9223372036854775807 - 1, "low");
DEFINE_int64(octal, 0755 + 0b11 + 1'000, "digits");
DEFINE_int32(divided, -7 / 2 * (3 - 1) % 5, "towards 0");
DEFINE_double(narrow, .1f, R"x(raw\n "text" \
joined)x");
DEFINE_double(tiny, 1e-7, "d"); DEFINE_bool(on_line, true, "two on a line");
DEFINE_double(whole, 3, "an integer");
DEFINE_bool(hidden, false, R"(raw)" " and not");
DEFINE_string(name, "a" /* and */ "b\\" "\"", u8"h");
DEFINE_string(empty, "", "nothing");
namespace inner {
#if 0
DEFINE_bool(never, true, "don't");
#else
DEFINE_bool(always, true, "y");
#endif
DEFINE_\
int32(joined, 1, "a joined line");
}
int main(int argc, char **argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  return text == nullptr;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """Build a program of gflags."""
    require("libgflags-dev", "gflags/gflags.h")
    place = tmp_path_factory.mktemp("gflags")
    source = write(place / "tool.cc", SOURCE)
    flags = ("-std=c++14", "-w", "-O0", "-lgflags", "-lpthread")
    return build(place / "tool", source, flags=flags)


def test_the_flags_of_a_program_are_imported_with_their_computed_values(program, tmp_path, capsys):
    out = tmp_path / "program.yaml"
    assert imported(capsys, "helpxml", "-o", out, program) == (0, [])
    found = {flag.name: (flag.type, flag.default) for flag in load(str(out)).flags}
    assert len(found) == 15  # and none of those that gflags brings itself
    assert found["size"] == ("uint64", 64 << 20)
    assert found["low"] == ("int64", -(2**63))
    assert found["narrow"] == ("double", 0.10000000149011612)
    assert found["name"] == ("string", 'ab\\"')
    assert "never" not in found


def test_a_file_of_helpxml_is_read_as_well(program, tmp_path, capsys):
    xml = write(tmp_path / "tool.xml", run(program, "--helpxml", check=False).stdout)
    assert imported(capsys, "helpxml", "-o", tmp_path / "f.yaml", xml) == (0, [])
    assert len(load(str(tmp_path / "f.yaml")).flags) == 15
