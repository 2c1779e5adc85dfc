"""What the tests of the generator share."""

from __future__ import annotations

from typing import Any

from paddle_flags.gen import model


def imported(capsys, *words: object) -> tuple[int, list[str]]:
    """Run gen import; give the exit status and the lines about what can't be said."""
    from paddle_flags.gen.cli import run as gen  # an extra, maybe missing

    status = gen(["import", *map(str, words)], "gen")
    return status, capsys.readouterr().err.splitlines()


RECORDS: dict[str, type[Any]] = {
    "flags": model.Flag,
    "imports": model.Import,
    "aliases": model.Alias,
    "renamed": model.Renamed,
    "retired": model.Retired,
    "deprecated": model.Deprecated,
    "implies": model.Implication,
    "versions": model.Version,
    "sets": model.Setting,
    "changes": model.Change,
}


def from_data(data: dict[str, Any], record: type[Any] = model.FlagSet) -> Any:
    """Return the normal form that was passed to to_data."""
    values = {
        key: [from_data(each, RECORDS[key]) for each in value] if key in RECORDS else value
        for key, value in data.items()
        if key != "format"
    }
    return record(**values)
