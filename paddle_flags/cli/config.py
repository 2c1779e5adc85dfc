"""The command config: print what a build of plugins and hosts needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from paddle_flags._core import paths
from paddle_flags.cli.options import PROGRAM
from paddle_flags.cli.output import print_text

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.options import Commands

_OPTIONS: dict[str, Callable[[], str]] = {
    "--cflags": paths.cflags,
    "--includedir": paths.get_include,
    "--compatdir": paths.get_compat_include,
    "--libs": paths.libs,
    "--libdir": paths.get_library_dir,
    "--static": paths.get_static_library,
    "--cmakedir": paths.get_cmake_dir,
    "--pkgconfigdir": paths.get_pkgconfig_dir,
    "--makefile": paths.get_makefile,
}


def add(commands: Commands) -> None:
    """Add the command to the parsers of a command line."""
    summary = "print what a build of plugins and hosts needs"
    parser: argparse.ArgumentParser = commands.add_parser(
        "config",
        help=summary,
        description=summary[0].upper() + summary[1:] + ", on one line.",
        usage=f"{PROGRAM} config OPTION...",
        allow_abbrev=False,
    )
    for option, function in _OPTIONS.items():
        what = str(function.__doc__).partition("\n")[0].replace("Give", "print").replace("`", "")
        parser.add_argument(
            option,
            dest="options",
            action="append_const",
            const=option,
            help=what.rstrip("."),
        )
    parser.set_defaults(act=lambda options: _print(parser, options.options))


def _print(parser: argparse.ArgumentParser, options: list[str] | None) -> None:
    if not options:
        parser.error(f"expected one or more of {', '.join(_OPTIONS)}")
    print_text(" ".join(_OPTIONS[option]() for option in options))
