"""The other States that one State knows: where it came from, and its children."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import attrs
import msgspec

from protocol._value import Value

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
    async def asave(self, state: "State") -> None: ...


def _no_children() -> "dict[str, State]":
    return {}


@attrs.define
class Family:
    """What a State knows of others; most States never need one."""

    children: "dict[str, State]"
    """The children that ran in this process, as the objects they ran with."""
    library: Library | None = None
    """The store this State is bound to."""
    origin: Origin | None = None
    """Where this State was forked from."""
    waiting: "dict[str, State]" = attrs.Factory(_no_children)
    """Children that wait for answers, by the call of this State that they belong to."""


def find_child(
    family: Family | None, value: Value, child_id: str, parent_id: str
) -> "State | Library":
    """The child itself where it lives in this process, else the store that has it.

    Raises:
        KeyError: it is no direct child.
        ValueError: it is, but not in memory, and no store is bound.
    """
    if family is not None and child_id in family.children:
        return family.children[child_id]
    if not value.history.has_child(value.size, child_id):
        raise KeyError(
            f"{child_id!r} is not a child of State {parent_id!r}: its children are the "
            f"child_ids of its tool_result entries (a grandchild is "
            f"state.child(a).child(b))"
        )
    if family is None or family.library is None:
        raise ValueError(
            f"child {child_id!r} is not in memory and no store is bound to State "
            f"{parent_id!r}: load this State from the store that has the child"
        )
    return family.library


def of_a_fork(original: Family | None, origin: Origin) -> Family:
    """What a fork knows: the same children and store, and its origin."""
    if original is None:
        return Family({}, None, origin)
    return Family(dict(original.children), original.library, origin)
