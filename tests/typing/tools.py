"""What type checkers know about tools; they read it, nothing runs it."""

from typing import Any, assert_type

from actors import Tool, tool


@tool
def price(item: str, count: int = 1) -> float:
    """Tell what an item costs."""
    return float(len(item) * count)


@tool(name="find", retries=2, read_only=True)
async def search(query: str) -> list[str]:
    """Search the catalogue."""
    return [query]


async def a_tool_is_called_as_its_function() -> None:
    assert_type(price("hat", count=2), float)
    assert_type(await search("hat"), list[str])
    price(5)  # type: ignore[arg-type] # an int is no text


def a_plain_tool_is_any_tool(given: Tool) -> None:
    assert_type(given.name, str)
    assert_type(given.bind({"item": "hat"}), dict[str, Any])
    tools: list[Tool] = [price, search, given]
    a_plain_tool_is_any_tool(tools[0])
