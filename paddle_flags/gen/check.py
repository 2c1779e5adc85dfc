"""The third stage: whether the parts of the normal form are consistent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags.gen import check_compat, check_flags, check_names, check_versions

if TYPE_CHECKING:
    from paddle_flags.gen.model import FlagSet
    from paddle_flags.gen.problems import Problems


def check(flags: FlagSet, problems: Problems) -> None:
    """Report every inconsistency."""
    check_names.check(flags, problems)
    check_flags.check(flags, problems)
    check_compat.check(flags, problems)
    check_versions.check(flags, problems)
