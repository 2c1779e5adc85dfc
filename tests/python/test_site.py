"""The site: it builds without a warning, its links lead somewhere, and its references are whole."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import packages
import pytest
from support import ROOT, missing, run
from test_exports import declared

import paddle_flags as pf

pytestmark = pytest.mark.release  # `make docs` has built the site
DOCS = ROOT / "docs"
HEADERS = ROOT / "csrc" / "include"
FOLDERS = [DOCS / name for name in ("how-to", "reference", "explanation", "decisions")]


class Page(HTMLParser):
    """What a page links to and loads, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag != "a":
            self.loads += [values[key] for key in ("href", "src") if values.get(key)]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    if not importlib.util.find_spec("furo"):
        missing("furo", "make docs installs it")

    def make(out: Path) -> None:
        built = run(sys.executable, "-m", "sphinx", "-q", "-E", "-W", "--keep-going", DOCS, out)
        assert built.stderr == ""

    return packages.once(tmp_path_factory, "site", make)


@pytest.fixture(scope="session")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_every_page_is_a_page_of_the_site(site, pages):
    for path in DOCS.rglob("*.md"):
        assert site / path.relative_to(DOCS).with_suffix(".html") in pages


def test_every_link_of_the_site_leads_to_a_page_and_an_anchor_of_it(pages):
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                assert parts.scheme in ("https", "mailto"), f"{path}: {link}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path}: {link}"
            if parts.fragment and target in pages:
                anchors = pages[target].anchors | {""}
                assert unquote(parts.fragment) in anchors, f"{path}: {link}"


def test_the_site_loads_nothing_from_a_network(site, pages):
    for path, page in pages.items():
        for each in page.loads:
            assert not urlsplit(each).netloc, f"{path}: {each}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text("utf-8"))


def test_the_site_can_be_searched(site):
    assert "pd_flag_register" in (site / "searchindex.js").read_text("utf-8")


@pytest.mark.parametrize(
    "name", [".runtime", "pd::runtime", "runtime=", "pd_flag_set_from_string", "pd::set", "reset"]
)
def test_the_search_finds_a_name_of_any_language_in_the_table_of_names(site, name):
    text = (site / "searchindex.js").read_text("utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    pages = {index["docnames"][each[0]] for each in index["indexentries"][name]}
    assert "reference/names" in pages


def test_the_table_of_names_has_every_keyword_of_define_and_every_attribute_of_c():
    text = (DOCS / "reference" / "names.md").read_text("utf-8")
    keywords = [*inspect.signature(pf.define).parameters][3:]
    assert [name for name in keywords if f"`{name}=`" not in text] == []
    header = (HEADERS / "pd_flags.h").read_text("utf-8")
    maps = header[header.index("#define PD_FIRST_MARKS") : header.index("#define PD_TEXT_MAP")]
    fields = set(re.findall(r"X\((\w+), \"", maps)) - {"scoped"}
    assert [name for name in fields if f"`.{name}`" not in text] == []


def test_the_reference_of_c_has_every_exported_function(site, pages):
    anchors = pages[site / "reference" / "c.html"].anchors
    assert {f"c.{name}" for name in declared()} <= anchors


def test_the_reference_of_c_has_every_constant_and_type(site, pages):
    anchors = pages[site / "reference" / "c.html"].anchors
    text = (HEADERS / "pd_flags.h").read_text("utf-8")
    types = set(re.findall(r"^(?:\} |typedef .*[ *])(pd_\w+)(?:;|\)\()", text, re.MULTILINE))
    assert len(types) > 20
    assert {f"c.{name}" for name in types} <= anchors
    statuses = re.findall(r"X\((\w+), \d+, \"", text.partition("PD_STATUS_ENUM")[0])
    assert {f"c.pd_status.PD_{name}" for name in statuses} <= anchors


def test_the_reference_of_python_has_every_public_name(site, pages):
    anchors = pages[site / "reference" / "python-api.html"].anchors
    for name in pf.__all__:
        anchor = f"paddle_flags.{name}"
        if isinstance(getattr(pf, name), ModuleType):  # by what is in it
            assert any(each.startswith(f"{anchor}.") for each in anchors), name
        else:
            assert anchor in anchors


def test_the_error_index_has_every_status_and_every_exception():
    text = (DOCS / "reference" / "errors.md").read_text("utf-8")
    header = (HEADERS / "pd_flags.h").read_text("utf-8").partition("PD_STATUS_ENUM")[0]
    for name, words in re.findall(r"X\((\w+), \d+, \"(.*)\"\)", header):
        assert f"\n## PD_{name}\n\n*{words}*" in text
    classes = [name for name in pf.__all__ if isinstance(getattr(pf, name), type)]
    for name in classes:
        if issubclass(getattr(pf, name), (pf.FlagError, pf.FlagWarning)):
            assert f"\n### {name}\n" in text


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_index_of_a_folder_lists_all_of_its_pages(folder):
    listed = re.findall(r"\]\(([\w-]+\.md)[#)]", (folder / "index.md").read_text("utf-8"))
    pages = sorted(path.name for path in folder.glob("*.md") if path.name != "index.md")
    assert sorted(set(listed)) == pages


def test_the_index_of_decisions_says_what_each_one_says_first():
    index = (DOCS / "decisions" / "index.md").read_text("utf-8")
    for path in sorted((DOCS / "decisions").glob("[0-9]*.md")):
        title, first, _ = path.read_text("utf-8").split("\n\n", 2)
        assert title.startswith(f"# {path.name[:4]}: ")
        assert f"| [{title[2:]}]({path.name}) | {' '.join(first.split())} |" in index
