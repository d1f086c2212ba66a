"""This library, through the interface that its users have."""

from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    HistoryEntry,
    Message,
    MessageEntry,
    ModelReplyEntry,
    Run,
    SQLiteStore,
    State,
    ToolResultEntry,
    open_supervisor,
)
from benchmarks._scripted import (
    ANSWER,
    USAGE,
    Scripted,
    Silent,
    lookup,
    reply_with,
    script,
)
from benchmarks.agents import quiet, tree_agent
from benchmarks.compare.peers._script import (
    AT_ONCE,
    FLEET_TURNS,
    FOUND,
    LATENCY_S,
    LONG,
    QUESTION,
    Rows,
    Watch,
    answer,
)
from protocol._codec import decode_entry, encode_entry


def question(text: str = QUESTION) -> Message:
    return Message.user(text)


# Actors


def ask(count: int, watch: Watch) -> None:
    watch.note = "a command that is checked and finds nothing to change"
    actor = State()
    with watch:
        for _ in range(count):
            actor.clear_tool_results()


def record(count: int, watch: Watch) -> None:
    watch.note = "checked, and an entry of the actor's history"
    actor = State()
    with watch:
        for _ in range(count):
            actor.add_message(question())
    assert len(actor.messages) == count


def spawn(count: int, watch: Watch) -> None:
    watch.note = "an idle actor has no task"
    with watch:
        for _ in range(count):
            State().close()


def idle(count: int, watch: Watch) -> None:
    with watch:
        kept = [State(messages=[question()]) for _ in range(count)]
    assert len(kept) == count


# Conversations


async def turns(count: int, watch: Watch) -> None:
    agent = quiet(Scripted(script(count)), tools=[lookup])
    state = State(messages=[question()])
    with watch:
        await agent.arun(state)
    assert state.usage.requests == count + 1


async def fleet(count: int, watch: Watch) -> None:
    agent = quiet(Scripted(script(FLEET_TURNS), LATENCY_S), tools=[lookup])
    with watch:
        async with open_supervisor() as supervisor:
            runs = [supervisor.start(agent, QUESTION) for _ in range(count)]
    used = sum(run.usage.requests for run in runs)
    assert used == count * (FLEET_TURNS + 1)


async def grow(widths: tuple[int, ...], watch: Watch) -> int:
    """Run a tree; the tokens of all of it."""
    agent, state = tree_agent(widths), State(messages=[question()])
    with watch:
        await agent.arun(state)
    return state.usage.total_tokens // USAGE.total_tokens


async def fan_out(count: int, watch: Watch) -> None:
    assert await grow((count,), watch) == count + 2


async def tree(count: int, watch: Watch) -> None:
    watch.count = count + count**2 + count**3
    requests = await grow((count,) * 3, watch)
    # Each agent that calls others is asked twice, each leaf once.
    assert requests == 2 * (watch.count + 1) - count**3


async def cancel(count: int, watch: Watch) -> None:
    agent, runs = quiet(Silent()), list[Run]()
    with trio.CancelScope() as scope:
        async with open_supervisor() as supervisor:
            runs += [supervisor.start(agent, QUESTION) for _ in range(count)]
            await wait_all_tasks_blocked()
            watch.start()
            scope.cancel()
    watch.stop()
    assert all(run.state.history[-1].kind == "error" for run in runs)


async def durable(count: int, watch: Watch) -> None:
    each = max(1, count // AT_ONCE)
    watch.count = each * AT_ONCE
    watch.note = "synced: each call before it runs, the rest before the run returns"
    replies = [
        reply
        for turn in range(each)
        for reply in (reply_with("lookup", turn=turn), ANSWER)
    ]
    with TemporaryDirectory() as folder, SQLiteStore(Path(folder, "s.db")) as store:
        agent = quiet(Scripted(replies), tools=[lookup], store=store)

        async def talk() -> None:
            state = State()
            for _ in range(each):
                state.add_message(question())
                await agent.arun(state)

        async with trio.open_nursery() as nursery:
            watch.start()
            for _ in range(AT_ONCE):
                nursery.start_soon(talk)
        watch.stop()


# Copied, and written


def long_state() -> State:
    return State(messages=[question(f"{QUESTION} {n}") for n in range(LONG)])


def snapshot(count: int, watch: Watch) -> None:
    state = long_state()
    with watch:
        for _ in range(count):
            state.snapshot()


def fork(count: int, watch: Watch) -> None:
    state = long_state()
    with watch:
        for _ in range(count):
            state.fork()


def restore(count: int, watch: Watch) -> None:
    watch.note = "each is an entry of the history"
    state = long_state()
    before = state.snapshot()
    state.add_message(question())
    both = cycle([before, state.snapshot()])
    with watch:
        for value in islice(both, count):
            state.restore(value)


def entries(count: int) -> list[HistoryEntry]:
    """The messages of a turn as they are recorded, over and over."""
    asked = reply_with("lookup")
    turn: tuple[HistoryEntry, ...] = (
        MessageEntry(message=question()),
        ModelReplyEntry(content=asked),
        ToolResultEntry(
            content=FOUND, call=asked.message.tool_calls[0], outcome="done"
        ),
        ModelReplyEntry(content=ANSWER),
    )
    return list(islice(cycle(turn), count))


def encode(count: int, watch: Watch) -> None:
    watch.note = "an entry in MessagePack that names its kind and version"
    rows = entries(count)
    with watch:
        for row in rows:
            encode_entry(row)


def decode(count: int, watch: Watch) -> None:
    watch.note = "into frozen values, checked"
    bodies = [encode_entry(row) for row in entries(count)]
    with watch:
        for body in bodies:
            decode_entry(body)


AsyncRow: TypeAlias = Callable[[int, Watch], Awaitable[None]]
ASYNC_ROWS: dict[str, AsyncRow] = {
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
    "ask": ask,
    "record": record,
    "spawn": spawn,
    "idle": idle,
    **{name: partial(run, work) for name, work in ASYNC_ROWS.items()},
    "snapshot": snapshot,
    "fork": fork,
    "restore": restore,
    "encode": encode,
    "decode": decode,
}

if __name__ == "__main__":
    answer(ROWS, f"callboard {version('callboard')}")
