"""What the tests of the generator share."""

from __future__ import annotations


def imported(capsys, *words: object) -> tuple[int, list[str]]:
    """Run gen import; give the exit status and the lines about what can't be said."""
    from paddle_flags.gen.cli import run as gen  # an extra, maybe missing

    status = gen(["import", *map(str, words)], "gen")
    return status, capsys.readouterr().err.splitlines()
