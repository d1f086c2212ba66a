"""O13 for graphs: the real error, no group around it."""

from typing import Any

import pytest
import trio
import trio.testing

from actors import Message, ToolNode
from tests.graphs import asks, call, chain, fan, thread


async def test_an_error_of_a_parallel_node_is_caught_as_itself() -> None:
    async def fine(state: Any) -> None:
        await trio.lowlevel.checkpoint()

    async def wrong(state: Any) -> None:
        raise ValueError("wrong")

    async def also(state: Any) -> None:
        await trio.testing.wait_all_tasks_blocked()
        raise KeyError("also")

    try:
        await fan(("a", fine), ("b", wrong), ("c", also)).ainvoke({}, thread())
    except ValueError as error:
        assert type(error) is ValueError
        assert any("also" in note for note in error.__notes__)
    else:
        pytest.fail("it must be raised")


async def test_an_error_of_a_parallel_tool_is_caught_as_itself() -> None:
    async def work(number: int) -> str:
        if number:
            raise ValueError(number)
        return "fine"

    async def ask(state: Any) -> Message:
        return asks(*[call(str(n), "work", number=n) for n in range(3)])

    app = chain(("ask", ask), ("tools", ToolNode([work])))
    with pytest.raises(ValueError) as raised:
        await app.ainvoke({}, thread())
    assert raised.value.args == (1,)
    assert any("ValueError(2)" in note for note in raised.value.__notes__)
