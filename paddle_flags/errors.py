"""Exceptions. Each derives from `FlagError` and from the built-in that fits."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags._core.plugin import Plugin


class FlagError(Exception):
    """Base of all errors of this package.

    `str(error)` says what went wrong, where, and what was expected.
    """

    status: str = "PD_ERR_ARGUMENT"
    """The name of the C status, such as `"PD_ERR_RANGE"`."""

    @property
    def errors(self) -> tuple[FlagError, ...]:
        """All errors of the operation, this one alone where there was one."""
        return self._errors or (self,)

    _errors: tuple[FlagError, ...] = ()

    def __str__(self) -> str:  # noqa: D105 - KeyError would show its repr
        return str(self.args[0]) if self.args else ""


class FlagArgumentError(FlagError, ValueError):
    """A function of this package was called with something that it can't take."""


class FlagNameError(FlagError, ValueError):
    """The name can't be that of a flag."""


class UndefinedFlagError(FlagError, AttributeError, KeyError):
    """Nobody has defined the flag, or its plugin is gone."""


class FlagConflictError(FlagError, ValueError):
    """The name is defined already, by something else."""


class FlagTypeError(FlagError, TypeError):
    """The flag, or what a function was called with, has another type."""


class FlagValueError(FlagError, ValueError):
    """The flag can't have this value."""


class ReadOnlyFlagError(FlagError, AttributeError):
    """The flag keeps its default."""


class FrozenFlagError(FlagError, AttributeError):
    """The flag is frozen, or can be set at startup only."""


class FlagParseError(FlagError, ValueError):
    """A command line, or the environment with it, is refused as a whole."""


class HelpRequested(FlagParseError):  # noqa: N818 - it is no error of the user's
    """The command line asks for help; the message is the text to show."""

    kind: str = "help"
    """The flag without its dashes: `"help"`, `"helpfull"`, ..., `"version"`."""


class PluginLoadError(FlagError, OSError):
    """The file can't be loaded, or was built for another ABI version."""


class PluginValueError(FlagValueError):
    """The plugin is loaded, but values that waited for its flags were refused.

    Those flags keep their defaults.
    """

    plugin: Plugin


class FlagUnsupportedError(FlagError, NotImplementedError):
    """The registry is hosted by an older version of the library, which lacks this."""


class FlagWarning(UserWarning):
    """What native code reports of flags, and no caller can be told by an exception."""


class UnknownVariableWarning(UserWarning):
    """An environment variable has the prefix of flags but names no flag."""


class DeprecatedFlagWarning(FlagWarning, FutureWarning):
    """A flag, or a name of one, that will go, or is gone already, was used."""


class FlagFileError(FlagError, OSError):
    """A file of flags can't be read."""


class FlagDepthError(FlagError, RecursionError):
    """Flagfiles or watchers are nested too deeply: most likely in a circle."""


class FlagMemoryError(FlagError, MemoryError):
    """Memory is out."""
