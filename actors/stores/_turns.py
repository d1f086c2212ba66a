"""Whose turn it is to write one State: any number of threads and tasks may wait.

Callers look again when they are woken; who comes first is not promised, and need not
be: whoever writes first writes for all that wait.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock

import trio

_guard = Lock()
"""Guards the flags of all turns; held for a few instructions at a time."""


class Turn:
    """Taken by one writer at a time."""

    __slots__ = ("_taken", "_waiting")

    def __init__(self) -> None:
        self._taken = False
        self._waiting: list[Callable[[], object]] | None = None

    def take(self) -> bool:
        """Take the turn unless somebody has it; never waits."""
        with _guard:
            if self._taken:
                return False
            self._taken = True
            return True

    def give_back(self) -> None:
        """End the turn and wake everybody who waits."""
        with _guard:
            self._taken = False
            waiting, self._waiting = self._waiting, None
        for wake in waiting or ():
            wake()

    def wait(self) -> None:
        """Let a plain thread wait until the turn was given back.

        Raises:
            ValueError: this is a trio thread, where the wait could be for a task that
                needs this very thread.
        """
        if trio.lowlevel.in_trio_run():
            raise ValueError(
                "another task is saving this State, and a plain save on a trio thread "
                "cannot wait for it: write 'await store.asave(state)'"
            )
        woken = Event()
        if self._add(woken.set):
            woken.wait()

    async def await_(self) -> None:
        """The same for a task. Cancelled while it waits, it leaves."""
        event = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def wake() -> None:
            # A run that is over has nobody left to wake.
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(event.set)

        if self._add(wake):
            await event.wait()

    def _add(self, wake: Callable[[], object]) -> bool:
        with _guard:
            if not self._taken:
                return False
            if self._waiting is None:
                self._waiting = []
            self._waiting.append(wake)
            return True
