"""The reference of C: what pd_flags.h declares and says, as objects of Sphinx's C domain.

.. pd-header:: overview          the comment at the top of the header
.. pd-header:: Lists             the section of this title
.. pd-header:: macros            PD_DEFINE_<type> and the like, of pd_flags/define.h
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from c_header import Header, plain
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from c_header import Block, Item
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
INCLUDE = DOCS.parent / "csrc" / "include"
# What a comment may name: code in backquotes, a page, a name of the library, a star or a bar.
WORDS = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|docs/(?P<page>[\w/-]+)\.md"
    r"|(?P<pattern>(?:pd|PD)_\w*(?:<\w+>|\*)|<\w+>|--[\w=<>.\[\]-]+|[\w/]+\.h\b|\*\w+"
    r"|\bFLAGS_(?:<\w+>|\w+(?:\.get\(\))?)|(?<!\S)\.[a-z]\w+|\$'\.\.\.'|\\(?:\\|'|x?\w+))"
    r"|(?P<name>\b(?:pd_|PD_[A-Z])\w+\b)"
    r"|(?P<special>[*|\\]|_\b)"
)


@functools.cache
def header() -> Header:
    """Read the header once."""
    return Header((INCLUDE / "pd_flags.h").read_text("utf-8"))


def text_of(comment: str) -> list[str]:
    """Give a comment as reStructuredText."""
    lines: list[str] = []
    code = False
    for line in comment.splitlines():
        if line.startswith("    ") and not (lines and lines[-1].strip() and not code):
            language = "c" if re.search("[;#]", line) else "none"
            lines += [] if code else [f".. code-block:: {language}", ""]
            code = True
        elif line.strip():
            code = False
        lines.append(line if code else WORDS.sub(marked, line))
    return lines


def marked(found: re.Match[str]) -> str:
    """Mark up one word of a comment."""
    code = found["code"] or found["pattern"]
    if code:
        return f"``{code}``"
    if found["page"]:
        page = found["page"]
        return f":doc:`/{page}`" if (DOCS / f"{page}.md").exists() else f"``docs/{page}.md``"
    if found["name"]:
        return f":c:type:`{found['name']}`"
    return f"\\{found['special']}"


def indented(lines: list[str]) -> list[str]:
    """Put lines below a directive."""
    return ["", *(f"   {line}".rstrip() for line in lines), ""]


def shown(block: Block) -> Iterator[str]:
    """Show a comment with its declarations; functions that follow each other share an entry."""
    left = list(block.items)
    words = text_of(block.comment)
    while left:
        first = left.pop(0)
        group = [first]
        while first.kind == "function" and left and left[0].kind == "function":
            group.append(left.pop(0))
        yield from entry(group, words)
        words = []


def signature(kind: str, texts: list[str]) -> str:
    """Give the head of an entry."""
    head = f".. c:{kind}:: "
    return head + f"\n{' ' * len(head)}".join(texts)


def entry(group: list[Item], words: list[str]) -> Iterator[str]:
    """Show declarations of one kind."""
    first = group[0]
    yield signature(first.kind, [item.text for item in group])
    content = [*words, ""]
    for item in group:
        if item.remark:
            start = f"- ``{item.name}``: " if len(group) > 1 else ""
            content += [start + " ".join(text_of(item.remark))]
    if first.body:
        language = "none" if first.kind == "macro" else "c"
        content += ["", f".. code-block:: {language}", *indented(first.body.splitlines())]
    for member in first.members:
        content += ["", f".. c:enumerator:: {member.text}"]
        content += indented(text_of(" ".join(member.remark.split())))
    yield from indented(content)


def macros() -> Iterator[str]:
    """Show the macros that define, declare and import flags."""
    text = (INCLUDE / "pd_flags" / "define.h").read_text("utf-8")
    comment = text[2 : text.index("*/")]
    yield from text_of(plain(comment))
    made = (INCLUDE / "pd_flags" / "define_types.h").read_text("utf-8")
    types = re.findall(r"#define PD_DEFINE_([a-z]\w+)", made)
    forms = {"DEFINE": "name, value, help, ...", "DECLARE": "name", "IMPORT": "name, value"}
    for verb, names in forms.items():
        signatures = [f"PD_{verb}_{each}({names})" for each in types]
        yield from ["", signature("macro", signatures), ""]


class PdHeader(SphinxDirective):
    """A part of the header."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Parse the part as reStructuredText."""
        self.env.note_dependency(str(INCLUDE / "pd_flags.h"))
        lines = "\n".join(self.part(self.arguments[0])).splitlines()
        place = nodes.Element()
        place.document = self.state.document
        source = str(INCLUDE / "pd_flags.h")
        self.state.nested_parse(StringList(lines, source=source), self.content_offset, place)
        return place.children

    @staticmethod
    def part(title: str) -> list[str]:
        """Give the lines of a part."""
        if title == "overview":
            return text_of(header().comment)
        if title == "macros":
            return list(macros())
        section = header().section(title)
        blocks = [line for block in section.blocks for line in shown(block)]
        return [*text_of(section.comment), "", *blocks]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("pd-header", PdHeader)
    return {"parallel_read_safe": True}
