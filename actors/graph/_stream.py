"""A graph's events for one who reads along.

1. The queue is bounded: the run waits for the reader between its nodes. Pieces of text
   that nobody has read yet are put together.
2. Whoever leaves early stops the run; what was committed is saved by then.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from contextvars import copy_context
from types import TracebackType
from typing import Any, Self, TypeAlias

import trio
from outcome import Error, Outcome, Value, acapture

from actors._events import Event, TextDelta
from actors._run_node import RunNode
from actors._sync import from_plain
from protocol import Message, TextBlock

from ._events import (
    CustomValue,
    GraphEnded,
    GraphEvent,
    GraphFailed,
    MessageDelta,
    StateChanged,
)

CAPACITY = 64
"""Events that may wait for the reader: a burst of a step, not a history."""


class Listener:
    """Takes what happens in one run; it is also a sink of the tree's events."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._events: deque[GraphEvent] = deque()
        self._came = trio.Event()
        self._room = trio.Event()
        self._left = False
        self._thread_id = ""
        self._token = trio.lowlevel.current_trio_token()

    def listen_to(self, node: RunNode) -> None:
        """Hear of what happens below the run of this thread."""
        self._thread_id = node.id
        node.audience = (*node.audience, self)

    def give(self, event: GraphEvent) -> None:
        """Take an event of the graph."""
        if not self._left:
            self._events.append(event)
            self._came.set()

    def give_from_anywhere(self, event: CustomValue) -> None:
        """The same, from a node that may be in a worker thread."""
        if trio.lowlevel.in_trio_run():
            self.give(event)
        else:
            self._token.run_sync_soon(self.give, event)

    def wants(self, kind: type[Event]) -> bool:
        """Whether events of this kind are looked at: only pieces of text are."""
        return kind is TextDelta and not self._left

    def put(self, event: Event) -> None:
        """Take an event of the tree: only pieces of text are of interest."""
        if not isinstance(event, TextDelta) or self._left:
            return
        node = _node_in(event.path, self._thread_id)
        last = self._events[-1] if self._events else None
        text = event.text
        if isinstance(last, MessageDelta) and last.node == node:
            self._events.pop()
            text = last.message.text() + text
        self.give(MessageDelta(node=node, message=_piece(text)))

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

    async def next(self) -> GraphEvent:
        """Wait for an event, and take it."""
        while not self._events:
            self._came = trio.Event()
            await self._came.wait()
        self._room.set()
        return self._events.popleft()

    def leave(self) -> None:
        """Nobody reads any more."""
        self._left = True
        self._events.clear()
        self._room.set()


class InnerListener:
    """Takes what happens in a graph that runs as a node, for the stream around it.

    The states of the inner graph are left out: they are those of another thread.
    """

    def __init__(self, outer: "Listener | InnerListener") -> None:
        self._outer = outer

    def give(self, event: GraphEvent) -> None:
        """Pass an event on."""
        if not isinstance(event, StateChanged):
            self._outer.give(event)

    def give_from_anywhere(self, event: CustomValue) -> None:
        """The same, from a node that may be in a worker thread."""
        self._outer.give_from_anywhere(event)

    def listen_to(self, node: RunNode) -> None:
        """Nothing to do: the tree's events reach the stream by themselves."""

    async def wait_room(self) -> None:
        """Wait until the reader of the stream has read something, or has left."""
        await self._outer.wait_room()


def _piece(text: str) -> Message:
    return Message(role="assistant", content=(TextBlock(text=text),), delta=True)


def _node_in(path: tuple[str, ...], thread_id: str) -> str:
    """The node of the thread: the id of its task comes after the thread's own."""
    task = path[path.index(thread_id) + 1]
    return task.rsplit("-", 2)[0]


Work: TypeAlias = Callable[[Listener], Awaitable[Any]]


class _Hosted:
    """The run behind a stream, in a task of its own.

    The task knows this and not the stream: a stream that its reader drops is noticed.
    """

    def __init__(self) -> None:
        self.listener = Listener()
        self.scope = trio.CancelScope()
        self.ended = trio.Event()
        self.outcome: Outcome[Any] | None = None
        self._token = trio.lowlevel.current_trio_token()

    async def host(self, work: Work) -> None:
        """Run the graph; whatever comes of it goes to the reader."""
        with self.scope:
            self.outcome = await acapture(work, self.listener)
        if isinstance(self.outcome, Value):
            self.listener.give(GraphEnded(result=self.outcome.value))
        elif isinstance(self.outcome, Error):
            self.listener.give(GraphFailed(error=self.outcome.error))
        self.ended.set()

    def leave(self) -> None:
        """Nobody reads any more: stop the run. From any thread."""
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._leave_here)

    def _leave_here(self) -> None:
        self.listener.leave()
        self.scope.cancel(reason="the stream was left")


class GraphStream:
    """The events of one run; made by `CompiledGraph.astream`."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._hosted: _Hosted | None = None
        self._is_over = False

    def _start(self) -> _Hosted:
        """Begin the run, in a task of its own that ends with the run."""
        if self._hosted is None:
            self._hosted = _Hosted()
            trio.lowlevel.spawn_system_task(
                self._hosted.host,
                self._work,
                name="callboard graph stream",
                context=copy_context(),
            )
        return self._hosted

    async def __aenter__(self) -> Self:
        self._start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the run, if it still runs, and wait for its end."""
        self._is_over = True
        if self._hosted is not None:
            self._hosted.leave()
            with trio.CancelScope(shield=True):
                await self._hosted.ended.wait()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> GraphEvent:
        if self._is_over:
            await self._raise_what_left()
            raise StopAsyncIteration
        try:
            event = await self._start().listener.next()
            await trio.lowlevel.checkpoint()
        except trio.Cancelled:
            await self.aclose()
            raise
        self._is_over = isinstance(event, GraphEnded | GraphFailed)
        return event

    async def _raise_what_left(self) -> None:
        """Raise the run's failure, once its event was read."""
        await trio.lowlevel.checkpoint()
        hosted, self._hosted = self._hosted, None
        if hosted is not None and isinstance(hosted.outcome, Error):
            hosted.outcome.unwrap()

    def __del__(self) -> None:
        # A reader that breaks out of a plain `async for` drops the stream right there.
        if self._hosted is not None and not self._hosted.ended.is_set():
            self._hosted.leave()


def stream_from_plain(astream: Callable[..., GraphStream], *args: Any) -> Iterator[Any]:
    """The events of a run, for plain code; closing the iterator stops the run.

    Raises:
        TypeError: on a trio thread; or as ``astream``.
        ValueError: as ``astream``.
    """
    if trio.lowlevel.in_trio_run():
        raise TypeError(
            "stream() waits, and a trio thread must not: write 'async with "
            "app.astream(...) as events'"
        )
    return _read(astream(*args))


def _read(stream: GraphStream) -> Iterator[Any]:
    try:
        while True:
            try:
                event = from_plain(stream.__anext__)
            except StopAsyncIteration:
                return
            yield event
    finally:
        from_plain(stream.aclose)
