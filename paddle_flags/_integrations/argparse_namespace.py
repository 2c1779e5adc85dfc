"""A namespace for a parser of argparse that tells which options its command line gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class NotGiven(list):  # type: ignore[type-arg]
    """Stands for the value of an option that the command line may give.

    `append`, `extend` and `count` begin with what they find in the namespace.
    """

    def __init__(self, default: Any, *, had: bool) -> None:
        super().__init__()
        self.default = default
        self.had = had
        """Whether the namespace of the caller has the attribute."""

    def __copy__(self) -> list[Any]:
        return list(self.default) if isinstance(self.default, (list, tuple)) else []

    def __add__(self, number: Any) -> Any:
        return (self.default or 0) + number


class Overlay:
    """The namespace of the caller, with the values of some options kept apart.

    Whatever else a parser or its actions do reaches the namespace below, which may be of a class
    that takes only values of its types.
    """

    def __init__(self, below: Any, starts: Mapping[str, NotGiven]) -> None:
        for name, value in (("_below", below), ("_starts", starts), ("_apart", dict(starts))):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name not in self._starts:
            return getattr(self._below, name)
        try:
            return self._apart[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._starts:
            self._apart[name] = value
        else:
            setattr(self._below, name, value)

    def __delattr__(self, name: str) -> None:
        if name not in self._starts:
            delattr(self._below, name)
        elif self._apart.pop(name, self) is self:
            raise AttributeError(name)

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)

    def __repr__(self) -> str:
        return repr(self._below)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The class of the namespace below, for `isinstance`."""
        return type(self._below)

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        """All attributes, for `vars`."""
        return {**vars(object.__getattribute__(self, "_below")), **self._apart}


def unwrap_namespace(namespace: Any) -> Any:
    """Return the namespace of the caller."""
    return namespace._below if type(namespace) is Overlay else namespace


def get_given_value(namespace: Any, dest: str) -> Any:
    """Return what the command line gave, or a NotGiven."""
    return namespace._apart.get(dest, namespace._starts[dest])


def get_initial_value(namespace: Any, dest: str) -> NotGiven:
    """Return what stood for the value before the command line was read."""
    return namespace._starts[dest]  # type: ignore[no-any-return]
