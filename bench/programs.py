"""Builds programs into build/bench/programs, each once."""

from __future__ import annotations

import os
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from bench.places import BUILD, HERE, INCLUDE, NATIVE, fingerprint, output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.contestants import Contestant

# All contestants are compiled with the same options.
OPTIMIZE = ("-O2", "-DNDEBUG", "-Wall", "-Wextra")
# Generated files have definitions and no loops; with -O2 gcc takes minutes for the constructors of
# C++ libraries.
GENERATED = ("-O1",)
FLAGS_IN_A_FILE = 500


def compiler(*, cxx: bool) -> list[str]:
    """Return the compiler's command; CC and CXX may name another one."""
    return shlex.split(os.environ.get("CXX", "c++") if cxx else os.environ.get("CC", "cc"))


def build(name: str, *command: object, depends: Sequence[object] = ()) -> Path:
    """Run a compiler, unless it built the same before."""
    sources = [part for part in command if isinstance(part, Path) and part.is_file()]
    headers = [INCLUDE] if f"-I{INCLUDE}" in command else []
    if any(source.is_relative_to(HERE) for source in sources):
        headers += NATIVE.glob("*.h")
    key = fingerprint(*command, *sources, *depends, *headers)
    out = BUILD / "programs" / f"{name.replace(', ', '-').replace(' ', '-')}-{key}"
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        unfinished = out.with_suffix(f".{os.getpid()}")
        output(*command, "-o", unfinished)
        unfinished.rename(out)
    return out


def compiled(source: Path, *options: str) -> Path:
    """Compile one source."""
    command = [*compiler(cxx=source.suffix == ".cc"), *OPTIMIZE, *options, "-c", source]
    return build(f"{source.stem}.o", *command)


def tool(stem: str, *options: object) -> Path:
    """Build a C program of one source in bench/native."""
    return build(stem, *compiler(cxx=False), *OPTIMIZE, NATIVE / f"{stem}.c", *options)


def work_program(contestant: Contestant) -> Path:
    """Build the program that runs work.c with one library."""
    objects = [compiled(NATIVE / "work.c"), compiled(contestant.source, *contestant.compile)]
    command = [*compiler(cxx=contestant.cxx), *objects, *contestant.link]
    return build(contestant.name, *command)


def thread_program(contestant: Contestant) -> Path:
    """Build the program in which threads read and set flags."""
    command = [*compiler(cxx=contestant.cxx), *OPTIMIZE, *contestant.compile]
    headers = list(HERE.glob("threads*.h"))
    parts = [contestant.threads, *contestant.link, "-pthread"]
    return build(f"threads-{contestant.name}", *command, *parts, depends=headers)


def source_with(contestant: Contestant, first: int, count: int) -> str:
    """Return a source file that defines some flags."""
    names = [f"check_{index:05d}_limit" for index in range(first, first + count)]
    lines = [contestant.definition.format(name=name) for name in names]
    return "\n".join([contestant.head, *lines, ""])


def main_of(contestant: Contestant) -> str:
    """Return a program that links the library and parses only if it has arguments."""
    lines = ["int main(int argc, char **argv) {", "  return argc > 1 && (PARSE);", "}", ""]
    return "\n".join([contestant.head, *lines]).replace("PARSE", contestant.parse)


def text_file(name: str, text: str) -> Path:
    """Write a generated source under a name that depends on its text."""
    stem, _, suffix = name.rpartition(".")
    path = BUILD / "sources" / f"{stem}-{fingerprint(text)}.{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def definition_objects(contestant: Contestant, count: int) -> list[Path]:
    """Compile `count` definitions, in files of a size that compilers can handle."""
    suffix = contestant.source.suffix
    firsts = range(0, count, FLAGS_IN_A_FILE)
    texts = [source_with(contestant, at, min(FLAGS_IN_A_FILE, count - at)) for at in firsts]
    files = [text_file(f"{contestant.name}{suffix}", text) for text in texts]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(
            pool.map(lambda file: compiled(file, *GENERATED, "-fPIC", *contestant.compile), files)
        )


def start_program(contestant: Contestant, count: int, *, plugin: bool = False) -> Path:
    """Build a program with `count` definitions in it, or in a plugin that links nothing."""
    command = compiler(cxx=contestant.cxx)
    main = text_file(f"main{contestant.source.suffix}", main_of(contestant))
    objects: list[object] = [*definition_objects(contestant, count)]
    run_path: list[str] = []
    if plugin:
        library = build(f"plugin-{count}.so", *command, "-shared", *objects)
        # Keep the library although nothing refers to it.
        objects = ["-Wl,--no-as-needed", library, "-Wl,--as-needed"]
        run_path = [f"-Wl,-rpath,{library.parent}"]
    parts = [compiled(main, *contestant.compile), *objects, *run_path, *contestant.link]
    return build(f"start-{contestant.name}-{count}", *command, "-Wl,--as-needed", *parts)


def empty_program(*, cxx: bool) -> Path:
    """Build a program that links only the library of its language."""
    source = text_file("empty.cc" if cxx else "empty.c", "int main() { return 0; }\n")
    return build("empty", *compiler(cxx=cxx), *OPTIMIZE, source)
