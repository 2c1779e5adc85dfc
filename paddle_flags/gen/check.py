"""The third stage: whether the parts of the normal form are consistent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags.gen import check_compat, check_flags, check_names, check_versions

if TYPE_CHECKING:
    from paddle_flags.gen.model import FlagSet
    from paddle_flags.gen.problems import Problems


def check_consistency(flags: FlagSet, problems: Problems) -> None:
    """Report every inconsistency."""
    check_names.check_all_names(flags, problems)
    check_flags.check_single_flags(flags, problems)
    check_compat.check_compatibility(flags, problems)
    check_versions.check_version_history(flags, problems)
