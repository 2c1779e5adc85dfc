"""What PyInstaller has to know of this package. It asks by the entry point `pyinstaller40`."""

from __future__ import annotations

import os


def get_hook_dirs() -> list[str]:
    """Return the directories of the hooks."""
    return [os.path.dirname(__file__)]
