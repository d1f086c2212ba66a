"""G2: hand-off and `Command(update, goto)` route the same under invoke and stream."""

from typing import Any

import pytest

from actors import (
    END,
    START,
    Agent,
    Command,
    StateGraph,
    ToolNode,
    create_handoff_tool,
)
from actors.testing import FakeModel, tool_call
from tests.graphs import Counted, adds, kept, says, started, texts, thread, user


def by_command() -> StateGraph:
    async def choose(state: Any) -> Command:
        return Command(update={"city": "Oslo"}, goto="writer")

    return StateGraph(Counted).add_node("MAIN", choose, goto="writer")


def by_own_tool() -> StateGraph:
    model = FakeModel([tool_call("transfer_to_writer")] * 2)
    agent = Agent(model=model, tools=[create_handoff_tool("writer")])
    return StateGraph(Counted).add_node("MAIN", agent, goto="writer")


def by_tool_node() -> StateGraph:
    model = FakeModel([tool_call("transfer_to_writer")] * 2)
    graph = StateGraph(Counted).add_node("MAIN", Agent(model=model, tool_node="TOOLS"))
    graph.add_node("TOOLS", ToolNode([create_handoff_tool("writer")]), goto="writer")
    return graph.add_edge("MAIN", "TOOLS").add_edge("TOOLS", "other")


@pytest.mark.parametrize("way", [by_command, by_own_tool, by_tool_node])
async def test_a_hand_off_routes_the_same_under_invoke_and_stream(way: Any) -> None:
    graph = way().add_edge(START, "MAIN").add_node("writer", says("written"))
    graph.add_node("other", adds(1)).add_edge("writer", END).add_edge("other", END)
    if way is not by_tool_node:
        graph.add_edge("MAIN", "other")
    app = graph.compile()
    invoked = await app.ainvoke(user("write"), thread("invoked"))
    async with app.astream(user("write"), thread("streamed")) as events:
        streamed = [event async for event in events][-1].result
    assert started(app, "invoked") == started(app, "streamed")
    assert "writer" in started(app, "invoked")
    assert "other" not in started(app, "invoked")
    assert texts(invoked["messages"]) == texts(streamed["messages"])
    kinds = [[e.kind for e in kept(app, n).history] for n in ("invoked", "streamed")]
    assert kinds[0] == kinds[1]
