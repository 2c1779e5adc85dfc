"""A flag of absl and a flag of ours that have one value."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from absl import flags

from paddle_flags._integrations.absl_validators import Watch, state
from paddle_flags._integrations.absl_values import SharedList, verify_proposal
from paddle_flags._integrations.line import set_flag_texts
from paddle_flags.errors import FlagError
from paddle_flags.extend import (
    REDACTED,
    assign_values,
    check_call,
    first_user_frame,
    lib,
    new_error,
    to_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from paddle_flags import Flag, Hook
    from paddle_flags._integrations.absl_values import Codec

_UNKNOWN = object()


class Link:
    """The value of both flags is that of ours; absl's has an object made from it."""

    def __init__(self, values: Any, theirs: Any, ours: Flag[Any]) -> None:
        self.values = values
        self.theirs = theirs
        self.ours = ours
        self.kind: Any = type(theirs)  # as it was
        self.given: list[str] | None = None  # texts from a command line that is being read
        self._seen: Any = _UNKNOWN  # value of ours that absl's value was made from
        self._hooked = False
        self._hooks: list[Hook | Watch] = []
        self.followers: set[Watch] = set()  # of other flags, whose validators read this one
        self.meaning = definition_identity(ours)
        self.pinned: Any = _UNKNOWN  # a value that absl has set, which is the default of ours, too
        self.alone = False  # the value was parsed outside of a command line
        self._before: Any = _UNKNOWN  # the value before absl set one

    def redirect_absl_flag(self) -> None:
        """Let absl's flag use the value of ours."""
        members = {**_MEMBERS, "link": self, "__module__": self.kind.__module__}
        # One base, as Python changes the class of an object only among classes of one layout.
        self.theirs.__class__ = type(self.kind.__name__, (self.kind,), members)
        for validator in self.theirs.validators:
            self.add_validator_hook(validator)
        if self.kind.value is not flags.Flag.value:  # something follows from a change
            self._hooks.append(self.ours.watch(lambda _: self.get()))

    def remove_hooks_of_ours(self) -> None:
        """Leave what our side sets unchecked."""
        for hook in self._hooks:
            hook.remove()
        for watch in self.followers.difference(self._hooks):
            watch.unwatch_link(self)

    def restore_absl_flag(self) -> None:
        """Make absl's flag what it was."""
        value = self.theirs.value
        self.theirs.__class__ = self.kind
        self.theirs.value = value

    # ---- conversions, which the two kinds of links do in their way ----

    def to_ours(self, value: Any) -> Any:
        """Return a value of absl as one of ours."""
        return tuple(value) if isinstance(value, list) else value

    def to_theirs(self, value: Any) -> Any:
        """Return a value of ours as one of absl; raise ValueError if it doesn't suit."""
        return list(value) if isinstance(value, tuple) else value

    def parse(self, argument: Any, parse: Any) -> None:
        """Take what a command line gives; `parse` is absl's own method."""
        raise NotImplementedError

    # ---- the value ----

    def get(self) -> Any:
        """Return absl's value; to a validator, the one that is proposed."""
        proposals = state.proposals
        if proposals is not None:
            proposals.read.append(self)
            if self in proposals.values:
                return proposals.values[self]
        if self.given is None:
            now = self.ours.value
            if self._seen is _UNKNOWN or now != self._seen:
                self._assign_theirs(self.to_theirs(now))
                self._seen = now
        return self.kind.value.fget(self.theirs)

    def set(self, value: Any) -> None:
        """Set both values."""
        if self.given is None:
            with translate_to_absl_errors():
                self._assign_ours(value)
            self._seen = self.ours.value
        self._assign_theirs(value)

    def _assign_theirs(self, value: Any) -> None:
        """Give absl's flag a value; a list is set anew when it changes in place."""
        if type(value) is list and self.given is None:
            value = SharedList(value, partial(setattr, self.values, self.theirs.name))
        self.kind.value.fset(self.theirs, value)

    def _assign_ours(self, value: Any) -> None:
        self.pinned = _UNKNOWN
        wanted = self.to_ours(value)
        if value is None and self.accepts_none:
            self._assign_none(wanted)
            return
        if state.source == lib.PD_SOURCE_RUNTIME and self._drop_if_restored(wanted):
            return
        assign_values({self.ours: wanted}, _absl_caller_place(), state.source)

    accepts_none = False

    def _assign_none(self, empty: Any) -> None:
        """Let ours be empty, or have its default if it can't be."""
        self.ours.reset()
        if self.ours.value != empty:
            with suppress(FlagError):
                assign_values({self.ours: empty}, _absl_caller_place(), state.source)

    def _remember_value(self) -> None:
        if self.ours.source not in ("run time", "argv"):
            self._before = self.ours.value

    def _drop_if_restored(self, wanted: Any) -> bool:
        """Drop what was set last if `wanted` was there before, as flagsaver sets it again."""
        source = self.ours.source
        if source != "run time" and not (source == "argv" and self.alone):
            self._before = self.ours.value
            return False
        if self._before != wanted:
            return False
        number = lib.PD_SOURCE_RUNTIME if source == "run time" else lib.PD_SOURCE_ARGV
        err = new_error()
        check_call(lib.pd_flag_drop(self.ours.handle, number, err), err)
        if self.ours.source == "default":
            self.pinned = wanted
        return bool(self.ours.value == wanted)  # unless a file or the like was read meanwhile

    def drop_restored_argv_value(self) -> None:
        """Drop what absl has parsed alone, as flagsaver has restored a flag that nobody had given.

        It sets no value again that is the same as before.
        """
        if not self.theirs.__dict__["present"] and self.ours.source == "argv" and self.alone:
            with translate_to_absl_errors():
                self._drop_if_restored(self.ours.value)

    def restore_pinned_value(self, *, uses_default: bool) -> None:
        """After a new default, set the value again that absl has set, though it was the old one."""
        if not uses_default and self.ours.source == "default" and self.pinned is not _UNKNOWN:
            value, self.pinned = self.pinned, _UNKNOWN
            with translate_to_absl_errors():
                assign_values({self.ours: value}, _absl_caller_place())
            self.use_our_value_again()

    def use_our_value_again(self) -> None:
        """Take absl's value from ours again."""
        self.given = None
        self._seen = _UNKNOWN

    def commit_given(self) -> None:
        """Keep absl's value, which ours has now, too."""
        self.given = None
        self.alone = False
        self._seen = self.ours.value
        self._assign_theirs(self.kind.value.fget(self.theirs))

    def reset(self) -> None:
        """Drop all values but the default."""
        with suppress(flags.IllegalFlagValueError), translate_to_absl_errors():
            self.ours.reset()
        self.use_our_value_again()

    # ---- validators ----

    def add_validator_hook(self, validator: Any) -> None:
        """Let a validator of absl check what is set on our side."""
        names = list(validator.get_flags_names())
        if len(names) == 1:
            self.watch_our_flag()
            return
        links = [getattr(self.values[name], "link", None) for name in names]
        if names[0] != self.theirs.name or None in links:
            return  # another of the flags asks for it

        ask = partial(verify_proposal, validator, self.values)
        self._hooks.append(Watch([link for link in links if link], ask))

    def watch_our_flag(self) -> None:
        """Check what is set on our side, from now on."""
        if not self._hooked:
            self._hooked = True
            self._hooks.append(Watch([self], self._run_validators))

    def _run_validators(self, proposed: dict[str, Any]) -> None:
        for validator in list(self.theirs.validators):
            if list(validator.get_flags_names()) == [self.theirs.name]:
                verify_proposal(validator, self.values, proposed)


def definition_identity(flag: Flag[Any]) -> tuple[Any, ...]:
    """Return what tells the definition of a flag from another of the same name."""
    return flag.type, flag.items, flag.module, flag.file, flag.line


@contextmanager
def translate_to_absl_errors() -> Iterator[None]:
    """While absl sets a value, what our registry refuses is an error of absl's."""
    before, state.inside = state.inside, True
    try:
        yield
    except FlagError as error:
        raise flags.IllegalFlagValueError(str(error)) from error
    finally:
        state.inside = before


def absl_caller() -> FrameType:
    """Return the frame of the code that called absl."""
    return first_user_frame(sys._getframe(), "absl.", "contextlib")


def _absl_caller_place() -> tuple[str, int]:
    frame = absl_caller()
    return frame.f_code.co_filename, frame.f_lineno


class TheirLink(Link):
    """A flag that absl has defined."""

    accepts_none = True

    def __init__(self, values: Any, theirs: Any, ours: Flag[Any], codec: Codec) -> None:
        super().__init__(values, theirs, ours)
        self._codec = codec
        self._default = codec.to_ours(theirs.default)

    def to_ours(self, value: Any) -> Any:
        """Return a value of absl as one of ours."""
        return self._codec.to_ours(value)

    def to_theirs(self, value: Any) -> Any:
        """Return a value of ours as one of absl.

        For the default it is absl's, which may be None, or an object that has changed since.
        """
        if value == self._default:
            return self.theirs.default
        return self._codec.to_theirs(value)

    def parse(self, argument: Any, parse: Any) -> None:
        """Take what a command line gives, as absl's parser reads it."""
        if not is_reading_command_line(self):
            self._remember_value()
            with _set_source_to_argv():
                parse(argument)
                self.set(self.get())  # a list may have grown in place
            self.alone = True
            return
        before = self.given
        self.given = before or []
        try:
            if before is None and isinstance(self.theirs, flags.MultiFlag):
                self.theirs.__dict__["_value"] = list(self.theirs.__dict__["_value"] or ())
            parse(argument)
            self.given = [self._codec.text(self.theirs.__dict__["_value"])]
        except BaseException:
            self.given = before
            raise

    def copy_default_to_ours(self) -> None:
        """Give our flag the default that absl's has now."""
        self._default = self.to_ours(self.theirs.default)
        with translate_to_absl_errors():
            self.ours.set_default(self._default)
        self.use_our_value_again()


class OurLink(Link):
    """A flag of ours, which absl has a copy of."""

    def set(self, value: Any) -> None:
        """Set both values; absl's is what ours makes of it."""
        super().set(value)
        if self.given is None:
            self.use_our_value_again()

    def parse(self, argument: Any, parse: Any) -> None:
        """Take what a command line gives, which our registry reads."""
        if is_reading_command_line(self):
            self.given = [*(self.given or ()), argument]
            self.theirs.__dict__["_value"] = argument
        else:
            self._remember_value()
            with _set_source_to_argv(), translate_to_absl_errors():
                if isinstance(argument, str):
                    set_flag_texts([(self.ours.name, argument)])
                else:
                    self.set(argument)
            self.alone = True
            self.use_our_value_again()
        self.theirs.__dict__["present"] += 1

    def set_default(self, value: Any) -> None:
        """Give our flag another default."""
        with translate_to_absl_errors():
            if isinstance(value, str) and self.ours.type != "string":
                err = new_error()
                check_call(lib.pd_flag_set_default(self.ours.handle, to_bytes(value), err), err)
            else:
                self.ours.set_default(self.to_ours(value))
        self.use_our_value_again()


@contextmanager
def _set_source_to_argv() -> Iterator[None]:
    """What absl parses outside of a command line comes from one all the same."""
    state.source = lib.PD_SOURCE_ARGV
    try:
        yield
    finally:
        state.source = lib.PD_SOURCE_RUNTIME


def is_reading_command_line(link: Link) -> bool:
    """Return whether the FlagValues of a link are reading a command line."""
    return bool(type(link.values).bridge.reading)


def _is_counting(link: Link) -> bool:
    """Return whether absl is counting what it parses."""
    return is_reading_command_line(link) or bool(state.source == lib.PD_SOURCE_ARGV)


# ---- absl's flags ----


class _Validators(list):  # type: ignore[type-arg]
    """The validators of a flag: each that is added also checks what our side sets."""

    def __init__(self, link: Link, known: Iterator[Any]) -> None:
        super().__init__(known)
        self._link = link

    def append(self, validator: Any) -> None:
        super().append(validator)
        self._link.add_validator_hook(validator)


class Bridged:
    """The members that the class of a linked flag of absl has of its own."""

    link: Any
    default: Any

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name == "__dict__":
            self.link.drop_restored_argv_value()

    @property
    def present(self) -> int:
        """How often the command line has given the flag; 1 if a variable or a file gives it."""
        given = self.link.ours.source in ("argv", "environment", "file", "fleet")
        return self.__dict__["present"] or int(given and not _is_counting(self.link))

    @present.setter
    def present(self, count: int) -> None:
        self.__dict__["present"] = count

    @property
    def value(self) -> Any:
        """The value of both flags."""
        return self.link.get()

    @value.setter
    def value(self, value: Any) -> None:
        self.link.set(value)

    @property
    def using_default_value(self) -> bool:
        """Whether nothing has set the flag, on either side."""
        return bool(
            self.__dict__["using_default_value"]
            and self.link.ours.source in ("default", "override")
        )

    @using_default_value.setter
    def using_default_value(self, value: bool) -> None:
        self.__dict__["using_default_value"] = value

    @property
    def validators(self) -> list[Any]:
        """Those of absl."""
        found = self.__dict__["validators"]
        if not isinstance(found, _Validators):  # flagsaver restores a plain list
            found = self.__dict__["validators"] = _Validators(self.link, found)
        return found

    @validators.setter
    def validators(self, known: list[Any]) -> None:
        self.__dict__["validators"] = known

    def parse(self, argument: Any) -> None:
        """Parse a text, and set the value."""
        self.link.parse(argument, lambda text: self.link.kind.parse(self, text))

    def serialize(self) -> str:
        """Return the tokens that set the value again; none if it is secret or cannot be set."""
        if self.link.ours.sensitive or self.link.ours.read_only:
            return ""
        return str(self.link.kind.serialize(self))

    def _create_xml_dom_element(self, doc: Any, module_name: str, is_key: bool = False) -> Any:
        element = self.link.kind._create_xml_dom_element(self, doc, module_name, is_key)
        if self.link.ours.sensitive:
            for name in ("default", "current"):
                for text in (t for e in element.getElementsByTagName(name) for t in e.childNodes):
                    text.data = str(REDACTED)
        return element

    def unparse(self) -> None:
        """Drop the value."""
        self.link.reset()
        self.using_default_value = True
        self.present = 0

    def _set_default(self, value: Any) -> None:
        was = self.__dict__["using_default_value"]
        if isinstance(self.link, OurLink):
            self.link.set_default(value)
            self.__dict__["default"] = self.link.to_theirs(self.link.ours.default)
            self.link.restore_pinned_value(uses_default=was)
            return
        self.__dict__["using_default_value"] = False  # the value follows from ours
        try:
            self.link.kind._set_default(self, value)
        finally:
            self.__dict__["using_default_value"] = was
        self.link.copy_default_to_ours()
        self.link.restore_pinned_value(uses_default=was)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a flag of absl alone."""
        import copy

        value = self.value
        made = object.__new__(self.link.kind)
        made.__dict__ = copy.deepcopy({**self.__dict__, "validators": list(self.validators)}, memo)
        made.__dict__["_value"] = copy.deepcopy(value, memo)
        return made


_MEMBERS = {
    name: member
    for name, member in vars(Bridged).items()
    if isinstance(member, (FunctionType, property))
}
