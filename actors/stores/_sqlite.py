"""A store in one SQLite file: the one to take when in doubt."""

from functools import partial
from pathlib import Path

from ._file import Durability, is_full
from ._tables import TableStore
from ._writer import Writer


class SQLiteStore(TableStore):
    """Keeps States in one SQLite file, from any thread, task and process.

    One thread writes, and commits all that waits at once: the busier the store, the
    less a write costs. Reading never waits for it.

    Args:
        path: The file; it is made when there is none. Beside it SQLite keeps a
            ``-wal`` and a ``-shm`` file, which belong to it. It has to be on a local
            disk: network file systems lack the locks.
        durability: ``"full"``: a write returns when it survives a loss of power.
            ``"relaxed"``: when it survives the end of the process.

    Raises:
        ValueError: there is no such durability, or the path is ``":memory:"``, which
            would be another database for each connection.
        OSError: the file cannot be opened.
        StoreDamaged: it is no SQLite file, or one of another version.
    """

    def __init__(self, path: str | Path, *, durability: Durability = "full") -> None:
        from . import _sqlite_file as sqlite

        full, place = is_full(durability), Path(path)
        if str(place) == ":memory:":
            raise ValueError(
                "cannot keep States in ':memory:', which no connection shares: use "
                "MemoryStore()"
            )
        if not place.parent.is_dir():
            raise FileNotFoundError(
                f"cannot keep States in {str(place)!r}: there is no folder "
                f"{str(place.parent)!r}; make it, as with Path(...).mkdir(parents="
                f"True), or name another file"
            )
        if place.is_dir():
            raise IsADirectoryError(
                f"cannot keep States in {str(place)!r}, a folder: name a file, such as "
                f"{str(place / 'runs.db')!r}, or use FileStore"
            )
        sqlite.connect(place, full=full).close()
        self._writer = Writer(
            "callboard-sqlite", partial(sqlite.SQLiteCommitter, place, full=full)
        )
        self._tables = sqlite.SQLiteTables(place, full=full)
        self._delete = sqlite.delete
