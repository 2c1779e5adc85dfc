"""The flags of a process, read once from its memory.

Nothing here is a moment of the process: it goes on while we read. `_attach` reads more than once
and compares.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.extend import format_argument
from paddle_flags.live._attach_index import NAMES, POINTER, VALUE
from paddle_flags.live._attach_memory import Exhausted, Unreadable
from paddle_flags.live._attach_values import (
    convert_to_json_scalar,
    decode,
    is_type_limit,
    parse_list_items,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags.live._attach_index import Index
    from paddle_flags.live._attach_memory import Memory
    from paddle_flags.live._attach_values import Scalar

FLAGS_MAX = 100_000
_CHAIN_MAX = 1000  # cells, overrides or values of one flag
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NAME_MAX = 255
_OPTIONAL, _SENSITIVE, _STARTUP = "def.optional", "def.sensitive", "def.startup_only"


class Entry(NamedTuple):
    """A value that a flag has or had."""

    value: Scalar | None
    """None if the flag is sensitive."""
    source: str
    line: int
    column: int
    place: str
    replaced: bool = False


class Pass:
    """One reading of all flags."""

    def __init__(self, memory: Memory, index: Index, *, history: bool) -> None:
        """Read them; Unreadable if the table of names can't be."""
        self._memory = memory
        self._index = index
        self._history = history
        self.flags: dict[str, dict[str, Any]] = {}
        """By name, in the order of definition."""
        self.torn: set[str] = set()
        """Names of flags that could not be read as a whole."""
        self.unread: set[str] = set()
        """Names of flags whose variable only the program itself can read."""
        self.cut: set[str] = set()
        """Names of flags with a text that was cut."""
        self.complete = True
        self.version = index.version
        self._paths: dict[int, str] = {}
        self._startup_over = memory.read(index.startup_over, 1) != b"\0"
        try:
            for node in self._iter_nodes():
                self._add_flag(node)
        except Exhausted:
            self.complete = False

    def _add_flag(self, node: bytes) -> None:
        reading = _Flag(self._memory, self._index, self, node)
        try:
            found = reading.read(history=self._history)
            self.flags[found["name"]] = found
        except Unreadable:
            if reading.name:
                self.torn.add(reading.name)
            else:
                self.complete = False

    # ---- Nodes ----

    def _iter_nodes(self) -> Iterator[bytes]:
        """Yield the nodes of defined flags: in their order, then those that it doesn't lead to."""
        index = self._index
        place = _read_pointer(self._memory, index.names)
        names = self._memory.read(place, index.sizes["names"])
        count = index.extract_number("names.count", names)
        if count > FLAGS_MAX:
            count, self.complete = FLAGS_MAX, False
        nodes = list(self._iter_chunk_nodes(index.extract_number("names.chunks", names), count))
        seen = bytearray(count)
        at = index.extract_number("names.first_listed", names)
        while 0 < at <= count and not seen[at - 1]:
            seen[at - 1] = 1
            yield from self._yield_if_defined(nodes[at - 1])
            at = index.extract_number("flag.next_listed", nodes[at - 1])
        for i, node in enumerate(nodes):
            if not seen[i]:
                yield from self._yield_if_defined(node)

    def _yield_if_defined(self, node: bytes) -> Iterator[bytes]:
        if self._index.extract_bits("flag.defined", node) and self._index.extract_number(
            "flag.cells", node
        ):
            yield node

    def _iter_chunk_nodes(self, chunks: int, count: int) -> Iterator[bytes]:
        index = self._index
        most, size = index.constants["chunk.count"], index.sizes["flag"]
        for first in range(0, count, most):
            chunk = self._memory.read(
                chunks + first // most * index.sizes["chunk"], index.sizes["chunk"]
            )
            wanted = min(most, count - first)
            data = self._memory.read(index.extract_number("chunk.nodes", chunk), size * wanted)
            for i in range(wanted):
                yield data[i * size : (i + 1) * size]

    # ---- Modules ----

    def module_path(self, number: int) -> str:
        """Return the path of a module by its number; "" if there is none."""
        if number not in self._paths:
            self._paths[number] = self._read_module_path(number)
        return self._paths[number]

    def _read_module_path(self, number: int) -> str:
        index, memory = self._index, self._memory
        modules = memory.read(_read_pointer(memory, index.modules), index.sizes["list"])
        if not 0 < number <= index.extract_number("list.count", modules):
            return ""
        size = index.sizes["row"]
        row = memory.read(index.extract_number("list.rows", modules) + (number - 1) * size, size)
        module = memory.read(index.extract_number("row.item", row), index.sizes["module"])
        return memory.text(index.extract_number("module.path", module))[0]


def _read_pointer(memory: Memory, address: int) -> int:
    """Return the pointer at an address."""
    return int.from_bytes(memory.read(address, POINTER), sys.byteorder)


class _Flag:
    """One flag that is being read."""

    def __init__(self, memory: Memory, index: Index, run: Pass, node: bytes) -> None:
        self.memory = memory
        self.index = index
        self.run = run
        self.node = node
        self.name = ""
        self.cell = self.definition = b""
        self.type = self.items = ""
        self.sensitive = True

    def read(self, *, history: bool) -> dict[str, Any]:
        """Return the flag as the live protocol has it; Unreadable if it isn't one."""
        index = self.index
        self.name = self._read_name()
        self.cell = self._read_struct("cell", index.extract_number("flag.cells", self.node))
        self.definition = self._read_struct("def", index.extract_number("cell.def", self.cell))
        number = index.extract_number("def.type", self.definition)
        if number not in index.types or number != index.extract_number("flag.type", self.node):
            raise Unreadable
        self.type = index.types[number][0]
        self.items = index.types.get(index.extract_number("def.list", self.definition), ("", 0))[0]
        self.sensitive = bool(
            index.extract_bits("flag.sensitive", self.node)
            or index.extract_number(_SENSITIVE, self.definition)
        )
        entries = list(self._iter_entries())
        default = next((e for e in entries[:-1] if e.source == "default" and not e.replaced), None)
        optional = bool(index.extract_number(_OPTIONAL, self.definition)) and not default
        found: dict[str, Any] = {"name": self.name, "type": self.type}
        if self.items:
            found["items"] = self.items
        found["help"] = self._read_text(index.extract_number("def.help", self.definition))
        found.update(self._format_value_fields(entries[0], optional=optional))
        found.update(
            self._format_value_fields(default or entries[-1], optional=optional, default=True)
        )
        found.update(_origin(entries[0]))
        found.update(self._bounds())
        found.update(self._attributes())
        found.update(self._read_definition_location())
        found["marks"] = self._list_set_marks(optional=optional)
        over = self.run._startup_over and index.extract_number(_STARTUP, self.definition)
        if over or index.extract_bits("flag.frozen", self.node):
            found["frozen"] = True
        found.update(settable=False, refusal="is read from outside")
        if history:
            found["history"] = [
                self._history_document(entry, optional=optional) for entry in entries
            ]
        return found

    # ---- Parts ----

    def _read_struct(self, name: str, address: int) -> bytes:
        return self.memory.read(address, self.index.sizes[name])

    def _read_name(self) -> str:
        text, _ = self.memory.text(self.index.extract_number("flag.name", self.node))
        if len(text) > _NAME_MAX or not _NAME.fullmatch(text):
            raise Unreadable
        return text

    def _read_text(self, address: int) -> str:
        """Return a text; "" for a null pointer."""
        if not address:
            return ""
        text, cut = self.memory.text(address)
        if cut:
            self.run.cut.add(self.name)
        return text

    def _iter_chain(self, kind: str, address: int, link: str) -> Iterator[bytes]:
        """Yield the structs of a linked list."""
        seen: set[int] = set()
        while address:
            if address in seen or len(seen) == _CHAIN_MAX:
                raise Unreadable
            seen.add(address)
            data = self._read_struct(kind, address)
            yield data
            address = self.index.extract_number(link, data)

    def _format_value_fields(
        self, entry: Entry, *, optional: bool, default: bool = False
    ) -> dict[str, Any]:
        """Return the fields with a value; none for a sensitive flag."""
        key, text = ("default", "default_text") if default else ("value", "text")
        if entry.value is None:
            return {}
        if optional and entry.source == "default":
            return {key: None, text: None}
        return {key: self._json_value(entry.value), text: format_argument(entry.value)}

    def _json_value(self, value: Scalar) -> Scalar | list[Scalar]:
        if self.items and isinstance(value, str):
            return parse_list_items(value, self.items)
        return convert_to_json_scalar(value)

    def _history_document(self, entry: Entry, *, optional: bool) -> dict[str, Any]:
        found = self._format_value_fields(entry, optional=optional)
        return {**found, **_origin(entry), "replaced": entry.replaced}

    def _bounds(self) -> dict[str, Any]:
        if self.sensitive or self.type in ("bool", "string"):
            return {}
        _, size = self.index.types[self.index.extract_number("def.type", self.definition)]
        found = {}
        for name in ("min", "max"):
            bound = decode(self.type, self.index.extract_bytes(f"def.{name}", self.definition))
            if not is_type_limit(self.type, bound, size, upper=name == "max"):
                found[name] = bound
        return found

    def _attributes(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, field in self.index.texts:
            address = self.index.extract_number(field, self.definition)
            text = self._read_text(address) if address else ""
            if text and not (self.sensitive and name == "choices"):
                found[name] = text.split("|") if self.index.kinds[field] == NAMES else text
        return found

    def _read_definition_location(self) -> dict[str, Any]:
        index = self.index
        module = self._read_text(index.extract_number("def.module", self.definition))
        return {
            "module": module or self.run.module_path(index.extract_bits("cell.module", self.cell)),
            "file": self._read_text(index.extract_number("def.file", self.definition)),
            "line": index.extract_number("def.line", self.definition),
        }

    def _list_set_marks(self, *, optional: bool) -> list[str]:
        other = {"optional": optional, "sensitive": self.sensitive}
        return [
            name
            for name, field in self.index.marks
            if (other[name] if name in other else self.index.extract_number(field, self.definition))
        ]

    # ---- Values ----

    def _iter_entries(self) -> Iterator[Entry]:
        """Yield the current value, those that it hides, and the default."""
        index, node = self.index, self.node
        assigned = self._find_direct_assignment()
        if assigned:
            yield assigned
        extra = index.extract_number("flag.extra", node)
        data = self._read_struct("extra", extra) if extra else b""
        top = index.extract_number("extra.overrides", data) if data else 0
        for over in self._iter_chain("overridden", top, "overridden.below"):
            yield from self._iter_entry_chain(index.extract_number("overridden.values", over))
        if index.extract_bits("flag.assigned", node):
            value = self._read_value_field("extra.base", data) if top else self._read_node_value()
            yield self._make_entry("flag", node, value)
        yield from self._iter_entry_chain(index.extract_number("flag.history", node))
        place = self._read_text(index.extract_number("def.file", self.definition))
        line = index.extract_number("def.line", self.definition)
        value = self._read_value_field("def.default_value", self.definition)
        yield Entry(value, "default", line, 0, place)

    def _iter_entry_chain(self, address: int) -> Iterator[Entry]:
        for data in self._iter_chain("entry", address, "entry.next"):
            entry = self._make_entry("entry", data, self._read_value_field("entry.value", data))
            yield entry._replace(replaced=bool(self.index.extract_number("entry.replaced", data)))

    def _make_entry(self, kind: str, data: bytes, value: Scalar | None) -> Entry:
        index = self.index
        source = index.extract_number(f"{kind}.source", data)
        return Entry(
            value,
            index.sources.get(source, f"source {source}"),
            index.extract_number(f"{kind}.line", data),
            index.extract_number(f"{kind}.column", data),
            self._read_text(index.extract_number(f"{kind}.place", data)),
        )

    def _read_value_field(self, field: str, data: bytes) -> Scalar | None:
        """Return the value of a pd_value."""
        if self.index.kinds[field] != VALUE:
            raise Unreadable
        raw = self.index.extract_bytes(field, data)
        if self.type == "bool":
            raw = raw[:1]
        return self._decode_scalar(raw[:POINTER] if self.type == "string" else raw)

    def _read_node_value(self) -> Scalar | None:
        """Return the value in the node."""
        fields = {"bool": "flag.truth", "string": "flag.text"}
        field = fields.get(self.type, "flag.number")
        size = self.index.types[self.index.extract_number("def.type", self.definition)][1]
        return self._decode_scalar(self.index.extract_bytes(field, self.node)[:size])

    def _decode_scalar(self, raw: bytes) -> Scalar | None:
        if self.sensitive:
            return None
        if self.type == "double" and len(raw) != 8:  # a damaged index
            raise Unreadable
        value = decode(self.type, raw)
        return self._read_text(int(value)) if self.type == "string" else value

    # ---- Variables that the program assigns to ----

    def _find_direct_assignment(self) -> Entry | None:
        """Return the value of a variable that the program has assigned to since the last call."""
        index = self.index
        number = index.extract_number("flag.type", self.node)
        for cell in self._iter_chain(
            "cell", index.extract_number("flag.cells", self.node), "cell.next"
        ):
            definition = self._read_struct("def", index.extract_number("cell.def", cell))
            variable = index.extract_number("def.cell", definition)
            if not index.extract_number("def.assignable", definition) or not variable:
                continue
            if index.extract_number("def.access", definition):
                self.run.unread.add(self.name)
            elif index.extract_number("def.type", definition) == number and not self.sensitive:
                value = self._decode_scalar(self.memory.read(variable, index.types[number][1]))
                if format_argument(value or 0) != format_argument(self._read_node_value() or 0):
                    return Entry(value, "run time", 0, 0, self._module_path_of(cell, definition))
        return None

    def _module_path_of(self, cell: bytes, definition: bytes) -> str:
        named = self._read_text(self.index.extract_number("def.module", definition))
        if named and self.index.extract_bits("cell.registered", cell):
            return named
        return self.run.module_path(self.index.extract_bits("cell.module", cell))


def _origin(entry: Entry) -> dict[str, str]:
    """Return where a value came from, as reports write it."""
    place = entry.place
    if place:
        place += "".join(f":{n}" for n in (entry.line, entry.column) if n)
    elif entry.source == "argv":
        place = f"argv[{entry.line}]"
    return {"source": entry.source, **({"place": place} if place else {})}
