"""O24: each event has the path it came from, each tool its own context variables.

On the real clock where threads are used.
"""

import logging
import threading
from contextvars import ContextVar
from typing import Any

import pytest
import trio

from actors import (
    Agent,
    Event,
    Reporter,
    RunEnd,
    RunStart,
    State,
    ThinkEnd,
    ToolEnd,
    ToolStart,
    afan_out,
    default_loop,
    open_supervisor,
)
from actors._settings import INHERIT
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    in_call_order,
    results,
    state,
)

WHO: ContextVar[str] = ContextVar("who", default="nobody")


class Watcher(Reporter):
    """Keeps every event, and raises on every tenth."""

    def __init__(self, every: int = 10) -> None:
        self.events: list[Event] = []
        self.raised = 0
        self.threads: set[int] = set()
        self._every = every

    def _keep(self, event: Event) -> None:
        self.threads.add(threading.get_ident())
        self.events.append(event)
        if len(self.events) % self._every == 0:
            self.raised += 1
            raise RuntimeError("an observer's own fault")

    on_run_start = on_think_end = on_tool_start = on_tool_end = on_run_end = _keep

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def family(count: int, watcher: Watcher, barrier: int) -> Agent:
    """A root with ``count`` children, every other with a plain tool in a thread."""
    met = threading.Barrier(barrier) if barrier else None

    async def look(prompt: str) -> str:
        await trio.lowlevel.checkpoint()
        return WHO.get()

    def plain_look(prompt: str) -> str:
        if met is not None:
            met.wait(10)
        return WHO.get()

    def rule(request: Any) -> Any:
        last = request.messages[-1]
        if last.role == "tool":
            return last.text()
        number = int(last.text().split()[1])
        name = "plain_look" if number % 2 else "look"
        return call(name, prompt=last.text())

    async def own(agent: Agent, state: State) -> Any:
        WHO.set(state.messages[0].text())
        await agent.athink(state)
        await agent.ause_tools(state)
        await agent.athink(state)
        return state.answer

    child = agent(rule, tools=[look, plain_look], name="child", loop=own)
    return agent(
        [call("child", prompt=f"child {n}") for n in range(count)],
        "done",
        tools=[inheriting(child)],
        reporter=watcher,
    )


def inheriting(child: Agent) -> Agent:
    return child.copy(reporter=INHERIT)


@pytest.mark.parametrize("count", [2, 30])
async def test_events_have_their_path_and_tools_the_context_of_their_child(
    count: int, caplog: pytest.LogCaptureFixture
) -> None:
    watcher, asked = Watcher(), state()
    with caplog.at_level(logging.DEBUG):
        root = family(count, watcher, barrier=count // 2)
        assert await root.arun(asked) == "done"
    entries = in_call_order(asked)
    assert [e.content for e in entries] == [f"child {n}" for n in range(count)]
    assert WHO.get() == "nobody"
    assert "Context" not in caplog.text
    assert_whole(asked)
    paths = {(asked.id, e.call.id, e.child_ids[0]): e.child_ids[0] for e in entries}
    starts = {event.path for event in watcher.of(RunStart)}
    assert starts == {(asked.id,), *paths}
    assert sorted(event.path for event in watcher.of(RunEnd)) == sorted(starts)
    for event in watcher.of(ToolStart):
        above = event.path[:-1]
        assert event.path[-1] == event.call.id
        owner = asked if above == (asked.id,) else asked.child(paths[above])
        assert event.call.id in {entry.call.id for entry in results(owner)}
    assert len(watcher.of(ToolEnd)) == 2 * count
    assert len(watcher.of(ThinkEnd)) == 2 * count + 2
    assert watcher.raised == len(watcher.events) // 10
    assert len(watcher.threads) == 1


async def test_events_of_one_state_come_in_commit_order() -> None:
    watcher, asked = Watcher(), state()
    await family(10, watcher, barrier=0).arun(asked)
    seen: dict[tuple[str, ...], int] = {}
    for event in watcher.events:
        if isinstance(event, ToolStart | ToolEnd):
            continue
        size = len(event.snapshot.history)  # type: ignore[union-attr] # these have one
        assert size >= seen.get(event.path, 0)
        seen[event.path] = size


class Silent(Reporter):
    """Hears of runs, and of nothing else."""

    def __init__(self) -> None:
        self.paths: list[tuple[str, ...]] = []

    def on_run_start(self, event: RunStart) -> None:
        self.paths.append(event.path)


async def test_a_child_with_a_reporter_of_its_own_tells_that_one_alone() -> None:
    above, own = Silent(), Silent()
    child = agent("answer", name="child", reporter=own)
    asked = state()
    root = agent(call("child", prompt="go"), "done", tools=[child], reporter=above)
    await root.arun(asked)
    assert above.paths == [(asked.id,)]
    assert [path[0] for path in own.paths] == [asked.id]
    assert len(own.paths) == 1


async def test_a_silent_child_of_a_watched_run_is_still_read_in_a_stream() -> None:
    above = Silent()
    child = agent("answer", name="child", reporter=None)
    asked = state()
    root = agent(call("child", prompt="go"), "done", tools=[child], reporter=above)
    async with root.stream(asked) as events:
        read = [event async for event in events]
    assert above.paths == [(asked.id,)]
    assert len([e for e in read if isinstance(e, RunStart)]) == 2
    assert len([e for e in read if isinstance(e, RunEnd)]) == 2


async def test_one_reporter_of_many_runs_has_one_thread_until_they_end() -> None:
    watcher = Watcher()
    async with open_supervisor() as supervisor:
        for n in range(20):
            supervisor.start(agent("answer", reporter=watcher), f"run {n}")
    assert len(watcher.of(RunStart)) == 20
    assert len(watcher.of(RunEnd)) == 20
    assert len(watcher.threads) == 1


async def test_children_of_a_fan_in_a_thread_are_children_of_that_call() -> None:
    watcher = Watcher()
    worker = agent("answer", name="worker", loop=default_loop)

    def plain() -> str:
        return str(inheriting(worker).run("one"))

    async def fan() -> str:
        got = await afan_out(inheriting(worker).copy(loop=None), ["two", "three"])
        return str(len(got))

    asked = state()
    root = agent(
        [call("plain"), call("fan")], "done", tools=[plain, fan], reporter=watcher
    )
    await root.arun(asked)
    by_name = {entry.call.name: entry for entry in results(asked)}
    assert [len(by_name[name].child_ids) for name in ("plain", "fan")] == [1, 2]
    paths = {event.path for event in watcher.of(RunStart)}
    assert paths == {
        (asked.id,),
        *((asked.id, e.call.id, i) for e in results(asked) for i in e.child_ids),
    }
    assert_whole(asked)
