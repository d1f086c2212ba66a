"""Telling whoever looks on what happens.

1. A sink takes an event at once and never raises; one that is full says so, and the
   run waits for room where it can wait.
"""

from typing import Protocol

from ._events import Event, TextDelta
from ._node import Node


class Sink(Protocol):
    """Where events go: a reporter's queue, or a stream's.

    ``wants``: whether events of this kind are looked at at all. ``put``: take an event;
    must be quick and must not raise. ``full``: whether the run should wait before it
    goes on. ``wait_room``: wait until it is not full.
    """

    def wants(self, kind: type[Event]) -> bool: ...
    def put(self, event: Event) -> None: ...
    @property
    def full(self) -> bool: ...
    async def wait_room(self) -> None: ...


def tell(node: Node, event: Event) -> None:
    """Give an event to everybody who listens at or above this node."""
    for sink in node.audience:
        sink.put(event)


def wants_text(node: Node) -> bool:
    """Whether anybody looks at replies while they come."""
    if not node.audience:
        return False
    return any(sink.wants(TextDelta) for sink in node.audience)


async def room(node: Node) -> None:
    """Wait until every stream that listens has room."""
    for sink in node.audience:
        if sink.full:
            await sink.wait_room()
