"""The memory of another process, read while it runs. Linux only.

What is read may be anything: a hostile process may have arranged it. So each read says how much
it wants, and all of them together may read, follow and return only so much.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags.errors import FlagError
from paddle_flags.live._attach_refusal import describe_read_error

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = 4096
TEXT_MAX = 65536  # bytes of a text; what is longer is cut
_AHEAD = 16  # pages that are read at once
_READ_MAX = 1 << 27  # bytes, of one reading
_TEXTS_MAX = 1 << 26  # bytes, of all texts that are returned
_STRUCTS_MAX = 1_000_000
_MAPS_MAX = 1 << 25  # bytes of /proc/PID/maps


class AttachError(FlagError, OSError):
    """The flags of a process can't be read from outside."""


class Unreadable(Exception):
    """There is no such memory, or what is there can't be what it should be."""


class Exhausted(Exception):
    """More was read than a sound process has."""


class Region(NamedTuple):
    """A range of addresses with memory."""

    start: int
    end: int
    access: str
    """`"rw-p"`."""
    offset: int
    """In the file."""
    path: str
    """Of the file; "" or a name in brackets if there is none."""


class Memory:
    """What one reading sees of a process; a page is read once."""

    def __init__(self, regions: list[Region], fetch: Callable[[int, int], bytes]) -> None:
        """`fetch(address, size)` returns the bytes there, fewer if the memory ends before."""
        self.regions = sorted(regions)
        self._starts = [region.start for region in self.regions]
        self._fetch = fetch
        self._pages: dict[int, bytes] = {}
        self._texts: dict[int, tuple[str, bool]] = {}
        self._left = _READ_MAX
        self._texts_left = _TEXTS_MAX
        self._structs_left = _STRUCTS_MAX

    def find_region(self, address: int) -> Region | None:
        """Return the region with this address."""
        index = bisect_right(self._starts, address) - 1
        found = self.regions[index] if index >= 0 else None
        return found if found and address < found.end else None

    def read(self, address: int, size: int) -> bytes:
        """Return so many bytes; Unreadable if there are fewer."""
        self._structs_left -= 1
        if self._structs_left < 0 or size > self._left:
            raise Exhausted
        page, at = divmod(address, PAGE)
        if at + size <= PAGE:
            data = self._get_page(page)[at : at + size]
        else:
            count = (at + size - 1) // PAGE + 1
            data = b"".join(self._get_page(page + i) for i in range(count))[at : at + size]
        if len(data) < size:
            raise Unreadable
        return data

    def read_uncached(self, address: int, size: int) -> bytes:
        """Return a few bytes without their page; as many as there are."""
        self._left -= size
        if self._left < 0:
            raise Exhausted
        return self._fetch(address, size)

    def text(self, address: int) -> tuple[str, bool]:
        """Return the text at an address, and whether it was cut."""
        found = self._texts.get(address)
        if not found:
            found = self._texts[address] = self._read_text(address)
        self._texts_left -= len(found[0])
        self._structs_left -= 1
        if self._texts_left < 0 or self._structs_left < 0:
            raise Exhausted
        return found

    def _read_text(self, address: int) -> tuple[str, bool]:
        page, at = divmod(address, PAGE)
        parts: list[bytes] = []
        length = 0
        while length < TEXT_MAX:
            data = self._get_page(page)
            end = data.find(b"\0", at)
            parts.append(data[at:] if end < 0 else data[at:end])
            length += len(parts[-1])
            if end >= 0 and length <= TEXT_MAX:
                return b"".join(parts).decode("utf-8", "surrogateescape"), False
            if len(data) < PAGE:
                raise Unreadable
            page, at = page + 1, 0
        return b"".join(parts)[:TEXT_MAX].decode("utf-8", "surrogateescape"), True

    def _get_page(self, page: int) -> bytes:
        found = self._pages.get(page)
        return self._fetch_and_cache_pages(page) if found is None else found

    def _fetch_and_cache_pages(self, page: int) -> bytes:
        region = self.find_region(page * PAGE)
        if not region or not region.access.startswith("r"):
            raise Unreadable
        count = min(_AHEAD, (region.end - page * PAGE) // PAGE)
        self._left -= count * PAGE
        if self._left < 0:
            raise Exhausted
        data = self._fetch(page * PAGE, count * PAGE)
        if not data:
            raise Unreadable
        for i in range(0, len(data), PAGE):
            self._pages.setdefault(page + i // PAGE, data[i : i + PAGE])
        return self._pages[page]


# ---- A process ----


class _Part(ctypes.Structure):
    """`struct iovec` of <sys/uio.h>."""

    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


def _load_process_vm_readv() -> Callable[..., int]:
    is_linux = sys.platform.startswith("linux")  # elsewhere, CDLL(None) may fail
    found = is_linux and getattr(ctypes.CDLL(None, use_errno=True), "process_vm_readv", None)
    if not found:
        raise AttachError("reading another process needs process_vm_readv, which only Linux has")
    number, parts = ctypes.c_ulong, ctypes.POINTER(_Part)
    found.argtypes = [ctypes.c_int, parts, number, parts, number, number]
    found.restype = ctypes.c_ssize_t
    return found  # type: ignore[no-any-return]


def make_fetcher(pid: int) -> Callable[[int, int], bytes]:
    """Return a function that reads the memory of a process, never more than 16 pages at once."""
    call = _load_process_vm_readv()

    def fetch(address: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        # The kernel reads a part as a whole or not at all, so each page is one.
        ends = [*range((address // PAGE + 1) * PAGE, address + size, PAGE), address + size]
        starts = [address, *ends[:-1]]
        theirs = (_Part * len(ends))(*(_Part(a, b - a) for a, b in zip(starts, ends)))
        ours = _Part(ctypes.addressof(buffer), size)
        got = call(pid, ctypes.byref(ours), 1, theirs, len(ends), 0)
        if got < 0 and ctypes.get_errno() not in (errno.EFAULT, errno.ENOMEM, errno.EINVAL):
            raise AttachError(describe_read_error(pid, ctypes.get_errno()))
        return buffer.raw[: max(got, 0)]

    return fetch


_MAP = re.compile(rb"([0-9a-f]+)-([0-9a-f]+) (\S{4}) ([0-9a-f]+) \S+ \d+ *(.*)")


def read_regions(pid: int) -> list[Region]:
    """Return the memory of a process, from /proc/PID/maps."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            text = file.read(_MAPS_MAX)
    except OSError as error:
        raise AttachError(describe_read_error(pid, error.errno or 0)) from None
    found = []
    for line in text.splitlines():
        match = _MAP.fullmatch(line)
        if match:
            start, end, access, offset, path = match.groups()
            place = (int(start, 16), int(end, 16), access.decode("ascii", "replace"))
            found.append(Region(*place, int(offset, 16), os.fsdecode(path)))
    if not found:
        raise AttachError(describe_read_error(pid, 0))
    return found


def open_memory(pid: int) -> Memory:
    """Return the memory of a process as it is now."""
    fetch = make_fetcher(pid)  # first: it says if this system can't
    return Memory(read_regions(pid), fetch)
