"""Flagfiles beside what they are like: fnmatch, bash, and the rights of processes."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packages import library_object
from support import CC, IS_ROOT, ROOT, SANITIZE, build, missing, run, tool

import paddle_flags as pf
from paddle_flags._native import ffi, lib

FNM_PATHNAME = 1
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
AGAIN = settings(max_examples=200, suppress_health_check=SLOW)


def set_by(flagfile: Path, name: str, program: str) -> str:
    """Give the value of a flag after the file was applied."""
    holder = ffi.new("pd_config **")
    error = ffi.new("pd_error *")
    assert lib.pd_config_new(lib.PD_SOURCE_FILE, holder, error) == lib.PD_OK
    made = holder[0]
    path = str(flagfile).encode()
    status = lib.pd_config_add_flagfile(made, path, program.encode(), ffi.NULL, error)
    if status == lib.PD_OK:
        status = lib.pd_config_apply(made, False, ffi.NULL, error)
    lib.pd_config_free(made)
    assert status == lib.PD_OK, ffi.string(error.message)
    return pf.FLAGS[name].value


@pytest.fixture
def flag(name: str) -> str:
    pf.define(name, "nothing", "A text")
    return name


# A slash in brackets, or behind a backslash, is read otherwise by every fnmatch.
patterns = st.text(alphabet="ab/*?[]!-\\", min_size=1, max_size=8).filter(
    lambda text: "\\/" not in text and "[" not in text.partition("/")[0] + text.partition("/")[2]
) | st.text(alphabet="ab*?[]!-\\", min_size=1, max_size=8)


@pytest.mark.extended  # takes a second or more
@AGAIN
@given(pattern=patterns, program=st.text(alphabet="ab-]", min_size=1, max_size=5))
def test_patterns_are_those_of_fnmatch(flag, tmp_path, pattern, program):
    fnmatch = ctypes.CDLL(None).fnmatch
    file = tmp_path / "flags"
    file.write_text(f"*\n--{flag}=no\nx/{pattern}\n--{flag}=yes\n")
    like = fnmatch(f"x/{pattern}".encode(), f"x/{program}".encode(), FNM_PATHNAME) == 0
    assert set_by(file, flag, f"x/{program}") == ("yes" if like else "no")


def test_no_pattern_needs_time_that_doubles_with_each_star(flag, tmp_path):
    file = tmp_path / "flags"
    file.write_text(f"*\n--{flag}=no\n{'*a' * 200}b\n--{flag}=yes\n")
    assert set_by(file, flag, "a" * 2000) == "no"


pieces = st.sampled_from(["\\n", "\\t", "\\r", "\\\\", "\\'", "\\x41", "\\x7", "\\101", "\\7"])
texts = st.lists(pieces | st.text(alphabet='ab 18fx$#="é', max_size=3), max_size=8)


@pytest.mark.extended  # takes a second or more
@AGAIN
@given(parts=texts)
def test_quoted_values_are_those_of_bash(flag, tmp_path, parts):
    quoted = f"$'{''.join(parts)}'"
    words = [tool("bash"), "-c", f"printf %s {quoted}"]
    ended = subprocess.run(words, capture_output=True, check=True)
    file = tmp_path / "flags"
    file.write_text(f"--{flag}={quoted}\n", "utf-8")
    assert set_by(file, flag, "program") == ended.stdout.decode("utf-8", "surrogateescape")


def test_a_setuid_process_takes_nothing_from_the_environment(tmp_path_factory, tmp_path):
    if not IS_ROOT:
        missing("the right to change owners", "run as root")
    if SANITIZE:
        return  # the runtime refuses such processes
    program = build(
        tmp_path / "program",
        ROOT / "tests" / "c" / "bad_input.c",
        library_object(tmp_path_factory, CC),
        flags=("-std=gnu11", "-pthread", "-ldl"),
    )
    owned = Path(shutil.copy(program, tmp_path / "owned"))
    os.chown(owned, 65534, 65534)
    owned.chmod(0o4755)
    variables = {**os.environ, "FLAGS_count": "5"}
    assert "count=5" in run(program, "words", "--fromenv=count", env=variables).stdout
    told = run(owned, "words", "--fromenv=count", env=variables).stdout
    assert told.startswith("PD_ERR_ARGV: --fromenv: the environment has no FLAGS_count\ncount=0\n")
