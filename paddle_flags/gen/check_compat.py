"""Compatibility: names must refer to flags, and implications must not contradict each other."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from paddle_flags.gen.check_flags import check_value, check_version, version_key
from paddle_flags.gen.problems import quote_for_message, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from paddle_flags.gen.model import Deprecated, Flag, FlagSet, Implication, Place, Retired
    from paddle_flags.gen.problems import Problems


def check_compatibility(flags: FlagSet, problems: Problems) -> None:
    """Report what is wrong with flags_compat.yaml."""
    _Compat(flags, problems).check()


def _find_cycle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names of a cycle, the first one again at its end; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle[::-1]
    return []


class _Compat:
    def __init__(self, flags: FlagSet, problems: Problems) -> None:
        self._set = flags
        self._flags = {flag.name: flag for flag in flags.flags}
        self._retired = {each.name for each in flags.retired}
        self._problems = problems

    def check(self) -> None:
        for alias in self._set.aliases:
            self._find_flag(alias.flag, alias.at["flag"], "alias")
        for renamed in self._set.renamed:
            self._find_flag(renamed.flag, renamed.at["flag"], f"{renamed.name}: to")
            self._check_version(renamed)
        leaving: list[Retired | Deprecated] = [*self._set.retired, *self._set.deprecated]
        for each in leaving:
            self._check_replacement(each)
            self._check_version(each)
        self._check_deprecated()
        self._check_implications()

    def _find_flag(self, name: str, place: Any, what: str) -> Flag | None:
        """Return the flag with a name; report it if there is none."""
        flag = self._flags.get(name)
        if flag is None:
            retired = ", a retired one" if name in self._retired else ""
            expected = f"the name of a flag{suggest(name, self._flags)}"
            self._problems.add(place, what, f"'{name}'{retired}", expected)
        return flag

    def _check_version(self, each: Any) -> None:
        name = getattr(each, "name", None) or each.flag
        place = each.at["version"]
        what = f"{name}: version"
        check_version(each.version, self._set.version, place, what, self._problems)

    def _check_replacement(self, each: Retired | Deprecated) -> None:
        name = getattr(each, "name", None) or getattr(each, "flag", "")
        if each.replacement is None:
            return
        what = f"{name}: replacement"
        if each.replacement == name:
            self._problems.add(each.at["replacement"], what, f"'{name}' itself", "another flag")
        else:
            self._find_flag(each.replacement, each.at["replacement"], what)

    def _check_deprecated(self) -> None:
        seen = set()
        for each in self._set.deprecated:
            flag = self._find_flag(each.flag, each.at["flag"], "deprecated")
            if each.flag in seen:
                self._problems.add(
                    each.at["flag"], "deprecated", f"'{each.flag}' again", "each flag once"
                )
            seen.add(each.flag)
            if flag and flag.since and version_key(each.version) < version_key(flag.since):
                expected = f"{flag.since}, which introduced it, or a later version"
                what = f"{each.flag}: version"
                self._problems.add(each.at["version"], what, each.version, expected)
            if flag and "required" in flag.attributes:
                found = "a required flag"
                self._problems.add(each.at["flag"], each.flag, found, "a flag with a default")

    # ---- implied values ----

    def _check_implications(self) -> None:
        sound = [each for each in self._set.implies if self._check_implication(each)]
        self._check_duplicates(sound)
        self._check_cycles(sound)

    def _check_implication(self, each: Implication) -> bool:
        count = len(self._problems)
        flag = self._find_flag(each.flag, each.at["flag"], "implies")
        if flag:
            self._check_implying_value(flag, each)
        for setting in each.sets:
            what = f"{each.flag}: sets"
            target = self._find_flag(setting.flag, setting.at["flag"], what)
            if target:
                self._check_implied_value(target, each, setting)
        return len(self._problems) == count

    def _check_implying_value(self, flag: Flag, each: Implication) -> None:
        place, what = each.at["value"], f"{flag.name}: value"
        if "read_only" in flag.attributes:
            found = f"'{flag.name}', which is read_only"
            self._problems.add(each.at["flag"], "implies", found, "a flag that can change")
        elif check_value(flag, each.value, place, what, self._problems) and (
            each.value == flag.default
        ):
            found = f"{quote_for_message(each.value)}, its default"
            expected = "another value; make what the default implies the default of the other flags"
            self._problems.add(place, what, found, expected)

    def _check_implied_value(self, target: Flag, each: Implication, setting: Any) -> None:
        what = f"{each.flag}: sets: {target.name}"
        for attribute in ("read_only", "startup_only"):
            if attribute in target.attributes:
                found = f"a flag that is {attribute}"
                self._problems.add(setting.at["flag"], what, found, "a flag that can be set")
        check_value(target, setting.value, setting.at["value"], what, self._problems)

    def _check_duplicates(self, sound: list[Implication]) -> None:
        """Report two implications of one value, and those that set one flag to two values."""
        causes: dict[str, Implication] = {}
        setters: dict[str, tuple[Implication, Any]] = {}
        for each in sound:
            first = causes.setdefault(f"{each.flag}={quote_for_message(each.value)}", each)
            if first is not each:
                found = f"{quote_for_message(each.value)} again"
                expected = f"a single implication for it: there is one at {first.at['']}"
                self._problems.add(each.at["value"], f"{each.flag}: value", found, expected)
            for setting in each.sets:
                other, theirs = setters.setdefault(setting.flag, (each, setting))
                if other.flag != each.flag and theirs.value != setting.value:
                    what = f"{each.flag}: sets: {setting.flag}"
                    expected = quote_for_message(theirs.value)
                    expected += f", as '{other.flag}' sets it at {theirs.at['']}"
                    self._problems.add(
                        setting.at["value"], what, quote_for_message(setting.value), expected
                    )

    def _check_cycles(self, sound: list[Implication]) -> None:
        """Report a flag whose implications lead back to itself."""
        graph: dict[str, list[str]] = {}
        places: dict[str, Place] = {}
        for each in sound:
            graph.setdefault(each.flag, []).extend(setting.flag for setting in each.sets)
            places.setdefault(each.flag, each.at["flag"])
        while cycle := _find_cycle(graph):
            self._problems.add(places[cycle[0]], "implies", " -> ".join(cycle), "no cycle")
            for flag in cycle:  # so that the next one is another
                graph.pop(flag, None)
