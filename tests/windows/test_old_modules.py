"""Modules that were built with each version join the library of today on Windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import corpora
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Windows

pytestmark = pytest.mark.release  # runs Wine

PLUGINS = [
    pytest.param(version, path, id=f"{version.name}-{platform}-{path.stem}")
    for version in corpora.versions()
    for platform in ("windows-x86_64", "windows-x86_64-msvc")
    for path in corpora.plugins(version, platform)
]


@pytest.mark.parametrize(("version", "plugin"), PLUGINS)
def test_a_module_built_before_joins_on_windows(
    version: Path, plugin: Path, windows: Windows
) -> None:
    corpora.check(version, plugin.stem, windows.registry, plugin, windows.obey)
