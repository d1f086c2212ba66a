"""Children that outlive the call and the turn that started them."""

import trio

from actors import Agent, RunCancelled, Tool, open_supervisor, start_child, tool
from actors.testing import Trial, tool_call

from .world import World, begun, tools_of, world_of


def starter(world: World, child: Agent) -> Tool:
    @tool
    async def start() -> str:
        """Start a child, and do not wait for it."""
        begun(world)
        await trio.lowlevel.checkpoint()
        world.background.append(start_child(child, "go on").id)
        await trio.lowlevel.checkpoint()
        return "started"

    return start


def worker(world: World) -> Agent:
    work = tools_of(world)["work"]
    return world.agent([tool_call("work", steps=3)], tools=[work], name="child")


def with_one_behind(world: World) -> Agent:
    calls = [tool_call("start"), tool_call("work", steps=1)]
    tools = [starter(world, worker(world)), tools_of(world)["work"]]
    return world.agent([calls], tools=tools)


async def a_run_alone_waits_for_its_background(trial: Trial) -> None:
    world = world_of(trial)
    agent = with_one_behind(world)
    assert await agent.arun(world.root(agent)) == "done"


async def an_end_in_the_background_is_read(trial: Trial) -> None:
    world = world_of(trial)
    agent = with_one_behind(world)
    state = world.root(agent)
    async with open_supervisor() as supervisor:
        supervisor.start(agent, state)
    assert any("ended, done" in message.text() for message in state.messages)


async def a_child_in_the_background_outlives_its_owner(trial: Trial) -> None:
    """The owner is a subagent that ends first: the end goes up."""
    world = world_of(trial)
    middle = world.agent(
        [tool_call("start")], tools=[starter(world, worker(world))], name="middle"
    )
    calls = [tool_call("middle", prompt="go on"), tool_call("middle", prompt="again")]
    agent = world.agent([calls], tools=[middle])
    async with open_supervisor() as supervisor:
        supervisor.start(agent, world.root(agent))


async def a_turn_is_interrupted_without_its_background(trial: Trial) -> None:
    world = world_of(trial)
    agent = with_one_behind(world)
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent, world.root(agent))
        while not world.background:
            await trio.lowlevel.checkpoint()
        await run.interrupt("enough of this turn")


async def a_run_is_cancelled_with_its_background(trial: Trial) -> None:
    world = world_of(trial)
    agent = with_one_behind(world)
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent, world.root(agent))
        while not world.background:
            await trio.lowlevel.checkpoint()
        await run.cancel("enough of all")
        try:
            await run.wait()
        except RunCancelled as error:
            assert error.reason == "enough of all"


SCENARIOS = (
    a_run_alone_waits_for_its_background,
    an_end_in_the_background_is_read,
    a_child_in_the_background_outlives_its_owner,
    a_turn_is_interrupted_without_its_background,
    a_run_is_cancelled_with_its_background,
)
