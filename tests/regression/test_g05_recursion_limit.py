"""G5: a recursion limit that trips leaves a thread that the next run can use."""

import pytest

from actors import END, GraphRecursionError, StateGraph
from tests.graphs import Counted, adds, chain, thread, user


async def test_a_limit_of_n_allows_exactly_n_nodes() -> None:
    nodes = [(f"n{number}", adds(1)) for number in range(5)]
    app = chain(*nodes)
    result = await app.ainvoke({}, thread("enough", recursion_limit=5))
    assert result["state"].total == 5
    with pytest.raises(GraphRecursionError, match="4 steps"):
        await app.ainvoke({}, thread("less", recursion_limit=4))
    assert (await app.aget_state(thread("less"))).total == 4


async def test_the_next_run_uses_the_thread_as_if_nothing_had_been() -> None:
    graph = StateGraph(Counted).add_node("a", adds(1)).set_entry_point("a")
    ways = {"again": "a", "": END}
    app = graph.add_conditional_edges("a", lambda state: state.city, ways).compile()
    with pytest.raises(GraphRecursionError):
        await app.ainvoke({"state": {"city": "again"}}, thread(recursion_limit=3))
    result = await app.ainvoke({**user("hi"), "state": {"city": ""}}, thread())
    assert result["state"].total == 4
    assert len(result["messages"]) == 1
