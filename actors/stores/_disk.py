"""What a FileStore asks of a disk, and the disk of this machine.

The port exists so that tests can put a simulated disk under a store that loses power,
runs full and fails (`actors.testing.crash_disk`).
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol


class DiskFile(Protocol):
    """One open file. Any method may raise OSError."""

    def lock(self, *, shared: bool = False) -> None:
        """Wait until no other open file of this path holds the lock."""
        ...

    def is_linked(self) -> bool:
        """Whether the path still leads to this very file."""
        ...

    def size(self) -> int:
        """Its length in bytes."""
        ...

    def read(self, start: int, count: int) -> bytes:
        """Up to ``count`` bytes from ``start``; fewer only at the end of the file."""
        ...

    def write(self, start: int, data: bytes) -> int:
        """Write from ``start``; may write only a part. Returns how many bytes."""
        ...

    def cut(self, size: int) -> None:
        """Make the file ``size`` bytes long."""
        ...

    def sync(self) -> None:
        """Return when what was written and cut survives a loss of power."""
        ...

    def close(self) -> None:
        """Give up the file and its lock."""
        ...


class Disk(Protocol):
    """Files in folders. Any method may raise OSError."""

    def open(self, path: Path, *, create: bool, write: bool) -> DiskFile:
        """Open a file.

        Raises:
            FileNotFoundError: there is none, and it is not to be created.
        """
        ...

    def remove(self, path: Path) -> None:
        """Remove a file; nothing when there is none."""
        ...

    def names(self, folder: Path) -> list[str]:
        """The names of the files in a folder, in no order."""
        ...

    def make_folder(self, folder: Path) -> None:
        """Make a folder and those it stands in, where they are missing."""
        ...

    def sync_folder(self, folder: Path) -> None:
        """Return when what was created and removed in it survives a loss of power."""
        ...


class _LocalFile:
    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def lock(self, *, shared: bool = False) -> None:
        import fcntl

        fcntl.flock(self._number, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)

    def is_linked(self) -> bool:
        return os.fstat(self._number).st_nlink > 0

    def size(self) -> int:
        return os.fstat(self._number).st_size

    def read(self, start: int, count: int) -> bytes:
        parts: list[bytes] = []
        while count:
            part = os.pread(self._number, count, start)
            if not part:
                break
            parts.append(part)
            start, count = start + len(part), count - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, start: int, data: bytes) -> int:
        return os.pwrite(self._number, data, start)

    def cut(self, size: int) -> None:
        os.ftruncate(self._number, size)

    def sync(self) -> None:
        if hasattr(os, "fdatasync"):
            os.fdatasync(self._number)
        else:
            _sync_mac(self._number)

    def close(self) -> None:
        os.close(self._number)


def _sync_mac(number: int) -> None:
    """On macOS fsync leaves the data in the drive's cache; this does not."""
    import fcntl

    fcntl.fcntl(number, getattr(fcntl, "F_FULLFSYNC"))  # noqa: B009 - not on Linux


class LocalDisk:
    """The disk of this machine."""

    def open(self, path: Path, *, create: bool, write: bool) -> DiskFile:
        """Open a file, for its owner only when it is made."""
        flags = os.O_RDWR if write else os.O_RDONLY
        flags |= os.O_CREAT if create else 0
        return _LocalFile(os.open(path, flags | os.O_CLOEXEC, 0o600))

    def remove(self, path: Path) -> None:
        """Remove a file; nothing when there is none."""
        with suppress(FileNotFoundError):
            path.unlink()

    def names(self, folder: Path) -> list[str]:
        """The names of the files in a folder, in no order."""
        return os.listdir(folder)  # noqa: PTH208 - a Path for each name costs more

    def make_folder(self, folder: Path) -> None:
        """Make a folder and those it stands in, where they are missing."""
        folder.mkdir(parents=True, exist_ok=True)

    def sync_folder(self, folder: Path) -> None:
        """Return when what was created and removed in it survives a loss of power."""
        number = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(number)
        finally:
            os.close(number)
