"""`ToolNode`, hand-off, and what tools want changed."""

from pathlib import Path
from typing import Any

import pytest
import trio

from actors import (
    END,
    START,
    Agent,
    Command,
    DecideByHuman,
    DenyByName,
    FileStore,
    GraphRecursionError,
    Inbox,
    Message,
    StateGraph,
    ToolError,
    ToolNode,
    ToolResult,
    create_handoff_tool,
    tool,
)
from actors.testing import FakeModel, tool_call
from tests.graphs import (
    Counted,
    asks,
    call,
    chain,
    kept,
    says,
    texts,
    thread,
    user,
)


def asking(*calls: Any) -> Any:
    async def ask(state: Any) -> Message:
        return asks(*calls)

    return ask


def outputs(result: Any) -> list[Any]:
    message = result["state"].context[-1]
    assert message.role == "tool"
    return [(b.call_id, b.output, b.is_error) for b in message.content]


async def test_all_results_of_a_turn_go_in_as_one_message_in_call_order() -> None:
    slow_may_end = trio.Event()

    async def slow() -> str:
        await slow_may_end.wait()
        return "slow"

    async def fast() -> str:
        slow_may_end.set()
        return "fast"

    ask = asking(call("1", "slow"), call("2", "fast"))
    app = chain(("ask", ask), ("tools", ToolNode([slow, fast])))
    result = await app.ainvoke({}, thread())
    assert outputs(result) == [("1", "slow", False), ("2", "fast", False)]


async def test_two_tools_that_add_to_a_field_both_count() -> None:
    async def add(number: int) -> ToolResult:
        return ToolResult(message="added", state={"total": number})

    ask = asking(call("1", "add", number=5), call("2", "add", number=7))
    app = chain(("ask", ask), ("tools", ToolNode([add])))
    result = await app.ainvoke({"state": {"total": 10}})
    assert result["state"].total == 22


async def test_of_two_calls_that_set_a_field_the_later_one_counts() -> None:
    async def select(city: str) -> ToolResult:
        return ToolResult(state={"city": city})

    ask = asking(call("1", "select", city="Rome"), call("2", "select", city="Oslo"))
    result = await chain(("ask", ask), ("tools", ToolNode([select]))).ainvoke({})
    assert result["state"].city == "Oslo"


async def test_a_tool_may_read_and_assign_the_state() -> None:
    async def note(text: str, state: Any) -> str:
        state.log = [text]
        return f"{len(state.context)} messages, {state.city}"

    ask = asking(call("1", "note", text="x"), call("2", "note", text="y"))
    app = chain(("ask", ask), ("tools", ToolNode([note])))
    result = await app.ainvoke({**user("hi"), "state": {"city": "Oslo"}})
    assert [each[1] for each in outputs(result)] == ["2 messages, Oslo"] * 2
    assert result["state"].log == ["x", "y"]


async def test_a_tool_error_is_a_result_and_the_run_goes_on() -> None:
    async def fail() -> str:
        raise ToolError("no luck")

    app = chain(("ask", asking(call("1", "fail"))), ("tools", ToolNode([fail])))
    assert outputs(await app.ainvoke({})) == [("1", "no luck", True)]


async def test_another_error_fails_the_node_unless_it_says_otherwise() -> None:
    async def fail() -> str:
        raise KeyError("x")

    ask = asking(call("1", "fail"))
    with pytest.raises(KeyError):
        await chain(("ask", ask), ("tools", ToolNode([fail]))).ainvoke({}, thread())
    mild = chain(("ask", ask), ("tools", ToolNode([fail], on_error="result")))
    assert outputs(await mild.ainvoke({})) == [("1", "KeyError: 'x'", True)]


async def test_going_on_after_a_failure_runs_only_the_calls_that_did_not_end() -> None:
    runs: list[str] = []

    async def good(name: str) -> ToolResult:
        runs.append(name)
        return ToolResult(message=name, state={"total": 1})

    async def bad() -> str:
        runs.append("bad")
        if runs.count("bad") == 1:
            raise KeyError("x")
        return "mended"

    ask = asking(
        call("1", "good", name="a"), call("2", "bad"), call("3", "good", name="b")
    )
    app = chain(("ask", ask), ("tools", ToolNode([good, bad])))
    with pytest.raises(KeyError):
        await app.ainvoke({}, thread())
    result = await app.ainvoke(None, thread())
    assert [each[1] for each in outputs(result)] == ["a", "mended", "b"]
    assert sorted(runs) == ["a", "b", "bad", "bad"]
    assert result["state"].total == 2


async def test_permissions_of_a_tool_node_are_asked() -> None:
    async def shell() -> str:
        return "done"

    node = ToolNode([shell], permissions=[DenyByName("shell", reason="not here")])
    result = await chain(("ask", asking(call("1", "shell"))), ("t", node)).ainvoke({})
    assert outputs(result) == [("1", "(denied: not here)", True)]


async def test_the_config_times_tools_out_that_say_nothing_themselves(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(timeout_s=100)
    async def own() -> str:
        await trio.sleep(50)
        return "own time"

    async def slow() -> str:
        await trio.sleep(50)
        return "never"

    ask = asking(call("1", "own"), call("2", "slow"))
    app = chain(("ask", ask), ("tools", ToolNode([own, slow])))
    result = await app.ainvoke({}, {"tool_timeout_s": 1})
    assert [each[1] for each in outputs(result)] == ["own time", "timed out after 1 s"]


async def test_only_calls_without_a_result_are_run() -> None:
    async def count(name: str) -> str:
        return name

    ask = asking(call("1", "count", name="a"))
    node = ToolNode([count])
    result = await chain(("ask", ask), ("t", node), ("again", node)).ainvoke({})
    assert [message.role for message in result["messages"]] == ["assistant", "tool"]


async def test_a_command_of_a_tool_updates_and_routes() -> None:
    async def decide() -> Command:
        return Command(update={"city": "Oslo"}, goto="b")

    graph = StateGraph(Counted).add_node("ask", asking(call("1", "decide")))
    graph.add_node("tools", ToolNode([decide]), goto="b")
    graph.add_node("a", says("a")).add_node("b", says("b"))
    graph.set_entry_point("ask").add_edge("ask", "tools").add_edge("tools", "a")
    graph.add_edge("a", END).add_edge("b", END)
    result = await graph.compile().ainvoke({})
    assert texts(result["messages"])[1:] == ["(goes on at b)", "b"]
    assert result["state"].city == "Oslo"


async def test_a_command_of_a_tool_that_cannot_be_recorded_is_an_error_result() -> None:
    async def wrong(kind: str) -> Command:
        update: Any = {"text": "x", "field": {"nothing": 1}, "core": {"context": []}}
        return Command(update=update[kind])

    kinds = ("text", "field", "core")
    ask = asking(*[call(kind, "wrong", kind=kind) for kind in kinds])
    result = await chain(("ask", ask), ("tools", ToolNode([wrong]))).ainvoke({})
    told = outputs(result)
    assert all(is_error for _, _, is_error in told)
    assert "'nothing'" in told[1][1]
    assert "'context'" in told[2][1]


@pytest.mark.parametrize("where", ["agent", "tool_node"])
async def test_a_hand_off_routes_and_its_call_gets_a_result(where: str) -> None:
    model = FakeModel([tool_call("transfer_to_writer")])
    hand_over = create_handoff_tool("writer")
    graph = StateGraph(Counted)
    if where == "agent":
        graph.add_node("MAIN", Agent(model=model, tools=[hand_over]), goto="writer")
    else:
        graph.add_node("MAIN", Agent(model=model, tool_node="TOOLS"))
        graph.add_node("TOOLS", ToolNode([hand_over]), goto="writer")
        graph.add_edge("MAIN", "TOOLS").add_edge("TOOLS", "MAIN")
    graph.add_node("writer", says("written")).add_edge("writer", END)
    graph.set_entry_point("MAIN")
    app = graph.compile()
    result = await app.ainvoke(user("write"), thread())
    roles = [message.role for message in result["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert texts(result["messages"])[2:] == ["(goes on at writer)", "written"]
    assert model.remaining == 0


@pytest.mark.parametrize("where", ["agent", "tool_node"])
@pytest.mark.parametrize("said", [True, False])
async def test_what_a_permission_asks_and_nobody_answers_now_is_an_interrupt(
    where: str, said: bool, tmp_path: Path
) -> None:
    runs: list[str] = []

    async def shell(command: str) -> str:
        runs.append(command)
        return "done"

    settings: Any = {"permissions": [DecideByHuman()], "human": Inbox(wait_s=0)}
    script = FakeModel([tool_call("shell", command="ls"), "ended"])

    def app() -> Any:
        store = FileStore(tmp_path)
        if where == "agent":
            agent = Agent(model=script, tools=[shell], **settings)
            return chain(("a", agent), checkpointer=store)
        ask = asking(call("1", "shell", command="ls"))
        return chain(
            ("a", ask), ("t", ToolNode([shell], **settings)), checkpointer=store
        )

    (asked,) = (await app().ainvoke(user("go"), thread()))["interrupts"]
    assert asked.value["call"] == "shell"
    assert runs == []
    result = await app().ainvoke({"resume": said}, thread())
    assert result["interrupts"] == ()
    assert runs == (["ls"] if said else [])
    results = [m for m in result["state"].context if m.role == "tool"]
    assert [block.is_error for block in results[0].content] == [not said]


def test_a_hand_off_tool_has_a_name_that_models_accept() -> None:
    assert create_handoff_tool("The Writer").name == "transfer_to_The_Writer"
    assert create_handoff_tool("x", tool_name="give_up").name == "give_up"
    with pytest.raises(TypeError, match="name of a node"):
        create_handoff_tool("")


async def test_each_call_has_its_one_result_in_a_state_of_its_own() -> None:
    async def count() -> str:
        return "1"

    ask = asking(call("1", "count"), call("2", "count"))
    app = chain(("ask", ask), ("tools", ToolNode([count])))
    await app.ainvoke({}, thread())
    state = kept(app)
    (child_id,) = [
        e.child_id for e in state.history if e.kind == "node_start" and e.child_id
    ]
    results = [e for e in state.child(child_id).history if e.kind == "tool_result"]
    assert [each.call.id for each in results] == ["1", "2"]


async def test_an_agent_and_a_tool_node_go_round() -> None:
    async def add(number: int) -> ToolResult:
        return ToolResult(message=f"added {number}", state={"total": number})

    model = FakeModel([tool_call("add", number=1), tool_call("add", number=2), "done"])
    graph = StateGraph(Counted).add_node("MAIN", Agent(model=model, tool_node="TOOLS"))
    graph.add_node("TOOLS", ToolNode([add])).add_edge("TOOLS", "MAIN")
    graph.add_edge(START, "MAIN").add_conditional_edges(
        "MAIN",
        lambda state: "TOOLS" if state.context[-1].tool_calls else END,
        ["TOOLS", END],
    )
    app = graph.compile()
    result = await app.ainvoke(user("add"), thread())
    assert result["state"].total == 3
    assert texts(result["messages"]) == ["add", "", "added 1", "", "added 2", "done"]
    assert [spec.name for spec in model.requests[0].tools] == ["add"]
    assert result["usage"].requests == 3
    for request in model.requests:
        assert request.messages[0].text() == "add"
    with pytest.raises(GraphRecursionError):
        model = FakeModel([tool_call("add", number=1)] * 5)
        agent = Agent(model=model, tool_node="TOOLS")
        graph.override_node("MAIN", agent)
        await graph.compile().ainvoke(user("add"), {"recursion_limit": 3})
