"""The Makefile: its help, and what it says on a system that lacks something."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from support import CC, CXX, ROOT, run, write

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
MAKE = ("make", "-C", ROOT, "--no-print-directory")
# What make, sh and tools/check.sh need; no compiler, no Python.
BASE_TOOLS = ("make", "sh", "cat", "find", "sed", "ld", "mktemp", "date", "sleep", "rm")


@pytest.fixture
def bare(tmp_path) -> Path:
    """A directory for PATH with nothing but the base tools and apt-get."""
    path = tmp_path / "bin"
    path.mkdir()
    for name in BASE_TOOLS:
        (path / name).symlink_to(shutil.which(name))
    write(path / "apt-get", "#!/bin/sh\n").chmod(0o755)
    return path


def add(bare: Path, name: str, command: list[str], **environment: object) -> None:
    """Put a program into `bare` that runs a command with this test's PATH."""
    settings = {"PATH": os.environ["PATH"], **environment}
    given = [f"{key}={value}" for key, value in settings.items()]
    words = [shutil.which("env"), *given, shutil.which(command[0]), *command[1:]]
    write(bare / name, f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n').chmod(0o755)


def make(bare: Path, target: str, *settings: str):
    """Run make with PATH=bare; nothing may be made."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    environment.update(PATH=str(bare), PYTHON="python3", CC="cc", CXX="c++")
    venv = bare.parent / "venv"
    command = ("make", "-C", ROOT, target, f"VENV={venv}", *settings)
    ended = run(shutil.which(command[0]), *command[1:], check=False, env=environment)
    assert not venv.exists()
    return ended


def packages(ended) -> list[str]:
    """The arguments of the apt-get command that make names."""
    assert ended.returncode != 0
    (line,) = re.findall(r"^  apt-get install (.*)$", ended.stderr, re.MULTILINE)
    return line.split()


def test_help_tells_what_every_target_does():
    (phony,) = re.findall(r"^\.PHONY: (help .*)$", MAKEFILE, re.MULTILINE)
    shown = run(*MAKE, "help").stdout.splitlines()
    told = {line.split()[1]: line.split()[2:] for line in shown}
    assert set(told) == set(phony.split()) - {"check"}
    assert all(len(words) >= 3 for words in told.values())
    assert {"demo", "test", "test-all", "lint", "asan", "wheel", "sdist", "clean"} <= set(told)


def test_everything_that_is_missing_is_named_at_once(bare):
    ended = make(bare, "test")
    for part in ("C compiler (cc)", "C++ compiler (c++)", "Python (python3)"):
        assert part in ended.stderr
    assert packages(ended) == ["gcc", "python3", "python3-venv", "python3-dev", "g++"]


def test_a_system_without_apt_hears_what_is_missing_and_nothing_of_apt(bare):
    (bare / "apt-get").unlink()
    ended = make(bare, "test")
    assert ended.returncode != 0
    for part in ("C compiler (cc)", "C++ compiler (c++)", "Python (python3) with venv and headers"):
        assert part in ended.stderr
    assert "package manager" in ended.stderr
    assert "apt" not in ended.stderr


def test_the_demo_needs_no_cxx_compiler(bare):
    assert packages(make(bare, "demo")) == ["gcc", "python3", "python3-venv", "python3-dev"]


def test_a_missing_cxx_compiler_is_named_by_itself(bare):
    add(bare, "cc", CC)
    add(bare, "python3", [sys.executable])
    assert packages(make(bare, "test")) == ["g++"]


def test_missing_headers_of_the_c_library_are_named(bare):
    add(bare, "cc", [*CC, "-nostdinc"])
    add(bare, "c++", CXX)
    add(bare, "python3", [sys.executable])
    assert packages(make(bare, "test")) == ["libc6-dev"]


@pytest.mark.parametrize(
    ("module", "package"), [("ensurepip", "python3-venv"), ("venv", "python3-venv")]
)
def test_a_python_without_venv_is_named(bare, tmp_path, module, package):
    add(bare, "cc", CC)
    write(tmp_path / "less" / f"{module}.py", "raise ImportError\n")
    add(bare, "python3", [sys.executable], PYTHONPATH=tmp_path / "less")
    assert packages(make(bare, "demo")) == [package]


def test_a_python_without_headers_is_named(bare, tmp_path):
    add(bare, "cc", CC)
    code = f"import sysconfig; sysconfig.get_path = lambda name: '{tmp_path}'\n"
    write(tmp_path / "less" / "sitecustomize.py", code)
    add(bare, "python3", [sys.executable], PYTHONPATH=tmp_path / "less")
    assert packages(make(bare, "demo")) == ["python3-dev"]


def test_an_old_python_is_named_with_its_version(bare, tmp_path):
    add(bare, "cc", CC)
    code = "import sys; sys.version_info = (3, 10, 19)\n"
    write(tmp_path / "old" / "sitecustomize.py", code)
    add(bare, "python3", [sys.executable], PYTHONPATH=tmp_path / "old")
    ended = make(bare, "demo")
    assert "Python 3.11 or newer (python3 is Python 3." in ended.stderr
    assert packages(ended) == ["python3"]


def test_a_versioned_python_gets_the_packages_of_its_version(bare):
    add(bare, "cc", CC)
    expected = ["python3.12", "python3.12-venv", "python3.12-dev"]
    assert packages(make(bare, "demo", "PYTHON=python3.12")) == expected


def test_clang_is_asked_for_where_clang_was_chosen(bare):
    add(bare, "python3", [sys.executable])
    assert packages(make(bare, "test", "CC=clang", "CXX=clang++")) == ["clang"]


def test_lint_names_the_missing_linters(bare):
    add(bare, "cc", CC)
    add(bare, "python3", [sys.executable])
    assert packages(make(bare, "lint")) == ["clang-format", "clang-tidy"]


def dry_run(tmp_path: Path, target: str) -> str:
    """What make would do, where no environment is there."""
    return run(*MAKE, "--dry-run", target, f"VENV={tmp_path / 'venv'}").stdout


def test_the_demo_installs_the_package_alone(tmp_path):
    installed = re.findall(r"-m pip .* install .*", dry_run(tmp_path, "demo"))
    assert [line.split("--editable ")[1:] for line in installed] == [[], ["."]]


def test_test_leaves_out_what_is_marked_and_test_all_nothing(tmp_path):
    usual = dry_run(tmp_path, "test").splitlines()[-1]
    commands = dry_run(tmp_path, "test-all").splitlines()
    everything, page, fleet = [line for line in commands if " -m pytest" in line]
    apart = " --ignore tests/gateway_page --ignore tests/fleet"
    assert ' -m "not extended"' in usual
    assert usual.rstrip().replace(' -m "not extended"', apart) == everything
    assert page.endswith(" -m pytest -n 1 tests/gateway_page")
    assert fleet.endswith(" --max-worker-restart 0 -n 4 tests/fleet")


def step(*command: str):
    return run(ROOT / "tools" / "step.sh", "Count the sheep", *command, check=False)


def test_a_step_says_what_it_does_and_how_long_it_took():
    ended = step("echo", "one")
    assert ended.returncode == 0
    assert re.fullmatch(r"Count the sheep \.+ \d+ s\n", ended.stdout)


def test_a_step_that_fails_shows_what_its_command_printed_and_its_status():
    ended = step("sh", "-c", "echo one; echo two >&2; exit 3")
    assert ended.returncode == 3
    assert re.fullmatch(r"Count the sheep \.+ failed:\none\ntwo\n", ended.stdout)
