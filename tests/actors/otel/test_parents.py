"""Where spans stand: below what they are a part of, whatever runs beside it."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from opentelemetry import trace

from actors import (
    END,
    START,
    Agent,
    AgentState,
    FileStore,
    FunctionModel,
    Message,
    Reporter,
    Run,
    State,
    StateGraph,
    ToolNode,
    afan_out,
    aio,
    fan_out,
    open_supervisor,
    start_child,
    tool,
)
from actors.testing import FakeModel, tool_call
from tests.actors.otel.conftest import Spans


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, "human": None, **settings})


def saying(text: str = "done", **settings: Any) -> Agent:
    return quiet(FunctionModel(lambda request: text), **settings)


TOP = "invoke_agent top"


async def test_a_users_own_span_is_the_parent_of_the_run(spans: Spans) -> None:
    with spans.mine.start_as_current_span("mine"):
        await saying(name="top").arun("x")
        assert trace.get_current_span().get_span_context().is_valid
    assert spans.paths == [
        "mine",
        f"mine > {TOP}",
        f"mine > {TOP} > chat rule",
    ]


def test_a_users_own_span_is_the_parent_from_plain_code(spans: Spans) -> None:
    def body(agent: Agent, state: State) -> None:
        with spans.mine.start_as_current_span("in the loop"):
            agent.think(state)

    with spans.mine.start_as_current_span("mine"):
        saying(name="top", loop=body).run("x")
    assert f"mine > {TOP} > in the loop > chat rule" in spans.paths


def test_a_users_own_span_is_the_parent_from_asyncio(spans: Spans) -> None:
    async def program() -> None:
        with spans.mine.start_as_current_span("mine"):
            await asyncio.gather(
                aio.run(saying(name="a"), "x"), aio.run(saying(name="b"), "x")
            )

    asyncio.run(program())
    assert spans.paths[1:] == [
        "mine > invoke_agent a",
        "mine > invoke_agent a > chat rule",
        "mine > invoke_agent b",
        "mine > invoke_agent b > chat rule",
    ]


async def test_after_a_run_the_context_is_what_it_was(spans: Spans) -> None:
    with spans.mine.start_as_current_span("mine") as mine:
        await saying().arun("x")
        assert trace.get_current_span() is mine
        with pytest.raises(OSError):
            await quiet(FakeModel([OSError("down")])).arun("x")
        assert trace.get_current_span() is mine


async def test_spans_of_a_tool_nest_below_its_call(spans: Spans) -> None:
    both = trio.Event()
    waiting: list[str] = []

    @tool
    async def work(name: str) -> None:
        with spans.mine.start_as_current_span(f"by {name}"):
            waiting.append(name)
            if len(waiting) == 3:
                both.set()
            await both.wait()

    @tool
    def plainly(name: str) -> None:
        with spans.mine.start_as_current_span(f"by {name}"):
            pass

    calls = [tool_call("work", name=name) for name in "abc"]
    model = FakeModel([[*calls, tool_call("plainly", name="thread")], "ok"])
    await quiet(model, tools=[work, plainly], name="top").arun("x")
    assert [path for path in spans.paths if "by" in path] == [
        f"{TOP} > execute_tool plainly > by thread",
        f"{TOP} > execute_tool work > by a",
        f"{TOP} > execute_tool work > by b",
        f"{TOP} > execute_tool work > by c",
    ]
    parents = {span.parent.span_id for span in spans.all if "by" in span.name}
    assert len(parents) == 4


async def test_spans_of_a_lone_call_nest_below_it(spans: Spans) -> None:
    @tool
    async def work() -> None:
        with spans.mine.start_as_current_span("mine"):
            pass

    await quiet(FakeModel([tool_call("work"), "ok"]), tools=[work]).arun("x")
    assert "invoke_agent > execute_tool work > mine" in spans.paths


async def test_spans_of_a_model_nest_below_its_request(spans: Spans) -> None:
    def answers(_request: Any) -> str:
        with spans.mine.start_as_current_span("http"):
            return "ok"

    await quiet(FunctionModel(answers), name="top").arun("x")
    assert f"{TOP} > chat rule > http" in spans.paths


def test_spans_of_a_tool_for_asyncio_nest_below_its_call(spans: Spans) -> None:
    @tool(asyncio=True)
    async def work() -> None:
        with spans.mine.start_as_current_span("mine"):
            await asyncio.sleep(0)

    agent = quiet(FakeModel([tool_call("work"), "ok"]), tools=[work], name="top")
    asyncio.run(aio.run(agent, "x"))
    assert f"{TOP} > execute_tool work > mine" in spans.paths


# In a process of its own: trio-asyncio changes asyncio for all that comes after.
ON_ITS_OWN_LOOP = """
import trio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from actors import Agent, otel, tool
from actors.testing import FakeModel, tool_call

@tool(asyncio=True)
async def work() -> None:
    print(trace.get_current_span().name)

otel.instrument(TracerProvider())
model = FakeModel([tool_call("work"), "ok"])
trio.run(Agent(model, tools=[work], reporter=None, human=None).arun, "x")
"""


@pytest.mark.slow
def test_a_tool_on_an_asyncio_loop_of_its_own_runs_in_its_calls_span() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ON_ITS_OWN_LOOP],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "execute_tool work"


class Silent(Reporter):
    """Hears of calls: they are announced before they start."""

    def on_tool_start(self, event: Any) -> None:
        """Look, and do nothing."""


@pytest.fixture(params=["alone", "reporter", "store"])
def heard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Settings with which a call of an agent starts in different ways."""
    match request.param:
        case "alone":
            yield {}
        case "reporter":
            yield {"reporter": Silent()}
        case _:
            yield {"store": FileStore(tmp_path)}


@pytest.mark.parametrize("max_parallel", [1, 2, 8])
async def test_a_subagent_runs_below_the_call_that_started_it(
    spans: Spans, heard: dict[str, Any], max_parallel: int
) -> None:
    @tool
    async def look() -> str:
        return "seen"

    # A call that ends makes room for the next: that must not take over its context.
    below = saying(name="below")
    calls = [
        each
        for text in "abcd"
        for each in (tool_call("look"), tool_call("below", prompt=text))
    ]
    agent = quiet(
        FakeModel([calls, "ok"]),
        tools=[below, look],
        name="top",
        max_parallel=max_parallel,
        **heard,
    )
    with spans.mine.start_as_current_span("mine"):
        await agent.arun("x")
    call = f"mine > {TOP} > execute_tool below"
    assert spans.paths.count(call) == 4
    assert spans.paths.count(f"{call} > invoke_agent below") == 4
    assert spans.paths.count(f"{call} > invoke_agent below > chat rule") == 4
    runs = [span for span in spans.all if span.name == "invoke_agent below"]
    assert len({span.parent.span_id for span in runs if span.parent}) == 4
    for call_span in (s for s in spans.all if s.name == "execute_tool below"):
        assert (call_span.attributes or {})["callboard.tool.outcome"] == "done"


async def test_subagents_of_subagents_stand_below_each_other(spans: Spans) -> None:
    c = saying(name="c")
    b = quiet(FakeModel([tool_call("c", prompt="x"), "ok"]), tools=[c], name="b")
    a = quiet(FakeModel([tool_call("b", prompt="x"), "ok"]), tools=[b], name="a")
    await a.arun("x")
    deepest = max(spans.paths, key=len)
    assert deepest == (
        "invoke_agent a > execute_tool b > invoke_agent b > execute_tool c > "
        "invoke_agent c > chat rule"
    )


async def test_a_failing_subagent_is_an_error_of_its_call(spans: Spans) -> None:
    below = quiet(FakeModel([OSError("down")]), name="below")
    agent = quiet(FakeModel([tool_call("below", prompt="x"), "ok"]), tools=[below])
    await agent.arun("x")
    for name in ("execute_tool below", "invoke_agent below"):
        assert spans[name].status.description == "OSError: down"
    assert spans["invoke_agent"].status.is_unset


async def test_a_run_started_in_a_tool_is_below_its_call(spans: Spans) -> None:
    below = saying(name="below")

    @tool
    async def here() -> Any:
        with spans.mine.start_as_current_span("mine"):
            return await below.arun("x")

    @tool
    def thread() -> Any:
        with spans.mine.start_as_current_span("mine"):
            return below.copy(loop=think_once).run("x")

    model = FakeModel([[tool_call("here"), tool_call("thread")], "ok"])
    await quiet(model, tools=[here, thread], name="top").arun("x")
    for name in ("here", "thread"):
        run = f"{TOP} > execute_tool {name} > mine > invoke_agent below"
        assert run in spans.paths
        assert f"{run} > chat rule" in spans.paths


def think_once(agent: Agent, state: State) -> None:
    agent.think(state)


@pytest.mark.parametrize("max_running", [None, 1])
async def test_a_fan_stands_below_where_it_was_fanned_out(
    spans: Spans, max_running: int | None
) -> None:
    below = saying(name="below")

    @tool
    async def fan() -> None:
        await afan_out(below, ["a", "b", "c"], max_running=max_running)

    @tool
    def plain_fan() -> None:
        fan_out(below, ["a", "b", "c"], max_running=max_running)

    with spans.mine.start_as_current_span("mine"):
        await afan_out(below, ["a", "b", "c"], max_running=max_running)
    model = FakeModel([[tool_call("fan"), tool_call("plain_fan")], "ok"])
    await quiet(model, tools=[fan, plain_fan], name="top").arun("x")
    run = "invoke_agent below"
    assert spans.paths.count(f"mine > {run}") == 3
    assert spans.paths.count(f"{TOP} > execute_tool fan > {run}") == 3
    assert spans.paths.count(f"{TOP} > execute_tool plain_fan > {run}") == 3


async def test_a_child_in_the_background_stands_below_the_call_that_started_it(
    spans: Spans,
) -> None:
    go = trio.Event()

    async def waits(_request: Any) -> str:
        await go.wait()
        return "found"

    below = quiet(FunctionModel(waits), name="below")

    @tool
    async def begin() -> str:
        start_child(below, "x")
        return "begun"

    @tool
    def begin_plainly() -> str:
        start_child(below, "x")
        return "begun"

    calls = [tool_call("begin"), tool_call("begin_plainly")]
    again = trio.Event()

    def answers(request: Any) -> Any:
        said = request.messages[-1].text()
        if said == "x":
            return calls
        if "found" in said:
            again.set()
        return "ok"

    agent = quiet(FunctionModel(answers), tools=[begin, begin_plainly], name="top")
    with spans.mine.start_as_current_span("mine"):
        async with open_supervisor() as supervisor:
            run: Run = supervisor.start(agent, "x")
            await run.wait()
            go.set()
            await again.wait()
    top = f"mine > {TOP}"
    assert f"{top} > execute_tool begin > invoke_agent below" in spans.paths
    assert f"{top} > execute_tool begin_plainly > invoke_agent below" in spans.paths
    # What runs again for a notice stands where the run before it stood.
    assert spans.paths.count(top) >= 2
    assert [path for path in spans.paths if path.endswith(TOP)] == (
        [top] * spans.paths.count(top)
    )


async def test_runs_of_one_supervisor_stand_where_they_were_started(
    spans: Spans,
) -> None:
    async with open_supervisor(max_running=1) as supervisor:
        for name in "abc":
            with spans.mine.start_as_current_span(f"for {name}"):
                supervisor.start(saying(name=name), "x")
    assert [path for path in spans.paths if path.count(">") == 1] == [
        f"for {name} > invoke_agent {name}" for name in "abc"
    ]


async def test_a_side_question_stands_below_what_is_around_it(spans: Spans) -> None:
    agent = saying(name="top")
    state = State()
    with spans.mine.start_as_current_span("mine"):
        await agent.aask(state, "why?")
    assert spans.paths == ["mine", "mine > chat rule"]


async def test_a_stream_is_traced_as_a_run_is(spans: Spans) -> None:
    agent = saying(name="top")
    with spans.mine.start_as_current_span("mine") as mine:
        async with agent.stream("x") as events:
            async for _event in events:
                assert trace.get_current_span() is mine
    assert spans.paths == ["mine", f"mine > {TOP}", f"mine > {TOP} > chat rule"]


async def test_a_stream_that_is_left_marks_its_run(spans: Spans) -> None:
    async def hangs(_request: Any) -> str:
        await trio.sleep_forever()
        raise AssertionError("it sleeps for ever")

    async with quiet(FunctionModel(hangs)).stream("x") as events:
        async for _event in events:
            break
    attributes = spans["invoke_agent"].attributes or {}
    assert attributes["callboard.cancel.reason"] == "the stream was left"


async def test_a_graph_is_a_workflow_with_its_agents_and_tools_below(
    spans: Spans,
) -> None:
    @tool
    async def look() -> str:
        return "seen"

    async def note(state: Any) -> dict[str, Any]:
        with spans.mine.start_as_current_span("noting"):
            return {}

    def after_writer(state: Any) -> str:
        return "tools" if state.context[-1].tool_calls else END

    writer = quiet(
        FakeModel([tool_call("look"), "done"]),
        name="writer",
        tools=[look],
        tool_node="tools",
    )
    graph = StateGraph(AgentState)
    graph.add_node("note", note)
    graph.add_node("writer", writer)
    graph.add_node("tools", ToolNode([look]))
    graph.add_edge(START, "note")
    graph.add_edge("note", "writer")
    graph.add_conditional_edges("writer", after_writer, ["tools", END])
    graph.add_edge("tools", "writer")
    asked = {"messages": [Message.user("x")]}
    await graph.compile(name="desk").ainvoke(asked)
    run = "invoke_workflow desk"
    assert (spans[run].attributes or {})["gen_ai.workflow.name"] == "desk"
    assert sorted(set(spans.paths)) == [
        run,
        f"{run} > execute_tool look",
        f"{run} > invoke_agent writer",
        f"{run} > invoke_agent writer > chat model",
        f"{run} > noting",
    ]
