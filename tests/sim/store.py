"""A store in a process of the simulation: slow, full, broken, and cut off at last.

1. Each process has its own store object on the one disk; once it is dead its
   operations reach the disk no more.
2. What a store acknowledged is the beginning of whatever it gives later: checked at
   every write and read.
"""

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from actors import FileStore, StoreConflict, StoreDamaged, StoreUnknown
from actors.stores import Record, Saved
from actors.testing import Fault, SimulatedDisk

from .reached import reached

if TYPE_CHECKING:
    from .process import Process
    from .world import World

FOLDER = Path("states")


class ProcessGone(Exception):
    """The process that wants something of the disk is dead."""


class ProcessDisk(SimulatedDisk):
    """The disk as one process sees it; the files are those of all processes."""

    def __init__(self, files: SimulatedDisk) -> None:
        super().__init__(files._random)
        self._files, self._durable = files._files, files._durable
        self.dies_at: int | None = None
        """The operation that the process does not survive."""
        self.alive = True

    def operate(self, writing: int = 0) -> int:
        if not self.alive:
            raise ProcessGone
        if self.operations != self.dies_at:
            return super().operate(writing)
        self.alive = False
        reached("a process died in the middle of a write")
        if writing > 1:  # a part of it has gone out
            return self._random.randrange(1, writing)
        raise ProcessGone


class SimStore(FileStore):
    """A FileStore on the simulated disk, at the mercy of the nemesis."""

    def __init__(self, process: "Process", disk: ProcessDisk) -> None:
        super().__init__(FOLDER, disk=disk)
        self.disk = disk
        self.process = process
        self.world = process.world
        self.writers: set[Any] = set()
        """Names under which this process has written, or tried to."""
        self.found: dict[str, Sequence[bytes]] = {}
        """What this process has read last of a State."""
        self.slow_s = 0.0
        """How long everything takes."""

    async def awrite(
        self,
        state_id: str,
        entries: Sequence[bytes],
        info: Mapping[str, Any],
        *,
        expected: int,
    ) -> None:
        kind = self._trouble()
        self.writers.add(info["writer"])
        try:
            await self._wait()
            self._refuse(kind)
            self._once(state_id, entries, info, expected)
            if kind == "twice":
                self._again(state_id, entries, info, expected)
            await self._wait()
        except trio.Cancelled:
            reached("a write was cancelled")
            raise
        if kind == "answer lost":
            reached("a write was stored and not acknowledged")
            raise StoreUnknown("no answer came")
        found = self.found.get(state_id, ())[:expected]
        self.world.written(state_id, found, 0)  # what it is chained to
        self.world.written(state_id, entries, expected)

    async def aread(self, state_id: str) -> Record | None:
        await self._wait()
        if self.world.trouble(self.world.settings.store_trouble / 3):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        record = self._on_disk(lambda: self.read(state_id))
        if record is None:
            self.world.seen(state_id, [], own=False)
        else:
            own = record.info.get("writer") in self.writers
            self.world.seen(state_id, record.entries, own=own)
            self.found[state_id] = record.entries
        await self._wait()
        return record

    async def alist(self, **wanted: Any) -> Sequence[Saved]:
        await self._wait()
        found = self._on_disk(lambda: self.list(**wanted))
        await self._wait()
        return found

    def _trouble(self) -> str:
        if not self.world.trouble(self.world.settings.store_trouble):
            return "none"
        return self.world.random.choice(
            ("full", "broken", "short", "never sent", "answer lost", "twice")
        )

    def _refuse(self, kind: str) -> None:
        if kind == "never sent":
            reached("a write was neither stored nor acknowledged")
            raise StoreUnknown("no answer came")
        if kind in {"full", "broken", "short"}:
            at = self.disk.operations + self.world.random.randrange(8)
            self.disk.fault = Fault(kind, at, self.world.random.random() < 0.3)

    def _once(
        self,
        state_id: str,
        entries: Sequence[bytes],
        info: Mapping[str, Any],
        expected: int,
    ) -> None:
        lasting = self.world.disk_fault is not None
        fault = self.disk.fault
        if fault is not None or lasting:
            # Nothing can be promised when a sync fails and its writer dies before it
            # has taken back what then stands in memory only: readers see it there.
            self.disk.dies_at = None
        if fault is None and lasting:
            kind = self.world.disk_fault
            self.disk.fault = Fault(kind, self.disk.operations, for_ever=True)
        try:
            self._on_disk(
                lambda: self.write(state_id, entries, info, expected=expected)
            )
        except StoreConflict:
            reached("a copy was fenced off")
            raise
        except StoreUnknown:
            if self.disk.fault is not None and self.disk.fault.for_ever:
                self.world.unsure.add(state_id)
            raise
        except OSError as error:
            full = error.errno == errno.ENOSPC
            reached(
                "a full disk refused a write"
                if full
                else "a broken disk failed a write"
            )
            raise
        else:
            if fault is not None and fault.kind == "short":
                reached("a disk took only a part of a write")
        finally:
            self.disk.fault = None

    def _again(
        self,
        state_id: str,
        entries: Sequence[bytes],
        info: Mapping[str, Any],
        expected: int,
    ) -> None:
        """The same write arrives once more: it must not be stored twice."""
        try:
            self._on_disk(
                lambda: self.write(state_id, entries, info, expected=expected)
            )
        except StoreConflict:
            reached("a write arrived twice")
        else:
            assert not entries, "a write that arrived twice was stored twice"

    def _on_disk(self, fn: Any) -> Any:
        try:
            return fn()
        finally:
            if not self.disk.alive:
                self.process.die()

    async def _wait(self) -> None:
        if self.slow_s and self.world.troubled:
            await trio.sleep(self.slow_s)
        elif self.world.random.random() < 0.5:
            await trio.lowlevel.checkpoint()
        if not self.disk.alive:
            await trio.sleep_forever()


def read_again(last: "Process") -> None:
    """What the store has of the last process is what that one has in memory (P4)."""
    world = last.world
    if last.store is None:
        return
    store = FileStore(FOLDER, disk=ProcessDisk(world.files))
    for state in last.states.values():
        if state.id in world.unsure:
            continue
        loaded = store.load(state.id)
        size = min(len(loaded.history), len(state.history))
        world.must(
            loaded.history[:size] == state.history[:size],
            f"{state.id}: neither what is stored begins what is live, nor that this",
        )
        if len(loaded.history) == len(state.history):
            same = loaded.snapshot() == state.snapshot()
            world.must(same, f"{state.id}: loaded, it is not what it was live")


def flip_a_bit(world: "World") -> None:
    """The medium changes one bit of a log: what is read is a beginning, or refused."""
    files = world.files._files
    logs = [path for path in sorted(files) if path.suffix == ".log" if files[path].seen]
    if not logs:
        return
    path = world.random.choice(logs)
    content = files[path].seen
    place = world.random.randrange(len(content) * 8)
    content[place // 8] ^= 1 << place % 8
    written = world.durable[path.stem]
    try:
        record = FileStore(FOLDER, disk=ProcessDisk(world.files)).read(path.stem)
    except StoreDamaged:
        reached("a damaged log was refused")
        return
    entries = [] if record is None else list(record.entries)
    lost = entries != written[: len(entries)]
    world.must(not lost, f"{path}: bit {place} flipped, and nobody noticed")
