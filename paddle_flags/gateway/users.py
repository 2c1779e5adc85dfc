"""Who asks a gateway, and their tokens."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags.errors import FlagArgumentError
from paddle_flags.extend import quote_value

if TYPE_CHECKING:
    from typing import Literal

    May = Literal["read", "change"]

_SHORTEST, _LONGEST = 16, 512
_LABEL = re.compile(r"[^\s#]{1,100}")
_SUGGESTION = "make one with secrets.token_urlsafe()"


class User(NamedTuple):
    """Who a request comes from, and what they may do.

    `label` is shown in the list of changes; `may` is `"read"`, or `"change"`, which includes
    reading.
    """

    label: str
    may: May = "read"


def read_tokens(path: str) -> dict[str, User]:
    """Return whom the tokens in a file stand for; each line has `LABEL read|change TOKEN`.

    Nobody but its owner may be able to read the file.
    """
    try:
        with open(path, encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise FlagArgumentError(f"{path}: others can read it; run: chmod 600 {path}")
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "expected UTF-8"
        raise FlagArgumentError(f"{path}: {why}") from None
    users: dict[str, User] = {}
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if parts and not parts[0].startswith("#"):
            problem = _try_add_user(users, parts)
            if problem:
                raise FlagArgumentError(f"{path}:{number}: {problem}")
    if not users:
        raise FlagArgumentError(f"{path}: expected lines with LABEL read|change TOKEN")
    return users


def _try_add_user(users: dict[str, User], parts: list[str]) -> str:
    """Add the user of a line; return what is wrong with it."""
    if len(parts) != 3 or not _LABEL.fullmatch(parts[0]):
        return "expected LABEL read|change TOKEN"
    label, may, token = parts
    if may not in ("read", "change"):
        return f"may: {quote_value(may)}: expected 'read' or 'change'"
    if not _SHORTEST <= len(token) <= _LONGEST:
        what = f"has {len(token)} characters, expected {_SHORTEST} to {_LONGEST}"
        return f"the token {what}; {_SUGGESTION}"
    if not all("!" <= character <= "~" for character in token):
        return f"the token isn't printable ASCII without blanks; {_SUGGESTION}"
    if token in users or label in [each.label for each in users.values()]:
        return f"the label {quote_value(label)}, or its token, is there twice"
    users[token] = User(label, may)  # type: ignore[arg-type] # checked above
    return ""
