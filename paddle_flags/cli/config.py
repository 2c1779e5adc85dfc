"""The command config: print paths and arguments for building plugins and hosts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from paddle_flags._core import paths
from paddle_flags.cli.options import PROGRAM
from paddle_flags.cli.output import print_or_exit

if TYPE_CHECKING:
    from collections.abc import Callable

    from paddle_flags.cli.parser import Parser

# Each option with the function that finds what it prints, and its help.
_OPTIONS: dict[str, tuple[Callable[[], str], str]] = {
    "--cflags": (paths.cflags, "compiler arguments of a plugin or host, quoted for a shell"),
    "--includedir": (paths.get_include, "the directory of pd_flags.h and pd_flags.hpp"),
    "--compatdir": (
        partial(paths.get_include, compat=True),
        "the directory of the compatible gflags/gflags.h and c10/util/Flags.h",
    ),
    "--libs": (paths.libs, "linker arguments of a host, quoted for a shell"),
    "--libdir": (paths.get_library_dir, "the directory of libpd_flags.so and libpd_flags_live.so"),
    "--static": (paths.get_static_library, "the path of libpd_flags.a"),
    "--cmakedir": (paths.get_cmake_dir, "the directory for CMake's paddle_flags_DIR"),
    "--pkgconfigdir": (paths.get_pkgconfig_dir, "the directory for PKG_CONFIG_PATH"),
    "--makefile": (paths.get_makefile, "the path of a makefile to include, for flags in YAML"),
}


def add_to_parser(main_parser: Parser) -> None:
    """Add the command to a command line."""
    summary = "print paths and arguments for building plugins and hosts"
    parser = main_parser.add_command(
        "config",
        summary,
        description=summary[0].upper() + summary[1:] + ", on one line.",
        usage=f"{PROGRAM} config OPTION...",
    )
    for option, (_, about) in _OPTIONS.items():
        parser.add_argument(
            option, dest="options", action="append_const", const=option, help=f"print {about}"
        )
    parser.set_defaults(act=lambda options: _print_values(parser, options.options))


def _print_values(parser: Parser, options: list[str] | None) -> None:
    if not options:
        parser.error(f"expected one or more of {', '.join(_OPTIONS)}")
    print_or_exit(" ".join(_OPTIONS[option][0]() for option in options))
