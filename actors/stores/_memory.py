"""A store in this process's memory."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

import attrs
import trio

from ._info import page_of
from ._lease import refuse_conflict
from ._record import Info, Record, Saved
from ._store import Store


@attrs.define
class _Kept:
    entries: list[bytes]
    info: Info


class MemoryStore(Store):
    """Keeps States in memory, until it is dropped: for tests, and as a default.

    It keeps their bytes, as any other store does: what goes in and what comes out
    share nothing.
    """

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = Lock()

    def write(
        self, state_id: str, entries: Sequence[bytes], info: Info, *, expected: int
    ) -> None:
        """Append entries to a State's record, and replace its info."""
        with self._lock:
            kept = self._kept.get(state_id)
            held = 0 if kept is None else len(kept.entries)
            stored = None if kept is None else kept.info
            refuse_conflict(state_id, stored, held, info, expected)
            if kept is None:
                kept = self._kept[state_id] = _Kept([], info)
            kept.entries.extend(entries)
            kept.info = dict(info)

    async def awrite(
        self, state_id: str, entries: Sequence[bytes], info: Info, *, expected: int
    ) -> None:
        """The same for a task. Cancelled, it has stored nothing."""
        await trio.lowlevel.checkpoint()
        self.write(state_id, entries, info, expected=expected)

    def read(self, state_id: str) -> Record | None:
        """The State's whole record, or None when there is no such State."""
        with self._lock:
            kept = self._kept.get(state_id)
            if kept is None:
                return None
            return Record(tuple(kept.entries), dict(kept.info))

    async def aread(self, state_id: str) -> Record | None:
        """The same for a task."""
        await trio.lowlevel.checkpoint()
        return self.read(state_id)

    def list(
        self, *, limit: int = 100, after: Saved | None = None, **filters: Any
    ) -> Sequence[Saved]:
        """One page of the States in the store, the latest updated first."""
        with self._lock:
            found = [Saved(name, kept.info) for name, kept in self._kept.items()]
        return page_of(found, limit, after, filters)

    async def alist(
        self, *, limit: int = 100, after: Saved | None = None, **filters: Any
    ) -> Sequence[Saved]:
        """The same for a task."""
        await trio.lowlevel.checkpoint()
        return self.list(limit=limit, after=after, **filters)

    def delete(self, state_id: str) -> None:
        """Remove everything of a State; nothing when there is no such State."""
        with self._lock:
            self._kept.pop(state_id, None)

    async def adelete(self, state_id: str) -> None:
        """The same for a task."""
        await trio.lowlevel.checkpoint()
        self.delete(state_id)
