"""Setting flags from text with the source of a command line, a part of which was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags import FLAGS
from paddle_flags.extend import check_call, ffi, lib, new_error, to_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence


def set_texts(texts: Sequence[tuple[str, str]]) -> None:
    """Set flags, given by name, all or none."""
    if not texts:
        return
    kept = [ffi.new("char[]", to_bytes(text)) for _, text in texts]
    items = ffi.new("pd_assignment[]", len(texts))
    for item, (name, _), text in zip(items, texts, kept):
        item.flag, item.text = FLAGS[name].handle, text
    origin = ffi.new("pd_origin *", {"source": lib.PD_SOURCE_ARGV})
    err = new_error()
    check_call(lib.pd_batch_set(items, len(texts), origin, ffi.NULL, err), err)
