"""Print what the library says to bad input; messages.txt holds what it should say.

The working directory has the files that `loading` names. To review a change:
python tests/golden/messages.py | diff tests/golden/messages.txt -
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paddle_flags._native import ffi, lib

KEEP: list[Any] = []  # what C points to


def text(value: str | bytes) -> Any:
    data = value.encode() if isinstance(value, str) else value
    KEEP.append(ffi.new("char[]", data))
    return KEEP[-1]


def make(kind: str, name: str | bytes | None, /, **attributes: Any) -> Any:
    definition = ffi.new("pd_flag_def *")
    lib.pd_flag_def_init(definition, ffi.sizeof("pd_flag_def"), getattr(lib, f"PD_TYPE_{kind}"))
    definition.name = ffi.NULL if name is None else text(name)
    member = {"double": "f64", "string": "str", "bool": "b"}.get(kind, f"{kind[0]}64")
    for key, value in attributes.items():
        if key in ("default_value", "min", "max"):
            kept = text(value) if isinstance(value, str) else value
            setattr(getattr(definition, key), member, kept)
        else:
            setattr(definition, key, text(value) if isinstance(value, str) else value)
    return definition


def define(kind: str, name: str | bytes | None, /, **attributes: Any) -> Any:
    flag, error = ffi.new("pd_flag **"), ffi.new("pd_error *")
    status = lib.pd_flag_register(make(kind, name, **attributes), flag, error)
    if status != lib.PD_OK:
        show(error)
    return flag[0]


def show(error: Any) -> None:
    name = ffi.string(lib.pd_status_name(error.status)).decode()
    print(f"    {name}: {ffi.string(error.message).decode()}")


def definitions() -> None:
    cases: list[tuple[str, str | bytes | None, dict[str, Any]]] = [
        ("bool", None, {}),
        ("bool", "", {}),
        ("bool", "9lives", {}),
        ("bool", "two words", {}),
        ("bool", b"caf\xc3\xa9", {}),
        ("bool", b"\xff", {}),
        ("bool", "n" * 256, {}),
        ("bool", "b", {"aliases": "good|not good"}),
        ("bool", "b", {"type": 0}),
        ("bool", "b", {"kind": 7}),
        ("bool", "b", {"size": 3}),
        ("int32", "n", {"min": 5, "max": 4, "file": "a.c", "line": 3}),
        ("int32", "n", {"max": 2**40, "file": "a.c"}),
        ("double", "n", {"max": float("nan")}),
        ("int32", "n", {"min": 1}),
        ("uint32", "n", {"min": 1, "max": 9}),
        ("double", "n", {"max": -0.5}),
        ("string", "s", {"default_value": ffi.NULL}),
        ("string", "s", {"choices": "fast|best"}),
        ("int64", "n", {"choices": "0|ten"}),
        ("int32", "port", {"file": "src/alpha.c", "line": 3, "module": "libalpha.so"}),
        ("bool", "port", {"file": "src/beta.c", "line": 9, "module": "libbeta.so"}),
        ("bool", "port", {}),
        ("bool", "other", {"aliases": "port"}),
        ("int32", "level", {"aliases": "lvl"}),
        ("bool", "lvl", {}),
        ("bool", "other", {"aliases": "lvl", "file": "src/beta.c", "line": 9}),
        ("bool", "twice", {"aliases": "twice"}),
        ("int32", "port", {"file": "src/alpha.c", "line": 3, "default_value": 9, "max": 9}),
        ("int32", "port", {"file": "src/alpha.c", "help": "Port", "aliases": "p", "choices": "0"}),
        ("bool", "help", {}),
        ("bool", "noport", {}),
        ("bool", "cache", {"file": "src/alpha.c", "line": 5}),
        ("string", "no_cache", {"file": "src/alpha.c", "line": 6}),
        ("bool", "b", {"old_names": "bad name"}),
        ("bool", "b", {"old_names": "help"}),
        ("bool", "b", {"aliases": "c", "old_names": "c"}),
        ("bool", "other", {"old_names": "lvl", "file": "src/beta.c", "line": 9}),
        ("int32", "items", {"list": lib.PD_TYPE_int32}),
        ("string", "items", {"list": 9}),
        ("string", "items", {"list": lib.PD_TYPE_int32, "default_value": "1,x"}),
        ("string", "items", {"list": lib.PD_TYPE_int32, "choices": "1|x"}),
        (
            "string",
            "items",
            {"list": lib.PD_TYPE_int32, "choices": "1|2", "default_value": "1,3"},
        ),
        ("string", "items", {"list": lib.PD_TYPE_string, "default_value": 'a,"b'}),
        ("int64", "size", {"unit": "kilobytes"}),
        ("bool", "size", {"unit": "bytes"}),
        ("string", "size", {"unit": "seconds", "list": lib.PD_TYPE_int32}),
        ("int64", "size", {"unit": "bytes", "choices": "1KiB|2k"}),
        ("int64", "size", {"unit": "bytes", "min": 1}),
        ("bool", "needed", {"required": True, "retired": "Not used since 2.0"}),
        ("bool", "needed", {"required": True, "read_only": True}),
        ("bool", "fixed", {"runtime": True, "read_only": True}),
        ("bool", "fixed", {"runtime": True, "startup_only": True}),
        ("bool", "fixed", {"runtime": True, "retired": "Not used since 2.0"}),
        ("int64", "wait", {"file": "w.c", "unit": "seconds", "old_names": "delay"}),
        ("int64", "wait", {"file": "w.c", "sensitive": True, "retired": "Never read"}),
        ("string", "keys", {"file": "k.c", "list": lib.PD_TYPE_string, "sensitive": True}),
        ("string", "keys", {"file": "k.c"}),
        ("string", "keys", {"file": "k.c", "list": lib.PD_TYPE_string, "default_value": "a"}),
        ("string", "pin", {"sensitive": True, "choices": "1|2", "default_value": "1234"}),
        ("int64", "size", {"unit": ""}),
        ("bool", "gone", {"retired": ""}),
        ("bool", "gone", {"deprecated": ""}),
        ("string", "flagfile", {}),
        ("bool", "other", {"aliases": "fromenv"}),
        ("string", "tryfromenv", {}),
    ]
    for kind, name, attributes in cases:
        print(
            f"{kind} {name!r} {attributes or ''}".rstrip().replace("<cdata 'void *' NULL>", "NULL")
        )
        define(kind, name, **attributes)


def values() -> None:
    flags = {
        "bool": define("bool", "verbose"),
        "int32": define("int32", "batch_size", min=1, max=4096, default_value=32),
        "uint32": define("uint32", "workers"),
        "int64": define("int64", "offset", min=0),
        "uint64": define("uint64", "limit", max=100),
        "double": define("double", "ratio", min=0, max=1),
        "free": define("double", "free"),
        "above": define("double", "above", min=0),
        "string": define("string", "mode", choices="|fast|best"),
        "fixed": define("int32", "fixed", read_only=True),
        "frozen": define("int32", "frozen"),
        "memory": define("uint32", "memory", unit="bytes"),
        "buffer": define("int64", "buffer", unit="bytes", min=4096, max=65536, default_value=4096),
        "delay": define("double", "pause", unit="seconds", min=0, max=60),
        "sizes": define("string", "sizes", list=lib.PD_TYPE_uint32, default_value=""),
        "secret": define("int32", "secret", sensitive=True, max=9),
        "tags": define("string", "tags", list=lib.PD_TYPE_string, choices="a|b"),
        "words": define("string", "words", list=lib.PD_TYPE_string),
    }
    lib.pd_flag_freeze(flags["frozen"], ffi.NULL)
    cases = {
        "bool": [b"", b"2", b"maybe", b" yes"],
        "int32": [b"0", b"4097", b"3.9", b"12abc", b"", b" 5", b"1e3", b"99999999999999999999"],
        "uint32": [b"-5", b"4294967296", b"x"],
        "int64": [b"-1", b"9223372036854775808"],
        "uint64": [b"101", b"-1"],
        "double": [b"1,5", b"1.01", b"nan", b"1e999", b"half"],
        "free": [b"1e999", b"1e-999"],
        "above": [b"1e999", b"-1"],
        "string": [b"slow", b"a\nb\xff", b"x" * 200],
        "fixed": [b"1"],
        "frozen": [b"1"],
        "memory": [b"64M", b"1.3KiB", b"15.99EiB", b"1.5", b"4GiB", b"-1B"],
        "buffer": [b"64M", b"1k", b"1MiB"],
        "delay": [b"soon", b"1h", b"2s1m"],
        "sizes": [b"1,x", b"1,", b"1,2,4294967296", b'"1'],
        "secret": [b"1234", b"abcd"],
        "tags": [b"a,c", b'a,b"'],
        "words": [b'a"b', b'"a,b"c'],
    }
    for kind, texts in cases.items():
        for bad in texts:
            error = ffi.new("pd_error *")
            print(f"{kind} {bad!r}")
            assert lib.pd_flag_set_from_string(flags[kind], text(bad), error) != lib.PD_OK
            show(error)


FLAGFILE = rb"""# of values, then of lines
--batch_size=0
--batchsize=5
--batch_size
--nobatch_size
--unknown
-x=5
--batch_size 5
--verbose = yes
batch_size=5
--mode=$'fast
--mode=$'fast' # quick
--mode=$'\q'
--mode=$'\0'
--
---verbose
--=5
--flagfile
--flagfile=missing.conf,directory
--fromenv=batch_size
--fromenv=batchsize
verbose
batch_size 5
; a comment
// another
[server]
other-program
--unknown for another program
"""


def command_lines() -> None:
    lines = [
        ["--batch_size=0"],
        ["--batch_size"],
        ["--batch_size", "--verbose"],
        ["--batch_size", "--"],
        ["--mode=slow"],
        ["--mode", "-fast"],
        ["--verbose=maybe"],
        ["--noverbose=yes"],
        ["--nobatch_size"],
        ["--batchsize=5"],
        ["--verbos"],
        ["--no-verbos"],
        ["--VERBOSE"],
        ["--verb"],
        ["--no-batch-size"],
        ["--help=verbose"],
        ["--entirely-unknown=1"],
        ["-x"],
        ["-5"],
        ["---verbose"],
        ["--=5"],
        ["--fixed=1"],
        ["--frozen=1"],
        ["--help"],
        ["--ratio=2", "--limit=x", "--unknown"],
        ["--version=maybe"],
        ["--nohelp=yes"],
        ["--helpon"],
        ["--fromenv"],
        ["--fromenv=a,,b"],
        ["--tryfromenv=--verbose"],
        ["--fromenv=batch_size"],
        ["--tryfromenv=unknown"],
        ["--fromenv=batchsize"],
        ["--undefok=other", "--unknown"],
        ["--undefok=foo,,bar", "--foo"],
        ["--hlep"],
        ["--flagfle=x"],
        ["--flagfile=missing.conf"],
        ["--flagfile=directory"],
        ["--flagfile=wrong.conf"],
        ["--flagfile=circle.conf"],
        ["--flagfile=binary.conf"],
    ]
    Path("wrong.conf").write_bytes(FLAGFILE)
    Path("circle.conf").write_bytes(b"--flagfile=circle.conf\n")
    Path("binary.conf").write_bytes(b"\n--mode=fast\0\n")
    for line in lines:
        words = [text(word) for word in ["program", *line]]
        argc, argv = ffi.new("int *", len(words)), ffi.new("char *[]", [*words, ffi.NULL])
        options, error = ffi.new("pd_parse_options *"), ffi.new("pd_error *")
        errors = lib.pd_error_list_new()
        options.size, options.errors = ffi.sizeof("pd_parse_options"), errors
        print(" ".join(line))
        assert lib.pd_parse_argv(argc, argv, options, error) != lib.PD_OK
        if error.status == lib.PD_HELP:
            show(error)
        for index in range(lib.pd_error_list_count(errors)):
            show(lib.pd_error_list_at(errors, index))
        lib.pd_error_list_free(errors)


def lookups() -> None:
    for name in ["batch-sise", "verb", "", "n" * 300, "a\nb"]:
        flag, error = ffi.new("pd_flag **"), ffi.new("pd_error *")
        print(repr(name))
        assert lib.pd_flag_find(text(name), flag, error) == lib.PD_ERR_UNDEFINED
        show(error)


def loading() -> None:
    for path in ["", "missing.so", "directory", "text.so", "short.so", "machine.so", "nobody.so"]:
        error = ffi.new("pd_error *")
        print(repr(path))
        assert lib.pd_module_load(text(path), ffi.NULL, ffi.NULL, error) != lib.PD_OK
        show(error)


def sized(kind: str) -> Any:
    return ffi.new(f"{kind} *", {"size": ffi.sizeof(kind)})


def wrong_calls() -> None:
    """What a program, and no user, does wrong."""
    null = ffi.NULL
    flag = define("int32", "called")
    newer = ffi.new("char[]", 2 * ffi.sizeof("pd_parse_options"))
    options = ffi.cast("pd_parse_options *", newer)
    options.size = len(newer)
    newer[len(newer) - 1] = b"x"
    late = ffi.new("pd_origin *", (lib.PD_SOURCE_OVERRIDE, 0, null, 0))
    flags = ffi.new("pd_flag *[]", [flag])
    cases = {
        "cell": lambda e: lib.pd_flag_get_cell(flag, 7, sized("pd_cell_info"), e),
        "entry": lambda e: lib.pd_flag_get_entry(flag, 7, sized("pd_flag_entry"), e),
        "pending": lambda e: lib.pd_pending_get(70, sized("pd_pending_info"), e),
        "copy": lambda e: lib.pd_copy_get_info(7, sized("pd_copy_info"), e),
        "override": lambda e: lib.pd_override_pop(7, e),
        "hook": lambda e: lib.pd_hook_remove(70000, e),
        "group": lambda e: lib.pd_group_add(7, flags, 1, null, e),
        "no flags": lambda e: lib.pd_group_add(0, flags, 0, null, e),
        "type": lambda e: lib.pd_flag_set_bool(flag, True, e),
        "origin": lambda e: lib.pd_batch_set(null, 0, late, null, e),
        "prefix": lambda e: lib.pd_environment_enable(text("A="), null, e),
        "namespace": lambda e: lib.pd_module_load_as(text("x.so"), text("9"), null, null, e),
        "newer options": lambda e: lib.pd_parse_argv(
            ffi.new("int *"), ffi.new("char *[1]"), options, e
        ),
        "list index": lambda e: lib.pd_list_get(text("a"), 7, null, 0, null, e),
        "no list": lambda e: lib.pd_list_get(text('"a'), 0, null, 0, null, e),
        "null": lambda e: lib.pd_flag_find(null, null, e),
    }
    for name, call in cases.items():
        error = ffi.new("pd_error *")
        print(name)
        assert call(error) != lib.PD_OK
        show(error)


for part in (definitions, values, command_lines, lookups, loading, wrong_calls):
    print(f"\n# {part.__name__.replace('_', ' ').capitalize()}\n")
    part()
