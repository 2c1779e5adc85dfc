"""The layers: no file uses a file that uses it, no layer a later one; and the tool for it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, run, write

sys.path.insert(0, str(ROOT / "tools"))

import layers

pytestmark = pytest.mark.extended  # builds much

GOOD = {
    "csrc/src/base/text.h": "int pd__text(void);",
    "csrc/src/base/text.c": '#include "text.h"\nint pd__text(void) { return 1; }',
    "csrc/src/value/value.h": "int pd__value(void); extern int pd__value_count;",
    "csrc/src/value/value.c": """#include "../base/text.h"
#include "value.h"
int pd__value_count = 1;
int pd__value(void) { return pd__text(); }""",
    "csrc/src/api.c": '#include "value/value.h"\nint pd_get(void) { return pd__value(); }',
    "paddle_flags/__init__.py": "from paddle_flags._core import flag",
    "paddle_flags/errors.py": "",
    "paddle_flags/_core/__init__.py": "",
    "paddle_flags/_core/flag.py": "import paddle_flags.errors\nfrom . import kinds",
    "paddle_flags/_core/kinds.py": "from ..errors import Wrong",
}


@pytest.fixture
def check(tmp_path):
    """Check the good tree, with some files put over it; give what the tool says."""

    def start(**files: str) -> subprocess.CompletedProcess[str]:
        for name, text in {**GOOD, **files}.items():
            write(tmp_path / name, text)
        tool = ROOT / "tools" / "layers.py"
        return run(sys.executable, tool, "--root", tmp_path, check=False)

    return start


def broken(ended: subprocess.CompletedProcess[str]) -> list[str]:
    assert ended.returncode == 1, ended.stdout
    return ended.stderr.splitlines()


# -- this tree --------------------------------------------------------------


@pytest.fixture(scope="module")
def trees() -> list[layers.Tree]:
    return [layers.read_c(ROOT), layers.read_python(ROOT)]


def test_the_core_has_no_circle_and_no_arrow_back(trees):
    assert "\n".join(layers.violations(trees[0])) == ""


def test_the_package_has_no_circle_and_no_arrow_back(trees):
    assert "\n".join(layers.violations(trees[1])) == ""


def test_the_extension_modules_use_only_the_public_headers():
    tree = layers.read_modules(ROOT)
    assert {Path(name).parts[0] for name in tree.files} == set(layers.MODULE_LAYERS)
    assert "\n".join(layers.violations(tree)) == ""


@pytest.mark.parametrize("page", layers.PAGES, ids=str)
def test_a_page_shows_the_layers_as_they_are(trees, page):
    text = (ROOT / page).read_text("utf-8")
    assert layers.filled(text, layers.draw(trees)) == text, layers.RENEW


def test_the_drawing_has_every_layer_in_its_order():
    text = (ROOT / "docs" / "_static" / "layers.svg").read_text("utf-8")
    drawn = re.findall(r'class="mono bold">(.*?)<', text)
    assert drawn == [*layers.C_LAYERS, *layers.PYTHON_LAYERS]


def test_the_graph_is_that_of_the_whole_core(trees):
    sources = [*Path(ROOT, "csrc", "src").rglob("*.c"), *Path(ROOT, "csrc", "src").rglob("*.h")]
    assert len(trees[0].files) == len(sources)
    users = {arrow.user for arrow in trees[0].arrows}
    assert len(users) > len(trees[0].files) / 2
    assert set(trees[0].exported) >= {"pd_flag_find", "pd_parse_argv", "pd_error_list_new"}


def test_a_search_for_an_exported_function_ends_at_its_body():
    # The symbols behind the public names are written out only where they are made.
    makers = {"api.c", "base/work.h"}
    core = ROOT / "csrc" / "src"
    texts = {p.relative_to(core).as_posix(): p.read_text("utf-8") for p in core.rglob("*.[ch]")}
    assert {name for name, text in texts.items() if "pd__do_" in text} == makers
    for name in ("parse_argv", "version", "flag_find", "list_get"):
        body = rf"(?m)^\w.*\bpd_{name}\([^;]*\{{"
        assert sum(bool(re.search(body, text)) for text in texts.values()) == 1, name


# -- the tool ---------------------------------------------------------------


def test_a_tree_whose_arrows_all_go_to_earlier_layers_is_accepted(check):
    ended = check()
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_call_of_a_later_layer_is_named_with_its_function(check):
    text = "int pd__value(void);\nint pd__text(void) { return pd__value(); }"
    lines = broken(check(**{"csrc/src/base/text.c": text}))
    assert lines[0] == "base/text.c uses pd__value of value/value.c, a later layer"
    assert "circle of 2 files: base/text.c, value/value.c" in lines
    assert "  value/value.c uses pd__text of base/text.c" in lines
    assert "circle of 2 folders: base, value" in lines


def test_reading_a_variable_of_a_later_layer_is_an_arrow_as_a_call_is(check):
    text = "extern int pd__value_count;\nint pd__text(void) { return pd__value_count; }"
    lines = broken(check(**{"csrc/src/base/text.c": text}))
    assert lines[0] == "base/text.c uses pd__value_count of value/value.c, a later layer"


def test_a_header_of_a_later_layer_is_refused_though_nothing_of_it_is_used(check):
    text = '#include "../value/value.h"\nint pd__text(void);'
    lines = broken(check(**{"csrc/src/base/text.h": text}))
    assert lines[0] == "base/text.h includes value/value.h, a later layer"


def test_an_extension_module_that_uses_the_core_from_inside_is_refused(check):
    text = '#include "../src/base/text.h"\nint look(void) { return pd__text(); }'
    assert broken(check(**{"csrc/python/flag.c": text})) == [
        "python/flag.c includes src/base/text.h, which is the core's own"
    ]


def test_two_files_of_one_folder_that_use_each_other_are_a_circle(check):
    files = {
        "csrc/src/value/list.c": "int pd__unit(void);\nint pd__list(void) { return pd__unit(); }",
        "csrc/src/value/unit.c": "int pd__more(void);\nint pd__unit(void) { return pd__more(); }",
        "csrc/src/value/more.c": "int pd__list(void);\nint pd__more(void) { return pd__list(); }",
    }
    assert broken(check(**files)) == [
        "circle of 3 files: value/list.c, value/more.c, value/unit.c",
        "  value/list.c uses pd__unit of value/unit.c",
        "  value/unit.c uses pd__more of value/more.c",
        "  value/more.c uses pd__list of value/list.c",
    ]


def test_headers_that_include_each_other_are_a_circle(check):
    files = {
        "csrc/src/value/list.h": '#pragma once\n#include "value.h"',
        "csrc/src/value/value.h": '#pragma once\n#include "list.h"\nint pd__value(void);',
    }
    lines = broken(check(**files))
    assert "circle of 2 files: value/list.h, value/value.h" in lines


def test_nothing_calls_an_exported_function_and_api_c_alone_defines_them(check):
    text = "int pd_get(void);\nint pd_set(void) { return pd_get(); }"
    assert broken(check(**{"csrc/src/report/report.c": text})) == [
        "report/report.c defines pd_set: exported functions belong into api.c",
        "report/report.c uses pd_get of api.c, a later layer",
    ]


def test_a_private_header_is_included_in_its_own_folder_only(check):
    own = {
        "csrc/src/registry/flag.h": "struct pd_flag { int type; };",
        "csrc/src/registry/registry.h": "int pd__type(void);",
        "csrc/src/registry/flag.c": """#include "flag.h"
#include "registry.h"
int pd__type(void) { return (int)sizeof(struct pd_flag); }""",
        "csrc/src/report/report.c": '#include "../registry/registry.h"',
    }
    assert check(**own).returncode == 0
    other = {"csrc/src/report/report.c": '#include "../registry/flag.h"'}
    assert broken(check(**{**own, **other})) == [
        "report/report.c includes registry/flag.h, which is private to registry"
    ]


def test_the_private_headers_are_there(trees):
    assert set(trees[0].files) >= layers.PRIVATE


def test_a_file_outside_the_layers_is_named(check):
    lines = broken(check(**{"csrc/src/more/more.c": "", "paddle_flags/_more.py": ""}))
    assert [line.partition(":")[0] for line in lines] == ["more/more.c", "_more.py"]


@pytest.mark.parametrize(
    "text",
    [
        "import paddle_flags._core.flag",
        "from paddle_flags._core.flag import Flag",
        "from paddle_flags._core import flag",
        "from ._core import flag",
        "def find():\n    from ._core.flag import Flag",
    ],
)
def test_an_import_back_is_found_however_it_is_written(check, text):
    lines = broken(check(**{"paddle_flags/errors.py": text}))
    assert lines[0] == "errors.py imports _core/flag.py, a later layer"
    assert "circle of 3 files: _core/flag.py, _core/kinds.py, errors.py" in lines


def test_what_a_type_checker_alone_imports_does_not_count(check):
    guarded = "if TYPE_CHECKING:\n    from paddle_flags._core.flag import Flag"
    assert check(**{"paddle_flags/errors.py": guarded}).returncode == 0
    otherwise = f"{guarded}\nelse:\n    from paddle_flags._core import flag"
    lines = broken(check(**{"paddle_flags/errors.py": otherwise}))
    assert lines[0] == "errors.py imports _core/flag.py, a later layer"


INSIDE = {
    "paddle_flags/_public.py": "from paddle_flags._core.flag import Flag as Flag",
    "paddle_flags/_extend.py": "from paddle_flags._core.kinds import Wrong as Wrong",
    "paddle_flags/extend.py": "",
    "paddle_flags/live/__init__.py": "from ._serve import serve",
    "paddle_flags/live/_serve.py": "from paddle_flags import Flag, __version__\n"
    "from paddle_flags.extend import Wrong\nfrom ..errors import FlagError",
}


def test_a_package_that_extends_this_one_may_use_its_public_names(check):
    ended = check(**INSIDE)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("from paddle_flags._core.flag import Flag", "paddle_flags._core.flag.Flag"),
        ("from paddle_flags._core import flag", "paddle_flags._core.flag"),
        ("from paddle_flags import _core", "paddle_flags._core"),
        ("from .._core.flag import Flag", "paddle_flags._core.flag.Flag"),
        ("import paddle_flags._native", "paddle_flags._native"),
        ("def find():\n    from paddle_flags import _fast", "paddle_flags._fast"),
        ("from paddle_flags._extend import Wrong", "paddle_flags._extend.Wrong"),
        ("from paddle_flags.extend import _places", "paddle_flags.extend._places"),
        ("from paddle_flags.fleet._join import join", "paddle_flags.fleet._join.join"),
        (
            "if TYPE_CHECKING:\n    from paddle_flags._core.flag import Flag",
            "paddle_flags._core.flag.Flag",
        ),
    ],
)
def test_what_is_private_to_another_part_is_refused_in_a_package_that_extends(check, text, module):
    lines = broken(check(**{**INSIDE, "paddle_flags/live/_client.py": text}))
    assert f"live/_client.py imports {module}, which is private" in lines


@pytest.mark.parametrize("folder", layers.EXTENSIONS)
def test_every_package_that_extends_is_checked(check, trees, folder):
    assert any(name.startswith(f"{folder}/") for name in trees[1].files)
    text = "from paddle_flags._core.flag import Flag"
    lines = broken(check(**{**INSIDE, f"paddle_flags/{folder}/_own.py": text}))
    assert f"{folder}/_own.py imports paddle_flags._core.flag.Flag, which is private" in lines


def test_the_picture_lists_each_layer_with_the_layers_that_it_uses(check, tmp_path):
    check()
    page = write(tmp_path / "CONTRIBUTING.md", f"# Head\n{layers.BEGIN}\nold\n{layers.END}\ntail\n")
    tool = (sys.executable, ROOT / "tools" / "layers.py", "--root", tmp_path)
    picture = run(*tool, "--draw").stdout.strip()
    rows = [line.split() for line in picture.splitlines()]
    assert ["value", "base"] in rows
    assert ["api", "value"] in rows
    run(*tool, "--write")
    assert page.read_text() == f"# Head\n{layers.BEGIN}\n\n{picture}\n\n{layers.END}\ntail\n"
