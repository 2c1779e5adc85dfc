"""python -m paddle_flags new: projects that build, test and install at once."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import pytest
from documents import blocks, commands
from support import ROOT, WINDOWS, package, run, tool, write, zig

from paddle_flags.__main__ import main
from paddle_flags._new import project as projects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from packages import Home

PAGE = (ROOT / "docs" / "how-to" / "other-languages.md").read_text("utf-8")
TITLES = {
    "c": "C",
    "cpp": "C++",
    "cython": "Cython",
    "pybind11": "pybind11",
    "nanobind": "nanobind",
    "rust": "Rust",
    "zig": "Zig",
    "c-wheel": "C in a wheel",
}


class Ended(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Run the command in an empty directory, or in another one."""

    def start(*words: str, cwd: Path = tmp_path) -> Ended:
        monkeypatch.chdir(cwd)
        try:
            status: object = main(["new", *words])
        except SystemExit as ending:
            status = ending.code
        assert isinstance(status, int)
        return Ended(status, *capsys.readouterr())

    return start


# ---- What it writes works ----


def transcript(language: str) -> list[tuple[str, str]]:
    """Give the commands that the page shows for a language, each with its output."""
    (section,) = re.findall(rf"(?ms)^### {re.escape(TITLES[language])}$(.*?)(?=^##)", PAGE)
    (block,) = blocks(section)
    return commands(block.text)


def need(language: str, place: Path) -> None:
    """See to it that a language's tools are there; a command `zig` is put into `place`."""
    modules = {"cython": ["Cython"], "nanobind": ["scikit_build_core", "nanobind"]}
    modules["pybind11"] = ["pybind11"]
    for name in modules.get(language, []):
        package(name, name.lower())
    for name in {"nanobind": ["cmake"], "rust": ["cargo"]}.get(language, []):
        tool(name)
    if language == "zig":
        script = write(place / "zig", f'#!/bin/sh\nexec {shlex.join(zig())} "$@"\n')
        script.chmod(0o755)


class Shell(NamedTuple):
    """Runs the commands of a transcript, as somebody who types them."""

    environment: dict[str, str]
    directory: list[Path]

    def follow(self, command: str, expected: str) -> None:
        if command.startswith("cd "):
            self.directory.append(self.directory[-1] / command[3:])
            return
        ended = subprocess.run(  # noqa: S602 - as a reader types it
            command,
            shell=True,
            cwd=self.directory[-1],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        pattern = ".*".join(map(re.escape, expected.split("...")))
        assert re.fullmatch(pattern, ended.stdout, re.DOTALL), f"$ {command}\n{ended.stdout}"


@pytest.fixture
def shell(home: Home, tmp_path: Path) -> Shell:
    """A shell with the installed wheel, in which compilers hurry, and one file is made of all."""
    quick = {"CFLAGS": "-O0", "CXXFLAGS": "-O0", "ZIGFLAGS": "-OReleaseSmall"}
    quick |= {"SKBUILD_CMAKE_BUILD_TYPE": "Debug"}
    quick |= {"SKBUILD_CMAKE_DEFINE": "CMAKE_UNITY_BUILD=ON;CMAKE_UNITY_BUILD_BATCH_SIZE=0"}
    own = {"PATH": f"{tmp_path / 'bin'}:{home.environment['PATH']}", "COLUMNS": "80"}
    kept = {k: v for k, v in home.environment.items() if k not in ("CC", "CXX", "PWD")}
    return Shell({**kept, **quick, **own}, [tmp_path])


# Others need tools of their own, or a minute.
USUAL = [
    each if each in ("c", "cpp", "c-wheel") else pytest.param(each, marks=pytest.mark.release)
    for each in projects.LANGUAGES
]


@pytest.mark.parametrize("language", USUAL)
def test_a_new_project_builds_tests_installs_and_follows_python(
    language: str, shell: Shell, tmp_path: Path
) -> None:
    need(language, tmp_path / "bin")
    for command, expected in transcript(language):
        shell.follow(command, expected)
    project = shell.directory[-1]
    written = {*projects.render_project_files(project.name, language), "use.py", "Cargo.lock"}
    run(tool("git"), "init", "--quiet", cwd=project)
    found = run("git", "ls-files", "--others", "--exclude-standard", cwd=project).stdout
    assert {name for name in found.split() if not name.startswith("out/")} <= written


@pytest.mark.parametrize("language", projects.LANGUAGES)
def test_the_commands_of_a_project_s_readme_are_those_that_are_run(language: str) -> None:
    shown = iter(command for command, _ in transcript(language))
    name = next(shown).split()[4]
    texts = projects.render_project_files(name, language)
    (block,) = blocks(texts["README.md"])
    wanted = [re.sub(r" +# .*", "", line) for line in block.text.splitlines()]
    assert len(wanted) >= 3
    assert [line for line in wanted if line not in shown] == []  # in this order


@pytest.mark.parametrize("language", projects.LANGUAGES)
def test_a_project_has_a_readme_that_names_its_files_and_nothing_is_left_to_fill(
    language: str,
) -> None:
    texts = projects.render_project_files("some_name", language)
    for path, text in texts.items():
        assert "NAME" not in path
        assert not re.search(r"@\w+@", text), path
        if path not in (".gitignore", "README.md"):
            assert f"`{path}`" in texts["README.md"]
    assert texts[".gitignore"]
    assert texts["test_some_name.py"]


# ---- What it refuses ----


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["My-Plugin", "--lang", "c"],
            "'My-Plugin': expected a letter, then letters, digits and '_', all lower-case",
        ),
        (["My-Plugin", "--lang", "c"], "at most 64, such as 'my_plugin'"),
        (["../up", "--lang", "c"], "such as 'up'"),
        (["9lives", "--lang", "c"], "such as 'lives'"),
        (["äh", "--lang", "c"], "such as 'h'"),
        (["", "--lang", "c"], "such as 'alpha'"),
        (["a" * 65, "--lang", "c"], f"such as '{'a' * 64}'"),
        (["class", "--lang", "cpp"], "'class': is a keyword of a language"),
        (["lambda", "--lang", "rust"], "expected another name, such as 'lambda_plugin'"),
        (["nanobind", "--lang", "nanobind"], "the name of a well-known module"),
        (["alpha", "--lang", "rsut"], "'rsut': expected one of c, cpp, cython, pybind11, "),
        (["alpha", "--lang", "rsut"], "did you mean 'rust'?"),
        (["alpha", "--lang", "C++"], "did you mean 'cpp'?"),
        (["alpha", "--lang", "cyton"], "did you mean 'cython'?"),
        (["alpha", "--lang", "wheel"], "did you mean 'c-wheel'?"),
        (["alpha", "--lang", "fortran"], "expected one of c, cpp"),
        (["alpha"], "required: --lang"),
        (["--lang", "c"], "required: NAME"),
        (["file", "--lang", "c"], "file: is a file, expected a new or empty directory"),
        (["alpha", "--lang", "c", "--dir", "file/below"], "file: is a file, expected a new"),
        pytest.param(
            *(["alpha", "--lang", "c", "--dir", "loose/x"], "loose: is a broken link, expected"),
            marks=pytest.mark.skipif(WINDOWS, reason="links need a right that users lack"),
        ),
        (["alpha", "--lang", "c", "--dir", ""], "'': expected the path of a new or empty"),
        (["m", "--lang", "c"], "'m': libm.so is a system library, expected another name"),
        (["pthread", "--lang", "zig"], "libpthread.so is a system library, expected"),
        (["pytest", "--lang", "cython"], "'pytest': is a module of this Python, "),
        (["pytest", "--lang", "pybind11"], "expected another name, such as 'pytest_plugin'"),
        (["alpha", "--lang", "c", "--dir", "full"], "full: is not empty, expected a new or"),
    ],
)
def test_what_it_cannot_do_is_said_and_nothing_is_written(
    new: Callable[..., Ended], words: list[str], message: str, tmp_path: Path
) -> None:
    write(tmp_path / "file", "")
    write(tmp_path / "full" / "file", "")
    if not WINDOWS:
        (tmp_path / "loose").symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))
    ended = new(*words)
    assert (ended.status, ended.out) == (2, "")
    assert message in ended.err
    assert sorted(tmp_path.rglob("*")) == before


def test_the_name_of_a_standard_module_is_refused(new: Callable[..., Ended]) -> None:
    assert "'json': is a keyword" in new("json", "--lang", "cython").err


def test_a_name_may_be_that_of_another_kind_of_thing(new: Callable[..., Ended]) -> None:
    for name, language in (("pytest", "rust"), ("m", "cython"), ("z", "cpp")):
        assert new(name, "--lang", language).status == 0
    assert "is not empty" in new("m", "--lang", "cython").err  # no module, though a directory


def test_a_disk_that_fills_up_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def openings() -> Iterator[bool]:
        yield from (True, True, True, False)

    fine = openings()

    def opened(path: str, mode: str, **how: str) -> object:
        if mode == "x" and not next(fine):
            raise OSError(28, "No space left on device", path)
        return open(path, mode, **how)

    monkeypatch.setattr(projects, "open", opened, raising=False)
    texts = {f"{letter}/file": letter for letter in "abcdef"}
    with pytest.raises(OSError, match="No space left"):
        projects.write_project(str(tmp_path / "new" / "project"), texts)
    assert list(tmp_path.iterdir()) == []


def test_a_project_goes_into_an_empty_directory_or_a_new_one_with_its_parents(
    new: Callable[..., Ended], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    for directory in ("empty", "new/below", "with blank"):
        shown = new("alpha", "--lang", "c", "--dir", directory).out
        assert shown.startswith(f"{directory}: .gitignore, Makefile, README.md, alpha.c, ")
        assert f"Next: cd {shlex.quote(directory)} && make test\n" in shown
        assert max(os.listdir(tmp_path / directory)) == "test_alpha.py"
    (tmp_path / "here").mkdir()
    new("alpha", "--lang", "c", "--dir", ".", cwd=tmp_path / "here")
    assert (tmp_path / "here" / "alpha.c").is_file()


def test_help_tells_every_language(new: Callable[..., Ended]) -> None:
    shown = new("--help").out
    assert shown.startswith("usage: python -m paddle_flags new NAME --lang LANGUAGE")
    for language in projects.LANGUAGES:
        assert f"  {language} " in shown
