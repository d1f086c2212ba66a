"""The HTTP clients: a set for each trio run, shared by all models, closed with it.

1. A client is made when a request first needs it, never at import or construction.
2. A client carries one request at a time, and goes to the next one of the same address.
3. Supervisors hold the clients of their trio run; the last one to leave closes them.

One client for all would be simpler, but its pool looks at every connection when a
request begins and when it ends, and polls each idle one: with 300 connections that is
more work than all the rest of a request. A pool of one costs the same however many.
"""

from __future__ import annotations

import ssl
from collections import deque
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx2

CLOSE_S = 2.0
"""Seconds for closing connections politely; then they are dropped."""

CONNECT_S = 10.0
"""Seconds for reaching the provider; whoever is up answers in far less."""

IDLE_S = 30.0
"""Seconds for which a connection waits for its next request."""

IDLE_MAX = 256
"""Clients of one address that wait for a request, at most."""


class _Held:
    """The clients of one trio run, and how many hold them."""

    def __init__(self) -> None:
        self.holders = 0
        self._open: set[httpx2.AsyncClient] = set()
        # Of each address, with the time of its last use: the longest idle first.
        self._idle: dict[str, deque[tuple[float, httpx2.AsyncClient]]] = {}

    def take(self, url: str) -> httpx2.AsyncClient:
        """Return the idle client that was used last: its connection is the surest."""
        idle = self._idle.get(url)
        if idle:
            return idle.pop()[1]
        client = _new_client()
        self._open.add(client)
        return client

    async def give_back(self, url: str, client: httpx2.AsyncClient) -> None:
        """Keep it for the next request, and close what has been idle for too long."""
        if client not in self._open:
            return  # closed meanwhile, with the run's others
        now = trio.current_time()
        self._idle.setdefault(url, deque()).append((now, client))
        while (surplus := self._surplus(now - IDLE_S)) is not None:
            await surplus.aclose()

    def _surplus(self, since: float) -> httpx2.AsyncClient | None:
        """Take out a client that was not used since, or is one too many."""
        # Addresses are few; one that is no longer asked has to let go, too.
        for idle in self._idle.values():
            if idle and (idle[0][0] < since or len(idle) > IDLE_MAX):
                _, client = idle.popleft()
                self._open.discard(client)
                return client
        return None

    async def close(self) -> None:
        """Close all, those that carry a request too."""
        clients, self._open = self._open, set()
        self._idle.clear()
        for client in clients:
            await client.aclose()


_held: trio.lowlevel.RunVar[_Held] = trio.lowlevel.RunVar("actors.models.clients")


def hold_clients() -> None:
    """Keep the clients of this trio run open until `close_clients`, once for each."""
    _of_this_run().holders += 1


async def close_clients() -> None:
    """Let go; the last holder closes the clients, and a later request makes a new one.

    A cancel waits for the close, which takes 2 s at most.
    """
    held = _of_this_run()
    held.holders -= 1
    if held.holders > 0:
        return
    held.holders = 0
    with trio.move_on_after(CLOSE_S, shield=True):
        await held.close()


@asynccontextmanager
async def lent_client(url: str) -> AsyncGenerator[httpx2.AsyncClient, None]:
    """Enter with a client of this trio run that is nobody else's until the exit.

    Args:
        url: The address that is asked; who asks it next gets the same connection.
    """
    held = _of_this_run()
    client = held.take(url)
    try:
        yield client
    finally:
        await held.give_back(url, client)


def _of_this_run() -> _Held:
    try:
        return _held.get()
    except LookupError:
        held = _Held()
        _held.set(held)
        return held


def _new_client() -> httpx2.AsyncClient:
    import httpx2

    # The gate bounds what runs at once; a second bound here would only hide its queue.
    limits = httpx2.Limits(
        max_connections=None, max_keepalive_connections=1, keepalive_expiry=IDLE_S
    )
    return httpx2.AsyncClient(
        verify=_tls(), limits=limits, timeout=None, follow_redirects=False
    )


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Read the root certificates once a process: it takes tens of milliseconds."""
    import httpx2

    return httpx2.create_ssl_context()
