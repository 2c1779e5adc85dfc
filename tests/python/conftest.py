"""Fixtures for tests that share one process, and so one registry."""

from __future__ import annotations

import itertools
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import bridged
import fluid_example
import packages
import pytest
from joining import Maker
from live_process import Served
from scopes import PLUGIN, Native
from support import build_plugin, run, write

import paddle_flags as pf

_numbers = itertools.count()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave the tests of built packages to a release: to build them takes a minute."""
    if "sdist" in getattr(item, "fixturenames", ()):
        item.add_marker("release")


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution."""
    return next(packages.once(tmp_path_factory, "sdist", packages.make_sdist).iterdir())


@pytest.fixture(scope="session")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution."""

    def make(out: Path) -> None:
        packages.make_wheel(sdist, out)

    return next(packages.once(tmp_path_factory, "wheel", make).iterdir())


@pytest.fixture(scope="session")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> packages.Home:
    """An environment with the wheel."""

    def make(out: Path) -> None:
        packages.make_home(wheel, out)

    return packages.home_at(packages.once(tmp_path_factory, "home", make))


@pytest.fixture
def name() -> Iterator[str]:
    """A flag name that no other test uses; flags whose name begins with it are reset afterwards."""
    number = f"test_{next(_numbers)}_flag"
    yield number
    for flag in list(pf.FLAGS.values()):
        if flag.name.startswith(number):
            with suppress(pf.FlagError):
                flag.reset()


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[..., Path]:
    """Build lib<name>.so from C text that needs only the public header."""

    def build(source: str, stem: str = "plugin") -> Path:
        code = write(tmp_path / f"{stem}.c", "#include <pd_flags.h>\n" + source)
        return build_plugin(tmp_path / f"lib{stem}.so", code)

    return build


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """Builds plugins and programs of a test file, each once."""
    return Maker(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def host(maker: Maker) -> Path:
    """The program in which modules and the registry meet."""
    return maker.program("host")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A process that serves its flags."""
    made = Served(tmp_path)
    yield made
    made.close()


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python text in a process of its own, with `pf` and `sys` imported."""

    def start(text: str, *arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        script = write(tmp_path / "script.py", "import sys\nimport paddle_flags as pf\n" + text)
        return run(sys.executable, script, *arguments, **options)

    return start


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    """The plugin with scoped flags."""
    place = tmp_path_factory.mktemp("scoped")
    return Native(build_plugin(place / "libscoped.so", write(place / "scoped.c", PLUGIN)))


@pytest.fixture(scope="session")
def gflags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that has flags of gflags."""
    return bridged.build_gflags(tmp_path_factory.mktemp("gflags"))


@pytest.fixture(scope="session")
def abseil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that has flags of Abseil."""
    return bridged.build_abseil(tmp_path_factory.mktemp("abseil"))


@pytest.fixture(scope="session")
def fluid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The native modules of examples/fluid."""
    fluid_example.need_packages()
    return packages.once(tmp_path_factory, "fluid", fluid_example.build_fluid)


@pytest.fixture
def program(fluid: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Run a program with examples/fluid; return the facts that it tells."""
    return fluid_example.runner(fluid, tmp_path)


@pytest.fixture
def root_level() -> Iterator[None]:
    """The level of the root logger is put back when the test ends."""
    level = logging.getLogger().level
    yield
    logging.getLogger().setLevel(level)
