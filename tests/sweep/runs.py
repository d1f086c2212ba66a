"""Streams, steps beside a turn, loops of one's own, and supervisors."""

import trio

from actors import (
    Agent,
    Restart,
    Run,
    RunCancelled,
    State,
    afan_out,
    loop,
    open_supervisor,
    waiting_for_user,
)
from actors.testing import Trial, tool_call

from .subagents import nested
from .world import tools_of, world_of


async def a_stream_left_early(trial: Trial) -> None:
    world = world_of(trial)
    agent = nested(world, 2)
    async with agent.stream(world.root(agent)) as events:
        seen = 0
        async for _ in events:
            seen += 1
            if seen == 7:
                break


async def a_stream_read_to_its_end(trial: Trial) -> None:
    world = world_of(trial)
    agent = nested(world, 2)
    async with agent.stream(world.root(agent)) as events:
        hooks = [event.hook async for event in events]
    assert hooks[0] == "on_run_start"
    assert hooks[-1] == "on_run_end"


async def a_summary_in_between(trial: Trial) -> None:
    world = world_of(trial)

    agent = world.agent([tool_call("work", steps=0)], tools=[tools_of(world)["work"]])
    state = world.root(agent)

    @loop(until=waiting_for_user, limit=3)
    async def once(agent: Agent, state: State) -> None:
        await agent.athink(state)
        await agent.ause_tools(state)
        await agent.acompact(state)

    await agent.copy(loop=once).arun(state)


async def side_questions(trial: Trial) -> None:
    world = world_of(trial)

    async def body(agent: Agent, state: State) -> object:
        assert await agent.aask(state, "How many?", returns=int) == 3
        return await agent.aask(state, "Why?")

    agent = world.agent([])
    world.replies.update(
        {"How many?": "many", "That does not fit": "3", "Why?": "because"}
    )
    state = world.root(agent)
    assert await agent.copy(loop=body).arun(state) == "because"


async def a_step_alone(trial: Trial) -> None:
    """Steps outside of any run."""
    world = world_of(trial)
    agent = world.agent([tool_call("work", steps=1)], tools=[tools_of(world)["work"]])
    state = world.root(agent)
    await agent.athink(state)
    await agent.ause_tools(state)


async def runs_of_a_loop(trial: Trial) -> None:
    """A loop that runs others, below no call."""
    world = world_of(trial)
    child = nested(world, 1)

    async def body(agent: Agent, state: State) -> object:
        await child.arun("first")
        await afan_out(child, ["second", "third"])
        await agent.athink(state)
        return state.answer

    agent = world.agent([])
    state = world.root(agent)
    assert await agent.copy(loop=body).arun(state) == "done"


async def two_thinks_of_one_state(trial: Trial) -> None:
    world = world_of(trial)

    async def body(agent: Agent, state: State) -> object:
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(agent.athink, state)
        return state.answer

    agent = world.agent([])
    state = world.root(agent)
    assert await agent.copy(loop=body).arun(state) == "done"


async def a_supervisor_waits_for_all(trial: Trial) -> None:
    world = world_of(trial)
    agents = [nested(world, 1), nested(world, 2)]
    async with open_supervisor(max_running=1) as supervisor:
        runs = [supervisor.start(agent, world.root(agent)) for agent in agents]
    assert [await run.wait() for run in runs] == ["done", "done"]


async def a_supervisor_shuts_down(trial: Trial) -> None:
    world = world_of(trial)
    agents = [nested(world, depth) for depth in (1, 2, 1)]
    try:
        async with open_supervisor() as supervisor:
            for agent in agents:
                supervisor.start(agent, world.root(agent))
            for _ in range(7):
                await trio.lowlevel.checkpoint()
            raise ValueError("enough")
    except ValueError as error:
        assert str(error) == "enough"


async def a_run_is_cancelled_and_joined(trial: Trial) -> None:
    world = world_of(trial)
    agent, other = nested(world, 2), nested(world, 1)
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent, world.root(agent))
        supervisor.start(other, world.root(other))
        for _ in range(9):
            await trio.lowlevel.checkpoint()
        report = await run.cancel("not needed")
        assert report.unstopped == ()
        try:
            await run.wait()
        except RunCancelled as error:
            assert error.reason == "not needed"


async def twice(trial: Trial, busy: str) -> None:
    world = world_of(trial)
    agent = nested(world, 2).copy(busy=busy)
    state = world.root(agent)
    async with open_supervisor() as supervisor:
        runs = [supervisor.start(agent, state)]
        for _ in range(9):
            await trio.lowlevel.checkpoint()
        runs.append(supervisor.start(agent, state))
    assert await runs[1].wait() == "done"


async def a_state_is_closed(trial: Trial) -> None:
    world = world_of(trial)
    agent = nested(world, 2)
    state = world.root(agent)
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent, state)
        for _ in range(8):
            await trio.lowlevel.checkpoint()
        state.close("enough")
        world.roots.clear()  # it is looked at, and takes no next run
        world.tops[state.id] = state
    try:
        await run.wait()
    except RunCancelled as error:
        assert "enough" in str(error)


async def a_failed_run_begins_again(trial: Trial) -> None:
    world = world_of(trial)
    tools = tools_of(world)
    child = world.agent([tool_call("work", steps=0)], tools=[tools["work"]])
    calls = [tool_call("explode", steps=1), tool_call("child", prompt="go")]
    agent = world.agent(
        [calls, tool_call("explode", steps=0)],
        tools=[tools["explode"], child.copy(name="child")],
    )
    async with open_supervisor() as supervisor:
        restart = Restart(times=2, backoff_s=1e-6)
        run = supervisor.start(agent, world.root(agent), restart=restart)
    assert await run.wait() == "done"


async def another_run_takes_over(trial: Trial) -> None:
    await twice(trial, "interrupt")


async def another_run_queues_up(trial: Trial) -> None:
    await twice(trial, "queue")


async def a_run_that_does_not_listen_is_taken_over(trial: Trial) -> None:
    """What it still does must not reach into the run that follows it."""
    world = world_of(trial)
    tools = tools_of(world)
    calls = [tool_call("deaf", steps=12), tool_call("work", steps=3)]
    agent = world.agent([calls], tools=tools.values(), busy="interrupt", grace_s=0)
    agent.model.deaf = 12
    state = world.root(agent)
    async with open_supervisor() as supervisor:
        runs: list[Run] = []
        for steps in (5, 20, 0):
            runs.append(supervisor.start(agent, state))
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
    assert await runs[-1].wait() == "done"


async def a_map_over_prompts(trial: Trial) -> None:
    world = world_of(trial)
    agent = nested(world, 2)
    async with open_supervisor() as supervisor:
        results = await supervisor.map(agent, ["a", "b"], max_running=1)
    assert [each.answer for each in results] == ["done", "done"]


SCENARIOS = (
    a_stream_left_early,
    a_stream_read_to_its_end,
    a_summary_in_between,
    side_questions,
    a_step_alone,
    runs_of_a_loop,
    two_thinks_of_one_state,
    a_supervisor_waits_for_all,
    a_supervisor_shuts_down,
    a_run_is_cancelled_and_joined,
    a_state_is_closed,
    a_failed_run_begins_again,
    another_run_takes_over,
    another_run_queues_up,
    a_run_that_does_not_listen_is_taken_over,
    a_map_over_prompts,
)
