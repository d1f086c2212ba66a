"""Clients that a trio run lends, one request each, closed with the last who holds."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import httpx2
import trio
from trio.testing import MockClock

from actors.models import close_clients, hold_clients
from actors.models._channel import HttpChannel
from actors.models._clients import IDLE_MAX, IDLE_S, lent_client

HERE = "https://here.example/v1"
THERE = "https://there.example/v1"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


async def used(url: str = HERE) -> httpx2.AsyncClient:
    async with lent_client(url) as client:
        return client


async def test_a_client_goes_to_the_next_request_of_its_address() -> None:
    client = await used()
    assert await used() is client
    assert await used(THERE) is not client
    await close_clients()


async def test_requests_at_once_have_a_client_each() -> None:
    async with lent_client(HERE) as one, lent_client(HERE) as other:
        assert one is not other
    assert await used() is one  # the outer one came back last
    await close_clients()


async def test_a_client_comes_back_after_a_failure() -> None:
    client = await used()
    try:
        async with lent_client(HERE):
            raise ValueError
    except ValueError:
        assert await used() is client
    await close_clients()


async def test_the_last_holder_closes_the_clients() -> None:
    hold_clients()
    hold_clients()
    clients = {await used(), await used(THERE)}
    await close_clients()
    assert not any(client.is_closed for client in clients)
    await close_clients()
    assert all(client.is_closed for client in clients)


async def test_a_client_that_is_lent_is_closed_and_not_lent_again() -> None:
    async with lent_client(HERE) as client:
        await close_clients()
        assert client.is_closed
    again = await used()
    assert again is not client
    assert not again.is_closed
    await close_clients()


async def test_a_new_client_is_made_after_a_close() -> None:
    client = await used()
    await close_clients()
    assert await used() is not client
    await close_clients()
    await close_clients()  # closing what is closed is no error


async def test_a_cancel_waits_for_the_close() -> None:
    clients = {await used(), await used(THERE)}
    with trio.CancelScope() as scope:
        scope.cancel()
        await close_clients()
    assert all(client.is_closed for client in clients)


async def test_a_client_idle_for_too_long_is_closed_whoever_asks_next(
    mock_clock: MockClock,
) -> None:
    old = await used()
    mock_clock.jump(IDLE_S)
    young = await used(THERE)
    assert [client.is_closed for client in (old, young)] == [False, False]
    mock_clock.jump(1.0)
    assert await used(THERE) is young
    assert [client.is_closed for client in (old, young)] == [True, False]
    await close_clients()


async def test_no_more_clients_are_kept_than_may_be_idle() -> None:
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(lent_client(HERE))
            for _ in range(IDLE_MAX + 1)
        ]
    # Left in reverse: the last one lent came back first and is idle for longest.
    assert [client for client in clients if client.is_closed] == clients[-1:]
    await close_clients()
    assert all(client.is_closed for client in clients)


async def test_requests_in_a_row_need_one_connection_and_two_at_once_a_second() -> None:
    connections: list[trio.SocketStream] = []

    async def serve(stream: trio.SocketStream) -> None:
        connections.append(stream)
        async with stream:
            while request := await stream.receive_some():
                if request.endswith(b"}"):
                    await stream.send_all(ANSWER)

    async def ask(between: Callable[[], Awaitable[None]] | None = None) -> None:
        async with channel.send({}) as answer:
            if between:
                await between()
            assert await answer.read() == b"{}"

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, serve, listeners)
        port = listeners[0].socket.getsockname()[1]
        url = f"http://127.0.0.1:{port}/v1"
        channel = HttpChannel("bench", url, {}, client=None, timeout_s=10.0)
        await ask()
        await ask()
        assert len(connections) == 1
        await ask(ask)
        await ask(ask)
        assert len(connections) == 2
        await close_clients()
        nursery.cancel_scope.cancel()
