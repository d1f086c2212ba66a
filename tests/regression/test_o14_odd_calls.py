"""O14: calls with doubtful ids and unknown tools cost nothing but their own result."""

import pytest
import trio

from actors import State
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    in_call_order,
    requested,
    state,
)


class Work:
    def __init__(self) -> None:
        self.runs = 0

    async def work(self, n: int) -> str:
        self.runs += 1
        await trio.sleep(n)
        return f"result {n}"


async def test_shared_empty_and_unknown_calls_give_three_runs_and_four_results(
    autojump_clock: trio.testing.MockClock,
) -> None:
    tools, asked = Work(), state()
    reply = [
        call("work", "same", n=1),
        call("work", "same", n=2),
        call("work", "", n=3),
        call("nothing", "odd"),
    ]
    root = agent(reply, "went on", tools=[tools.work])
    assert await root.arun(asked) == "went on"
    assert tools.runs == 3
    assert [entry.outcome for entry in in_call_order(asked)] == [
        "done",
        "done",
        "done",
        "input_error",
    ]
    assert [entry.content for entry in in_call_order(asked)][:3] == [
        "result 1",
        "result 2",
        "result 3",
    ]
    assert "nothing" in str(in_call_order(asked)[3].content)
    assert "work" in str(in_call_order(asked)[3].content)
    own = [each.id for each in requested(asked)]
    assert len(set(own)) == 4
    assert all(own)
    assert [each.model_id for each in requested(asked)] == [None, "same", "", None]
    (message,) = [m for m in asked.messages if m.role == "tool"]
    assert [getattr(block, "call_id", None) for block in message.content] == own
    assert_whole(asked)


@pytest.mark.parametrize("count", [2, 30])
async def test_an_id_of_an_earlier_turn_is_used_again_without_harm(
    autojump_clock: trio.testing.MockClock, count: int
) -> None:
    tools, asked = Work(), state()
    root = agent(
        *[call("work", "call_0", n=n) for n in range(count)], "done", tools=[tools.work]
    )
    assert await root.arun(asked) == "done"
    assert tools.runs == count
    own = [each.id for each in requested(asked)]
    assert len(set(own)) == count
    assert [entry.content for entry in in_call_order(asked)] == [
        f"result {n}" for n in range(count)
    ]
    assert_whole(asked)


@pytest.mark.parametrize(
    "args",
    [{}, {"n": "three"}, {"n": 1, "m": 2}, {"n": None}, {"N": 1}],
    ids=lambda args: repr(args),
)
async def test_unusable_arguments_are_told_to_the_model_and_nothing_runs(
    autojump_clock: trio.testing.MockClock, args: dict[str, object]
) -> None:
    tools, asked = Work(), state()
    root = agent(
        [call("work", **args), call("work", n=1)], "went on", tools=[tools.work]
    )
    assert await root.arun(asked) == "went on"
    assert tools.runs == 1
    assert [entry.outcome for entry in in_call_order(asked)] == ["input_error", "done"]
    assert_whole(asked)


async def test_a_turn_of_nothing_but_unknown_tools_goes_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asked: State = state()
    root = agent([call("a"), call("b"), call("a")], "went on")
    assert await root.arun(asked) == "went on"
    assert [entry.outcome for entry in in_call_order(asked)] == ["input_error"] * 3
    assert_whole(asked)
