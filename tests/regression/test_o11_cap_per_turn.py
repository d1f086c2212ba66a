"""O11: a cap on calls at once delays them, and drops none."""

from heapq import heapreplace
from typing import Any

import pytest
import trio

from actors import Limits, afan_out
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    in_call_order,
    outcomes,
    state,
)

LENGTHS = [(7 * n) % 11 + 1 for n in range(50)]


def greedy(lengths: list[int], cap: int) -> int:
    """When the last ends if each starts as soon as one before it has ended."""
    free_at = [0] * cap
    for length in lengths:
        heapreplace(free_at, free_at[0] + length)
    return max(free_at)


class Counter:
    def __init__(self) -> None:
        self.now = 0
        self.peak = 0
        self.order: list[int] = []

    async def work(self, n: int) -> str:
        self.order.append(n)
        self.now += 1
        self.peak = max(self.peak, self.now)
        await trio.sleep(LENGTHS[n])
        self.now -= 1
        return f"result {n}"


@pytest.mark.parametrize("cap", [1, 2, 4, 49, 50, 60])
async def test_the_cap_is_reached_never_passed_and_every_call_has_its_result(
    autojump_clock: trio.testing.MockClock, cap: int
) -> None:
    counter, asked = Counter(), state()
    root = agent(
        [call("work", n=n) for n in range(50)],
        "done",
        tools=[counter.work],
        max_parallel=cap,
    )
    assert await root.arun(asked) == "done"
    assert counter.peak == min(cap, 50)
    assert counter.order == list(range(50))
    assert trio.current_time() == greedy(LENGTHS, cap)
    contents = [entry.content for entry in in_call_order(asked)]
    assert contents == [f"result {n}" for n in range(50)]
    assert_whole(asked)


@pytest.mark.parametrize("cap", [1, 4, 50])
async def test_children_of_a_fan_keep_to_the_same_schedule(
    autojump_clock: trio.testing.MockClock, cap: int
) -> None:
    counter = Counter()

    async def rule(request: Any) -> str:
        return await counter.work(int(request.messages[0].text()))

    prompts = [str(n) for n in range(50)]
    got = await afan_out(agent(rule), prompts, max_running=cap)
    assert counter.peak == cap
    assert trio.current_time() == greedy(LENGTHS, cap)
    assert [each.answer for each in got] == [f"result {n}" for n in range(50)]


@pytest.mark.parametrize("cap", [1, 4])
async def test_subagents_in_calls_keep_to_the_cap_too(
    autojump_clock: trio.testing.MockClock, cap: int
) -> None:
    counter, asked = Counter(), state()

    async def rule(request: Any) -> str:
        return await counter.work(int(request.messages[0].text()))

    root = agent(
        [call("worker", prompt=str(n)) for n in range(50)],
        "done",
        tools=[agent(rule, name="worker")],
        max_parallel=cap,
    )
    await root.arun(asked)
    assert counter.peak == cap
    assert sorted(counter.order) == list(range(50))
    assert trio.current_time() == greedy(LENGTHS, cap)
    assert_whole(asked)


@pytest.mark.parametrize("allowed", [0, 1, 49])
async def test_calls_above_the_limit_of_a_turn_are_told_so_and_not_run(
    autojump_clock: trio.testing.MockClock, allowed: int
) -> None:
    counter, asked = Counter(), state()
    root = agent(
        [call("work", n=n) for n in range(50)],
        "done",
        tools=[counter.work],
        limits=Limits(calls_per_turn=allowed),
    )
    assert await root.arun(asked) == "done"
    assert counter.order == list(range(allowed))
    assert outcomes(asked).count("done") == allowed
    assert outcomes(asked).count("error") == 50 - allowed
    assert_whole(asked)
