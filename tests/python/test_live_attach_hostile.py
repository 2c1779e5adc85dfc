"""Reading a process whose memory is damaged or hostile: an error or less, never more than that.

The memory is that of a real process, recorded while it was read, and then changed.
"""

from __future__ import annotations

import random
import struct
import sys
from typing import TYPE_CHECKING, Any

import pytest
from attaching import build_report, reporting
from hypothesis import example, given, settings
from hypothesis import strategies as st

import paddle_flags.live._attach_memory as limits
from paddle_flags.live._attach import read_stable_flags
from paddle_flags.live._attach_index import Index, find_index
from paddle_flags.live._attach_memory import (
    PAGE,
    AttachError,
    Memory,
    Region,
    Unreadable,
    make_fetcher,
    read_regions,
)
from paddle_flags.live._attach_values import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.extended,  # builds much
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux"),
]
WORD = struct.calcsize("P")


class Image:
    """The memory of a process, as far as it was read, with changes."""

    def __init__(self, places: list[Region], pages: dict[int, bytes]) -> None:
        self.regions = places
        self.pages = pages

    def copy(self) -> Image:
        return Image(list(self.regions), dict(self.pages))

    def memory(self) -> Memory:
        return Memory(self.regions, self.fetch)

    def fetch(self, address: int, size: int) -> bytes:
        data = b""
        while len(data) < size:
            page, at = divmod(address + len(data), PAGE)
            if page not in self.pages:
                break
            data += self.pages[page][at : at + size - len(data)]
        return data

    def put(self, address: int, data: bytes) -> None:
        page, at = divmod(address, PAGE)
        old = self.pages[page]
        self.pages[page] = (old[:at] + data + old[at + len(data) :])[:PAGE]

    def put_word(self, address: int, number: int) -> None:
        self.put(address, number.to_bytes(WORD, sys.byteorder))

    def read(self) -> dict[str, Any]:
        return read_stable_flags(self.memory, history=True)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The memory of a process with flags of all kinds."""
    with reporting(build_report(tmp_path_factory.mktemp("hostile"))) as running:
        fetch = make_fetcher(running.pid)
        image = Image(read_regions(running.pid), {})

        def record(address: int, size: int) -> bytes:
            for page in range(address // PAGE, (address + size - 1) // PAGE + 1):
                if page not in image.pages:
                    data = fetch(page * PAGE, PAGE)
                    if data:
                        image.pages[page] = data
            return image.fetch(address, size)

        read_stable_flags(lambda: Memory(image.regions, record), history=True)
        return image


@pytest.fixture
def image(recorded: Image) -> Image:
    return recorded.copy()


def index_of(image: Image) -> Index:
    return find_index(image.memory())


def node_of(image: Image, number: int) -> int:
    """Return the address of the node of a flag, counted in the order of their nodes."""
    index, memory = index_of(image), image.memory()
    names = memory.read(word_at(image, index.names), index.sizes["names"])
    chunk = memory.read(index.extract_number("names.chunks", names), index.sizes["chunk"])
    first, size = index.extract_number("chunk.nodes", chunk), index.sizes["flag"]
    nodes = [first + i * size for i in range(index.extract_number("names.count", names))]
    return [n for n in nodes if index.extract_bits("flag.defined", memory.read(n, size))][number]


def word_at(image: Image, address: int) -> int:
    return int.from_bytes(image.fetch(address, WORD), sys.byteorder)


def field(image: Image, name: str) -> slice:
    return index_of(image)._fields[name]


def names_of(document: dict[str, Any]) -> list[str]:
    return [flag["name"] for flag in document["flags"]]


def check(document: dict[str, Any]) -> None:
    """Check what holds for every document."""
    assert document["complete"] in (True, False)
    for flag in document["flags"]:
        assert len(flag["name"]) <= 255
        assert all(len(v) <= limits.TEXT_MAX for v in flag.values() if isinstance(v, str))


# ---- What is recorded reads as the process did ----


def test_the_recorded_memory_is_read_like_the_process(image):
    document = image.read()
    assert document["complete"]
    assert not document["torn"]
    assert "overridden" in names_of(document)
    assert len(names_of(document)) > 30


# ---- Lists that never end ----


@pytest.mark.parametrize("name", ["cells", "history", "extra"])
def test_a_flag_whose_lists_lead_anywhere_is_left_out_and_torn(image, name):
    address = node_of(image, 3)
    before = names_of(image.read())
    for target in (1, (1 << 8 * WORD) - 8, 0x1000):
        image.put_word(address + field(image, f"flag.{name}").start, target)
        document = image.read()
        assert set(before) - set(names_of(document)) == set(document["torn"])
        assert len(document["torn"]) == 1


@pytest.mark.parametrize(
    ("list_name", "struct_name", "link"),
    [("flag.history", "entry", "entry.next"), ("flag.cells", "cell", "cell.next")],
)
def test_a_list_that_leads_back_to_itself_ends(image, list_name, struct_name, link):
    place = field(image, list_name).start
    firsts = [word_at(image, node_of(image, number) + place) for number in range(30)]
    first = next(address for address in firsts if address)
    image.put_word(first + field(image, link).start, first)
    document = image.read()
    assert struct_name in index_of(image).sizes
    assert len(document["torn"]) == 1
    assert document["torn"][0] not in names_of(document)


def test_an_order_that_leads_in_circles_loses_no_flag(image):
    before = names_of(image.read())
    place = field(image, "flag.next_listed")
    image.put(node_of(image, 5) + place.start, (2).to_bytes(4, sys.byteorder))
    assert sorted(names_of(image.read())) == sorted(before)


# ---- Numbers that are too big ----


@pytest.mark.parametrize("count", [1 << 20, (1 << 32) - 1])
def test_a_count_that_is_too_big_is_an_error_or_less(image, count):
    names = word_at(image, index_of(image).names)
    image.put(names + field(image, "names.count").start, count.to_bytes(4, sys.byteorder))
    with pytest.raises(AttachError, match="damaged"):
        image.read()


@pytest.mark.parametrize("text", [b"\x1b[2J\0", b"two words\0", b"\0", b"x" * 300 + b"\0"])
def test_a_name_that_is_none_is_never_listed(image, text):
    definition = definition_of(image, 3)
    name = word_at(image, definition + field(image, "def.name").start)
    image.put(name, text)
    found = names_of(image.read())
    assert all(each.replace(".", "_").replace("-", "_").isidentifier() for each in found)


def definition_of(image: Image, number: int) -> int:
    cell = word_at(image, node_of(image, number) + field(image, "flag.cells").start)
    return word_at(image, cell + field(image, "cell.def").start)


def test_an_unknown_type_or_source_is_told_or_torn(image):
    kind = field(image, "def.type")
    definition = definition_of(image, 3)
    image.put(definition + kind.start, b"\x63")
    source = field(image, "flag.source")
    image.put(node_of(image, 0) + source.start, b"\x63")
    document = image.read()
    assert len(document["torn"]) == 1
    assert any(flag["source"] == "source 99" for flag in document["flags"])


# ---- A memory that answers everything ----


class Endless(Image):
    """Any address has memory, whose words are their own address: every list leads to itself."""

    def fetch(self, address: int, size: int) -> bytes:
        known = super().fetch(address, size)
        start = (address + len(known)) // WORD * WORD
        count = size // WORD + 2
        words = range(start, start + count * WORD, WORD)
        more = b"".join((w % (1 << 8 * WORD)).to_bytes(WORD, sys.byteorder) for w in words)
        skip = address + len(known) - start
        return known + more[skip : skip + size - len(known)]


def test_a_memory_without_an_end_is_read_only_so_far(image):
    top = 1 << 8 * WORD - 1
    endless = Endless([Region(0, top, "rw-p", 1, "")], image.pages)
    endless.regions += image.regions[:0]
    with pytest.raises(AttachError, match="no registry"):
        endless.read()
    places = [r._replace(access="rw-p") for r in image.regions]
    endless = Endless(places, image.pages)
    names = word_at(image, index_of(image).names)
    count = (100_000).to_bytes(4, sys.byteorder)
    endless.put(names + field(image, "names.count").start, count)
    try:
        check(endless.read())
    except AttachError as error:
        assert "damaged" in str(error)  # noqa: PT017 - either is right


def test_one_long_text_for_all_flags_is_returned_only_so_often(image, monkeypatch):
    monkeypatch.setattr(limits, "_TEXTS_MAX", 200_000)
    start = max(region.end for region in image.regions if region.end < 1 << 47) + PAGE
    image.regions.append(Region(start, start + 17 * PAGE, "rw-p", 0, ""))
    image.pages.update((start // PAGE + i, b"x" * PAGE) for i in range(17))
    for number in range(10):
        definition = definition_of(image, number)
        image.put_word(definition + field(image, "def.help").start, start)
    document = image.read()
    assert not document["complete"]
    assert 0 < len(document["flags"]) < 10
    assert document["flags"][0]["help"] == "x" * limits.TEXT_MAX
    assert document["cut"]


def test_so_many_structs_are_followed_and_no_more(image, monkeypatch):
    monkeypatch.setattr(limits, "_STRUCTS_MAX", 300)
    document = image.read()
    assert not document["complete"]
    assert 0 < len(document["flags"]) < 30


# ---- An index that is none ----


def index_address(image: Image) -> int:
    """Return where the index begins: its magic is nowhere else in what was read."""
    found = [
        page * PAGE + data.index(b"pdindex\0")
        for page, data in image.pages.items()
        if b"pdindex\0" in data
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("at", "data", "words"),
    [
        (0, b"x", "damaged"),
        (8, b"\x02\0\0\0", "index of its registry has version 2, and this paddle_flags reads"),
        (12, b"\x10\0\0\0", "damaged"),
        (16, b"\0\0\0\0", "damaged"),
        (16, b"\xff\xff\xff\xff", "damaged"),
        (20, b"\0\0\0\0", "damaged"),
        (20, b"\xff\xff\xff\xff", "damaged"),
        (24, b"\0" * WORD, "damaged"),
        (24, b"\xff" * WORD, "damaged"),
    ],
)
@pytest.mark.skipif(sys.byteorder != "little", reason="the numbers are little-endian")
def test_an_index_that_is_damaged_or_newer_is_an_error(image, at, data, words):
    image.put(index_address(image) + at, data)
    with pytest.raises(AttachError, match=words):
        image.read()


# ---- Anything ----


def outcome(image: Image) -> str:
    try:
        check(image.read())
    except AttachError:
        return "error"
    return "document"


@pytest.mark.release  # tries many changes
@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 200))
def test_any_bytes_may_be_changed(recorded: Image, seed: int, count: int) -> None:
    outcome(changed(recorded, random.Random(seed), count, lambda r: bytes([r.randrange(256)])))


@pytest.mark.parametrize("size", [0, 4, 16])
def test_a_double_of_another_size_is_none(size):
    with pytest.raises(Unreadable):
        decode("double", bytes(size))


@pytest.mark.release  # tries many changes
@settings(max_examples=150)
@example(seed=102, count=65)  # has found a type of no size
@given(seed=st.integers(0, 2**32), count=st.integers(1, 200))
def test_any_words_may_be_changed(recorded: Image, seed: int, count: int) -> None:
    places = [page * PAGE for page in recorded.pages]

    def word(chance: random.Random) -> bytes:
        numbers = (0, 1, (1 << 8 * WORD) - 1, chance.getrandbits(32), chance.choice(places))
        return chance.choice(numbers).to_bytes(WORD, sys.byteorder)

    outcome(changed(recorded, random.Random(seed), count, word))


def changed(
    recorded: Image, chance: random.Random, count: int, data: Callable[[random.Random], bytes]
) -> Image:
    """Change parts of the pages that matter most: those with nodes, definitions and the index."""
    image = recorded.copy()
    hot = sorted({address // PAGE for address in interesting(recorded)})
    pages = sorted(image.pages)
    for _ in range(count):
        page = chance.choice(hot if chance.random() < 0.8 else pages)
        part = data(chance)
        image.put(page * PAGE + chance.randrange(PAGE // len(part)) * len(part), part)
    return image


def interesting(image: Image) -> Iterator[int]:
    index = index_of(image)
    yield index_address(image)
    yield word_at(image, index.names)
    yield word_at(image, index.modules)
    for number in range(10):
        yield node_of(image, number)
        yield definition_of(image, number)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_any_pages_may_be_missing(recorded: Image, seed: int) -> None:
    chance, image = random.Random(seed), recorded.copy()
    for page in chance.sample(sorted(image.pages), chance.randrange(1, len(image.pages) // 2)):
        del image.pages[page]
    outcome(image)


@settings(max_examples=50)
@given(data=st.binary(min_size=64, max_size=4 * PAGE))
def test_any_file_may_look_like_elf(data: bytes) -> None:
    with open("/proc/self/exe", "rb") as file:
        head = file.read(64)
    filled = (head + data).ljust(8 * PAGE, b"\0")
    pages = {0x1000 + i: filled[i * PAGE : (i + 1) * PAGE] for i in range(8)}
    place = Region(0x1000 * PAGE, 0x1008 * PAGE, "rw-p", 0, "/any/file")
    assert outcome(Image([place], pages)) == "error"
