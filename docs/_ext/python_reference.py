"""The reference of Python: public names stand in paddle_flags, and docstrings are Markdown."""

from __future__ import annotations

import builtins
import inspect
import re
from typing import TYPE_CHECKING

from sphinx import addnodes
from sphinx.pycode import ModuleAnalyzer

import paddle_flags as pf

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

NAME = re.compile(r"[A-Za-z_][\w.]*\w")
CODE = re.compile(r"(`+)([^`]+)\1|\b(?:Flag|[A-Z]\w+(?:Error|Warning|Requested))\b")
TABLE = "   :header-rows: 1"


def text_of(lines: list[str]) -> list[str]:
    """Give a docstring as reStructuredText: its code, its tables and its names."""
    made: list[str] = []
    kind = ""
    for line in lines:
        before, kind = kind, kind_of(line, kind)
        if kind != before and kind == "code":
            made += ["", ".. code-block:: python", ""]
        if kind != before and kind == "table":
            made += ["", ".. list-table::", TABLE, ""]
        made += [line] if kind == "code" else [words(each) for each in rows(line, kind)]
    return made


def kind_of(line: str, before: str) -> str:
    """Say whether a line is of code, of a table, or of text."""
    if line.startswith("    ") or (before == "code" and not line.strip()):
        return "code"
    return "table" if line.startswith("|") else ""


def rows(line: str, kind: str) -> list[str]:
    """Give a line of text, or the cells of a row each on a line."""
    if kind != "table":
        return [line]
    if set(line) <= set("|- "):
        return []
    cells = line.strip("|").split("|")
    return [f"   {'  -' if n else '* -'} {cell.strip()}" for n, cell in enumerate(cells)]


def words(line: str) -> str:
    """Mark up code; the name of something that has an entry stays a link to it."""
    return CODE.sub(code, line)


def code(found: re.Match[str]) -> str:
    """Give a name as a link, and other code as code."""
    quotes, inside = found[1], found[2]
    if not quotes:
        return f"`{found[0]}`" if found[0] in pf.__all__ else found[0]
    return found[0] if quotes == "``" or NAME.fullmatch(inside) else f"`{found[0]}`"


def change_docstring(
    _app: Sphinx, _what: str, _name: str, made: object, _options: object, lines: list[str]
) -> None:
    """Read Markdown, and let each exception lead to its section of the error index."""
    own = inspect.signature(made).parameters if inspect.isfunction(made) else ()
    for name in own:  # a parameter has no entry of its own
        lines[:] = [line.replace(f"`{name}`", f"``{name}``") for line in lines]
    lines[:] = text_of(lines)
    if inspect.isclass(made) and issubclass(made, (pf.FlagError, pf.FlagWarning)):
        name = made.__name__
        lines += ["", f"`{name} in the error index <errors.html#{name.lower()}>`__", ""]


def unlink_builtins(_app: Sphinx, page: nodes.document) -> None:
    """Keep `type` in a hint from leading to Flag.type."""
    for link in list(page.findall(addnodes.pending_xref)):
        if link.get("reftype") == "class" and hasattr(builtins, link["reftarget"]):
            link.replace_self(link.children)


def setup(app: Sphinx) -> dict[str, bool]:
    """Show the public names."""
    vars(pf)["Registry"] = type(pf.FLAGS)
    for name in ["Registry", *pf.__all__]:
        made = getattr(pf, name)
        if inspect.isclass(made) or inspect.isfunction(made):
            made.__module__ = "paddle_flags"
    # Texts below attributes are looked for where a class says that it is from.
    shown, defined = map(ModuleAnalyzer.for_module, ("paddle_flags", "paddle_flags.errors"))
    shown.analyze()
    defined.analyze()
    shown.attr_docs.update(defined.attr_docs)
    app.connect("doctree-read", unlink_builtins)
    app.connect("autodoc-process-docstring", change_docstring)
    return {"parallel_read_safe": True}
