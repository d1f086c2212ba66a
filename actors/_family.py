"""The other States that one State knows: where it came from, and its children."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import attrs
import msgspec

if TYPE_CHECKING:
    from ._state import State


class Origin(msgspec.Struct, frozen=True):
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

    children: "dict[str, State]"
    """The children that ran in this process, as the objects they ran with."""
    library: Library | None = None
    """The store this State is bound to."""
    origin: Origin | None = None
    """Where this State was forked from."""


def of_a_fork(original: Family | None, origin: Origin) -> Family:
    """What a fork knows: the same children and store, and its origin."""
    if original is None:
        return Family({}, None, origin)
    return Family(dict(original.children), original.library, origin)
