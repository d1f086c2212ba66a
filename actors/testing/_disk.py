"""A disk that loses power, runs full and fails, as often as a test likes.

1. What was written and not synced may be kept, dropped, torn or garbled by a loss of
   power, each write for itself; what was synced is kept.
2. A sync that fails settles the fate of each write it was for, and a later sync does
   not bring them back; they can still be read until the power is lost.
3. Names behave like writes: a file that was made or removed is so for certain once its
   folder was synced.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Lock
from typing import Literal, TypeAlias

import attrs

FaultKind: TypeAlias = Literal["full", "broken", "short"]
"""``full``: ENOSPC. ``broken``: EIO. ``short``: a write takes only a part."""

_Change: TypeAlias = "tuple[int, bytes] | int"
"""A write (where, what) or a cut (to what size)."""


@attrs.frozen
class Fault:
    """What goes wrong, and when."""

    kind: FaultKind
    at: int
    """The number of the operation that fails, counted from 0."""
    for_ever: bool = False
    """Whether all later operations fail too."""

    def hits(self, number: int) -> bool:
        """Whether this operation fails."""
        return number == self.at or (self.for_ever and number > self.at)


@attrs.define(eq=False)
class _Content:
    """A file, whatever its name."""

    seen: bytearray = attrs.field(factory=bytearray)
    """What a reader gets."""
    durable: bytearray = attrs.field(factory=bytearray)
    """What is there for certain, but for the pending changes."""
    pending: list[_Change] = attrs.field(factory=list["_Change"])
    names: int = 0
    lock: Lock = attrs.field(factory=Lock)


class SimulatedDisk:
    """A disk in memory, for `FileStore` and whatever else takes a disk.

    One thread uses it at a time.

    Args:
        random: Decides the fate of what was not synced.
    """

    def __init__(self, random: Random) -> None:
        self.operations = 0
        """How many operations there were so far."""
        self.fault: Fault | None = None
        """What goes wrong; may be set and taken back at any time."""
        self._random = random
        self._files: dict[Path, _Content] = {}
        self._durable: dict[Path, _Content] = {}

    def open(self, path: Path, *, create: bool, write: bool) -> "SimulatedFile":
        """Open a file."""
        self.operate()
        if path not in self._files:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
            self._files[path] = _Content(names=1)
        return SimulatedFile(self, self._files[path], writable=write)

    def remove(self, path: Path) -> None:
        """Remove a file; nothing when there is none."""
        self.operate()
        content = self._files.pop(path, None)
        if content is not None:
            content.names = 0

    def names(self, folder: Path) -> list[str]:
        """The names of the files in a folder."""
        self.operate()
        return [path.name for path in self._files if path.parent == folder]

    def make_folder(self, folder: Path) -> None:
        """Folders need no making here."""

    def sync_folder(self, folder: Path) -> None:
        """Make the names in the folder durable."""
        self.operate()
        for path in {**self._files, **self._durable}:
            if path.parent == folder:
                self._settle_name(path, keep=True)

    def operate(self, writing: int = 0) -> int:
        """Count an operation; how many bytes of its write are taken.

        Raises:
            OSError: the fault says that it fails.
        """
        number, fault = self.operations, self.fault
        self.operations += 1
        if fault is None or not fault.hits(number):
            return writing
        if fault.kind == "short":
            return max(writing // 2, min(writing, 1))
        code = errno.ENOSPC if fault.kind == "full" else errno.EIO
        raise OSError(code, os.strerror(code))

    def lose_power(self) -> "SimulatedDisk":
        """The disk as it is after the power came back; this one is used no more."""
        after = SimulatedDisk(self._random)
        for path in {**self._files, **self._durable}:
            self._settle_name(path, keep=self._random.random() < 0.5)
        for path, content in self._durable.items():
            self.decide(content)
            image = bytearray(content.durable)
            after._files[path] = _Content(image, bytearray(image), names=1)
        after._durable = dict(after._files)
        return after

    def decide(self, content: _Content) -> None:
        """Let each change that was not synced have its fate."""
        for change in content.pending:
            if isinstance(change, int):
                if self._random.random() < 0.5:
                    _apply(content.durable, change)
                continue
            start, data = change
            fate = self._random.choice(_FATES)
            _apply(content.durable, (start, fate(self._random, data)))
        content.pending.clear()

    def _settle_name(self, path: Path, *, keep: bool) -> None:
        if not keep:
            return
        if path in self._files:
            self._durable[path] = self._files[path]
        else:
            self._durable.pop(path, None)


class SimulatedFile:
    """An open file of a `SimulatedDisk`."""

    def __init__(
        self, disk: SimulatedDisk, content: _Content, *, writable: bool
    ) -> None:
        self._disk = disk
        self._content = content
        self._writable = writable
        self._locked = False

    def lock(self, *, shared: bool = False) -> None:
        """Take the lock, which is never shared here."""
        self._disk.operate()
        assert self._content.lock.acquire(blocking=False), "one thread, one lock"
        self._locked = True

    def is_linked(self) -> bool:
        """Whether the path still leads to this very file."""
        return self._content.names > 0

    def size(self) -> int:
        """Its length in bytes."""
        return len(self._content.seen)

    def read(self, start: int, count: int) -> bytes:
        """Up to ``count`` bytes from ``start``."""
        self._disk.operate()
        return bytes(self._content.seen[start : start + count])

    def write(self, start: int, data: bytes) -> int:
        """Write from ``start``; may write only a part."""
        assert self._writable, "opened for reading only"
        taken = self._disk.operate(len(data))
        self._change((start, data[:taken]))
        return taken

    def cut(self, size: int) -> None:
        """Make the file ``size`` bytes long."""
        assert self._writable, "opened for reading only"
        self._disk.operate()
        self._change(size)

    def sync(self) -> None:
        """Make durable what was written and cut."""
        try:
            self._disk.operate()
        except OSError:
            self._disk.decide(self._content)
            raise
        for change in self._content.pending:
            _apply(self._content.durable, change)
        self._content.pending.clear()

    def close(self) -> None:
        """Give up the file and its lock."""
        if self._locked:
            self._content.lock.release()
            self._locked = False

    def _change(self, change: _Change) -> None:
        _apply(self._content.seen, change)
        self._content.pending.append(change)


def crash_disk(seed: int = 0) -> SimulatedDisk:
    """A disk for a store under test, as in ``FileStore("states", disk=disk)``.

    Let the store write, call ``disk.lose_power()`` at any moment, and open a store on
    the disk that it returns: all that was acknowledged has to be there. Or set
    ``disk.fault = Fault("full", at=disk.operations + 3)``.

    Args:
        seed: The same seed gives the same fates.
    """
    return SimulatedDisk(Random(seed))


def _apply(image: bytearray, change: _Change) -> None:
    if isinstance(change, int):
        del image[change:]
        image.extend(bytes(change - len(image)))
        return
    start, data = change
    if data:
        image.extend(bytes(max(0, start - len(image))))
        image[start : start + len(data)] = data


def _kept(_random: Random, data: bytes) -> bytes:
    return data


def _dropped(_random: Random, _data: bytes) -> bytes:
    return b""


def _torn(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _garbled(random: Random, data: bytes) -> bytes:
    begin = random.randrange(len(data) + 1)
    end = random.randrange(begin, len(data) + 1)
    return data[:begin] + random.randbytes(end - begin) + data[end:]


_FATES: tuple[Callable[[Random, bytes], bytes], ...] = (
    _kept,
    _dropped,
    _torn,
    _garbled,
)
