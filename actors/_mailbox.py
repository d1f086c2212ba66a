"""What makes an object an actor: its messages are handled one at a time.

1. A step runs to completion in the thread of the sender that finds the mailbox empty;
   other senders queue behind it. No step ever waits, so neither does a sender for long.
2. What is published is read by anybody at any time, without waiting.
3. There is one commit point: `Mailbox.send` publishes what `protocol` made of a
   command, or raises and has published nothing.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from threading import RLock
from typing import TypeAlias

import trio

from protocol._commands import AnyCommand, Request
from protocol._decide import decide, step
from protocol._errors import ActorClosed
from protocol._value import Thinking, Value

Listener: TypeAlias = Callable[[Value, Value], None]
"""Told of each commit, in commit order: the value before, and the one after.

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
            self._token.run_sync_soon(lambda: self._event.set())

    def sleep(self) -> None:
        """Wait for another wake."""
        self._event = trio.Event()

    async def woken(self) -> None:
        """Wait until somebody wakes this."""
        await self._event.wait()


def now() -> datetime:
    """The time of an entry, in UTC."""
    return datetime.now(UTC)


class Mailbox:
    """Takes commands one at a time and publishes the value they lead to."""

    __slots__ = ("_born", "_closed", "_listeners", "_waiting", "lock", "value")

    def __init__(self, value: Value) -> None:
        self.value = value
        self._born = value.size
        self.lock = RLock()
        self._closed: str | None = None
        self._listeners: tuple[Listener, ...] = ()
        self._waiting: deque[Waiter] | None = None

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
                value = self.value
                if self._closed is not None:
                    self._refuse_entry(value, command)
                new = step(value, command, now)
                # No call between this check and the store: nothing can come between.
                if self.value is value:
                    self.value = new
                    break
            if new is not value:
                for listener in self._listeners:
                    listener(value, new)
                if self._waiting and new.open is None:
                    self._waiting[0].wake()
            return new

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
            waiter = Waiter()
            if self._waiting is None:
                self._waiting = deque()
            self._waiting.append(waiter)
        try:
            await waiter.woken()
            while True:
                with self.lock:
                    if self._closed is not None or self.value.open is None:
                        return self.send(command)
                    waiter.sleep()
                await waiter.woken()
        finally:
            self._leave(waiter)

    def _must_wait(self) -> bool:
        open_turn = self.value.open
        if self._waiting and self._closed is None:
            return True
        if type(open_turn) is not Thinking or self._closed is not None:
            return False
        if open_turn.request < self._born:
            raise ValueError(
                "cannot think: a request waits on the model, and no run here will end "
                "it (this State was loaded, or built from a history); agent.run(state) "
                "takes it back first"
            )
        return True

    def _leave(self, waiter: Waiter) -> None:
        """Whoever stops waiting makes room for the next, whatever the reason."""
        with self.lock:
            assert self._waiting is not None, "a waiter stands in the mailbox"
            self._waiting.remove(waiter)
            if self._waiting and (self.value.open is None or self._closed is not None):
                self._waiting[0].wake()

    @property
    def waiting(self) -> int:
        """How many requests stand in the mailbox."""
        return len(self._waiting) if self._waiting else 0

    def _refuse_entry(self, value: Value, command: AnyCommand) -> None:
        if decide(value, command, now) is not None:
            raise ActorClosed(
                f"cannot handle {type(command).__name__!r}: {self._closed}"
            )

    @property
    def closed(self) -> str | None:
        """Why the actor takes no more entries, or None while it does."""
        return self._closed

    def close(self, reason: str | None) -> None:
        """Take no more entries. Reads go on. Closing again changes nothing."""
        with self.lock:
            if self._closed is None:
                self._closed = reason or "it was closed"
                value = self.value
                for waiter in self._waiting or ():
                    waiter.wake()

    def listen(self, listener: Listener) -> None:
        """Have every later commit told to ``listener``."""
        with self.lock:
            self._listeners = (*self._listeners, listener)

    def unlisten(self, listener: Listener) -> None:
        """Tell ``listener`` nothing more; unknown listeners are ignored."""
        with self.lock:
            self._listeners = tuple(x for x in self._listeners if x != listener)
