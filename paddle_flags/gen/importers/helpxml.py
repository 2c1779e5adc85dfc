"""Flags of a program with --helpxml: gflags programs, and our own."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from paddle_flags.errors import FlagFileError
from paddle_flags.gen.importers import NO_HELP, Found
from paddle_flags.gen.importers.texts import parse_scalar_text
from paddle_flags.gen.model import TYPES, Flag, FlagSet, Place
from paddle_flags.gen.problems import GenerateError, format_alternatives, quote_for_message, suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = 30  # that a program may take to print its help
REDACTED = "<redacted>"
# The files of gflags that define what every program has: --help, --flagfile, ...
_OF_GFLAGS = re.compile(r"(.*/)?gflags(_reporting|_completions)?\.cc")


def import_program(words: Sequence[str], name: str | None, version: str) -> Found:
    """Run a program with --helpxml and return its flags; raises FlagError if it prints none."""
    output, errors = _run_program([*words, "--helpxml"])
    start = output.find(b"<AllFlags>")
    if start < 0:
        last = errors.decode(errors="replace").strip().splitlines()[-1:]
        more = f"; it printed: {last[0]}" if last else ""
        message = f"{words[0]}: --helpxml: found no <AllFlags>, expected flags as XML{more}"
        raise GenerateError(message)
    return from_xml(output[start:], words[0], name, version)


def _run_program(command: Sequence[str]) -> tuple[bytes, bytes]:
    """Return the output of a program, by way of files: a child may keep a pipe open forever."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            message = f"{command[0]}: --helpxml: found no end within {SECONDS} seconds"
            raise GenerateError(f"{message}, expected one") from error
        except OSError as error:
            raise FlagFileError(f"{command[0]}: {os.strerror(error.errno or 0)}") from error
        output.seek(0)
        errors.seek(0)
        return output.read(), errors.read()


def import_file(path: str, name: str | None, version: str) -> Found:
    """Return the flags of a file that holds the output of --helpxml."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise FlagFileError(f"{path}: {os.strerror(error.errno or 0)}") from error
    return from_xml(data, path, name, version)


def from_xml(data: bytes, where: str, name: str | None, version: str) -> Found:
    """Return the flags of XML."""
    if b"<!DOCTYPE" in data:
        raise GenerateError(f"{where}:1:1: found a document type, expected none")
    try:
        root = ET.fromstring(data)  # noqa: S314 - as above
    except ET.ParseError as error:
        line, column = error.position
        message = f"{where}:{line}:{column + 1}: found {error.msg}, expected the XML of --helpxml"
        raise GenerateError(message) from error
    if root.tag != "AllFlags":
        raise GenerateError(f"{where}:1:1: found <{root.tag}>, expected <AllFlags>")
    program = root.findtext("program") or where
    stem = re.sub(r"\W", "_", os.path.basename(program).partition(".")[0])
    found = Found(FlagSet(name or stem, version, at={"": Place(where, 1, 1)}))
    for element in root.iter("flag"):
        fields = {each.tag: each.text or "" for each in element}
        if not _OF_GFLAGS.fullmatch(fields.get("file", "")):
            _import_flag(fields, where, found)
    return found


def _import_flag(fields: dict[str, str], where: str, found: Found) -> None:
    place = Place(fields.get("file") or where, 1, 1)
    name, kind, default = (fields.get(key, "") for key in ("name", "type", "default"))
    if kind not in TYPES:
        hint = suggest(kind, TYPES)
        found.report_left_out(
            place, f"{name}: type", quote_for_message(kind), format_alternatives(TYPES) + hint
        )
        return
    if default == REDACTED:
        found.report_left_out(place, f"{name}: default", "a hidden value", "a visible value")
        return
    meaning = fields.get("meaning", "").strip()
    if not meaning:
        found.report_loss(place, f"{name}: help", "none", f"some; '{NO_HELP}' is written")
    value: Any = parse_scalar_text(default, kind)
    text = meaning or NO_HELP
    flag = Flag(name, kind, None, value, text, None, None, [], None, "", [], "", "", {"": place})
    found.flags.flags.append(flag)
