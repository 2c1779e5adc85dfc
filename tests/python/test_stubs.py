"""paddle-flags stubs: types of the flags that are loaded."""

from __future__ import annotations

import json
import os
import re
import sys

import pytest
from support import ROOT, package, run, write

pytestmark = pytest.mark.extended  # runs type checkers

PLUGIN = """
PD_DEFINE_bool(alpha_check, false, "Stop at the first NaN or Inf", .aliases = "check");
PD_DEFINE_int32(alpha_level, 6, "Compression level", .min = 1, .max = 9);
PD_DEFINE_string(alpha_build, "fast", "How it was built", .read_only = true);
PD_DEFINE_string(alpha_sizes, "1,2", "Sizes", .list = PD_TYPE_int32, .hidden = true);
PD_DEFINE_string(alpha_old, "", "Gone", .retired = "not needed");
PD_DEFINE_string(str, "a", "A flag that is called like a type");
PD_DEFINE_double(update, 1, "A flag that is called like a method");
"""
DEMO = """
import datetime, decimal, enum, pathlib, uuid
from typing import Literal, NewType
import paddle_flags as pf
class Mode(enum.Enum):
    FAST = 1
Port = NewType('Port', int)
def local():
    class Hidden(enum.Enum):
        A = 1
    return Hidden
pf.define('demo.rate', 0.5)
pf.define('out', pathlib.Path('a'))
pf.define('price', decimal.Decimal(1))
pf.define('since', None, type=datetime.datetime)
pf.define('wait', datetime.timedelta(1))
pf.define('mode', Mode.FAST)
pf.define('paths', [pathlib.Path('a')])
pf.define('limits', {'a': Mode.FAST})
pf.define('sizes', None, type=list[int])
pf.define('count', None, type=int)
pf.define('case', 'a', choices=['a'], case_sensitive=False)
pf.define('hidden', None, type=local())
pf.define('ident', uuid.UUID(int=1))
pf.define('tags', {1, 2})
pf.define('pair', (1, 'a'), type=tuple[int, str])
pf.define('port', Port(1), type=Port)
pf.define('verbose', 0, count=True)
"""
RIGHT = """
import datetime
import decimal
import pathlib
from typing import Optional
import demo
from flags import FLAGS

def use() -> int:
    FLAGS.alpha_check = True
    FLAGS.update(alpha_level=7)
    out: pathlib.Path = FLAGS.out / FLAGS["out"].value
    price: decimal.Decimal = FLAGS.price
    since: Optional[datetime.datetime] = FLAGS.since
    mode: demo.Mode = FLAGS.mode
    paths: tuple[pathlib.Path, ...] = FLAGS.paths
    limits: dict[str, demo.Mode] = FLAGS.limits
    counts = [*(FLAGS.sizes or ()), FLAGS.count or 0, FLAGS.wait.days, len(FLAGS.case)]
    FLAGS.sizes = FLAGS.count = FLAGS.since = FLAGS.hidden = None
    text: str = FLAGS.alpha_build + FLAGS.str
    sizes: tuple[int, ...] = FLAGS.alpha_sizes
    rate: float = FLAGS["update"].value + FLAGS["demo.rate"].value
    tags: frozenset[int] = FLAGS.tags
    pair: tuple[int, str] = FLAGS.pair
    print(FLAGS.ident.hex, tags, pair, FLAGS.port + FLAGS.verbose)
    print(out, price, since, mode, paths, limits, counts)
    return FLAGS.alpha_level + len(text) + len(sizes) + int(rate) + FLAGS["check"].value
"""
WRONG = [
    "FLAGS.alpha_level = 'seven'",
    "text: str = FLAGS.alpha_level",
    "FLAGS.alpha_build = 'new'",
    "FLAGS.alpha_levle",
    "FLAGS.alpha_old",
    "FLAGS['demo.rat']",
    "FLAGS.out.parts.nothing",
    "FLAGS.since.year",
    "FLAGS.sizes[0]",
    "FLAGS.mode = 'FAST'",
    "FLAGS.wait = 5",
]


def stubs(*words: object, **options: object) -> object:
    return run(sys.executable, "-m", "paddle_flags", "stubs", *words, **{"check": False, **options})


@pytest.fixture
def written(plugin, tmp_path):
    write(tmp_path / "demo.py", DEMO)
    made = stubs("-p", plugin(PLUGIN, "alpha"), "-m", "demo", cwd=tmp_path)
    assert made.stderr == ""
    write(tmp_path / "flags.pyi", made.stdout)
    write(tmp_path / "flags.py", "from paddle_flags import FLAGS as FLAGS\n")
    return tmp_path


@pytest.mark.parametrize(
    "checker",
    [pytest.param("mypy", marks=pytest.mark.release), "pyright"],  # mypy takes 20 s
)
def test_type_checkers_know_the_flags_of_a_stub(checker, written):
    package(checker)
    write(written / "right.py", RIGHT)
    lines = ["from flags import FLAGS", *WRONG]
    write(written / "wrong.py", "\n".join(lines) + "\n")
    write(written / "pyrightconfig.json", json.dumps({"extraPaths": [str(ROOT)]}))
    strict = ("--strict", "--no-incremental")
    options = strict if checker == "mypy" else ("--pythonpath", sys.executable)
    told = run(
        *(sys.executable, "-m", checker, *options, "right.py", "flags.pyi", "wrong.py"),
        cwd=written,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        check=False,
    ).stdout
    found = {int(line) for line in re.findall(r"wrong\.py:(\d+):.*error", told)}
    assert "right.py" not in told
    assert "flags.pyi" not in told
    assert found == set(range(2, len(lines) + 1)), told


def test_a_stub_says_what_it_is_of_and_how_it_was_made(written):
    head = (written / "flags.pyi").read_text("utf-8").splitlines()[0]
    assert head.startswith('"""The flags of libalpha.so, demo. Made by `')
    assert head.endswith(' -m demo`."""')


def test_a_stub_says_which_types_cannot_be_imported(written):
    text = (written / "flags.pyi").read_text("utf-8")
    assert "    hidden: _typing.Any  # a type that cannot be imported\n" in text
    assert "    mode: _demo.Mode\n" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected a plugin or a module whose flags to write: -p FILE or -m MODULE"),
        (("-m", "nobody"), "-m nobody: No module named 'nobody'"),
        (("x.so",), "unexpected argument x.so; to load a plugin, use -p x.so"),
    ],
)
def test_a_stub_of_nothing_is_refused(words, message, tmp_path):
    ended = stubs(*words, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"python -m paddle_flags: error: {message}\n"
