"""Turns the parts of a JSON or YAML document into values of flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._input.reading import DEPTH, Place, Reading, Scalar

if TYPE_CHECKING:
    from typing import NoReturn


class _Open:
    """A table or list that has not ended yet."""

    def __init__(self, at: Place, *, is_table: bool, refused: bool) -> None:
        self.at = at
        self.is_table = is_table
        self.refused = refused  # with all that is in it; the error is recorded
        self.items: list[Scalar] = []  # of a list
        self.keys: dict[str, Place] = {}  # of a table
        self.key: _Key | None = None  # whose value comes next


class _Key(NamedTuple):
    at: Place
    refused: bool


class Tree:
    """Takes the parts of a document in their order; the outermost must be a table."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._open: list[_Open] = []
        self._names: list[str] = []  # the keys that lead to here

    @property
    def wants_key(self) -> bool:
        """Whether a key or the end of a table must come next."""
        return bool(self._open) and self._open[-1].is_table and self._open[-1].key is None

    def begin_container(self, at: Place, *, is_table: bool) -> None:
        """Take the beginning of a table or list."""
        if len(self._open) > DEPTH:
            self._reading.stop(at, "is nested too deeply")
        if not self._open:
            if not is_table:
                self._refuse_non_table(at)
            refused = False
        else:
            around = self._open[-1]
            if not around.is_table and not around.refused:
                self._reading.add_error(self._names, around.at, "expected a list of plain values")
                around.refused = True
            refused = around.refused or bool(around.key and around.key.refused)
        if is_table:
            self._reading.note_table(self._names)
        self._open.append(_Open(at, is_table=is_table, refused=refused))

    def add_key(self, text: str, at: Place) -> None:
        """Take a key of a table."""
        table = self._open[-1]
        self._names.append(text)
        first = table.keys.setdefault(text, at)
        if first is not at and not table.refused:
            self._reading.add_repeated_key_error(self._names, at, first)
        table.key = _Key(at, first is not at)

    def add_scalar(self, value: Scalar, at: Place) -> None:
        """Take a plain value."""
        if not self._open:
            self._refuse_non_table(at)
        around = self._open[-1]
        if around.is_table:
            self._add_to_reading(value, at)
        else:
            around.items.append(value)

    def end_container(self) -> None:
        """Take the end of a table or list."""
        ended = self._open.pop()
        if not self._open:
            return
        if ended.is_table and self._open[-1].is_table and not (ended.keys or ended.refused):
            self._reading.add_empty_table(self._names, ended.at)
        if not ended.is_table and self._open[-1].is_table and not ended.refused:
            self._add_to_reading(ended.items, ended.at)
        elif self._open[-1].is_table:
            self._leave_key()

    def _refuse_non_table(self, at: Place) -> NoReturn:
        self._reading.stop(at, "expected a table of names and values")

    def _add_to_reading(self, value: Scalar | list[Scalar], at: Place) -> None:
        table = self._open[-1]
        assert table.key  # a value follows a key
        refused = table.refused or table.key.refused
        if not refused and self._reading.check_new_key(self._names, table.key.at):
            self._reading.add_value(self._names, value, at)
        self._leave_key()

    def _leave_key(self) -> None:
        self._names.pop()
        self._open[-1].key = None
