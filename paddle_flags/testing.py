"""Tests of code that reads flags: each begins with the same values, and leaves none behind.

class TestServer(unittest.TestCase):
    @pf.testing.isolated(port=0)
    def test_starts(self): ...

With pytest, use the fixture and the marker `pf_flags` of the plugin that comes with this package.
"""

from __future__ import annotations

import sys
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

from paddle_flags._core import saved_definitions
from paddle_flags._core.assign import caller_place
from paddle_flags._core.flag import flag_of
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.hooks import (
    active_hooks,
    filter_hooks_by_flags,
    remove_new_hooks,
    restore_removed_hooks,
)
from paddle_flags._core.redefine import unregister_flag
from paddle_flags._core.registry import FLAGS, Registry, assign_values, merge_named_values
from paddle_flags._core.scope import decorate_with_scope
from paddle_flags._core.status import (
    call_and_raise_deferred,
    call_checked,
    iterate_c_handles,
    new_struct,
    to_text,
)
from paddle_flags._core.steps import capture_scopes, switch_scopes
from paddle_flags._fast import scopes_ended
from paddle_flags._input import argv, config
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from paddle_flags._core.flag import Flag

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["FlagChangedWarning", "isolated"]


class FlagChangedWarning(UserWarning):
    """A test has left a flag changed or undefined. The plugin for pytest has put it back."""


class State:
    """What flags, hooks and command lines were when this object was made."""

    def __init__(self) -> None:
        made = ffi.new("pd_snapshot **")
        call_checked(lib.pd_snapshot_take, made)
        self._snapshot = ffi.gc(made[0], lib.pd_snapshot_free)
        self._hooks = active_hooks()
        self._modules = set(sys.modules)
        self._input = argv.get_last_env_prefix(), config.get_last_config_files()
        self._reloaded: set[str] = set()
        self._former: dict[Flag[Any], saved_definitions.SavedDefinition] = {}
        saved_definitions.savers.add(self)

    def save_definition(self, flag: Flag[Any]) -> None:
        """Keep the definition of a flag, which is about to go, unless it is a new one."""
        is_old = flag not in self.flags_defined_since() or flag.module in self._reloaded
        if flag not in self._former and is_old:
            self._former[flag] = saved_definitions.SavedDefinition(flag)

    def mark_module_reloaded(self, module: str) -> None:
        """Let what a module defines stay that is being reloaded: its variables stay, too."""
        self._reloaded.add(module)

    def changed_flags(self) -> list[Flag[Any]]:
        """Return the flags that have another value, or one from another source."""
        return self._list_flags(lib.pd_snapshot_next_change)

    def flags_defined_since(self) -> list[Flag[Any]]:
        """Return the flags that were defined since."""
        return self._list_flags(lib.pd_snapshot_next_definition)

    def flags_to_undefine(self) -> list[Flag[Any]]:
        """Return those that `restore` undoes, of flags that were not defined before."""
        new = [flag for flag in self.flags_defined_since() if flag not in self._former]
        return [flag for flag in new if not self._is_new_or_reloaded(flag.module)] if new else []

    def undefine_flags(self, flags: list[Flag[Any]]) -> None:
        """Undefine flags; those of native modules stay."""
        _undefine_flags(flags)

    def redefined_flags(self) -> list[Flag[Any]]:
        """Return the flags that were undefined, or that have another definition."""
        return [flag for flag, before in self._former.items() if not before.is_definition_of(flag)]

    def _list_flags(self, find_next: Callable[[Any, Any], Any]) -> list[Flag[Any]]:
        return [flag_of(each) for each in iterate_c_handles(partial(find_next, self._snapshot))]

    def restore(self) -> None:
        """Put everything back, and forget what was defined since."""
        remove_new_hooks(self._hooks, self._is_new_or_reloaded)
        new = self.flags_defined_since()
        self.undefine_flags(self.flags_to_undefine())
        for flag, before in self._former.items():
            if not flag.defined or (flag in new and flag.module not in self._reloaded):
                before.restore(flag)
        saved_definitions.savers.discard(self)
        restore_removed_hooks(self._hooks, self._reloaded.__contains__)
        self.restore_values_and_inputs()

    def restore_definitions_and_values(self, flags: list[Flag[Any]]) -> None:
        """Put the definitions of these flags back, with their hooks; and all values."""
        saved_definitions.savers.discard(self)
        old = {hook for hook, _ in self._hooks.values()}
        for hook, _ in filter_hooks_by_flags(active_hooks(), flags).values():
            if hook not in old:
                hook.remove()
        for flag in flags:
            self._former[flag].restore(flag)
        restore_removed_hooks(
            filter_hooks_by_flags(self._hooks, flags), self._reloaded.__contains__
        )
        self.restore_values_and_inputs()

    def restore_values_and_inputs(self) -> None:
        """Put the values back."""
        argv.remember_prefix(self._input[0])
        config.remember_files(self._input[1])
        call_and_raise_deferred(lib.pd_snapshot_restore, self._snapshot)

    def _is_new_or_reloaded(self, module: str) -> bool:
        """Return whether a module was first imported since, and will not be again, or reloaded.

        What it defined while it was imported must stay, too.
        """
        imported = module not in self._modules and module in sys.modules
        return imported or module in self._reloaded


class Scopes:
    """The scopes of this thread, which those that were opened since can be ended for."""

    def __init__(self) -> None:
        self._thread = get_ident()
        self._context: Any = capture_scopes()

    def has_changed_scopes(self) -> bool:
        """Return whether this thread has other scopes now."""
        if self._thread != get_ident():
            return False
        now = capture_scopes()
        lib.pd_scope_release(now)
        return bool(now != self._context)

    def restore_scopes(self) -> None:
        """Give the thread the scopes that it had; call this once."""
        if self._thread != get_ident():
            return
        lib.pd_scope_release(switch_scopes(self._context))
        scopes_ended()


def _undefine_flags(flags: list[Flag[Any]]) -> None:
    """Undefine flags; those of native modules stay."""
    native = _native_modules() if flags else ()
    for flag in flags:
        if flag.module not in native:
            unregister_flag(flag, ffi.NULL)


def _native_modules() -> set[str]:
    paths: set[str] = set()
    info = new_struct("pd_module_info")
    for handle in iterate_c_handles(lib.pd_module_next):
        if lib.pd_module_get_info(handle, info, ffi.NULL) == lib.PD_OK:
            paths.add(to_text(info.path))
    return paths


@hides_internal_frames
class isolated:
    """Undo whatever a `with` block, a function or the tests of a class do to flags.

        with isolated() as flags: flags.level = 3

        @isolated({"beta.port": 80}, level=3)
        def test_port(): ...  # or async def, or a class

    At the end, values return with their sources and histories, and so do defaults, pending values,
    what is frozen, and whether startup is over. Hooks that were added are removed, and those that
    were removed are added again. Flags that were undefined or replaced have their definitions
    again, and those that Python code has defined are undefined, unless a module did so that was
    imported for the first time or reloaded: it stays imported. Native libraries stay loaded, and
    their flags stay defined, without the values that they were given. An override that is still
    open ends. Watchers are notified of what changes back; validators are not asked.

    The values, if any, are set at the beginning, all or none, as set at run time; if one is
    refused, its exception is raised and its `errors` has all of them. Of a `unittest.TestCase`,
    each test is isolated together with its setUp and tearDown; of another class, each method
    whose name begins with `test`.

    Flags are the same for all threads: tests that run at once in one process cannot be isolated
    from each other. Isolated blocks nest.
    """

    def __init__(self, values: Mapping[str, object] | None = None, /, **named: object) -> None:
        self._values = merge_named_values(values, named)
        self._where = caller_place(1)
        self._states: list[State] = []

    def __enter__(self) -> Registry:  # the class tells
        state = State()
        try:
            assign_values(self._values, self._where)
        except BaseException:  # the block does not begin
            state.restore()
            raise
        self._states.append(state)
        return FLAGS

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._states:
            raise FlagArgumentError("this isolated block has already ended, or has not begun")
        self._states.pop().restore()

    def __call__(self, target: F) -> F:
        """Decorate a function or a class: each call or test is isolated."""
        if isinstance(target, type):
            _isolate_tests(self, target)
            return target  # pyright: ignore[reportReturnType] - it is the same class
        return decorate_with_scope(self, target, "isolated")  # type: ignore[no-any-return]


def _isolate_tests(scope: isolated, target: Any) -> None:
    """Let each test of a class be isolated."""
    wanted: dict[str, Any]
    unittest = sys.modules.get("unittest")
    if unittest is not None and issubclass(target, unittest.TestCase):
        wanted = {"run": target.run}
    else:
        methods = {name: each for name, each in vars(target).items() if callable(each)}
        wanted = {name: each for name, each in methods.items() if name.startswith("test")}
    for name, method in wanted.items():
        setattr(target, name, decorate_with_scope(scope, method, "isolated"))
