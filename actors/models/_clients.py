"""The HTTP clients: one for each trio run, shared by all models, closed with it.

1. A client is made when a request first needs it, never at import or construction.
2. Supervisors hold the client of their trio run; the last one to leave closes it.
"""

from __future__ import annotations

import ssl
from functools import lru_cache
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    import httpx2

CLOSE_S = 2.0
"""Seconds for closing connections politely; then they are dropped."""

CONNECT_S = 10.0
"""Seconds for reaching the provider; whoever is up answers in far less."""


class _Held:
    """The client of one trio run, and how many hold it."""

    def __init__(self) -> None:
        self.holders = 0
        self.client: httpx2.AsyncClient | None = None


_held: trio.lowlevel.RunVar[_Held] = trio.lowlevel.RunVar("actors.models.clients")


def hold_clients() -> None:
    """Keep the client of this trio run open until `close_clients`, once for each."""
    _of_this_run().holders += 1


async def close_clients() -> None:
    """Let go; the last holder closes the client, and a later request makes a new one.

    A cancel waits for the close, which takes 2 s at most.
    """
    held = _of_this_run()
    held.holders -= 1
    if held.holders > 0:
        return
    held.holders = 0
    client, held.client = held.client, None
    if client is not None:
        with trio.move_on_after(CLOSE_S, shield=True):
            await client.aclose()


def client_of_this_run() -> httpx2.AsyncClient:
    """Return the client that all models of this trio run share."""
    held = _of_this_run()
    if held.client is None:
        held.client = _new_client()
    return held.client


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
        max_connections=None, max_keepalive_connections=256, keepalive_expiry=30.0
    )
    return httpx2.AsyncClient(
        verify=_tls(), limits=limits, timeout=None, follow_redirects=False
    )


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Read the root certificates once a process: it takes tens of milliseconds."""
    import httpx2

    return httpx2.create_ssl_context()
