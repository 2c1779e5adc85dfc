"""Generate the code that mirrors lists of the headers: attributes, types, exported functions.

lists.py [--check] [--root DIRECTORY]

Writes all of paddle_flags/_core/header.py; in other files of Python, the lines between
`# <what>: made by tools/lists.py` and `# end of <what>`. In the public headers, the lines between
`/* <what>: made by tools/lists.py, for each type:`, with the lines to repeat in that comment, and
`/* end of <what> */`. --check writes nothing, and fails if a file differs from what would be
written.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = Path("csrc", "include")
HEADER = INCLUDE / "pd_flags.h"
MODULE = Path("paddle_flags", "_core", "header.py")
TABLE = INCLUDE / "pd_flags" / "table.h"
WORK = Path("csrc", "src", "base", "work.h")
WIDTH = 100


class Mark(NamedTuple):
    """An attribute that is true or false."""

    name: str
    words: str
    about: str


class Text(NamedTuple):
    """An attribute that is text."""

    name: str
    words: str
    kind: str  # TEXT or NAMES
    about: str


class Type(NamedTuple):
    """A type of values."""

    name: str
    number: str
    ctype: str
    member: str


class Lists(NamedTuple):
    """The lists of the header."""

    first_marks: list[Mark]
    later_marks: list[Mark]
    texts: list[Text]
    types: list[Type]

    @property
    def marks(self) -> list[Mark]:
        """All marks, in the order of the struct's fields."""
        return [*self.first_marks, *self.later_marks]


LONGEST = 84  # characters of a tuple behind its name, in a line of Python

# Texts with parameters of their own, as they go with the type of the value.
OWN_KEYWORDS = ("choices", "unit")


def rows(header: str, name: str) -> Iterator[list[str]]:
    """Yield the rows of a list of the header: the arguments of each X(...)."""
    found = re.search(rf"^#define {name}\(X\)((?:.*\\\n)+.*\n)", header, re.MULTILINE)
    if not found:
        sys.exit(f"no list {name} in {HEADER}")
    for row in re.findall(r'X\(((?:"(?:\\.|[^"\\])*"|[^()"])*)\)', found[1]):
        parts = (part.strip() for part in re.findall(r'"(?:\\.|[^"\\])*"|[^",]+', row))
        yield [part[1:-1].replace('\\"', '"') if part[0] == '"' else part for part in parts if part]


def read(header: str) -> Lists:
    """Return the lists of the header."""
    return Lists(
        first_marks=[Mark(*row) for row in rows(header, "PD_FIRST_MARKS")],
        later_marks=[Mark(*row) for row in rows(header, "PD_LATER_MARKS")],
        texts=[
            Text(*row)
            for name in ("PD_FIRST_TEXTS", "PD_LATER_TEXTS")
            for row in rows(header, name)
        ],
        types=[Type(*row) for row in rows(header, "PD_TYPE_MAP")],
    )


# ---- The module ----


def quoted(text: str) -> str:
    """Return text quoted as ruff formats it."""
    quote = "'" if '"' in text else '"'
    return f"{quote}{text}{quote}"


def literal(lists: Lists, *members: str) -> str:
    """Return a Literal of the types whose values are in these members of pd_value."""
    found = [quoted(each.name) for each in lists.types if each.member in members]
    return f"Literal[{', '.join(found)}]"


def keyword(text: Text) -> str:
    """Return the type annotation of a keyword argument."""
    return "Iterable[str]" if text.kind == "NAMES" else "str | None"


def keywords(lists: Lists) -> list[Text]:
    """Return the texts that are keyword arguments of every definition."""
    return [text for text in lists.texts if text.name not in OWN_KEYWORDS]


def module_of(lists: Lists) -> str:
    """Return the text of header.py."""
    made = [
        '"""The lists of pd_flags.h, as Python has them. Made by tools/lists.py: `make lists`."""',
        "",
        "from __future__ import annotations",
        "",
        "TYPE_CHECKING = False  # as in typing, whose import is slow",
        "if TYPE_CHECKING:",
        "    from collections.abc import Iterable",
        "    from typing import Literal, TypedDict",
        "",
        f"    Integer = {literal(lists, 'i64', 'u64')}",
        f"    Floating = {literal(lists, 'f64')}",
        "",
        "    class MostAttributes(TypedDict, total=False):",
        '        """The attributes that every definition may have, but `optional`."""',
        "",
        *(f"        {mark.name}: bool" for mark in lists.marks if mark.name != "optional"),
        *(f"        {text.name}: {keyword(text)}" for text in keywords(lists)),
        "        replace: bool  # this one is of the call of define()",
        "",
        "    class Attributes(MostAttributes, total=False):",
        '        """The attributes that every definition may have."""',
        "",
        "        optional: bool  # if it is known to be true, the value may be None",
        "",
        "",
        "# Attributes that are true or false: their names in reports, and their meanings.",
        "MARKS = {",
        *(f"    {quoted(mark.name)}: {quoted(mark.words)}," for mark in lists.marks),
        "}",
        "MARK_MEANINGS = {",
        *(f"    {quoted(mark.name)}: {quoted(mark.about)}," for mark in lists.marks),
        "}",
        "",
        "# Attributes that are text, and whether that is a list of names separated by |.",
        "TEXTS = {",
        *(f"    {quoted(each.name)}: {each.kind == 'NAMES'}," for each in lists.texts),
        "}",
        "",
        "# Types: the C type of a variable, and the member of pd_value.",
        "C_TYPES = {",
        *(
            f"    {quoted(each.name)}: ({quoted(each.ctype)}, {quoted(each.member)}),"
            for each in lists.types
        ),
        "}",
    ]
    return "\n".join(made) + "\n"


# ---- Exported functions ----


class Function(NamedTuple):
    """A declaration of the header, without `pd_`."""

    result: str
    name: str
    parameters: str
    arguments: str


def split_parameters(parameters: str) -> list[str]:
    """Split at the commas that no parentheses hold."""
    return [part.strip() for part in re.split(r",(?![^()]*\))", parameters)]


def argument_of(parameter: str) -> str:
    """Return the name of a parameter, which may be a pointer to a function."""
    found = re.search(r"\(\*(\w+)\)", parameter) or re.search(r"(\w+)$", parameter)
    if not found:
        sys.exit(f"a parameter without a name: {parameter}")
    return "" if found[1] == "void" else found[1]


def functions_of(header: str, types: list[Type]) -> dict[str, Function]:
    """Return the functions that the header declares, by name; those for each type, too."""
    found = {}
    text = re.sub(r"/\*.*?\*/|\\\n", " ", header, flags=re.DOTALL)
    for declared in re.findall(r"PD_API ([^;#]*?)pd_(\w+)((?:##name)?)\(([^;]*)\);", text):
        result, name, each, parameters = (" ".join(part.split()) for part in declared)
        for kind in types if each else types[:1]:
            own = re.sub(r"\bctype ?", kind.ctype + " " * (kind.ctype[-1] != "*"), parameters)
            function = Function(
                result,
                name + (kind.name if each else ""),
                own,
                ", ".join(map(argument_of, split_parameters(own))),
            )
            found[function.name] = function
    return found


def listed(maps: str) -> list[str]:
    """Return the names of the functions in the rows of maps, such as PD_TABLE_MAP."""
    rows = r"^  (?:STATUS|RESULT|VOID|S|R|V)\((?:[^(]*, )?(\w+),"
    return re.findall(rows, maps, re.MULTILINE)


def row_of(function: Function) -> str:
    """Return the row of a function in PD_TABLE_MAP."""
    kind = {"pd_status": "STATUS(", "void": "VOID("}
    start = kind.get(function.result, f"RESULT({function.result}, ") + function.name
    parts = [start, *split_parameters(function.parameters), f"({function.arguments}))"]
    parts[1] = f"({parts[1]}"
    parts[-2] += ")"
    # No line ends within a part.
    text = ", ".join(part.replace(" ", "\0") for part in parts)
    lines = textwrap.wrap(text, WIDTH - 2, initial_indent="  ", subsequent_indent="    ")
    return "".join(f"{line:{WIDTH - 1}}\\\n".replace("\0", " ") for line in lines)


def table_of(table: str, pure: list[str], functions: dict[str, Function]) -> str:
    """Return table.h: the rows as they stand there, and new functions behind them."""
    begin, end = "#define PD_TABLE_MAP(STATUS, RESULT, VOID)", "/* end of PD_TABLE_MAP */"
    before, _, rest = table.partition(begin)
    inside, _, after = rest.partition(end)
    old = listed(inside)
    if gone := [name for name in old if name not in functions]:
        sys.exit(f"{TABLE} has functions that {HEADER} doesn't declare: {', '.join(gone)}")
    new = [name for name in functions if name not in old and name not in pure]
    rows = "".join(row_of(functions[name]) for name in [*old, *new]).rstrip("\\\n ")
    return f"{before}{begin:{WIDTH - 1}}\\\n{rows}\n{end}{after}"


# ---- Parts of other files ----


def property_of(mark: Mark) -> str:
    """Return the property of a mark."""
    about = mark.about[0].upper() + mark.about[1:]
    return (
        f"    @property\n    def {mark.name}(self) -> bool:\n"
        f'        """{about}."""\n'
        f"        return bool(self._read_info().{mark.name})\n"
    )


def parameters_of(lists: Lists) -> str:
    """Return the parameters of define()."""
    made = [f"    {mark.name}: bool = False,\n" for mark in lists.marks]
    for text in keywords(lists):
        default = "()" if text.kind == "NAMES" else "None"
        made.append(f"    {text.name}: {keyword(text)} = {default},\n")
    return "".join(made)


def tuple_of(name: str, items: list[str]) -> str:
    """Return a statement that assigns a tuple, as ruff formats it."""
    lines = [f"    {name} = ("]
    for item in items:
        if len(lines[-1]) + len(item) + 2 > WIDTH or len(lines) == 1:
            lines.append("       ")
        lines[-1] += f" {item},"
    return "\n".join([*lines, "    )  # fmt: skip\n"])


def values_of(lists: Lists) -> str:
    """Return the arguments of define() in the order of the lists."""
    marks = tuple_of("marks: tuple[bool, ...]", [mark.name for mark in lists.marks])
    return marks + tuple_of("texts: tuple[Any, ...]", [text.name for text in lists.texts])


def put(text: str, what: str, lines: str) -> str:
    """Return a text with one of its parts replaced."""
    begin, end = f"# {what}: made by tools/lists.py\n", f"# end of {what}\n"
    before, _, rest = text.partition(begin)
    inside, found, after = rest.partition(end)
    if not found:
        sys.exit(f"no part for {what}")
    indent = re.findall(r"[ ]*\Z", inside)[0]
    return f"{before}{begin}{lines}{indent}{end}{after}"


# ---- Parts of the public headers ----

# A comment with lines to repeat, what was made of them, and the end.
REPEATED = re.compile(
    r"(/\* (?P<what>[^\n]+): made by tools/lists\.py, (?P<times>for [^\n]+):\n(?P<lines>.*?)\*/\n)"
    r".*?(/\* end of (?P<end>[^\n]+) \*/\n)",
    re.DOTALL,
)


def values_to_repeat(times: str, types: list[Type]) -> list[dict[str, str]]:
    """Return what stands for each <placeholder>, once for each time."""
    if found := re.fullmatch(r"for <n> from (\d+) to (\d+)", times):
        numbers = range(int(found[1]), int(found[2]) + 1)
        return [{"n": str(number), "n-1": str(number - 1)} for number in numbers]
    if found := re.fullmatch(r"for each type(?: but (\w+))?", times):
        rows = [each for each in types if each.name != found[1]]
        return [{"type": row.name, "ctype": row.ctype, "member": row.member} for row in rows]
    sys.exit(f"what does this mean: {times}")


def repeat_lines(text: str, types: list[Type]) -> str:
    """Return the text of a header with its repeated lines."""

    def repeat(found: re.Match[str]) -> str:
        if found["what"].lower() != found["end"].lower():
            sys.exit(f"the part {found['what']} ends as {found['end']}")
        made = [
            re.sub(r"<([a-z0-9-]+)>", lambda name, each=each: each[name[1]], found["lines"])
            for each in values_to_repeat(found["times"], types)
        ]
        return found[1] + "".join(made) + found[5]

    return REPEATED.sub(repeat, text)


# ---- Short names of the public headers ----

PUSH = INCLUDE / "pd_flags" / "names_push.h"
POP = INCLUDE / "pd_flags" / "names_pop.h"
KEYWORDS = {"asm", "and", "do", "for", "if", "int", "new", "not", "or", "try", "xor"}
# Names that the headers are there to give: a macro of that name is against the header itself.
GIVEN = {"c10", "fL", "fLB", "fLD", "fLI", "fLS", "fLU", "gf", "op", "pd", "phi", "std"}
PASTED = {"I64", "U64", "PD_", "pd_"}  # parts of other names


def short_names(header: str) -> set[str]:
    """Return the names of up to three letters, but for what the preprocessor alone reads."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
    text = re.sub(r"'(\\.|[^'\\\n])'", "''", re.sub(r"//.*", "", text))
    text = re.sub(r'"(\\.|[^"\\])*"', '""', text)
    directives = r"(?m)^#\s*(include|include_next|error|pragma|if|elif|ifdef|ifndef)\b.*"
    return set(re.findall(r"\b[A-Za-z]\w{0,2}\b", re.sub(directives, "", text)))


def put_names(headers: dict[Path, str]) -> None:
    """Put the short names of the headers into names_push.h and names_pop.h."""
    found = [short_names(text) for name, text in headers.items() if name not in (PUSH, POP)]
    for path, line in (
        (PUSH, '#pragma push_macro("{0}")\n#undef {0}\n'),
        (POP, '#pragma pop_macro("{0}")\n'),
    ):
        comment = headers[path].partition("*/\n")[0]
        names = sorted(set().union(*found) - KEYWORDS - GIVEN - PASTED)
        headers[path] = f"{comment}*/\n" + "".join(line.format(name) for name in names)


def written(root: Path) -> dict[Path, str]:
    """Return the files with the text that they should have."""
    header = (root / HEADER).read_text("utf-8")
    lists = read(header)
    flag, define = (
        Path("paddle_flags", "_core", name) for name in ("flag_definition.py", "define.py")
    )
    properties = "\n".join(map(property_of, lists.marks))
    text = (root / define).read_text("utf-8")
    text = put(text, "parameters", parameters_of(lists))
    headers = {
        path.relative_to(root): repeat_lines(path.read_text("utf-8"), lists.types)
        for path in sorted((root / INCLUDE).rglob("*.h*"))
    }
    pure = listed((root / WORK).read_text("utf-8"))
    functions = functions_of(header, lists.types)
    headers[TABLE] = table_of(headers[TABLE], pure, functions)
    put_names(headers)
    return {
        **headers,
        MODULE: module_of(lists),
        flag: put((root / flag).read_text("utf-8"), "marks", f"\n{properties}\n"),
        define: put(text, "attributes", values_of(lists)),
    }


def main() -> None:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args()
    stale = []
    for name, text in written(options.root).items():
        path = options.root / name
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(str(name))
            if not options.check:
                path.write_text(text, "utf-8")
    if options.check and stale:
        sys.exit(f"{', '.join(stale)}: other lists than the headers: run `make lists`")


if __name__ == "__main__":
    main()
