"""Check that each file uses only its own layer and earlier ones, and that no files form a cycle.

layers.py [--root DIRECTORY] [--draw | --write]

Dependencies in C come from the symbols of objects and from #include lines, those in the Python
package from its import statements. What extends the package may import nothing that is private to
another part of it. The extension modules in csrc are checked, too, which takes the packages that
they need. --draw prints the picture of the core's and the package's layers; --write updates it in
CONTRIBUTING.md and docs/explanation/layers.md.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
CORE = Path("csrc", "src")
MODULES = Path("csrc")
PACKAGE = Path("paddle_flags")

# The layers, lowest first: folders, and files by their names without suffix.
C_LAYERS: list[str] = []
C_LAYERS += ["base", "platform", "value", "registry", "definition", "op"]
C_LAYERS += ["module", "input", "report"]
C_LAYERS += ["api"]
# The extension modules, which use only the public headers of the core.
MODULE_LAYERS = ["python", "live"]
TANGLED = frozenset({"live"})  # whose files still form circles
PYTHON_LAYERS: list[str] = []
PYTHON_LAYERS += ["errors", "_core", "_op", "_input", "_report", "_completion"]
PYTHON_LAYERS += ["_extend", "extend", "_doctor", "_new"]
PYTHON_LAYERS += ["live", "fleet", "gateway", "cli", "testing"]
PYTHON_LAYERS += ["_integrations", "metrics", "openfeature"]
PYTHON_LAYERS += ["_public", "__init__", "paddle", "gen", "__main__"]

# The layers that use only the public names of the package and its documented modules, so that each
# could become a package of its own; and the others of them whose insides a layer may use.
EXTENSIONS: dict[str, set[str]] = {
    "live": set(),
    "fleet": {"live"},
    "gateway": {"live", "fleet"},
    "gen": {"_doctor"},
    "_doctor": set(),
    "_integrations": {"_bridges"},
}

# Headers of the C core that only files of their own folder may include.
PRIVATE = {f"registry/{name}.h" for name in ("context", "flag", "image", "names", "scope")}

COMPILE = ["-D_GNU_SOURCE", "-O0", "-fPIC", "-fvisibility=hidden", "-w", "-c"]
PAGES = [Path("CONTRIBUTING.md"), Path("docs", "explanation", "layers.md")]
BEGIN, END = "<!-- layers -->", "<!-- end of layers -->"
RENEW = "make layers ARGS=--write"


class Arrow(NamedTuple):
    """One file uses another."""

    user: str
    used: str
    how: str  # "uses pd__name of", "includes" or "imports"

    def __str__(self) -> str:
        """Return the dependency as text."""
        return f"{self.user} {self.how} {self.used}"


@dataclass(frozen=True)
class Tree:
    """The files of one language, and the dependencies between them."""

    title: str
    order: list[str]
    files: list[str]
    arrows: list[Arrow]
    exported: dict[str, str]  # exported function -> file that defines it
    tangled: frozenset[str] = frozenset()  # folders whose files may form circles
    intrusions: tuple[Arrow, ...] = ()  # dependencies of EXTENSIONS on private modules

    def layer(self, file: str) -> str | None:
        """Return the layer of a file; None if it isn't listed above."""
        name = Path(file).parts[0]
        name = name if name != file else Path(file).stem
        return name if name in self.order else None

    def between_layers(self) -> list[Arrow]:
        """Return the dependencies between files of different layers, as dependencies of layers."""
        pairs = [(a, self.layer(a.user), self.layer(a.used)) for a in self.arrows]
        return [Arrow(x, y, str(a)) for a, x, y in pairs if x and y and x != y]


# -- C ----------------------------------------------------------------------


def read_c(root: Path) -> Tree:
    """Read the C core."""
    core = root / CORE
    files = sorted(core.rglob("*.[ch]"))
    arrows, defined = read_sources(root, core, files)
    exported = {s: name for s, name in defined.items() if not s.startswith("pd__")}
    return Tree("csrc/src", C_LAYERS, names_in(core, files), arrows, exported)


def read_modules(root: Path) -> Tree:
    """Read the extension modules."""
    folder = root / MODULES
    parts = [sorted((folder / name).glob("*.[ch]*")) for name in MODULE_LAYERS]
    arrows = [arrow for part in parts for arrow in read_sources(root, folder, part)[0]]
    files = [path for part in parts for path in part]
    return Tree("csrc", MODULE_LAYERS, names_in(folder, files), arrows, {}, TANGLED)


def read_sources(root: Path, folder: Path, files: list[Path]) -> tuple[list[Arrow], dict[str, str]]:
    """Return the dependencies of C files, and the file that defines each symbol."""
    sources = {p.relative_to(folder).as_posix(): p for p in files}
    objects = [name for name in sources if not name.endswith(".h")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        symbols = dict(zip(objects, pool.map(lambda n: symbols_of(sources[n], root), objects)))
    defined = {symbol: name for name, (own, _) in symbols.items() for symbol in own}
    arrows = [
        Arrow(*pair, "includes") for n, p in sources.items() for pair in includes(n, p, folder)
    ]
    for name, (_, wanted) in symbols.items():
        known = [symbol for symbol in wanted if symbol in defined]
        arrows += [Arrow(name, defined[symbol], f"uses {symbol} of") for symbol in known]
    return arrows, defined


def names_in(folder: Path, files: list[Path]) -> list[str]:
    """Return the names of files in a folder."""
    return [path.relative_to(folder).as_posix() for path in files]


def symbols_of(source: Path, root: Path) -> tuple[set[str], list[str]]:
    """Compile a file; return the global symbols of ours that it defines, and those that it uses."""
    cpp = source.suffix == ".cpp"
    compiler = shlex.split(os.environ.get("CXX", "c++") if cpp else os.environ.get("CC", "cc"))
    language = ["-std=gnu++17"] if cpp else ["-std=gnu11"]
    places = [root / "csrc" / "include", sysconfig.get_path("include")]
    directories = [f"-I{place}" for place in places]
    with tempfile.TemporaryDirectory() as place:
        built = Path(place, "one.o")
        run(*compiler, *language, *COMPILE, *directories, source, "-o", built)
        # nm prints name and type: "U" is undefined, an upper-case letter is a global definition;
        # weak ones are of every file that includes the public header.
        table = [line.split()[:2] for line in run("nm", "-P", built).splitlines()]
    own = {name for name, kind in table if kind.isupper() and kind not in "UVW"}
    return own, sorted(name for name, kind in table if kind in "Uwv" and name not in own)


def includes(name: str, path: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the file with each header of ours that it includes."""
    for header in re.findall(r'(?m)^\s*#\s*include\s*"([^"]+)"', path.read_text("utf-8")):
        found = (path.parent / header).resolve()
        if found.exists() and folder.resolve() in found.parents:
            yield name, found.relative_to(folder.resolve()).as_posix()


def run(*command: object) -> str:
    """Run a command and return its output; exit if it fails."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{shlex.join(words)}\n{ended.stderr}")
    return ended.stdout


# -- Python -----------------------------------------------------------------


def read_python(root: Path) -> Tree:
    """Read the Python package."""
    package = root / PACKAGE
    apart = {"templates", "_pyinstaller"}  # the code of new projects, and of PyInstaller
    paths = sorted(p for p in package.rglob("*.py") if not apart & set(p.parts))
    modules = {module_name(path.relative_to(root)): path for path in paths}
    names = {module: path.relative_to(package).as_posix() for module, path in modules.items()}
    public = public_names(package / "_public.py")
    arrows = [
        Arrow(names[module], names[used], "imports")
        for module, path in modules.items()
        for used in imports(module, path, set(modules), public)
        if used != module
    ]
    found = intrusions(modules, names)
    return Tree("paddle_flags", PYTHON_LAYERS, sorted(names.values()), arrows, {}, intrusions=found)


def public_names(listing: Path) -> dict[str, str]:
    """Return the module behind each public name of the package, which is imported on first use."""
    tree = ast.parse(listing.read_text("utf-8")) if listing.exists() else ast.Module([], [])
    found = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: node.module
        for node in found
        for alias in node.names
        if node.module and node.module != PACKAGE.name
    }


def intrusions(modules: dict[str, Path], names: dict[str, str]) -> tuple[Arrow, ...]:
    """Return where EXTENSIONS import what is private to the rest of the package.

    Imports for type checkers count: they, too, would break in a package of its own.
    """
    return tuple(
        Arrow(names[module], used, "imports")
        for module, path in modules.items()
        for own in [module.split(".")[1:2]]
        if own and own[0] in EXTENSIONS
        for used in sorted(every_import(module, path))
        if is_private(used, {own[0], *EXTENSIONS[own[0]]})
    )


def every_import(module: str, path: Path) -> set[str]:
    """Return what a module imports, anywhere in its text: `a.b` for `from a import b`, too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = absolute(node, module, is_package=path.stem == "__init__")
            found.update(f"{origin}.{alias.name}" for alias in node.names)
    return found


def is_private(name: str, own: set[str]) -> bool:
    """Return whether a module, or a name of one, is private to a part that isn't in `own`."""
    package, *parts = name.split(".")
    if package != PACKAGE.name or not parts or parts[0] in own:
        return False
    return any(part.startswith("_") and not part.endswith("__") for part in parts)


def module_name(path: Path) -> str:
    """Return the name by which a file is imported."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(module: str, path: Path, known: set[str], public: dict[str, str]) -> list[str]:
    """Return the modules of the package that a module imports, anywhere in its text.

    A public name stands for the module that it is from.
    """
    found: set[str] = set()
    for node in statements(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = absolute(node, module, is_package=path.stem == "__init__")
            names = [alias.name for alias in node.names]
            if origin == PACKAGE.name:
                found.update(public[name] for name in names if name in public)
                names = [n for n in names if n not in public and not n.startswith("__")]
            # `from a import b` imports the module a.b, or a name of the module a.
            parts = [f"{origin}.{name}" for name in names]
            found.update(part if part in known else origin for part in parts)
    return sorted(found & known)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree except code for type checkers."""
    yield node
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        left: Iterable[ast.AST] = node.orelse
    else:
        left = ast.iter_child_nodes(node)
    for child in left:
        yield from statements(child)


def absolute(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    """Return the full module name of a `from` import."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    kept = len(parts) - node.level + is_package
    return ".".join([*parts[:kept], *([node.module] if node.module else [])])


# -- Judging ----------------------------------------------------------------


def violations(tree: Tree) -> list[str]:
    """Return the text of each violation, which may have several lines."""
    found = [
        f"{file}: is in no layer; tools/layers.py has the list"
        for file in sorted(tree.files)
        if tree.layer(file) is None
    ]
    found += [
        f"{file} defines {name}: exported functions belong into api.c"
        for name, file in sorted(tree.exported.items())
        if tree.layer(file) != "api"
    ]
    rank = tree.order.index
    for arrow in sorted(tree.arrows):
        user, used = tree.layer(arrow.user), tree.layer(arrow.used)
        if user and used and rank(user) < rank(used):
            found.append(f"{arrow}, a later layer")
        if arrow.used in PRIVATE and user != used:
            found.append(f"{arrow}, which is private to {used}")
    found += [
        f"{arrow}, which is the core's own" for arrow in tree.arrows if arrow.used not in tree.files
    ]
    found += [f"{arrow}, which is private" for arrow in sorted(tree.intrusions)]
    found += circles("files", [a for a in tree.arrows if Path(a.user).parts[0] not in tree.tangled])
    found += circles("folders", tree.between_layers())
    return found


def circles(kind: str, arrows: list[Arrow]) -> list[str]:
    """Describe each cycle: its members, and the shortest cycle among them."""
    why: dict[tuple[str, str], Arrow] = {}
    for arrow in sorted(arrows):
        why.setdefault((arrow.user, arrow.used), arrow)
    found = []
    for members in components(why):
        way = shortest_circle(members, why)
        steps = [why[pair] for pair in itertools.pairwise(way)]
        # For folders, show the dependency between files.
        said = [str(step) if kind == "files" else step.how for step in steps]
        head = f"circle of {len(members)} {kind}: {', '.join(members)}"
        found.append("\n".join([head, *(f"  {line}" for line in said)]))
    return found


def components(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the strongly connected groups, largest first."""
    after: dict[str, set[str]] = defaultdict(set)
    for user, used in pairs:
        after[user].add(used)
    reached = {start: reach(start, after) for start in list(after)}
    groups = {
        tuple(sorted({start, *(o for o in others if start in reached.get(o, ()))}))
        for start, others in reached.items()
    }
    return sorted((list(g) for g in groups if len(g) > 1), key=lambda g: (-len(g), g))


def reach(start: str, after: dict[str, set[str]]) -> set[str]:
    """Return everything that can be reached from a start."""
    seen: set[str] = set()
    left = [start]
    while left:
        more = after.get(left.pop(), set()) - seen
        seen |= more
        left += more
    return seen


def shortest_circle(members: list[str], pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return the shortest cycle through any of the members."""
    after = defaultdict(list)
    for user, used in sorted(pairs):
        if user in members and used in members and user != used:
            after[user].append(used)
    return min((way_back(start, after) for start in members), key=len)


def way_back(start: str, after: dict[str, list[str]]) -> list[str]:
    """Return the shortest path from a member of a cycle back to it."""
    waiting = deque([[start]])
    seen = set()
    while waiting:
        way = waiting.popleft()
        for target in after[way[-1]]:
            if target == start:
                return [*way, start]
            if target not in seen:
                seen.add(target)
                waiting.append([*way, target])
    raise AssertionError(start)


# -- Drawing ----------------------------------------------------------------


def draw(trees: list[Tree]) -> str:
    """Draw the layers, lowest first, each with the layers that it uses."""
    return "\n\n".join(["```text\n" + draw_one(tree) + "\n```" for tree in trees])


def draw_one(tree: Tree) -> str:
    """Draw the layers of one language."""
    width = max(len(name) for name in [tree.title, *tree.order])
    lines = [f"{tree.title:{width}}   uses"]
    between = tree.between_layers()
    present = {tree.layer(file) for file in tree.files}
    for name in [each for each in tree.order if each in present]:
        used = {arrow.used for arrow in between if arrow.user == name}
        listed = ", ".join(layer for layer in tree.order if layer in used) or "-"
        lines.append(f"{name:{width}}   {listed}")
    return "\n".join(lines)


def filled(text: str, picture: str) -> str:
    """Replace the picture between its two markers."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        sys.exit(f"a page lacks {BEGIN} or {END}")
    return f"{head}{BEGIN}\n\n{picture}\n\n{END}{tail}"


def main() -> None:
    """Check the layers, or draw them."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="another tree")
    parser.add_argument("--draw", action="store_true", help="print the picture of the layers")
    parser.add_argument("--write", action="store_true", help="renew it in the pages")
    options = parser.parse_args()
    trees = [read(options.root) for read in (read_c, read_python)]
    if options.draw:
        print(draw(trees))  # noqa: T201 - asked to
    elif options.write:
        for page in filter(Path.exists, (options.root / name for name in PAGES)):
            page.write_text(filled(page.read_text("utf-8"), draw(trees)), "utf-8")
    else:
        trees.append(read_modules(options.root))
        sys.exit("\n".join(text for tree in trees for text in violations(tree)) or None)


if __name__ == "__main__":
    main()
