"""What stores in a database have in common: one writer, and tables to read."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import attrs

from protocol._ids import check_state_id

from ._binding import Write
from ._record import Info, Record, Saved
from ._salvage import Remains
from ._store import Store
from ._writer import Job, Writer


class Tables(Protocol):
    """The reading side of a database; used by any thread."""

    def read(self, state_id: str) -> Record | None:
        """The State's record; see `Store.read`."""
        ...

    def remains(self, state_id: str) -> Remains | None:
        """What is left of a damaged State; see `salvage`."""
        ...

    def list(
        self, limit: int, after: Saved | None, filters: dict[str, Any]
    ) -> list[Saved]:
        """A page of the list; see `Store.list`."""
        ...

    def close(self) -> None:
        """Give back the connection."""
        ...


@attrs.frozen(kw_only=True)
class WriterStatistics:
    """A picture of a store whose writes are grouped."""

    jobs: int
    """Writes and deletions that were done, or refused."""
    groups: int
    """Groups they were done in; each costs one sync."""


class TableStore(Store):
    """A store that hands what it writes to a `Writer` and reads from `Tables`."""

    _writer: Writer
    _tables: Tables
    _delete: Callable[[str, Any], None]

    def write(
        self, state_id: str, entries: Sequence[bytes], info: Info, *, expected: int
    ) -> None:
        """Append entries to a State's record, together with what else waits."""
        self._writer.do(_write_job(state_id, entries, info, expected))

    async def awrite(
        self, state_id: str, entries: Sequence[bytes], info: Info, *, expected: int
    ) -> None:
        """The same for a task. A cancel waits until the outcome is known."""
        await self._writer.ado(_write_job(state_id, entries, info, expected))

    def read(self, state_id: str) -> Record | None:
        """The State's whole record, or None when there is no such State."""
        return self._tables.read(check_state_id(state_id))

    def list(
        self, *, limit: int = 100, after: Saved | None = None, **filters: Any
    ) -> Sequence[Saved]:
        """One page of the States in the store, the latest updated first."""
        return self._tables.list(limit, after, filters)

    def delete(self, state_id: str) -> None:
        """Remove everything of a State; nothing when there is no such State."""
        self._writer.do(self._delete_job(state_id))

    async def adelete(self, state_id: str) -> None:
        """The same for a task. A cancel waits until the outcome is known."""
        await self._writer.ado(self._delete_job(state_id))

    def remains(self, state_id: str) -> Remains | None:
        """What is left of a damaged State, for `salvage`."""
        return self._tables.remains(check_state_id(state_id))

    def _delete_job(self, state_id: str) -> Job:
        return Job(fn=partial(self._delete, check_state_id(state_id)))

    def close(self) -> None:
        """End the writer behind what it was given, and close the connections."""
        self._writer.close()
        self._tables.close()

    def statistics(self) -> WriterStatistics:
        """A frozen picture of this store."""
        counts = self._writer.counts
        return WriterStatistics(jobs=counts.jobs, groups=counts.groups)


def _write_job(
    state_id: str, entries: Sequence[bytes], info: Info, expected: int
) -> Job:
    # Not copied: whoever writes waits here until it is done.
    return Job(Write(check_state_id(state_id), entries, info, expected))
