"""Where a tracer stands when somebody has turned one on; see `actors.otel`.

1. Without one, each place that could be traced asks once whether there is one, and does
   nothing else for it.
2. A tracer gives back the function that it was given, with a span around each call.
"""

from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from protocol import Reply

if TYPE_CHECKING:
    from ._calls import CallNode
    from ._run_node import RunNode

Work: TypeAlias = Callable[..., Awaitable[None]]
"""What does a run (its last argument is the run), or a call (its second one is)."""

Ask: TypeAlias = Callable[..., Awaitable[Reply]]
"""The gate: `actors._gate.respond`."""

Ended: TypeAlias = Callable[[Any], None]
"""Told of a node that has ended."""


class Tracer(Protocol):
    """What wraps runs, requests and calls.

    ``run``, ``call``: what does a run, or a call in a task. ``request``: the gate, for
    the run that asks, if one does. ``child``: what is told of the end of a child that
    is all that a call does; ``context`` is that of the turn the call belongs to.
    """

    def run(self, work: Work) -> Work: ...
    def request(self, ask: Ask, node: "RunNode | None") -> Ask: ...
    def call(self, work: Work) -> Work: ...
    def child(
        self, call: "CallNode", child: "RunNode", context: Context, ended: Ended
    ) -> Ended: ...


tracer: Tracer | None = None
"""The one of the process; `actors.otel` puts it here."""


def traced_run(work: Work) -> Work:
    """What does a run, or several one after the other."""
    return work if tracer is None else tracer.run(work)


def traced_request(ask: Ask, node: "RunNode | None") -> Ask:
    """The gate, for one request."""
    return ask if tracer is None else tracer.request(ask, node)


def traced_call(work: Work) -> Work:
    """What does a call in a task."""
    return work if tracer is None else tracer.call(work)


def traced_child(
    call: "CallNode", child: "RunNode", context: Context, ended: Ended
) -> Ended:
    """What is told of the end of a child that is all that a call does."""
    return ended if tracer is None else tracer.child(call, child, context, ended)
