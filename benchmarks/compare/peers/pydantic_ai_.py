"""pydantic-ai: agents on its FunctionModel, conversations in its in-memory store.

Written from its documentation.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from itertools import cycle, islice
from typing import Any

from pydantic_ai import Agent, Conversation, RunContext, RunUsage, Tool, UsageLimits
from pydantic_ai.conversation_store import InMemoryConversationStore
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from benchmarks.compare.peers._script import (
    ANSWER,
    FLEET_TURNS,
    FOUND,
    KEY,
    LATENCY_S,
    LONG,
    QUESTION,
    Rows,
    Watch,
    answer,
)

NO_LIMIT = UsageLimits(request_limit=None)


async def lookup(key: str) -> str:
    """Look something up."""
    return FOUND


def calling(turn: int, name: str = "lookup", calls: int = 1) -> ModelResponse:
    args = {"key": KEY} if name == "lookup" else {"prompt": QUESTION}
    return ModelResponse(
        parts=[
            ToolCallPart(name, args, tool_call_id=f"c{turn}-{n}") for n in range(calls)
        ]
    )


def answering() -> ModelResponse:
    return ModelResponse(parts=[TextPart(ANSWER)])


def scripted(turns: int, latency_s: float = 0) -> Agent:
    """An agent; which reply is due is told by how long the context is."""

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.sleep(latency_s)
        turn = len(messages) // 2
        return calling(turn) if turn < turns else answering()

    return Agent(FunctionModel(model), tools=[lookup])


def idle(count: int, watch: Watch) -> None:
    watch.note = "a `Conversation` of one message: a value, not an actor"
    with watch:
        kept = [Conversation(messages=[user()]) for _ in range(count)]
    assert len(kept) == count


def user(text: str = QUESTION) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


async def turns(count: int, watch: Watch) -> None:
    agent = scripted(count)
    with watch:
        result = await agent.run(QUESTION, usage_limits=NO_LIMIT)
    assert len(result.all_messages()) == 2 * count + 2


async def fleet(count: int, watch: Watch) -> None:
    agent = scripted(FLEET_TURNS, LATENCY_S)
    with watch:
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(agent.run(QUESTION))


def below(widths: list[int]) -> Agent:
    """An agent that calls so many, each of which calls so many; down to answers."""
    if not widths:
        return scripted(0)
    here, *rest = widths
    agent = below(rest)

    async def ask_agent(ctx: RunContext[object], prompt: str) -> str:
        """Ask the agent below."""
        result = await agent.run(prompt, usage=ctx.usage, usage_limits=NO_LIMIT)
        return result.output

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.sleep(0)
        return calling(0, "ask_agent", here) if len(messages) == 1 else answering()

    return Agent(FunctionModel(model), tools=[Tool(ask_agent)])


async def grow(widths: list[int], requests: int, watch: Watch) -> None:
    agent, usage = below(widths), RunUsage()
    with watch:
        await agent.run(QUESTION, usage=usage, usage_limits=NO_LIMIT)
    assert usage.requests == requests


async def fan_out(count: int, watch: Watch) -> None:
    await grow([count], count + 2, watch)


async def tree(count: int, watch: Watch) -> None:
    watch.count = count + count**2 + count**3
    await grow([count] * 3, 2 * (watch.count + 1) - count**3, watch)


async def cancel(count: int, watch: Watch) -> None:
    left, all_wait = count, asyncio.Event()

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal left
        left -= 1
        if not left:
            all_wait.set()
        await asyncio.Event().wait()
        return answering()

    agent = Agent(FunctionModel(model))
    tasks = [asyncio.create_task(agent.run(QUESTION)) for _ in range(count)]
    await all_wait.wait()
    with watch:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    assert all(task.cancelled() for task in tasks)


async def stored() -> InMemoryConversationStore:
    store = InMemoryConversationStore()
    said: list[ModelMessage] = [user(f"{QUESTION} {n}") for n in range(LONG)]
    await store.save(Conversation(messages=said, conversation_id="long"))
    return store


async def snapshot(count: int, watch: Watch) -> None:
    watch.note = "a copy, by the caller, of `all_messages` of a result"
    # Requests in a row would be sent as one.
    said = [user(f"{QUESTION} {n // 2}") if n % 2 else answering() for n in range(LONG)]
    result = await scripted(0).run(QUESTION, message_history=said[1:-1])
    assert len(result.all_messages()) == LONG
    with watch:
        for _ in range(count):
            result.all_messages().copy()


async def fork(count: int, watch: Watch) -> None:
    watch.note = "`fork` of its in-memory store"
    store = await stored()
    with watch:
        for number in range(count):
            await store.fork("long", new_conversation_id=str(number))


async def restore(count: int, watch: Watch) -> None:
    watch.note = "`branch` of its in-memory store"
    store = await stored()
    loaded = await store.load("long")
    assert loaded is not None
    revision = loaded.revision
    with watch:
        for _ in range(count):
            back = await store.branch("long", at=LONG - 1, expected_revision=revision)
            revision = back.revision


def messages(count: int) -> list[ModelMessage]:
    result = ToolReturnPart("lookup", FOUND, tool_call_id="c0-0")
    turn = [user(), calling(0), ModelRequest(parts=[result]), answering()]
    return list(islice(cycle(turn), count))


def encode(count: int, watch: Watch) -> None:
    said = messages(count)
    with watch:
        for message in said:
            ModelMessagesTypeAdapter.dump_json([message])


def decode(count: int, watch: Watch) -> None:
    dumped = [ModelMessagesTypeAdapter.dump_json([m]) for m in messages(count)]
    with watch:
        for each in dumped:
            ModelMessagesTypeAdapter.validate_json(each)


ASYNC_ROWS: dict[str, Callable[[int, Watch], Awaitable[None]]] = {
    "turns_200": turns,
    "turns_1000": turns,
    "turns_5000": turns,
    "fleet": fleet,
    "fan_out": fan_out,
    "tree": tree,
    "cancel": cancel,
    "snapshot": snapshot,
    "fork": fork,
    "restore": restore,
}


def run(work: Callable[..., Any], count: int, watch: Watch) -> None:
    asyncio.run(work(count, watch))


ROWS: Rows = {
    "idle": idle,
    **{name: partial(run, work) for name, work in ASYNC_ROWS.items()},
    "encode": encode,
    "decode": decode,
}
NO_ACTORS = "it has no actors that send to one another"
ABSENT = {
    "ask": NO_ACTORS,
    "record": NO_ACTORS,
    "spawn": NO_ACTORS,
    "durable": "its own stores are in memory",
}

if __name__ == "__main__":
    answer(ROWS, f"pydantic-ai {version('pydantic-ai-slim')}", ABSENT)
