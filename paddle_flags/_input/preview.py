"""Preview a command line before it is parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._core.status import check_status, new_error, new_struct, to_text
from paddle_flags._input.options import Call, ParseOptions, raise_token_error
from paddle_flags._native import ffi

if TYPE_CHECKING:
    from paddle_flags._core.flag import Flag


class Preview(NamedTuple):
    """What a command line says before it is parsed."""

    at: int
    """Of the argument that was asked for, in the tokens; their number: there are fewer."""
    text: str | None
    """What the line or the environment gives the flag that was asked for; None: nothing."""
    place: str
    """Of that value, as `file:line`."""


def preview_line(
    tokens: list[str],
    options: ParseOptions,
    *,
    argument: int = 0,
    flag: Flag[Any] | None = None,
    config: Any = ffi.NULL,
) -> Preview:
    """Find an argument and the value of a flag in a command line, which changes nothing."""
    asked = new_struct("pd_parse_look")
    asked.argument = argument
    if flag is not None:
        asked.flag = flag.handle
    err = new_error()
    status = Call(options, asked).parse_argv_tokens(tokens, config, err)
    if status is None:
        raise_token_error(tokens)
    if isinstance(status, int):
        check_status(status, err)
    text = to_text(asked.text) if asked.text else None
    place = to_text(asked.origin.place) if asked.origin.place else ""
    return Preview(
        asked.index, text, f"{place}:{asked.origin.line}" if asked.origin.line else place
    )
