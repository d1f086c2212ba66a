"""Agents that run others: as tools, inside tools, many at once."""

import trio

from actors import (
    Agent,
    ChildResult,
    Limits,
    State,
    afan_out,
    first,
    open_supervisor,
    quorum,
    tool,
)
from actors.testing import Trial, tool_call

from .world import World, begun, tools_of, world_of


def nested(world: World, depth: int) -> Agent:
    """An agent whose call runs one like it, down to a tool."""
    tools = tools_of(world)
    agent = world.agent([tool_call("work", steps=1)], tools=[tools["work"]], name="d0")
    for level in range(1, depth):
        name = f"d{level - 1}"
        calls = [tool_call(name, prompt=f"down {level}"), tool_call("work", steps=0)]
        agent = world.agent([calls], tools=[agent, tools["work"]], name=f"d{level}")
    return agent


async def subagents_two_deep(trial: Trial) -> None:
    world = world_of(trial)
    agent = nested(world, 2)
    assert await agent.arun(world.root(agent)) == "done"


async def subagents_three_deep(trial: Trial) -> None:
    world = world_of(trial)
    agent = nested(world, 3)
    assert await agent.arun(world.root(agent)) == "done"


async def a_lone_subagent(trial: Trial) -> None:
    world = world_of(trial)
    child = world.agent([], name="child")
    agent = world.agent([tool_call("child", prompt="go")], tools=[child])
    assert await agent.arun(world.root(agent)) == "done"


async def a_subagent_that_fails(trial: Trial) -> None:
    world = world_of(trial)
    explode = tools_of(world)["explode"]
    child = world.agent([tool_call("explode", steps=0)], tools=[explode], name="child")
    calls = [tool_call("child", prompt=text) for text in "ab"]
    agent = world.agent([calls], tools=[child])
    assert await agent.arun(world.root(agent)) == "done"


async def no_time_for_a_deaf_model(trial: Trial) -> None:
    """The reply comes when nobody waits for it any more."""
    world = world_of(trial)
    child = world.agent(["fine"], name="child", grace_s=0)
    child.model.deaf = 9
    agent = world.agent(
        [[tool_call("child", prompt=text) for text in "ab"]], tools=[child], grace_s=0
    )
    assert await agent.arun(world.root(agent)) == "done"


async def a_budget_runs_out_below(trial: Trial) -> None:
    world = world_of(trial)
    child = world.agent(
        [tool_call("work", steps=0)] * 3,
        tools=[tools_of(world)["work"]],
        name="child",
        limits=Limits(requests=2),
    )
    agent = world.agent(
        [[tool_call("child", prompt=text) for text in "ab"]], tools=[child]
    )
    assert await agent.arun(world.root(agent)) == "done"


async def a_budget_runs_out_above(trial: Trial) -> None:
    world = world_of(trial)
    agent = nested(world, 2).copy(limits=Limits(requests=2))
    state = world.root(agent)
    await agent.arun(state)
    assert state.stopped is not None
    assert state.stopped.kind == "budget"
    world.roots[-1] = (state, agent.copy(limits=None))


async def a_run_inside_a_tool(trial: Trial) -> None:
    world = world_of(trial)
    child = world.agent([tool_call("work", steps=0)], tools=[tools_of(world)["work"]])

    @tool
    async def delegate() -> str:
        """Have an agent do it."""
        begun(world)
        answer: str = await child.arun("go")
        return answer

    calls = [[tool_call("delegate"), tool_call("delegate")], tool_call("delegate")]
    agent = world.agent(calls, tools=[delegate])
    assert await agent.arun(world.root(agent)) == "done"


async def a_run_inside_a_thread(trial: Trial) -> None:
    world = world_of(trial)
    child = world.agent(
        [tool_call("plain", text="x")], tools=[tools_of(world)["plain"]]
    )

    @tool
    def delegate() -> str:
        """Have an agent do it, from a thread."""
        begun(world)
        answer: str = child.run("go")
        return answer

    agent = world.agent([tool_call("delegate")], tools=[delegate])
    async with open_supervisor(threads=1):
        assert await agent.arun(world.root(agent)) == "done"


async def a_stream_inside_a_tool(trial: Trial) -> None:
    world = world_of(trial)
    child = world.agent([tool_call("work", steps=0)], tools=[tools_of(world)["work"]])

    @tool
    async def follow() -> str:
        """Follow an agent for a while."""
        begun(world)
        async with child.stream("go") as events:
            seen = [await anext(events) for _ in range(4)]
        return str(len(seen))

    agent = world.agent([[tool_call("follow"), tool_call("follow")]], tools=[follow])
    assert await agent.arun(world.root(agent)) == "done"


def fan(
    world: World, policy: object, seen: list[tuple[ChildResult, ...]]
) -> tuple[Agent, State]:
    """Its tool asks three others: a long one, one that fails, a short one."""
    tools = tools_of(world)

    async def script(agent: Agent, state: State) -> object:
        await agent.athink(state)
        for _ in range({"short": 0, "long": 3}.get(state.messages[0].text(), 1)):
            await trio.lowlevel.checkpoint()
        if state.messages[0].text() == "failing":
            raise ValueError("one failed")
        return state.answer

    child = world.agent(["fine"], loop=script, name="child")

    @tool
    async def ask_all() -> str:
        """Ask three at once."""
        begun(world)
        prompts = ["long", "failing", "short"]
        seen.append(await afan_out(child, prompts, policy=policy, max_running=2))
        return "asked"

    agent = world.agent(
        [[tool_call("ask_all"), tool_call("work", steps=1)]],
        tools=[ask_all, tools["work"]],
    )
    return agent, world.root(agent)


async def fan_out_isolated(trial: Trial) -> None:
    seen: list[tuple[ChildResult, ...]] = []
    agent, state = fan(world_of(trial), "isolate", seen)
    assert await agent.arun(state) == "done"
    assert [each.outcome for each in seen[0]] == ["done", "error", "done"]


async def fan_out_failing_fast(trial: Trial) -> None:
    agent, state = fan(world_of(trial), "fail_fast", [])
    try:
        await agent.arun(state)
    except ValueError as error:
        assert str(error) == "one failed"
    else:
        raise AssertionError("the failure was swallowed")


async def fan_out_until_the_first(trial: Trial) -> None:
    seen: list[tuple[ChildResult, ...]] = []
    agent, state = fan(world_of(trial), first(), seen)
    assert await agent.arun(state) == "done"
    assert "done" in [each.outcome for each in seen[0]]


async def fan_out_until_a_quorum(trial: Trial) -> None:
    seen: list[tuple[ChildResult, ...]] = []
    agent, state = fan(world_of(trial), quorum(2), seen)
    assert await agent.arun(state) == "done"
    assert [each.outcome for each in seen[0]].count("done") == 2


SCENARIOS = (
    subagents_two_deep,
    subagents_three_deep,
    a_lone_subagent,
    a_subagent_that_fails,
    no_time_for_a_deaf_model,
    a_budget_runs_out_below,
    a_budget_runs_out_above,
    a_run_inside_a_tool,
    a_run_inside_a_thread,
    a_stream_inside_a_tool,
    fan_out_isolated,
    fan_out_failing_fast,
    fan_out_until_the_first,
    fan_out_until_a_quorum,
)
