"""A graph as a node of another."""

from pathlib import Path
from typing import Any

import pytest

from actors import (
    END,
    START,
    Agent,
    AgentState,
    FileStore,
    NodeError,
    StateGraph,
    emit,
    interrupt,
)
from actors.testing import FakeModel
from tests.graphs import Counted, adds, chain, kept, says, texts, thread, user


async def test_a_graph_in_a_graph_adds_what_it_added() -> None:
    inner = chain(("x", adds(5, "x")), ("y", says("inner")), ("z", adds(7, "z")))
    app = chain(("a", adds(1, "a")), ("inner", inner), ("b", adds(1, "b")))
    result = await app.ainvoke({**user("hi"), "state": {"total": 10}}, thread())
    state = result["state"]
    assert (state.total, state.log) == (24, ["a", "x", "z", "b"])
    assert texts(state.context) == ["hi", "inner"]


async def test_the_inner_graph_sees_context_and_shared_fields_only() -> None:
    seen: list[Any] = []

    class Inner(AgentState):
        city: str = ""
        own: int = 5

    async def look(state: Inner) -> dict[str, Any]:
        seen.append((texts(state.context), state.city, state.own))
        return {"city": "Bern", "own": 6}

    inner = chain(("look", look), state=Inner)
    result = await chain(("inner", inner)).ainvoke(
        {**user("hi"), "state": {"city": "Oslo"}}
    )
    assert seen == [(["hi"], "Oslo", 5)]
    assert result["state"].city == "Bern"


async def test_a_shared_field_of_another_type_is_named() -> None:
    class Inner(AgentState):
        city: int = 0

    app = chain(("inner", chain(("x", says("x")), state=Inner)))
    with pytest.raises(NodeError) as raised:
        await app.ainvoke({"state": {"city": "Oslo"}}, thread())
    assert (raised.value.node, raised.value.field) == ("inner", "city")


async def test_an_interrupt_inside_pauses_the_graph_around_it(tmp_path: Path) -> None:
    runs: list[str] = []

    async def before(state: Any) -> dict[str, Any]:
        runs.append("before")
        return {"total": 1}

    async def ask(state: Any) -> dict[str, Any]:
        runs.append("ask")
        return {"log": [interrupt("sure?")]}

    def app() -> Any:
        inner = chain(("before", before), ("ask", ask))
        return chain(("inner", inner), checkpointer=FileStore(tmp_path))

    asked = (await app().ainvoke(user("hi"), thread()))["interrupts"]
    assert [(each.node, each.value) for each in asked] == [("ask", "sure?")]
    result = await app().ainvoke({"resume": "yes"}, thread())
    assert (result["state"].total, result["state"].log) == (1, ["yes"])
    assert runs == ["before", "ask", "ask"]


async def test_a_failure_inside_is_gone_on_from_inside() -> None:
    runs: list[str] = []

    def node(name: str, broken: list[bool]) -> Any:
        async def run(state: Any) -> dict[str, Any]:
            runs.append(name)
            if broken and broken.pop():
                raise ConnectionError("down")
            return {"total": 1}

        return run

    inner = chain(("x", node("x", [])), ("y", node("y", [True])))
    app = chain(("inner", inner))
    with pytest.raises(ConnectionError):
        await app.ainvoke({}, thread())
    assert (await app.ainvoke(None, thread()))["state"].total == 2
    assert runs == ["x", "y", "y"]


async def test_graphs_stand_in_graphs_in_graphs() -> None:
    app = chain(("x", adds(1)))
    for _ in range(5):
        app = chain(("inner", app), ("more", adds(1)))
    assert (await app.ainvoke({}, thread()))["state"].total == 6


async def test_two_inner_graphs_run_side_by_side() -> None:
    graph = StateGraph(Counted)
    for name in "ab":
        graph.add_node(name, chain(("x", adds(1, name)))).add_edge(START, name)
        graph.add_edge(name, END)
    app = graph.compile()
    result = await app.ainvoke(user("hi"), thread())
    assert (result["state"].total, result["state"].log) == (2, ["a", "b"])
    assert len(kept(app).messages) == 1


async def test_a_stream_shows_what_happens_inside_but_not_the_inner_state() -> None:
    async def loud(state: Any) -> str:
        emit("inside")
        return "said"

    talk = Agent(model=FakeModel(["hello"]))
    inner = chain(("loud", loud), ("talk", talk))
    app = chain(("inner", inner))
    async with app.astream(user("hi"), thread()) as events:
        seen = [event async for event in events]
    assert [(e.kind, getattr(e, "node", None)) for e in seen] == [
        ("state", None),
        ("custom", "loud"),
        ("message", "loud"),
        ("update", "loud"),
        ("delta", "inner"),
        ("message", "talk"),
        ("update", "talk"),
        ("message", "inner"),
        ("message", "inner"),
        ("update", "inner"),
        ("state", None),
        ("end", None),
    ]
