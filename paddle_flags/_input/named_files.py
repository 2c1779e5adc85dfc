"""The configuration files of a command line: those of the program and those that the user names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags import errors
from paddle_flags._core import lists
from paddle_flags._core.define import define
from paddle_flags._core.registry import FLAGS
from paddle_flags._core.status import quote_value
from paddle_flags._input.config import ConfigFiles, add_error, new_config
from paddle_flags._input.options import ParseOptions
from paddle_flags._input.preview import preview_line
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from paddle_flags._core.flag import Flag

_HELP = "Read flags from these files, of which later ones win; ?FILE may be missing"


def find_or_define_config_flag(options: ParseOptions) -> Flag[Any]:
    """Return the flag that names files; define it if the program has not."""
    return find_or_define_naming_flag("config_flag", options.config_flag or "", _HELP)


def find_or_define_naming_flag(parameter: str, name: str, about: str) -> Flag[Any]:
    """Return the flag of a parameter of `parse` by which users name files or modules."""
    flag: Flag[Any] = (
        FLAGS[name] if name in FLAGS else define(name, (), about, items=str, multi=True)
    )
    why = ""
    type_ = flag._type
    is_table = type_ is not None and type_.takes_tables
    if flag.type != "string" or flag.items not in (None, "string") or is_table:
        why = "expected a flag for text or for a list of texts"
    elif flag.sensitive:
        why = "is sensitive, and messages name what it has"
    if why:
        raise errors.FlagArgumentError(f"{parameter}: {quote_value(name)}: {why}")
    return flag


def find_config_files(tokens: list[str], options: ParseOptions) -> ConfigFiles | None:
    """Return the files, those that the user names last; None if the program has none."""
    named: list[str] = []
    if options.config_flag is not None:
        named = preview_flag_texts(find_or_define_config_flag(options), tokens, options)
    elif options.config is None:
        return None
    return ConfigFiles(
        () if options.config is None else options.config,
        named,
        tokens[0] if tokens else "",
        allow_pending=options.allow_pending,
        environment={
            "env_prefix": options.env_prefix,
            "env_ignore_empty": options.env_ignore_empty,
            "env_files": options.env_files,
        },
        resolve_flag_in_file=options.resolve_flag_in_file,
    )


def preview_flag_texts(
    flag: Flag[Any], tokens: list[str], options: ParseOptions, config: Any = ffi.NULL
) -> list[str]:
    """Return what a flag will have once the line is parsed."""
    text = preview_line(tokens, options, flag=flag, config=config).text
    if text is None:  # nothing new: what the flag has
        text = flag.text
    return list(lists.parse_list(str, text)) if flag.items else [text][: len(text)]


def read_files_into_config(files: ConfigFiles | None, options: ParseOptions) -> Any:
    """Return a `pd_config *` with what the files have, and with the errors of the program."""
    config = files.load_config() if files else new_config()
    if options.config_flag is not None:
        flag = find_or_define_config_flag(options)
        found = preview_line([""], ParseOptions(), flag=flag, config=config)
        if found.text is not None:
            why = "a configuration file cannot name others"
            add_error(config, f"{found.place}: --{flag.name}: {why}")
    for problem in options.problems:
        add_error(config, problem, lib.PD_ERR_ARGV)
    return config
