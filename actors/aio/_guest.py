"""One trio run as the guest of an asyncio loop."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import trio
from outcome import Outcome, acapture

from actors._agent import Agent
from actors._state import State
from actors.tools._asyncio import host_loop
from protocol import RunCancelled

T = TypeVar("T")


async def run(agent: Agent, prompt: str | State) -> Any:
    """Await ``agent.arun(prompt)`` from asyncio.

    Cancelled (``task.cancel()``, a timeout, a client that has gone), the run is
    cancelled and joined within its grace before the ``CancelledError`` goes on.

    Raises:
        RunCancelled: the run was cancelled from inside.
        BaseException: what left the run, the very exception.
    """
    return await call(agent.arun, prompt)


async def call(fn: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Await any function that is written for trio, from asyncio.

    Raises:
        TypeError: this is no asyncio task.
        BaseException: what ``fn`` raised.
    """
    if trio.lowlevel.in_trio_task():
        raise TypeError("this is a trio task already: await the function itself")
    loop = asyncio.get_running_loop()
    # A thread has one trio run at a time: the next begins when the last is over.
    while (guest := _guests.get(loop)) is not None and guest.closing:
        await guest.over()
    if guest is None:
        guest = _guests[loop] = _Guest(loop)
    result: T = await guest.call(fn, *args)
    return result


class _Guest:
    """The trio run of one asyncio loop, and the calls that it serves."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.closing = False
        """Whether its last call has ended: it takes no others."""
        self._loop = loop
        self._calls = 0
        self._token: trio.lowlevel.TrioToken | None = None
        self._nursery: trio.Nursery | None = None
        self._ready = loop.create_future()
        self._over = loop.create_future()
        trio.lowlevel.start_guest_run(
            self._main,
            run_sync_soon_threadsafe=loop.call_soon_threadsafe,
            run_sync_soon_not_threadsafe=loop.call_soon,
            done_callback=self._done,
            host_uses_signal_set_wakeup_fd=True,
        )

    async def _main(self) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._token = trio.lowlevel.current_trio_token()
            self._ready.set_result(None)
            await trio.sleep_forever()

    def _done(self, _outcome: Outcome[None]) -> None:
        del _guests[self._loop]
        self._over.set_result(None)

    async def over(self) -> None:
        """Wait until the trio run has ended."""
        await asyncio.shield(self._over)

    async def call(self, fn: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        """Run ``fn`` as a task of the trio run, and wait for its end."""
        self._calls += 1
        try:
            await asyncio.shield(self._ready)
            return await self._task(fn, *args)
        finally:
            self._calls -= 1
            if not self._calls:
                await self._close()

    async def _task(self, fn: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        assert self._nursery is not None, "the trio run is ready"
        assert self._token is not None, "the trio run is ready"
        ended = self._loop.create_future()
        scope = trio.CancelScope()

        async def work() -> None:
            host_loop.set(self._loop)
            with scope:
                ended.set_result(await acapture(fn, *args))

        context = copy_context()
        nursery = self._nursery
        self._token.run_sync_soon(lambda: context.run(nursery.start_soon, work))
        return _unwrapped(await self._end_of(ended, scope, self._token))

    async def _end_of(
        self,
        ended: "asyncio.Future[Outcome[Any]]",
        scope: trio.CancelScope,
        token: trio.lowlevel.TrioToken,
    ) -> Outcome[Any]:
        """Wait for the end; an asyncio cancel goes to trio first, then on."""
        cancelled: asyncio.CancelledError | None = None
        while not ended.done():
            try:
                await asyncio.shield(ended)
            except asyncio.CancelledError as error:
                if cancelled is None:
                    cancelled = error
                    token.run_sync_soon(scope.cancel)
        if cancelled is not None:
            raise cancelled
        return ended.result()

    async def _close(self) -> None:
        """The last call has ended: so does the trio run; the next call begins anew.

        An asyncio cancel that comes meanwhile goes on once the trio run is over.
        """
        assert self._token is not None, "it was ready"
        assert self._nursery is not None, "it was ready"
        self.closing = True
        self._token.run_sync_soon(self._nursery.cancel_scope.cancel)
        cancelled: asyncio.CancelledError | None = None
        while not self._over.done():
            try:
                await self.over()
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled


def _unwrapped(came: Outcome[Any]) -> Any:
    try:
        return came.unwrap()
    except trio.Cancelled as error:
        raise RunCancelled("the trio run that it waited for has ended") from error


_guests: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Guest]" = WeakKeyDictionary()
