"""What the files may hold, for pydantic; and what messages say of that which it refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from paddle_flags.gen.problems import AmbiguousText, format_alternatives, quote_for_message, suggest
from paddle_flags.gen.tree import Mapping, Node, Scalar, Sequence, describe_node_kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

    from paddle_flags.gen.model import Places
    from paddle_flags.gen.problems import Problems

Schema = dict[str, Any]

_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_LONGEST = 100  # digits; more than any type takes
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# What YAML 1.1 or 1.2 read as something other than text.
_NO_TEXT = re.compile(
    r"(~|null|y|n|yes|no|on|off|true|false|[-+]?\.inf|\.nan|=|<<|)"
    r"|[-+]?[0-9][0-9_,]*(:[0-5]?[0-9])*(\.[0-9_]*)?(e[-+]?[0-9]+)?|[-+]?\.[0-9_]+(e[-+]?[0-9]+)?"
    r"|[-+]?0(b[01_]+|o?[0-7_]+|x[0-9a-f_]+)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([t \t].*)?",
    re.IGNORECASE,
)


def _make_schema_error(found: str, expected: str) -> PydanticCustomError:
    return PydanticCustomError("refused", "{expected}", {"found": found, "expected": expected})


@dataclass(frozen=True)
class Expect:
    """What messages say was expected, where pydantic refuses a value as a whole."""

    expected: str
    words: tuple[str, ...] = ()  # among which to look for the nearest
    in_quotes: bool = False  # text that could mean something else is refused without
    unique: bool = False  # no item of a list occurs twice

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        inner = core_schema.literal_schema(list(self.words)) if self.words else handler(source)
        return core_schema.no_info_wrap_validator_function(self._read, inner)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Schema:
        made: Schema = handler(core)
        return made | ({"uniqueItems": True} if self.unique else {})

    def _read(self, node: Any, handler: Callable[[Any], Any]) -> Any:
        if self.in_quotes and getattr(node, "plain", False) and _NO_TEXT.fullmatch(node):
            expected = f"{self.expected}, in quotes" if node else self.expected
            raise _make_schema_error(quote_for_message(AmbiguousText(node)), expected)
        try:
            values = handler(node)
        except ValidationError as error:
            if error.errors(include_url=False)[0]["loc"]:
                raise
            hint = suggest(node, self.words) if isinstance(node, Scalar) else ""
            raise _make_schema_error(describe_node_kind(node), self.expected + hint) from None
        if self.unique:
            _check_unique_items(node, values)
        return values


def _check_unique_items(node: Any, values: list[Any]) -> None:
    errors, seen = [], set()
    for index, value in enumerate(values):
        known = (type(value), value)
        if known in seen:
            why = _make_schema_error(f"{quote_for_message(value)} again", "each item once")
            errors.append(InitErrorDetails(type=why, loc=(index,), input=node[index]))
        seen.add(known)
    if errors:
        title = "list"
        raise ValidationError.from_exception_data(title, errors)


class Written(float):
    """A number as it was written, for messages."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Make one."""
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __str__(self) -> str:  # told by the class
        return self.text


_NO_VALUE = PydanticCustomError("no_value", "no value")


@dataclass(frozen=True)
class Value:
    """A value of a flag: a bool, a number or text; or null, where that has a meaning.

    A number in quotes is text. Expect says what was expected.
    """

    nothing: bool = False
    items: bool = False  # whether it may be a list, as the annotated type says

    def __call__(self, node: Any, handler: Any) -> Any:
        """Return the plain value."""
        return handler(node) if self.items and isinstance(node, Sequence) else self._read(node)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_wrap_validator_function(self, handler(source))

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Schema:
        one = {"type": ["boolean", "number", "string", *(["null"] if self.nothing else [])]}
        return {"anyOf": [one, handler(core["schema"])]} if self.items else one

    def _read(self, node: Node) -> Any:
        if not isinstance(node, Scalar):
            raise _NO_VALUE
        text = str(node)
        if not node.plain:
            return text
        if self.nothing and text in ("null", "Null", "NULL", "~", ""):
            return None
        if _BOOL.fullmatch(text):
            return text.lower() == "true"
        if _INTEGER.fullmatch(text):
            return int(text) if len(text) < _LONGEST else Written(text)
        if _FLOAT.fullmatch(text):
            return Written(text)
        if not text:
            raise _NO_VALUE
        return AmbiguousText(text) if _NO_TEXT.fullmatch(text) else text


class Record(BaseModel):
    """A mapping with known keys, whose places are kept."""

    model_config = ConfigDict(extra="forbid")
    _at: Places = PrivateAttr()

    @property
    def at(self) -> Places:
        """Return the places of keys and list items."""
        return self._at

    @model_validator(mode="wrap")
    @classmethod
    def _record_yaml_places(cls, node: Any, handler: Any) -> Any:
        made = handler(node)
        at = made._at = {"": node.place}
        for key, value in node.items():
            at[key] = value.place
            if isinstance(value, Sequence):
                at |= {f"{key}.{index}": item.place for index, item in enumerate(value)}
            elif isinstance(value, Mapping):
                at |= {f"{key}.{name}": place for name, place in value.key_places.items()}
                at |= {f"{key}.{name}.": item.place for name, item in value.items()}
        return made

    @classmethod
    def map_keys_to_fields(cls) -> dict[str, FieldInfo]:
        """Return the keys with their fields."""
        return {each.alias or name: each for name, each in cls.model_fields.items()}

    @classmethod
    def required_keys(cls) -> list[str]:
        """Return the keys that every such mapping has."""
        return [name for name, each in cls.map_keys_to_fields().items() if each.is_required()]

    @classmethod
    def find_display_name(cls, node: Mapping) -> str:
        """Return what messages call a record: its name, if it has a valid one."""
        key = next(iter(cls.map_keys_to_fields()))
        value = node.get(key) if key in ("name", "flag", "version") else None
        return value[:_LONGEST] if isinstance(value, Scalar) and value.isprintable() else ""

    @classmethod
    def find_item_record_type(cls, key: str) -> type[Record] | None:
        """Return the records in a list at a key."""
        of = get_args(cls.map_keys_to_fields()[key].annotation)
        return of[0] if of and isinstance(of[0], type) and issubclass(of[0], Record) else None

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Schema:
        made: Schema = handler.resolve_ref_schema(handler(core))
        for each in (made, *made["properties"].values()):
            for key in ("title", "default"):
                each.pop(key, None)
        return made


def read_record(model: type[Record], tree: Mapping, problems: Problems) -> Any:
    """Return what a file says, or None when problems were reported."""
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            _report_error(model, tree, each, problems)
    return None


def _report_error(
    model: type[Record], tree: Mapping, error: ErrorDetails, problems: Problems
) -> None:
    loc, kind = error["loc"], error["type"]
    is_key = loc[-1:] == ("[key]",)
    beyond = 2 if is_key else kind in ("missing", "extra_forbidden")
    node, what, record = _find_error_node(model, tree, loc[: len(loc) - beyond])
    last: Any = loc[-1] if loc else ""
    if kind == "missing":
        expected = f"{record.model_config['title']} with '{last}'"
        problems.add(node.place, what, f"no '{last}'", expected)
    elif kind == "extra_forbidden":
        names = record.map_keys_to_fields()
        expected = format_alternatives(list(names)) + suggest(last, names)
        problems.add(node.key_places[last], "", f"the key {quote_for_message(last)}", expected)
    elif kind == "model_type":
        expected = (
            f"{record.model_config['title']}: a mapping with {', '.join(record.required_keys())}"
        )
        problems.add(node.place, what, describe_node_kind(node), expected)
    else:
        place = node.key_places[loc[-2]] if is_key else node.place
        said = error.get("ctx", {})
        problems.add(place, what, said["found"], said["expected"])


def _find_error_node(model: Any, node: Any, loc: tuple[Any, ...]) -> tuple[Any, str, Any]:
    """Return what is at a place, what messages call it, and its model."""
    what = ""
    for part in loc:
        if isinstance(node, Sequence):
            what += f"[{part}]"
        elif model is None:
            what += f".{part}"
        else:
            what, model = f"{what}: {part}" if what else part, model.find_item_record_type(part)
        node = node[part]
        if isinstance(node, Mapping) and model:
            what = model.find_display_name(node) or what
    return node, what, model
