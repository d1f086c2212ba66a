"""A chain of 1,000 agents and a fan of 10,000: run, cancelled, failed."""

from collections import Counter
from collections.abc import Iterator

import pytest
import trio

from actors import (
    Agent,
    ChildResult,
    FunctionModel,
    Request,
    State,
    Usage,
    afan_out,
    tool,
)
from actors.testing import Trial, tool_call

from .invariants import STANDING, family, results_of
from .world import World, begun

CHAIN = 1_000
FAN = 10_000

pytestmark = pytest.mark.slow


def everything_is_in_order(world: World) -> None:
    trial = Trial(seed=0, notes={"world": world})
    for check in STANDING:
        check(trial)


def chain_of_agents(world: World, leaf: Agent) -> Agent:
    """Each agent has the one below it as its tool."""
    agent = leaf
    for level in range(1, CHAIN):
        call = tool_call(str(agent.name), prompt=f"down to {level}")
        agent = world.agent([call], tools=[agent], name=f"level{level}")
    return agent


def chain_of_runs(world: World, leaf: Agent) -> Agent:
    """Each agent's tool runs the one below it."""
    agent = leaf
    for level in range(1, CHAIN):
        agent = world.agent(
            [tool_call("down")], tools=[runner(world, agent)], name=f"level{level}"
        )
    return agent


def runner(world: World, agent: Agent) -> object:
    @tool(name="down")
    async def down() -> str:
        """Have the next one do it."""
        begun(world)
        answer: str = await agent.arun("go on")
        return answer

    return down


def waiting_leaf(world: World, reached: trio.Event) -> Agent:
    @tool
    async def wait() -> str:
        """Wait for ever."""
        begun(world)
        reached.set()
        await trio.sleep_forever()
        return "never"

    return world.agent([tool_call("wait")], tools=[wait], name="leaf")


def failing_leaf(world: World, error: BaseException) -> Agent:
    @tool
    async def fail() -> str:
        """Fail."""
        begun(world)
        raise error

    return world.agent([tool_call("fail")], tools=[fail], name="leaf")


async def run_until(agent: Agent, state: State, reached: trio.Event) -> None:
    """Run, and cancel once the event is set."""
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(agent.arun, state)
            await reached.wait()
            scope.cancel()
    assert scope.cancelled_caught


@pytest.mark.parametrize("chain", [chain_of_agents, chain_of_runs])
async def test_a_chain_of_1_000_agents_runs_and_is_summed(chain: object) -> None:
    world = World()
    agent = chain(world, world.agent(["bottom"], name="leaf"))
    state = world.root(agent)
    assert await agent.arun(state) == "done"
    assert state.usage.requests == 2 * (CHAIN - 1) + 1
    assert len(list(family(state))) == CHAIN
    everything_is_in_order(world)


@pytest.mark.parametrize("chain", [chain_of_agents, chain_of_runs])
async def test_a_chain_of_1_000_agents_is_cancelled_and_summed(chain: object) -> None:
    world, reached = World(), trio.Event()
    agent = chain(world, waiting_leaf(world, reached))
    state = world.root(agent)
    await run_until(agent, state, reached)
    assert state.usage.requests == CHAIN
    assert Counter(outcomes(state)) == {"interrupted": CHAIN}
    everything_is_in_order(world)


async def test_a_chain_of_1_000_agents_fails_with_the_one_exception_at_its_end() -> (
    None
):
    world, error = World(), ValueError("at the bottom")
    agent = chain_of_runs(world, failing_leaf(world, error))
    agent = agent.copy(on_error="raise")
    state = world.root(agent)
    with pytest.raises(ValueError, match="at the bottom") as caught:
        await agent.arun(state)
    assert caught.value is error
    assert Counter(outcomes(state)) == {"aborted": CHAIN}
    everything_is_in_order(world)


def outcomes(state: State) -> Iterator[str]:
    for each in family(state):
        yield from (entry.outcome for entry in results_of(each))


def fan(
    world: World, child: Agent, seen: list[tuple[ChildResult, ...]], policy: str
) -> Agent:
    @tool
    async def ask_all() -> str:
        """Ask very many."""
        begun(world)
        seen.append(await afan_out(child, map(str, range(FAN)), policy=policy))
        return "asked"

    return world.agent([tool_call("ask_all")], tools=[ask_all])


async def test_a_fan_of_10_000_agents_runs_and_is_summed() -> None:
    world, seen = World(), []
    agent = fan(world, world.agent(["fine"], name="child"), seen, "isolate")
    state = world.root(agent)
    assert await agent.arun(state) == "done"
    assert [each.prompt for each in seen[0]] == [str(n) for n in range(FAN)]
    assert Counter(each.outcome for each in seen[0]) == {"done": FAN}
    assert sum((each.usage for each in seen[0]), Usage()).requests == FAN
    assert state.usage.requests == FAN + 2
    everything_is_in_order(world)


async def test_a_fan_of_10_000_agents_is_cancelled_while_their_model_thinks() -> None:
    world, reached, asked = World(), trio.Event(), Counter()

    async def think(request: Request) -> str:
        asked["times"] += 1
        if asked["times"] == FAN:
            reached.set()
        await trio.sleep_forever()
        return "never"

    child = Agent(FunctionModel(think), reporter=None, name="child")
    agent = fan(world, child, [], "isolate")
    state = world.root(agent)
    await run_until(agent, state, reached)
    assert asked["times"] == FAN
    assert state.usage.requests == 1
    assert len(list(family(state))) == FAN + 1
    everything_is_in_order(world)


async def test_a_fan_of_10_000_agents_fails_with_the_one_exception_of_one() -> None:
    world, error, asked = World(), ValueError("one of many"), Counter()

    async def think(request: Request) -> str:
        asked["times"] += 1
        if asked["times"] == FAN:
            raise error
        await trio.sleep_forever()
        return "never"

    child = Agent(FunctionModel(think), reporter=None, name="child")
    agent = fan(world, child, [], "fail_fast")
    state = world.root(agent)
    with pytest.raises(ValueError, match="one of many") as caught:
        await agent.arun(state)
    assert caught.value is error
    assert state.usage.requests == 1
    everything_is_in_order(world)
