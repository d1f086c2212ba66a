"""The SQLite file of a store: its tables, and how they are read and written.

1. The file is in WAL mode: readers never wait for the writer.
2. A write adds its record at the end of ``recent``, whatever its State, so that a
   group of writes touches few pages. From time to time the oldest of them are moved
   to ``logs``, each State's as one row: no record is written more than twice.
"""

import errno
import os
import sqlite3
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import chain
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

RECENT_ROWS_MAX = 1_000
"""More recent records than this are tidied up; a reader goes through all of them."""

TIDY_ROWS = 500
"""So many at a time: enough that each State has some of them, few enough that it takes
a few milliseconds."""

KNOWN_ROWS_MAX = 20_000
"""So many rows are known without being looked up again, some 400 bytes each."""

ROWS_AT_ONCE = 64
"""Rows that one statement writes at most; SQLite allows 32,766 values."""

_NUMBERS = 2**32
"""The key of a piece of log is its State's times this plus the number of its first
record, so that a State's pieces stand together and in order."""

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS states (
    key INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL,
    entries INTEGER NOT NULL, records INTEGER NOT NULL, checksum INTEGER NOT NULL,
    epoch INTEGER, writer TEXT, updated REAL NOT NULL,
    agent TEXT, finished INTEGER, parent TEXT, phase TEXT, info TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS recent (
    key INTEGER PRIMARY KEY, state INTEGER NOT NULL, number INTEGER NOT NULL,
    record BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS logs (key INTEGER PRIMARY KEY, records BLOB NOT NULL);
PRAGMA user_version = {FORMAT};
"""

_Parts: TypeAlias = tuple[str, str, str]
"""A statement for any number of rows: what comes before them, a row, what follows."""

_FIND = "SELECT key, entries, records, checksum, epoch, writer FROM states WHERE id = ?"
_MAKE = (
    f"INSERT INTO states ({', '.join(COLUMNS)}) "
    f"VALUES ({', '.join('?' * len(COLUMNS))})"
)
_CHANGE = (
    f"INSERT INTO states (key, {', '.join(COLUMNS)}) VALUES ",
    f"({', '.join('?' * (1 + len(COLUMNS)))})",
    " ON CONFLICT (key) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS[1:]),
)
_ADD = "INSERT INTO recent (state, number, record) VALUES ", "(?, ?, ?)", ""
# Damage may turn the type of a value; bytes are told from others by their checksum.
_PIECES = (
    "SELECT CAST(records AS BLOB) FROM logs WHERE key >= ? AND key < ? ORDER BY key"
)
_RECENT = "SELECT CAST(record AS BLOB) FROM recent WHERE state = ? ORDER BY key"


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
    except UnicodeDecodeError as fault:
        # SQLite quotes what it cannot understand of a damaged schema.
        raise StoreDamaged(f"{str(path)!r} is damaged: {fault}") from fault


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
        self._known: dict[str, tuple[int, Row]] = {}
        self._version: int | None = None

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """A transaction that is committed at the end of the block."""
        if self._db is None:
            self._db = connect(self._path, full=self._full)
        db = self._db
        try:
            with _translated(self._path):
                db.execute("BEGIN IMMEDIATE")
                self._forget_what_others_changed(db)
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

    def _forget_what_others_changed(self, db: sqlite3.Connection) -> None:
        """Know the rows no longer, once another connection has written, or too many."""
        (version,) = db.execute("PRAGMA data_version").fetchone()
        if version != self._version or len(self._known) > KNOWN_ROWS_MAX:
            self._version = version
            self._known.clear()

    def disconnect(self) -> None:
        """Close the connection; the next transaction makes another one."""
        self._known.clear()
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
            self._db = None

    def call(self, db: sqlite3.Connection, job: Job) -> None:
        """Call the job's function, which may change any row."""
        self._known.clear()
        super().call(db, job)

    def put(self, db: sqlite3.Connection, jobs: list[Job]) -> None:
        """Write what these jobs bring, but for those that conflict."""
        rows: dict[str, Row] = {}
        keys: dict[str, int] = {}
        for name in names_of(jobs):
            if found := self._known.get(name) or _found(db, name):
                keys[name], rows[name] = found
        group = admitted(rows, jobs)
        changed: list[tuple[Any, ...]] = []
        for name, info in group.infos.items():
            columns = columns_of(rows[name], info)
            if name in keys:
                changed.append((keys[name], *columns))
            else:
                keys[name] = _made(db, columns)
            self._known[name] = keys[name], rows[name]
        _put_rows(db, _CHANGE, changed)
        _put_rows(db, _ADD, [(keys[name], n, r) for name, n, r in group.records])
        _tidy(db)


def _put_rows(
    db: sqlite3.Connection, statement: _Parts, rows: list[tuple[Any, ...]]
) -> None:
    """Write the rows, many with each statement.

    Between two of them this thread hands the interpreter to others and waits to get it
    back, which takes longer than writing a row.
    """
    begin, size = 0, ROWS_AT_ONCE
    while begin < len(rows):
        while begin + size > len(rows):
            size //= 2
        some = rows[begin : begin + size]
        db.execute(_for_rows(statement, size), list(chain.from_iterable(some)))
        begin += size


@cache
def _for_rows(statement: _Parts, count: int) -> str:
    head, row, tail = statement
    return head + ", ".join([row] * count) + tail


def _found(db: sqlite3.Connection, name: str) -> tuple[int, Row] | None:
    found = db.execute(_FIND, (name,)).fetchone()
    return None if found is None else (found[0], Row(name, *found[1:]))


def _made(db: sqlite3.Connection, columns: tuple[Any, ...]) -> int:
    key = db.execute(_MAKE, columns).lastrowid
    assert key is not None, "a row was inserted"
    return key


def _tidy(db: sqlite3.Connection) -> None:
    """Move the oldest recent records to where their States' logs are."""
    first, last = db.execute(
        "SELECT (SELECT min(key) FROM recent), (SELECT max(key) FROM recent)"
    ).fetchone()
    if first is None or last - first < RECENT_ROWS_MAX:
        return
    pieces: dict[int, tuple[int, list[bytes]]] = {}
    before = first + TIDY_ROWS
    for state, number, record in db.execute(
        "SELECT state, number, record FROM recent WHERE key < ? ORDER BY key",
        (before,),
    ):
        pieces.setdefault(state, (number, []))[1].append(record)
    db.executemany(
        "INSERT INTO logs VALUES (?, ?)",
        [(s * _NUMBERS + n, b"".join(found)) for s, (n, found) in pieces.items()],
    )
    db.execute("DELETE FROM recent WHERE key < ?", (before,))


_left_behind: list[object] = []
"""Connections of the process that this one was forked from."""

_Rows: TypeAlias = tuple[tuple[int, int, int, str], list[bytes]]
"""Of a State the entries, records, checksum and info, and the pieces of its log."""


def _lenient(text: bytes) -> str:
    return text.decode("utf-8", "replace")


class SQLiteTables:
    """The connection for reading; it is used by one thread at a time."""

    def __init__(self, path: Path, *, full: bool) -> None:
        self._connect: Callable[[], sqlite3.Connection] = partial(
            connect, path, full=full
        )
        self._path = path
        self._lock = Lock()
        self._process = os.getpid()
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def _snapshot(self) -> Generator[sqlite3.Connection]:
        """One moment of the file, whatever is written meanwhile."""
        with self._lock, _translated(self._path):
            if self._process != os.getpid():
                # Closing a connection in a forked process would harm the other's.
                _left_behind.append(self._db)
                self._db, self._process = None, os.getpid()
            if self._db is None:
                self._db = self._connect()
                # A text that was damaged must not hide those of other rows.
                self._db.text_factory = _lenient
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

    def _rows(self, state_id: str) -> _Rows | None:
        with self._snapshot() as db:
            row = db.execute(
                "SELECT key, entries, records, checksum, info FROM states WHERE id = ?",
                (state_id,),
            ).fetchone()
            if row is None:
                return None
            begin = row[0] * _NUMBERS
            found = db.execute(_PIECES, (begin, begin + _NUMBERS)).fetchall()
            found += db.execute(_RECENT, row[:1]).fetchall()
        return row[1:], [records for (records,) in found]

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
            "DELETE FROM logs WHERE key >= ? AND key < ?", (begin, begin + _NUMBERS)
        )
        db.execute("DELETE FROM recent WHERE state = ?", row)
        db.execute("DELETE FROM states WHERE key = ?", row)
