"""The scripts for tab completion in shells."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SHELLS = ("bash", "zsh", "fish")


def completion_script(shell: str, programs: Sequence[str]) -> str:
    """Return the script that makes a shell complete the command lines of programs."""
    file = os.path.join(os.path.dirname(__file__), f"completion.{shell}")
    with open(file, encoding="utf-8") as source:
        text = source.read()
    quote = _quote_fish if shell == "fish" else shlex.quote
    call = "__paddle_flags_register" if shell == "fish" else "_paddle_flags_register"
    for program in programs:
        text += f"{call} {quote(' '.join(program.split()))}\n"
    return _make_autoloadable(text, programs) if shell == "zsh" else text


def _make_autoloadable(text: str, programs: Sequence[str]) -> str:
    """Return a script that may also be a file in zsh's $fpath, which the first Tab runs."""
    names = dict.fromkeys(os.path.basename(program.split()[0]) for program in programs)
    call = '[[ $zsh_eval_context[-1] != loadautofunc ]] || _paddle_flags_complete "$@"'
    return f"#compdef {' '.join(names)}\n{text}{call}\n"


def _quote_fish(text: str) -> str:
    return "'" + re.sub(r"([\\'])", r"\\\1", text) + "'"


def own_cli_commands() -> list[str]:
    """Return the commands that start our own command line."""
    names = dict.fromkeys(["python", "python3", os.path.basename(sys.executable)])
    return ["paddle-flags", *(f"{name} -m paddle_flags" for name in names if name)]
