"""What the plugin for pytest does once a project uses flags."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

from paddle_flags._core.assign import assign
from paddle_flags._core.registry import FLAGS, all_flags, by_flag
from paddle_flags._core.status import ErrorList, check, new_error, to_bytes, to_text
from paddle_flags._native import ffi, lib
from paddle_flags._report import facts
from paddle_flags._report.table import table
from paddle_flags.errors import FlagError
from paddle_flags.testing import FlagChangedWarning, State

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from paddle_flags._core.flag import Flag
    from paddle_flags._core.registry import Registry

OPTION = "--pf-flag"

# ---- The flags of the session ----

# Names that tests have defined and that are undefined again.
_defined: set[str] = set()


class Session:
    """Sets the flags of pytest's command line and of its configuration."""

    def __init__(self, config: pytest.Config) -> None:
        self._ini = f"{config.inipath.name} (pf_flags)" if config.inipath else "pf_flags"
        self._reported: list[dict[str, tuple[str, str]]] = []  # of xdist's workers
        self._problems: dict[str, tuple[str, str]] = {}  # of names: place and message
        for number, entry in enumerate(config.getini("pf_flags"), 1):
            self._set(entry, self._ini, number, lib.PD_SOURCE_FILE)
        for number, entry in enumerate(config.getoption("pf_flag") or (), 1):
            self._set(entry, OPTION, number, lib.PD_SOURCE_ARGV)

    def _set(self, entry: str, place: str, number: int, source: int) -> None:
        name, equals, text = entry.partition("=")
        if not equals or not name:
            message = f"{place}:{number}: {entry!r}: expected NAME=VALUE"
            raise pytest.UsageError(message)
        kept = ffi.new("char[]", to_bytes(place))
        origin = ffi.new("pd_origin *", {"source": source, "place": kept, "line": number})
        err = new_error()
        try:
            check(lib.pd_pending_set(to_bytes(name), to_bytes(text), origin, err), err)
        except FlagError as error:
            raise pytest.UsageError(str(error)) from None

    def _unclaimed(self) -> dict[str, tuple[str, str]]:
        """Return place and message for each of our values whose flag was never defined."""
        found = ErrorList()
        lib.pd_pending_check(found.pointer, ffi.NULL)
        messages = [str(error) for error in found.exceptions()]
        unclaimed: dict[str, tuple[str, str]] = {}
        for name, place, number in _pending():
            if place in (OPTION, self._ini) and name.replace("-", "_") not in _defined:
                about = f"{place}:{number}: --{name}: "
                message = next((each for each in messages if each.startswith(about)), "")
                unclaimed[name] = place, message or f"{about}the flag is not defined"
        return unclaimed

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the report of a worker of xdist; one that has crashed made none."""
        output = getattr(node, "workeroutput", {})
        self._reported.append(output.get("pf_unclaimed", {}))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report the names that no flag ever had."""
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["pf_unclaimed"] = self._unclaimed()
            return
        problems = self._reported[0] if self._reported else self._unclaimed()
        for other in self._reported:  # of the workers, one may have the flag
            problems = {name: why for name, why in problems.items() if name in other}
        self._problems = problems
        wrong = any(place == OPTION for place, _ in problems.values())
        if wrong and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show them."""
        if self._problems:
            terminalreporter.section("flags that were never defined", yellow=True)
        for place, message in self._problems.values():
            kind = "error" if place == OPTION else "warning"
            terminalreporter.write_line(f"{kind}: {message}", red=kind == "error")


def _pending() -> Iterator[tuple[str, str, int]]:
    """Yield name and place of each pending value."""
    info = ffi.new("pd_pending_info *", {"size": ffi.sizeof("pd_pending_info")})
    index = 0
    while lib.pd_pending_get(index, info, ffi.NULL) == lib.PD_OK:
        place = to_text(info.origin.place) if info.origin.place else ""
        yield to_text(info.name), place, info.origin.line
        index += 1


# ---- One test ----


class Guard:
    """Watches what one test does to flags."""

    def __init__(self, item: Any, *, strict: bool) -> None:
        self._item = item
        self._strict = strict
        self._isolated = False
        self._state = State()

    def isolate(self) -> Registry:
        """Undo everything at the end."""
        self._isolated = True
        return FLAGS

    def mark(self, markers: list[pytest.Mark]) -> None:
        """Set the values of markers, the outermost first."""
        self.isolate()
        values: dict[str, object] = {}
        for marker in markers:
            for name, value in _values_of(marker).items():
                values.pop(name, None)  # so that the innermost is the last, also by an alias
                values[name] = value
        problems: tuple[FlagError, ...] = ()
        try:
            assign(by_flag(values), _place_of(self._item))
        except FlagError as error:
            problems = error.errors
        if problems:
            pytest.fail("\n".join(f"marker pf_flags: {each}" for each in problems), pytrace=False)

    def end(self) -> None:
        """Put back what must be, and say what the test should have."""
        if not self._isolated:
            self._check_changes()
            return
        for flag in self._state.definitions():
            _defined.update(name.replace("-", "_") for name in (flag.name, *flag.aliases))
        self._state.restore()

    def _check_changes(self) -> None:
        changed, redefined = self._state.changes(), self._state.redefined()
        if not changed and not redefined:
            return
        after = facts.each(changed, _Seen)
        lines = [f"{flag.name}: {_definition_of(flag)}" for flag in redefined]
        self._state.restore_flags(redefined)
        before = {seen.name: seen for seen in facts.each(changed, _Seen)}
        # Only a new source, as monkeypatch leaves one behind, is nobody's mistake.
        lines += [
            f"{seen.name}: {before[seen.name].text} -> {seen.text}"
            for seen in after
            if repr(seen.value) != repr(before[seen.name].value)
        ]
        if not lines:
            return
        message = _leaves(self._item.nodeid, lines)
        if self._strict or _is_error(FlagChangedWarning(message), _place_of(self._item)):
            pytest.fail(message, pytrace=False)


def _definition_of(flag: Flag[Any]) -> str:
    """Say what has become of the definition of a flag."""
    if not flag.defined:
        return "was undefined"
    return facts.one_line(f"was defined at {flag.file}:{flag.line}")


def _is_error(warning: Warning, place: tuple[str, int]) -> bool:
    """Issue a warning; return whether a filter has made it an error."""
    try:
        warnings.warn_explicit(warning, None, *place)
    except Warning:
        return True
    return False


def _leaves(test: str, lines: list[str]) -> str:
    advice = "it was put back; the fixture or marker pf_flags does so silently"
    if len(lines) == 1:
        return f"{test} left a flag changed: {lines[0]} ({advice})"
    return "\n  ".join([f"{test} left flags changed ({advice}):", *lines])


class _Seen:
    """The value of a flag, with source and place."""

    def __init__(self, flag: Flag[Any]) -> None:
        place = flag.place if flag.source != "default" else None
        source = f"{flag.source}, {facts.one_line(place)}" if place else flag.source
        self.name = flag.name
        self.value = flag.value
        self.text = f"{facts.value_text(flag, flag.value)} [{source}]"


def begin(request: pytest.FixtureRequest) -> Guard:
    """Begin a test."""
    guard = Guard(request.node, strict=bool(request.config.getoption("pf_strict")))
    request.addfinalizer(guard.end)
    markers = list(request.node.iter_markers("pf_flags"))
    if markers:
        guard.mark(markers[::-1])
    return guard


def _values_of(marker: pytest.Mark) -> dict[str, object]:
    values: dict[str, object] = {}
    for each in marker.args:
        if not isinstance(each, dict) or not all(isinstance(name, str) for name in each):
            message = (
                f"marker pf_flags: {each!r}: expected a dict of names to values,"
                ' as in pf_flags({"beta.port": 80}, level=3)'
            )
            pytest.fail(message, pytrace=False)
        values.update(each)
    return {**values, **marker.kwargs}


def _place_of(item: Any) -> tuple[str, int]:
    """Return file and line of a test."""
    file, line, _ = item.location
    return file, (line or 0) + 1


# ---- What a failure shows ----


class Reports:
    """Adds the flags that have another value than their default to reports of failures."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, None]:
        outcome = yield
        report: pytest.TestReport = outcome.get_result()
        text = _not_default() if report.failed else ""
        if text:
            report.sections.append(("flags not at their default", text))


def _not_default() -> str:
    rows = [row for row in facts.each(all_flags(), _row) if row]
    return table(("flag", "value", "source", "place"), rows) if rows else ""


def _row(flag: Flag[Any]) -> tuple[str, ...]:
    if flag.source == "default":
        return ()
    place = facts.one_line(flag.place or "")
    return flag.name, facts.value_text(flag, flag.value), flag.source, place
