"""Interrupts: a run pauses, and goes on from the answer, in any process."""

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from actors import (
    END,
    START,
    Agent,
    FileStore,
    GraphError,
    MemoryStore,
    StateGraph,
    ToolNode,
    interrupt,
)
from actors.testing import FakeModel, tool_call
from tests.graphs import (
    Counted,
    adds,
    asks,
    call,
    chain,
    fan,
    kept,
    started,
    texts,
    thread,
    user,
)


class Asking:
    """A node that asks, and logs the answer."""

    def __init__(self, *questions: Any) -> None:
        self.questions = questions
        self.runs = 0

    async def __call__(self, state: Any) -> dict[str, Any]:
        self.runs += 1
        return {"log": [str(interrupt(question)) for question in self.questions]}


async def test_a_node_asks_and_runs_again_with_the_answer() -> None:
    asking = Asking({"may": "I?"})
    app = chain(("a", adds(1)), ("b", asking), ("c", adds(1)))
    result = await app.ainvoke(user("hi"), thread())
    (asked,) = result["interrupts"]
    assert (asked.node, asked.value) == ("b", {"may": "I?"})
    assert result["state"].is_interrupted()
    assert result["state"].execution_meta.interrupted_node == "b"
    assert result["state"].total == 1
    result = await app.ainvoke({"resume": "yes"}, thread())
    assert result["interrupts"] == ()
    assert (result["state"].total, result["state"].log) == (2, ["yes"])
    assert asking.runs == 2


async def test_earlier_answers_replay_by_question() -> None:
    app = chain(("a", Asking("one", "two", "one")))
    result = await app.ainvoke({}, thread())
    for answer in ("1", "2", "3"):
        assert len(result["interrupts"]) == 1
        result = await app.ainvoke({"resume": answer}, thread())
    assert result["state"].log == ["1", "2", "3"]


async def test_an_interrupt_keeps_its_id_until_it_is_answered() -> None:
    app = chain(("a", Asking("one")))
    first = await app.ainvoke({}, thread())
    again = await app.ainvoke(None, thread())
    assert first["interrupts"] == again["interrupts"]


async def test_several_interrupts_are_answered_in_any_order() -> None:
    nodes = {name: Asking(name) for name in "abc"}
    app = fan(*nodes.items())
    result = await app.ainvoke({}, thread())
    ids = {each.node: each.id for each in result["interrupts"]}
    assert list(ids) == ["a", "b", "c"]
    result = await app.ainvoke({"resume": {ids["b"]: "B"}}, thread())
    assert [each.node for each in result["interrupts"]] == ["a", "c"]
    result = await app.ainvoke({"resume": {ids["c"]: "C", ids["a"]: "A"}}, thread())
    assert result["state"].log == ["A", "B", "C"]
    assert {name: node.runs for name, node in nodes.items()} == {"a": 3, "b": 2, "c": 3}


async def test_one_answer_for_several_questions_is_refused_with_their_ids() -> None:
    app = fan(("a", Asking("a")), ("b", Asking("b")))
    result = await app.ainvoke({}, thread())
    before = kept(app).history
    with pytest.raises(GraphError, match="2 interrupts are open") as raised:
        await app.ainvoke({"resume": "x"}, thread())
    assert all(each.id in str(raised.value) for each in result["interrupts"])
    assert kept(app).history == before


async def test_an_answer_may_itself_be_a_dict() -> None:
    app = chain(("a", Asking("one")))
    await app.ainvoke({}, thread())
    result = await app.ainvoke({"resume": {"city": "Oslo"}}, thread())
    assert result["state"].log == [str({"city": "Oslo"})]


async def test_resuming_works_from_another_process(tmp_path: Path) -> None:
    def app() -> Any:
        return chain(("a", Asking("may I?")), checkpointer=FileStore(tmp_path))

    await app().ainvoke(user("hi"), thread())
    result = await app().ainvoke({"resume": "yes"}, thread())
    assert result["state"].log == ["yes"]
    assert texts(result["state"].context) == ["hi"]


async def test_of_two_processes_that_resume_one_goes_on_and_the_other_is_told() -> None:
    store = MemoryStore()
    apps = [chain(("a", Asking("may I?")), checkpointer=store) for _ in range(2)]
    for app in apps:
        await app.ainvoke({}, thread())
    results: list[Any] = []
    for app in apps:
        try:
            results.append(await app.ainvoke({"resume": "yes"}, thread()))
        except GraphError as error:
            results.append(error)
    assert results[0]["state"].log == ["yes"]
    assert "answers nothing" in str(results[1])


def test_a_plain_node_asks_too() -> None:
    def plain(state: Any) -> dict[str, Any]:
        assert threading.current_thread() is not threading.main_thread()
        return {"log": [interrupt("sure?")]}

    app = chain(("a", plain))
    assert app.invoke({}, thread())["interrupts"][0].value == "sure?"
    assert app.invoke({"resume": "yes"}, thread())["state"].log == ["yes"]


async def test_a_run_pauses_before_and_after_nodes_by_name() -> None:
    nodes = ("a", adds(1)), ("b", adds(10)), ("c", adds(100))
    app = chain(*nodes, interrupt_before=["b"], interrupt_after=["b"])
    result = await app.ainvoke({}, thread())
    assert (result["interrupts"][0].node, result["state"].total) == ("b", 1)
    assert result["state"].execution_meta.status == "interrupted_before"
    result = await app.ainvoke(None, thread())
    assert (result["interrupts"][0].node, result["state"].total) == ("b", 11)
    assert result["state"].execution_meta.status == "interrupted_after"
    result = await app.ainvoke({"resume": True}, thread())
    assert (result["interrupts"], result["state"].total) == ((), 111)


async def test_a_pause_after_the_last_node_is_gone_on_from() -> None:
    app = chain(("a", adds(1)), interrupt_after=["a"])
    assert (await app.ainvoke({}, thread()))["interrupts"]
    result = await app.ainvoke(None, thread())
    assert result["state"].execution_meta.status == "completed"
    assert started(app) == ["a"]


async def test_the_state_may_be_changed_while_a_run_is_paused() -> None:
    async def tell(state: Counted) -> dict[str, Any]:
        return {"log": [state.city]}

    app = chain(("a", tell), interrupt_before=["a"])
    await app.ainvoke({}, thread())
    changed = {"resume": None, "state": {"city": "Oslo"}, **user("go on")}
    result = await app.ainvoke(changed, thread())
    assert result["state"].log == ["Oslo"]
    assert texts(result["messages"]) == ["go on"]


async def test_messages_to_a_paused_thread_begin_anew() -> None:
    asking = Asking("one")
    app = chain(("a", adds(1)), ("b", asking))
    await app.ainvoke({}, thread())
    result = await app.ainvoke(user("never mind"), thread())
    assert result["state"].total == 2
    assert len(result["interrupts"]) == 1


async def test_a_tool_asks_and_only_its_call_runs_again() -> None:
    runs: Counter[str] = Counter()

    async def count(name: str) -> str:
        runs[name] += 1
        return f"counted {name}"

    async def book(city: str) -> str:
        runs[city] += 1
        return f"{city}: {interrupt('which day?')}"

    async def ask(state: Any) -> Any:
        calls = call("1", "count", name="x"), call("2", "book", city="Rome")
        return asks(*calls, call("3", "book", city="Oslo"))

    app = chain(("ask", ask), ("tools", ToolNode([count, book])))
    result = await app.ainvoke({}, thread())
    ids = [each.id for each in result["interrupts"]]
    assert len(set(ids)) == 2
    result = await app.ainvoke({"resume": {ids[1]: "Sunday"}}, thread())
    assert [each.id for each in result["interrupts"]] == [ids[0]]
    result = await app.ainvoke({"resume": "Monday"}, thread())
    outputs = [block.output for block in result["state"].context[-1].content]
    assert outputs == ["counted x", "Rome: Monday", "Oslo: Sunday"]
    assert runs == {"x": 1, "Rome": 3, "Oslo": 2}


async def test_a_tool_that_asks_goes_on_in_another_process(tmp_path: Path) -> None:
    runs: Counter[str] = Counter()

    async def count() -> str:
        runs["count"] += 1
        return "counted"

    def book() -> str:
        runs["book"] += 1
        return f"booked {interrupt('which day?')}"

    async def ask(state: Any) -> Any:
        return asks(call("1", "count"), call("2", "book"))

    def app() -> Any:
        nodes = ("ask", ask), ("tools", ToolNode([count, book]))
        return chain(*nodes, checkpointer=FileStore(tmp_path))

    await app().ainvoke({}, thread())
    result = await app().ainvoke({"resume": "Monday"}, thread())
    outputs = [block.output for block in result["state"].context[-1].content]
    assert outputs == ["counted", "booked Monday"]
    assert runs["count"] == 1
    assert result["interrupts"] == ()


def test_outside_of_a_graph_there_is_nobody_to_ask() -> None:
    with pytest.raises(GraphError, match="no node of a graph runs here"):
        interrupt("hello?")


async def test_what_is_asked_must_be_json() -> None:
    async def ask(state: Any) -> None:
        interrupt(object())

    with pytest.raises(TypeError, match="interrupt"):
        await chain(("a", ask)).ainvoke({}, thread())


async def test_an_except_does_not_swallow_an_interrupt() -> None:
    async def careless(state: Any) -> dict[str, Any]:
        try:
            return {"log": [interrupt("sure?")]}
        except Exception:
            return {"log": ["swallowed"]}

    app = chain(("a", careless))
    assert (await app.ainvoke({}, thread()))["interrupts"]
    assert (await app.ainvoke({"resume": "ok"}, thread()))["state"].log == ["ok"]


async def test_a_branch_of_a_send_asks_for_itself() -> None:
    from actors import Command, Send

    async def spread(state: Any) -> Command:
        return Command(goto=[Send("work", {"city": c}) for c in ("Rome", "Oslo")])

    async def work(state: Counted) -> dict[str, Any]:
        return {"log": [f"{state.city} {interrupt('day?')}"]}

    graph = StateGraph(Counted).add_node("spread", spread, goto="work")
    graph.add_node("work", work).add_edge(START, "spread").add_edge("work", END)
    app = graph.compile()
    asked = (await app.ainvoke({}, thread()))["interrupts"]
    answers = {each.id: str(number) for number, each in enumerate(asked)}
    result = await app.ainvoke({"resume": answers}, thread())
    assert result["state"].log == ["Rome 0", "Oslo 1"]


async def test_an_agent_that_is_no_node_cannot_pause_the_graph() -> None:
    async def book() -> str:
        return str(interrupt("sure?"))

    model = FakeModel([tool_call("book"), "done"])
    agent = Agent(model=model, tools=[book], human=None, reporter=None)

    async def node(state: Any) -> str:
        answer: str = await agent.arun("book it")
        return answer

    with pytest.raises(GraphError, match="make the agent a node"):
        await chain(("a", node)).ainvoke({}, thread())
