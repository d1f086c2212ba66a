"""A task that is tried again: what of the earlier try stands, and what runs again.

1. Replies stand, and results that are a tool's own. A call that was cut off, by a
   cancel or by a failure, runs again, as its node does.
2. What the earlier try used is counted once, also where its process ended before it.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from actors._inside import family, send, value_of_state
from actors._state import State
from protocol import (
    CallStartEntry,
    ChildEndEntry,
    Exchange,
    ExchangeEntry,
    HistoryEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    NodeEndEntry,
    NodeStartEntry,
    StepEndEntry,
    ToolResultEntry,
    Usage,
)
from protocol._commands import NoteExchange
from protocol._entry import NO_USAGE
from protocol._graph_entries import NodeOutcome

from ._work import GraphNode

FINAL = frozenset({"done", "error", "input_error", "denied"})
"""Outcomes that stand when the node runs again."""


def gone_on_with(node: GraphNode, earlier: State) -> State:
    """The State of an earlier try, or one that goes on in its place.

    The State itself where the try waits for an answer, or ended with its process. Else
    a copy in which the calls that were cut off are open again: something that did not
    stop may go on in the earlier one.
    """
    is_whole = last_outcome(node) in (None, "interrupted") and not _cut_off(earlier)
    if earlier.closed:
        child = State()
    elif is_whole:
        return earlier
    else:
        child = State(history=tuple(_kept(earlier, _cut_off(earlier))))
    family(child).children.update(family(earlier).children)
    carry_usage(node, earlier, child)
    return child


def carry_usage(node: GraphNode, earlier: State, child: State) -> None:
    """Count with the new State what nobody has counted of the earlier one."""
    if last_outcome(node) is not None:
        return
    left = earlier.usage.since(counted_of(node, earlier))
    if left.requests:
        exchange = Exchange(question=f"an earlier try ({earlier.id})", answer=None)
        send(child, NoteExchange("ask", exchange, left))


def counted_of(node: GraphNode, child: State) -> Usage:
    """What the ends of earlier tries of this task have counted of the State.

    A try that ended with its process has no end, and nobody has counted it.
    """
    counted = found = NO_USAGE
    for entry in _tries(node):
        if isinstance(entry, NodeEndEntry):
            found = found + entry.usage
        elif entry.child_id == child.id:
            counted, found = counted + found, NO_USAGE
        else:
            break
    return counted


def last_outcome(node: GraphNode) -> NodeOutcome | None:
    """How the last try of this task ended; None where its process ended before it."""
    for entry in _tries(node):
        return entry.content.outcome if isinstance(entry, NodeEndEntry) else None
    return None


def _tries(node: GraphNode) -> Iterator[NodeStartEntry | NodeEndEntry]:
    """The starts and ends of this task, the latest first, if it was tried before.

    Only then is the step looked through: thousands of tasks may belong to it.
    """
    if not node.was_tried:
        return
    value = value_of_state(node.state)
    for index in reversed(range(value.size)):
        entry = value.history.at(index)
        if isinstance(entry, NodeEndEntry):
            if entry.content.task_id == node.task.id:
                yield entry
        elif isinstance(entry, NodeStartEntry):
            if entry.content.id == node.task.id:
                yield entry
        elif isinstance(entry, StepEndEntry):
            return  # the task belongs to the step that follows


def _cut_off(state: State) -> frozenset[str]:
    """The calls of the last turn that have no result of their own."""
    found: set[str] = set()
    for entry in reversed(state.history):
        if isinstance(entry, ModelRequestEntry):
            break
        if isinstance(entry, ToolResultEntry) and entry.outcome not in FINAL:
            found.add(entry.call.id)
    return frozenset(found)


def _kept(state: State, cut_off: frozenset[str]) -> Iterator[HistoryEntry]:
    """The entries without those calls' starts and ends, and without what was used."""
    for entry in state.history:
        match entry:
            case ToolResultEntry() | CallStartEntry() if entry.call.id in cut_off:
                pass
            case ModelReplyEntry():
                yield replace(entry, content=replace(entry.content, usage=NO_USAGE))
            case ToolResultEntry() | ExchangeEntry() | ChildEndEntry():
                yield replace(entry, usage=NO_USAGE)
            case _:
                yield entry
