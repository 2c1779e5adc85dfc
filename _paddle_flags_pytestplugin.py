"""The plugin for pytest of paddle_flags.

It stands outside of the package, because pytest loads it in every project: paddle_flags itself is
imported by the project, or when the plugin is used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from paddle_flags._core.registry import Registry
    from paddle_flags._integrations import pytest_support


arguments: list[str] | None = None
"""The command line of pytest, which `paddle_flags.parse` doesn't take for that of the program."""


def _support() -> Any:  # noqa: ANN401 - a module that mypy need not follow
    from paddle_flags._integrations import pytest_support

    return pytest_support


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("paddle_flags", "flags of paddle_flags")
    group.addoption(
        "--pf-flag",
        action="append",
        default=[],
        dest="pf_flag",
        metavar="NAME=VALUE",
        help="set a flag for all tests, also one that is defined later; may be repeated",
    )
    group.addoption(
        "--pf-strict",
        action="store_true",
        dest="pf_strict",
        help="a test that leaves a flag changed is an error, not only a warning; so is a flag that"
        " it leaves defined, and what a fixture of a class, module or package leaves",
    )
    parser.addini("pf_flags", "flags for all tests, NAME=VALUE each", type="linelist", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Set the flags of the session."""
    global arguments  # one command line, one process
    if sys.argv[1:] == list(config.invocation_params.args):
        arguments = list(sys.argv)
    config.addinivalue_line(
        "markers",
        "pf_flags(values, /, **named): set flags of paddle_flags for a test, and put all back"
        " afterwards.",
    )
    if config.getoption("pf_flag") or config.getini("pf_flags"):
        config.pluginmanager.register(_support().Session(config), "paddle_flags_session")


def pytest_unconfigure() -> None:
    """Leave the command line to others."""
    global arguments  # one command line, one process
    arguments = None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let a guard surround the tests. An autouse fixture would cost time in every project."""
    if "paddle_flags" not in sys.modules:
        items = [item for item in items if _wants_flags(item)]
    if not items:
        return
    config.pluginmanager.register(_support().Reports(), "paddle_flags_reports")
    for item in items:
        names = getattr(item, "fixturenames", None)
        if names is not None:
            while _GUARD in names:  # that of pf_flags, or of another parameter of the test
                names.remove(_GUARD)
            names.insert(_after_wider_scopes(item, names), _GUARD)


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, None]:
    """Watch the fixtures that several tests share."""
    watched = fixturedef.scope != "function" and "paddle_flags" in sys.modules
    guard = None
    if watched and request.config.getoption("pf_strict"):
        guard = _support().FixtureGuard(fixturedef)
    yield
    if guard is not None:
        guard.record_setup_changes()


def _wants_flags(item: pytest.Item) -> bool:
    """Return whether a test uses flags that nobody has imported yet."""
    fixtures = getattr(item, "fixturenames", ())
    return "pf_flags" in fixtures or item.get_closest_marker("pf_flags") is not None


_GUARD = "_pf_guard"


def _after_wider_scopes(item: Any, names: list[str]) -> int:  # noqa: ANN401 - it has fixtures
    """Return the place of the first fixture of the test itself."""
    known = item._fixtureinfo.name2fixturedefs
    for place, name in enumerate(names):
        if name in known and known[name][-1].scope == "function":
            return place
    return len(names)


@pytest.fixture
def _pf_guard(request: pytest.FixtureRequest) -> pytest_support.Guard:
    """Begin before the other fixtures of a test, and end after them."""
    return _support().start_test_guard(request)  # type: ignore[no-any-return]


@pytest.fixture
def pf_flags(_pf_guard: pytest_support.Guard) -> Registry:
    """All flags, `paddle_flags.FLAGS`. What the test does to them is undone at its end."""
    from paddle_flags import FLAGS

    _pf_guard.undo_all_at_end()
    return FLAGS
