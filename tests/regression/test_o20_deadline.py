"""O20: a deadline on a call, a turn, a run, a tree; and waits for humans left out."""

from typing import Any

import pytest
import trio
import trio.testing

from actors import (
    Agent,
    AllowByDefault,
    BudgetExceeded,
    DecideByHuman,
    Human,
    Limits,
    Question,
    State,
    StoppedByBudget,
    deadline,
    open_supervisor,
    tool,
)
from actors._settings import INHERIT
from actors.tools._subagent import RunAgent
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    in_call_order,
    outcomes,
    state,
)


async def slow() -> str:
    await trio.sleep(10)
    return "never"


class Slow(Human):
    """Somebody who answers after a while."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def aask(self, question: Question) -> str:
        await trio.sleep(self.seconds)
        return "yes"


@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("parallel", [True, False])
async def test_a_call_past_its_time_out_is_an_error_result_and_the_run_goes_on(
    autojump_clock: trio.testing.MockClock, calls: int, parallel: bool
) -> None:
    asked = state()
    made = tool(timeout_s=1, parallel=parallel)(slow)
    root = agent([call("slow") for _ in range(calls)], "went on", tools=[made])
    assert await root.arun(asked) == "went on"
    assert trio.current_time() == (1 if parallel else calls)
    assert outcomes(asked) == ["error"] * calls
    assert all("1 s" in str(entry.content) for entry in in_call_order(asked))
    assert_whole(asked)


@pytest.mark.parametrize("retries", [0, 2])
async def test_each_retry_has_the_whole_time_out(
    autojump_clock: trio.testing.MockClock, retries: int
) -> None:
    asked = state()
    made = tool(timeout_s=1, retries=retries)(slow)
    assert await agent(call("slow"), "went on", tools=[made]).arun(asked) == "went on"
    assert trio.current_time() == 1 + retries
    assert_whole(asked)


async def test_a_call_that_is_deaf_to_its_time_out_holds_up_the_run_for_its_grace(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def deaf() -> str:
        with trio.CancelScope(shield=True):
            await trio.sleep(100)
        return "late"

    asked = state()
    root = agent(call("deaf"), "went on", tools=[tool(timeout_s=1)(deaf)], grace_s=2)
    async with open_supervisor() as supervisor:
        assert await supervisor.start(root, asked).wait() == "went on"
        assert trio.current_time() == pytest.approx(3)
        (named,) = supervisor.statistics().unstopped
        assert named.path == (asked.id, in_call_order(asked)[0].call.id)
    assert outcomes(asked) == ["error"]
    assert "timed out" in str(in_call_order(asked)[0].content)
    assert_whole(asked)


@pytest.mark.parametrize("calls", [1, 3])
async def test_a_runs_deadline_ends_it_and_what_was_done_is_kept(
    autojump_clock: trio.testing.MockClock, calls: int
) -> None:
    async def quick() -> str:
        await trio.sleep(2)
        return "quick"

    asked = state()
    root = agent(
        call("quick"),
        [call("slow") for _ in range(calls)],
        "never",
        tools=[quick, slow],
        limits=Limits(seconds=5),
    )
    await root.arun(asked)
    assert trio.current_time() == 5
    assert asked.stopped == StoppedByBudget(limit="seconds", owner=asked.id)
    assert outcomes(asked)[0] == "done"
    assert set(outcomes(asked)[1:]) <= {"interrupted", "cancelled"}
    assert len(outcomes(asked)) == 1 + calls
    assert_whole(asked)


async def test_a_deadline_while_the_model_is_waited_on_takes_the_request_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def thinking(request: object) -> str:
        await trio.sleep(10)
        return "never"

    asked = state()
    await agent(thinking, limits=Limits(seconds=5)).arun(asked)
    assert trio.current_time() == 5
    assert asked.stopped == StoppedByBudget(limit="seconds", owner=asked.id)
    assert asked.turn == 0
    assert_whole(asked)


@pytest.mark.parametrize("depth", [1, 3])
async def test_a_deadline_far_up_ends_everything_below_in_time(
    autojump_clock: trio.testing.MockClock, depth: int
) -> None:
    below: Agent = agent(call("slow"), "never", tools=[slow], name="a0")
    for level in range(1, depth + 1):
        below = agent(
            call(f"a{level - 1}", prompt="go"), "never", tools=[below], name=f"a{level}"
        )
    asked = state()
    await below.copy(limits=Limits(seconds=5)).arun(asked)
    assert trio.current_time() == 5
    assert asked.stopped == StoppedByBudget(limit="seconds", owner=asked.id)
    assert_whole(asked)


async def test_a_childs_own_deadline_is_a_result_for_its_parent(
    autojump_clock: trio.testing.MockClock,
) -> None:
    child = agent(
        call("slow"), "never", tools=[slow], name="child", limits=Limits(seconds=3)
    )
    asked = state()
    root = agent(call("child", prompt="go"), "went on", tools=[child])
    assert await root.arun(asked) == "went on"
    assert trio.current_time() == 3
    assert outcomes(asked) == ["done"]
    assert "seconds" in str(in_call_order(asked)[0].content)
    assert_whole(asked)


async def test_a_trees_deadline_ends_every_run_below_the_supervisor(
    autojump_clock: trio.testing.MockClock,
) -> None:
    states = [state() for _ in range(3)]
    async with open_supervisor(limits=Limits(seconds=5)) as supervisor:
        runs = []
        for n, each in enumerate(states):
            runs.append(supervisor.start(agent(call("slow"), tools=[slow]), each))
            await trio.sleep(n)
        for run in runs:
            with pytest.raises(BudgetExceeded) as caught:
                await run.wait()
            assert caught.value.limit == "seconds"
            assert caught.value.owner == supervisor._id
        assert trio.current_time() == 5
    for each in states:
        assert_whole(each)


@pytest.mark.parametrize("counted", [True, False])
async def test_a_turns_deadline_ends_the_turn_and_the_run_goes_on(
    autojump_clock: trio.testing.MockClock, counted: bool
) -> None:
    over: list[bool] = []

    async def patient(agent: Agent, state: State) -> Any:
        for _ in range(2):
            with deadline(state, 3, count_waiting=counted) as scope:
                await agent.athink(state)
                await agent.ause_tools(state)
            over.append(scope.cancelled_caught)
        await agent.athink(state)
        return state.answer

    asked = state()
    root = agent(
        call("slow"),
        call("slow"),
        "went on",
        tools=[slow],
        loop=patient,
        human=Slow(20),
        permissions=[DecideByHuman("slow")],
    )
    assert await root.arun(asked) == "went on"
    assert over == [True, True]
    assert trio.current_time() == (6 if counted else 2 * (20 + 3))
    assert outcomes(asked) == ["interrupted"] * 2
    assert asked.questions == ()
    assert_whole(asked)


async def test_a_turns_deadline_takes_back_a_request_that_waits(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def thinking(request: object) -> str:
        await trio.sleep(10)
        return "never"

    async def once(agent: Agent, state: State) -> str:
        with deadline(state, 3):
            await agent.athink(state)
        return state.phase

    asked = state()
    assert await agent(thinking, loop=once).arun(asked) == "idle"
    assert asked.turn == 0
    assert_whole(asked)


@pytest.mark.parametrize(("counted", "ends_at"), [(True, 5), (False, 20 + 5)])
@pytest.mark.parametrize("depth", [0, 2])
async def test_the_wait_for_a_human_is_left_out_of_the_deadline_when_asked_for(
    autojump_clock: trio.testing.MockClock, counted: bool, ends_at: float, depth: int
) -> None:
    below: Agent = agent(
        call("slow"),
        "never",
        tools=[slow],
        permissions=[DecideByHuman("slow"), AllowByDefault()],
        name="a0",
    )
    for level in range(1, depth + 1):
        below = agent(
            call(f"a{level - 1}", prompt="go"), "never", tools=[below], name=f"a{level}"
        )
    below = with_inherited_humans(below)
    asked = state()
    root = below.copy(human=Slow(20), limits=Limits(seconds=5, count_waiting=counted))
    await root.arun(asked)
    assert trio.current_time() == ends_at
    assert asked.stopped == StoppedByBudget(limit="seconds", owner=asked.id)
    assert asked.questions == ()
    assert_whole(asked)


def with_inherited_humans(top: Agent) -> Agent:
    tools = [
        with_inherited_humans(each.fn.agent) if isinstance(each.fn, RunAgent) else each
        for each in top.tools
    ]
    return top.copy(tools=tools, human=INHERIT)
