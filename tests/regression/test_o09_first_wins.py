"""O9: the first good child wins; the others are cancelled, and all are counted."""

from typing import Any

import pytest
import trio

from actors import (
    Agent,
    ChildResult,
    Usage,
    afan_out,
    first,
    open_supervisor,
    quorum,
)
from actors.models._items import as_reply
from tests.regression.stage import agent, call, results, state


def timed(**settings: Any) -> Agent:
    """An agent that answers after as many seconds as it is asked for, twice asked."""

    async def answer(request: Any) -> Any:
        seconds = float(request.messages[0].text())
        await trio.sleep(seconds / 2)
        return as_reply(f"after {seconds:g}", "function/rule")

    async def twice(agent: Agent, state: Any) -> Any:
        await agent.athink(state)
        await agent.athink(state)
        return state.answer

    return agent(answer, loop=twice, **settings)


def is_two(result: ChildResult) -> bool:
    return bool(result.answer == "after 2")


@pytest.mark.parametrize("around", [True, False])
async def test_the_first_good_one_ends_it_and_the_rest_are_cancelled_and_counted(
    autojump_clock: trio.testing.MockClock, around: bool
) -> None:
    prompts = ["3", "2", "1"]
    if around:
        async with open_supervisor() as supervisor:
            got = await supervisor.map(timed(), prompts, policy=first(is_two))
            assert supervisor.tree() == ()
    else:
        got = await afan_out(timed(), prompts, policy=first(is_two))
    assert trio.current_time() == 2
    assert [each.outcome for each in got] == ["cancelled", "done", "done"]
    assert [each.answer for each in got] == [None, "after 2", "after 1"]
    assert [each.prompt for each in got] == prompts
    assert [each.usage.requests for each in got] == [1, 2, 2]
    assert got[1].error is None


@pytest.mark.parametrize("is_wanted", [True, False])
async def test_inside_a_call_the_usage_of_all_children_is_the_calls(
    autojump_clock: trio.testing.MockClock, is_wanted: bool
) -> None:
    async def race() -> str:
        policy = first(is_two) if is_wanted else first(lambda result: False)
        got = await afan_out(timed(), ["1", "2", "3"], policy=policy)
        return " ".join(each.outcome for each in got)

    asked = state()
    assert await agent(call("race"), "over", tools=[race]).arun(asked) == "over"
    (result,) = results(asked)
    assert result.content == ("done done cancelled" if is_wanted else "done done done")
    spent = 5 if is_wanted else 6
    assert result.usage.requests == spent
    assert len(result.child_ids) == 3
    assert asked.usage.requests == spent + 2
    children = sum(
        (asked.child(each).usage for each in result.child_ids), start=Usage()
    )
    assert children.requests == spent


@pytest.mark.parametrize("wanted", [1, 2, 3, 4])
async def test_a_quorum_ends_with_the_last_one_that_is_needed(
    autojump_clock: trio.testing.MockClock, wanted: int
) -> None:
    prompts = ["1", "2", "3"]
    got = await afan_out(timed(), prompts, policy=quorum(wanted))
    assert trio.current_time() == min(wanted, 3)
    done = [each.outcome for each in got].count("done")
    assert done == min(wanted, 3)


async def test_what_has_not_started_is_cancelled_too_and_nothing_is_dropped(
    autojump_clock: trio.testing.MockClock,
) -> None:
    prompts = [str(n) for n in range(1, 101)]
    got = await afan_out(timed(), prompts, policy=first(), max_running=3)
    assert trio.current_time() == 1
    assert len(got) == 100
    assert [each.prompt for each in got] == prompts
    assert [each.outcome for each in got] == ["done", *["cancelled"] * 99]


async def test_a_predicate_that_raises_stops_all_and_is_raised(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def broken(result: ChildResult) -> bool:
        raise LookupError("my predicate")

    with pytest.raises(LookupError, match="my predicate"):
        await afan_out(timed(), ["1", "2", "3"], policy=first(broken))
    assert trio.current_time() == 1


async def test_a_failed_child_is_no_winner(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def rule(request: Any) -> Any:
        if request.messages[0].text() == "bad":
            raise ValueError("broken")
        await trio.sleep(1)
        return "fine"

    got = await afan_out(agent(rule), ["bad", "good"], policy=first())
    assert [each.outcome for each in got] == ["error", "done"]
    assert isinstance(got[0].error, ValueError)
