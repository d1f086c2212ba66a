"""O7: what would wait for itself is refused at once; closing oneself ends the turn."""

import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.testing

from actors import (
    ActorClosed,
    Agent,
    DecideByHuman,
    Inbox,
    Message,
    Run,
    RunCancelled,
    State,
    default_loop,
    open_supervisor,
)
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    late,
    outcomes,
    results,
    state,
)

SOON_S = 5

Ask = Callable[[Agent, State], Awaitable[Any]]


async def by_arun(agent: Agent, state: State) -> Any:
    return await agent.arun(state)


async def by_queue(agent: Agent, state: State) -> Any:
    return await agent.copy(busy="queue").arun(state)


async def by_interrupt(agent: Agent, state: State) -> Any:
    return await agent.copy(busy="interrupt").arun(state)


async def by_think(agent: Agent, state: State) -> Any:
    return await agent.athink(state)


async def by_ask(agent: Agent, state: State) -> Any:
    return await agent.aask(state, "what?")


async def by_tools(agent: Agent, state: State) -> Any:
    return await agent.ause_tools(state)


async def by_compact(agent: Agent, state: State) -> Any:
    return await agent.acompact(state)


ASKS = [by_arun, by_queue, by_interrupt, by_think, by_ask, by_tools, by_compact]


@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: ask.__name__)
async def test_a_tool_that_asks_its_own_state_is_refused_at_once(
    autojump_clock: trio.testing.MockClock, ask: Ask, calls: int
) -> None:
    made: list[Agent] = []

    async def own(state: State) -> str:
        with pytest.raises(ValueError, match=r"cannot .*") as caught:
            await ask(made[0], state)
        return str(caught.value)

    made.append(agent([call("own") for _ in range(calls)], "went on", tools=[own]))
    asked = state()
    with trio.fail_after(SOON_S):
        assert await made[0].arun(asked) == "went on"
    assert trio.current_time() == 0
    assert outcomes(asked) == ["done"] * calls
    assert asked.usage.requests == 2
    assert_whole(asked)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("busy", ["reject", "queue", "interrupt"])
async def test_a_descendant_that_runs_an_ancestors_state_is_refused_at_once(
    autojump_clock: trio.testing.MockClock, depth: int, busy: str
) -> None:
    asked = state()
    top: list[Agent] = []

    async def upward() -> str:
        with pytest.raises(ValueError, match="cannot wait for the run"):
            await top[0].copy(busy=busy).arun(asked)
        return "refused"

    below = agent(call("upward"), "below is done", tools=[upward], name="a0")
    for level in range(1, depth + 1):
        below = agent(
            call(f"a{level - 1}", prompt="go"),
            f"a{level} is done",
            tools=[below],
            name=f"a{level}",
        )
    top.append(below)
    with trio.fail_after(SOON_S):
        assert await below.arun(asked) == f"a{depth} is done"
    assert [len(entry.child_ids) for entry in results(asked)] == [1]
    assert_whole(asked)


async def test_a_tool_that_waits_for_its_own_run_is_refused_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    runs: list[Run] = []

    async def own() -> str:
        with pytest.raises(ValueError, match="cannot wait for the run"):
            await runs[0].wait()
        return "refused"

    asked = state()
    async with open_supervisor() as supervisor:
        runs.append(supervisor.start(agent(call("own"), "done", tools=[own]), asked))
        with trio.fail_after(SOON_S):
            assert await runs[0].wait() == "done"
    assert_whole(asked)


@pytest.mark.parametrize("count", [2, 3])
async def test_of_runs_that_wait_for_each_other_in_a_ring_the_last_is_refused(
    autojump_clock: trio.testing.MockClock, count: int
) -> None:
    states = [state() for _ in range(count)]
    refused: list[int] = []
    agents: list[Agent] = []

    def member(n: int) -> Agent:
        async def next_one() -> str:
            await trio.sleep(n + 1)
            other = (n + 1) % count
            try:
                return str(await agents[other].arun(states[other]))
            except ValueError as error:
                assert "cannot wait" in str(error)
                refused.append(n)
                return "refused"

        return agent(call("next_one"), f"{n} is done", tools=[next_one], busy="queue")

    agents += [member(n) for n in range(count)]
    with trio.fail_after(1000):
        async with open_supervisor() as supervisor:
            runs = [supervisor.start(a, s) for a, s in zip(agents, states, strict=True)]
            for n, run in enumerate(runs):
                assert await run.wait() == f"{n} is done"
    assert refused == [count - 1]
    for each in states:
        assert_whole(each)


async def test_a_thread_that_runs_its_own_state_is_refused_at_once() -> None:
    made: list[Agent] = []

    def own(state: State) -> str:
        with pytest.raises(ValueError, match="cannot wait for the run"):
            made[0].copy(busy="queue").run(state)
        return "refused"

    made.append(agent(call("own"), "went on", tools=[own], loop=None))
    asked = state()
    with trio.fail_after(SOON_S):
        assert await made[0].arun(asked) == "went on"
    assert_whole(asked)


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("siblings", [0, 2])
async def test_a_tool_that_closes_its_own_state_ends_the_turn_with_cancelled_results(
    autojump_clock: trio.testing.MockClock, siblings: int, goes_on: bool
) -> None:
    async def close(state: State) -> str:
        await trio.sleep(1)
        state.close("enough")
        if goes_on:
            await trio.sleep(60)
        return "closed"

    async def slow() -> str:
        await trio.sleep(60)
        return "never"

    asked = state()
    root = agent(
        [call("close"), *[call("slow") for _ in range(siblings)]],
        "never",
        tools=[close, slow],
    )
    with trio.fail_after(SOON_S), pytest.raises(RunCancelled, match="enough"):
        await root.arun(asked)
    assert trio.current_time() == 1
    assert asked.closed
    assert outcomes(asked) == ["cancelled"] * (1 + siblings)
    assert all("enough" in str(entry.content) for entry in results(asked))
    assert late(asked) == []
    assert_whole(asked)
    with pytest.raises(ActorClosed):
        asked.add_message(Message.user("more"))


async def test_a_thread_may_close_its_own_state_too() -> None:
    async def nothing() -> None:
        await trio.sleep_forever()

    def close(state: State) -> str:
        state.close("enough")
        return "closed"

    asked = state()
    root = agent([call("close"), call("nothing")], "never", tools=[close, nothing])
    with trio.fail_after(SOON_S), pytest.raises(RunCancelled, match="enough"):
        await root.arun(asked)
    assert outcomes(asked) == ["cancelled"] * 2
    assert_whole(asked)


@pytest.mark.parametrize("phase", ["thinking", "calling", "asking a human"])
async def test_closing_a_state_from_outside_leaves_nothing_pending_in_any_phase(
    autojump_clock: trio.testing.MockClock, phase: str
) -> None:
    async def slow(request: object = None) -> Any:
        await trio.sleep(60)
        return "never"

    async def work() -> str:
        await trio.sleep(60)
        return "never"

    asked = state()
    settings: dict[str, Any] = {}
    if phase == "asking a human":
        settings = {"human": Inbox(), "permissions": [DecideByHuman()]}
    root = agent(
        slow if phase == "thinking" else [call("work"), call("work")],
        "never",
        tools=[work],
        **settings,
    )
    async with open_supervisor() as supervisor:
        run = supervisor.start(root, asked)
        await trio.sleep(1)
        asked.close("enough")
        with trio.fail_after(SOON_S), pytest.raises(RunCancelled, match="enough"):
            await run.wait()
    assert trio.current_time() == 1
    assert asked.questions == ()
    assert set(outcomes(asked)) <= {"cancelled"}
    assert_whole(asked)


async def test_closing_while_a_think_by_hand_waits_ends_it_and_those_behind_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def slow(request: object) -> str:
        await trio.sleep(60)
        return "never"

    asked, ended = state(), []
    thinker = agent(slow)

    async def one() -> None:
        try:
            await thinker.athink(asked)
        except (ActorClosed, RunCancelled) as error:
            ended.append(type(error))

    async with open_supervisor(), trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(one)
        await trio.sleep(1)
        asked.close()
    assert trio.current_time() == 1
    assert len(ended) == 5
    assert_whole(asked)


async def test_closing_a_subagents_state_is_a_cancelled_result_and_the_parent_goes_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def close(state: State) -> None:
        state.close("enough")
        await trio.sleep(60)

    child = agent(call("close"), "never", tools=[close], name="child")
    asked = state()
    root = agent(call("child", prompt="go"), "went on", tools=[child])
    assert await root.arun(asked) == "went on"
    assert outcomes(asked) == ["cancelled"]
    assert "enough" in str(results(asked)[0].content)
    assert asked.usage.requests == 3
    assert_whole(asked)


def test_a_plain_run_whose_tool_closes_its_state_ends_too() -> None:
    def close(state: State) -> str:
        state.close("enough")
        return "closed"

    asked = state()
    root = agent(call("close"), "never", tools=[close], loop=default_loop)
    done = threading.Event()
    with pytest.raises(RunCancelled, match="enough"):
        root.run(asked)
    done.set()
    assert outcomes(asked) == ["cancelled"]
    assert_whole(asked)
