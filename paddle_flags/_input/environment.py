"""The parameters of `parse` that are about the environment, for type checkers."""

from __future__ import annotations

from typing import TypedDict


class EnvironmentOptions(TypedDict, total=False):
    """How `parse` reads the environment: its parameters that say so."""

    env_prefix: str | None
    env_flags: str | None
    env_ignore_empty: bool
    env_files: bool
    warn_unknown_env: bool
