"""Questions of nodes and tools to whoever runs the graph.

1. A question stops its node; the run pauses when the other nodes of the step have
   ended. Its node runs again with the answer, and `interrupt` returns it.
2. A question is known by its call, if a tool asks, its value, and how often that was
   asked before: a node that runs again finds its earlier answers in any order.
"""

from hashlib import blake2b
from typing import Any

import msgspec

from actors._calls import CallNode
from actors._node import Node, current
from actors._run_node import RunNode
from protocol import GraphError
from protocol._graph_entries import Interrupt
from protocol._json import encode_hook, freeze

from ._work import GraphNode, PartNode


class Interrupted(BaseException):
    """A node waits for answers. Not an Exception: a tool's `except` must not eat it."""

    def __init__(self, *questions: Interrupt) -> None:
        super().__init__(*questions)
        self.questions = questions


def interrupt(value: Any = None) -> Any:
    """Ask whoever runs the graph, and return the answer.

    Without an answer the node stops here, and the run pauses: its result names what
    waits under ``interrupts``. ``app.invoke({"resume": answer}, config)`` runs the node
    again from its beginning, and this returns the answer. To be called in a node, or in
    a tool that a node runs, plain or async.

    Args:
        value: What is asked, in JSON form.

    Raises:
        GraphError: no node of a graph runs here, or an agent does that is no node.
        TypeError: ``value`` is not JSON.
    """
    node, call_id = _place(asks=True)
    question = freeze(value, "interrupt")
    text = msgspec.json.encode(
        [call_id, question], enc_hook=encode_hook, order="sorted"
    )
    digest = blake2b(text, digest_size=6).hexdigest()
    earlier = node.asked.get(digest, 0)
    node.asked[digest] = earlier + 1
    suffix = f"-{earlier + 1}" if earlier else ""
    asked = Interrupt(f"{node.task.id}.{digest}{suffix}", node.task.node, question)
    if asked.id in node.answers:
        return node.answers[asked.id]
    raise Interrupted(asked)


def emit(value: Any) -> None:
    """Give a value to whoever streams the run; nothing happens when nobody does.

    To be called in a node, or in a tool that a node runs, plain or async.

    Raises:
        GraphError: no node of a graph runs here.
    """
    node, _ = _place()
    node.emit(value)


def _place(*, asks: bool = False) -> tuple[GraphNode, str]:
    """The node of a graph that this code works for, and the call, if it is a tool."""
    found: Node | None = current.get()
    call_id = ""
    while found is not None and not isinstance(found, GraphNode):
        if isinstance(found, CallNode) and not call_id:
            call_id = found.id
        if asks and isinstance(found, RunNode) and not isinstance(found, PartNode):
            raise GraphError(
                f"a run inside of a node cannot pause the graph: State {found.id!r} "
                f"would begin anew; make the agent a node, or ask before it runs"
            )
        found = found.parent
    if found is None:
        raise GraphError(
            "no node of a graph runs here: call this in a node, or in a tool that a "
            "node runs"
        )
    return found, call_id
