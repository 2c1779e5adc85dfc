"""What the plugin for pytest does once a project uses flags."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from paddle_flags import FLAGS
from paddle_flags._integrations.pytest_leaks import Watch, leak_message
from paddle_flags.errors import FlagError
from paddle_flags.extend import (
    ErrorList,
    assign_values,
    check_call,
    escape_controls,
    ffi,
    for_each,
    format_table,
    format_value,
    iter_pending,
    lib,
    new_error,
    normalize_name,
    to_bytes,
    to_text,
)
from paddle_flags.testing import FlagChangedWarning

if TYPE_CHECKING:
    from collections.abc import Generator

    from paddle_flags import Flag

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
            self._set_pending_value(entry, self._ini, number, lib.PD_SOURCE_FILE)
        for number, entry in enumerate(config.getoption("pf_flag") or (), 1):
            self._set_pending_value(entry, OPTION, number, lib.PD_SOURCE_ARGV)

    def _set_pending_value(self, entry: str, place: str, number: int, source: int) -> None:
        name, equals, text = entry.partition("=")
        if not equals or not name:
            raise pytest.UsageError(f"{place}:{number}: {entry!r}: expected NAME=VALUE")
        kept = ffi.new("char[]", to_bytes(place))
        origin = ffi.new("pd_origin *", {"source": source, "place": kept, "line": number})
        err = new_error()
        try:
            check_call(lib.pd_pending_set(to_bytes(name), to_bytes(text), origin, err), err)
        except FlagError as error:
            raise pytest.UsageError(str(error)) from None

    def _find_unclaimed_values(self) -> dict[str, tuple[str, str]]:
        """Return place and message for each of our values whose flag was never defined."""
        found = ErrorList()
        lib.pd_pending_check(found.pointer, ffi.NULL)
        messages = [str(error) for error in found.exceptions()]
        unclaimed: dict[str, tuple[str, str]] = {}
        for info in iter_pending():
            name = to_text(info.name)
            place = to_text(info.origin.place) if info.origin.place else ""
            if place in (OPTION, self._ini) and normalize_name(name) not in _defined:
                about = f"{place}:{info.origin.line}: --{name}: "
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
            output["pf_unclaimed"] = self._find_unclaimed_values()
            return
        problems = self._reported[0] if self._reported else self._find_unclaimed_values()
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


# ---- One test ----


class Guard:
    """Watches what one test does to flags."""

    def __init__(self, item: Any, *, strict: bool) -> None:
        self._item = item
        self._strict = strict
        self._isolated = False
        self._watch = Watch()

    def undo_all_at_end(self) -> None:
        """Undo everything at the end."""
        self._isolated = True

    def set_marked_values(self, markers: list[pytest.Mark]) -> None:
        """Set the values of markers, the outermost first."""
        self.undo_all_at_end()
        values: dict[str, object] = {}
        for marker in markers:
            for name, value in _values_of(marker).items():
                values.pop(name, None)  # so that the innermost is the last, also by an alias
                values[name] = value
        problems: tuple[FlagError, ...] = ()
        try:
            assign_values(values, _place_of(self._item))
        except FlagError as error:
            problems = error.errors
        if problems:
            pytest.fail("\n".join(f"marker pf_flags: {each}" for each in problems), pytrace=False)

    def undo_or_report_changes(self) -> None:
        """Put back what must be, and say what the test should have."""
        if self._isolated:
            _defined.update(map(normalize_name, self._watch.undo_and_list_new()))
            return
        lines = self._watch.restore_and_report(definitions=self._strict)
        if not lines:
            return
        message = leak_message(self._item.nodeid, lines)
        if self._strict or _issue_warning(FlagChangedWarning(message), _place_of(self._item)):
            pytest.fail(message, pytrace=False)


def _issue_warning(warning: Warning, place: tuple[str, int]) -> bool:
    """Issue a warning; return whether a filter has made it an error."""
    try:
        warnings.warn_explicit(warning, None, *place)
    except Warning:
        return True
    return False


def start_test_guard(request: pytest.FixtureRequest) -> Guard:
    """Begin a test."""
    guard = Guard(request.node, strict=bool(request.config.getoption("pf_strict")))
    request.addfinalizer(guard.undo_or_report_changes)
    markers = list(request.node.iter_markers("pf_flags"))
    if markers:
        guard.set_marked_values(markers[::-1])
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


# ---- Fixtures of a class, a module or a package, with --pf-strict ----

_UNDONE = "it was put back; undo it in the teardown of the fixture"
_NOT_UNDONE = "it stays: another fixture has begun since; undo it in the teardown of the fixture"


class FixtureGuard:
    """Watches what a fixture leaves that many tests share; those of a session may leave it."""

    _living: ClassVar[list[FixtureGuard]] = []

    def __init__(self, fixture: Any) -> None:
        self._fixture = fixture
        self._watch = Watch()
        self.own: set[str] = set()  # names of the flags that its setup has changed
        fixture.addfinalizer(self._undo_and_report_leaks)  # the first, so the last that is called
        self._living.append(self)

    def record_setup_changes(self) -> None:
        """Remember what the fixture has changed."""
        self.own = self._watch.changed_names()

    def _undo_and_report_leaks(self) -> None:
        later = self._living[self._living.index(self) + 1 :]
        self._living.remove(self)
        if self._fixture.scope == "session":
            return
        who = f"the fixture {self._fixture.argname!r} of this {self._fixture.scope}"
        if later:  # whose changes would be put back, too
            others = set[str]().union(*(each.own for each in later))
            names = sorted((self.own & self._watch.changed_names()) - others)
            message = leak_message(who, names, _NOT_UNDONE) if names else ""
        else:
            lines = self._watch.restore_and_report(definitions=True)
            message = leak_message(who, lines, _UNDONE) if lines else ""
        if message:
            pytest.fail(message, pytrace=False)


# ---- What a failure shows ----


class Reports:
    """Adds the flags that have another value than their default to reports of failures."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, None]:
        outcome = yield
        report: pytest.TestReport = outcome.get_result()
        text = _nondefault_table() if report.failed else ""
        if text:
            report.sections.append(("flags not at their default", text))


def _nondefault_table() -> str:
    rows = [row for row in for_each(FLAGS.values(), _format_nondefault_row) if row]
    return format_table(("flag", "value", "source", "place"), rows) if rows else ""


def _format_nondefault_row(flag: Flag[Any]) -> tuple[str, ...]:
    if flag.source == "default":
        return ()
    place = escape_controls(flag.place or "")
    return flag.name, format_value(flag, flag.value), flag.source, place
