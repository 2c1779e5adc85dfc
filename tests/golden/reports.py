"""Print a report about flags of every kind; report_* hold what it should be.

`reports.py FORMAT [WIDTH]`. To review a change: python tests/golden/reports.py
text 80 | diff tests/golden/report_80.txt -
"""

from __future__ import annotations

import sys
from typing import Any

import paddle_flags as pf
from paddle_flags._native import ffi, lib

KEEP: list[Any] = []  # what C points to
ALPHA = {"module": "/usr/lib/libalpha.so", "file": "src/alpha.c"}
OWN = {"module": "prog", "file": "src/prog.c"}
MEMBERS = {"double": "f64", "string": "str", "bool": "b"}


def text(value: str) -> Any:
    KEEP.append(ffi.new("char[]", value.encode("utf-8", "surrogateescape")))
    return KEEP[-1]


def define(kind: str, name: str, help: str, /, **attributes: Any) -> Any:
    definition, flag = ffi.new("pd_flag_def *"), ffi.new("pd_flag **")
    lib.pd_flag_def_init(definition, ffi.sizeof("pd_flag_def"), getattr(lib, f"PD_TYPE_{kind}"))
    attributes = {"name": name, "help": help, "line": 1 + len(KEEP), **attributes}
    for key, value in attributes.items():
        wanted = text(value) if isinstance(value, str) else value
        if key in ("default_value", "min", "max"):
            setattr(getattr(definition, key), MEMBERS.get(kind, f"{kind[0]}64"), wanted)
        else:
            setattr(definition, key, wanted)
    assert lib.pd_flag_register(definition, flag, ffi.NULL) == lib.PD_OK
    return pf.FLAGS[name]


def define_all() -> None:
    define("string", "digest", "Which checksum to take of each block.", **ALPHA,
           choices="adler32|blake2b|blake2s|crc32|md5|sha1|sha256|sha512|xxhash",
           default_value="sha256", experimental=True)  # fmt: skip
    define("bool", "alpha_check", "Stop at the first NaN or Inf. This is slow: each result of each"
           " kernel is looked at, on the device where it is, and a report of the first bad one is"
           " written to the log.", **ALPHA)  # fmt: skip
    define("int32", "alpha_level", "Compression level:\n  1 is fast\n  9 is small", **ALPHA,
           aliases="l|lvl|compression", min=1, max=9, default_value=6)  # fmt: skip
    define("string", "alpha_mode", "How to search", **ALPHA, choices="fast|best", aliases="m",
           default_value="fast")  # fmt: skip
    define("uint64", "cache_size", "Memory for blocks that were read", **ALPHA, category="Memory",
           unit="bytes", default_value=64 << 20, min=1024, max=1 << 40)  # fmt: skip
    define("int64", "old_cache", "Memory as it was before", **ALPHA, category="Memory",
           deprecated="it has no effect on SSDs; use --cache_size")  # fmt: skip
    define("double", "timeout", "Give up a request after so long.\n\nZero: never. 日本語のヘルプ"
           "テキストは二桁の幅で数えられます。", **OWN, category="Network", aliases="t",
           unit="seconds", default_value=0.2, min=0.0)  # fmt: skip
    define("string", "token", "What the server knows us by", **OWN, category="Network",
           sensitive=True, required=True, default_value="hunter2")  # fmt: skip
    define("string", "search_path_of_the_loader_of_plugins", "Directories to look in", **OWN,
           list=lib.PD_TYPE_string, default_value="/usr/lib,/usr/local/lib")  # fmt: skip
    define("string", "build_id", "", **OWN, read_only=True, default_value='a "b"\n')
    define("int32", "threads", "Workers; 0: one a core", **OWN, startup_only=True, aliases="j")
    define("bool", "verbose", "Say more", **OWN, aliases="v", runtime=True)
    define("bool", "trace_all", "Nobody should need this", **OWN, hidden=True)
    define("bool", "turbo", "Faster", **OWN, retired="it is always on")
    define("string", "title", "What <stands> above & *below* | `it`.", **OWN, runtime=True,
           unsafe=True)  # fmt: skip


def give_values() -> None:
    define("bool", "given", "", module="libbeta.so", file="src/beta.c")
    for line, (source, place, name, value) in enumerate(
        [
            ("ARGV", "", "alpha_level", "3"),
            ("ENVIRONMENT", "FLAGS_cache_size", "cache_size", "128MiB"),
            ("FILE", "prog.toml", "token", "secret"),
            ("RUNTIME", "main.py", "title", " two words\n$'\udcff"),
            ("ARGV", "", "given", "true"),
            ("LIVE", "pid 4312", "verbose", "true"),
        ]
    ):
        number = 0 if source in ("ENVIRONMENT", "LIVE") else line + 1
        origin = ffi.new("pd_origin *", (getattr(lib, f"PD_SOURCE_{source}"), number, text(place)))
        item = ffi.new("pd_assignment *", (pf.FLAGS[name].handle, text(value)))
        error = ffi.new("pd_error *")
        status = lib.pd_batch_set(item, 1, origin, ffi.NULL, error)
        assert status == lib.PD_OK, ffi.string(error.message)


def report(form: str, width: int) -> Any:
    if form == "flagfile":
        return pf.dump("flagfile", all=True)
    if form == "argv":
        return "\n".join(map(repr, pf.dump("argv")))
    return pf.describe(form, program="/usr/bin/prog", version="1.2", width=width)


define_all()
give_values()
sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
print(report(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 80))
