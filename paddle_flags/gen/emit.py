"""From a normal form back to flags.yaml and flags_compat.yaml."""

from __future__ import annotations

import io
import itertools
import re
from typing import TYPE_CHECKING, Any

from paddle_flags.gen.model import Place
from paddle_flags.gen.problems import importing_for_gen
from paddle_flags.gen.tree import Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from paddle_flags.gen.model import Flag, FlagSet

Records = list[tuple[dict[str, Any], Place]]


def to_trees(flags: FlagSet) -> dict[str, Mapping]:
    """Return what reading flags.yaml and flags_compat.yaml would return, by their names.

    Everything has the place that it has in the normal form. A file that would be empty is left
    out. No importer finds implied values or versions, so they are left out, too.
    """
    start = flags.at.get("") or Place(flags.name, 1, 1)
    top: dict[str, Any] = {"name": flags.name, "version": flags.version or None}
    records = [(_flag_record(flag), flag.at[""]) for flag in flags.flags]
    documents: dict[str, dict[str, Any]] = {
        "flags": top | {"flags": records, "imports": _convert_to_records(flags.imports)},
        "flags_compat": {
            "aliases": _alias_records(flags),
            "renamed": [
                ({"from": each.name, "to": each.flag, "version": each.version}, each.at[""])
                for each in flags.renamed
            ],
            "retired": _convert_to_records(flags.retired),
            "deprecated": _convert_to_records(flags.deprecated),
        },
    }
    trees = {}
    for name, document in documents.items():
        said = {key: value for key, value in document.items() if value or key == "flags"}
        if said:
            trees[name] = _to_mapping(said, start)
    return trees


def _flag_record(flag: Flag) -> dict[str, Any]:
    made: dict[str, Any] = {"name": flag.name, "type": flag.type, "items": flag.items}
    made |= {"default": _format_byte_sizes(flag, flag.default), "help": flag.help}
    if flag.min is not None or flag.max is not None:
        made["range"] = [_format_byte_sizes(flag, bound) for bound in (flag.min, flag.max)]
    made |= {"choices": _format_byte_sizes(flag, flag.choices), "unit": flag.unit}
    made |= {"category": flag.category, "attributes": flag.attributes}
    needed = ("default", "help")
    return {
        key: value for key, value in made.items() if key in needed or value not in (None, "", [])
    }


_POWERS = [(1024**power, f"{prefix}iB") for power, prefix in enumerate("KMGTPE", 1)][::-1]


def _format_byte_sizes(flag: Flag, value: Any) -> Any:
    """Return values as people write them: 64MiB."""
    if isinstance(value, list) and flag.unit:
        return [_format_byte_sizes(flag, each) for each in value]
    if flag.unit != "bytes" or not isinstance(value, int) or value <= 0:
        return value
    for factor, unit in _POWERS:
        if value % factor == 0:
            return Scalar(f"{value // factor}{unit}", plain=True, place=flag.at[""])
    return value


def _convert_to_records(records: list[Any]) -> Records:
    """Return records whose fields are the keys of the files."""
    return [
        ({k: v for k, v in vars(each).items() if k != "at" and v is not None}, each.at[""])
        for each in records
    ]


def _alias_records(flags: FlagSet) -> Records:
    groups = itertools.groupby(flags.aliases, lambda each: each.flag)
    made = [(flag, list(group)) for flag, group in groups]
    return [
        ({"flag": flag, "names": [each.name for each in group]}, group[0].at[""])
        for flag, group in made
    ]


# ---- trees ----


def _to_mapping(data: dict[str, Any], place: Place) -> Mapping:
    made = Mapping(place)
    for key, value in data.items():
        made.add(key, place, _to_node(value, place))
    return made


def _to_node(value: Any, place: Place) -> Node:
    if isinstance(value, Scalar):
        return value
    if isinstance(value, tuple):  # a record with its own place
        return _to_mapping(*value)
    if isinstance(value, list):
        return Sequence([_to_node(each, place) for each in value], place)
    if isinstance(value, str):
        return Scalar(value, plain=False, place=place)
    return Scalar(_scalar_text(value), plain=True, place=place)


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else repr(value)


# ---- text ----

# Text that needs no quotes in any version of YAML: it begins with a letter, and has no
# other meaning.
_WORD = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*( [A-Za-z0-9_./()-]+)*")
_MEANS = re.compile(r"y|n|yes|no|on|off|true|false|null", re.IGNORECASE)
_TAGS = "tag:yaml.org,2002:"


def to_yaml(tree: Mapping) -> str:
    """Return YAML: a block for each mapping, lists of scalars on one line."""
    with importing_for_gen("writing YAML", "ruamel.yaml"):
        import ruamel.yaml.nodes
        import ruamel.yaml.representer

    class Representer(ruamel.yaml.representer.RoundTripRepresenter):
        """A separate class, since add_representer changes the class."""

    def represent_scalar_node(to: Any, node: Scalar) -> Any:
        if not node.plain:
            return to.represent_scalar(_TAGS + "str", str(node), _scalar_style(node))
        tag = yaml.resolver.resolve(ruamel.yaml.nodes.ScalarNode, node, (True, False))
        return to.represent_scalar(tag, str(node))

    def represent_sequence_node(to: Any, node: Sequence) -> Any:
        is_flat = not any(isinstance(each, Mapping) for each in node)
        return to.represent_sequence(_TAGS + "seq", node, is_flat)

    yaml = ruamel.yaml.YAML(pure=True)  # libyaml lays it out in another way
    yaml.Representer = Representer
    yaml.width = 2**30
    yaml.indent(mapping=2, sequence=4, offset=2)
    # Else it would write characters that nobody sees, or that turn text round.
    yaml.allow_unicode = _is_printable(tree)
    represent = yaml.representer.add_representer
    represent(str, lambda to, key: to.represent_scalar(_TAGS + "str", key, _scalar_style(key)))
    represent(Scalar, represent_scalar_node)
    represent(Sequence, represent_sequence_node)
    represent(Mapping, lambda to, node: to.represent_mapping(_TAGS + "map", node, flow_style=False))
    text = io.StringIO()
    yaml.dump(tree, text)
    return text.getvalue()


def _is_printable(node: Node) -> bool:
    if isinstance(node, Scalar):
        return node.replace("\n", "").isprintable()
    return all(map(_is_printable, node if isinstance(node, Sequence) else node.values()))


def _scalar_style(text: str) -> str | None:
    lines = text.split("\n")
    if len(lines) > 1 and all(map(str.isprintable, lines)) and text == text.strip():
        return "|"
    return None if _WORD.fullmatch(text) and not _MEANS.fullmatch(text) else '"'
