"""The figures of graphs: `python -m benchmarks.graph [--smoke]`.

A step is timed on threads of few and of many messages, in memory and in SQLite, and
beside langgraph where that is installed, in the same run. A thousand runs at once are
timed beside the same nodes in nurseries by hand, which merges their updates and keeps
no record of them. The exit code is 1 when a target is missed; with `--smoke` the counts
are so small that speed says little, and only what must be exact counts.
"""

import gc
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import attrs
import trio

from actors import (
    END,
    START,
    AgentState,
    CompiledGraph,
    MemoryStore,
    Message,
    SQLiteStore,
    StateGraph,
    Store,
    open_supervisor,
)
from benchmarks._contest import beside, contest, exact
from benchmarks._measure import Row, show

LETTERS = 200
FEW, MANY = 10, 4_000
STEP_RATIO_MAX = 1.3
RUNS_RATIO_MAX = 3.0


@attrs.frozen
class Scale:
    """How much is measured."""

    many: int
    steps: int
    runs: int
    rounds: int


FULL = Scale(MANY, 100, 1_000, 5)
SMOKE = Scale(100, 5, 20, 1)


# Steps


def message(text: str = "x" * LETTERS) -> Message:
    return Message.assistant(text)


async def says(state: Any) -> Message:
    assert state.context[-1].role == "assistant"
    return message()


def walk(store: Store, steps: int) -> CompiledGraph:
    """A graph that takes so many steps, each adding a message."""

    def again(state: Any) -> str:
        assert state.context[-1].role == "assistant"
        return END if state.execution_meta.step >= steps else "says"

    graph = StateGraph(AgentState).add_node("says", says).add_edge(START, "says")
    return graph.add_conditional_edges("says", again, ["says", END]).compile(store)


def step_s(make: Callable[[], Store], size: int, scale: Scale) -> float:
    """Seconds of one step on a thread of so many messages, the best of the rounds."""

    async def timed() -> float:
        store = make()
        config = {"thread_id": "t", "recursion_limit": scale.steps + 1}
        first = {"messages": [message() for _ in range(size)]}
        await walk(store, 1).ainvoke(first, config)
        app = walk(store, scale.steps)
        await app.ainvoke({}, config)  # loads the thread
        gc.collect()
        begin = perf_counter()
        await app.ainvoke({}, config)
        took = perf_counter() - begin
        await trio.to_thread.run_sync(store.close)
        return took / scale.steps

    return min(trio.run(timed) for _ in range(scale.rounds))


def steps(scale: Scale) -> list[Row]:
    with TemporaryDirectory() as folder:
        files = iter(range(10_000))

        def sqlite() -> Store:
            return SQLiteStore(Path(folder) / f"{next(files)}.db")

        return [
            of_sizes("a step in memory", both(MemoryStore, scale), scale),
            of_sizes("a step in SQLite", both(sqlite, scale), scale),
        ]


def both(make: Callable[[], Store], scale: Scale) -> tuple[float, float]:
    return step_s(make, FEW, scale), step_s(make, scale.many, scale)


def of_sizes(
    what: str, times: tuple[float, float], scale: Scale, *, is_peer: bool = False
) -> Row:
    """A row for what a step costs with many messages beside few."""
    few_s, many_s = times
    ratio = many_s / few_s
    return Row(
        figure=f"{what}: {scale.many:,} messages beside {FEW}",
        target="(a peer)" if is_peer else f"<= {STEP_RATIO_MAX:g} x",
        measured=f"{ratio:.2f} x, {few_s * 1e6:,.0f} to {many_s * 1e6:,.0f} us",
        holds=is_peer or ratio <= STEP_RATIO_MAX,
    )


# What a checkpoint writes


class Counting(MemoryStore):
    """Counts the bytes of entries that are written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = 0

    def write(self, state_id: str, entries: Any, info: Any, *, expected: int) -> None:
        self.written += sum(map(len, entries))
        super().write(state_id, entries, info, expected=expected)


def checkpoints(scale: Scale) -> list[Row]:
    """Bytes that a step of a long thread writes, beside one of a short thread."""
    written: list[int] = []
    for size in (FEW, scale.many):
        store = Counting()
        config = {"thread_id": "t"}

        async def once(store: Counting, size: int, config: dict[str, Any]) -> int:
            app = walk(store, 1)
            await app.ainvoke({"messages": [message() for _ in range(size)]}, config)
            before = store.written
            await app.ainvoke({}, config)
            return store.written - before

        written.append(trio.run(once, store, size, config))
    # Ids and indexes have more digits in a longer thread.
    few, many = (round(count, -2) for count in written)
    return [exact("hundreds of bytes that a checkpoint writes", few, many)]


# Many runs at once


class Counted(AgentState):
    total: int = 0


def counts(state: Any) -> dict[str, Any]:
    return {"total": 1}


def answers(state: Any) -> dict[str, Any]:
    return {"context": [Message.assistant("hello")]}


def in_task(node: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The node as an async function that lets others run once."""

    async def run(state: Any) -> Any:
        await trio.lowlevel.checkpoint()
        return node(state)

    return run


async def in_thread(node: Callable[[Any], Any]) -> Any:
    return await trio.to_thread.run_sync(node, None)


async def at_once(node: Callable[[Any], Any]) -> Any:
    await trio.lowlevel.checkpoint()
    return node(None)


def runs(scale: Scale) -> list[Row]:
    what = f"{scale.runs:,} runs of 2 nodes at once"
    plain = two_nodes(counts, answers)
    tasks = two_nodes(in_task(counts), in_task(answers))
    kinds = [
        (f"{what}, plain functions in threads", plain, in_thread),
        (f"{what}, async functions", tasks, at_once),
    ]
    return [
        beside(
            figure,
            RUNS_RATIO_MAX,
            scale.runs,
            contest(
                partial(ours, app, scale.runs),
                partial(by_hand, run, scale.runs),
                scale.rounds,
            ),
        )
        for figure, app, run in kinds
    ]


def two_nodes(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Any:
    graph = StateGraph(Counted).add_node("first", first).add_node("second", second)
    graph.add_edge(START, "first").add_edge("first", "second")
    return graph.add_edge("second", END).compile()


async def ours(app: CompiledGraph, count: int) -> float:
    begin = perf_counter()
    async with open_supervisor(), trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(app.ainvoke, {"messages": [Message.user("hi")]})
    return perf_counter() - begin


async def by_hand(run: Callable[[Any], Any], count: int) -> float:
    begin = perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(one_by_hand, run)
    return perf_counter() - begin


async def one_by_hand(run: Callable[[Any], Any]) -> None:
    """Two nodes, each in a nursery; their updates are merged into a new state."""
    state: dict[str, Any] = {"total": 0, "context": [Message.user("hi")]}
    for node in (counts, answers):
        updates: list[dict[str, Any]] = []

        async def child(node: Any = node, updates: list[Any] = updates) -> None:
            updates.append(await run(node))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)
        for update in updates:
            state = {
                "total": state["total"] + update.get("total", 0),
                "context": [*state["context"], *update.get("context", ())],
            }


# A peer


def peers(scale: Scale) -> list[Row]:
    """The same steps in langgraph, through its public interface."""
    if find_spec("langgraph") is None:
        return []
    memory = import_module("langgraph.checkpoint.memory")
    sqlite = import_module("langgraph.checkpoint.sqlite")
    few, many = [
        peer_step_s(memory.InMemorySaver(), size, scale) for size in (FEW, scale.many)
    ]
    rows = [of_sizes("langgraph in memory", (few, many), scale, is_peer=True)]
    found: list[float] = []
    with TemporaryDirectory() as folder:
        for size in (FEW, scale.many):
            with sqlite.SqliteSaver.from_conn_string(f"{folder}/{size}.db") as saver:
                found.append(peer_step_s(saver, size, scale))
    times = found[0], found[1]
    return [*rows, of_sizes("langgraph in SQLite", times, scale, is_peer=True)]


def peer_step_s(saver: Any, size: int, scale: Scale) -> float:
    peer = import_module("langgraph.graph")
    said = import_module("langchain_core.messages").AIMessage
    left = [0]

    def node(state: Any) -> dict[str, Any]:
        left[0] -= 1
        return {"messages": [said("x" * LETTERS)]}

    graph = peer.StateGraph(peer.MessagesState)
    graph.add_node("says", node)
    graph.add_edge(peer.START, "says")

    def onwards(_state: Any) -> Any:
        return "says" if left[0] > 0 else peer.END

    graph.add_conditional_edges("says", onwards)
    app = graph.compile(checkpointer=saver)
    config = {
        "configurable": {"thread_id": "t"},
        "recursion_limit": scale.steps + 2,
    }
    first = [said("x" * LETTERS) for _ in range(size)]
    app.invoke({"messages": first}, config)
    steps = min(scale.steps, 20)  # a hundred of its steps take minutes
    left[0] = steps
    begin = perf_counter()
    app.invoke({"messages": []}, config)
    return (perf_counter() - begin) / steps


PARTS: tuple[Callable[[Scale], list[Row]], ...] = (steps, checkpoints, runs, peers)


def main(arguments: list[str]) -> int:
    scale = SMOKE if "--smoke" in arguments else FULL
    rows = [row for part in PARTS for row in part(scale)]
    holds = show("Graphs", rows)
    if scale is SMOKE:
        named = "hundreds of bytes"
        return 0 if all(r.holds for r in rows if r.figure.startswith(named)) else 1
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
