"""The configuration files of a command line: from their paths to the library's pd_config."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from paddle_flags import errors
from paddle_flags._core.pending_values import unquoted
from paddle_flags._core.status import (
    ErrorList,
    call_checked,
    encode_env_prefix,
    new_error,
    quote_value,
    to_argument,
    to_bytes,
    to_text,
)
from paddle_flags._input import files
from paddle_flags._input.dicts import has_numeric_type, is_defined, join_dict_tables
from paddle_flags._input.reading import Reading
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paddle_flags._input.environment import EnvironmentOptions
    from paddle_flags._input.reading import FileValue, Place

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

# How a file wrote a value, as pd_config_add wants it.
_LITERALS = {
    "text": 0,
    "integer": lib.PD_TYPE_int64,
    "number": lib.PD_TYPE_double,
    "bool": lib.PD_TYPE_bool,
    "date": lib.PD_LITERAL_DATE,
}


# FILE#TABLE, where FILE has a format with tables.
_WITH_TABLE = re.compile(r"(.*\.(?:toml|ya?ml|json))#(.+)", re.IGNORECASE | re.DOTALL)


class _FileArgument(NamedTuple):
    """A file to read."""

    given: str  # for messages
    path: str
    """Absolute: the program may change its directory before it reads the file again."""
    table: tuple[str, ...]  # of which the values are; empty: the whole file
    optional: bool  # it may be missing


class ConfigFiles:
    """The configuration files of one `parse`, which `reload` reads again."""

    def __init__(
        self,
        config: Path | Sequence[Path],
        named: Sequence[str],  # by the user
        program: str,
        *,
        allow_pending: bool,
        environment: EnvironmentOptions,
        resolve_flag_in_file: Callable[[str], str | None] | None = None,
    ) -> None:
        self.program = program
        self.allow_pending = allow_pending
        self._environment = environment
        self._flag_in_file = resolve_flag_in_file or str  # a subclass of str is text too
        self._files = [*_parse_files(config), *map(_split_file_argument, named)]

    def load_config(self) -> Any:
        """Read the files; return a `pd_config *` with their values and errors."""
        config = new_config()
        self._set_environment_options(config)
        for file in self._files:
            if not file.given:
                add_error(config, "a configuration file has an empty name, expected a path")
            elif file.optional and not os.path.lexists(file.path):
                continue
            elif files.suffix_of(file.path) in files.FLAGFILES:
                self._read_flagfile(config, file)
            else:
                self._read_file(config, file)
        return config

    def _set_environment_options(self, config: Any) -> None:
        how = self._environment
        prefix = how.get("env_prefix")
        text = ffi.NULL if prefix is None else encode_env_prefix("env_prefix", prefix)
        switches = how.get("env_ignore_empty", False), how.get("env_files", False)
        call_checked(lib.pd_config_set_environment, config, text, *switches)

    def _read_file(self, config: Any, file: _FileArgument) -> None:
        reading = files.read_config_file(
            file.path, Reading(file.given, file.table, self._environment.get("env_prefix"))
        )
        if not (file.optional or reading.has_table or reading.problems):
            add_error(config, f"{reading.path}: has no table {'.'.join(file.table)}")
        place = ffi.new("char[]", to_bytes(reading.path))
        origin = ffi.new("pd_origin *", {"source": lib.PD_SOURCE_FILE, "place": place})

        def add_value_error(at: Place, why: str) -> None:
            add_error(config, f"{reading.path}:{at.line}:{at.column}: {why}", lib.PD_ERR_VALUE)

        for value in join_dict_tables(self._values_by_flag_name(reading, config), add_value_error):
            _add_value(config, value, origin)
        for problem in reading.problems:
            add_error(config, problem)

    def _values_by_flag_name(self, reading: Reading, config: Any) -> list[FileValue]:
        """Return the values by the names of their flags; those of inner tables come last."""
        found: list[tuple[int, FileValue]] = []
        for value in reading.values:
            try:
                name = self._flag_in_file(value.name)
            except errors.UndefinedFlagError as error:
                at = value.key or value.at
                place = f"{reading.path}:{at.line}:{at.column}"
                add_error(config, f"{place}: {error}", lib.PD_ERR_UNDEFINED)
                continue
            if name is not None:
                depth = value.name.count(".") - name.count(".")
                found.append((depth, value._replace(name=name)))
        return [value for _, value in sorted(found, key=lambda each: each[0])]

    def _read_flagfile(self, config: Any, file: _FileArgument) -> None:
        path = file.given if os.path.abspath(file.given) == file.path else file.path
        if not os.path.lexists(file.path):
            add_error(config, f"{path}: no such file{files.suggest_file(file.path, path)}")
            return
        found = ErrorList()
        err = new_error()
        status = lib.pd_config_add_flagfile(
            config, to_bytes(path), to_bytes(self.program), found.pointer, err
        )
        if status == lib.PD_OK:
            return
        count = lib.pd_error_list_count(found.pointer)
        for error in [lib.pd_error_list_at(found.pointer, i) for i in range(count)] or [err]:
            call_checked(lib.pd_config_fail, config, error)


_last: ConfigFiles | None = None


def get_last_config_files() -> ConfigFiles | None:
    """Return the files of the last command line that had any."""
    return _last


def remember_files(files: ConfigFiles | None) -> None:
    """Let `reload` read these files."""
    global _last  # one command line, one process
    _last = files


def new_config() -> Any:
    """Return a `pd_config *` without values."""
    made = ffi.new("pd_config **")
    call_checked(lib.pd_config_new, lib.PD_SOURCE_FILE, made)
    return ffi.gc(made[0], lib.pd_config_free)


def add_error(config: Any, problem: str, status: int = lib.PD_ERR_FILE) -> None:
    """Add an error to a `pd_config *`, which is refused then."""
    error = new_error()
    error.status = status
    error.message = to_bytes(problem)[: ffi.sizeof(error.message) - 1]
    call_checked(lib.pd_config_fail, config, error)


def _add_value(config: Any, value: FileValue, origin: Any) -> None:
    name = to_bytes(value.name)
    origin.line, origin.column = _choose_error_position(value)
    literal = _LITERALS[value.kind]
    if (value.rewritten or value.kind == "bool") and not is_defined(value.name):
        place = to_text(origin.place)
        unquoted.add((value.name, place, origin.line, origin.column))
    if value.is_list:
        literal = lib.PD_TYPE_string + 16 * literal
    if value.rewritten and not has_numeric_type(value.name):
        literal += lib.PD_LITERAL_REWRITTEN
    call_checked(lib.pd_config_add, config, name, to_bytes(value.text), literal, origin)


def _choose_error_position(value: FileValue) -> Place:
    """Return the place of the value, or of its key if there is no such flag."""
    return value.at if is_defined(value.name) else value.key or value.at


def _parse_files(config: Path | Sequence[Path]) -> list[_FileArgument]:
    every = [config] if isinstance(config, (str, bytes, os.PathLike)) else config
    expected = "expected the path of a file, or a list of paths"
    if isinstance(config, Mapping):
        raise errors.FlagTypeError(
            f"config is {quote_value(config)}: {expected}, not values; set those by FLAGS.update"
        )
    try:
        found = [_split_file_argument(path) for path in every]
    except TypeError:
        raise errors.FlagTypeError(f"config is {quote_value(config)}: {expected}") from None
    for file in found:
        to_argument("config", file.given)
        if not file.given:
            raise errors.FlagArgumentError(f"config has an empty path: {expected}")
    return found


def _split_file_argument(path: Path) -> _FileArgument:
    """Split text as [?]FILE[#TABLE]; bytes and path objects are the file alone."""
    name = os.fsdecode(path)
    table: tuple[str, ...] = ()
    optional = isinstance(path, str) and name.startswith("?")
    name = name[optional:]
    split = _WITH_TABLE.fullmatch(name) if isinstance(path, str) else None
    if split:
        name, table = split[1], tuple(split[2].split("."))
    return _FileArgument(name, os.path.abspath(name), table, optional)
