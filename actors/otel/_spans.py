"""A span from its start to its end, whatever the tracing behind it does.

1. What OpenTelemetry, or a part that somebody has hung into it, raises is logged once
   and disturbs no run.
2. What ends well leaves its status unset, as libraries should. What fails or is
   cancelled has the status error, set here: OpenTelemetry's own context manager leaves
   a span unset through which a cancel passes.
"""

import logging
from collections.abc import Mapping
from typing import TypeAlias

from opentelemetry import context as contexts
from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN,
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    set_span_in_context,
)

from protocol import Usage
from protocol._rules import told

from . import _names as names

Attributes: TypeAlias = Mapping[str, str | bool | int | float | list[str]]

_log = logging.getLogger("actors.otel")
_failed: set[str] = set()


def start(
    tracer: Tracer,
    name: str,
    attributes: Attributes,
    parent: Context,
    kind: SpanKind = SpanKind.INTERNAL,
) -> Span:
    """A span that has begun, below the span of the context ``parent``."""
    try:
        return tracer.start_span(name, parent, kind, attributes)
    except Exception:  # noqa: BLE001 - an observer breaks nothing
        _log_once("starting")
        return INVALID_SPAN


class Around:
    """A block in which a span is the current one; it neither starts nor ends it."""

    __slots__ = ("_context", "_token")

    def __init__(self, span: Span, parent: Context) -> None:
        self._context = set_span_in_context(span, parent)

    def __enter__(self) -> None:
        self._token = contexts.attach(self._context)

    def __exit__(self, *_error: object) -> None:
        contexts.detach(self._token)


def end(
    span: Span,
    attributes: Attributes,
    *,
    error: BaseException | None = None,
    cancelled: str | None = None,
    failed: bool = False,
) -> None:
    """End a span.

    Args:
        span: Which one.
        attributes: What is known of it now.
        error: What it failed with.
        cancelled: Why it was cancelled; then ``error`` does not count.
        failed: Whether it failed, with an error or without.
    """
    try:
        if span.is_recording():
            span.set_attributes(attributes)
            if cancelled is not None:
                _mark_cancelled(span, cancelled)
            elif error is not None:
                _mark_failed(span, error)
            elif failed:
                span.set_attribute(names.ERROR_TYPE, names.ERROR_OTHER)
                span.set_status(Status(StatusCode.ERROR))
        span.end()
    except Exception:  # noqa: BLE001 - an observer breaks nothing
        _log_once("ending")


def _mark_cancelled(span: Span, why: str) -> None:
    span.set_attributes(
        {
            names.ERROR_TYPE: names.ERROR_CANCELLED,
            names.CANCELLED: True,
            names.CANCEL_REASON: why,
        }
    )
    span.set_status(Status(StatusCode.ERROR, f"cancelled: {why}"))


def _mark_failed(span: Span, error: BaseException) -> None:
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    span.record_exception(error)
    span.set_attribute(names.ERROR_TYPE, f"{module}{kind.__qualname__}")
    span.set_status(Status(StatusCode.ERROR, told(error)))


def usage_attributes(usage: Usage) -> dict[str, int | float]:
    """What was used; the conventions count what the cache read and wrote as input."""
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    found: dict[str, int | float] = {
        names.INPUT_TOKENS: usage.input_tokens + read + written,
        names.OUTPUT_TOKENS: usage.output_tokens,
    }
    if read:
        found[names.CACHE_READ_TOKENS] = read
    if written:
        found[names.CACHE_WRITE_TOKENS] = written
    if usage.requests and usage.cost is not None:
        found[names.COST] = usage.cost
    return found


def _log_once(what: str) -> None:
    if what not in _failed:
        _failed.add(what)
        _log.warning("%s a span raised; more of it is not told", what, exc_info=True)
