"""openai-agents: its runner on a model of our own, tracing switched off.

Written from its documentation. A subagent is an agent `as_tool`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    Runner,
    SQLiteSession,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from benchmarks.compare.peers._script import (
    ANSWER,
    AT_ONCE,
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

set_tracing_disabled(True)


@function_tool
async def lookup(key: str) -> str:
    """Look something up."""
    return FOUND


def calling(turn: int, name: str = "lookup", calls: int = 1) -> ModelResponse:
    field, value = ("key", KEY) if name == "lookup" else ("input", QUESTION)
    return response(
        [
            ResponseFunctionToolCall(
                arguments=f'{{"{field}": "{value}"}}',
                call_id=f"c{turn}-{n}",
                name=name,
                type="function_call",
            )
            for n in range(calls)
        ]
    )


def answering() -> ModelResponse:
    text = ResponseOutputText(annotations=[], text=ANSWER, type="output_text")
    return response(
        [
            ResponseOutputMessage(
                id="m",
                content=[text],
                role="assistant",
                status="completed",
                type="message",
            )
        ]
    )


def response(output: list[Any]) -> ModelResponse:
    usage = Usage(requests=1, input_tokens=90, output_tokens=10, total_tokens=100)
    return ModelResponse(output=output, usage=usage, response_id=None)


class Scripted(Model):
    """Which reply is due is told by how many calls and answers the context has."""

    def __init__(self, turns: int, latency_s: float = 0, period: int = 0) -> None:
        self.turns, self.latency_s, self.period = turns, latency_s, period

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **settings: Any
    ) -> ModelResponse:
        await asyncio.sleep(self.latency_s)
        return self.due(0 if isinstance(input, str) else len(input))

    def due(self, length: int) -> ModelResponse:
        """One question, then a call and its result for each turn."""
        place = length // 2
        turn = place % self.period if self.period else place
        return calling(place) if turn < self.turns else answering()

    def stream_response(self, *args: Any, **settings: Any) -> Any:
        raise NotImplementedError("the programs ask for whole replies only")


class Calling(Scripted):
    """It calls the agent below so often, and answers."""

    def due(self, length: int) -> ModelResponse:
        return calling(0, "below", self.turns) if length <= 1 else answering()


class Silent(Scripted):
    """It never answers; it says when so many wait."""

    def __init__(self, count: int) -> None:
        super().__init__(0)
        self.left, self.all_wait = count, asyncio.Event()

    async def get_response(self, *args: Any, **settings: Any) -> ModelResponse:
        self.left -= 1
        if not self.left:
            self.all_wait.set()
        await asyncio.Event().wait()
        return answering()


def scripted(turns: int, latency_s: float = 0, period: int = 0) -> Agent[None]:
    model = Scripted(turns, latency_s, period)
    return Agent(name="agent", model=model, tools=[lookup])


def item(text: str = QUESTION) -> Any:
    return {"role": "user", "content": text}


def idle(count: int, watch: Watch) -> None:
    watch.note = "the list of one item that the next run is given: not an actor"
    with watch:
        kept = [[item()] for _ in range(count)]
    assert len(kept) == count


async def turns(count: int, watch: Watch) -> None:
    agent = scripted(count)
    with watch:
        result = await Runner.run(agent, QUESTION, max_turns=count + 1)
    assert len(result.raw_responses) == count + 1


async def fleet(count: int, watch: Watch) -> None:
    agent = scripted(FLEET_TURNS, LATENCY_S)
    with watch:
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(Runner.run(agent, QUESTION))


def below(widths: list[int]) -> Agent[None]:
    """An agent that calls so many, each of which calls so many; down to answers."""
    if not widths:
        return scripted(0)
    here, *rest = widths
    tool = below(rest).as_tool("below", "Ask the agent below.")
    return Agent(name="agent", model=Calling(here), tools=[tool])


async def grow(widths: list[int], watch: Watch) -> int:
    agent = below(widths)
    with watch:
        result = await Runner.run(agent, QUESTION)
    return result.context_wrapper.usage.requests


async def fan_out(count: int, watch: Watch) -> None:
    requests = await grow([count], watch)
    assert requests == count + 2


async def tree(count: int, watch: Watch) -> None:
    watch.count = count + count**2 + count**3
    requests = await grow([count] * 3, watch)
    assert requests == 2 * (watch.count + 1) - count**3


async def cancel(count: int, watch: Watch) -> None:
    model = Silent(count)
    agent = Agent(name="agent", model=model)
    tasks = [asyncio.create_task(Runner.run(agent, QUESTION)) for _ in range(count)]
    await model.all_wait.wait()
    with watch:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    assert all(task.cancelled() for task in tasks)


async def durable(count: int, watch: Watch) -> None:
    each = max(1, count // AT_ONCE)
    watch.count, watch.note = each * AT_ONCE, "its SQLite session, one file for all"
    agent = scripted(1, period=2)

    async def talk(session: SQLiteSession) -> None:
        for _ in range(each):
            await Runner.run(agent, QUESTION, session=session)
        assert len(await session.get_items()) == 4 * each

    with TemporaryDirectory() as folder:
        place = Path(folder, "sessions.db")
        sessions = [SQLiteSession(str(number), place) for number in range(AT_ONCE)]
        with watch:
            await asyncio.gather(*[talk(session) for session in sessions])
        for session in sessions:
            session.close()


async def snapshot(count: int, watch: Watch) -> None:
    watch.note = "`to_input_list` of a result"
    said = [item(f"{QUESTION} {number}") for number in range(LONG - 1)]
    result = await Runner.run(scripted(0), said)
    assert len(result.to_input_list()) == LONG
    with watch:
        for _ in range(count):
            result.to_input_list()


ASYNC_ROWS: dict[str, Callable[[int, Watch], Awaitable[None]]] = {
    "turns_200": turns,
    "turns_1000": turns,
    "turns_5000": turns,
    "fleet": fleet,
    "fan_out": fan_out,
    "tree": tree,
    "cancel": cancel,
    "durable": durable,
    "snapshot": snapshot,
}


def run(work: Callable[..., Any], count: int, watch: Watch) -> None:
    asyncio.run(work(count, watch))


ROWS: Rows = {
    "idle": idle,
    **{name: partial(run, work) for name, work in ASYNC_ROWS.items()},
}
NO_ACTORS = "it has no actors that send to one another"
LISTS = "a conversation is a list of dicts that the caller copies"
DICTS = "its items are dicts that the caller writes as JSON"
ABSENT = {
    "ask": NO_ACTORS,
    "record": NO_ACTORS,
    "spawn": NO_ACTORS,
    "fork": LISTS,
    "restore": LISTS,
    "encode": DICTS,
    "decode": DICTS,
}

if __name__ == "__main__":
    answer(ROWS, f"openai-agents {version('openai-agents')}", ABSENT)
