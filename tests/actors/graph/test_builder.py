"""Drawing and compiling a graph: all faults at once, by name."""

from typing import Any

import pytest

from actors import (
    END,
    START,
    Agent,
    AgentState,
    GraphError,
    Limits,
    MemoryStore,
    StateGraph,
    ToolNode,
    loop,
    waiting_for_user,
)
from actors.testing import FakeModel
from tests.graphs import Counted, adds, chain_of, says, user


def faults(graph: StateGraph, **kwargs: Any) -> tuple[str, ...]:
    with pytest.raises(GraphError) as raised:
        graph.compile(**kwargs)
    return raised.value.faults


def test_all_faults_of_a_graph_are_told_at_once_with_names() -> None:
    graph = StateGraph(AgentState)
    graph.add_node("a", says("x"))
    graph.add_node("a", says("x"))
    graph.add_node("b", 7)
    graph.add_node("c", says("x"), goto="gone")
    graph.add_edge("a", "nowhere")
    graph.add_edge("from", "a")
    graph.add_edge(["a", "ghost"], "b")
    graph.override_node("other", says("x"))
    found = faults(graph, interrupt_before=["never"])
    for name in ("'a'", "'b'", "'nowhere'", "'from'", "'ghost'", "'gone'", "'never'"):
        assert any(name in fault for fault in found), name
    assert any("entry point" in fault for fault in found)
    assert any("END is never reached" in fault for fault in found)
    assert any("'other'" in fault for fault in found)
    assert len(found) >= 9


def test_a_graph_without_entry_is_refused() -> None:
    graph = StateGraph(AgentState).add_node("a", says("x")).add_edge("a", END)
    assert any("no entry point" in fault for fault in faults(graph))


def test_a_node_that_nothing_leads_to_is_refused() -> None:
    graph = chain_of(("a", says("x"))).add_node("lost", says("x"))
    (fault,) = faults(graph)
    assert fault.startswith("node 'lost' is never reached")


def test_goto_and_path_maps_reach_nodes() -> None:
    graph = chain_of(("a", says("x")))
    graph.add_node("b", says("x"), goto=["c"]).add_node("c", says("x"))
    graph.add_conditional_edges("a", lambda state: True, {True: "b", False: END})
    assert graph.compile()


def test_a_condition_without_a_path_map_may_lead_anywhere() -> None:
    graph = StateGraph(AgentState).add_node("a", says("x")).add_node("b", says("x"))
    graph.set_entry_point("a").add_conditional_edges("a", lambda state: END)
    assert graph.compile()


@pytest.mark.parametrize("name", [START, END])
def test_a_node_cannot_have_a_name_that_is_taken(name: str) -> None:
    graph = chain_of(("a", says("x"))).add_node(name, says("x"))
    assert any("the name is taken" in fault for fault in faults(graph))


@pytest.mark.parametrize("state", [dict, {}, "AgentState", None, Counted])
def test_a_graph_takes_a_state_class_or_one_of_its_objects(state: Any) -> None:
    if state is Counted:
        assert StateGraph(state)
        assert StateGraph(Counted(total=3))
        return
    with pytest.raises(TypeError, match="StateGraph takes a class derived"):
        StateGraph(state)


def test_a_node_may_be_added_by_its_own_name() -> None:
    def greet(state: AgentState) -> str:
        return "hello"

    graph = StateGraph(AgentState).add_node(greet).set_entry_point("greet")
    graph.add_edge("greet", END)
    assert graph.compile().invoke(user("hi"))["messages"][-1].text() == "hello"


@pytest.mark.parametrize(("name", "fn"), [(7, says("x")), (None, None), ("a", None)])
def test_a_node_without_name_or_work_is_refused_at_once(name: Any, fn: Any) -> None:
    graph = StateGraph(AgentState)
    with pytest.raises(TypeError, match="add_node takes"):
        graph.add_node(name, fn)


def test_a_function_that_takes_no_state_or_too_much_is_refused() -> None:
    def nothing() -> None: ...
    def too_much(state: Any, other: Any) -> None: ...

    graph = chain_of(("a", nothing), ("b", too_much))
    told = " ".join(faults(graph))
    assert "node 'a' takes no state" in told
    assert "node 'b' needs other" in told


def test_drawing_on_changes_nothing_that_was_compiled() -> None:
    graph = chain_of(("a", adds(1)))
    app = graph.compile()
    graph.override_node("a", adds(100))
    graph.add_node("b", adds(5)).add_edge("a", "b")
    assert app.invoke({})["state"].total == 1
    assert graph.compile().invoke({})["state"].total == 105


def test_an_agent_with_a_loop_or_an_unknown_tool_node_is_refused() -> None:
    @loop(until=waiting_for_user, limit=1)
    async def once(agent: Agent, state: Any) -> None: ...

    looping = Agent(model=FakeModel(), loop=once)
    leaving = Agent(model=FakeModel(), tool_node="tools")
    told = " ".join(faults(chain_of(("a", looping), ("b", leaving))))
    assert "node 'a': the agent has loop=" in told
    assert "tool_node='tools' is no ToolNode" in told


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ({"checkpointer": {}}, TypeError),
        ({"limits": 5}, TypeError),
        ({"busy": "wait"}, ValueError),
        ({"name": 3}, TypeError),
        ({"name": "\ud800"}, ValueError),
    ],
)
def test_a_wrong_setting_is_refused(
    setting: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        chain_of(("a", says("x"))).compile(**setting)


def test_right_settings_are_taken() -> None:
    store = MemoryStore()
    app = chain_of(("a", says("x"))).compile(store, limits=Limits(requests=1), name="g")
    assert (app.checkpointer, app.name) == (store, "g")


@pytest.mark.parametrize(
    "settings",
    [
        {"max_parallel": 0},
        {"siblings": "drop"},
        {"on_error": "hide"},
        {"permissions": "all"},
    ],
)
def test_a_tool_node_checks_its_settings(settings: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        ToolNode([], **settings)
