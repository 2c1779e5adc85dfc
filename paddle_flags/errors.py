"""Exceptions. Each derives from `FlagError` and from the built-in exception that fits."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags._core.plugin import Plugin


class FlagError(Exception):
    """Base class of all errors of this package.

    `str(error)` says what is wrong, where, and what was expected.
    """

    status: str = "PD_ERR_ARGUMENT"
    """The name of the C status, such as `"PD_ERR_RANGE"`; the error index has a section of it."""

    @property
    def errors(self) -> tuple[FlagError, ...]:
        """All errors of the operation; a tuple of this error if it is the only one."""
        return self._errors or (self,)

    _errors: tuple[FlagError, ...] = ()

    def __str__(self) -> str:  # KeyError would show its repr
        return str(self.args[0]) if self.args else ""


class FlagArgumentError(FlagError, ValueError):
    """An argument is invalid, or arguments do not go together."""


class FlagNameError(FlagError, ValueError):
    """The text is not a valid name for a flag."""


class UndefinedFlagError(FlagError, AttributeError, KeyError):
    """The flag is not defined, or the plugin that defined it was unloaded."""


class FlagConflictError(FlagError, ValueError):
    """The name is already defined, with another definition."""


class FlagTypeError(FlagError, TypeError):
    """A value or an argument has the wrong type."""


class FlagValueError(FlagError, ValueError):
    """The value is out of range, not among the choices, or rejected by a validator."""


class ReadOnlyFlagError(FlagError, AttributeError):
    """The flag is read-only: it always has its default."""


class FrozenFlagError(FlagError, AttributeError):
    """The flag is frozen, or can only be set at startup."""


class FlagParseError(FlagError, ValueError):
    """A command line is invalid, or a value from the environment or a configuration file.

    No flag has changed. `errors` has every error.
    """


class HelpRequested(FlagParseError):
    """The command line asks for help or the version; `str(error)` is the text to print."""

    status: str = "PD_HELP"

    kind: str = "help"
    """What was asked for: `"help"`, `"helpfull"`, ..., or `"version"`."""


class PluginLoadError(FlagError, OSError):
    """The library cannot be loaded, or was built for another ABI version."""


class PluginValueError(FlagValueError):
    """The plugin is loaded, but pending values of some of its flags were rejected.

    Those flags have their defaults.
    """

    plugin: Plugin
    """The plugin, which stays loaded."""


class FlagTaskError(FlagError, RuntimeError):
    """A `with` block of scoped values in code that leaves it open when it is suspended."""


class FlagUnsupportedError(FlagError, NotImplementedError):
    """The copy of the library that hosts the registry is too old for this function."""


class FlagWarning(UserWarning):
    """A problem with a flag that native code reports and no call can raise."""

    result: object = None
    """If a filter made the warning an error: what the call, which has succeeded, would return."""


class UnknownVariableWarning(UserWarning):
    """An environment variable has the prefix of flags but names no flag."""

    result: object = None
    """If a filter made the warning an error: what `parse`, which has succeeded, would return."""


class DeprecatedFlagWarning(FlagWarning, FutureWarning):
    """A deprecated or retired flag, or an old name of a flag, was used."""


class ScopeHidesWarning(FlagWarning):
    """A flag was set for the process by a thread that doesn't see the new value.

    The thread is in a scope that gives the flag another value.
    """


class RefusedModuleWarning(FlagWarning):
    """A library was refused when it was linked, imported or opened past `load_plugin`.

    Its own code sees only the defaults of its flags. `check_modules` raises the whole story.
    """


class FlagFileError(FlagError, OSError):
    """A flagfile cannot be read."""


class FlagDepthError(FlagError, RecursionError):
    """Flagfiles include each other, or watchers call each other, too deeply: usually endlessly."""


class FlagMemoryError(FlagError, MemoryError):
    """Memory is exhausted."""
