"""O18: an inner limit is caught where it stands; the outer one ends the tree."""

import pytest
import trio

from actors import (
    Agent,
    BudgetExceeded,
    Limits,
    State,
    StoppedByBudget,
    afan_out,
    open_supervisor,
)
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    outcomes,
    results,
    state,
)


async def again() -> str:
    await trio.lowlevel.checkpoint()
    return "again"


def busy_child(requests: int | None, **settings: object) -> Agent:
    """A child that never stops by itself."""
    limits = None if requests is None else Limits(requests=requests)
    return agent(call("again"), tools=[again], name="child", limits=limits, **settings)


def respawning(child: Agent, limits: Limits | None) -> Agent:
    """A parent that calls a new child whenever one has ended."""
    return agent(call("child", prompt="go"), tools=[child], limits=limits)


@pytest.mark.parametrize("tree", [1, 2, 3, 7, 11])
@pytest.mark.parametrize("own", [1, 2, 5])
async def test_each_new_child_has_a_fresh_limit_and_the_trees_ends_the_loop(
    autojump_clock: trio.testing.MockClock, own: int, tree: int
) -> None:
    asked = state()
    root = respawning(busy_child(own), Limits(requests=tree))
    await root.arun(asked)
    assert asked.stopped == StoppedByBudget(limit="requests", owner=asked.id)
    assert asked.usage.requests == tree
    children = [asked.child(i) for e in results(asked) for i in e.child_ids]
    spent = [child.usage.requests for child in children]
    assert set(spent[:-1]) <= {own}
    for child, requests in zip(children, spent, strict=True):
        assert requests <= own
        if requests == own and child is not children[-1]:
            assert child.stopped == StoppedByBudget(limit="requests", owner=child.id)
        assert_whole(child)
    for entry in results(asked)[:-1]:
        assert entry.outcome == "done"
        assert "requests" in str(entry.content)
    assert_whole(asked)


async def test_a_supervisors_limit_is_raised_out_of_the_run_that_hits_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asked = state()
    async with open_supervisor(limits=Limits(requests=7)) as supervisor:
        run = supervisor.start(respawning(busy_child(2), None), asked)
        with pytest.raises(BudgetExceeded) as caught:
            await run.wait()
        assert caught.value.owner == supervisor._id
        assert caught.value.limit == "requests"
    assert asked.usage.requests == 7
    assert asked.stopped is None
    assert_whole(asked)


@pytest.mark.parametrize("parallel", [2, 10])
async def test_a_shared_limit_is_exact_however_many_children_draw_on_it(
    autojump_clock: trio.testing.MockClock, parallel: int
) -> None:
    asked = state()
    root = agent(
        [call("child", prompt=str(n)) for n in range(parallel)],
        tools=[busy_child(None)],
        limits=Limits(requests=25),
    )
    await root.arun(asked)
    assert asked.usage.requests == 25
    assert asked.stopped == StoppedByBudget(limit="requests", owner=asked.id)
    assert_whole(asked)


async def test_a_child_error_can_be_caught_by_the_tool_that_started_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    caught: list[str] = []

    async def careful(state: State) -> str:
        got = await afan_out(busy_child(2), ["a", "b"])
        caught.extend(each.outcome for each in got)
        return "went on"

    asked = state()
    root = agent(call("careful"), "done", tools=[careful], limits=Limits(requests=4))
    await root.arun(asked)
    assert asked.usage.requests <= 4
    assert_whole(asked)


async def test_of_two_limits_that_are_spent_the_outermost_is_named(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asked = state()
    root = respawning(busy_child(3), Limits(requests=4))
    await root.arun(asked)
    assert asked.stopped == StoppedByBudget(limit="requests", owner=asked.id)
    (entry,) = results(asked)
    child = asked.child(entry.child_ids[0])
    assert child.usage.requests == 3
    assert outcomes(asked) in (["aborted"], ["cancelled"])
