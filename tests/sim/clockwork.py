"""One trio run in which nothing happens by chance: tasks, time, threads and names.

1. The seed decides who steps next, and every random number.
2. Time passes only while everybody sleeps, and the clock on the wall follows it.
3. A worker thread is a sleep that no cancel ends, then the whole function at once.
4. Ids are counted from one.
"""

import random
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import copy_context
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from unittest.mock import patch

import trio
import trio.testing

from actors.testing._schedule import chooser_of, controlled
from protocol import _ids
from protocol._entry import EPOCH

THREAD_S = (0.0, 0.01, 2.0)
"""How long a function in a thread takes: one of these."""

STEPS_MAX = 300_000
"""A run that takes more steps than this turns in circles."""


class Circles(BaseException):
    """The run took more steps than any that settles."""


class Steps(trio.abc.Instrument):
    """Counts the steps of all tasks, and ends a run that has no end."""

    def __init__(self) -> None:
        self.taken = 0
        self.scope = trio.CancelScope()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.taken += 1
        if self.taken == STEPS_MAX:
            self.scope.cancel()


def run_like_clockwork(main: Callable[[], Awaitable[None]], seed: int) -> int:
    """Run an async function; gives the steps that its tasks took."""
    steps = Steps()
    clock = trio.testing.MockClock(autojump_threshold=0)
    before = random.getstate()
    random.seed(seed)

    async def bounded() -> None:
        with steps.scope:
            await main()
        if steps.scope.cancelled_caught:
            raise Circles(f"more than {STEPS_MAX} steps")

    try:
        with _nothing_by_chance(), controlled(chooser_of(seed)):
            trio.run(bounded, clock=clock, instruments=[steps])
    finally:
        random.setstate(before)
    return steps.taken


@contextmanager
def _nothing_by_chance() -> Generator[None]:
    with (
        patch("actors._mailbox.now", _now),
        patch("actors._beginning.now", _now),
        patch("trio.to_thread.run_sync", _in_no_thread),
        patch.object(_ids._source, "prefix", "n"),
        patch.object(_ids._source, "next", count(1).__next__),
    ):
        yield


def _now() -> datetime:
    return EPOCH + timedelta(days=1, seconds=trio.current_time())


async def _in_no_thread(
    fn: Callable[..., Any],
    *args: Any,
    limiter: trio.CapacityLimiter | None = None,
    **_options: Any,
) -> Any:
    """What `trio.to_thread.run_sync` does, on this thread and at a known time."""
    await trio.lowlevel.checkpoint_if_cancelled()
    if limiter is not None:
        await limiter.acquire_on_behalf_of(borrower := object())
    try:
        with trio.CancelScope(shield=True):
            await trio.sleep(random.choice(THREAD_S))
        return copy_context().run(fn, *args)
    finally:
        if limiter is not None:
            limiter.release_on_behalf_of(borrower)
