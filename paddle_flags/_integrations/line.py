"""What another parser has read, as a command line of ours, which sets all flags or none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from paddle_flags._completion.flags import awaits_value, is_flag
from paddle_flags._core.lists import encode
from paddle_flags._core.names import name_in_token
from paddle_flags._core.registry import FLAGS, find
from paddle_flags._core.status import check_call, new_error, to_bytes
from paddle_flags._input.argv import read_argv
from paddle_flags._input.options import Options
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Unpack

    from paddle_flags._input.config import Path
    from paddle_flags._input.options import Environment


class Inputs:
    """Where values come from besides the other parser's command line; as in `parse`."""

    def __init__(
        self, config: Path | Sequence[Path] | None = None, **environment: Unpack[Environment]
    ) -> None:
        self.config = config
        self.environment = environment
        Options(**environment).check()

    def update(self, other: Inputs) -> None:
        """Take what a later call says."""
        given = {name: value for name, value in other.environment.items() if value is not None}
        self.environment = cast("Environment", {**self.environment, **given})
        if other.config is not None:
            self.config = other.config


class Line:
    """A command line whose other tokens are left empty, so that places in it are right."""

    def __init__(self, size: int) -> None:
        self._tokens = [""] * size
        self.names: set[str] = set()
        """Those of the flags that the tokens give; of --noname, both that it may mean."""

    def add(self, name: str, text: str | None, at: int | None) -> None:
        """Add a value; `at` is the index of its token, or None if that is unknown.

        A text that is None stands for --name or --noname.
        """
        self.add_token(f"--{name}" if text is None else f"--{name}={text}", at)

    def add_token(self, token: str, at: int | None) -> None:
        """Add a token as it is."""
        name = name_in_token(token)
        self.names |= {name, name.removeprefix("no")}
        if at is None or not 0 <= at < len(self._tokens) or self._tokens[at]:
            self._tokens.append(token)
        else:
            self._tokens[at] = token

    def read(
        self, inputs: Inputs, *, former: Sequence[str] = (), allow_pending: bool = False
    ) -> None:
        """Set the flags; raise FlagParseError, and set none, if a value is refused.

        The flags named `former` lose what the command line before gave them.
        """
        options = Options(config=inputs.config, allow_pending=allow_pending, **inputs.environment)
        options.former = [FLAGS[name].handle for name in former]
        read_argv([sys.argv[0] if sys.argv else "", *self._tokens], options)


def set_texts(texts: Sequence[tuple[str, str]]) -> None:
    """Set flags by name, all or none, with the source of a line of which a part was read."""
    if not texts:
        return
    kept = [ffi.new("char[]", to_bytes(text)) for _, text in texts]
    items = ffi.new("pd_assignment[]", len(texts))
    for item, (name, _), text in zip(items, texts, kept):
        item.flag, item.text = find(name).handle, text
    origin = ffi.new("pd_origin *", {"source": lib.PD_SOURCE_ARGV})
    err = new_error()
    check_call(lib.pd_batch_set(items, len(texts), origin, ffi.NULL, err), err)


def quote_items(tokens: list[str], whole: Collection[str], *, stop_at_argument: bool) -> list[str]:
    """Return the tokens of a line with values as one item of a list, commas included.

    `whole` has the names of the flags with such values.
    """
    read = list(tokens)
    if not any(name_in_token(token) in whole for token in tokens):
        return read
    at = 1
    while at < len(tokens) and tokens[at] != "--":
        token = tokens[at]
        if stop_at_argument and not is_flag(token):
            break
        value_at = at + awaits_value(token)
        name, equals, text = token.partition("=")
        if is_flag(token) and name_in_token(token) in whole:
            if equals:
                read[at] = f"{name}={encode((text,))}"
            elif at < value_at < len(tokens):
                read[value_at] = encode((tokens[value_at],))
        at = value_at + 1
    return read


def find_token(tokens: Sequence[str], start: int, option: str) -> int | None:
    """Return the index of the token that gives an option, written as `option` or shorter."""
    for index in range(start, len(tokens)):
        written = tokens[index].partition("=")[0]
        if written == option:
            return index
        if len(option) == 2 and written.startswith(option):
            return index
        if len(written) > 2 and option.startswith(written):  # an abbreviation
            return index
    return None
