"""What a span says: its names, how it ended, what was used."""

from typing import Any

import pytest
import trio
import trio.testing
from opentelemetry.trace import SpanKind, StatusCode

from actors import (
    Agent,
    DecideByHuman,
    FunctionModel,
    Inbox,
    Limits,
    Message,
    ProviderError,
    Reply,
    Restart,
    RunCancelled,
    State,
    ToolError,
    ToolResult,
    Usage,
    open_supervisor,
    tool,
)
from actors.testing import FakeModel, tool_call
from tests.actors.otel.conftest import Spans


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, **settings})


@tool
async def look(what: str) -> str:
    """Look something up."""
    return f"a {what}"


async def test_a_run_has_a_span_with_the_agents_name(spans: Spans) -> None:
    model = FakeModel(["hi"], name="google/gemini-x")
    state = State(messages=[Message.user("x")])
    await quiet(model, name="guide", description="Knows the way.").arun(state)
    span = spans["invoke_agent guide"]
    assert span.kind is SpanKind.INTERNAL
    assert span.status.status_code is StatusCode.UNSET
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "guide",
        "gen_ai.agent.description": "Knows the way.",
        "gen_ai.conversation.id": state.id,
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-x",
        "gen_ai.usage.input_tokens": 0,
        "gen_ai.usage.output_tokens": 0,
        "callboard.usage.cost": 0.0,
        "callboard.run.stopped": "until",
    }


async def test_a_request_has_a_span_with_what_it_used(spans: Spans) -> None:
    used = Usage(10, 5, 300, 40, requests=1, cost=0.25)
    reply = Reply(
        message=Message.assistant("hi"),
        usage=used,
        stop_reason="stop",
        model="openai/gpt-x-0613",
    )
    state = State(messages=[Message.user("x")])
    await quiet(FakeModel([reply], name="openai/gpt-x")).arun(state)
    span = spans["chat gpt-x"]
    assert span.kind is SpanKind.CLIENT
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": state.id,
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-x",
        "gen_ai.response.model": "gpt-x-0613",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 350,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 300,
        "gen_ai.usage.cache_creation.input_tokens": 40,
        "callboard.usage.cost": 0.25,
    }
    run = spans["invoke_agent"].attributes or {}
    assert run["gen_ai.usage.input_tokens"] == 350
    assert run["callboard.usage.cost"] == 0.25


async def test_a_call_has_a_span_with_the_tool_and_the_call(spans: Spans) -> None:
    asked = tool_call("look", what="cat")
    await quiet(FakeModel([asked, "ok"]), tools=[look]).arun("x")
    span = spans["execute_tool look"]
    assert span.status.status_code is StatusCode.UNSET
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Look something up.",
        "gen_ai.tool.call.id": asked.id,
        "callboard.tool.outcome": "done",
    }


async def test_a_model_without_a_provider_in_its_name_has_none(spans: Spans) -> None:
    await quiet(FakeModel(["hi"], name="mine")).arun("x")
    attributes = spans["chat mine"].attributes or {}
    assert attributes["gen_ai.request.model"] == "mine"
    assert "gen_ai.provider.name" not in attributes


async def test_no_text_of_a_conversation_goes_into_a_span(spans: Spans) -> None:
    asked = tool_call("look", what="SECRET-1")
    await quiet(FakeModel([asked, "SECRET-2"]), tools=[look], system="SECRET-3").arun(
        "SECRET-4"
    )
    assert "SECRET" not in "".join(span.to_json() for span in spans.all)


# Failures


async def test_a_tool_error_is_recorded_and_the_run_is_well(spans: Spans) -> None:
    @tool
    async def fails() -> None:
        raise ToolError("no luck")

    await quiet(FakeModel([tool_call("fails"), "ok"]), tools=[fails]).arun("x")
    span = spans["execute_tool fails"]
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "ToolError: no luck"
    assert span.attributes is not None
    assert span.attributes["error.type"] == "protocol.ToolError"
    assert span.attributes["callboard.tool.outcome"] == "error"
    (event,) = span.events
    assert (event.attributes or {})["exception.message"] == "no luck"
    assert spans["invoke_agent"].status.status_code is StatusCode.UNSET


async def test_what_leaves_a_run_is_recorded_in_call_and_run(spans: Spans) -> None:
    @tool
    async def breaks() -> None:
        raise ZeroDivisionError("by nothing")

    with pytest.raises(ZeroDivisionError):
        await quiet(FakeModel([tool_call("breaks")]), tools=[breaks]).arun("x")
    for name in ("execute_tool breaks", "invoke_agent"):
        span = spans[name]
        assert span.status.status_code is StatusCode.ERROR
        assert (span.attributes or {})["error.type"] == "ZeroDivisionError"
        assert [event.name for event in span.events] == ["exception"]


async def test_a_result_that_says_it_is_an_error_has_no_exception(
    spans: Spans,
) -> None:
    @tool
    async def refuses() -> ToolResult:
        return ToolResult("not today", is_error=True)

    await quiet(FakeModel([tool_call("refuses"), "ok"]), tools=[refuses]).arun("x")
    span = spans["execute_tool refuses"]
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "_OTHER"
    assert not span.events


async def test_a_failing_request_is_recorded_in_request_and_run(spans: Spans) -> None:
    with pytest.raises(ProviderError):
        await quiet(FakeModel([ProviderError("down")])).arun("x")
    for name in ("chat model", "invoke_agent"):
        span = spans[name]
        assert span.status.description == "ProviderError: down"
        assert (span.attributes or {})["error.type"] == "protocol.ProviderError"


async def test_a_limit_that_ends_a_run_is_no_failure_of_it(spans: Spans) -> None:
    model = FakeModel([tool_call("look", what="cat"), "never asked"])
    await quiet(model, tools=[look], limits=Limits(requests=1)).arun("x")
    span = spans["invoke_agent"]
    assert span.status.status_code is StatusCode.UNSET
    assert (span.attributes or {})["callboard.run.stopped"] == "budget"


async def test_each_try_of_a_restarted_run_has_its_own_span(
    spans: Spans, autojump_clock: trio.testing.MockClock
) -> None:
    reply = Reply(message=Message.assistant("hi"), usage=Usage(7, 1, requests=1))
    agent = quiet(FakeModel([OSError("first"), reply]))
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent, "x", restart=Restart(times=1, within_s=60))
        await run.wait()
    first, second = [span for span in spans.all if span.name == "invoke_agent"]
    assert first.status.description == "OSError: first"
    assert second.status.status_code is StatusCode.UNSET
    assert (second.attributes or {})["gen_ai.usage.input_tokens"] == 7
    assert first.parent is second.parent is None


async def test_a_call_that_waits_for_an_answer_has_not_failed(spans: Spans) -> None:
    below = quiet(
        FakeModel([tool_call("look", what="cat"), "never asked"]),
        name="below",
        tools=[look],
        permissions=[DecideByHuman()],
    )
    asked = FakeModel([tool_call("below", prompt="y"), "never asked"])
    await quiet(asked, tools=[below], human=Inbox(wait_s=0)).arun("x")
    call = spans["execute_tool below"]
    assert call.status.status_code is StatusCode.UNSET
    assert "callboard.tool.outcome" not in (call.attributes or {})
    for name in ("invoke_agent", "invoke_agent below"):
        assert (spans[name].attributes or {})["callboard.run.stopped"] == "question"


# Cancels


def is_cancelled(spans: Spans, name: str, why: str) -> bool:
    span = spans[name]
    attributes = span.attributes or {}
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == f"cancelled: {why}"
    assert not span.events
    return (
        attributes["callboard.cancelled"] is True
        and attributes["callboard.cancel.reason"] == why
        and attributes["error.type"] == "cancelled"
    )


async def test_a_cancelled_run_marks_all_that_ran_with_the_reason(
    spans: Spans,
) -> None:
    asked = trio.Event()

    @tool
    async def sub() -> Any:
        return await quiet(FunctionModel(hangs), name="below").arun("y")

    async def hangs(_request: Any) -> str:
        asked.set()
        await trio.sleep_forever()
        raise AssertionError("it sleeps for ever")

    agent = quiet(FakeModel([tool_call("sub")]), tools=[sub], name="above")
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent, "x")
        await asked.wait()
        await run.cancel("lunch")
        with pytest.raises(RunCancelled):
            await run.wait()
    for name in ("invoke_agent above", "execute_tool sub", "invoke_agent below"):
        assert is_cancelled(spans, name, "lunch")
    assert is_cancelled(spans, "chat rule", "lunch")
    outcome = (spans["execute_tool sub"].attributes or {})["callboard.tool.outcome"]
    assert outcome == "interrupted"


async def test_a_cancel_from_trio_is_marked_with_what_trio_says(spans: Spans) -> None:
    async def hangs(_request: Any) -> str:
        scope.cancel(reason="the client has gone")
        await trio.sleep_forever()
        raise AssertionError("it sleeps for ever")

    with trio.CancelScope() as scope:
        await quiet(FunctionModel(hangs)).arun("x")
    assert scope.cancelled_caught
    for name in ("invoke_agent", "chat rule"):
        assert is_cancelled(spans, name, "the client has gone")


async def test_a_deadline_from_outside_is_the_reason(
    spans: Spans, autojump_clock: trio.testing.MockClock
) -> None:
    async def hangs(_request: Any) -> str:
        await trio.sleep_forever()
        raise AssertionError("it sleeps for ever")

    with trio.move_on_after(1):
        await quiet(FunctionModel(hangs)).arun("x")
    for name in ("invoke_agent", "chat rule"):
        assert is_cancelled(spans, name, "deadline")


async def test_a_call_that_timed_out_is_an_error_and_not_cancelled(
    spans: Spans, autojump_clock: trio.testing.MockClock
) -> None:
    @tool(timeout_s=1)
    async def slow() -> None:
        await trio.sleep(9)

    await quiet(FakeModel([tool_call("slow"), "ok"]), tools=[slow]).arun("x")
    span = spans["execute_tool slow"]
    assert span.status.description == "ToolError: timed out after 1 s"
    assert "callboard.cancelled" not in (span.attributes or {})


async def test_a_call_cancelled_for_its_sibling_says_so(spans: Spans) -> None:
    @tool
    async def waits() -> None:
        await trio.sleep_forever()

    @tool
    async def breaks() -> None:
        raise OSError("gone")

    agent = quiet(
        FakeModel([[tool_call("waits"), tool_call("breaks")]]),
        tools=[waits, breaks],
        siblings="cancel",
    )
    with pytest.raises(OSError, match="gone"):
        await agent.arun("x")
    assert is_cancelled(spans, "execute_tool waits", "a sibling failed")
    assert spans["execute_tool breaks"].status.description == "OSError: gone"


async def test_a_deaf_call_has_its_span_when_it_has_really_ended(
    spans: Spans, autojump_clock: trio.testing.MockClock
) -> None:
    started = trio.Event()

    @tool
    async def deaf() -> str:
        started.set()
        with trio.CancelScope(shield=True):
            await trio.sleep(100)
        return "late"

    agent = quiet(FakeModel([tool_call("deaf")]), tools=[deaf], grace_s=1)
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent, "x")
        await started.wait()
        await run.cancel("enough")
        assert "execute_tool deaf" not in [span.name for span in spans.all]
    assert is_cancelled(spans, "execute_tool deaf", "enough")
    assert is_cancelled(spans, "invoke_agent", "enough")
