"""What messages and generated files let a user install: nothing by a name that isn't ours yet."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest
from support import ROOT

from paddle_flags._core.missing import ON_INDEX
from paddle_flags._new.project import LANGUAGES, render_project_files

WHEEL = "file:///srv/paddle_flags-0.1.0-cp311-abi3-manylinux_2_17_x86_64.whl"
COMMIT = "2b1c7d0e4f"


def url_record(url: str, **more: Any) -> str:
    """Return what pip writes of an installation from a URL: PEP 610."""
    return json.dumps({"url": url, **more})


@pytest.mark.parametrize(
    ("record", "command"),
    [
        (url_record(WHEEL, archive_info={}), f"pip install 'paddle_flags[live] @ {WHEEL}'"),
        (
            url_record("https://example.org/x.git", vcs_info={"vcs": "git", "commit_id": COMMIT}),
            f"pip install 'paddle_flags[live] @ git+https://example.org/x.git@{COMMIT}'",
        ),
        (
            url_record("file:///home/ann/my%20flags", dir_info={"editable": True}),
            "pip install -e '/home/ann/my flags[live]'",
        ),
        (
            url_record(WHEEL, archive_info={}, subdirectory="native"),
            f"pip install 'paddle_flags[live] @ {WHEEL}#subdirectory=native'",
        ),
        (None, "pip install 'paddle_flags[live] @ <file or checkout of paddle_flags>'"),
    ],
)
def test_an_extra_is_installed_from_where_the_package_came(python, tmp_path, record, command):
    installed = tmp_path / "paddle_flags-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Name: paddle_flags\nVersion: 0.1.0\n", "utf-8")
    if record:
        (installed / "direct_url.json").write_text(record, "utf-8")
    text = "from paddle_flags.extend import format_install_command as f\nprint(f('live'))"
    ended = python(f"sys.path.insert(0, {str(tmp_path)!r})\n{text}")
    assert ended.stdout == f"{command}\n"


@pytest.mark.skipif(ON_INDEX, reason="the name paddle_flags on the package index is ours")
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_project_does_not_ask_the_package_index_for_paddle_flags(language):
    files = render_project_files("alpha", language)
    project = tomllib.loads(files.get("pyproject.toml", ""))
    asked = project.get("build-system", {}).get("requires", [])
    asked = [*asked, *project.get("project", {}).get("dependencies", [])]
    assert not [each for each in asked if re.match(r"paddle.flags", each)]


@pytest.mark.skipif(ON_INDEX, reason="the name paddle_flags on the package index is ours")
def test_no_page_or_message_installs_the_package_by_its_name():
    places = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/*/*.md")]
    places += [path for path in ROOT.glob("paddle_flags/**/*") if path.suffix in (".py", ".in")]
    by_name = re.compile(
        r"pip[\w. ]* install\b[^\n`|&#]*[ '\"]paddle[-_]flags(\[[\w,]*\])?['\"\s`]"
    )
    found = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in places
        for line in path.read_text("utf-8").splitlines()
        if by_name.search(line + "\n") and "{extra}" not in line
    ]
    assert not found
