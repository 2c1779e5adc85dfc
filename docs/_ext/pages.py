"""Turn the Markdown pages, which a repository's viewer shows as they are, into pages of the site.

- `<!-- rst ... -->`, which the viewer hides, is reStructuredText: directives of Sphinx.
- The fence ```c alpha.c gets the caption alpha.c.
- `<!-- index -->` in front of a table gives each name in it an entry of the index, which the
  search of the site looks in.
- A link to a folder leads to its index; a link to anything outside of docs/ becomes plain text.
- An index has a table of contents: the pages that it links to, in this order, then all others of
  its folder.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#:\s]+)(#[^)]*)?\)")
INDEXED = re.compile(r"<!-- index -->\n\n((?:\|.*\n)+)")
NAME = re.compile(r"`(\.?(?:\w+(?:::|\.)?)+=?)")
TOCTREE = "\n\n```{toctree}\n:hidden:\n:glob:\n\n%s\n```\n"


def for_site(text: str, page: Path, docs: Path) -> str:
    """Give the text of a page as the site needs it."""
    text = INDEXED.sub(indexed, text)
    text = re.sub(r"<!-- rst\n(.*?)-->", r"```{eval-rst}\n\1```", text, flags=re.DOTALL)
    contents = TOCTREE % "\n".join(entries(text, page)) if page.stem == "index" else ""
    parts = []
    end = 0
    for fenced in FENCED.finditer(text):
        parts += [linked(text[end : fenced.start()], page, docs), captioned(fenced[0])]
        end = fenced.end()
    return "".join([*parts, linked(text[end:], page, docs), contents])


def indexed(found: re.Match[str]) -> str:
    """Put entries of the index in front of a table, for the names in all of its cells."""
    names = sorted(set(NAME.findall(found[1])))
    entries = "".join(f"   single: {name}\n" for name in names)
    return f"<!-- rst\n.. index::\n{entries}-->\n\n{found[1]}"


def captioned(block: str) -> str:
    """Show the name of the file that a block is."""
    return re.sub(r"\A```(\w+) (\S.*)", r"```{code-block} \1\n:caption: \2\n", block)


def linked(text: str, page: Path, docs: Path) -> str:
    """Make links lead to pages."""

    def replace(link: re.Match[str]) -> str:
        image, words, path, part = link[1], link[2], link[3], link[4] or ""
        target = (page.parent / path).resolve()
        if target.is_dir() and (target / "index.md").exists():
            return f"{image}[{words}]({path.rstrip('/')}/index.md{part})"
        outside = docs not in target.parents
        return words if outside and not image else link[0]

    return LINK.sub(replace, text)


def entries(text: str, page: Path) -> list[str]:
    """Give the table of contents of an index: names of pages, seen from it."""
    paths = [link[3] for link in LINK.finditer(text)]
    below = [path for path in paths if path.endswith(".md") and not path.startswith("..")]
    listed = list(dict.fromkeys(path[: -len(".md")] for path in below))
    others = {other.stem for other in page.parent.glob("*.md")} - {*listed, page.stem}
    return [*listed, *(["*"] if others else [])]


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Change the text of a page before it is read."""
    docs = Path(app.srcdir).resolve()
    source[0] = for_site(source[0], docs / f"{name}.md", docs)


def setup(app: Sphinx) -> dict[str, bool]:
    """Take part in the build."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
