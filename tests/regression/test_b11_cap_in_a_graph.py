"""O11 for graphs: 50 calls in one turn with a cap."""

from collections import deque
from typing import Any

import pytest
import trio

from actors import Message, ToolNode
from tests.graphs import asks, call, chain, thread


@pytest.mark.parametrize("cap", [4, 1])
async def test_fifty_calls_keep_the_cap_the_order_and_the_greedy_schedule(
    cap: int, autojump_clock: trio.abc.Clock
) -> None:
    lengths = [1 + number % 3 for number in range(50)]
    running = [0]
    peak = [0]

    async def work(number: int) -> str:
        running[0] += 1
        peak[0] = max(peak[0], running[0])
        await trio.sleep(lengths[number])
        running[0] -= 1
        return str(number)

    async def ask(state: Any) -> Message:
        return asks(*[call(str(n), "work", number=n) for n in range(50)])

    app = chain(("ask", ask), ("tools", ToolNode([work], max_parallel=cap)))
    begin = trio.current_time()
    result = await app.ainvoke({}, thread())
    outputs = [block.output for block in result["state"].context[-1].content]
    assert outputs == [str(number) for number in range(50)]
    assert peak == [cap]
    assert round(trio.current_time() - begin) == greedy(lengths, cap)


def greedy(lengths: list[int], cap: int) -> int:
    slots = [0] * cap
    for length in deque(lengths):
        slots.sort()
        slots[0] += length
    return max(slots)
