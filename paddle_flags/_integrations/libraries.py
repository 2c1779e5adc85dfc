"""`bridge` of libraries in the process, and `sync`."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags import FLAGS
from paddle_flags.errors import (
    FlagArgumentError,
    FlagNameError,
    FlagTypeError,
    FlagUnsupportedError,
    FlagValueError,
    FlagWarning,
)
from paddle_flags.extend import (
    JoinedLibrary,
    flag_finders,
    for_each,
    hides_internal_frames,
    joined_libraries,
    optional_import,
    queue_warning,
    quote_value,
    raise_deferred,
    suggest_name,
    to_argument,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


class Library(NamedTuple):
    """A library that has flags of its own."""

    title: str
    package: str
    """The Python package that loads it, or ""."""
    load: str
    """How it comes into the process."""


ABSL_PY = "absl-py"
LIBRARIES = {
    "paddle": Library("Paddle", "paddle", "import paddle"),
    "c10": Library("c10, PyTorch's library,", "torch", "import torch"),
    "gflags": Library("gflags", "", "load the library that links gflags"),
    "abseil": Library("Abseil (C++)", "", "load the library that links Abseil"),
    ABSL_PY: Library("absl-py", "absl.flags", "import absl.flags"),
}
_OTHER_NAMES = {"torch": "c10", "glog": "gflags", "absl": ABSL_PY}


class BridgedLibrary:
    """A library whose flags are taken now and later."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.namespace = ""  # in front of names, with a dot
        self.found = False
        title = LIBRARIES[name].title.partition(",")[0]
        self.flags = joined_libraries.setdefault(name, JoinedLibrary(title))

    def join_flags(self) -> list[str]:
        """Take its flags; return errors about values that were waiting for them."""
        if self.name == ABSL_PY:
            return self._join_absl()
        try:
            registries, joined, left_out, rejected = _native_module().join(
                self.name, self.namespace
            )
        except FlagUnsupportedError as error:
            self.flags.left_out = {self.name: str(error)}
            return []
        self.found |= registries > 0
        self.flags.names.update(joined)
        reasons = {(self.name if name == "*" else name): why for name, why in left_out}
        self.flags.left_out = reasons
        return list(rejected)

    def _join_absl(self) -> list[str]:
        if sys.modules.get(LIBRARIES[ABSL_PY].package) is None:
            self.flags.left_out = {}
            return []
        try:
            from paddle_flags._integrations import absl_flags
        except (ImportError, AttributeError) as error:  # another module, or not yet imported
            self.flags.left_out = {ABSL_PY: f"absl.flags can't be used: {error}"}
            return []
        from paddle_flags._integrations.line import Inputs

        self.flags.left_out = absl_flags.bridge(None, Inputs(), lenient=True)
        self.found = True
        return []


_bridged: dict[str, BridgedLibrary] = {}
_loads = -1  # libraries that had been loaded into the process when it was last searched


def bridge_libraries(*libraries: str, namespace: str = "") -> dict[str, str]:
    """Take the flags of libraries by name, by default of all that are loaded; see `bridge`."""
    prefix = to_argument("namespace", namespace)
    names = list(dict.fromkeys(map(_check_library, libraries)))
    _check_namespace(namespace, names)
    if any(name != ABSL_PY for name in names):
        _native_module()  # or an error, before anything is done
    for name in names or LIBRARIES:
        followed = _bridged.setdefault(name, BridgedLibrary(name))
        if namespace:
            followed.namespace = f"{os.fsdecode(prefix)}."
    if _join_if_libraries_loaded not in flag_finders:
        flag_finders.append(_join_if_libraries_loaded)
        sys.meta_path.insert(0, _finder)
    rejected = _join_and_collect_errors(names or LIBRARIES)
    _check_libraries_found(names)
    if rejected:
        refusal = FlagValueError("\n".join(rejected))
        refusal._errors = tuple(map(FlagValueError, rejected))
        raise refusal
    raise_deferred()
    every = (_bridged[name].flags.left_out for name in names or LIBRARIES)
    return {name: why for left_out in every for name, why in left_out.items()}


@hides_internal_frames
def sync() -> None:
    """Take over what libraries behind `bridge`, or other native code, have set until now.

    Watchers of these flags are called. Reading a flag does this for that flag. Flags that
    the libraries have got since are taken, too. Any thread may call it.
    """
    if _bridged:
        _join_and_queue_warnings()
    for_each(FLAGS.values(), lambda flag: flag.source)  # any call takes over what was assigned
    raise_deferred()


# ---- Searching ----


def _join_and_collect_errors(names: Iterable[str]) -> list[str]:
    global _loads  # state of the process
    _loads = _count_library_loads()
    return [error for name in list(names) for error in _bridged[name].join_flags()]


def _join_if_libraries_loaded() -> bool:
    """Take the flags of libraries that were loaded since; cheap if there are none."""
    if _count_library_loads() == _loads:
        return False
    before = _count_flags()
    _join_and_queue_warnings()
    return _count_flags() > before


def _count_library_loads() -> int:
    """Return how many libraries were loaded until now; 0 where only absl-py can be bridged."""
    try:
        count: int = _native_module().count_library_loads()
    except FlagUnsupportedError:
        return 0
    return count


def _count_flags() -> int:
    return sum(len(each.flags.names) for each in list(_bridged.values()))


def _join_and_queue_warnings() -> None:
    """Take what has come since, for no call that could raise; the next one warns."""
    before = [name for each in list(_bridged.values()) for name in each.flags.left_out]
    for error in _join_and_collect_errors(_bridged):
        queue_warning(FlagWarning(error))
    for each in list(_bridged.values()):
        for name, why in each.flags.left_out.items():
            if name not in before:
                message = f"flag '{name}' of {each.flags.title} is left out: {why}"
                queue_warning(FlagWarning(message))


def _native_module() -> Any:
    try:
        import paddle_flags._bridges as native
    except ImportError as error:
        raise FlagUnsupportedError(
            f"bridge: paddle_flags._bridges can't be imported ({error}): it needs libstdc++, and is"
            " only built where a C++ compiler is installed"
        ) from error
    return native


class _Finder:
    """Searches again when a package that brings flags has been imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return what other finders find, with a loader that tells of its end."""
        known = {library.package for each, library in LIBRARIES.items() if each in _bridged}
        if name not in known:
            return None
        others = (each for each in sys.meta_path if each is not self)
        finds = (getattr(each, "find_spec", None) for each in others)
        found = (find(name, path, target) for find in finds if find)
        spec: Any = next((each for each in found if each is not None), None)
        if hasattr(getattr(spec, "loader", None), "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    """A loader that searches again when it has executed the module."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        """Return what the loader creates."""
        create = getattr(self._loader, "create_module", None)
        return create(spec) if create else None

    def exec_module(self, module: Any) -> None:
        """Execute the module, which has its own loader again."""
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _join_and_queue_warnings()


_finder = _Finder()


# ---- Arguments ----


def _check_library(name: str) -> str:
    if not isinstance(name, str):
        raise FlagTypeError(
            "bridge: expected names of libraries, or one ArgumentParser or FlagValues alone, not"
            f" {type(name).__name__}"
        )
    known = _OTHER_NAMES.get(name, name)
    if known not in LIBRARIES:
        near = suggest_name(name, [*LIBRARIES, *_OTHER_NAMES])
        message = f"bridge({quote_value(name)}): expected {', '.join(map(repr, LIBRARIES))}{near}"
        raise FlagArgumentError(message)
    return known


_NAMESPACE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*")


def _check_namespace(namespace: str, libraries: list[str]) -> None:
    if namespace and not _NAMESPACE.fullmatch(namespace):
        message = f"bridge: namespace {quote_value(namespace)}: expected a name such as 'torch'"
        raise FlagNameError(message)
    if namespace and len(libraries) != 1:
        message = "bridge: a namespace is for the flags of one library: expected one name with it"
        raise FlagArgumentError(message)
    if namespace and libraries == [ABSL_PY]:
        message = "bridge: flags of absl-py have no namespace; expected another library, or none"
        raise FlagArgumentError(message)


def _check_libraries_found(names: list[str]) -> None:
    missing = [name for name in names if not _bridged[name].found]
    reasons = {name: _bridged[name].flags.left_out.get(name) for name in missing}
    for name in missing:
        del _bridged[name], joined_libraries[name]
    for name in missing:
        if name == ABSL_PY and reasons[name] is None:
            with optional_import("bridge", "absl-py", "absl"):
                import absl.flags  # noqa: F401 - is it installed at all?
        library = LIBRARIES[name]
        why = reasons[name] or (
            f"no flags of {library.title} are in this process: {library.load} first, or call"
            " bridge(), which takes what is loaded later, too"
        )
        raise FlagUnsupportedError(f"bridge({name!r}): {why}")
