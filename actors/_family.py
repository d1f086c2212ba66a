"""The other States that one State knows: where it came from, and its children."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import attrs

if TYPE_CHECKING:
    from ._state import State


@attrs.frozen
class Origin:
    """Where a fork comes from."""

    id: str
    """The State that was forked."""
    entries: int
    """How many entries its history had then."""


@runtime_checkable
class Library(Protocol):
    """What a State needs of the store it is bound to: to open a child."""

    def load(self, state_id: str) -> "State": ...
    async def aload(self, state_id: str) -> "State": ...


@attrs.define
class Family:
    """What a State knows of others; most States never need one."""

    origin: Origin | None = None
    children: "dict[str, State]" = attrs.Factory(dict)
    """The children that ran in this process, as the objects they ran with."""
    library: Library | None = None
    """The store this State is bound to."""

    def of_a_fork(self, origin: Origin) -> "Family":
        """What a fork knows: the same children and store, and its origin."""
        return Family(origin, dict(self.children), self.library)
