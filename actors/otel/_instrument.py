"""The switch."""

from importlib.metadata import version
from typing import Any

from opentelemetry.trace import TracerProvider, get_tracer

from actors import _tracing

from ._tracer import OpenTelemetryTracer


def instrument(tracer_provider: TracerProvider | None = None) -> None:
    """Make a span for every run, request, call and child from now on.

    It holds for the whole process, all threads and trio runs of it. What has begun goes
    on as it was: without a span, or with one of the provider before. Called again, it
    changes the provider.

    Args:
        tracer_provider: Where spans go; OpenTelemetry's global provider when left out,
            also one that is set later.

    Raises:
        TypeError: ``tracer_provider`` is none; nothing changed.
    """
    given: Any = tracer_provider  # not every caller has a type checker
    if given is not None and not isinstance(given, TracerProvider):
        raise TypeError(
            f"instrument() takes a TracerProvider, not {given!r}: write "
            f"'instrument(TracerProvider())', or nothing for the global one"
        )
    tracer = get_tracer("callboard", version("callboard"), tracer_provider)
    _tracing.tracer = OpenTelemetryTracer(tracer)


def uninstrument() -> None:
    """Make no more spans; those that are open end with their work."""
    _tracing.tracer = None
