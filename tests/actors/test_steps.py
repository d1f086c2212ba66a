"""Steps that somebody takes by hand, outside of any run."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from actors import (
    ActorClosed,
    Agent,
    DecideByHuman,
    Inbox,
    Message,
    Run,
    State,
    StoppedByQuestion,
    open_supervisor,
    tool,
)
from actors._inside import run_of
from actors.testing import FakeModel, tool_call


def quiet(replies: list[Any], **settings: Any) -> Agent:
    return Agent(FakeModel(replies), **{"reporter": None, "human": None, **settings})


def begun() -> State:
    return State(messages=[Message.user("go")])


async def side_by_side(*steps: Callable[[], Awaitable[Any]]) -> list[Any]:
    """What came of each step: its value, or what it raised."""
    came: list[Any] = [None] * len(steps)

    async def take(index: int) -> None:
        try:
            came[index] = await steps[index]()
        except Exception as error:
            came[index] = error

    async with trio.open_nursery() as nursery:
        for index in range(len(steps)):
            nursery.start_soon(take, index)
    return came


async def slow(_request: object) -> str:
    for _ in range(5):
        await trio.lowlevel.checkpoint()
    return "slow"


@pytest.mark.parametrize("supervised", [True, False])
async def test_thinks_outside_of_any_run_are_all_answered(supervised: bool) -> None:
    agent, state = quiet([slow, slow, slow]), begun()

    async def think() -> str:
        return (await agent.athink(state)).text

    if supervised:
        async with open_supervisor():
            came = await side_by_side(think, think, think)
    else:
        came = await side_by_side(think, think, think)
    assert came == ["slow"] * 3
    assert state.usage.requests == 3
    assert run_of(state) is None


async def test_a_think_that_fails_leaves_the_next_one_alone() -> None:
    agent, state = quiet([OSError("no answer"), slow]), begun()
    came = await side_by_side(lambda: agent.athink(state), lambda: agent.athink(state))
    assert sorted(type(each).__name__ for each in came) == ["OSError", "Reply"]
    assert state.phase == "idle"
    assert run_of(state) is None


async def test_closing_a_state_stops_every_step_of_it() -> None:
    async def never(_request: object) -> str:
        await trio.sleep_forever()
        raise AssertionError("it sleeps")

    agent, state = quiet([never, "unread"]), begun()

    async def close() -> None:
        while not state.statistics().waiting:
            await trio.lowlevel.checkpoint()
        state.close("enough")

    async def think() -> object:
        return await agent.athink(state)

    *came, _ = await side_by_side(think, think, close)
    assert [type(each) for each in came] == [ActorClosed, ActorClosed]
    assert all("enough" in str(each) for each in came)
    assert state.phase == "idle"


async def test_steps_side_by_side_in_a_call_are_counted_once() -> None:
    below, inner = begun(), quiet([slow, slow])

    @tool
    async def both() -> str:
        """Think twice about one State, at once."""
        await side_by_side(lambda: inner.athink(below), lambda: inner.athink(below))
        return "thought"

    state = begun()
    agent = quiet([tool_call("both"), "done"], tools=[both])
    assert await agent.arun(state) == "done"
    assert below.usage.requests == 2
    assert state.usage.requests == 4
    (result,) = [entry for entry in state.history if entry.kind == "tool_result"]
    assert result.child_ids == (below.id,)


async def test_calls_that_wait_for_an_answer_are_left_open_and_gone_on_with() -> None:
    ran: list[str] = []

    @tool
    async def risky() -> str:
        """Run only as allowed."""
        ran.append("risky")
        return "done"

    agent = quiet(
        [tool_call("risky"), "done"],
        tools=[risky],
        permissions=[DecideByHuman()],
        human=Inbox(wait_s=0),
    )
    state = begun()
    await agent.athink(state)
    await agent.ause_tools(state)
    assert isinstance(state.stopped, StoppedByQuestion)
    assert state.stopped.questions == state.questions
    assert len(state.pending_calls) == 1
    state.answer_question(state.questions[0].id, "yes")
    await agent.ause_tools(state)
    assert ran == ["risky"]
    assert state.pending_calls == ()


async def test_a_step_that_is_given_up_leaves_the_request_of_the_next_one(
    autojump_clock: MockClock,
) -> None:
    @tool
    async def deaf() -> str:
        """Hear no cancel."""
        with trio.CancelScope(shield=True):
            await trio.sleep(9)
        return "heard nothing"

    async def later(_request: object) -> str:
        await trio.sleep(3)
        return "later"

    agent = quiet([tool_call("deaf"), later], tools=[deaf], grace_s=0)
    state = begun()
    await agent.athink(state)
    async with open_supervisor() as supervisor:

        async def cancel() -> None:
            await trio.sleep(1)
            (node,) = supervisor._roots
            Run(node).cancel_nowait("enough")

        async def think() -> str:
            await trio.sleep(1.02)  # the call is given up by now, its step is not
            return (await agent.athink(state)).text

        came = await side_by_side(lambda: agent.ause_tools(state), think, cancel)
    assert came[1] == "later"
    assert state.usage.requests == 2
    assert state.phase == "idle"


def test_a_step_without_a_state_says_what_to_write() -> None:
    agent = quiet(["hello"], tools=[])
    wrong: Any = "hi"
    for step in (agent.think, agent.use_tools, agent.compact):
        with pytest.raises(TypeError, match=r"takes a State, not a str: write State\("):
            step(wrong)
    with pytest.raises(TypeError, match=r"takes a State, not a str: write State\("):
        agent.ask(wrong, "What?")
