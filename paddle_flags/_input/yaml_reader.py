"""Configuration files in YAML 1.2, by ruamel.yaml.

Only its events are read and no objects are constructed, so tags have no effect. Aliases
are refused, because with them a small file can become a large document.

Where ruamel.yaml.clib is installed, the events come from libyaml, which is ten times as
fast, if the file has none of the signs that the two parsers take differently. If the file has an
error, it is read again by ruamel.yaml's own parser, which alone says what is wrong and where.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddle_flags._input.reading import Place, Places, Reading, Scalar, Stop, number_scalar
from paddle_flags._input.tree import Tree

if TYPE_CHECKING:
    from typing import NoReturn

_TABLE = "tag:yaml.org,2002:map"
_LIST = "tag:yaml.org,2002:seq"
_KINDS = {
    "tag:yaml.org,2002:str": "text",
    "tag:yaml.org,2002:int": "integer",
    "tag:yaml.org,2002:float": "number",
    "tag:yaml.org,2002:bool": "bool",
    "tag:yaml.org,2002:null": "null",
    "tag:yaml.org,2002:timestamp": "date",
}

# Text in YAML 1.2, bools in 1.1: people mean the one or the other. So a bool flag takes
# them as such, and a string flag asks for quotes.
_BOOLS = {
    "true": "true",
    "yes": "true",
    "on": "true",
    "false": "false",
    "no": "false",
    "off": "false",
}

_INTEGER = re.compile("-?(?:0|[1-9][0-9]*)")
_LONGEST = 1000  # digits; no number has as many


# Line breaks, tabs and properties of nodes that only one of the two parsers knows or places.
_UNLIKE = re.compile("[\t\r\x85\u2028\u2029\ufeff!&*%?|>]")

_HANDLE = re.compile("(undefined tag handle) .*")


def read(text: str, reading: Reading, *, pure: bool = False) -> None:
    """Read the text of a file; `pure` does without libyaml."""
    with reading.importing("reading YAML", "ruamel.yaml", "yaml"):
        import ruamel.yaml
    if not pure and _UNLIKE.search(text) is None:
        trial = Reading(reading.path, reading.table)
        with suppress(Stop):
            _EventReader(ruamel.yaml, text, trial, pure=False).read()
        if not trial.problems:
            reading.copy_from(trial)
            return
    _EventReader(ruamel.yaml, text, reading, pure=True).read()


class _EventReader:
    def __init__(self, library: Any, text: str, reading: Reading, *, pure: bool) -> None:
        self._library = library
        self._parser = library.YAML(typ="safe", pure=pure)
        self._resolver = library.YAML(typ="safe", pure=True).resolver
        self._text = text
        self._reading = reading
        self._tree = Tree(reading)
        self._documents = 0
        self._last = Place(1, 1)

    def read(self) -> None:
        library = self._library
        try:
            for event in self._parser.parse(self._text):
                self._last = Place(event.start_mark.line + 1, event.start_mark.column + 1)
                self._handle_event(event, library.events)
        except library.error.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            at = Place(mark.line + 1, mark.column + 1) if mark else self._last
            self._reading.stop(at, f"not YAML: {_error_text(error)}")
        except library.reader.ReaderError as error:
            at = Places(self._text)(error.position)
            why = f"not YAML: the character {chr(error.character)!a} is not allowed"
            self._reading.stop(at, why)
        except (library.error.YAMLError, ValueError) as error:  # such as chr() of \\U11111111
            self._reading.stop(self._last, f"not YAML: {error}")

    def _handle_event(self, event: Any, events: Any) -> None:
        if isinstance(event, events.ScalarEvent):
            if self._tree.wants_key:
                self._add_key(event)
            else:
                self._tree.add_scalar(self._parse_scalar_event(event), self._last)
        elif isinstance(event, events.DocumentStartEvent):
            self._begin_document(event)
        elif isinstance(event, events.AliasEvent):
            self._stop("aliases (*name) are not supported, expected the value itself")
        elif isinstance(event, (events.MappingStartEvent, events.SequenceStartEvent)):
            if self._tree.wants_key:
                self._stop("expected a name before the colon")
            is_table = isinstance(event, events.MappingStartEvent)
            if event.tag not in (None, "!", _TABLE if is_table else _LIST):
                self._refuse_tag()
            self._tree.begin_container(self._last, is_table=is_table)
        elif isinstance(event, events.CollectionEndEvent):
            self._tree.end_container()

    def _stop(self, why: str) -> NoReturn:
        self._reading.stop(self._last, why)

    def _begin_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            self._stop("is a second document, expected one document in the file")
        if event.version and tuple(event.version) != (1, 2):
            self._stop("has another version, expected YAML 1.2")

    def _add_key(self, event: Any) -> None:
        if event.value == "<<" and event.implicit[0]:
            self._stop("merge keys (<<) are not supported, expected the values themselves")
        self._tree.add_key(event.value, self._last)

    def _parse_scalar_event(self, event: Any) -> Scalar:
        kind = self._scalar_kind(event)
        if kind == "text" and event.implicit[0] and event.value.lower() in _BOOLS:
            kind = "bool"
        if kind == "bool":
            text = _BOOLS.get(event.value.lower(), str(event.value))
            return Scalar(kind, text, rewritten=text != event.value)
        if kind in ("integer", "number"):
            if len(event.value) > _LONGEST:
                self._stop("is too long for a number")
            return number_scalar(kind, event.value)
        return Scalar(kind, event.value)

    def _scalar_kind(self, event: Any) -> str:
        if event.tag is None and event.implicit[0] and _INTEGER.fullmatch(event.value):
            return "integer"  # as the resolver finds, which takes longer than all the rest
        if event.tag in (None, "!"):
            node = self._library.nodes.ScalarNode
            tag = self._resolver.resolve(node, event.value, event.implicit)
        else:
            tag = event.tag
        # str() of a tag is slow, and most tags are their suffix.
        kind = _KINDS.get(getattr(tag, "suffix", None) or "") or _KINDS.get(str(tag))
        return kind or self._refuse_tag()

    def _refuse_tag(self) -> NoReturn:
        # The tag may be a secret that begins with an exclamation mark.
        self._stop("tags (!name) are not supported, expected the value itself")


def _error_text(error: Any) -> str:
    """Return what a MarkedYAMLError says, on one line, without a tag, which may be a secret."""
    parts = [part for part in (error.context, error.problem) if part]
    text = ", ".join(" ".join(str(part).split()) for part in parts)
    return _HANDLE.sub(r"\1", text)
