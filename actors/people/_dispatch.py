"""`Dispatch`: carries events to a reporter, off the path of the runs.

1. `Dispatch.put` never raises and never waits for a hook that is slow or blocked.
2. What waits is bounded; what finds no room is dropped and counted.
3. The end of a run is worth more than what led to it: where there is no room for it, it
   takes the place of the last event that is no such end.
4. One thread calls the hooks, in the order of the events. A hook that raises is
   counted, and logged the first time.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from threading import Condition, Thread
from typing import ClassVar

import attrs
import trio

from actors._events import Event, RunEnd

from ._reporter import Reporter

CAPACITY = 64
"""Events that may wait: some turns of one agent, and no memory to speak of."""

PATIENCE_S = 0.005
"""How long a sender lets a thread that was only short of the processor catch up.

It is as long as Python lets one thread keep the processor from another, in which a
scripted run makes hundreds of events. Without it, a reporter that needs 1 µs an event
would lose most of them; with it, that one loses none.
"""

FLUSH_S = 1.0
"""How long closing waits for hooks: a person notices more, a screen needs less."""

SLICES = 10
"""How often closing looks whether quick hooks are done, before a thread waits."""

_log = logging.getLogger("actors.people")


@attrs.frozen(kw_only=True)
class DispatchStatistics:
    """What became of the events that were told."""

    shown: int
    """Events whose hook has been called, those that raised included."""
    dropped: int
    """Events that found no room, or came after the end."""
    failed: int
    """Hooks that raised."""
    waiting: int
    """Events whose turn has not come."""
    peak: int
    """The most that ever waited."""
    in_hook: str | None
    """The hook that runs now, by name: after `aclose`, the one that did not return."""


class Dispatch:
    """Tells a reporter what happens, in order, in a thread of its own.

    The thread starts with the first event that the reporter has a hook for, and ends
    with `aclose`.

    Args:
        reporter: Whose hooks are called.
        capacity: Events that may wait.
    """

    __slots__ = (
        "_capacity",
        "_changed",
        "_closed",
        "_dropped",
        "_ended",
        "_failed",
        "_hooks",
        "_in_hook",
        "_patient",
        "_peak",
        "_queue",
        "_reporter",
        "_shown",
        "_thread",
    )

    def __init__(self, reporter: Reporter, capacity: int = CAPACITY) -> None:
        self._reporter = reporter
        self._capacity = capacity
        self._hooks = _own_hooks(reporter)
        self._queue: deque[Event] = deque()
        self._changed = Condition()
        self._thread: Thread | None = None
        self._patient = True
        self._closed = False
        self._ended = False
        self._in_hook: str | None = None
        self._shown = 0
        self._dropped = 0
        self._failed = 0
        self._peak = 0

    def wants(self, kind: type[Event]) -> bool:
        """Whether the reporter has a hook of its own for events of this kind."""
        return kind.hook in self._hooks

    full: ClassVar[bool] = False
    """No run waits for a reporter: what finds no room is dropped."""

    async def wait_room(self) -> None:
        """Return at once: it is never full."""
        await trio.lowlevel.checkpoint()

    def put(self, event: Event) -> None:
        """Have the hook of ``event`` called; may be called from any thread.

        Events without a hook cost nothing. When there is no room, the sender waits
        once, for at most `PATIENCE_S`, for the thread to catch up; if it does not, all
        events are dropped until it has. So a blocked hook costs its runs that time
        once, and a slow one that time for each ``capacity`` events at most.
        """
        if event.hook not in self._hooks:
            return
        with self._changed:
            if self._closed or not (self._has_thread() and self._has_room(event)):
                self._dropped += 1
                return
            self._queue.append(event)
            self._peak = max(self._peak, len(self._queue))
            if self._in_hook is None:
                self._changed.notify_all()

    def _has_thread(self) -> bool:
        if self._thread is None:
            name = f"reporter {type(self._reporter).__name__}"
            thread = Thread(target=self._work, name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system has no thread left, or the process ends
                return False
            self._thread = thread
        return True

    def _has_room(self, event: Event) -> bool:
        if len(self._queue) < self._capacity:
            return True
        if self._patient:
            # The wait gives the processor away, so a quick hook is done at once.
            self._patient = self._changed.wait_for(self._is_empty, PATIENCE_S)
        if len(self._queue) >= self._capacity and isinstance(event, RunEnd):
            self._make_room()
        return len(self._queue) < self._capacity and not self._closed

    def _make_room(self) -> None:
        """Drop the last event that ends no run, if there is one."""
        for index in reversed(range(len(self._queue))):
            if not isinstance(self._queue[index], RunEnd):
                del self._queue[index]
                self._dropped += 1
                return

    def _is_empty(self) -> bool:
        return not self._queue

    def _work(self) -> None:
        while (event := self._next()) is not None:
            try:
                getattr(self._reporter, event.hook)(event)
            except BaseException:  # noqa: BLE001 - an observer breaks nothing
                self._failed += 1
                if self._failed == 1:
                    _log.warning(
                        "%s.%s raised; more of it is only counted",
                        type(self._reporter).__name__,
                        event.hook,
                        exc_info=True,
                    )

    def _next(self) -> Event | None:
        """Wait for an event; None at the end. The thread is idle while it waits."""
        with self._changed:
            if self._in_hook is not None:
                self._in_hook = None
                self._shown += 1
            if not self._queue:
                self._patient = True
                self._changed.wait_for(lambda: self._queue or self._closed)
            if not self._queue:
                self._ended = True
                self._changed.notify_all()
                return None
            event = self._queue.popleft()
            self._in_hook = event.hook
            if not self._queue:
                self._changed.notify_all()
            return event

    def statistics(self) -> DispatchStatistics:
        """A frozen picture of what was told so far."""
        with self._changed:
            return DispatchStatistics(
                shown=self._shown,
                dropped=self._dropped,
                failed=self._failed,
                waiting=len(self._queue),
                peak=self._peak,
                in_hook=self._in_hook,
            )

    async def aclose(self) -> None:
        """Have what waits shown, and end the thread. Closing again changes nothing.

        Waits `FLUSH_S` seconds of real time at most, also when cancelled; then what
        still waits is dropped. A hook that has not returned by then is named in
        `statistics`, and its thread, a daemon, ends when it returns.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        with trio.CancelScope(shield=True):
            for _ in range(SLICES):
                if self._wait_ended(PATIENCE_S):
                    break
                # Never idle yet: a virtual clock would jump ahead meanwhile.
                await trio.lowlevel.checkpoint()
            else:
                # Not a deadline of trio's: under a virtual clock it would pass at once.
                limiter = trio.CapacityLimiter(1)
                await trio.to_thread.run_sync(self._flush, limiter=limiter)
            await trio.lowlevel.checkpoint()

    def _wait_ended(self, seconds: float) -> bool:
        with self._changed:
            if self._thread is None:
                return True
            return self._changed.wait_for(self._has_ended, seconds)

    def _has_ended(self) -> bool:
        return self._ended

    def _flush(self) -> None:
        if not self._wait_ended(FLUSH_S):
            with self._changed:
                self._dropped += len(self._queue)
                self._queue.clear()


def dispatch_to(
    reporter: Reporter,
    known: dict[int, Dispatch],
    at_close: list[Callable[[], Awaitable[None]]],
) -> Dispatch:
    """The one dispatch to a reporter among those known; a new one is closed at the end.

    Args:
        reporter: Who looks on.
        known: Dispatches by the identity of their reporter.
        at_close: What is awaited when no more events come.
    """
    dispatch = known.get(id(reporter))
    if dispatch is None:
        dispatch = known[id(reporter)] = Dispatch(reporter)
        at_close.append(dispatch.aclose)
    return dispatch


def _own_hooks(reporter: Reporter) -> frozenset[str]:
    """The hooks that do something: those that are not the base class's own."""
    names = [name for name in vars(Reporter) if name.startswith("on_")]
    return frozenset(
        name
        for name in names
        if getattr(getattr(reporter, name), "__func__", None)
        is not getattr(Reporter, name)
    )
