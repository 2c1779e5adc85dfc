"""Configuration files in JSON.

The reader of Python checks a file; a second pass finds the places of the values.
"""

from __future__ import annotations

import json
import re

from paddle_flags._input.reading import Place, Places, Reading, Scalar
from paddle_flags._input.tree import Tree

_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")([ \t\n\r]*:)?|[{}\[\]]|[^{}\[\]",: \t\n\r]+')
_KINDS = {"true": "bool", "false": "bool", "null": "null"}
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")  # which Python's reader lets pass


def read(text: str, reading: Reading) -> None:
    """Read the text of a file."""
    try:
        json.loads(
            text,
            parse_int=_discard_parsed_value,
            parse_float=_discard_parsed_value,
            object_pairs_hook=_discard_parsed_value,
        )
    except json.JSONDecodeError as error:
        reading.stop(Place(error.lineno, error.colno), f"not JSON: {error.msg}")
    place = Places(text)
    tree = Tree(reading)
    for match in _TOKEN.finditer(text):
        _store_value(match, tree, place(match.start()), reading)


def _discard_parsed_value(_: object) -> None:
    """Stand for a value, whose text comes later."""


def _store_value(match: re.Match[str], tree: Tree, at: Place, reading: Reading) -> None:
    token = match[0]
    if match[2]:
        tree.add_key(json.loads(match[1]), at)
    elif match[1]:
        tree.add_scalar(Scalar("text", json.loads(token)), at)
    elif token in ("{", "["):
        tree.begin_container(at, is_table=token == "{")
    elif token in ("}", "]"):
        tree.end_container()
    elif token in _NO_NUMBERS:
        reading.stop(at, f'not JSON: {token}; expected a number, or "inf" or "nan" as text')
    else:
        whole = token.lstrip("-").isdigit()
        tree.add_scalar(Scalar(_KINDS.get(token, "integer" if whole else "number"), token), at)
