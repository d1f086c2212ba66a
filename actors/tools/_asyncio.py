"""Functions written for asyncio, as tools of a trio run.

1. In an asyncio program (`actors.aio`) they run on that program's own loop.
2. Elsewhere trio-asyncio gives each call a loop of its own. It is imported when such a
   tool first runs, and kept from taking over the asyncio of the whole process.
"""

import asyncio
import functools
import sys
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from importlib import import_module
from typing import Any

import trio

host_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar(
    "host_loop", default=None
)
"""The asyncio loop that this trio run is a guest of, or None."""


def for_trio(
    fn: Callable[..., Coroutine[Any, Any, Any]],
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """The same function, to be awaited from trio.

    Cancelled, the asyncio task is cancelled and waited for; then the cancel goes on.

    Raises:
        ImportError: no asyncio program is around, and trio-asyncio is not installed.
    """

    @functools.wraps(fn)
    async def run(*args: Any, **kwargs: Any) -> Any:
        loop = host_loop.get()
        if loop is not None:
            return await _on_host(loop, fn(*args, **kwargs))
        return await _on_own_loop(fn, *args, **kwargs)

    return run


async def _on_host(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any]
) -> Any:
    token = trio.lowlevel.current_trio_token()
    done = trio.Event()
    task = loop.create_task(work)
    task.add_done_callback(lambda _task: token.run_sync_soon(done.set))
    try:
        await done.wait()
    except trio.Cancelled:
        task.cancel()
        with trio.CancelScope(shield=True):
            await done.wait()
        raise
    return task.result()


async def _on_own_loop(
    fn: Callable[..., Coroutine[Any, Any, Any]], *args: Any, **kwargs: Any
) -> Any:
    bridge = _bridge()
    async with bridge.open_loop():
        return await bridge.aio_as_trio(fn)(*args, **kwargs)


def _bridge() -> Any:
    """The module trio-asyncio.

    Raises:
        ImportError: it is not installed.
    """
    was_there = "trio_asyncio" in sys.modules
    try:
        bridge = import_module("trio_asyncio")
    except ImportError:
        raise ImportError(
            "a tool with asyncio=True needs trio-asyncio: pip install "
            "'callboard[asyncio]'"
        ) from None
    if not was_there:
        # Its import makes asyncio.run, in every thread, a trio run that no guest can
        # live in. A policy of one's own stops that: each thread gets the one before.
        loops = import_module("trio_asyncio._loop")
        loops._FakedPolicy.policy = loops._original_policy
    return bridge
