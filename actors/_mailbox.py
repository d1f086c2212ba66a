"""What makes an object an actor: its messages are handled one at a time.

1. A step runs to completion in the thread of the sender that finds the mailbox empty;
   other senders queue behind it. No step ever waits, so neither does a sender for long.
2. What is published is read by anybody at any time, without waiting.
3. There is one commit point: `Mailbox.send` publishes what `protocol` made of a
   command, or raises and has published nothing.
"""

from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from threading import RLock
from typing import Any, TypeAlias

import trio
from trio.lowlevel import enable_ki_protection

from protocol._commands import AnyCommand, Request
from protocol._decide import decide, step
from protocol._errors import ActorClosed
from protocol._value import Calling, Thinking, Value

CAPACITY = 64
"""How many requests stand in a mailbox; the senders of further ones wait for room."""

Listener: TypeAlias = Callable[[Value, Value], None]
"""Told of commits, in commit order, each once: the value it was told of last, and the
one now. Commits made while it is being told come in one go afterwards.

It runs inside the step: it must be quick, and it must not raise.
"""


class Waiter:
    """A task that stands in a mailbox; anybody may wake it, from any thread."""

    __slots__ = ("_event", "_token")

    def __init__(self) -> None:
        self._event = trio.Event()
        self._token = trio.lowlevel.current_trio_token()

    def wake(self) -> None:
        """Let the task look again. Does nothing when its trio run is over."""
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._wake_here)

    def _wake_here(self) -> None:
        self._event.set()

    def sleep(self) -> None:
        """Wait for another wake."""
        self._event = trio.Event()

    async def woken(self) -> None:
        """Wait until somebody wakes this."""
        await self._event.wait()


class _Told:
    """A listener, and the value it was told of last."""

    __slots__ = ("listener", "value")

    def __init__(self, listener: Listener, value: Value) -> None:
        self.listener = listener
        self.value = value

    def tell(self, value: Value) -> None:
        before = self.value
        if before is not value:
            self.value = value
            self.listener(before, value)


now = partial(datetime.now, UTC)
"""Tells the time of an entry, in UTC."""


class Mailbox:
    """Takes commands one at a time and publishes the value they lead to."""

    __slots__ = (
        "_born", "_closed", "_listeners", "_waiting",
        "being_compacted", "lock", "run", "value",
    )  # fmt: skip

    def __init__(self, value: Value) -> None:
        self.value = value
        self._born = value.size
        self.lock = RLock()
        self._closed: str | None = None
        self._listeners: tuple[_Told, ...] = ()
        self._waiting: OrderedDict[Waiter, None] | None = None
        # What drives the actor in this process: a run, which this layer knows not of.
        self.run: Any = None
        self.being_compacted = False

    @enable_ki_protection  # Ctrl+C tears no commit from its wakes
    def send(self, command: AnyCommand) -> Value:
        """Handle one command, and return the value it led to.

        Commands of one thread are handled in the order it sends them. A command sent
        from inside a step of the same thread (by a signal handler, or a finalizer that
        the garbage collector runs) is handled first; the step around it then starts
        again on what that led to, so neither is lost.

        Raises:
            ActorClosed: the actor is closed and the command would record something.
            ValueError: the phase, or a rule of the command, refuses it.
            TypeError: a value in it cannot be recorded.
        """
        with self.lock:
            while True:
                value, closed = self.value, self._closed
                if closed is not None and decide(value, command, now) is not None:
                    raise self._closed_to(command)
                new = step(value, command, now)
                # No call between this check and the store: nothing can come between.
                if self.value is value and self._closed is closed:
                    self.value = new
                    break
            if self._listeners:
                for told in self._listeners:
                    told.tell(self.value)
            if self._waiting:
                self._wake_next()
            return new

    def _wake_next(self) -> None:
        """Wake the first waiter, if it may go on."""
        if self._waiting and (self.value.open is None or self._closed is not None):
            next(iter(self._waiting)).wake()

    @enable_ki_protection  # Ctrl+C leaves no waiter behind that nobody waits for
    async def send_in_turn(self, command: Request) -> Value:
        """Handle a request for the model as soon as no turn is open.

        One that finds another request waiting on the model stands in the mailbox, in
        order, until that turn has closed. Cancelled while it waits, it leaves the
        mailbox and nothing is recorded.

        Raises:
            ActorClosed: the actor is closed, or was closed while this waited.
            ValueError: calls have no result yet; or the request in the way has no run
                behind it in this process, so that nobody would ever end it.
        """
        with self.lock:
            if not self._must_wait():
                return self.send(command)
            if self._waiting is None:
                self._waiting = OrderedDict()
            waiter = Waiter()
            self._waiting[waiter] = None
        try:
            new: Value | None = None
            while new is None:
                await waiter.woken()
                new = self._send_if_next(waiter, command)
            return new
        finally:
            self._leave(waiter)

    def _send_if_next(self, waiter: Waiter, command: Request) -> Value | None:
        """Handle the request of a waiter that was woken, if it is its turn."""
        assert self._waiting is not None, "a waiter stands in the mailbox"
        with self.lock:
            if self._closed is not None:
                raise self._closed_to(command)
            if self.value.open is None and next(iter(self._waiting)) is waiter:
                return self.send(command)
            waiter.sleep()
            return None

    def _must_wait(self) -> bool:
        turn = self.value.open
        if self._closed is not None or type(turn) is Calling:
            return False
        if type(turn) is Thinking and turn.request < self._born:
            raise ValueError(
                "cannot think: a request waits on the model, and no run here will end "
                "it (this State was loaded, or built from a history); agent.run(state) "
                "takes it back first"
            )
        return type(turn) is Thinking or bool(self._waiting)

    @enable_ki_protection  # one that stayed would stop all those behind it
    def _leave(self, waiter: Waiter) -> None:
        """Whoever stops waiting makes room for the next, whatever the reason."""
        with self.lock:
            assert self._waiting is not None, "a waiter stands in the mailbox"
            del self._waiting[waiter]
            self._wake_next()

    @property
    def waiting(self) -> int:
        """How many requests stand in the mailbox, at most `CAPACITY`."""
        return min(len(self._waiting or ()), CAPACITY)

    @property
    def outside(self) -> int:
        """How many senders wait for room in the mailbox, in order."""
        return len(self._waiting or ()) - self.waiting

    def _closed_to(self, command: AnyCommand) -> ActorClosed:
        return ActorClosed(f"cannot handle {type(command).__name__!r}: {self._closed}")

    @property
    def born(self) -> int:
        """How many entries there were when this mailbox was made."""
        return self._born

    @property
    def closed(self) -> str | None:
        """Why the actor takes no more entries, or None while it does."""
        return self._closed

    @enable_ki_protection  # Ctrl+C leaves no waiter behind
    def close(self, reason: str | None) -> None:
        """Take no more entries. Reads go on. Closing again changes nothing."""
        with self.lock:
            if self._closed is None:
                self._closed = reason or "it was closed"
                for waiter in self._waiting or ():
                    waiter.wake()

    @contextmanager
    def compacting(self) -> Generator[None]:
        """A compaction is under way in the block: nobody may go back meanwhile.

        Raises:
            ValueError: another compaction is under way.
        """
        with self.lock:
            if self.being_compacted:
                raise ValueError("cannot compact: a compaction is under way already")
            self.being_compacted = True
        try:
            yield
        finally:
            self.being_compacted = False

    def listen(self, listener: Listener) -> None:
        """Have every later commit told to ``listener``."""
        with self.lock:
            self._listeners = (*self._listeners, _Told(listener, self.value))

    def unlisten(self, listener: Listener) -> None:
        """Tell ``listener`` nothing more; unknown listeners are ignored."""
        with self.lock:
            self._listeners = tuple(
                told for told in self._listeners if told.listener != listener
            )
