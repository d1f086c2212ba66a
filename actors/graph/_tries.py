"""A task that is tried again: what of the earlier try stands, and what runs again.

1. Replies stand, and results that are a tool's own. A call that was cut off, by a
   cancel or by a failure, runs again, as its node does.
2. What the earlier try used is counted once, also where its process ended before it.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from actors._inside import family, send
from actors._state import State
from protocol import (
    CallStartEntry,
    Exchange,
    HistoryEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    ToolResultEntry,
)
from protocol._commands import NoteExchange
from protocol._entry import NO_USAGE

from ._children import counted_of
from ._work import GraphNode

FINAL = frozenset({"done", "error", "input_error", "denied"})
"""Outcomes that stand when the node runs again."""


def gone_on_with(node: GraphNode, earlier: State) -> State:
    """The State of an earlier try, or one that goes on in its place.

    That is a copy in which the calls that were cut off are open again; an empty one
    where the earlier State was closed.
    """
    cut_off = _cut_off(earlier)
    if not cut_off and not earlier.closed:
        return earlier
    child = State() if earlier.closed else State(history=tuple(_kept(earlier, cut_off)))
    family(child).children.update(family(earlier).children)
    carry_usage(node, earlier, child)
    return child


def carry_usage(node: GraphNode, earlier: State, child: State) -> None:
    """Count with the new State what nobody has counted of the earlier one."""
    left = earlier.usage.since(counted_of(node, earlier))
    if left.requests:
        exchange = Exchange(question=f"an earlier try ({earlier.id})", answer=None)
        send(child, NoteExchange("ask", exchange, left))


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
    """The entries without those calls' ends, and without what was used."""
    for entry in state.history:
        if isinstance(entry, ModelReplyEntry):
            reply = replace(entry.content, usage=NO_USAGE)
            yield replace(entry, content=reply)
        elif not isinstance(entry, ToolResultEntry | CallStartEntry):
            yield entry
        elif entry.call.id not in cut_off:
            is_end = isinstance(entry, ToolResultEntry)
            yield replace(entry, usage=NO_USAGE) if is_end else entry
