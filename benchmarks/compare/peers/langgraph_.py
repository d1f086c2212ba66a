"""langgraph: a model node and its ToolNode in a loop, with a saver.

Written from its documentation. Every conversation is a thread of the in-memory saver,
in the durable row of the SQLite one. The model is a plain node function.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

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


@tool
async def lookup(key: str) -> str:
    """Look something up."""
    return FOUND


def calling(turn: int, name: str = "lookup", calls: int = 1) -> AIMessage:
    args = {"key": KEY} if name == "lookup" else {"prompt": QUESTION}
    return AIMessage(
        content="",
        tool_calls=[
            {"id": f"c{turn}-{n}", "name": name, "args": args} for n in range(calls)
        ],
    )


def scripted(turns: int, latency_s: float = 0, period: int = 0) -> Any:
    """A node; which reply is due is told by how long the context is."""

    async def model(state: MessagesState) -> dict[str, Any]:
        await asyncio.sleep(latency_s)
        place = len(state["messages"]) // 2
        due = place % period if period else place
        said = calling(place) if due < turns else AIMessage(content=ANSWER)
        return {"messages": [said]}

    return model


def loop(model: Any, tools: list[Any], saver: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


def thread(name: object, steps: int = 25) -> Any:
    return {"configurable": {"thread_id": str(name)}, "recursion_limit": steps}


def question(text: str = QUESTION) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def idle(count: int, watch: Watch) -> None:
    watch.note = "a thread of its in-memory saver"
    app = loop(scripted(0), [lookup], InMemorySaver())
    with watch:
        for number in range(count):
            app.update_state(thread(number), question(), as_node="model")


async def turns(count: int, watch: Watch) -> None:
    app = loop(scripted(count), [lookup], InMemorySaver())
    with watch:
        state = await app.ainvoke(question(), thread("one", 2 * count + 10))
    assert len(state["messages"]) == 2 * count + 2


async def fleet(count: int, watch: Watch) -> None:
    app = loop(scripted(FLEET_TURNS, LATENCY_S), [lookup], InMemorySaver())
    with watch:
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(app.ainvoke(question(), thread(number)))


def below(widths: list[int], saver: Any = False) -> Any:
    """An agent that calls so many, each of which calls so many; down to answers."""
    if not widths:
        return loop(scripted(0), [lookup], saver)
    here, *rest = widths
    agent = below(rest)

    @tool
    async def ask_agent(prompt: str) -> str:
        """Ask the agent below."""
        state = await agent.ainvoke(question(prompt))
        return str(state["messages"][-1].content)

    async def model(state: MessagesState) -> dict[str, Any]:
        await asyncio.sleep(0)
        if len(state["messages"]) == 1:
            return {"messages": [calling(0, "ask_agent", here)]}
        return {"messages": [AIMessage(content=ANSWER)]}

    return loop(model, [ask_agent], saver)


async def grow(widths: list[int], watch: Watch) -> None:
    watch.note = "a tool runs the graph below, which is not saved; usage is not summed"
    app = below(widths, InMemorySaver())
    with watch:
        state = await app.ainvoke(question(), thread("root"))
    assert len(state["messages"]) == widths[0] + 3


async def fan_out(count: int, watch: Watch) -> None:
    await grow([count], watch)


async def tree(count: int, watch: Watch) -> None:
    watch.count = count + count**2 + count**3
    await grow([count] * 3, watch)


async def cancel(count: int, watch: Watch) -> None:
    left, all_wait = count, asyncio.Event()

    async def model(state: MessagesState) -> dict[str, Any]:
        nonlocal left
        left -= 1
        if not left:
            all_wait.set()
        await asyncio.Event().wait()
        return {}

    app = loop(model, [lookup], InMemorySaver())
    tasks = [
        asyncio.create_task(app.ainvoke(question(), thread(number)))
        for number in range(count)
    ]
    await all_wait.wait()
    with watch:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    assert all(task.cancelled() for task in tasks)


async def durable(count: int, watch: Watch) -> None:
    each = max(1, count // AT_ONCE)
    watch.count = each * AT_ONCE
    watch.note = "its SQLite saver, `durability='sync'`"

    async def talk(app: Any, number: int) -> None:
        for _ in range(each):
            state = await app.ainvoke(question(), thread(number), durability="sync")
        assert len(state["messages"]) == 4 * each

    with TemporaryDirectory() as folder:
        place = str(Path(folder, "threads.db"))
        async with AsyncSqliteSaver.from_conn_string(place) as saver:
            app = loop(scripted(1, period=2), [lookup], saver)
            with watch:
                await asyncio.gather(*[talk(app, n) for n in range(AT_ONCE)])


def long_thread() -> Any:
    app = loop(scripted(0), [lookup], InMemorySaver())
    said = [HumanMessage(f"{QUESTION} {number}") for number in range(LONG)]
    app.update_state(thread("long"), {"messages": said}, as_node="model")
    return app


def snapshot(count: int, watch: Watch) -> None:
    watch.note = "`get_state`"
    app = long_thread()
    with watch:
        for _ in range(count):
            app.get_state(thread("long"))


def fork(count: int, watch: Watch) -> None:
    watch.note = "`update_state` of a new thread with the values of the old one"
    app = long_thread()
    with watch:
        for number in range(count):
            values = app.get_state(thread("long")).values
            app.update_state(thread(number), values, as_node="model")


def restore(count: int, watch: Watch) -> None:
    watch.note = "`update_state` from the config of an earlier checkpoint"
    app = long_thread()
    before = app.get_state(thread("long")).config
    app.update_state(thread("long"), question(), as_node="model")
    with watch:
        for _ in range(count):
            app.update_state(before, {"messages": []}, as_node="model")
    assert len(app.get_state(thread("long")).values["messages"]) == LONG


def messages(count: int) -> list[Any]:
    turn = [
        HumanMessage(QUESTION),
        calling(0),
        ToolMessage(FOUND, tool_call_id="c0-0", name="lookup"),
        AIMessage(content=ANSWER),
    ]
    return list(islice(cycle(turn), count))


def encode(count: int, watch: Watch) -> None:
    watch.note = "its savers' serializer"
    said, serializer = messages(count), JsonPlusSerializer()
    with watch:
        for message in said:
            serializer.dumps_typed(message)


def decode(count: int, watch: Watch) -> None:
    watch.note = "its savers' serializer"
    serializer = JsonPlusSerializer()
    dumped = [serializer.dumps_typed(message) for message in messages(count)]
    with watch:
        for each in dumped:
            serializer.loads_typed(each)


ASYNC_ROWS: dict[str, Callable[[int, Watch], Awaitable[None]]] = {
    "turns_200": turns,
    "turns_1000": turns,
    "turns_5000": turns,
    "fleet": fleet,
    "fan_out": fan_out,
    "tree": tree,
    "cancel": cancel,
    "durable": durable,
}


def run(work: Callable[..., Any], count: int, watch: Watch) -> None:
    asyncio.run(work(count, watch))


ROWS: Rows = {
    "idle": idle,
    **{name: partial(run, work) for name, work in ASYNC_ROWS.items()},
    "snapshot": snapshot,
    "fork": fork,
    "restore": restore,
    "encode": encode,
    "decode": decode,
}
NO_ACTORS = "it has no actors that send to one another"
ABSENT = {"ask": NO_ACTORS, "record": NO_ACTORS, "spawn": NO_ACTORS}

if __name__ == "__main__":
    answer(ROWS, f"langgraph {version('langgraph')}", ABSENT)
