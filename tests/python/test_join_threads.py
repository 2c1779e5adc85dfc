"""Plugins come and go on some threads while others set, read and list flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from joining import LEVEL, Maker
from packages import library_object
from support import INCLUDE, ROOT, SANITIZE, build_program, run, tool

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = ROOT / "tests" / "c" / "join_threads.c"


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    return Maker(tmp_path_factory.mktemp("threads"))


@pytest.fixture(scope="module")
def plugins(maker: Maker) -> list[Path]:
    """Build three plugins of the same flags."""
    return [Maker(maker.directory / side).plugin("level", LEVEL) for side in "abc"]


def test_loading_and_setting_at_once_neither_locks_up_nor_crashes(
    maker: Maker, plugins: list[Path]
) -> None:
    options = ("-Wno-pedantic", "-pthread")
    program = build_program(maker.directory / "threads", SOURCE, flags=options)
    assert run(program, 300, *plugins).stdout == "done\n"


@pytest.mark.extended
@pytest.mark.skipif(bool(SANITIZE), reason="one sanitizer at a time")
def test_loading_and_setting_at_once_is_no_race(
    maker: Maker, plugins: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = maker.directory / "tsan"
    library = library_object(tmp_path_factory, ["gcc"], "-fsanitize=thread")
    options = ["-std=gnu11", "-g", "-O1", "-fsanitize=thread", f"-I{INCLUDE}", "-pthread"]
    run("gcc", *options, SOURCE, library, "-o", program, "-ldl")
    ended = run(program, 40, *plugins, check=False)
    if "unexpected memory mapping" in ended.stderr:  # more random addresses than it bears
        ended = run(tool("setarch", "util-linux"), "-R", program, 40, *plugins, check=False)
    assert ended.stdout + ended.stderr == "done\n"
