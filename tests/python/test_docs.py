"""Every snippet of the documents works, and every link leads somewhere.

The blocks of one document share a directory and run in their order.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documents import Block, blocks, commands
from support import ROOT, SANITIZE, write

import paddle_flags as pf

pytestmark = pytest.mark.extended  # each test starts a process

DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]

# test_new.py runs the snippets of this page, and fleet/test_jobs.py the programs with_*.py.
RUN_HERE = [path for path in DOCUMENTS if path.name != "other-languages.md"]
RUN_ELSEWHERE = re.compile(r"\bwith_\w+\.py\b")

# What people write; python-api.md is made from the code.
MANUAL = [
    path
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if path.parent.name != "decisions" and path.name != "python-api.md"
]


def check_console(block: Block, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for command, expected in commands(block.text):
        if RUN_ELSEWHERE.search(command):
            continue
        ended = subprocess.run(  # noqa: S602 - as a reader types it
            command,
            shell=True,
            cwd=folder,
            env={**os.environ, "PATH": path, "COLUMNS": "80", "PYTEST_ADDOPTS": "-p no:asyncio"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert ended.stdout == expected, f"line {block.line}: $ {command}"


@pytest.mark.skipif(bool(SANITIZE), reason="a sanitizer's runtime makes the linker talk")
@pytest.mark.parametrize("document", RUN_HERE, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_snippet_of_a_document_works(document, tmp_path):
    for block in blocks(document.read_text("utf-8")):
        if block.file:
            write(tmp_path / block.file, block.text)
        elif block.language == "console":
            check_console(block, tmp_path)
        else:
            assert block.language in ("sh", "text", ""), f"line {block.line}: no test runs this"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_of_a_document_leads_to_a_file(document):
    text = re.sub(r"```.*?```", "", document.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        assert target.startswith("https://") or (document.parent / target).exists(), target


def anchors(document: Path) -> set[str]:
    """What links to the headings of a document end in, as GitHub makes it."""
    text = re.sub(r"^```.*?^```", "", document.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    slugs = [re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings]
    return {f"{slug}-{n}" if (n := slugs[:i].count(slug)) else slug for i, slug in enumerate(slugs)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_part_of_a_document_leads_to_its_heading(document):
    text = re.sub(r"```.*?```", "", document.read_text("utf-8"), flags=re.DOTALL)
    for target, part in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
        other = document.parent / target if target else document
        assert part in anchors(other), f"{target}#{part}"


def test_every_page_about_something_experimental_says_so():
    place = ROOT / "docs" / "reference" / "versions.md"
    section = place.read_text("utf-8").partition("## Experimental")[2].partition("## ")[0]
    pages = re.findall(r"\]\(([\w./-]+\.md)\)", section)
    assert len(pages) >= 5
    for page in pages:
        text = (place.parent / page).read_text("utf-8")
        assert "[experimental](" in text, page


@pytest.mark.parametrize("function", [pf.define, pf.parse, pf.describe, pf.dump, pf.load_plugin])
def test_every_parameter_of_a_function_is_told(function):
    text = "".join(path.read_text("utf-8") for path in MANUAL)
    for name in inspect.signature(function).parameters:
        told = rf"`{name}[`=]|[(, ]{name}=|{function.__name__}\({name}\b"
        assert re.search(told, text), name


@pytest.mark.parametrize("kind", [pf.Flag, pf.FlagEntry, pf.FlagChange, pf.Hook, pf.Plugin])
def test_every_name_that_programs_use_is_told(kind):
    inside = {"count", "from_entry", "handle", "index"}  # of tuples, and for this package itself
    names = {name for name in dir(kind) if not name.startswith("_")} - inside
    text = "".join(path.read_text("utf-8") for path in MANUAL)
    for name in [*pf.__all__, *names]:
        assert re.search(rf"\b{name}\b", text), name


def test_every_make_target_that_a_document_names_exists():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for document in DOCUMENTS:
        text = document.read_text("utf-8")
        for target in re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{document}: {target}"
