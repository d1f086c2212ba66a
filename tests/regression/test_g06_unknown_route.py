"""G6: a route to an unknown node fails that run with its name."""

from typing import Any

import pytest

from actors import END, START, Command, GraphError, Send, StateGraph
from tests.graphs import Counted, adds, says, texts, thread, user


@pytest.mark.parametrize("way", ["condition", "command", "send"])
async def test_the_run_fails_by_name_and_the_thread_stays_usable(way: str) -> None:
    wrong = [True]

    async def node(state: Any) -> Any:
        if not wrong or way == "condition":
            return {"total": 1}
        goto: Any = "nowhere" if way == "command" else [Send("nowhere", {})]
        return Command(update={"total": 1}, goto=goto)

    def route(state: Any) -> str:
        return "nowhere" if wrong and way == "condition" else "b"

    graph = StateGraph(Counted).add_node("a", node).add_node("b", says("done"))
    graph.add_edge(START, "a").add_conditional_edges("a", route).add_edge("b", END)
    app = graph.compile()
    await_total = adds(1)
    assert await_total
    with pytest.raises(GraphError, match="'nowhere'"):
        await app.ainvoke(user("one"), thread())
    state = await app.aget_state(thread())
    assert (state.total, texts(state.context)) == (0, ["one"])
    wrong.clear()
    result = await app.ainvoke(user("two"), thread())
    assert result["state"].total == 1
    assert texts(result["state"].context) == ["one", "two", "done"]
