"""What another parser has read, as a command line of ours, which sets all flags or none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from paddle_flags import FLAGS
from paddle_flags.extend import (
    ParseOptions,
    check_call,
    ffi,
    format_argument,
    iter_flag_tokens,
    lib,
    new_error,
    normalize_name,
    read_argv,
    to_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Unpack

    from _typeshed import StrOrBytesPath as Path

    from paddle_flags.extend import EnvironmentOptions


class Inputs:
    """Where values come from besides the other parser's command line; as in `parse`."""

    def __init__(
        self, config: Path | Sequence[Path] | None = None, **environment: Unpack[EnvironmentOptions]
    ) -> None:
        self.config = config
        self.environment = environment
        ParseOptions(**environment).check()

    def update(self, other: Inputs) -> None:
        """Take what a later call says."""
        given = {name: value for name, value in other.environment.items() if value is not None}
        self.environment = cast("EnvironmentOptions", {**self.environment, **given})
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
        name = _name_in(token)
        self.names |= {name, name.removeprefix("no")}
        if at is None or not 0 <= at < len(self._tokens) or self._tokens[at]:
            self._tokens.append(token)
        else:
            self._tokens[at] = token

    def set_given_flags(
        self, inputs: Inputs, *, former: Sequence[str] = (), allow_pending: bool = False
    ) -> None:
        """Set the flags; raise FlagParseError, and set none, if a value is refused.

        The flags named `former` lose what the command line before gave them.
        """
        options = ParseOptions(
            config=inputs.config, allow_pending=allow_pending, **inputs.environment
        )
        options.former = [FLAGS[name].handle for name in former]
        read_argv([sys.argv[0] if sys.argv else "", *self._tokens], options)


def set_flag_texts(texts: Sequence[tuple[str, str]]) -> None:
    """Set flags by name, all or none, with the source of a line of which a part was read."""
    if not texts:
        return
    kept = [ffi.new("char[]", to_bytes(text)) for _, text in texts]
    items = ffi.new("pd_assignment[]", len(texts))
    for item, (name, _), text in zip(items, texts, kept):
        item.flag, item.text = FLAGS[name].handle, text
    origin = ffi.new("pd_origin *", {"source": lib.PD_SOURCE_ARGV})
    err = new_error()
    check_call(lib.pd_batch_set(items, len(texts), origin, ffi.NULL, err), err)


def _name_in(token: str) -> str:
    return normalize_name(token.lstrip("-").partition("=")[0])


def quote_as_single_items(
    tokens: list[str], whole: Collection[str], *, stop_at_argument: bool
) -> list[str]:
    """Return the tokens of a line with values as one item of a list, commas included.

    `whole` has the names of the flags with such values.
    """
    read = list(tokens)
    if not any(_name_in(token) in whole for token in tokens):  # each flag would be looked up
        return read
    for at, name, value_at in iter_flag_tokens(tokens, 1, stop_at_argument=stop_at_argument):
        if name in whole and value_at is not None:
            option, equals, text = tokens[at].partition("=")
            if equals:
                read[at] = f"{option}={format_argument((text,))}"
            else:
                read[value_at] = format_argument((tokens[value_at],))
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
