"""Bare asyncio: the same by hand as on trio, with queues and task groups."""

import asyncio
import platform
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

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

Inbox: TypeAlias = asyncio.Queue[str | None]
Outbox: TypeAlias = asyncio.Queue[object]
Tool: TypeAlias = Callable[[Message], Awaitable[tuple[str, int]]]


# Actors


async def echo(inbox: Inbox, outbox: Outbox) -> None:
    while (message := await inbox.get()) is not None:
        await outbox.put(message)


async def recorder(inbox: Inbox, outbox: Outbox) -> None:
    messages: Messages = []
    while (message := await inbox.get()) is not None:
        messages.append(user(message))
        await outbox.put(len(messages))


async def ask(
    actor: Callable[[Inbox, Outbox], Coroutine[Any, Any, None]],
    count: int,
    watch: Watch,
) -> None:
    inbox, outbox = Inbox(1), Outbox(1)
    async with asyncio.TaskGroup() as group:
        group.create_task(actor(inbox, outbox))
        with watch:
            for _ in range(count):
                await inbox.put(QUESTION)
                await outbox.get()
        await inbox.put(None)


async def spawn(count: int, watch: Watch) -> None:
    async def actor(inbox: Inbox) -> None:
        while await inbox.get() is not None:
            pass

    async with asyncio.TaskGroup() as group:
        with watch:
            for _ in range(count):
                inbox = Inbox(1)
                task = group.create_task(actor(inbox))
                await inbox.put(None)
                await task


async def idle(count: int, watch: Watch) -> None:
    async def actor(inbox: Inbox) -> None:
        messages = [user(QUESTION)]
        while (message := await inbox.get()) is not None:
            messages.append(user(message))

    kept: list[Inbox] = []
    async with asyncio.TaskGroup() as group:
        with watch:
            for _ in range(count):
                kept.append(Inbox(1))
                group.create_task(actor(kept[-1]))
            await asyncio.sleep(0)
        for inbox in kept:
            inbox.put_nowait(None)


# Conversations


async def lookup(args: Message) -> tuple[str, int]:
    return FOUND, 0


async def ask_model(replies: Iterator[Message], latency_s: float) -> Message:
    await asyncio.sleep(latency_s)
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

    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(run(call))
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
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(one())
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
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            messages.append({"role": "note", "content": "interrupted"})
            raise

    tasks = [asyncio.create_task(one()) for _ in range(count)]
    await asyncio.sleep(0)
    with watch:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    assert [len(messages) for messages in records] == [2] * count


async def durable(count: int, watch: Watch) -> None:
    replies, each = script(1), max(1, count // AT_ONCE)
    watch.count, watch.note = each * AT_ONCE, STORED

    async def talk(db: sqlite3.Connection, number: int) -> None:
        for _ in range(each):
            messages, _ = await converse(replies)
            store(db, number, messages)

    with database() as db, watch:
        async with asyncio.TaskGroup() as group:
            for number in range(AT_ONCE):
                group.create_task(talk(db, number))


ASYNC_ROWS: dict[str, Callable[[int, Watch], Coroutine[Any, Any, None]]] = {
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


def _run(
    work: Callable[[int, Watch], Coroutine[Any, Any, None]], count: int, watch: Watch
) -> None:
    asyncio.run(work(count, watch))


ROWS: Rows = {
    **{name: partial(_run, work) for name, work in ASYNC_ROWS.items()},
    **PLAIN_ROWS,
}

if __name__ == "__main__":
    answer(ROWS, f"Python {platform.python_version()}")
