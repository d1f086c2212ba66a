"""Spans of a test, kept in memory."""

from collections.abc import Iterator

import attrs
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

from actors import otel


@attrs.frozen
class Spans:
    """What has ended so far, in order of starting."""

    provider: TracerProvider
    exporter: InMemorySpanExporter

    @property
    def mine(self) -> Tracer:
        """For spans that a user opens himself."""
        return self.provider.get_tracer("mine")

    @property
    def all(self) -> list[ReadableSpan]:
        return sorted(self.exporter.get_finished_spans(), key=lambda s: s.start_time)

    def __getitem__(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.all if span.name == name]
        return found

    @property
    def paths(self) -> list[str]:
        """Each span with all that is above it, sorted."""
        by_id = {span.context.span_id: span for span in self.all}
        paths: list[str] = []
        for span in self.all:
            path, above = [span.name], span.parent
            while above is not None:
                path.append(by_id[above.span_id].name)
                above = by_id[above.span_id].parent
            paths.append(" > ".join(reversed(path)))
        return sorted(paths)


@pytest.fixture
def spans() -> Iterator[Spans]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    otel.instrument(provider)
    yield Spans(provider, exporter)
    otel.uninstrument()
    provider.shutdown()
