"""An agent as a node."""

import warnings
from typing import Any

import pytest
import trio

from actors import (
    END,
    START,
    Agent,
    BudgetExceeded,
    Limits,
    Message,
    StateGraph,
    ToolResult,
    interrupt,
)
from actors.testing import FakeModel, tool_call
from tests.graphs import Counted, asks, call, chain, fan, kept, texts, thread, user


async def test_an_agent_answers_the_conversation() -> None:
    model = FakeModel(["hello", "again"])
    app = chain(("a", Agent(model=model, system="be kind")))
    await app.ainvoke(user("hi"), thread())
    result = await app.ainvoke(user("and?"), thread())
    assert texts(result["messages"]) == ["and?", "again"]
    request = model.requests[-1]
    assert texts(request.messages) == ["hi", "hello", "and?"]
    assert request.system == "be kind"
    assert result["usage"].requests == 1
    assert kept(app).usage.requests == 2


async def test_own_tools_run_until_a_reply_without_calls() -> None:
    async def add(number: int) -> ToolResult:
        return ToolResult(message=f"added {number}", state={"total": number})

    model = FakeModel(
        [
            [tool_call("add", number=5), tool_call("add", number=7)],
            tool_call("add", number=1),
            "done",
        ]
    )
    app = chain(("a", Agent(model=model, tools=[add])))
    result = await app.ainvoke({**user("go"), "state": {"total": 10}}, thread())
    assert result["state"].total == 23
    roles = [message.role for message in result["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [len(m.content) for m in result["messages"]] == [1, 2, 2, 1, 1, 1]


async def test_the_thread_never_thinks_and_any_number_of_nodes_may_at_once() -> None:
    both = [trio.Event(), trio.Event()]

    def meeting(mine: int) -> Any:
        async def reply(request: Any) -> str:
            both[mine].set()
            await both[1 - mine].wait()
            return f"reply {mine}"

        return reply

    nodes = [
        (name, Agent(model=FakeModel([meeting(mine)])))
        for mine, name in enumerate(("a", "b"))
    ]
    with trio.fail_after(5):
        app = fan(*nodes)
        result = await app.ainvoke(user("hi"), thread())
    assert texts(result["messages"]) == ["hi", "reply 0", "reply 1"]
    assert kept(app).phase == "idle"
    assert not [e for e in kept(app).history if e.kind == "model_request"]


async def test_what_a_node_asks_is_kept_in_a_child_state() -> None:
    app = chain(("a", Agent(model=FakeModel(["hello"]))))
    await app.ainvoke(user("hi"), thread())
    state = kept(app)
    (start,) = [e for e in state.history if e.kind == "node_start"]
    child = state.child(start.child_id)
    assert texts(child.messages) == ["hello"]
    assert child.parent_id == "t"


async def test_an_open_call_is_shown_with_a_result_and_stays_open() -> None:
    async def ask(state: Any) -> Message:
        return asks(call("1", "later"), call("2", "later"))

    model = FakeModel(["I wait"])
    app = chain(("ask", ask), ("a", Agent(model=model)))
    result = await app.ainvoke(user("go"), thread())
    shown = model.requests[0].messages
    assert [message.role for message in shown] == ["user", "assistant", "tool"]
    assert [block.output for block in shown[2].content] == ["(not run yet)"] * 2
    roles = [message.role for message in result["state"].context]
    assert roles == ["user", "assistant", "assistant"]


async def test_a_tool_of_an_agent_asks_and_the_model_is_not_asked_again() -> None:
    async def book(day: str) -> str:
        return f"{day}: {interrupt('sure?')}"

    model = FakeModel([tool_call("book", day="Monday"), "booked"])
    app = chain(("a", Agent(model=model, tools=[book])))
    result = await app.ainvoke(user("book"), thread())
    assert result["interrupts"][0].value == "sure?"
    assert len(model.requests) == 1
    result = await app.ainvoke({"resume": "yes"}, thread())
    assert texts(result["state"].context)[2:] == ["Monday: yes", "booked"]
    assert result["usage"].requests == 1
    assert kept(app).usage.requests == 2


async def test_a_failing_model_fails_the_node_and_the_next_run_asks_again() -> None:
    model = FakeModel([ConnectionError("down"), "hello"])
    app = chain(("a", Agent(model=model)))
    with pytest.raises(ConnectionError):
        await app.ainvoke(user("hi"), thread())
    result = await app.ainvoke(None, thread())
    assert texts(result["state"].context) == ["hi", "hello"]


async def test_usage_of_a_node_that_failed_still_counts() -> None:
    async def fail() -> str:
        raise KeyError("x")

    model = FakeModel([tool_call("fail")])
    app = chain(("a", Agent(model=model, tools=[fail])))
    with pytest.raises(KeyError):
        await app.ainvoke(user("hi"), thread())
    assert kept(app).usage.requests == 1


async def test_nodes_take_from_the_graphs_requests_and_not_from_its_children() -> None:
    model = FakeModel(["one", "two"])
    nodes = [(name, Agent(model=model)) for name in "ab"]
    app = chain(*nodes, limits=Limits(requests=2, children=0, depth=0))
    await app.ainvoke(user("hi"), thread())
    app = chain(*nodes, limits=Limits(requests=0))
    with pytest.raises(BudgetExceeded):
        await app.ainvoke(user("hi"), thread())


async def test_trimming_without_a_manager_warns_once_and_does_nothing() -> None:
    model = FakeModel(["1", "2"])
    app = chain(("a", Agent(model=model, trim_context=True)))
    with pytest.warns(UserWarning, match="trim_context=True does nothing"):
        await app.ainvoke(user("hi"), thread())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await app.ainvoke(user("again"), thread())
    assert len(model.requests[1].messages) == 3


async def test_an_agent_may_be_run_inside_a_function_node_too() -> None:
    model = FakeModel(["the answer"])
    agent = Agent(model=model, human=None, reporter=None)

    async def node(state: Any) -> str:
        answer: str = await agent.arun("a question")
        return answer

    app = chain(("a", node))
    result = await app.ainvoke({}, thread())
    assert texts(result["messages"]) == ["the answer"]
    assert result["usage"].requests == 1
    (end,) = [e for e in kept(app).history if e.kind == "node_end"]
    assert len(end.child_ids) == 1


async def test_agents_stand_in_a_graph_with_conditions() -> None:
    graph = StateGraph(Counted).add_node("a", Agent(model=FakeModel(["no", "yes"])))
    graph.add_edge(START, "a").add_conditional_edges(
        "a", lambda state: state.context[-1].text(), {"no": "a", "yes": END}
    )
    result = await graph.compile().ainvoke(user("well?"))
    assert texts(result["messages"]) == ["well?", "no", "yes"]
