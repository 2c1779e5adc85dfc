"""Files of variables, NAME=VALUE, by python-dotenv: those that are variables of flags."""

from __future__ import annotations

import io
import os
from collections import ChainMap
from typing import TYPE_CHECKING, Any

from paddle_flags._input.reading import Place, Reading, Scalar
from paddle_flags._input.unknown import flag_names, variable_suffix_of

if TYPE_CHECKING:
    from collections.abc import Iterable


def read(text: str, reading: Reading) -> None:
    """Read the text of a file."""
    with reading.importing("reading variables", "python-dotenv", "dotenv"):
        from dotenv.parser import parse_stream
        from dotenv.variables import parse_variables
    if reading.prefix is None:
        reading.stop(None, "expected parse(env_prefix=...), which says what variables are flags")
    names = _names_by_variable(flag_names())
    values: dict[str, str] = {}
    known = ChainMap(values, os.environ)
    for binding in parse_stream(io.StringIO(text)):
        at = _place_of(binding.original)
        if binding.error:
            reading.record_problem(at, "expected NAME=VALUE")
        elif binding.key is not None:
            variable = str(binding.key)
            parts = parse_variables(binding.value or "")
            values[variable] = "".join(part.resolve(known) for part in parts)
            if variable.startswith(reading.prefix):
                name = variable[len(reading.prefix) :]
                lower = name.lower() if name.isupper() else name
                _add_variable(
                    reading, names.get(name, lower), binding.value and values[variable], at
                )


def _add_variable(reading: Reading, name: str, value: str | None, at: Place) -> None:
    if value is None:
        reading.add_error([name], at, "the value is missing, expected NAME=VALUE")
    elif reading.check_new_key([name], at):
        reading.add_value([name], Scalar("text", value), at)


def _names_by_variable(names: Iterable[str]) -> dict[str, str]:
    """Return the flag that each variable, without the prefix, is for."""
    every = list(names)
    upper = {variable_suffix_of(name).upper(): name for name in every}
    return {**upper, **{variable_suffix_of(name): name for name in every}}


def _place_of(original: Any) -> Place:
    """Return the place behind the blanks of what was read."""
    text = original.string
    blanks = text[: len(text) - len(text.lstrip())]
    return Place(original.line + blanks.count("\n"), len(blanks) - blanks.rfind("\n"))
