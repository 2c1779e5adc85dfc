"""What a loaded plugin defines and imports, from its module record: docs/reference/abi.md.

The registry lists flags, and not imports of undefined flags. This reads the record where
the loader put it, on 64-bit Linux; elsewhere nothing is found.
"""

from __future__ import annotations

import os
import struct
import sys
from typing import TYPE_CHECKING, Any

from paddle_flags._native import ffi

if TYPE_CHECKING:
    from collections.abc import Iterator

_ABI = 1
_NAME, _TYPE = b"pd_flags\0", 1  # of the note that leads to a record
_LOAD, _NOTE = 1, 4  # types of segments


def definitions(path: str) -> Iterator[Any]:
    """Return the `pd_flag_def *` of a loaded library, in the order of its image."""
    base = _base(path)
    if base is None or _bytes(base, 6) != b"\x7fELF\x02\x01":  # 64 bits, the lower byte first
        return
    for record in dict.fromkeys(_records(base)):  # each object has its note
        if ffi.cast("uint32_t *", record)[0] != _ABI:
            continue
        row = ffi.cast("pd_flag_def ***", record + 8)
        for index in range(row[1] - row[0] if row[0] else 0):
            if row[0][index]:
                yield row[0][index]


def _base(path: str) -> int | None:
    """Return the address at which a file begins in memory."""
    if not sys.platform.startswith("linux"):
        return None
    wanted = os.path.realpath(path)
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                words = line.rstrip("\n").split(None, 5)
                if len(words) > 5 and words[5] == wanted and int(words[2], 16) == 0:
                    return int(words[0].partition("-")[0], 16)
    except OSError:
        pass
    return None


def _bytes(address: int, size: int) -> bytes:
    return bytes(ffi.buffer(ffi.cast("char *", address), size))


def _records(base: int) -> Iterator[int]:
    """Return the addresses of the records that notes lead to."""
    header = _bytes(base, 64)
    (table,) = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    segments = [_bytes(base + table + index * size, size) for index in range(count)]
    kinds = [struct.unpack_from("<I", each)[0] for each in segments]
    places = [struct.unpack_from("<QQQQ", each, 16) for each in segments]  # address .. size
    shift = base - min(place[0] for kind, place in zip(kinds, places) if kind == _LOAD)
    for kind, place in zip(kinds, places):
        if kind == _NOTE:
            yield from _led_to(shift + place[0], place[3])


def _led_to(address: int, size: int) -> Iterator[int]:
    data, at = _bytes(address, size), 0
    while at + 12 <= size:
        name_size, content_size, kind = struct.unpack_from("<III", data, at)
        content = at + 12 + (name_size + 3 & ~3)
        if data[at + 12 : at + 12 + name_size] == _NAME and kind == _TYPE:
            yield address + content + struct.unpack_from("<i", data, content)[0]
        at = content + (content_size + 3 & ~3)
