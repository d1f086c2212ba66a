"""O1: cancelling an actor from outside ends its subtree and nothing else."""

from typing import Any

import pytest
import trio

from actors import Agent, RunCancelled, State, open_supervisor
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    results,
    run_named,
    state,
)


def chain(depth: int, tool: Any) -> Agent:
    """An agent ``a`` with ``a1`` .. ``a<depth>`` below it; the last one runs a tool."""
    below = agent(call("slow"), "never", tools=[tool], name=f"a{depth}")
    for level in range(depth - 1, -1, -1):
        name = f"a{level}" if level else "a"
        below = agent(
            call(below.name or "", prompt=below.name), "never", tools=[below], name=name
        )
    return below


@pytest.mark.parametrize("depth", [1, 2, 5, 40])
async def test_a_cancelled_subagent_takes_its_subtree_and_leaves_its_siblings(
    autojump_clock: trio.testing.MockClock, depth: int
) -> None:
    ended: list[str] = []

    async def slow() -> str:
        try:
            await trio.sleep(60)
        finally:
            ended.append("slow")
        return "never"

    async def b_work() -> str:
        await trio.sleep(5)
        return "worked"

    a = chain(depth, slow)
    b = agent(call("b_work"), "b is done", tools=[b_work], name="b")
    root = agent(
        [call("a", prompt="a"), call("b", prompt="b")], "root is done", tools=[a, b]
    )
    asked = state()
    async with open_supervisor() as supervisor:
        run = supervisor.start(root, asked)
        await trio.sleep(1)
        assert len(supervisor.tree()) == depth + 3
        running = await run_named(supervisor, "a")
        below = await run_named(supervisor, f"a{depth}")
        before = trio.current_time()
        report = await running.cancel("not needed")
        assert trio.current_time() == before
        assert report.unstopped == ()
        assert ended == ["slow"]
        assert below.status == "ended"
        assert len(supervisor.tree()) == 2  # root and b
        assert await run.wait() == "root is done"
    by_name = {entry.call.name: entry for entry in results(asked)}
    assert by_name["a"].outcome == "cancelled"
    assert "not needed" in str(by_name["a"].content)
    assert by_name["b"].content == "b is done"
    assert len(results(asked)) == 2
    assert_whole(asked)
    cancelled = asked
    for _ in range(depth + 1):
        cancelled = cancelled.child(results(cancelled)[0].child_ids[0])
        assert_whole(cancelled)
        assert [entry.outcome for entry in results(cancelled)] == ["interrupted"]


async def test_every_level_has_ended_when_cancel_returns_and_the_deepest_ends_first(
    autojump_clock: trio.testing.MockClock,
) -> None:
    ended: list[str] = []

    def below(name: str, child: Agent | None) -> Agent:
        async def work() -> Any:
            try:
                if child is None:
                    await trio.sleep(60)
                else:
                    return await child.arun(child.name or "")
            finally:
                ended.append(name)

        return agent(call("work"), "never", tools=[work], name=name)

    a = below("a", below("a1", below("a2", None)))
    async with open_supervisor() as supervisor:
        run = supervisor.start(a, "a")
        await trio.sleep(1)
        await run.cancel()
        assert ended == ["a2", "a1", "a"]
        assert supervisor.tree() == ()
        with pytest.raises(RunCancelled):
            await run.wait()


async def test_a_run_cancelled_before_its_first_step_has_recorded_nothing_odd(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asked = State()
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent("never"), asked)
        await run.cancel("at once")
        with pytest.raises(RunCancelled) as caught:
            await run.wait()
    assert caught.value.reason == "at once"
    assert_whole(asked)
