"""The log of entries, and the ids that they bring."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from ._content import ToolCallBlock
from ._entries import (
    ContextChangeEntry,
    HistoryEntry,
    ModelReplyEntry,
    ToolResultEntry,
)
from ._graph_entries import NodeEndEntry, NodeStartEntry
from ._log import Log
from ._work_entries import ChildEnd, ChildEndEntry, ChildStart, ChildStartEntry

Key: TypeAlias = (
    tuple[Literal["call", "child"], str] | tuple[Literal["begun", "ended"], str, int]
)
"""An id, and what it names: a call, a child, or a background child that began, or
ended, with how many entries it began."""


class History(Log[HistoryEntry]):
    """The log of entries, with the ids that were used in it."""

    def has_call(self, size: int, call_id: str) -> bool:
        """Whether one of the first ``size`` entries brought a call of this id."""
        return self.has(size, ("call", call_id))

    def has_child(self, size: int, child_id: str) -> bool:
        """Whether one of the first ``size`` entries named this child."""
        return self.has(size, ("child", child_id))

    def has_begun(self, size: int, child: ChildStart | ChildEnd) -> bool:
        """Whether one of the first ``size`` entries began this background child."""
        return self.has(size, ("begun", child.child_id, child.since))

    def has_ended(self, size: int, child: ChildStart | ChildEnd) -> bool:
        """Whether one of the first ``size`` entries ended this background child."""
        return self.has(size, ("ended", child.child_id, child.since))


def _of_reply(entry: ModelReplyEntry) -> list[Key]:
    content = entry.content.message.content
    return [("call", block.id) for block in content if type(block) is ToolCallBlock]


def _of_result(entry: ToolResultEntry) -> Iterable[Key]:
    ids = entry.child_ids
    return [("child", child_id) for child_id in ids] if ids else ()


def _of_change(entry: ContextChangeEntry) -> list[Key]:
    keys: list[Key] = []
    for message in entry.content.messages:
        if message.role == "assistant":
            keys.extend([("call", call.id) for call in message.tool_calls])
    return keys


def _of_start(entry: ChildStartEntry) -> list[Key]:
    child = entry.content
    return [("child", child.child_id), ("begun", child.child_id, child.since)]


def _of_end(entry: ChildEndEntry) -> list[Key]:
    child = entry.content
    return [("child", child.child_id), ("ended", child.child_id, child.since)]


def _of_node_start(entry: NodeStartEntry) -> list[Key]:
    return [] if entry.child_id is None else [("child", entry.child_id)]


def _of_node_end(entry: NodeEndEntry) -> list[Key]:
    return [("child", child_id) for child_id in entry.child_ids]


IDS_OF: dict[type, Callable[[Any], Iterable[Key]]] = {
    ModelReplyEntry: _of_reply,
    ToolResultEntry: _of_result,
    ContextChangeEntry: _of_change,
    ChildStartEntry: _of_start,
    ChildEndEntry: _of_end,
    NodeStartEntry: _of_node_start,
    NodeEndEntry: _of_node_end,
}
"""How to find the ids that an entry brings, by its class; the others bring none."""
