"""A flag of the registry as a flag of flags.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags.gen.importers import NO_HELP, Found
from paddle_flags.gen.importers.texts import from_text
from paddle_flags.gen.model import ATTRIBUTES, Flag, Place

if TYPE_CHECKING:
    from paddle_flags import Flag as LiveFlag


def flag_of(live: LiveFlag[Any], name: str, place: Place, found: Found) -> Flag:
    """Return a flag under this name, and report a missing help text."""
    if not live.help.strip():
        found.report_loss(place, f"{name}: help", "none", f"some; '{NO_HELP}' is written")
    default: Any = live.default
    kind = live.items or live.type
    unit = live.unit if not live.items else None
    return Flag(
        name=name,
        type=live.type,
        items=live.items,
        default=list(default) if live.items else default,
        help=live.help.strip() or NO_HELP,
        min=live.min,
        max=live.max,
        choices=[from_text(each, kind, unit) for each in live.choices or ()],
        unit=live.unit,
        category=live.category,
        attributes=[each for each in ATTRIBUTES if getattr(live, each)],
        owner="",
        since="",
        at={"": place},
    )
