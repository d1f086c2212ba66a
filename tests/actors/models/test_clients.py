"""One HTTP client for each trio run, closed with the last who holds it."""

import trio

from actors.models import close_clients, hold_clients
from actors.models._clients import client_of_this_run


async def test_all_models_of_a_run_share_one_client() -> None:
    hold_clients()
    client = client_of_this_run()
    assert client_of_this_run() is client
    await close_clients()
    assert client.is_closed


async def test_the_last_holder_closes_the_client() -> None:
    hold_clients()
    hold_clients()
    client = client_of_this_run()
    await close_clients()
    assert not client.is_closed
    await close_clients()
    assert client.is_closed


async def test_a_new_client_is_made_after_a_close() -> None:
    client = client_of_this_run()
    await close_clients()
    assert client_of_this_run() is not client
    await close_clients()
    await close_clients()  # closing what is closed is no error


async def test_a_cancel_waits_for_the_close() -> None:
    client = client_of_this_run()
    with trio.CancelScope() as scope:
        scope.cancel()
        await close_clients()
    assert client.is_closed
