"""A program with commands, each of which has flags and arguments of its own."""

from __future__ import annotations

import sys
from encodings.aliases import aliases

import paddle_flags as pf

pf.define("encoding", "utf-8", "Encoding of the files")


def encodings(start: str = "") -> None:
    """List the encodings whose names begin with START."""
    print(*sorted({name for name in aliases.values() if name.startswith(start)}))


if __name__ == "__main__":
    sys.exit(
        pf.commands(
            {
                "count": "counting:count",  # imported when it is chosen
                "search": "searching",  # its function main
                "list": {"encodings": encodings},
            },
            env_prefix="TEXTS_",
            config_flag="config",
            version="1.0",
        )
    )
