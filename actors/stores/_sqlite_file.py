"""The SQLite file of a store: its tables, and how they are read and written.

The file is in WAL mode: readers never wait for the writer.
"""

import errno
import sqlite3
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from protocol import StoreDamaged, StoreUnknown

from ._committer import Committer
from ._record import Record, Saved
from ._rows import (
    COLUMNS,
    FORMAT,
    Row,
    admitted,
    columns_of,
    list_query,
    listed,
    names_of,
    record_of,
    remains_of_rows,
)
from ._salvage import Remains
from ._writer import Job

BUSY_TIMEOUT_S = 30.0
"""How long a write waits for other processes to end theirs; each takes milliseconds."""

_NUMBERS = 2**32
"""A record's key is its State's times this plus its number: a State's records stand
together and in order, and need no index beside the table."""

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS states (
    key INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL,
    entries INTEGER NOT NULL, records INTEGER NOT NULL, checksum INTEGER NOT NULL,
    epoch INTEGER, writer TEXT, updated REAL NOT NULL,
    agent TEXT, finished INTEGER, parent TEXT, phase TEXT, info TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS records (key INTEGER PRIMARY KEY, record BLOB NOT NULL);
PRAGMA user_version = {FORMAT};
"""

_SELECT = "SELECT entries, records, checksum, epoch, writer FROM states WHERE id = ?"
_PUT = (
    f"INSERT INTO states ({', '.join(COLUMNS)}) "
    f"VALUES ({', '.join('?' * len(COLUMNS))}) ON CONFLICT (id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS[1:])
)
_ADD = f"INSERT INTO records SELECT key * {_NUMBERS} + ?, ? FROM states WHERE id = ?"
_RECORDS = "SELECT record FROM records WHERE key >= ? AND key < ? ORDER BY key"


def connect(path: Path, *, full: bool) -> sqlite3.Connection:
    """Open the file, and make its tables when it is new.

    Raises:
        OSError: it cannot be opened.
        StoreDamaged: it is no SQLite file, or of another version.
    """
    with _translated(path):
        db = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
    try:
        with _translated(path):
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            if full and sys.platform == "darwin":
                # Without it a sync leaves the data in the drive's cache.
                db.execute("PRAGMA fullfsync = 1")
            _prepare(path, db)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(path: Path, db: sqlite3.Connection) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == 0:
        db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT")
    elif version != FORMAT:
        raise StoreDamaged(
            f"{str(path)!r} has format {version}, and this version reads {FORMAT}: "
            f"open it with the version that wrote it"
        )


@contextmanager
def _translated(path: Path) -> Generator[None]:
    """Raise what SQLite reports as what a store raises."""
    try:
        yield
    except sqlite3.Error as fault:
        raise translate(path, fault) from fault


def translate(path: Path, fault: sqlite3.Error) -> Exception:
    """The exception that says the same in the words of stores."""
    code = getattr(fault, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return StoreDamaged(f"{str(path)!r} is damaged: {fault}")
    numbers = {
        sqlite3.SQLITE_FULL: errno.ENOSPC,
        sqlite3.SQLITE_BUSY: errno.ETIMEDOUT,
        sqlite3.SQLITE_READONLY: errno.EROFS,
        sqlite3.SQLITE_CANTOPEN: errno.ENOENT,
    }
    return OSError(numbers.get(code, errno.EIO), str(fault), str(path))


class SQLiteCommitter(Committer):
    """Commits to the file."""

    def __init__(self, path: Path, *, full: bool) -> None:
        self._path = path
        self._full = full
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """A transaction that is committed at the end of the block."""
        if self._db is None:
            self._db = connect(self._path, full=self._full)
        db = self._db
        try:
            with _translated(self._path):
                db.execute("BEGIN IMMEDIATE")
                yield db
        except BaseException:
            # Closing it takes everything back, in whatever state it is.
            self.disconnect()
            raise
        try:
            db.execute("COMMIT")
        except sqlite3.Error as fault:
            # A failed sync is never tried again on the same connection.
            self.disconnect()
            raise StoreUnknown(
                f"{str(self._path)!r} did not confirm a commit ({fault}); the next "
                f"save finds out what became of it"
            ) from fault

    def disconnect(self) -> None:
        """Close the connection; the next transaction makes another one."""
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
            self._db = None

    def put(self, db: sqlite3.Connection, jobs: list[Job]) -> None:
        """Write what these jobs bring, but for those that conflict."""
        rows: dict[str, Row] = {}
        for name in names_of(jobs):
            if found := db.execute(_SELECT, (name,)).fetchone():
                rows[name] = Row(name, *found, new=False)
        group = admitted(rows, jobs)
        db.executemany(_PUT, [columns_of(rows[n], i) for n, i in group.infos.items()])
        db.executemany(_ADD, [(number, r, name) for name, number, r in group.records])


_Rows: TypeAlias = tuple[tuple[int, int, int, str], list[bytes]]
"""Of a State the entries, records, checksum and info, and its records."""


class SQLiteTables:
    """The connection for reading; it is used by one thread at a time."""

    def __init__(self, path: Path, *, full: bool) -> None:
        self._connect: Callable[[], sqlite3.Connection] = partial(
            connect, path, full=full
        )
        self._path = path
        self._lock = Lock()
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def _snapshot(self) -> Generator[sqlite3.Connection]:
        """One moment of the file, whatever is written meanwhile."""
        with self._lock, _translated(self._path):
            if self._db is None:
                self._db = self._connect()
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                with suppress(sqlite3.Error):
                    self._db.execute("COMMIT")

    def read(self, state_id: str) -> Record | None:
        """The State's record; see `Store.read`."""
        found = self._rows(state_id)
        return None if found is None else record_of(state_id, *found)

    def remains(self, state_id: str) -> Remains | None:
        """What is left of a damaged State; see `salvage`."""
        found = self._rows(state_id)
        if found is None:
            return None
        (_, _, _, info), records = found
        return remains_of_rows(state_id, info, records)

    def _rows(
        self, state_id: str
    ) -> tuple[tuple[int, int, int, str], list[bytes]] | None:
        with self._snapshot() as db:
            row = db.execute(
                "SELECT key, entries, records, checksum, info FROM states WHERE id = ?",
                (state_id,),
            ).fetchone()
            if row is None:
                return None
            begin = row[0] * _NUMBERS
            found = db.execute(_RECORDS, (begin, begin + _NUMBERS)).fetchall()
        return row[1:], [record for (record,) in found]

    def list(
        self, limit: int, after: Saved | None, filters: dict[str, Any]
    ) -> list[Saved]:
        """A page of the list; see `Store.list`."""
        query, values = list_query("states", "?", limit, after, filters)
        with self._snapshot() as db:
            rows = db.execute(query, values).fetchall()
        return listed(rows)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None


def delete(state_id: str, db: sqlite3.Connection) -> None:
    """Remove everything of a State."""
    row = db.execute("SELECT key FROM states WHERE id = ?", (state_id,)).fetchone()
    if row is not None:
        begin = row[0] * _NUMBERS
        db.execute(
            "DELETE FROM records WHERE key >= ? AND key < ?", (begin, begin + _NUMBERS)
        )
        db.execute("DELETE FROM states WHERE key = ?", row)
