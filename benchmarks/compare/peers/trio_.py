"""Bare trio: what a person writes by hand. It is what all others are measured by.

An actor is a task with a channel, a conversation a list of dicts, and every reply with
calls opens a nursery for them. There are no limits, permissions, histories or reports.
"""

import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any, TypeAlias

import trio
from trio.testing import wait_all_tasks_blocked

from benchmarks.compare.peers._plain import (
    PLAIN_ROWS,
    STORED,
    TOKENS,
    Message,
    Messages,
    database,
    result,
    script,
    store,
    tree_tokens,
    user,
)
from benchmarks.compare.peers._script import (
    AT_ONCE,
    FLEET_TURNS,
    FOUND,
    LATENCY_S,
    QUESTION,
    Rows,
    Watch,
    answer,
)

Inbox: TypeAlias = "trio.MemoryReceiveChannel[str]"
Outbox: TypeAlias = "trio.MemorySendChannel[object]"
Tool: TypeAlias = Callable[[Message], Awaitable[tuple[str, int]]]


# Actors


async def echo(inbox: Inbox, outbox: Outbox) -> None:
    async for message in inbox:
        await outbox.send(message)


async def recorder(inbox: Inbox, outbox: Outbox) -> None:
    messages: Messages = []
    async for message in inbox:
        messages.append(user(message))
        await outbox.send(len(messages))


async def ask(
    actor: Callable[[Inbox, Outbox], Awaitable[None]], count: int, watch: Watch
) -> None:
    to_actor, inbox = trio.open_memory_channel[str](1)
    outbox, replies = trio.open_memory_channel[object](1)
    async with trio.open_nursery() as nursery, to_actor:
        nursery.start_soon(actor, inbox, outbox)
        with watch:
            for _ in range(count):
                await to_actor.send(QUESTION)
                await replies.receive()


async def spawn(count: int, watch: Watch) -> None:
    async def actor(inbox: Inbox, ended: trio.Event) -> None:
        async for _ in inbox:
            pass
        ended.set()

    async with trio.open_nursery() as nursery:
        with watch:
            for _ in range(count):
                to_actor, inbox = trio.open_memory_channel[str](1)
                ended = trio.Event()
                nursery.start_soon(actor, inbox, ended)
                to_actor.close()
                await ended.wait()


async def idle(count: int, watch: Watch) -> None:
    async def actor(inbox: Inbox) -> None:
        messages = [user(QUESTION)]
        while True:
            messages.append(user(await inbox.receive()))

    kept: list[object] = []
    async with trio.open_nursery() as nursery:
        with watch:
            for _ in range(count):
                to_actor, inbox = trio.open_memory_channel[str](1)
                kept.append(to_actor)
                nursery.start_soon(actor, inbox)
            await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


# Conversations


async def lookup(args: Message) -> tuple[str, int]:
    return FOUND, 0


async def ask_model(replies: Iterator[Message], latency_s: float) -> Message:
    if latency_s:
        await trio.sleep(latency_s)
    else:
        await trio.lowlevel.checkpoint()
    return next(replies)


async def converse(
    replies: Sequence[Message], tool: Tool = lookup, latency_s: float = 0
) -> tuple[Messages, int]:
    """Ask until there are no calls; the messages, and the tokens of the whole tree."""
    messages, tokens, coming = [user(QUESTION)], 0, iter(replies)
    while True:
        reply = await ask_model(coming, latency_s)
        tokens += reply["tokens"]
        messages.append(reply)
        if not reply["calls"]:
            return messages, tokens
        for call, (text, used) in await run_all(reply["calls"], tool):
            tokens += used
            messages.append(result(call, text))


async def run_all(calls: Messages, tool: Tool) -> list[tuple[Message, tuple[str, int]]]:
    results: dict[str, tuple[str, int]] = {}

    async def run(call: Message) -> None:
        results[call["id"]] = await tool(call["args"])

    async with trio.open_nursery() as nursery:
        for call in calls:
            nursery.start_soon(run, call)
    return [(call, results[call["id"]]) for call in calls]


async def turns(count: int, watch: Watch) -> None:
    replies = script(count)
    with watch:
        messages, tokens = await converse(replies)
    assert len(messages) == 2 * count + 2
    assert tokens == TOKENS * (count + 1)


async def fleet(count: int, watch: Watch) -> None:
    replies, total = script(FLEET_TURNS), 0

    async def one() -> None:
        nonlocal total
        _, tokens = await converse(replies, latency_s=LATENCY_S)
        total += tokens

    with watch:
        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(one)
    assert total == count * TOKENS * (FLEET_TURNS + 1)


async def below(widths: Sequence[int], args: Any = None) -> tuple[str, int]:
    """An agent that calls so many, each of which calls so many; down to answers."""
    replies = script(1, widths[0]) if widths else script(0)
    messages, tokens = await converse(replies, partial(below, widths[1:]))
    return messages[-1]["content"], tokens


async def fan_out(count: int, watch: Watch) -> None:
    with watch:
        _, tokens = await below([count])
    assert tokens == TOKENS * (count + 2)


async def tree(count: int, watch: Watch) -> None:
    watch.count = count + count**2 + count**3
    with watch:
        _, tokens = await below([count] * 3)
    assert tokens == tree_tokens(count, watch.count)


async def cancel(count: int, watch: Watch) -> None:
    records: list[Messages] = []

    async def one() -> None:
        messages = [user(QUESTION)]
        records.append(messages)
        with trio.CancelScope():
            try:
                await trio.sleep_forever()
            except trio.Cancelled:
                messages.append({"role": "note", "content": "interrupted"})
                raise

    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(one)
            await wait_all_tasks_blocked()
            watch.start()
            scope.cancel()
    watch.stop()
    assert [len(messages) for messages in records] == [2] * count


async def durable(count: int, watch: Watch) -> None:
    replies, each = script(1), max(1, count // AT_ONCE)
    watch.count, watch.note = each * AT_ONCE, STORED

    async def talk(db: sqlite3.Connection, number: int) -> None:
        for _ in range(each):
            messages, _ = await converse(replies)
            store(db, number, messages)

    with database() as db, watch:
        async with trio.open_nursery() as nursery:
            for number in range(AT_ONCE):
                nursery.start_soon(talk, db, number)


AsyncRow: TypeAlias = Callable[[int, Watch], Awaitable[None]]
ASYNC_ROWS: dict[str, AsyncRow] = {
    "ask": partial(ask, echo),
    "record": partial(ask, recorder),
    "spawn": spawn,
    "idle": idle,
    "turns_200": turns,
    "turns_1000": turns,
    "turns_5000": turns,
    "fleet": fleet,
    "fan_out": fan_out,
    "tree": tree,
    "cancel": cancel,
    "durable": durable,
}


def run(work: AsyncRow, count: int, watch: Watch) -> None:
    trio.run(work, count, watch)


ROWS: Rows = {
    **{name: partial(run, work) for name, work in ASYNC_ROWS.items()},
    **PLAIN_ROWS,
}

if __name__ == "__main__":
    answer(ROWS, f"trio {version('trio')}")
