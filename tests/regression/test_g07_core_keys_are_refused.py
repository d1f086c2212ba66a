"""G7: core keys in a tool's state or the input's are refused by name."""

from typing import Any

import pytest

from actors import Message, ToolNode, ToolResult
from tests.graphs import asks, call, chain, kept, texts, thread, user

KEYS = ("context", "__dict__", "execution_meta")


@pytest.mark.parametrize("key", KEYS)
async def test_in_the_input_they_are_refused_before_anything_happens(key: str) -> None:
    async def node(state: Any) -> str:
        return "hello"

    app = chain(("a", node))
    await app.ainvoke(user("before"), thread())
    before = kept(app).history
    with pytest.raises(ValueError, match=key):
        await app.ainvoke({"state": {key: [], "city": "Oslo"}}, thread())
    assert kept(app).history == before


@pytest.mark.parametrize("key", KEYS)
async def test_of_a_tool_they_are_an_error_result_and_change_nothing(key: str) -> None:
    async def sly() -> ToolResult:
        return ToolResult(message="ok", state={key: [], "city": "Oslo"})

    async def ask(state: Any) -> Message:
        return asks(call("1", "sly"))

    app = chain(("ask", ask), ("tools", ToolNode([sly])))
    result = await app.ainvoke(user("hi"), thread())
    (block,) = result["state"].context[-1].content
    assert block.is_error
    assert key in block.output
    assert result["state"].city == ""
    assert texts(result["state"].context)[:2] == ["hi", ""]
