"""Bare trio programs that do by hand what the rows of `benchmarks.agents` measure.

They keep a list of messages, give every turn a nursery for its calls, know no limits,
permissions, histories or snapshots, and sum usage. Each gives its seconds of CPU.
"""

from collections.abc import Callable, Mapping
from time import process_time
from typing import Any, TypeAlias

import trio
from trio.testing import wait_all_tasks_blocked

from benchmarks._scripted import QUESTION, Ask, lookup_by_hand
from protocol import Usage

Messages: TypeAlias = list[Any]


async def conversation(ask: Ask) -> tuple[Messages, Usage]:
    """One agent: it asks, and runs the calls of each reply in a nursery."""
    messages: Messages = [{"role": "user", "content": QUESTION}]
    usage = Usage()
    while True:
        reply = await ask(messages)
        usage = usage + reply.usage
        messages.append(reply.message)
        calls = reply.message.tool_calls
        if not calls:
            return messages, usage
        results: dict[str, str] = {}
        async with trio.open_nursery() as nursery:
            for call in calls:
                nursery.start_soon(_run_call, results, call.id, call.args)
        messages += [
            {"role": "tool", "id": call.id, "content": results[call.id]}
            for call in calls
        ]


async def _run_call(
    results: dict[str, str], call_id: str, args: Mapping[str, Any]
) -> None:
    results[call_id] = await lookup_by_hand(**args)


async def turns(ask: Ask, count: int) -> float:
    begin = process_time()
    messages, usage = await conversation(ask)
    took = process_time() - begin
    assert len(messages) == 2 * count + 2
    assert usage.requests == count + 1
    return took


async def fleet(ask: Callable[[], Ask], agents: int) -> float:
    """Agents at once, each on a script of its own."""
    total = Usage()

    async def one() -> None:
        nonlocal total
        _, usage = await conversation(ask())
        total = total + usage

    begin = process_time()
    async with trio.open_nursery() as nursery:
        for _ in range(agents):
            nursery.start_soon(one)
    return process_time() - begin


async def supervised(agents: int) -> float:
    """Children that can be cancelled one by one; each tells how it ended."""
    scopes: dict[int, trio.CancelScope] = {}
    ends: dict[int, str] = {}
    used = 0

    async def child(number: int) -> None:
        nonlocal used
        outcome = "cancelled"
        try:
            with scopes[number]:
                await trio.lowlevel.checkpoint()
                outcome = "done"
        finally:
            used += 1
            del scopes[number]
            ends[number] = outcome

    begin = process_time()
    async with trio.open_nursery() as nursery:
        for number in range(agents):
            scopes[number] = trio.CancelScope()
            nursery.start_soon(child, number)
    took = process_time() - begin
    assert len(ends) == used == agents
    return took


async def cancelled(agents: int) -> float:
    """Agents that wait for the model are cancelled; each notes how it ended."""
    records: list[Messages] = []

    async def one() -> None:
        messages: Messages = [{"role": "user", "content": QUESTION}]
        records.append(messages)
        with trio.CancelScope():
            try:
                await trio.sleep_forever()
            except trio.Cancelled:
                messages.append({"role": "note", "content": "interrupted"})
                raise

    begin = 0.0
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            for _ in range(agents):
                nursery.start_soon(one)
            await wait_all_tasks_blocked()
            begin = process_time()
            scope.cancel()
    took = process_time() - begin
    assert all(len(messages) == 2 for messages in records)
    return took
