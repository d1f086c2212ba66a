"""Calls of tools, of each kind, and what can go wrong with them."""

import trio

from actors import MemoryStore, Message, Run, RunCancelled, State, open_supervisor, tool
from actors.testing import Trial, tool_call

from .world import begun, tools_of, world_of


async def one_async_tool(trial: Trial) -> None:
    world = world_of(trial)
    agent = world.agent([tool_call("work", steps=2)], tools=[tools_of(world)["work"]])
    assert await agent.arun(world.root(agent)) == "done"


async def a_tool_that_cleans_up(trial: Trial) -> None:
    world = world_of(trial)
    agent = world.agent([tool_call("tidy", steps=2)], tools=[tools_of(world)["tidy"]])
    assert await agent.arun(world.root(agent)) == "done"


async def parallel_tools(trial: Trial) -> None:
    world = world_of(trial)
    tools = tools_of(world)
    calls = [
        "Let me see.",
        tool_call("work", steps=1),
        tool_call("tidy", steps=2),
        tool_call("refuse"),
        tool_call("unknown"),
        tool_call("work", steps="many"),
    ]
    agent = world.agent([calls], tools=tools.values(), max_parallel=2)
    state = world.root(agent)
    assert await agent.arun(state) == "done"


async def sync_tools(trial: Trial) -> None:
    world = world_of(trial)
    calls = [
        [tool_call("plain", text=text) for text in "ab"],
        tool_call("plain", text="c"),
    ]
    agent = world.agent(calls, tools=[tools_of(world)["plain"]])
    async with open_supervisor(threads=1):
        assert await agent.arun(world.root(agent)) == "done"


async def serial_after_parallel(trial: Trial) -> None:
    world = world_of(trial)
    tools = tools_of(world)
    calls = [
        tool_call("serial", steps=1),
        tool_call("work", steps=1),
        tool_call("serial", steps=0),
        tool_call("work", steps=0),
    ]
    agent = world.agent([calls], tools=tools.values())
    assert await agent.arun(world.root(agent)) == "done"


async def failing(trial: Trial, siblings: str) -> None:
    world = world_of(trial)
    calls = [
        tool_call("tidy", steps=1),
        tool_call("explode", steps=1),
        tool_call("work", steps=4),
        tool_call("serial", steps=1),
    ]
    agent = world.agent([calls], tools=tools_of(world).values(), siblings=siblings)
    try:
        await agent.arun(world.root(agent))
    except ValueError as error:
        assert str(error) == "exploded"
    else:
        raise AssertionError("the failure was swallowed")


async def a_failure_stops_the_run(trial: Trial) -> None:
    await failing(trial, "keep")


async def a_failure_stops_its_siblings(trial: Trial) -> None:
    await failing(trial, "cancel")


async def messages_held_and_notes_stored(trial: Trial) -> None:
    world = world_of(trial)

    @tool
    async def tell(state: State) -> str:
        """Say something in the middle of a turn."""
        begun(world)
        state.add_message(Message.user("by the way"))
        await trio.lowlevel.checkpoint()
        return "told"

    agent = world.agent([tool_call("tell")], tools=[tell], store=MemoryStore())
    assert await agent.arun(world.root(agent)) == "done"


async def a_tool_that_runs_out_of_time(trial: Trial) -> None:
    world = world_of(trial)

    @tool(timeout_s=1e-6)
    async def dawdle() -> str:
        """Take too long."""
        begun(world)
        await trio.sleep_forever()

    calls = [tool_call("dawdle"), tool_call("work", steps=2)]
    tools = [dawdle, tools_of(world)["work"]]
    agent = world.agent([calls], tools=tools)
    assert await agent.arun(world.root(agent)) == "done"


async def a_tool_that_does_not_listen(trial: Trial) -> None:
    """It goes on when it is cancelled, and delivers nevertheless."""
    world = world_of(trial)

    deaf = tools_of(world)["deaf"]
    two = [tool_call("deaf", steps=3), tool_call("deaf", steps=2)]
    calls = [two, tool_call("deaf", steps=3)]
    agent = world.agent(calls, tools=[deaf])
    assert await agent.arun(world.root(agent)) == "done"


async def no_time_to_clean_up(trial: Trial) -> None:
    """What takes time to stop is given up at once, and joined by the supervisor."""
    world = world_of(trial)
    tools = tools_of(world)
    calls = [[tool_call("tidy", steps=3), tool_call("plain", text="x")]]
    child = world.agent(calls, tools=tools.values(), name="child", grace_s=0)
    agent = world.agent(
        [[tool_call("child", prompt="go"), tool_call("tidy", steps=2)]],
        tools=[child, *tools.values()],
        grace_s=0,
    )
    assert await agent.arun(world.root(agent)) == "done"


async def a_tool_that_cancels_its_own_run(trial: Trial) -> None:
    world = world_of(trial)
    runs: list[Run] = []

    @tool
    async def stop() -> str:
        """Stop the run that this belongs to."""
        begun(world)
        runs[0].cancel_nowait("a tool said so")
        await trio.lowlevel.checkpoint()
        return "too late"

    calls = [tool_call("stop"), tool_call("work", steps=3)]
    agent = world.agent([calls], tools=[stop, tools_of(world)["work"]])
    async with open_supervisor() as supervisor:
        runs.append(supervisor.start(agent, world.root(agent)))
    try:
        await runs[0].wait()
    except RunCancelled as error:
        assert error.reason == "a tool said so"
    else:
        raise AssertionError("nobody was told")


SCENARIOS = (
    one_async_tool,
    a_tool_that_cleans_up,
    parallel_tools,
    sync_tools,
    serial_after_parallel,
    a_failure_stops_the_run,
    a_failure_stops_its_siblings,
    messages_held_and_notes_stored,
    a_tool_that_runs_out_of_time,
    a_tool_that_does_not_listen,
    no_time_to_clean_up,
    a_tool_that_cancels_its_own_run,
)
