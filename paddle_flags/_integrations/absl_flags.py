"""`bridge` for absl: the flags of absl are flags here, and ours are flags there.

The bridge changes the class of one FlagValues object and of its flags; absl itself stays as it
is. A value is stored once, in our registry; absl's flags have the Python objects made from it.
"""

from __future__ import annotations

import functools
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from absl import flags

from paddle_flags import FLAGS, undefine
from paddle_flags._integrations.absl_link import (
    Link,
    OurLink,
    TheirLink,
    absl_caller,
    definition_identity,
    translate_to_absl_errors,
)
from paddle_flags._integrations.absl_values import Codec, Proposal
from paddle_flags._integrations.line import Inputs, Line, find_token, quote_as_single_items
from paddle_flags.errors import FlagConflictError, FlagError
from paddle_flags.extend import (
    REDACTED,
    DefinitionListener,
    FlagSnapshot,
    JoinedLibrary,
    after_reading,
    before_reading,
    define_at,
    for_each,
    format_argument,
    format_value,
    joined_libraries,
    normalize_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import FrameType

    from paddle_flags import Flag
    from paddle_flags.extend import ParseOptions


flags.disclaim_key_flags()  # absl looks for the module that defines a flag behind this one


class Bridge(DefinitionListener):
    """Two registries as one."""

    def __init__(self, values: Any) -> None:
        self._values = values
        self.inputs = Inputs()
        self.left_out: dict[str, str] = {}
        self._known = joined_libraries.setdefault("absl-py", JoinedLibrary("absl-py"))
        self.reading: list[str] | None = None  # the command line that absl reads now
        self._links: dict[str, Link] = {}
        self._ours: set[str] = set()  # names of flags that absl has got from us
        # By name and meaning: links, and where absl had their flags.
        self._withdrawn: dict[tuple[str, Any], tuple[Link, list[str], list[list[Any]]]] = {}
        self.listen()

    # ---- absl's flags, here ----

    def define_all_absl_flags(self, *, lenient: bool) -> None:
        """Define all flags of absl here; `lenient` leaves out those in conflict."""
        for name, flag in list(self._flags().items()):
            if name != flag.name:
                continue
            try:
                self.define_absl_flag(flag)
            except FlagConflictError as error:
                if not lenient:
                    raise
                self.left_out[name] = str(error)

    def define_absl_flag(self, flag: Any, *, replace: bool = False) -> None:
        """Define a flag of absl here; FlagConflictError if the name means something else.

        With `replace`, it takes the place of one that absl had.
        """
        if isinstance(getattr(flag, "link", None), Link):
            return
        if type(flag).__name__ == "_FlagAlias":  # of flags.DEFINE_alias
            self.left_out[flag.name] = "is an alias of another flag of absl"
            return
        codec = Codec(flag)
        try:
            ours = self._define(flag, codec, replace=replace)
        except FlagError as error:
            if isinstance(error, FlagConflictError) and flag.name in FLAGS:
                raise
            self.left_out[flag.name] = str(error)
            return
        value = flag.value
        link = TheirLink(self._values, flag, ours, codec)
        using_default, present = flag.using_default_value, flag.present
        link.redirect_absl_flag()
        self._links[flag.name] = link
        self._known.names.add(flag.name)
        link.watch_our_flag()
        if not using_default or present:
            flag.present = present
            if value is not None:
                flag.value = value
            flag.__dict__["using_default_value"] = using_default

    def _define(self, flag: Any, codec: Codec, *, replace: bool) -> Flag[Any]:
        default = codec.to_ours(flag.default)
        known: dict[str, Any] = {
            "items": codec.items,
            "multi": codec.multi,
            "via": codec.via,
            "aliases": [flag.short_name] if flag.short_name else [],
            "replace": replace,
            "frame": absl_caller() if replace else None,
            **codec.get_fitting_constraints(default),
        }
        place = self._place_of(flag.name)
        try:
            return define_at(place, flag.name, default, flag.help, **known)
        except FlagConflictError:
            if not known["aliases"]:
                raise
            known["aliases"] = []  # the letter may be what has another meaning here
            return define_at(place, flag.name, default, flag.help, **known)

    def _place_of(self, name: str) -> FrameType | tuple[str, str, int]:
        module = self._values.find_module_defining_flag(name)
        if module is None:  # it is being defined
            return absl_caller()
        file = getattr(sys.modules.get(module), "__file__", None) or module
        return os.path.abspath(module) if module == sys.argv[0] else module, file, 0

    # ---- our flags, there ----

    def _flags(self) -> dict[str, Any]:
        found: dict[str, Any] = self._values._flags()
        return found

    def sync_to_absl(self) -> None:
        """Add all our flags to absl, and remove those that are undefined."""
        for name in [name for name in self._ours if not self._links[name].ours.defined]:
            self._remove_from_absl(name)
        for flag in FLAGS.values():
            if flag.name not in self._links:
                self._add_flag_to_absl(flag)

    def sync_flag_to_absl(self, name: str) -> None:
        """Let absl have the flag of ours of this name, if there is one."""
        if name not in self._flags() and name in FLAGS and not name.startswith("__"):
            flag = FLAGS[name]
            if flag.name not in self._links:
                self._add_flag_to_absl(flag)

    def _add_flag_to_absl(self, flag: Flag[Any]) -> None:
        about = FlagSnapshot(flag)
        made = _make_absl_flag(about)
        link = OurLink(self._values, made, flag)
        made.__dict__["default"] = link.to_theirs(flag.default)
        if not about.sensitive:
            made.default_as_str = repr(format_value(about, about.default))
        flags_there = self._flags()
        for name in (flag.name, *about.aliases, *flag.old_names):
            flags_there.setdefault(name, made)
        module = flag.module
        if not about.hidden and about.retired is None:
            main = sys.argv[0] if sys.argv else ""
            if main and os.path.abspath(main) == os.path.abspath(module):
                module = main
            self._values.register_flag_by_module(module, made)
        link.redirect_absl_flag()
        self._links[flag.name] = link
        self._ours.add(flag.name)

    def _remove_from_absl(self, name: str) -> None:
        """Remove a flag that is no longer what it was."""
        link = self._links.pop(name)
        self._ours.discard(name)
        self._known.names.discard(name)
        link.remove_hooks_of_ours()
        found, values = self._flags(), self._values
        names = [each for each, flag in found.items() if flag is link.theirs]
        for each in names:
            del found[each]
        known = (
            values.flags_by_module_dict(),
            values.flags_by_module_id_dict(),
            values.key_flags_by_module_dict(),
        )
        lists = [each for by in known for each in by.values() if link.theirs in each]
        values._cleanup_unregistered_flag_from_module_dicts(link.theirs)
        if not self.may_be_restored:
            self._withdrawn.clear()
        self._withdrawn.setdefault((name, link.meaning), (link, names, lists))

    def on_definition_removed(self, flag: Flag[Any]) -> None:
        """Forget what a definition was; absl asks for the new one, if there is one."""
        if flag.name in self._links:
            self._remove_from_absl(flag.name)

    def on_definition_restored(self, flag: Flag[Any]) -> None:
        """Add the flag again that stood for the restored definition."""
        self.on_definition_removed(flag)
        known = self._withdrawn.get((flag.name, definition_identity(flag)))
        if known is None:
            return
        link, names, lists = known
        for each in names:
            self._flags().setdefault(each, link.theirs)
        for flags_of_module in lists:
            flags_of_module.append(link.theirs)
        link.use_our_value_again()
        self._links[flag.name] = link
        (self._ours if isinstance(link, OurLink) else self._known.names).add(flag.name)

    def unlink_flag(self, name: str) -> Flag[Any] | None:
        """Stop linking a flag that absl has dropped; return ours."""
        link = self._links.get(name)
        if link is None or name in self._ours:
            return None
        del self._links[name]
        self._known.names.discard(name)
        link.restore_absl_flag()
        return link.ours

    def undefine_flag(self, name: str) -> None:
        """Undefine a flag that absl has deleted, unless another module defines it, too."""
        ours = self.unlink_flag(name)
        if ours is not None:
            with suppress(FlagError):
                ours.reset()  # the next definition of the name doesn't get its values
                undefine(ours)

    def redact_validator(self, validator: Any) -> Any:
        """Return the validator, or one whose message shows no sensitive value."""
        names = validator.get_flags_names()
        links = {name: getattr(self._flags().get(name), "link", None) for name in names}
        sensitive = {name for name, link in links.items() if link and link.ours.sensitive}
        return _Redacting(validator, sensitive) if sensitive else validator

    # ---- command lines ----

    def quote_as_single_items(self, tokens: list[str], options: ParseOptions) -> list[str]:
        """Return the tokens with each value of a MultiFlag as one item, also with commas."""
        multi = [
            link.ours
            for link in self._links.values()
            if isinstance(link, TheirLink) and isinstance(link.theirs, flags.MultiFlag)
        ]
        names = for_each(multi, lambda flag: (flag.name, *flag.aliases, *flag.old_names))
        whole = {normalize_name(name) for each in names for name in each}
        return quote_as_single_items(tokens, whole, stop_at_argument=options.stop_at_argument)

    def parse_with_absl(self, argv: Sequence[str], parse: Any, *, known_only: bool) -> list[str]:
        """Let absl parse a command line by its own function; set all flags at its end, or none."""
        if self.reading is not None:  # a validator reads another one
            return parse(argv, known_only)  # type: ignore[no-any-return]
        self.sync_to_absl()
        self.reading = list(argv)
        try:
            return parse(argv, known_only)  # type: ignore[no-any-return]
        finally:
            self.reading = None
            for link in self._given_links():
                link.use_our_value_again()

    def _given_links(self) -> list[Link]:
        return [link for link in self._links.values() if link.given is not None]

    def set_read_flags(self) -> None:
        """Set what absl has read, as `parse` does; raise flags.IllegalFlagValueError."""
        tokens, self.reading = self.reading, None
        if tokens is None:
            return
        tokens = tokens[1:]
        line = Line(len(tokens))
        given = self._given_links()
        for link in given:
            texts = link.given or []
            texts = texts if link.ours.multi else texts[-1:]
            for text, place in zip(texts, self._find_token_indices(tokens, link, len(texts))):
                line.add(link.ours.name, text, place)
        with translate_to_absl_errors():
            line.set_given_flags(self.inputs)
        for link in given:
            if isinstance(link, TheirLink):
                link.commit_given()
            else:
                link.use_our_value_again()

    @staticmethod
    def _find_token_indices(tokens: list[str], link: Link, count: int) -> list[int | None]:
        """Return the indices of the last tokens that give the flag; a flagfile's have one."""
        names = [link.theirs.name, link.theirs.short_name or link.theirs.name]
        words = [f"{dash}{no}{each}" for each in names for dash in ("--", "-") for no in ("", "no")]
        own = [index for index, each in enumerate(tokens) if each.partition("=")[0] in words]
        if len(own) >= count:
            return [*own[-count:]]
        return [find_token(tokens, 0, "--flagfile")] + [None] * (count - 1)


def _make_absl_flag(about: FlagSnapshot) -> Any:
    """Return a flag of absl for one of ours."""
    letters = [name for name in about.aliases if len(name) == 1]
    return flags.Flag(
        _Parser(about),
        _Serializer(about.flag),
        about.name,
        None,
        " ".join([about.help, *(f"[{note}]" for note in about.notes)]).strip(),
        short_name=letters[0] if letters else None,
        boolean=about.type == "bool",
    )


class _Parser(flags.ArgumentParser):  # type: ignore[type-arg, unused-ignore] # generic in some
    """Describes the values of a flag of ours; our registry reads them."""

    def __init__(self, about: FlagSnapshot) -> None:
        self._about = about.type_text
        self.syntactic_help = self._about

    def parse(self, argument: Any) -> Any:
        """Return the value unchanged."""
        return argument

    def flag_type(self) -> str:
        """Return the type for help."""
        return self._about


class _Serializer(flags.ArgumentSerializer):  # type: ignore[type-arg, unused-ignore] # as above
    def __init__(self, flag: Flag[Any]) -> None:
        self._flag = flag

    def serialize(self, value: Any) -> str:
        """Return the text of a value as a command line reads it; not that of a secret."""
        if self._flag.sensitive:
            return str(REDACTED)
        plain = tuple(value) if isinstance(value, list) else value
        return format_argument(plain, self._flag)


class _Redacting:
    """Looks to absl like a validator, whose message shows no sensitive value."""

    def __init__(self, validator: Any, sensitive: set[str]) -> None:
        self.insertion_index = validator.insertion_index
        self.verify = validator.verify
        self._validator = validator
        self._shown = dict.fromkeys(sensitive, REDACTED)

    def print_flags_with_values(self, values: Any) -> str:
        """Return names and values."""
        shown = Proposal(values, self._shown)
        return str(self._validator.print_flags_with_values(shown))


_ABOUT_ONE = ("__getattr__", "__getitem__", "__contains__", "set_default")
_ABOUT_ALL = (
    *("__len__", "__dir__", "flag_values_dict", "get_help", "get_flags_for_module"),
    "write_help_in_xml_format",
)


def _wrap_with_flag_sync(method: Any, bridge: Bridge) -> Any:
    """Return a method about one flag, before which absl gets ours of that name."""

    @functools.wraps(method)
    def sync_and_call(values: Any, name: str, *arguments: Any) -> Any:
        bridge.sync_flag_to_absl(name)
        return method(values, name, *arguments)

    return sync_and_call


def _wrap_with_full_sync(method: Any, bridge: Bridge) -> Any:
    """Return a method about all flags, before which absl gets all of ours."""

    @functools.wraps(method)
    def sync_and_call(*arguments: Any, **named: Any) -> Any:
        bridge.sync_to_absl()
        return method(*arguments, **named)

    return sync_and_call


def _bridged_class(kind: type, bridge: Bridge) -> type:  # noqa: C901 - a class with its methods
    """Return the class of FlagValues that a bridge has been added to."""

    class Values(kind):  # type: ignore[misc]
        """absl's FlagValues with our flags."""

        def __setitem__(self, name: str, flag: Any) -> None:
            if not isinstance(name, str) or not isinstance(flag, flags.Flag):
                super().__setitem__(name, flag)  # which raises
                return
            bridge.sync_flag_to_absl(name)
            before = self.__dict__["__flags"].get(flag.name)
            if isinstance(getattr(before, "link", None), OurLink):
                ours = before.link.ours
                message = f"--{name} is already defined at {ours.file}:{ours.line}"
                raise flags.DuplicateFlagError(message)
            super().__setitem__(name, flag)
            if self.__dict__["__flags"].get(flag.name) is flag and before is not flag:
                replaces = isinstance(getattr(before, "link", None), TheirLink)
                if before is not None:
                    bridge.unlink_flag(flag.name)
                try:
                    bridge.define_absl_flag(flag, replace=replaces)
                except FlagConflictError as error:
                    super().__delattr__(name)
                    raise flags.DuplicateFlagError(str(error)) from error

        def __delattr__(self, name: str) -> None:
            flag = self.__dict__["__flags"].get(name)
            super().__delattr__(name)
            if flag is not None and flag.name == name:
                bridge.undefine_flag(name)

        def _set_attributes(self, **attributes: Any) -> None:
            for name in attributes:
                bridge.sync_flag_to_absl(name)
            super()._set_attributes(**attributes)

        def __iter__(self) -> Iterator[str]:
            bridge.sync_to_absl()
            return iter(list(super().__iter__()))

        def flags_into_string(self) -> str:
            bridge.sync_to_absl()
            text = str(super().flags_into_string())
            return "".join(line for line in text.splitlines(keepends=True) if line.strip())

        def _assert_validators(self, validators: Iterable[Any]) -> None:
            super()._assert_validators([bridge.redact_validator(each) for each in validators])

        def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
            if isinstance(argv, (str, bytes)):
                return super().__call__(argv, known_only)  # type: ignore[no-any-return]
            return bridge.parse_with_absl(argv, super().__call__, known_only=known_only)

        def mark_as_parsed(self) -> None:
            bridge.set_read_flags()
            super().mark_as_parsed()

        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            import copy

            made: Any = object.__new__(kind)
            made.__dict__.update(copy.deepcopy(self.__dict__, memo))
            return made

    for name in _ABOUT_ONE:
        setattr(Values, name, _wrap_with_flag_sync(getattr(kind, name), bridge))
    for name in _ABOUT_ALL:
        setattr(Values, name, _wrap_with_full_sync(getattr(kind, name), bridge))
    Values.__name__, Values.__qualname__ = kind.__name__, kind.__qualname__
    Values.__module__ = kind.__module__
    Values.bridge = bridge
    return Values


def bridge(values: Any, inputs: Inputs, *, lenient: bool = False) -> dict[str, str]:
    """Join absl's FlagValues, those of `flags.FLAGS` by default, with our registry.

    `lenient` leaves out flags whose names have another meaning here.
    """
    values = flags.FLAGS if values is None else values
    found = getattr(type(values), "bridge", None)
    if not isinstance(found, Bridge):
        found = Bridge(values)
        object.__setattr__(values, "__class__", _bridged_class(type(values), found))
        before_reading.append(found.quote_as_single_items)
        after_reading.append(values.mark_as_parsed)
    found.inputs.update(inputs)
    found.define_all_absl_flags(lenient=lenient)
    found.sync_to_absl()
    return found.left_out


def is_bridged_and_parsed() -> bool:
    """Return whether `flags.FLAGS` is bridged, and its flags may be read."""
    return hasattr(type(flags.FLAGS), "bridge") and bool(flags.FLAGS.is_parsed())


def bridge_and_mark_parsed() -> None:
    """Bridge `flags.FLAGS`, whose flags have been parsed in the parent process."""
    bridge(None, Inputs(), lenient=True)
    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()
