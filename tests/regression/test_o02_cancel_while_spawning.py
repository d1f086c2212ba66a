"""O2: a cancel at any step of a spawn leaves no half-born child."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from actors import (
    Agent,
    ChildEnd,
    ChildStart,
    MemoryStore,
    RunEnd,
    RunStart,
    State,
    afan_out,
    open_supervisor,
    start_child,
)
from actors._supervisor import Supervisor
from tests.regression.stage import (
    CancelAt,
    Onlooker,
    agent,
    assert_whole,
    call,
    kinds,
    late,
    results,
    seeded_run,
    state,
)

STEPS = range(1, 21)
STEPS_OF_THE_SHORTEST = 10


async def starts_slowly(agent: Agent, state: State) -> Any:
    """A child's own start-up waits before it asks the model."""
    for _ in range(3):
        await trio.lowlevel.checkpoint()
    await agent.athink(state)
    return state.answer


def child(store: Any) -> Agent:
    return agent("answer", name="child", loop=starts_slowly, store=store)


def as_tool(supervisor: Supervisor, store: Any) -> Any:
    return child(store)


def by_arun(supervisor: Supervisor, store: Any) -> Any:
    async def child_tool(prompt: str) -> Any:
        return await child(store).arun(prompt)

    return child_tool


def by_start(supervisor: Supervisor, store: Any) -> Any:
    async def child_tool(prompt: str) -> Any:
        return await supervisor.start(child(store), prompt).wait()

    return child_tool


def by_fan_out(supervisor: Supervisor, store: Any) -> Any:
    async def child_tool(prompt: str) -> int:
        return len(await afan_out(child(store), [prompt] * 3, max_running=2))

    return child_tool


def in_background(supervisor: Supervisor, store: Any) -> Any:
    async def child_tool(prompt: str) -> str:
        return start_child(child(store), prompt).id

    return child_tool


def left_behind(supervisor: Supervisor, store: Any) -> Any:
    async def child_tool(prompt: str) -> str:
        return supervisor.start(child(store), prompt).id

    return child_tool


SPAWNS = [as_tool, by_arun, by_start, by_fan_out, in_background, left_behind]


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("spawn", SPAWNS, ids=lambda spawn: spawn.__name__)
def test_no_step_of_a_spawn_leaves_a_child_behind(
    spawn: Callable[[Supervisor, Any], Any], calls: int, stored: bool
) -> None:
    for step in STEPS:
        at = CancelAt(step)
        seeded_run(step, at_step, at, spawn, calls, stored, instruments=[at])
        assert at.reached or step > STEPS_OF_THE_SHORTEST


async def at_step(
    at: CancelAt, spawn: Callable[[Supervisor, Any], Any], calls: int, stored: bool
) -> None:
    living = trio.lowlevel.current_statistics().tasks_living
    onlooker, asked = Onlooker(), state()
    store = MemoryStore() if stored else None
    with trio.CancelScope() as scope:
        async with open_supervisor() as supervisor:
            supervisor._audience = (onlooker,)
            tool = spawn(supervisor, store)
            name = "child" if isinstance(tool, Agent) else "child_tool"
            root = agent(
                [call(name, prompt=f"task {n}") for n in range(calls)],
                "done",
                tools=[tool],
                store=store,
            )
            at.begin(scope)
            await root.arun(asked)
        assert supervisor.tree() == ()
    assert trio.lowlevel.current_statistics().tasks_living == living
    assert_whole(asked)
    assert_paired(onlooker, asked)
    if store is not None and "run_start" in kinds(asked):
        assert (await store.aload(asked.id)).history == asked.history


def assert_paired(onlooker: Onlooker, asked: State) -> None:
    events = onlooker.events
    started = [e.child_id for e in events if isinstance(e, ChildStart)]
    ended = [e.child_id for e in events if isinstance(e, ChildEnd)]
    assert all(started)
    assert sorted(started) == sorted(ended)
    assert len(set(started)) == len(started)
    runs = [e.path for e in events if isinstance(e, RunStart)]
    assert sorted(runs) == sorted(e.path for e in events if isinstance(e, RunEnd))
    entries = (*results(asked), *late(asked))
    recorded = [child_id for entry in entries for child_id in entry.child_ids]
    assert set(started) <= set(recorded)
    assert len(set(recorded)) == len(recorded)
    for child_id in started:
        assert_whole(asked.child(child_id))
