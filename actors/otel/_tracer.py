"""Spans around runs, requests and calls, each below what it is a part of.

1. The parent is the span that is current where the work begins: a user's own, or one of
   ours, carried along by the context variables of tasks and threads.
2. Where they do not lead there, the context is kept with the node (`RunNode.carried`):
   for the child that an agent's call is, and for a run that the runtime begins again.
3. In the work the span is the current one. A span is open across awaits only, never
   across a ``yield``.
"""

from contextvars import Context as Variables
from typing import TYPE_CHECKING, Any

import trio
from opentelemetry import context as contexts
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Tracer, set_span_in_context

from actors._calls import CallNode
from actors._node import Node
from actors._run_node import RunNode
from protocol import Reply, RunCancelled, Usage

from . import _names as names
from ._spans import Around, end, start, usage_attributes

if TYPE_CHECKING:
    from actors._tracing import Ask, Ended, Work
    from actors.models import Model


class OpenTelemetryTracer:
    """Wraps what the runtime does; see `actors._tracing.Tracer`."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def run(self, work: "Work") -> "Work":
        """The same, with a span for each run; what is told of a run is its last."""

        async def traced(*args: Any) -> None:
            node: RunNode = args[-1]
            parent = node.carried
            if parent is None:
                parent = node.carried = contexts.get_current()
            name, attributes = _of_run(node)
            before = node.state.usage
            span = start(self._tracer, name, attributes, parent)
            try:
                with Around(span, parent):
                    await work(*args)
            finally:
                _end_run(span, node, before)

        return traced

    def request(self, ask: "Ask", node: RunNode | None) -> "Ask":
        """The same, with a span for each request, retries and waits included."""

        async def traced(model: "Model", *args: Any) -> Reply:
            parent = contexts.get_current()
            attributes = {names.OPERATION: names.CHAT, **_of_model(model)}
            if node is not None:
                attributes[names.CONVERSATION_ID] = node.id
            name = f"{names.CHAT} {attributes[names.REQUEST_MODEL]}"
            span = start(self._tracer, name, attributes, parent, SpanKind.CLIENT)
            try:
                with Around(span, parent):
                    reply = await ask(model, *args)
            except BaseException as error:
                end(span, {}, error=error, cancelled=_why_cancelled(error, node))
                raise
            end(span, _of_reply(reply))
            return reply

        return traced

    def call(self, work: "Work") -> "Work":
        """The same, with a span for each call."""

        async def traced(turn: Any, node: CallNode, tool: Any, arguments: Any) -> None:
            parent = contexts.get_current()
            span = self._start_call(node, tool.spec.description, parent)
            try:
                with Around(span, parent):
                    await work(turn, node, tool, arguments)
            finally:
                _end_call(span, node)

        return traced

    def child(
        self, call: CallNode, child: RunNode, context: Variables, ended: "Ended"
    ) -> "Ended":
        """The same, and the end of the span of a call that is nothing but a child.

        The call has no task: the context of its turn is where its span belongs, and
        not the one of whatever has just made room for it.
        """
        parent: Context = context.run(contexts.get_current)
        description: str | None = getattr(child.agent, "description", None)
        span = self._start_call(call, description, parent)
        child.carried = set_span_in_context(span, parent)

        def traced(node: Any) -> None:
            try:
                ended(node)
            finally:
                _end_call(span, call)

        return traced

    def _start_call(
        self, node: CallNode, description: str | None, parent: Context
    ) -> Span:
        attributes = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: node.call.name,
            names.TOOL_TYPE: names.TOOL_FUNCTION,
            names.TOOL_CALL_ID: node.call.id,
        }
        if description:
            attributes[names.TOOL_DESCRIPTION] = description
        name = f"{names.EXECUTE_TOOL} {node.call.name}"
        return start(self._tracer, name, attributes, parent)


def _of_run(node: RunNode) -> tuple[str, dict[str, str]]:
    agent: Any = node.agent
    model = getattr(agent, "model", None)  # a graph has none
    operation = names.INVOKE_WORKFLOW if model is None else names.INVOKE_AGENT
    attributes = {names.OPERATION: operation, names.CONVERSATION_ID: node.id}
    if model is not None:
        attributes |= _of_model(model)
        if agent.description:
            attributes[names.AGENT_DESCRIPTION] = agent.description
    if agent.name:
        of_name = names.WORKFLOW_NAME if model is None else names.AGENT_NAME
        attributes[of_name] = agent.name
    return f"{operation} {agent.name}" if agent.name else operation, attributes


def _of_model(model: "Model") -> dict[str, str]:
    provider, slash, name = model.name.partition("/")
    if not slash:
        return {names.REQUEST_MODEL: model.name}
    provider = names.PROVIDERS.get(provider, provider)
    return {names.PROVIDER: provider, names.REQUEST_MODEL: name}


def _of_reply(reply: Reply) -> dict[str, str | int | float | list[str]]:
    found: dict[str, str | int | float | list[str]] = {**usage_attributes(reply.usage)}
    if reply.model is not None:
        found[names.RESPONSE_MODEL] = reply.model.partition("/")[2] or reply.model
    if reply.stop_reason is not None:
        found[names.FINISH_REASONS] = [reply.stop_reason]
    return found


def _end_run(span: Span, node: RunNode, before: Usage) -> None:
    used = node.state.usage.since(before)  # a restart is a span of its own
    attributes: dict[str, str | int | float] = {**usage_attributes(used)}
    stopped = node.state.stopped
    if stopped is not None:
        attributes[names.STOPPED] = stopped.kind
    error = node.error
    end(span, attributes, error=error, cancelled=_why_cancelled(error, node))


def _end_call(span: Span, node: CallNode) -> None:
    outcome, error = node.outcome, node.error
    if outcome is None:  # it waits for somebody's answer
        end(span, {})
        return
    cancelled = _why_cancelled(error, node)
    if cancelled is None and error is None and outcome in ("cancelled", "interrupted"):
        cancelled = _reason(node) or outcome
    attributes = {names.OUTCOME: outcome}
    failed = outcome != "done"
    end(span, attributes, error=error, cancelled=cancelled, failed=failed)


def _why_cancelled(error: BaseException | None, node: Node | None) -> str | None:
    """Why something was cancelled; None when it was not."""
    if isinstance(error, trio.Cancelled):
        return _reason(node) or error.reason or error.source
    if isinstance(error, RunCancelled):
        return _reason(node) or error.reason or names.ERROR_CANCELLED
    return None


def _reason(node: Node | None) -> str | None:
    """Why the node, or the nearest one above that is being stopped, is stopped."""
    while node is not None:
        if node.stop is not None:
            return node.stop.reason
        node = node.parent
    return None
