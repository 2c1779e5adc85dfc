"""absl's validators, which also check what our side sets, with all values of a line at once.

A validator of absl may read other flags. The first time that it does, our registry is told to
hand over their values too, and asks again.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from paddle_flags.errors import FlagError
from paddle_flags.extend import add_validator, lib

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paddle_flags import Hook
    from paddle_flags._integrations.absl_link import Link


class State(threading.local):
    """What a thread is doing with the flags of absl."""

    inside = False  # absl sets a value, and will ask its validators itself
    source = lib.PD_SOURCE_RUNTIME
    proposals: Proposals | None = None  # a validator is asked about these


state = State()


class Proposals:
    """Values that flags would have, and which flags a validator reads."""

    def __init__(self, values: dict[Link, Any]) -> None:
        self.values = values
        self.read: list[Link] = []
        self._before = state.proposals

    def __enter__(self) -> Self:
        state.proposals = self
        return self

    def __exit__(self, *exception: object) -> None:
        state.proposals = self._before


class Watch:
    """Asks validators when our side changes one of the flags of some links.

    `ask` raises ValueError to reject the values, which it gets by the names of the flags.
    """

    def __init__(self, links: Sequence[Link], ask: Callable[[dict[str, Any]], None]) -> None:
        self._links = list(links)
        self._ask = ask
        self._adding = False
        self._hook = self._add_validator(self._links)

    def _add_validator(self, links: list[Link]) -> Hook:
        def accept(*values: Any) -> bool:
            if not state.inside and not self._adding:
                self._ask_validators(links, values)
            return True

        accept.__qualname__ = "of absl"  # in messages: the validator of absl
        return add_validator([link.ours for link in links], accept, "")

    def _ask_validators(self, links: list[Link], values: Sequence[Any]) -> None:
        proposed = {link: link.to_theirs(value) for link, value in zip(links, values)}
        refusal: ValueError | None = None
        with Proposals(proposed) as proposals:
            try:
                self._ask({link.theirs.name: value for link, value in proposed.items()})
            except ValueError as error:
                refusal = error
        more = [link for link in proposals.read if link not in self._links]
        if more and self._replace_watched_links([*self._links, *more]):
            return  # the registry asks again, as there is another validator
        if refusal:
            raise refusal

    def _replace_watched_links(self, links: list[Link]) -> bool:
        """Be asked about these flags from now on; return whether that can be."""
        self._adding = True
        try:
            hook = self._add_validator(links)
        except FlagError:  # one of them has gone, on another thread
            return False
        finally:
            self._adding = False
        self.remove()
        self._links, self._hook = links, hook
        for link in links:
            link.followers.add(self)
        return True

    def unwatch_link(self, link: Link) -> None:
        """Go on without a flag that a validator has read, and that goes now."""
        links = [each for each in self._links if each is not link]
        if links and links != self._links:
            self._replace_watched_links(links)

    def remove(self) -> None:
        """Ask no more."""
        with suppress(FlagError):
            self._hook.remove()
