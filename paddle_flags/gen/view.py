"""What templates see: the normal form, joined and written as C and Python."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paddle_flags.extend import C_TYPES, ffi
from paddle_flags.gen.model import FLOATING, INTEGERS, MEMBERS, Flag, FlagSet, to_data
from paddle_flags.gen.values import format_flag_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags.gen.model import Change, Implication, Retired

# By the member of pd_value that a type uses.
_PYTHON = {"b": bool, "i64": int, "u64": int, "f64": float, "str": str}
_JSON = {"b": "boolean", "i64": "integer", "u64": "integer", "f64": "number", "str": "string"}
# What may follow a number, by unit.
_SUFFIXES = {
    "bytes": "B|KB|kB|MB|GB|TB|PB|EB|KiB|MiB|GiB|TiB|PiB|EiB",
    "seconds": "d|h|min|m|s|ms|ns|us|\N{MICRO SIGN}s|\N{GREEK SMALL LETTER MU}s",
}
# These don't affect programs: a new help text is not a new schema.
_WORDS = ("help", "category", "owner", "since", "reason", "versions", "version")
_FIELDS = [name for name, _ in ffi.typeof("pd_flag_def").fields]
HASH_DIGITS = 16  # in the name of the flag that holds the hash


@dataclass
class View:
    """A flag with everything that the three files say about it."""

    set_name: str
    flag: Flag
    aliases: list[str] = field(default_factory=list)
    old_names: list[str] = field(default_factory=list)
    deprecated: str | None = None  # why, and what to use instead
    retired: str | None = None
    deprecated_in: str = ""
    implies: list[Implication] = field(default_factory=list)
    changes: list[tuple[str, Change]] = field(default_factory=list)  # with their versions

    @property
    def name(self) -> str:
        """The name."""
        return self.flag.name

    @property
    def default(self) -> str:
        """The default as a command line takes it."""
        return format_flag_argument(self.flag.default)

    @property
    def c_type(self) -> str:
        """The type of FLAGS_<name> in C++."""
        return c_type(self.flag.type)

    @property
    def scoped(self) -> bool:
        """Whether the flag may have values of one thread."""
        return "scoped" in self.flag.attributes

    @property
    def c_macro_suffix(self) -> str:
        """What follows PD_DEFINE_ and PD_DECLARE_."""
        return f"SCOPED_{self.flag.type}" if self.scoped else self.flag.type

    @property
    def c_value_of_process(self) -> str:
        """The value for all threads, in C."""
        if not self.scoped:
            return f"FLAGS_{self.name}"
        return f"__atomic_load_n(&FLAGS_{self.name}.value, __ATOMIC_ACQUIRE)"

    @property
    def watcher(self) -> str:
        """The C function that sets what the flag implies."""
        return f"{self.set_name}_watch_{self.name}"

    @property
    def c_definition(self) -> str:
        """The arguments of PD_DEFINE_<type> after the name."""
        flag = self.flag
        default = format_flag_argument(flag.default) if flag.items else flag.default
        return ", ".join([c_value(default, flag.type), c_string(flag.help), *self._c_attributes()])

    def _c_attributes(self) -> Iterator[str]:
        """Return the attributes in the order that C++ requires."""
        flag = self.flag
        for name, bound in (("min", flag.min), ("max", flag.max)):
            if bound is not None:
                yield f".{name} = {c_value(bound, flag.type)}"
        texts = {
            "choices": "|".join(map(format_flag_argument, flag.choices)),
            "category": flag.category,
            "aliases": "|".join(self.aliases),
        }
        yield from _c_text_attributes(texts)
        yield from self._c_bool_attributes(*_FIELDS[: _FIELDS.index("list")])
        if flag.items:
            yield f".list = PD_TYPE_{flag.items}"
        texts = {
            "unit": flag.unit or "",
            "deprecated": self.deprecated or "",
            "retired": self.retired or "",
            "old_names": "|".join(self.old_names),
        }
        yield from _c_text_attributes(texts)
        if self.implies:
            yield f".watch = {self.watcher}"
        yield from self._c_bool_attributes(*_FIELDS[_FIELDS.index("list") :])

    def _c_bool_attributes(self, *order: str) -> Iterator[str]:
        marks = (name for name in order if name in self.flag.attributes)
        return (f".{name} = true" for name in marks if name != "scoped")

    @property
    def python_type(self) -> str:
        """The type of a value in Python."""
        return python_type(self.flag.type, self.flag.items)

    @property
    def python_definition(self) -> dict[str, Any]:
        """The arguments of paddle_flags.define."""
        flag = self.flag
        made: dict[str, Any] = {"name": flag.name, "default": flag.default, "help": flag.help}
        made["type"] = flag.type
        optional = {
            "items": flag.items,
            "min": flag.min,
            "max": flag.max,
            "choices": flag.choices,
            "unit": flag.unit,
            "category": flag.category,
            "aliases": self.aliases,
            "old_names": self.old_names,
            "deprecated": self.deprecated,
            "retired": self.retired,
            **dict.fromkeys(flag.attributes, True),
        }
        return made | {key: value for key, value in optional.items() if value not in (None, "", [])}

    @property
    def config_schema(self) -> dict[str, Any]:
        """The JSON Schema of its value in a configuration file."""
        made: dict[str, Any] = {"description": self.flag.help}
        made |= {} if "sensitive" in self.flag.attributes else {"default": self.flag.default}
        made |= {"deprecated": True} if self.deprecated else {}
        return made | _config_value_schema(self.flag)


def _c_text_attributes(texts: dict[str, str]) -> Iterator[str]:
    return (f".{name} = {c_string(text)}" for name, text in texts.items() if text)


def _config_value_schema(flag: Flag) -> dict[str, Any]:
    """Every flag takes text: quantities, and lists with commas."""
    kind = flag.items or flag.type
    wanted: dict[str, Any] = {"type": _JSON[MEMBERS[kind]]}
    natural = INTEGERS.get(kind, (None, None))
    said = [flag.min, flag.max]
    bounds = {
        key: natural[side] if said[side] is None else said[side]
        for side, key in enumerate(("minimum", "maximum"))
    }
    wanted |= {key: bound for key, bound in bounds.items() if bound is not None}
    if flag.choices:
        wanted = {"enum": flag.choices}
    text = {"type": "string", **_make_text_pattern_schema(kind, flag.unit)}
    if kind != "string":
        wanted = {"anyOf": [wanted, text]}
    if flag.items:  # as text, with commas between the items
        wanted = {"anyOf": [{"type": "array", "items": wanted}, {"type": "string"}]}
    return wanted


def _make_text_pattern_schema(kind: str, unit: str | None) -> dict[str, str]:
    """Return a pattern for the text of integers and quantities; loading checks the rest."""
    if kind not in INTEGERS and unit is None:
        return {}
    number = r"[0-9]+|0[xX][0-9a-fA-F]+"
    if kind in FLOATING:
        number = r"[0-9.]+([eE][-+]?[0-9]+)?|0[xX][0-9a-fA-F.]+([pP][-+]?[0-9]+)?"
        number += r"|[iI][nN][fF].*|[nN][aA][nN]"
    if unit is not None:
        more = "+" if unit == "seconds" else ""
        number += rf"|(([0-9]+\.?[0-9]*|\.[0-9]+)({_SUFFIXES[unit]})){more}"
    return {"pattern": f"^[-+]?({number})$"}


def c_type(kind: str) -> str:
    """Return the type of FLAGS_<name> in C++, whatever the flags are named."""
    ctype = C_TYPES[kind][0]
    return f"::{ctype}" if kind in INTEGERS else ctype


def python_type(kind: str, items: str | None = None) -> str:
    """Return the type of a value in Python."""
    item = _PYTHON[MEMBERS[items or kind]].__name__
    return f"tuple[{item}, ...]" if items else item


def c_value(value: Any, kind: str) -> str:
    """Return a constant of C and C++."""
    if kind == "string":
        return c_string(value)
    if kind == "bool":
        return "true" if value else "false"
    if kind in FLOATING:
        return repr(value)
    if value in (-(2**31), -(2**63)):  # the number without its sign doesn't fit
        return "INT32_MIN" if value == -(2**31) else "INT64_MIN"
    if -(2**31) < value < 2**31:
        return str(value)
    return f"UINT64_C({value})" if kind.startswith("u") else f"INT64_C({value})"


_C_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def c_string(text: str) -> str:
    """Return a string of C and C++; what compilers warn about, or read as trigraphs, is escaped."""
    made = ""
    for sign in text:
        if sign in _C_ESCAPES:
            made += _C_ESCAPES[sign]
        elif sign == "?" and made.endswith("?"):
            made += "\\?"
        elif sign.isprintable():
            made += sign
        else:
            made += "".join(f"\\{byte:03o}" for byte in sign.encode("utf-8", "surrogateescape"))
    return f'"{made}"'


def make_views(flags: FlagSet) -> list[View]:
    """Return the flags, then the retired ones."""
    made = {flag.name: View(flags.name, flag) for flag in flags.flags}
    for alias in flags.aliases:
        made[alias.flag].aliases.append(alias.name)
    for renamed in flags.renamed:
        made[renamed.flag].old_names.append(renamed.name)
    for deprecated in flags.deprecated:
        view = made[deprecated.flag]
        view.deprecated = _advice_text(deprecated.reason, deprecated.replacement)
        view.deprecated_in = deprecated.version
    for implication in flags.implies:
        made[implication.flag].implies.append(implication)
    for version in flags.versions:
        for change in version.changes:
            if change.flag in made:
                made[change.flag].changes.append((version.version, change))
    return [*made.values(), *(_retired_view(flags.name, each) for each in flags.retired)]


def _advice_text(reason: str, replacement: str | None) -> str:
    return f"{reason}; use --{replacement}" if replacement else reason


def _retired_view(set_name: str, each: Retired) -> View:
    empty: Any = _PYTHON[MEMBERS[each.type]]()
    why = _advice_text(each.reason, each.replacement)
    text = f"Retired in {each.version}: {why}"
    flag = Flag(each.name, each.type, None, empty, text, None, None, [], None, "", [], "", "")
    return View(set_name, flag, retired=why)


def schema_hash(flags: FlagSet) -> str:
    """Return the hash of everything that programs depend on."""
    data = [flags.version, _without_prose(to_data(flags))]
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _without_prose(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _without_prose(v) for k, v in data.items() if k not in _WORDS}
    return [_without_prose(each) for each in data] if isinstance(data, list) else data


def split_into_sources(all_views: list[View], size: int) -> list[list[View]]:
    """Return the flags of each source, about `size` in each.

    The names of flags decide where a source begins, so that adding a flag changes one source.
    """
    if len(all_views) <= size:
        return [all_views]
    parts: list[list[View]] = [[]]
    for view in all_views:
        begins = zlib.crc32(view.name.encode()) % size == 0 and len(parts[-1]) >= size // 4
        if begins or len(parts[-1]) >= 4 * size:
            parts.append([])
        parts[-1].append(view)
    return parts
