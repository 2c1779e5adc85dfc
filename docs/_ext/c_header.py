"""Read pd_flags.h: its sections, its comments, and the declarations below each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BANNER = re.compile(r"^/\* -{20,}\n \* (.*?)\s*\*/$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
DIRECTIVE = re.compile(r"#(?:.*\\\n)*.*")
ENTRY = re.compile(r'X\((\w+), (\d+),(?: [^",]*,)*?(?: "(.*?)")?')


@dataclass
class Item:
    """A declaration: its kind in Sphinx's C domain, its text, and what stands behind it."""

    kind: str  # function, macro, struct, union, enum, enumerator, type
    text: str
    remark: str = ""
    body: str = ""  # the declaration as it stands in the header
    members: list[Item] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Give the declared name."""
        found = re.search(r"\(\*(\w+)\)|(\w+)\(|(\w+)(?: = \d+)?$", self.text)
        return next(filter(None, found.groups())) if found else self.text


@dataclass
class Block:
    """A comment, and the declarations that it is about."""

    comment: str
    items: list[Item]


@dataclass
class Section:
    """A part of the header below a banner."""

    title: str
    comment: str
    blocks: list[Block]


class Header:
    """A header of the library."""

    def __init__(self, text: str) -> None:
        first = COMMENT.match(text)
        self.comment = plain(first[1]) if first else ""
        self.macros = dict(re.findall(r"#define (PD_\w+)(?:\([^)]*\))?((?:.*\\\n)*.*)", text))
        banners = list(BANNER.finditer(text))
        ends = [*(banner.start() for banner in banners[1:]), text.rfind("#ifdef __cplusplus")]
        start = text.index("#define PD_VERSION")
        constants = text[start : text.index("#ifdef __cplusplus", start)]
        self.sections = [self._section("constants", constants)]
        self.sections += [
            self._section(banner[1], text[banner.end() : end]) for banner, end in zip(banners, ends)
        ]

    def section(self, title: str) -> Section:
        """Give the section of this title."""
        return next(each for each in self.sections if each.title == title)

    def _section(self, head: str, text: str) -> Section:
        title, _, more = plain(head).partition("\n")
        blocks: list[Block] = []
        waiting = ""  # the comment of a macro that isn't public, but makes what follows it
        for part in re.split(r"\n\s*\n", text):
            block = self._block(part)
            block.comment = block.comment or waiting
            waiting = "" if block.items else block.comment
            blocks += [block] if block.items else []
        return Section(title, more.strip(), blocks)

    def _block(self, text: str) -> Block:
        text = text.strip()
        comment = COMMENT.match(text)
        code = text[comment.end() :] if comment else text
        return Block(plain(comment[1]) if comment else "", list(self._items(code)))

    def _items(self, code: str) -> Iterator[Item]:
        at = 0
        while code[at:].strip():
            at += len(code[at:]) - len(code[at:].lstrip())
            length = self._length(code[at:])
            text = code[at : at + length]
            at += length
            behind = re.match(r"[ \t]*/\*(.*?)\*/", code[at:], re.DOTALL)
            if behind:
                at += behind.end()
            yield from self._read(text, plain(behind[1]) if behind else "")

    @staticmethod
    def _length(code: str) -> int:
        """Measure the declaration at the beginning of some code."""
        directive = DIRECTIVE.match(code)
        if directive:
            return directive.end()
        call = re.match(r"\w+\(\w+\)(?=\n|$)", code)
        if call:
            return call.end()
        depth = 0
        for found in re.finditer(r"/\*.*?\*/|[{};]", code, re.DOTALL):
            depth += {"{": 1, "}": -1}.get(found[0], 0)
            if found[0] == ";" and not depth:
                return found.end()
        return len(code)

    def _read(self, text: str, remark: str) -> Iterator[Item]:
        if text.startswith("#"):
            yield from self._macro(text, remark)
            return
        call = re.fullmatch(r"(\w+)\((\w+)\)", text)
        if call:
            yield from self._made(*call.groups())
            return
        flat = " ".join(COMMENT.sub("", text).split()).rstrip(";").strip()
        tagged = re.match(r"typedef (struct|union|enum) (\w+)", flat)
        if flat.startswith("PD_API "):
            yield Item("function", flat[len("PD_API ") :], remark)
        elif tagged and (("{" in flat) or flat.split()[-1] == tagged[2]):
            body = self._with_fields(text) if "{" in flat else ""
            members = self._members(text) if tagged[1] == "enum" else []
            yield Item(tagged[1], tagged[2], remark, "" if members else body, members)
        elif flat.startswith("typedef "):
            yield Item("type", flat[len("typedef ") :], remark)

    @staticmethod
    def _macro(text: str, remark: str) -> Iterator[Item]:
        found = re.match(r"#define (\w+(?:\([^)]*\))?)", text)
        if found and not re.match(r"PD__|\w+_(ENUM|FIELDS)\b", found[1]):
            yield Item("macro", found[1], remark, tidy(text))

    def _made(self, table: str, maker: str) -> Iterator[Item]:
        """Give the functions that a list makes: one for each of its types."""
        pattern = " ".join(self.macros[maker].replace("\\\n", " ").split())
        pattern = pattern.replace("PD_API ", "").rstrip(";")
        for name, ctype in re.findall(r"X\((\w+), \d+, ([^,]*), \w+\)", self.macros[table]):
            made = re.sub(r"\bctype\b", ctype, pattern.replace("##name", name))
            yield Item("function", made)

    def _with_fields(self, text: str) -> str:
        """Write out the fields that macros make in a struct."""

        def fields(use: re.Match[str]) -> str:
            name, argument = use[1], use[2]
            body = self.macros[name].replace("\\\n", "\n")
            if not argument.startswith("PD__"):
                body = re.sub(r"\bPD_ALIGNED |\bT\b(?= )", "", body.replace("T ", f"{argument} "))
                return self._with_fields("\n".join(line.rstrip() for line in body.splitlines()[1:]))
            ctype = "bool " if argument == "PD__MARK_FIELD" else "const char *"
            listed = re.findall(r'X\((\w+), .*?, "((?:[^"\\]|\\.)*)"\)', body)
            return "\n".join(
                f"  {ctype}{field}; /* {about} */".replace('\\"', '"') for field, about in listed
            )

        text = text.replace("PD__LATER_MARK_FIELDS", self.macros["PD__LATER_MARK_FIELDS"])
        text = re.sub(r"\buint8_t reserved\[.*?\];", "uint8_t reserved[];", text)
        text = re.sub(r"[ ]*\b(PD_\w+)\((\w+)\)", fields, text)
        text = re.sub(r"[ ]*\\$", "", text, flags=re.MULTILINE)
        return re.sub(r"\n\s*\n", "\n", text)

    def _members(self, text: str) -> list[Item]:
        """Give the constants of an enum, which may come from a list."""
        used = re.search(r"\{\s*(\w+)\((\w+)\)\s*\}", text)
        if not used:
            found = re.findall(r"(PD_\w+ = \d+),?(?:\s*/\*(.*?)\*/)?", text, re.DOTALL)
            return [Item("enumerator", name, plain(remark)) for name, remark in found]
        start = self.macros[used[2]].partition("##")[0].strip()
        return [
            Item("enumerator", f"{start}{name} = {number}", words)
            for name, number, words in ENTRY.findall(self.macros[used[1]])
        ]


def plain(comment: str) -> str:
    """Give the text of a comment without its stars."""
    return re.sub(r"\n \*(?: |$)", "\n", comment, flags=re.MULTILINE).strip()


def tidy(code: str) -> str:
    """Give code without the blanks in front of the backslashes at its lines' ends."""
    return re.sub(r" +\\\n", " \\\\\n", code)
