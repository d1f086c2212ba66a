"""Calls that wait for somebody's word, and questions."""

import trio

from actors import Agent, DecideByHuman, Inbox, State
from actors.testing import FakeHuman, Trial, tool_call

from .world import World, tools_of, world_of


def judged(world: World, human: object) -> Agent:
    tools = tools_of(world)
    calls = [tool_call("work", steps=1), tool_call("tidy", steps=0)]
    return world.agent(
        [calls],
        tools=[tools["work"], tools["tidy"]],
        permissions=[DecideByHuman()],
        human=human,
    )


async def a_human_approves(trial: Trial) -> None:
    world = world_of(trial)
    agent = judged(world, FakeHuman(["yes", "no"] + ["yes"] * 2))
    assert await agent.arun(world.root(agent)) == "done"


async def an_answer_comes_through_the_state(trial: Trial) -> None:
    world = world_of(trial)
    agent = judged(world, Inbox())
    state = world.root(agent)

    async def answer() -> None:
        while not state.questions:
            await trio.lowlevel.checkpoint()
        for question in state.questions:
            await trio.lowlevel.checkpoint()
            if question in state.questions:
                state.answer_question(question.id, "yes")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        assert await agent.arun(state) == "done"


async def questions_are_left_open(trial: Trial) -> None:
    world = world_of(trial)
    agent = judged(world, Inbox(wait_s=0))
    state = world.root(agent)
    await agent.arun(state)
    assert len(state.questions) == 2


async def a_question_far_down(trial: Trial) -> None:
    world = world_of(trial)
    child = world.agent(
        [tool_call("work", steps=0)], tools=[tools_of(world)["work"]], name="child"
    )
    agent = world.agent(
        [tool_call("child", prompt="go")],
        tools=[child],
        permissions=[DecideByHuman()],
        human=FakeHuman(["always"] + ["yes"] * 5),
    )
    assert await agent.arun(world.root(agent)) == "done"


async def a_question_of_the_loop(trial: Trial) -> None:
    world = world_of(trial)

    async def body(agent: Agent, state: State) -> object:
        return await agent.aask_human(state, "How many?", returns=int)

    agent = world.agent([], human=FakeHuman([3]))
    state = world.root(agent)
    assert await agent.copy(loop=body).arun(state) == 3


SCENARIOS = (
    a_human_approves,
    an_answer_comes_through_the_state,
    questions_are_left_open,
    a_question_far_down,
    a_question_of_the_loop,
)
