"""A store in a folder: one log of checksummed records for each State.

``ID.log`` is the State's record. ``ID.info`` is a copy of the last info, so that a
list need not read the logs; a copy that does not fit its log is not believed.
"""

import warnings
from collections import OrderedDict
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias

import attrs
import msgspec

from protocol import StoreDamaged, StoreUnknown
from protocol._ids import check_state_id
from protocol._records import CHAIN_START, scan, seal

from ._body import unpack
from ._disk import Disk, DiskFile, LocalDisk
from ._info import page_of
from ._lease import refuse_conflict
from ._log import Log, append, go_on, is_part_of, record_of
from ._record import Info, Record, Saved
from ._salvage import Remains, remains_of
from ._store import Store

Durability: TypeAlias = Literal["full", "relaxed"]
"""``full``: acknowledged means on disk. ``relaxed``: acknowledged survives the end of
the process; a loss of power may take the latest writes."""

LOGS_KNOWN_MAX = 4_096
"""Of so many logs the end is remembered, about a kilobyte each. The first write to a
log that is not reads it all."""

_OWN = frozenset({"format", "id"})


class TornTailWarning(UserWarning):
    """The last write to a State did not end, and what there was of it is cut off.

    It was never acknowledged, so nothing that was is lost.
    """


@attrs.frozen(kw_only=True)
class FileStoreStatistics:
    """A picture of a FileStore."""

    writes: int
    """Writes that were acknowledged."""
    torn_tails: int
    """Unfinished writes that were found and cut off."""


class FileStore(Store):
    """Keeps each State in a file of its own, which is only ever appended to.

    Any number of processes may use one folder. Each write costs a sync of its own:
    for many busy States `SQLiteStore` is faster. Needs the file locks of POSIX.

    Args:
        path: The folder; it is made when there is none.
        durability: ``"full"``: a write returns when it survives a loss of power.
            ``"relaxed"``: when it survives the end of the process.
        disk: What to use in place of this machine's disk; for tests.

    Raises:
        ValueError: there is no such durability.
        OSError: the folder cannot be made, or this system has no such locks.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        durability: Durability = "full",
        disk: Disk | None = None,
    ) -> None:
        self._sync = is_full(durability)
        if disk is None and find_spec("fcntl") is None:
            raise OSError(
                "FileStore needs POSIX file locks, which this system lacks: use "
                "SQLiteStore"
            )
        self._disk = disk or LocalDisk()
        self._folder = Path(path)
        if disk is None and self._folder.is_file():
            raise NotADirectoryError(
                f"cannot keep States in {str(path)!r}, a file: name a folder, or use "
                f"SQLiteStore"
            )
        self._disk.make_folder(self._folder)
        self._logs: OrderedDict[str, Log] = OrderedDict()
        # Where a record of this store begins that was not confirmed, and the record.
        self._suspects: dict[str, tuple[int, bytes]] = {}
        self._lock = Lock()
        self._writes = 0
        self._torn_tails = 0

    def write(
        self, state_id: str, entries: Sequence[bytes], info: Info, *, expected: int
    ) -> None:
        """Append entries to a State's log, as one record.

        Raises:
            StoreConflict: another writer came before.
            StoreUnknown: the disk did not confirm it.
            StoreDamaged: the log is not what was written.
            OSError: the disk failed or is full; nothing was stored.
        """
        with self._locked(check_state_id(state_id), create=True) as file:
            assert file is not None, "created"
            log = self._current(state_id, file)
            self._remember(state_id, None)
            try:
                refuse_conflict(state_id, log.info, log.entries, info, expected)
                if self._sync and log.end and not log.sure:
                    self._make_sure(file)
                new = append(state_id, file, log, entries, info, sync=self._sync)
                if self._sync and not log.end:
                    self._sync_new(state_id)
            except StoreUnknown:
                record, _ = record_of(state_id, log, entries, info)
                self._suspects[state_id] = log.end, record
                self._unmake(state_id, log)
                raise
            except BaseException:
                self._unmake(state_id, log)
                raise
            self._remember(state_id, new)
            self._writes += 1
            self._copy_info(state_id, new)

    def read(self, state_id: str) -> Record | None:
        """The State's whole record, or None when there is no such State.

        Raises:
            StoreDamaged: the log is not what was written; the text says where.
            OSError: the disk cannot be read.
        """
        with self._locked(check_state_id(state_id), create=False) as file:
            if file is None:
                return None
            size = self._trusted_size(state_id, file)
            log, entries = go_on(state_id, file, Log(), size)
        self._remember(state_id, log)
        if log.torn:
            self._cut_torn_tail(state_id)
        if log.info is None:
            return None
        return Record(entries, _without_own(log.info))

    def list(
        self, *, limit: int = 100, after: Saved | None = None, **filters: Any
    ) -> Sequence[Saved]:
        """One page of the States in the folder, the latest updated first."""
        found = [
            self._look(name.removesuffix(".log"))
            for name in self._disk.names(self._folder)
            if name.endswith(".log")
        ]
        return page_of(
            [each for each in found if each is not None], limit, after, filters
        )

    def delete(self, state_id: str) -> None:
        """Remove everything of a State; nothing when there is no such State."""
        with self._locked(check_state_id(state_id), create=False) as file:
            self._disk.remove(self._place(state_id, "info"))
            if file is not None:
                self._disk.remove(self._place(state_id, "log"))
                self._remember(state_id, None)
                self._suspects.pop(state_id, None)
                if self._sync:
                    self._disk.sync_folder(self._folder)

    def remains(self, state_id: str) -> Remains | None:
        """What is left of a damaged State, for `salvage`."""
        with self._locked(check_state_id(state_id), create=False) as file:
            if file is None:
                return None
            data = file.read(0, file.size())
        info, _ = unpack([])
        with suppress(StoreDamaged):
            info, _ = unpack(scan(data).records)
        return remains_of(data, CHAIN_START, info)

    def statistics(self) -> FileStoreStatistics:
        """A frozen picture of this store."""
        return FileStoreStatistics(writes=self._writes, torn_tails=self._torn_tails)

    def _place(self, state_id: str, kind: Literal["log", "info"]) -> Path:
        return self._folder / f"{state_id}.{kind}"

    @contextmanager
    def _locked(self, state_id: str, *, create: bool) -> Generator[DiskFile | None]:
        """The State's log, nobody else in it; None when it is not there."""
        while True:
            try:
                file = self._disk.open(
                    self._place(state_id, "log"), create=create, write=create
                )
            except FileNotFoundError:
                yield None
                return
            try:
                file.lock(shared=not create)
                # It may have been deleted while this waited for the lock.
                if file.is_linked():
                    yield file
                    return
            finally:
                file.close()

    def _trusted_size(self, state_id: str, file: DiskFile) -> int:
        """Where the log ends for readers: before a write that was not confirmed."""
        suspect = self._suspect(state_id, file)
        return file.size() if suspect is None else suspect

    def _suspect(self, state_id: str, file: DiskFile) -> int | None:
        """Where a write stands that was not confirmed, unless others wrote since.

        What another process has written behind it, or in its place, was confirmed to
        that one, and must stay.
        """
        if state_id not in self._suspects:
            return None
        start, record = self._suspects[state_id]
        if record.startswith(file.read(start, len(record) + 1)):
            return min(start, file.size())
        del self._suspects[state_id]
        return None

    def _current(self, state_id: str, file: DiskFile) -> Log:
        """The log as it is now, without a torn tail."""
        suspect = self._suspect(state_id, file)
        if suspect is not None:
            file.cut(suspect)
            del self._suspects[state_id]
        log = self._logs.get(state_id) or Log()
        if not is_part_of(log, file):
            log = Log()
        log, _ = go_on(state_id, file, log, file.size())
        if log.torn:
            file.cut(log.end)
            self._torn_tails += 1
            warnings.warn(
                f"the last write to State {state_id!r} did not end: cut "
                f"{log.torn} bytes at byte {log.end}",
                TornTailWarning,
                stacklevel=2,
            )
        return attrs.evolve(log, torn=0)

    def _cut_torn_tail(self, state_id: str) -> None:
        """Cut it now, if this disk can be written, so that it is reported once."""
        with suppress(PermissionError), self._locked(state_id, create=True) as file:
            assert file is not None, "created"
            self._current(state_id, file)

    def _unmake(self, state_id: str, log: Log) -> None:
        """Leave nothing of a State that was not made."""
        if not log.end:
            with suppress(OSError):
                self._disk.remove(self._place(state_id, "log"))

    def _remember(self, state_id: str, log: Log | None) -> None:
        with self._lock:
            self._logs.pop(state_id, None)
            if log is not None:
                self._logs[state_id] = log
            if len(self._logs) > LOGS_KNOWN_MAX:
                self._logs.popitem(last=False)

    def _make_sure(self, file: DiskFile) -> None:
        """Make durable what others wrote: they may have died before they did.

        A record behind one that a loss of power takes would look like damage, and in
        a file without a durable name it would be lost.
        """
        file.sync()
        self._disk.sync_folder(self._folder)

    def _sync_new(self, state_id: str) -> None:
        """Make the name of a new log as durable as its content."""
        try:
            self._disk.sync_folder(self._folder)
        except OSError as fault:
            raise StoreUnknown(
                f"State {state_id!r}: the disk did not confirm its file ({fault}); "
                f"the next save finds out what became of it"
            ) from fault

    def _copy_info(self, state_id: str, log: Log) -> None:
        """Put the info beside the log; without it a list reads the log."""
        body = seal(CHAIN_START, msgspec.msgpack.encode((log.end, log.info)))
        with suppress(OSError):
            file = self._disk.open(
                self._place(state_id, "info"), create=True, write=True
            )
            try:
                file.cut(file.write(0, body))
            finally:
                file.close()

    def _look(self, state_id: str) -> Saved | None:
        """The line of the list for this State; None when it is gone."""
        try:
            with self._locked(check_state_id(state_id), create=False) as file:
                if file is None:
                    return None
                size = self._trusted_size(state_id, file)
                info = self._copied_info(state_id, size)
                if info is None:
                    info = go_on(state_id, file, Log(), size)[0].info
        except (StoreDamaged, OSError, ValueError) as damage:
            return Saved(state_id, {}, str(damage))
        return None if info is None else Saved(state_id, _without_own(info))

    def _copied_info(self, state_id: str, end: int) -> Info | None:
        try:
            file = self._disk.open(
                self._place(state_id, "info"), create=False, write=False
            )
        except FileNotFoundError:
            return None
        try:
            found = scan(file.read(0, file.size()))
        finally:
            file.close()
        if found.verdict != "clean" or len(found.records) != 1:
            return None
        copied_at, info = msgspec.msgpack.decode(found.records[0])
        return info if copied_at == end else None


def is_full(durability: Durability) -> bool:
    """Whether the durability is full.

    Raises:
        ValueError: it is not a durability.
    """
    if durability not in {"full", "relaxed"}:
        raise ValueError(f"durability is 'full' or 'relaxed', not {durability!r}")
    return durability == "full"


def _without_own(info: Info) -> dict[str, Any]:
    return {key: value for key, value in info.items() if key not in _OWN}
