"""Help and reference text: C's, for the terminal at hand, and Python's own forms."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from support import CXX, ROOT, require, run, tool, write

import paddle_flags as pf
from paddle_flags._report.help import KINDS, help_text

pytestmark = pytest.mark.extended  # needs much time

GOLDEN = ROOT / "tests" / "golden"
REPORTS = {
    "report_60.txt": ("text", "60"),
    "report_80.txt": ("text", "80"),
    "report_200.txt": ("text", "200"),
    "report.xml": ("xml",),
    "report.md": ("markdown",),
    "report.1": ("man",),
    "report.flags": ("flagfile",),
}


def made(*arguments: str) -> str:
    return run(sys.executable, GOLDEN / "reports.py", *arguments).stdout


@pytest.mark.parametrize("name", REPORTS)
def test_reports_are_those_that_were_agreed_on(name):
    assert made(*REPORTS[name]) == (GOLDEN / name).read_text("utf-8")


# ---- help ----


def test_every_kind_of_help_has_its_name():
    assert list(KINDS) == [
        "help", "helpfull", "helpshort", "helpon", "helpmatch", "helppackage", "helpxml", "version",
    ]  # fmt: skip
    with pytest.raises(pf.FlagArgumentError, match="help 'halp': expected one of help, helpfull"):
        help_text("prog", "halp")


def test_version_and_patterns_reach_the_report(name):
    pf.define(name, 1)
    assert help_text("/bin/prog", "version", version="2.1") == "prog version 2.1"
    assert f"--{name}=" in help_text("prog", "helpon", "test_report")
    assert f"--{name}=" in help_text("prog", "helpmatch", "test_rep")
    assert "'nothing'" in help_text("prog", "helpmatch", "nothing")


def test_the_flags_of_a_script_are_those_of_its_file(python, tmp_path):
    write(tmp_path / "other.py", "import paddle_flags as pf\npf.define('theirs', 1)\n")
    text = (
        "import other\npf.define('own', 1)\n"
        "from paddle_flags._report.help import help_text\n"
        "print(help_text(sys.argv[0], 'helpshort'))\n"
    )
    shown = python(text).stdout
    assert "--own=" in shown
    assert "theirs" not in shown


def test_a_module_that_python_runs_is_named_in_its_usage(tmp_path):
    text = (
        "import sys\nfrom paddle_flags._report.help import help_text\n"
        "print(help_text(sys.argv[0]))\n"
    )
    write(tmp_path / "tool" / "__main__.py", text)
    write(tmp_path / "single.py", text)
    for module in ("tool", "single"):
        shown = run(sys.executable, "-m", module, cwd=tmp_path).stdout
        assert shown.startswith(f"usage: python -m {module} [--flag=value ...] [argument ...]\n")


COLOR = "from paddle_flags._report.help import can_use_color; print(can_use_color())"


def on_terminal(**variables: str) -> str:
    """Run COLOR with a terminal as its stdout."""
    pty = pytest.importorskip("pty", reason="pty is missing: no terminal can be opened")
    own, terminal = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    command = [sys.executable, "-c", COLOR]
    subprocess.run(command, stdout=terminal, check=True, timeout=60, env={**env, **variables})
    os.close(terminal)
    shown = os.read(own, 100).decode().strip()
    os.close(own)
    return shown


@pytest.mark.parametrize(
    ("variables", "colored"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_a_terminal_has_colour_unless_it_or_the_user_does_not_want_it(variables, colored):
    assert on_terminal(**variables) == str(colored)


def test_a_pipe_has_colour_only_by_force():
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": ""}
    assert run(sys.executable, "-c", COLOR, env={**env, "FORCE_COLOR": ""}).stdout == "False\n"
    assert run(sys.executable, "-c", COLOR, env={**env, "FORCE_COLOR": "1"}).stdout == "True\n"


def test_help_is_as_wide_as_the_terminal_says(python):
    text = "pf.define('x', 1, 'word ' * 100)\npf.parse()"
    for columns in (40, 61, 110):
        env = {**os.environ, "COLUMNS": str(columns)}
        lines = python(text, "--help", env=env).stdout.splitlines()
        assert columns - 6 < max(map(len, lines)) <= columns


# ---- XML ----

GFLAGS = """
#include <gflags/gflags.h>
DEFINE_bool(check, false, "Stop at the first NaN & say <so>");
DEFINE_int32(level, 6, "Level \\"six\\"\\nor more");
DEFINE_uint64(big, 18446744073709551615u, "");
DEFINE_double(ratio, 0.5, "A ratio");
DEFINE_string(mode, "fa<st", "Mode 'a' -> \\xc3\\xa9");
int main(int argc, char **argv) {
  gflags::SetUsageMessage("copies <files> & more");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
}
"""
OURS = """
#include <pd_flags.h>
PD_DEFINE_bool(check, false, "Stop at the first NaN & say <so>");
PD_DEFINE_int32(level, 6, "Level \\"six\\"\\nor more");
PD_DEFINE_uint64(big, 18446744073709551615u, "");
PD_DEFINE_double(ratio, 0.5, "A ratio");
PD_DEFINE_string(mode, "fa<st", "Mode 'a' -> \\xc3\\xa9");
"""


def test_helpxml_of_a_plugin_is_what_gflags_writes_for_such_a_program(tmp_path, plugin):
    require("libgflags-dev", "gflags/gflags.h")
    source = write(tmp_path / "theirs.cc", GFLAGS)
    run(*CXX, source, "-o", tmp_path / "prog", "-lgflags")
    theirs = run(tmp_path / "prog", "--helpxml", "--level=3", check=False).stdout
    path = plugin(OURS)
    script = (
        "import paddle_flags as pf\nfrom paddle_flags._report.help import help_text\n"
        f"pf.load_plugin({str(path)!r})\npf.FLAGS.level = 3\n"
        "print(help_text('/bin/prog', 'helpxml', usage='copies <files> & more'))\n"
    )
    ours = run(sys.executable, "-c", script).stdout
    kept = [line for line in theirs.splitlines() if "gflags.cc" not in line]
    kept = [line for line in "\n".join(kept).split("\n") if "/src/gflags" not in line]
    expected = "\n".join(kept).replace(str(source), str(tmp_path / "plugin.c"))
    assert ours == expected + "\n"


def test_helpxml_is_well_formed_whatever_text_holds(python):
    text = (
        "import random\n"
        "random.seed(1)\n"
        "def noise(): return bytes(random.randrange(1, 256) for _ in range(300))"
        ".decode('utf-8', 'surrogateescape')\n"
        "for n in range(50): pf.define(f'x{n}', noise(), noise() + ']]>')\n"
        "from paddle_flags._report.help import help_text\n"
        "sys.stdout.buffer.write(help_text('a<&>b', 'helpxml').encode())\n"
    )
    written = python(text).stdout
    assert len(ET.fromstring(written).findall("flag")) == 50  # noqa: S314 - our own
    run(tool("xmllint", "libxml2-utils"), "--noout", "-", input=written)


# ---- the other forms ----


def test_json_has_every_property_of_every_flag():
    described = json.loads(made("json"))
    assert (described["program"], described["version"]) == ("prog", "1.2")
    flags = {flag["name"]: flag for flag in described["flags"]}
    assert "trace_all" not in flags
    assert flags["turbo"]["retired"] == "it is always on"
    level = flags["alpha_level"]
    assert level == {
        "name": "alpha_level",
        "type": "int32",
        "items": None,
        "unit": None,
        "help": "Compression level:\n  1 is fast\n  9 is small",
        "value": 3,
        "default": 6,
        "source": "argv",
        "place": "argv[1]",
        "min": 1,
        "max": 9,
        "choices": None,
        "category": "",
        "aliases": ["l", "lvl", "compression"],
        "old_names": [],
        "module": "/usr/lib/libalpha.so",
        "file": "src/alpha.c",
        "line": level["line"],
        "hidden": False,
        "required": False,
        "read_only": False,
        "startup_only": False,
        "frozen": False,
        "sensitive": False,
        "experimental": False,
        "optional": False,
        "multi": False,
        "scoped": False,
        "runtime": False,
        "unsafe": False,
        "per_process": False,
        "count": False,
        "merge": False,
        "metavar": None,
        "deprecated": None,
        "retired": None,
        "history": [
            {"value": 3, "source": "argv", "place": "argv[1]", "replaced": False},
            {
                "value": 6,
                "source": "default",
                "place": f"src/alpha.c:{level['line']}",
                "replaced": False,
            },
        ],
    }
    assert flags["search_path_of_the_loader_of_plugins"]["value"] == ["/usr/lib", "/usr/local/lib"]
    assert flags["token"]["value"] == flags["token"]["history"][0]["value"] == "<redacted>"
    properties = {p for p in dir(pf.Flag) if isinstance(getattr(pf.Flag, p), property)}
    assert properties - set(level) == {"defined", "handle", "process_value", "text"}


def as_json(flag: pf.Flag[Any], value: object) -> object:
    if flag.sensitive:
        return "<redacted>"
    if isinstance(value, tuple):
        return [as_json(flag, item) for item in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def properties_of(flag: pf.Flag[Any]) -> dict[str, object]:
    values = {key: as_json(flag, getattr(flag, key)) for key in ("value", "default", "min", "max")}
    texts = ("name", "type", "items", "help", "place", "source", "category", "unit", "module")
    lists = {key: list(getattr(flag, key)) for key in ("aliases", "old_names")}
    choices = None if flag.choices is None else list(flag.choices)
    entries = [{**e._asdict(), "value": as_json(flag, e.value)} for e in flag.history]
    return {
        **{key: getattr(flag, key) for key in texts},
        **values,
        **lists,
        "choices": choices,
        "history": entries,
    }


def test_json_says_what_the_properties_of_each_flag_say(name):
    numbers = (0.0, -0.0, 1e15, 1e16, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3, 1e-5, 2.0**53)
    texts = ("", 'a"\\/\b\f\n\r\t', "\x01\x7f\x85", "é€😀", "\udc80\udcff", "a,b", " x ")
    flags = [
        pf.define(f"{name}_numbers", [*numbers, math.inf, -math.inf]),
        pf.define(f"{name}_number", 0.5, min=-1.0, help="é\n"),
        pf.define(f"{name}_small", -(2**63), max=2**62, unit="bytes", category="Größe"),
        pf.define(f"{name}_large", 2**64 - 1, type="uint64", min=1, aliases=[f"{name}_l"]),
        pf.define(f"{name}_texts", texts[1:], sensitive=False, old_names=[f"{name}_old"]),
        pf.define(f"{name}_choice", "", choices=["", "a"]),
        pf.define(f"{name}_bools", [True, False]),
        pf.define(f"{name}_empty", [0]),
        pf.define(f"{name}_pin", 5, min=0, sensitive=True),
        *(pf.define(f"{name}_text{n}", text, help=text) for n, text in enumerate(texts)),
        *(pf.define(f"{name}_float{n}", number) for n, number in enumerate(numbers)),
    ]
    pf.FLAGS.update({f"{name}_empty": [], f"{name}_pin": 7, f"{name}_number": -0.25})
    with pf.override({f"{name}_small": 4, f"{name}_number": 1.0}):
        described = json.loads(pf.describe("json"), parse_constant=pytest.fail)["flags"]
        found = {flag["name"]: flag for flag in described}
        for flag in flags:
            expected = properties_of(flag)
            assert repr({key: found[flag.name][key] for key in expected}) == repr(expected)


def test_json_holds_numbers_that_json_lacks(python):
    text = "pf.define('x', float('nan'))\npf.define('y', float('-inf'))\nprint(pf.describe('json'))"
    flags = json.loads(python(text).stdout, parse_constant=pytest.fail)["flags"]
    assert [flag["value"] for flag in flags] == ["nan", "-inf"]


def test_the_manual_page_gives_groff_nothing_to_complain_about(tmp_path):
    tool("man", "man-db")
    page = write(tmp_path / "prog.1", made("man"))
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "70"}
    shown = run("man", "--warnings", "-l", page, env=env)
    assert shown.stderr == ""
    text = re.sub(".\b", "", shown.stdout)
    assert "-l, --alpha_level=INT32" in text
    assert "日本語" in text
    assert "What <stands> above & *below* | `it`." in text
    assert "hunter2" not in text


def test_text_that_groff_would_obey_stands_as_it_is(python, tmp_path):
    tool("man", "man-db")
    text = r"pf.define('x', '\\n(.q', '.so /etc/passwd\n\'br\n\\fBbold\\fR\n.\n...\x1b[31m')"
    page = write(tmp_path / "x.1", python(text + "\nprint(pf.describe('man'))").stdout)
    shown = run("man", "--warnings", "-l", page, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert shown.stderr == ""
    for word in (".so /etc/passwd", "'br", r"\fBbold\fR", r"\x1b[31m", r"\n(.q"):
        assert word in re.sub(".\b", "", shown.stdout)


def test_markdown_keeps_text_in_its_cell():
    rows = [line for line in made("markdown").splitlines() if line.startswith("| `")]
    assert len(rows) == 14
    for row in rows:
        assert len(re.split(r"(?<!\\)\|", row)) == 5, row
    assert "hunter2" not in "".join(rows)


def test_an_unknown_form_is_refused_with_those_that_there_are():
    with pytest.raises(pf.FlagArgumentError, match="'pdf': expected one of text, xml, json, mark"):
        pf.describe("pdf")


def test_full_reports_show_hidden_flags(name):
    pf.define(name, 1, hidden=True)
    for form in ("text", "json", "markdown", "man"):
        assert name not in pf.describe(form).replace("\\", "")
        assert name in pf.describe(form, full=True).replace("\\", "")


@pytest.mark.release  # takes 7 s
def test_reports_are_written_while_flags_come_and_go(plugin):
    import threading

    path = plugin('PD_DEFINE_string(transient, "x", "");\n', "transient")
    stop = threading.Event()

    def reload() -> None:
        while not stop.is_set():
            pf.load_plugin(path).unload()

    thread = threading.Thread(target=reload)
    thread.start()
    try:
        for _ in range(20):
            for form in ("text", "json", "markdown", "man", "xml"):
                pf.describe(form)
            pf.dump("argv", all=True)
    finally:
        stop.set()
        thread.join()


BYTES = [0, 1, 1023, 1024, 1536, -2048, 3 << 60, 10**18, -(2**63), 2**63 - 1, 10**6, 25 << 18]
SECONDS = [0.0, -0.0, 0.2, 1e-9, 1.5, 0.1 + 0.2, 3e-10, 59.0, 3661.0, -90.0, 1e15, 1e300, -1e-3]
SECONDS += [float("inf"), float("nan"), 123456.789, 86400.0, 2.5, 90.5, 120.5, 0.0025, 2.5e-5]
SECONDS += [1.5e-9, 9e15, 8e15, -1e16, 4e15 + 0.5, 100.0, 0.1, 1 / 3, 2 / 3e7]


def test_python_shows_numbers_as_c_does(python):
    text = (
        f"inf, nan = float('inf'), float('nan')\n"
        f"for n, x in enumerate({BYTES}): pf.define(f'b{{n}}', x, unit='bytes')\n"
        f"for n, x in enumerate({SECONDS}): pf.define(f's{{n}}', x, unit='seconds')\n"
        f"for n, x in enumerate({SECONDS}): pf.define(f'p{{n}}', x)\n"
        f"for n, x in enumerate(['', 'two words', 'x', 'é']): pf.define(f't{{n}}', x)\n"
        "from paddle_flags._report import facts\n"
        "shown = pf.describe('text', width=200)\n"
        "for flag in pf.FLAGS.values():\n"
        "    text = facts.format_value(flag, flag.default)\n"
        "    text = f'\"{text}\"' if ' ' in text else text\n"
        "    line = next(l for l in shown.splitlines() if f'--{flag.name}=' in l)\n"
        "    assert line.endswith(f' [default: {text}]'), (line, text)\n"
        "print(len(pf.FLAGS))\n"
    )
    assert python(text).stdout == f"{len(BYTES) + 2 * len(SECONDS) + 4}\n"


# ---- a real terminal ----

TERMINAL = """
import contextlib, io, sys
sys.argv = ["reports.py", "argv"]
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
    import reports
import paddle_flags as pf
sys.argv = ["/usr/bin/prog", "--help"]
pf.parse()
"""


@pytest.mark.parametrize("width", [60, 80, 200])
def test_help_fills_a_real_terminal_and_nothing_runs_over(tmp_path, width):
    tmux = [tool("tmux"), "-S", str(tmp_path / "socket"), "-f", os.devnull]
    script = write(tmp_path / "terminal.py", TERMINAL)
    command = f"'{sys.executable}' '{script}'; '{tmux[0]}' -S '{tmux[2]}' wait-for -S done; cat"
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "TMUX")}
    env |= {"PYTHONPATH": str(GOLDEN), "LC_ALL": "C.UTF-8"}
    size = ["-x", str(width), "-y", "100"]
    run(*tmux, "new-session", "-d", *size, command, env=env)
    try:
        run(*tmux, "wait-for", "done")
        plain = run(*tmux, "capture-pane", "-p").stdout
        colored = run(*tmux, "capture-pane", "-p", "-e").stdout
    finally:
        run(*tmux, "kill-server")
    assert plain.rstrip() == (GOLDEN / f"report_{width}.txt").read_text("utf-8").rstrip()
    assert "\x1b[36m--alpha_level" in colored
