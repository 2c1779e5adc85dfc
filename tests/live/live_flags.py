"""The flags of each program that the tests ask over the live API, and how C defines them."""

from __future__ import annotations

import json
from typing import Any

SECRET = "hunter2-Zm9v"  # noqa: S105 - no output has this text
SECRET_TOO = "correct-horse-1f2e"  # noqa: S105 - as SECRET
MARKUP = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'"
HARD = 'quote " backslash \\ tab \t newline \n DEL \x7f line \u2028 é 日本 \U0001f600 end'

# Arguments of paddle_flags.define(), for C too. `even` and `ordered` are validators.
FLAGS: list[dict[str, Any]] = [
    {
        "name": "level",
        "type": "int32",
        "default": 6,
        "help": "Compression level",
        "min": 1,
        "max": 9,
        "category": "Tuning",
        "aliases": ["lvl"],
        "runtime": True,
    },
    {"name": "check", "type": "bool", "default": False, "runtime": True},
    {"name": "small", "type": "uint32", "default": 7, "runtime": True, "metavar": "COUNT"},
    {"name": "wide", "type": "int64", "default": -(2**63), "runtime": True},
    {"name": "huge", "type": "uint64", "default": 2**64 - 1, "runtime": True},
    {
        "name": "ratio",
        "type": "double",
        "default": 0.1,
        "min": -1.5,
        "max": 1e300,
        "runtime": True,
    },
    {"name": "endless", "type": "double", "default": float("inf"), "runtime": True},
    {"name": "size", "type": "uint64", "default": 65536, "unit": "bytes", "runtime": True},
    {"name": "wait", "type": "double", "default": 0.25, "unit": "seconds", "runtime": True},
    {
        "name": "mode",
        "type": "string",
        "default": "fast",
        "choices": ["fast", "best", "exact"],
        "runtime": True,
    },
    {"name": "text", "type": "string", "default": "", "runtime": True, "help": "Any text"},
    {"name": "names", "items": "string", "default": ["a", "b"], "runtime": True},
    {"name": "numbers", "items": "int32", "default": [1, 2], "runtime": True},
    {"name": "maybe", "type": "int32", "default": None, "optional": True, "runtime": True},
    {"name": "even", "type": "int32", "default": 2, "runtime": True, "even": True},
    {"name": "low", "type": "int32", "default": 1, "runtime": True},
    {"name": "high", "type": "int32", "default": 10, "runtime": True},
    {"name": "danger", "type": "int32", "default": 0, "runtime": True, "unsafe": True},
    {"name": "peril", "type": "bool", "default": False, "runtime": True, "unsafe": True},
    {
        "name": "secret",
        "type": "string",
        "default": SECRET,
        "sensitive": True,
        "runtime": True,
    },
    {"name": "secret_list", "items": "int32", "default": [1], "sensitive": True, "runtime": True},
    {
        "name": "secret_even",
        "type": "int32",
        "default": 2,
        "sensitive": True,
        "runtime": True,
        "even": True,
    },
    {"name": "secret_number", "type": "int32", "default": 1, "sensitive": True, "runtime": True},
    {"name": "early", "type": "int32", "default": 3, "startup_only": True},
    {"name": "fixed", "type": "int32", "default": 4, "read_only": True},
    {"name": "plain", "type": "int32", "default": 5},
    {"name": "opened_a", "type": "int32", "default": 5},
    {"name": "opened_b", "type": "int32", "default": 5, "startup_only": True},
    {"name": "veiled", "type": "bool", "default": True, "hidden": True, "runtime": True},
    {
        "name": "old",
        "type": "int32",
        "default": 1,
        "deprecated": "use 'level'",
        "runtime": True,
    },
    {"name": "gone", "type": "int32", "default": 1, "retired": "nobody needs it"},
    {
        "name": "renamed",
        "type": "int32",
        "default": 1,
        "old_names": ["former"],
        "runtime": True,
    },
    {"name": "try_it", "type": "bool", "default": False, "experimental": True},
    {"name": "space.name", "type": "int32", "default": 1, "runtime": True},
    {
        "name": "markup",
        "type": "string",
        "default": MARKUP,
        "help": MARKUP,
        "category": MARKUP,
        "runtime": True,
    },
    {"name": "hard", "type": "string", "default": HARD, "help": HARD, "runtime": True},
]

SETTABLE = "opened_*"
EVEN = "expected an even number"
ORDERED = "low must be below high"
BY_NAME = {flag["name"]: flag for flag in FLAGS}
MEMBERS = {"bool": "b", "double": "f64", "string": "str", "uint32": "u64", "uint64": "u64"}
TEXTS = ("category", "unit", "deprecated", "retired", "metavar")
NAMES = ("choices", "aliases", "old_names")
MARKS = (
    *("hidden", "read_only", "startup_only", "sensitive", "experimental"),
    *("required", "optional", "multi", "scoped", "runtime", "unsafe", "per_process"),
)


def literal(text: str) -> str:
    """Return a text as a literal of C."""
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in text.encode())
    return '"' + "".join(plain) + '"'


def in_c(value: Any) -> str:
    """Return a value as an expression of C."""
    if isinstance(value, (list, tuple)):
        return literal(",".join(map(str, value)))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return literal(value)
    if value == float("inf"):
        return "__builtin_inf()"
    if isinstance(value, int):
        return "INT64_MIN" if value == -(2**63) else f"{value}{'U' if value >= 2**63 else ''}LL"
    return repr(value)


def definition(flag: dict[str, Any]) -> str:
    """Return the statements of C that define a flag."""
    kind = flag.get("type", "string")
    member = MEMBERS.get(kind, "i64")
    lines = [f"pd_flag_def_init(&def, sizeof def, PD_TYPE_{kind});"]
    lines += [
        f"def.name = {literal(flag['name'])};",
        f"def.help = {literal(flag.get('help', ''))};",
    ]
    lines += [f"def.file = {literal('subject.c')};", "def.line = 1;"]
    if flag["default"] is not None:
        lines.append(f"def.default_value.{member} = {in_c(flag['default'])};")
    lines += [f"def.{m}.{member} = {in_c(flag[m])};" for m in ("min", "max") if m in flag]
    if "items" in flag:
        lines.append(f"def.list = PD_TYPE_{flag['items']};")
    lines += [f"def.{key} = {literal(flag[key])};" for key in TEXTS if key in flag]
    lines += [f"def.{key} = {literal('|'.join(flag[key]))};" for key in NAMES if key in flag]
    lines += [f"def.{key} = true;" for key in MARKS if flag.get(key)]
    if flag.get("even"):
        lines.append("def.validate = is_even;")
    return "\n".join(f"  {line}" for line in (*lines, "add(&def);"))


def c_definitions() -> str:
    """Return a function of C that defines all flags."""
    body = "\n".join(map(definition, FLAGS))
    return f"static void define_flags(void) {{\n  pd_flag_def def;\n{body}\n}}\n"


if __name__ == "__main__":
    print(json.dumps(FLAGS, indent=1))
