"""A mounted ConfigMap, for tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import WINDOWS


class Mounted:
    """A folder that changes as kubelet changes it."""

    def __init__(self, place: Path) -> None:
        if WINDOWS:
            pytest.skip("symbolic links are missing, which kubelet makes on Linux only")
        self.place = place
        self.count = 0
        place.mkdir()

    def write(self, **files: str) -> None:
        """Write all files into a new folder, switch the link, remove the old folder."""
        self.count += 1
        made = self.place / f"..2026_11_26_{self.count}"
        made.mkdir()
        for name, text in files.items():
            (made / name.replace("__", ".")).write_text(text)
        data = self.place / "..data"
        old = data.resolve() if data.is_symlink() else None
        link = self.place / "..data_tmp"
        link.symlink_to(made.name)
        link.rename(data)
        for name in (each.name for each in made.iterdir()):
            if not (self.place / name).is_symlink():
                (self.place / name).symlink_to(f"..data/{name}")
        for path in self.place.iterdir():
            if path.is_symlink() and not path.exists():
                path.unlink()
        if old is not None:
            shutil.rmtree(old)
