"""What is said where a binary module of this package, or an optional package, is missing."""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Whether the package index has this package under its name. Until then, anybody could register
# the name, so nothing here lets a user install it by name.
ON_INDEX = False


def format_install_command(extra: str) -> str:
    """Return the command that installs the optional packages of an extra."""
    if ON_INDEX:
        return f"pip install 'paddle_flags[{extra}]'"
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = json.loads(distribution("paddle_flags").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        origin = {}
    url = origin.get("url", "<file or checkout of paddle_flags>")
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    if origin.get("dir_info", {}).get("editable"):
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        return f"pip install -e {shlex.quote(url2pathname(urlsplit(url).path) + f'[{extra}]')}"
    if "subdirectory" in origin:
        url += f"#subdirectory={origin['subdirectory']}"
    return f"pip install 'paddle_flags[{extra}] @ {url}'"


@contextmanager
def optional_import(
    what: str, package: str, extra: str, refuse: Callable[[str], BaseException] = ImportError
) -> Iterator[None]:
    """Let the import statements of the block say what needs the package, and what installs it.

    They are statements so that PyInstaller and type checkers see them. `refuse` makes an
    exception of the message, or raises one itself.
    """
    try:
        yield
    except ImportError as error:
        if str(error.name).partition(".")[0] == "paddle_flags":
            raise  # our own
        why = f"{what} requires {package}: {format_install_command(extra)}"
        raise refuse(why) from error


def explain_import(error: ImportError, package: str) -> ImportError:
    """Return what `import paddle_flags` raises if its binary modules cannot be imported."""
    # Loaders name a module that isn't there; of one that can't be loaded we have the path.
    missing = str(error.name).startswith("paddle_flags.")
    if not missing and not str(error.path).startswith(os.path.join(package, "")):
        return error  # another package, such as cffi
    folder = os.path.dirname(package)
    if not os.path.exists(os.path.join(folder, "build_ffi.py")):
        return ImportError(
            f"paddle_flags in {package} is incomplete ({error}): install it again, for this"
            " version of Python."
        )
    return ImportError(
        f"Python found paddle_flags in {folder}, which is its source tree and has no built"
        f" library ({error}). A source tree in the current directory hides an installed"
        " package: start Python in another directory. To use the source tree itself, build its"
        f" library with: pip install -e {shlex.quote(folder)}"
    )
