"""The tools of an agent, from whatever was given: functions, tools, agents."""

from collections.abc import Iterable
from typing import Any

from ._subagent import is_agent, subagent_tool
from ._tool import Tool, as_tool


def collect(given: Iterable[Any]) -> tuple[Tool, ...]:
    """The tools, in order.

    Raises:
        TypeError: something is no tool; or it is a text or a single function.
        ValueError: two tools have the same name.
    """
    if isinstance(given, str | bytes) or callable(given):
        raise TypeError(f"tools= takes a list: write tools=[{given!r}]")
    tools: list[Tool] = []
    seen: dict[str, Any] = {}
    for item in given:
        made = subagent_tool(item) if is_agent(item) else as_tool(item)
        if made.name in seen:
            raise ValueError(
                f"two tools are named {made.name!r}: {seen[made.name]!r} and {item!r}; "
                f"give one another name with @tool(name=...)"
            )
        seen[made.name] = item
        tools.append(made)
    return tuple(tools)
