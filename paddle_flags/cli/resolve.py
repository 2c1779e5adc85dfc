"""Which kind of target a command line names."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.target import Target


def resolve_target(options: argparse.Namespace, text: str | None = None) -> Target:
    """Return the target of a command line, or another one that it names."""

    def find(other: str) -> Target:
        return resolve_target(options, other)

    if text is None and options.attach is not None:
        from paddle_flags.cli.process import Attached

        return Attached(options.attach, options, find)
    name: str = options.target if text is None else text
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://|(configmap|dir):/", name):  # or with slashes missing
        if name.partition(":")[0].lower() in ("http", "https"):
            from paddle_flags.cli.process import Gateway

            return Gateway(name, options, find)
        from paddle_flags.cli.fleet import FleetTarget

        return FleetTarget(name, options, find)
    if options.verb == "diff":
        from paddle_flags.cli.diff import File, is_file_target

        looks_like_file = is_file_target(name) or name.endswith(".json")
        if looks_like_file and (os.path.dirname(name) or not _is_process_name(name)):
            return File(name, options, find)
    from paddle_flags.cli.process import Process

    return Process(name, options, find)


def _is_process_name(name: str) -> bool:
    from paddle_flags.cli.processes import find_by_name
    from paddle_flags.errors import FlagUnsupportedError

    try:
        return bool(find_by_name(name))
    except FlagUnsupportedError:  # on this system no process has a name
        return False
