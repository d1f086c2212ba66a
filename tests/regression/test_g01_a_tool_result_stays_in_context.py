"""G1: a tool result with a state update leaves its message in context on every path."""

from typing import Any

import pytest

from actors import END, START, Agent, Message, StateGraph, ToolNode, ToolResult
from actors.testing import FakeModel, tool_call
from tests.graphs import Counted, thread, user


async def select(city: str) -> ToolResult:
    return ToolResult(message=f"selected {city}", state={"city": city})


@pytest.mark.parametrize("path", ["own tools", "tool node"])
async def test_each_request_pairs_every_call_with_its_result(path: str) -> None:
    model = FakeModel([tool_call("select", city="Rome"), "done", "later"])
    graph = StateGraph(Counted)
    if path == "own tools":
        graph.add_node("MAIN", Agent(model=model, tools=[select]))
        graph.add_edge(START, "MAIN").add_edge("MAIN", END)
    else:
        graph.add_node("MAIN", Agent(model=model, tool_node="TOOLS"))
        graph.add_node("TOOLS", ToolNode([select])).add_edge("TOOLS", "MAIN")
        graph.add_edge(START, "MAIN").add_conditional_edges(
            "MAIN", route, ["TOOLS", END]
        )
    app = graph.compile()
    result = await app.ainvoke(user("go"), thread())
    assert result["state"].city == "Rome"
    await app.ainvoke(user("more"), thread())
    for request in model.requests[1:]:
        check_pairs(request.messages)
    roles = [message.role for message in model.requests[-1].messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def route(state: Counted) -> str:
    return "TOOLS" if state.context[-1].tool_calls else END


def check_pairs(messages: Any) -> None:
    for index, message in enumerate(messages):
        for asked in message.tool_calls:
            answer: Message = messages[index + 1]
            outputs = {block.call_id: block.output for block in answer.content}
            assert outputs[asked.id] == "selected Rome"
