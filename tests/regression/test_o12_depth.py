"""O12: an agent that always delegates to itself ends at the limit of depth."""

from typing import Any

import pytest
import trio

from actors import Agent, Limits, State, Tool, tool
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    outcomes,
    results,
    state,
)


def delegating(limits: Limits | None, *, by_tool: bool) -> Agent:
    """An agent whose model always calls the agent itself, then repeats the result."""
    made: list[Agent] = []

    async def delegate(prompt: str) -> str:
        return str(await made[0].arun(prompt))

    def rule(request: Any) -> object:
        last = request.messages[-1]
        if last.role == "tool":
            return f"above {last.text()}"
        return call("delegate", prompt="deeper")

    tools: list[Tool] = [tool(name="delegate")(delegate)]
    made.append(agent(rule, tools=tools, name="delegate", limits=limits))
    if by_tool:
        inner = made[0].copy(limits=None)
        for _ in range(12):
            inner = inner.copy(tools=[inner])
        made[0] = inner.copy(limits=limits)
    return made[0]


def levels(of: State) -> int:
    """How many levels of children are below."""
    depth = 0
    while ids := [i for entry in results(of) for i in entry.child_ids]:
        (child_id,) = ids
        of = of.child(child_id)
        assert_whole(of)
        depth += 1
    return depth


@pytest.mark.parametrize("depth", [0, 1, 3, 9])
@pytest.mark.parametrize("by_tool", [True, False])
async def test_the_limit_of_depth_is_a_readable_result_and_the_tree_unwinds(
    autojump_clock: trio.testing.MockClock, depth: int, by_tool: bool
) -> None:
    asked = state()
    root = delegating(Limits(depth=depth), by_tool=by_tool)
    answer = await root.arun(asked)
    assert levels(asked) == depth
    assert answer.startswith("above " * (depth + 1))
    assert "depth" in answer
    assert asked.stopped is not None
    assert asked.stopped.kind == "until"
    assert_whole(asked)


@pytest.mark.parametrize("children", [0, 2])
async def test_a_limit_of_children_is_a_result_too(
    autojump_clock: trio.testing.MockClock, children: int
) -> None:
    worker = agent("did it", name="worker")
    asked = state()
    root = agent(
        [call("worker", prompt=str(n)) for n in range(4)],
        "went on",
        tools=[worker],
        limits=Limits(children=children),
    )
    assert await root.arun(asked) == "went on"
    assert outcomes(asked).count("done") == children
    assert outcomes(asked).count("error") == 4 - children
    assert_whole(asked)


async def test_a_thousand_levels_nest_no_frames_and_unwind(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asked = state()
    root = delegating(Limits(depth=1000), by_tool=False)
    answer = await root.arun(asked)
    assert answer.startswith("above " * 1001)


test_a_thousand_levels_nest_no_frames_and_unwind = pytest.mark.slow(
    test_a_thousand_levels_nest_no_frames_and_unwind
)
