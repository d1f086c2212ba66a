"""What a node returned, as the updates and the way on that it stands for.

1. A message, a text or a list of them goes into the context; a dict or a state updates
   fields; a `Command` does both and chooses the way on; None does nothing.
2. A field that the node assigned on its copy counts as if it had been returned.
3. Pieces of a message (``delta``) are shown and never kept.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs

from protocol import AgentState, Message, NodeError
from protocol._entry import NO_DATA
from protocol._graph_entries import Goto, GraphUpdate, NodeEnd, NodeTask
from protocol._graph_state import record_update
from protocol._json import FrozenDict
from protocol._not_json import a_kind
from protocol._state_updates import writes_of

from ._routes import Command, Send

_WANTED = (
    "a Message, text, a list of them, a dict of fields, the state, a Command or None"
)


@attrs.frozen(kw_only=True)
class Returned:
    """What a node wants."""

    updates: tuple[GraphUpdate, ...] = ()
    goto: tuple[Goto, ...] | None = None
    completes: bool = False
    deltas: tuple[Message, ...] = ()
    """Pieces of messages, to be shown."""

    def as_end(self, task: NodeTask) -> NodeEnd:
        """The end of the task, to be recorded."""
        return NodeEnd(
            task_id=task.id,
            node=task.node,
            outcome="done",
            updates=self.updates,
            goto=self.goto,
            completes=self.completes,
        )


def read_returned(node: str, copy: AgentState, value: Any) -> Returned:
    """What a node wants that worked on ``copy`` and returned ``value``.

    Raises:
        NodeError: it returned something else, updates a field that there is not or
            that is not its to write, or gives one a value that it cannot hold; or it
            called ``state.error(text)``.
    """
    goto: tuple[Goto, ...] | None = None
    if isinstance(value, Command):
        if value.targets:
            goto = tuple(as_goto(node, copy, target) for target in value.targets)
        value = value.update
    update = {**_writes(copy, value), **_as_update(node, copy, value)}
    meta = copy.execution_meta
    if meta.error_text is not None:
        raise NodeError(node, f"it ended the run with error({meta.error_text!r})")
    deltas: tuple[Message, ...] = ()
    if "context" in update:
        deltas = _deltas(update["context"])
    return Returned(
        updates=(_recorded(node, type(copy), update),) if update else (),
        goto=goto,
        completes=meta.status == "completed",
        deltas=deltas,
    )


def _writes(copy: AgentState, value: Any) -> dict[str, Any]:
    state = value if isinstance(value, AgentState) else None
    return writes_of(copy, state)


def _as_update(node: str, copy: AgentState, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, AgentState):
        if not isinstance(value, type(copy)):
            raise NodeError(
                node,
                f"it returned {a_kind(value)}; this graph's state is {a_kind(copy)}",
            )
        return {}
    if issubclass(type(value), Mapping):
        return dict(value)
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return {"context": [_message(node, item) for item in items]} if items else {}
    return {"context": [_message(node, value)]}


def _message(node: str, item: Any) -> Message:
    if isinstance(item, Message):
        return item
    if isinstance(item, str):
        return Message.assistant(item)
    raise NodeError(node, f"it returned {item!r}; return {_WANTED}")


def _deltas(messages: Any) -> tuple[Message, ...]:
    if not isinstance(messages, list | tuple):
        return ()
    items = cast("Sequence[Any]", messages)
    return tuple(m for m in items if isinstance(m, Message) and m.delta)


def _recorded(
    node: str, kind: type[AgentState], update: Mapping[str, Any]
) -> GraphUpdate:
    fields: dict[str, Any] = {}
    messages: tuple[Message, ...] | None = None
    for name, value in update.items():
        try:
            recorded = record_update(kind, {name: value}, "node")
        except (TypeError, ValueError) as error:
            raise NodeError(node, str(error), str(name)) from error
        fields |= recorded.fields
        if recorded.messages is not None:
            messages = recorded.messages
    kept = FrozenDict(fields) if fields else NO_DATA
    return GraphUpdate(fields=kept, messages=messages)


def as_goto(node: str, copy: AgentState, target: Any) -> Goto:
    """A target in the form that history keeps.

    Raises:
        NodeError: it is neither a name nor a `Send`, or the update of the `Send` cannot
            be recorded.
    """
    if isinstance(target, str):
        return Goto(target)
    if not isinstance(target, Send):
        raise NodeError(
            node, f"it goes to {target!r}: use a node's name, END or a Send"
        )
    return Goto(target.node, _recorded(node, type(copy), target.update))
