"""Graphs, cancelled at every step: every thread stays whole and can be gone on with."""

from collections import Counter
from typing import Any

import pytest
import trio

from actors import (
    END,
    START,
    Agent,
    Command,
    CompiledGraph,
    Message,
    Request,
    Send,
    State,
    StateGraph,
    ToolNode,
    ToolResult,
    interrupt,
)
from actors.models import Model, OnEvent, OnText, as_reply
from actors.testing import Trial, cancel_sweep, tool_call
from protocol import Reply
from protocol._snapshot import value_of
from tests.graphs import Counted, adds, asks, call, meaning, thread, user


class Counting(Model):
    """Calls a tool at first, and answers once it sees the result."""

    name = "counting/model"

    def __init__(self) -> None:
        self.delivered = 0

    async def arespond(
        self, request: Request, on_text: OnText | None, on_event: OnEvent
    ) -> Reply:
        await trio.lowlevel.checkpoint()
        asked = [message for message in request.messages if message.role == "tool"]
        item: Any = "done" if asked else tool_call("add", number=1)
        reply = as_reply(item, self.name)
        self.delivered += 1
        return reply


async def add(number: int) -> ToolResult:
    await trio.lowlevel.checkpoint()
    return ToolResult(message="added", state={"total": number})


async def slow(state: Any) -> dict[str, Any]:
    try:
        await trio.lowlevel.checkpoint()
    finally:
        with trio.CancelScope(shield=True):
            await trio.lowlevel.checkpoint()
    return {"total": 10, "log": ["slow"]}


def beside() -> tuple[CompiledGraph, Counting, int]:
    """Two nodes and an agent side by side, then a join."""
    model = Counting()
    graph = StateGraph(Counted).add_node("agent", Agent(model=model, tools=[add]))
    graph.add_node("slow", slow).add_node("adds", adds(100, "adds"))
    graph.add_node("join", adds(1000, "join"))
    for name in ("agent", "slow", "adds"):
        graph.add_edge(START, name)
    graph.add_edge(["agent", "slow", "adds"], "join").add_edge("join", END)
    return graph.compile(), model, 1111


def tools() -> tuple[CompiledGraph, Counting, int]:
    """Calls of a `ToolNode`, and branches of a Send."""

    async def ask(state: Any) -> Message:
        return asks(*[call(str(n), "add", number=n) for n in (1, 2, 3)])

    async def spread(state: Any) -> Command:
        return Command(goto=[Send("work", {"city": c}) for c in ("a", "b")])

    graph = StateGraph(Counted).add_node("ask", ask).add_node("tools", ToolNode([add]))
    graph.add_node("spread", spread, goto="work").add_node("work", adds(10))
    graph.add_edge(START, "ask").add_edge("ask", "tools").add_edge("tools", "spread")
    return graph.add_edge("work", END).compile(), Counting(), 26


def inner() -> tuple[CompiledGraph, Counting, int]:
    """A graph in a graph, with an agent in it."""
    model = Counting()
    inside = StateGraph(Counted).add_node("agent", Agent(model=model, tools=[add]))
    inside.add_node("adds", adds(10)).add_edge(START, "agent")
    inside.add_edge("agent", "adds").add_edge("adds", END)
    graph = StateGraph(Counted).add_node("inside", inside.compile())
    graph.add_node("after", adds(100)).add_edge(START, "inside")
    return (
        graph.add_edge("inside", "after").add_edge("after", END).compile(),
        model,
        111,
    )


SCENARIOS = [beside, tools, inner]


def scenario_of(make: Any) -> Any:
    async def scenario(trial: Trial) -> None:
        app, model, wanted = make()
        trial.notes.update(app=app, model=model, wanted=wanted)
        await app.ainvoke(user("go"), thread())

    return scenario


def threads_of(app: CompiledGraph) -> list[State]:
    return [app.checkpointer.load(saved.id) for saved in app.checkpointer.list()]


def nothing_is_left_open(trial: Trial) -> None:
    """Every node that started has ended, every call has one result."""
    for state in threads_of(trial.notes["app"]):
        starts: Counter[str] = Counter()
        ends: Counter[str] = Counter()
        results: Counter[str] = Counter()
        calls: set[str] = set()
        for entry in state.history:
            if entry.kind == "node_start":
                starts[entry.content.id] += 1
            elif entry.kind == "node_end":
                ends[entry.content.task_id] += 1
            elif entry.kind == "tool_result" and not entry.late:
                results[entry.call.id] += 1
            elif entry.kind == "model_reply":
                calls |= {each.id for each in entry.content.tool_calls}
        assert starts == ends, (starts, ends)
        assert results == Counter(calls), (results, calls)
        assert value_of(state.snapshot()).phase == "idle"


def value_is_the_fold(trial: Trial) -> None:
    for state in threads_of(trial.notes["app"]):
        again = State(history=state.history)
        assert meaning(value_of(again.snapshot())) == meaning(
            value_of(state.snapshot())
        )


def usage_is_conserved(trial: Trial) -> None:
    app, model = trial.notes["app"], trial.notes["model"]
    roots = [state for state in threads_of(app) if state.id == "t"]
    counted = sum(state.usage.requests for state in roots)
    assert counted == model.delivered


async def the_thread_goes_on(trial: Trial) -> None:
    """A run that goes on, or begins, comes to the one right result."""
    app = trial.notes["app"]
    try:
        state = await app.aget_state(thread())
    except LookupError:
        given: Any = user("go")
    else:
        status = state.execution_meta.status
        given = {} if status == "completed" else None
        if status == "completed":
            assert state.total == trial.notes["wanted"]
            return
    result = await app.ainvoke(given, thread())
    assert result["state"].total == trial.notes["wanted"], result["state"]


INVARIANTS = (
    nothing_is_left_open,
    value_is_the_fold,
    usage_is_conserved,
    the_thread_goes_on,
    nothing_is_left_open,
    usage_is_conserved,
)


@pytest.mark.parametrize("make", SCENARIOS, ids=lambda make: make.__name__)
def test_a_graph_cancelled_at_any_step_stays_whole(make: Any) -> None:
    report = cancel_sweep(scenario_of(make), seeds=range(1), invariants=INVARIANTS)
    assert not report.violations, report
    assert report.runs > 20


@pytest.mark.slow
@pytest.mark.parametrize("make", SCENARIOS, ids=lambda make: make.__name__)
def test_a_graph_cancelled_at_any_step_in_any_order_stays_whole(make: Any) -> None:
    report = cancel_sweep(scenario_of(make), seeds=range(20), invariants=INVARIANTS)
    assert not report.violations, report


def test_a_resume_cancelled_at_any_step_can_be_repeated() -> None:
    async def scenario(trial: Trial) -> None:
        async def ask(state: Any) -> dict[str, Any]:
            return {"total": interrupt("how many?")}

        graph = StateGraph(Counted).add_node("ask", ask).add_edge(START, "ask")
        app = graph.add_edge("ask", END).compile()
        trial.notes["app"] = app
        with trio.CancelScope(shield=True):
            await app.ainvoke({}, thread())
        await app.ainvoke({"resume": 5}, thread())

    async def goes_on(trial: Trial) -> None:
        app = trial.notes.get("app")
        if app is None:
            return
        state = await app.aget_state(thread())
        if state.is_interrupted():
            await app.ainvoke({"resume": 5}, thread())
        elif state.execution_meta.status != "completed":
            result = await app.ainvoke(None, thread())
            if result["interrupts"]:
                await app.ainvoke({"resume": 5}, thread())
        assert (await app.aget_state(thread())).total == 5

    report = cancel_sweep(scenario, seeds=range(3), invariants=(goes_on,))
    assert not report.violations, report
