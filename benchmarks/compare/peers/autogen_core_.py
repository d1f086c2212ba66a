"""autogen-core: routed agents on its single-threaded runtime, its tool agent and loop.

Written from its documentation; the models are chat completion clients of our own.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from itertools import cycle, islice
from typing import Any

from autogen_core import AgentId, CancellationToken, FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)

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
from benchmarks.compare.peers.autogen_core_agents_ import (
    Deep,
    Do,
    Say,
    Scripted,
    Waiting,
    running,
)


async def ask(whom: str, count: int, watch: Watch) -> None:
    async with running(watch) as runtime:
        await runtime.send_message(Do(count, whom), AgentId("asker", "default"))


async def spawn(count: int, watch: Watch) -> None:
    watch.note = "made and told one thing; its runtime keeps every agent to its own end"
    async with running(watch) as runtime:
        with watch:
            for number in range(count):
                await runtime.send_message(Say(QUESTION), AgentId("echo", str(number)))


async def idle(count: int, watch: Watch) -> None:
    async with running(watch) as runtime:
        with watch:
            for number in range(count):
                whom = AgentId("recorder", str(number))
                await runtime.send_message(Say(QUESTION), whom)


async def turns(count: int, watch: Watch) -> None:
    async with running(watch, Scripted(count)) as runtime:
        with watch:
            said = await runtime.send_message(Say(QUESTION), AgentId("assistant", "0"))
    assert said.text == ANSWER


async def fleet(count: int, watch: Watch) -> None:
    async with running(watch, Scripted(FLEET_TURNS, LATENCY_S)) as runtime:
        with watch:
            said = await asyncio.gather(
                *[
                    runtime.send_message(
                        Say(QUESTION), AgentId("assistant", str(number))
                    )
                    for number in range(count)
                ]
            )
    assert len(said) == count


async def grow(widths: list[int], watch: Watch) -> None:
    async with running(watch) as runtime:
        with watch:
            said = await runtime.send_message(Deep(widths), AgentId("boss", "0"))
    assert said.text == ANSWER


async def fan_out(count: int, watch: Watch) -> None:
    await grow([count], watch)


async def tree(count: int, watch: Watch) -> None:
    watch.count = count + count**2 + count**3
    await grow([count] * 3, watch)


async def cancel(count: int, watch: Watch) -> None:
    token = CancellationToken()
    Waiting.left, Waiting.none_left = count, asyncio.Event()
    async with running(watch) as runtime:
        waiting = [
            asyncio.ensure_future(
                runtime.send_message(
                    Say(QUESTION),
                    AgentId("waiting", str(number)),
                    cancellation_token=token,
                )
            )
            for number in range(count)
        ]
        await asyncio.sleep(0.5)
        with watch:
            token.cancel()
            await Waiting.none_left.wait()
    watch.note = "by a token that each agent links what it waits for to"
    assert all(each.cancelled() for each in waiting)


async def copy(which: str, count: int, watch: Watch) -> None:
    """Save, load into the same agent, or save and load into another one."""
    watch.note = "the agent's own `save_state` dumps its messages, as documented"
    one, other = AgentId("recorder", "one"), AgentId("recorder", "other")
    async with running(watch) as runtime:
        for number in range(LONG):
            await runtime.send_message(Say(f"{QUESTION} {number}"), one)
        await runtime.send_message(Say(QUESTION), other)
        state = await runtime.agent_save_state(one)
        watch.start()
        for _ in range(count):
            if which != "restore":
                state = await runtime.agent_save_state(one)
            if which != "snapshot":
                whom = one if which == "restore" else other
                await runtime.agent_load_state(whom, state)
        watch.stop()


def messages(count: int) -> list[LLMMessage]:
    call = FunctionCall("c0", f'{{"key": "{KEY}"}}', "lookup")
    found = FunctionExecutionResult(content=FOUND, name="lookup", call_id="c0")
    turn: list[LLMMessage] = [
        UserMessage(content=QUESTION, source="user"),
        AssistantMessage(content=[call], source="assistant"),
        FunctionExecutionResultMessage(content=[found]),
        AssistantMessage(content=ANSWER, source="assistant"),
    ]
    return list(islice(cycle(turn), count))


def encode(count: int, watch: Watch) -> None:
    said = messages(count)
    with watch:
        for message in said:
            message.model_dump_json()


def decode(count: int, watch: Watch) -> None:
    texts = [(type(m), m.model_dump_json()) for m in messages(count)]
    with watch:
        for kind, text in texts:
            kind.model_validate_json(text)


ASYNC_ROWS: dict[str, Callable[[int, Watch], Awaitable[None]]] = {
    "ask": partial(ask, "echo"),
    "record": partial(ask, "recorder"),
    "spawn": spawn,
    "idle": idle,
    "turns_200": turns,
    "turns_1000": turns,
    "turns_5000": turns,
    "fleet": fleet,
    "fan_out": fan_out,
    "tree": tree,
    "cancel": cancel,
    **{name: partial(copy, name) for name in ("snapshot", "fork", "restore")},
}


def run(work: Callable[..., Any], count: int, watch: Watch) -> None:
    asyncio.run(work(count, watch))


ROWS: Rows = {
    **{name: partial(run, work) for name, work in ASYNC_ROWS.items()},
    "encode": encode,
    "decode": decode,
}
ABSENT = {"durable": "it gives state as a dict; keeping it is left to the caller"}

if __name__ == "__main__":
    answer(ROWS, f"autogen-core {version('autogen-core')}", ABSENT)
