"""The log of entries, and the ids that were used in it.

1. An id is noted with the index of the first entry that brought it, behind that entry:
   what an abandoned step noted is never seen, because no value is that long.
2. A segment notes its own ids and looks through those of the segments below, each as
   far as it can see. Few ids are taken over from below instead, so that looking through
   forks of forks takes few steps.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self, TypeAlias

from ._entries import (
    ContextChangeEntry,
    HistoryEntry,
    ModelReplyEntry,
    ToolResultEntry,
)
from ._log import Log
from ._work_entries import ChildEndEntry

Key: TypeAlias = tuple[Literal["call", "child", "end"], str]
"""An id, and what it names: a call, a child, or a background child that ended."""

TAKEN_OVER_MAX = 64
"""A segment with more ids than this is looked through instead of copied: copying
costs a fork's first reply about 2 us, and looking 0.05 us for each segment."""


class Ids:
    """Which entry brought each id first, in one segment and below it."""

    __slots__ = ("_below", "_index_of")

    def __init__(self, below: "Ids | None", base: int) -> None:
        self._index_of: dict[Key, int] = {}
        self._below: tuple[Ids, int] | None = None
        if below is not None:
            own = bool(below._index_of)
            self._below = (below, base) if own else below._below

    def note(self, index: int, keys: Iterable[Key]) -> None:
        """Remember that the entry at ``index`` brought these ids."""
        if not self._index_of:
            self._take_over()
        index_of = self._index_of
        for key in keys:
            if index_of.get(key, index) >= index:
                index_of[key] = index

    def _take_over(self) -> None:
        if self._below is None or len(self._below[0]._index_of) > TAKEN_OVER_MAX:
            return
        below, base = self._below
        # The copy is one step: another thread may note in the segment below.
        seen = below._index_of.copy()
        self._index_of = {key: index for key, index in seen.items() if index < base}
        self._below = below._below

    def has(self, size: int, key: Key) -> bool:
        """Whether one of the first ``size`` entries brought this id."""
        ids = self
        while ids._index_of.get(key, size) >= size:
            if ids._below is None:
                return False
            ids, base = ids._below
            size = min(size, base)
        return True


class History(Log[HistoryEntry]):
    """The log of entries, with the ids that were used in it."""

    __slots__ = ("_ids",)

    def __init__(self, parent: Self | None = None, base: int = 0) -> None:
        super().__init__(parent, base)
        below = None if parent is None else parent._ids
        self._ids: Ids | None = None if below is None else Ids(below, base)

    def note(self, index: int, keys: Sequence[Key]) -> None:
        """Remember that the entry at ``index`` brought these ids."""
        if keys:
            if self._ids is None:
                self._ids = Ids(None, self.base)
            self._ids.note(index, keys)

    def has_call(self, size: int, call_id: str) -> bool:
        """Whether one of the first ``size`` entries brought a call of this id."""
        return self._ids is not None and self._ids.has(size, ("call", call_id))

    def has_child(self, size: int, child_id: str) -> bool:
        """Whether one of the first ``size`` entries named this child."""
        return self._ids is not None and self._ids.has(size, ("child", child_id))

    def has_end(self, size: int, child_id: str) -> bool:
        """Whether one of the first ``size`` entries ended this background child."""
        return self._ids is not None and self._ids.has(size, ("end", child_id))


def _of_reply(entry: ModelReplyEntry) -> list[Key]:
    return [("call", call.id) for call in entry.content.message.tool_calls]


def _of_result(entry: ToolResultEntry) -> list[Key]:
    return [("child", child_id) for child_id in entry.child_ids]


def _of_change(entry: ContextChangeEntry) -> list[Key]:
    messages = entry.content.messages
    asking = [message for message in messages if message.role == "assistant"]
    return [("call", call.id) for message in asking for call in message.tool_calls]


def _of_end(entry: ChildEndEntry) -> list[Key]:
    child_id = entry.content.child_id
    return [("child", child_id), ("end", child_id)]


IDS_OF: dict[type, Callable[[Any], list[Key]]] = {
    ModelReplyEntry: _of_reply,
    ToolResultEntry: _of_result,
    ContextChangeEntry: _of_change,
    ChildEndEntry: _of_end,
}
"""How to find the ids that an entry brings, by its class; the others bring none."""
