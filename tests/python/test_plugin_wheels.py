"""A plain native plugin in a wheel, as docs/how-to/ship-plugins.md says for each build backend."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest
from documents import blocks
from packages import make_home
from support import ROOT, package, run, tool, write

if TYPE_CHECKING:
    from pathlib import Path

    from packages import Home

pytestmark = pytest.mark.release  # makes environments
PAGE = (ROOT / "docs" / "how-to" / "ship-plugins.md").read_text("utf-8")


def write_project(backend: str, place: Path) -> Path:
    """Write the files that all recipes share, then those of this backend."""
    parts = re.split(r"(?m)^##+ ", PAGE)
    recipes = {part.partition("\n")[0]: part for part in parts}
    shared, program = recipes["Put a plugin into a wheel"], recipes["setuptools"]
    for block in blocks(shared + recipes[backend]):
        if block.file and block.file != "use.py":
            write(place / block.file, block.text)
    use = next(block for block in blocks(program) if block.file == "use.py")
    write(place.parent / "use.py", use.text)
    return place


@pytest.mark.parametrize("backend", ["setuptools", "scikit-build-core"])
def test_the_wheel_of_a_recipe_works_in_a_new_environment_and_with_every_python_3(
    backend: str, home: Home, wheel: Path, tmp_path: Path
) -> None:
    if backend == "scikit-build-core":
        package("scikit_build_core", backend)
        tool("cmake")
    project = write_project(backend, tmp_path / "project")
    options = ["--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path / "dist"]
    home.run(home.python, "-m", "pip", "wheel", *options, ".", cwd=project)
    (built,) = (tmp_path / "dist").iterdir()
    assert re.fullmatch(r"alpha-0\.1\.0-py3-none-linux_\w+\.whl", built.name)

    make_home(wheel, tmp_path / "new")
    python = tmp_path / "new" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps"]
    home.run(*pip, built, cwd=tmp_path)
    assert home.run(python, "use.py", "--alpha_factor=3", cwd=tmp_path).stdout == "42\n"


def test_the_files_for_meson_put_the_plugin_beside_the_package(tmp_path: Path) -> None:
    package("mesonbuild", "meson")
    tool("ninja", "ninja-build")
    project = write_project("meson-python", tmp_path / "project")
    meson = [sys.executable, "-m", "mesonbuild.mesonmain"]
    places = [f"-Dpython.{each}=/site" for each in ("purelibdir", "platlibdir")]
    run(*meson, "setup", *places, "build", cwd=project)
    run(*meson, "install", "-C", "build", "--destdir", tmp_path / "out", cwd=project)
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'out' / 'site')!r})\n"
    text = (tmp_path / "use.py").read_text("utf-8")
    write(tmp_path / "use.py", code + text)
    assert run(sys.executable, "use.py", "--alpha_factor=3", cwd=tmp_path).stdout == "42\n"
