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
    if isinstance(given, str | bytes) or callable(given) or is_agent(given):
        raise TypeError(f"tools= takes a list: write tools=[{_short(given)}]")
    tools: list[Tool] = []
    seen: dict[str, int] = {}
    for index, item in enumerate(given):
        made = subagent_tool(item) if is_agent(item) else as_tool(item)
        if made.name in seen:
            raise ValueError(
                f"two tools are named {made.name!r}, tools[{seen[made.name]}] and "
                f"tools[{index}]: give one another name, with @tool(name=...) or "
                f"Agent(..., name=...)"
            )
        seen[made.name] = index
        tools.append(made)
    return tuple(tools)


def _short(item: Any) -> str:
    """The name that it has in the program, most likely; else what it looks like."""
    name = getattr(item, "name", None) or getattr(item, "__name__", None)
    return name if isinstance(name, str) else f"{item!r:.60}"
