"""Every event of a tree, as it happens, for one who reads along.

1. What is read is in commit order for each State.
2. The queue is bounded: a run waits for the reader where it can wait. Pieces of text
   that nobody has read yet are put together.
"""

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio

from ._events import Event, TextDelta
from ._node import Node, Stop
from ._run import Run
from ._run_node import RunNode
from ._state import State
from ._supervisor import Supervisor, around, open_supervisor

CAPACITY = 64
"""Events that may wait for the reader: a burst of a fan, not a history."""


@attrs.frozen(kw_only=True)
class StreamStatistics:
    """A frozen picture of a stream."""

    waiting: int
    """Events that nobody has read yet."""
    peak: int
    """The most there have been."""
    capacity: int


class Stream:
    """Events to read with ``async for``; made by `Agent.stream`."""

    def __init__(self, node: RunNode, capacity: int = CAPACITY) -> None:
        self.run = Run(node)
        """The run behind it."""
        self._node = node
        self._capacity = capacity
        self._events: deque[Event] = deque()
        self._peak = 0
        self._over = False
        self._left = False
        self._came = trio.Event()
        self._room = trio.Event()

    def wants(self, kind: type[Event]) -> bool:
        """Whether events of this kind are read: all are, while somebody reads."""
        return not self._left

    def put(self, event: Event) -> None:
        """Take an event; one more piece of text goes to the last one when full."""
        if self._left:
            return
        events = self._events
        last = events[-1] if events else None
        if (
            isinstance(event, TextDelta)
            and isinstance(last, TextDelta)
            and last.path == event.path
        ):
            events[-1] = TextDelta(path=event.path, text=last.text + event.text)
            return
        events.append(event)
        self._peak = max(self._peak, len(events))
        self._came.set()

    @property
    def full(self) -> bool:
        """Whether the run should wait for the reader."""
        return not self._left and len(self._events) >= self._capacity

    async def wait_room(self) -> None:
        """Wait until the reader has read something, or has left."""
        while self.full:
            if self._room.is_set():
                self._room = trio.Event()
            await self._room.wait()

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._over:
                await trio.lowlevel.checkpoint()
                self._node.result()
                raise StopAsyncIteration
            self._came = trio.Event()
            await self._came.wait()
        event = self._events.popleft()
        self._room.set()
        await trio.lowlevel.checkpoint()
        return event

    def end(self, _node: Node) -> None:
        """The run has ended: what is left can still be read."""
        self._over = True
        self._came.set()

    def leave(self) -> None:
        """Nobody reads any more: drop what is left and what comes."""
        self._left = True
        self._events.clear()
        self._room.set()

    def statistics(self) -> StreamStatistics:
        """A frozen picture of the queue."""
        return StreamStatistics(
            waiting=len(self._events), peak=self._peak, capacity=self._capacity
        )


@asynccontextmanager
async def open_stream(agent: Any, state: State) -> AsyncGenerator[Stream, None]:
    """Start a run and read its events; see `Agent.stream`."""
    supervisor = around.get()
    if supervisor is None:
        async with (
            open_supervisor(grace_s=agent.grace_s) as opened,
            _reading(opened, agent, state, is_alone=True) as stream,
        ):
            yield stream
        return
    async with _reading(supervisor, agent, state) as stream:
        yield stream


@asynccontextmanager
async def _reading(
    supervisor: Supervisor, agent: Any, state: State, is_alone: bool = False
) -> AsyncGenerator[Stream, None]:
    node = RunNode.root(supervisor, agent, state)
    node.is_alone = is_alone
    stream = Stream(node)
    node.audience = (*node.audience, stream)
    node.on_end = stream.end
    supervisor._spawn(node, agent._drive, node)
    try:
        yield stream
    finally:
        stream.leave()
        node.stop_tree(Stop("the stream was left", "interrupted", agent.grace_s))
        with trio.CancelScope(shield=True):
            await node.wait_ended()
