"""Turning spans on and off, and what they must not disturb."""

import runpy
import sys
from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from actors import Agent, FunctionModel, _tracing, otel, tool
from actors.testing import FakeModel, tool_call
from tests.actors.otel.conftest import Spans


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, "human": None, **settings})


def calling() -> Agent:
    """An agent whose one call runs a subagent, and whose other one a function."""

    @tool
    async def look() -> str:
        return "seen"

    below = quiet(FunctionModel(lambda request: "b"), name="below")
    asked = [tool_call("look"), tool_call("below", prompt="x")]
    return quiet(FakeModel([asked, "done"]), tools=[look, below])


async def test_without_instrument_no_span_is_made(spans: Spans) -> None:
    otel.uninstrument()
    with spans.mine.start_as_current_span("mine"):
        assert await calling().arun("x") == "done"
    assert spans.paths == ["mine"]
    assert _tracing.tracer is None


async def test_uninstrument_in_a_run_leaves_what_is_open_to_its_end(
    spans: Spans,
) -> None:
    def answers(_request: Any) -> str:
        otel.uninstrument()
        return "ok"

    await quiet(FunctionModel(answers)).arun("x")
    await quiet(FunctionModel(answers)).arun("x")
    assert spans.paths == ["invoke_agent", "invoke_agent > chat rule"]


async def test_instrumenting_again_changes_the_provider(spans: Spans) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    otel.instrument(provider)
    await quiet(FunctionModel(lambda request: "ok")).arun("x")
    assert not spans.all
    names = {span.name for span in exporter.get_finished_spans()}
    assert names == {"invoke_agent", "chat rule"}


def test_what_is_no_provider_is_refused_and_changes_nothing(spans: Spans) -> None:
    before = _tracing.tracer
    wrong: Any = spans.mine
    with pytest.raises(TypeError, match="takes a TracerProvider, not"):
        otel.instrument(wrong)
    assert _tracing.tracer is before


async def test_without_a_provider_runs_go_as_ever() -> None:
    # Nobody has set a global provider: spans go nowhere.
    otel.instrument()
    try:
        assert await calling().arun("x") == "done"
    finally:
        otel.uninstrument()


async def test_runs_that_are_not_sampled_go_as_ever() -> None:
    otel.instrument(TracerProvider(sampler=ALWAYS_OFF))
    try:
        assert await calling().arun("x") == "done"
    finally:
        otel.uninstrument()


class Broken(SpanProcessor):
    """Raises whenever a span starts or ends."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise OSError("no collector")

    def on_end(self, span: Any) -> None:
        raise OSError("no collector")


class BrokenAtTheEnd(Broken):
    """Raises whenever a span ends."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        pass


@pytest.mark.parametrize("broken", [Broken, BrokenAtTheEnd])
async def test_a_broken_exporter_disturbs_no_run(
    broken: type[SpanProcessor],
) -> None:
    provider = TracerProvider()
    provider.add_span_processor(broken())
    otel.instrument(provider)
    try:
        assert await calling().arun("x") == "done"
    finally:
        otel.uninstrument()


def test_without_opentelemetry_the_import_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with pytest.raises(ImportError, match=r"pip install 'callboard\[otel\]'"):
        runpy.run_path(otel.__file__)
