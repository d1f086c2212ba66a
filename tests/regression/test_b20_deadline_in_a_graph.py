"""O20 for graphs: time-outs of tools, of nodes and of the run."""

from typing import Any

import pytest
import trio

from actors import BudgetExceeded, Limits, Message, ToolNode, tool
from tests.graphs import adds, asks, call, chain, thread


async def ask(state: Any) -> Message:
    return asks(call("1", "slow"))


async def test_a_tool_times_out_and_the_run_goes_on(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(timeout_s=1)
    async def slow() -> str:
        await trio.sleep(10)
        return "never"

    nodes = ("ask", ask), ("tools", ToolNode([slow])), ("after", adds(1))
    begin = trio.current_time()
    result = await chain(*nodes).ainvoke({}, thread())
    assert trio.current_time() - begin < 2
    (block,) = result["state"].context[-1].content
    assert (block.output, block.is_error) == ("timed out after 1 s", True)
    assert result["state"].total == 1


async def test_the_deadline_of_a_run_keeps_what_was_committed(
    autojump_clock: trio.abc.Clock,
) -> None:
    async def slow(state: Any) -> None:
        await trio.sleep(100)

    app = chain(("a", adds(1)), ("b", slow), limits=Limits(seconds=5))
    begin = trio.current_time()
    with pytest.raises(BudgetExceeded, match="seconds"):
        await app.ainvoke({}, thread())
    assert trio.current_time() - begin < 6
    assert (await app.aget_state(thread())).total == 1
