"""Worker threads for plain functions, with a limit that cannot deadlock.

1. A thread holds one slot while it computes. While it waits for a run that it started,
   it gives the slot back, so that what it waits for can have it.
2. A thread cannot be stopped. When its call is cancelled the caller goes on at once;
   the thread keeps its slot until it ends, and what it returns is reported then.
"""

from collections.abc import Callable
from typing import Any

import trio
from outcome import Outcome, capture

_EVERY_THREAD = 1_000_000
"""trio's own limiter must never be what a thread waits for; the slots are."""


class ThreadSlots:
    """How many plain functions compute at once."""

    def __init__(self, slots: int) -> None:
        self._slots = trio.CapacityLimiter(slots)
        self._threads = trio.CapacityLimiter(_EVERY_THREAD)

    @property
    def in_use(self) -> int:
        """Slots taken now."""
        return self._slots.borrowed_tokens

    async def take(self, owner: object) -> None:
        """Wait for a slot, in order of asking. Cancelled, it holds none."""
        await self._slots.acquire_on_behalf_of(owner)

    def give_back(self, owner: object) -> None:
        """Give a slot back."""
        self._slots.release_on_behalf_of(owner)

    def lend(self, owner: object) -> bool:
        """Give back the slot of a thread that begins to wait; False if it has none."""
        if owner not in self._slots.statistics().borrowers:
            return False
        self._slots.release_on_behalf_of(owner)
        return True

    async def run(self, work: Callable[[], Any]) -> Outcome[Any]:
        """Run ``work`` in a thread, and give what came of it; needs a slot.

        It cannot be cancelled: it either never starts or runs to its end.
        """

        def in_thread() -> Outcome[Any]:
            came: Outcome[Any] = capture(work)
            return came

        outcomes: list[Outcome[Any]] = []
        with trio.CancelScope(shield=True):
            outcomes.append(
                await trio.to_thread.run_sync(in_thread, limiter=self._threads)
            )
        return outcomes[0]
