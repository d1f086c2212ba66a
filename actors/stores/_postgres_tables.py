"""The tables of a store in PostgreSQL, and how they are read and written.

psycopg is used from plain threads: its asynchronous interface needs asyncio.
"""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any, TypeAlias, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict

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

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

DEFAULTS = {
    # Each bounds how long the one writer may hang on a server that is gone.
    "connect_timeout": "10",
    "tcp_user_timeout": "30000",
    "options": "-c statement_timeout=30s",
    "application_name": "callboard",
}

_LOCK = 7_237_105_533
"""The number of the advisory lock under which the tables are made; any would do."""

_STATES = "callboard_states"
_TYPES = (
    "text", "bigint", "bigint", "bigint", "bigint", "text", "double precision",
    "text", "boolean", "text", "text", "text",
)  # fmt: skip

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS callboard_format (version integer NOT NULL);
INSERT INTO callboard_format
    SELECT {FORMAT} WHERE NOT EXISTS (SELECT 1 FROM callboard_format);
CREATE TABLE IF NOT EXISTS callboard_states (
    id text COLLATE "C" PRIMARY KEY,
    entries bigint NOT NULL, records bigint NOT NULL, checksum bigint NOT NULL,
    epoch bigint, writer text, updated double precision NOT NULL,
    agent text, finished boolean, parent text, phase text, info text NOT NULL
);
CREATE TABLE IF NOT EXISTS callboard_records (
    state_id text COLLATE "C", number bigint, record bytea NOT NULL,
    PRIMARY KEY (state_id, number)
);
"""

_SELECT = (
    f"SELECT id, entries, records, checksum, epoch, writer FROM {_STATES} "
    "WHERE id = ANY(%s) ORDER BY id FOR UPDATE"
)
_ARRAYS = ", ".join(f"%s::{kind}[]" for kind in _TYPES)
_INSERT = (
    f"INSERT INTO {_STATES} ({', '.join(COLUMNS)}) "
    f"SELECT * FROM unnest({_ARRAYS}) ON CONFLICT (id) DO NOTHING"
)
_UPDATE = (
    f"UPDATE {_STATES} AS old SET "
    + ", ".join(f"{name} = new.{name}" for name in COLUMNS[1:])
    + f" FROM unnest({_ARRAYS}) AS new({', '.join(COLUMNS)}) WHERE old.id = new.id"
)
_ADD = (
    "INSERT INTO callboard_records "
    "SELECT * FROM unnest(%s::text[], %s::bigint[], %s::bytea[])"
)
_READ = (
    f"SELECT entries, records, checksum, info, "
    "ARRAY(SELECT record FROM callboard_records WHERE state_id = id ORDER BY number) "
    f"FROM {_STATES} WHERE id = %s"
)


def connect(dsn: str, *, full: bool) -> Connection:
    """Connect, and make the tables when they are missing.

    Raises:
        OSError: the server cannot be reached, or refuses.
        StoreDamaged: the tables are of another version.
    """
    with _translated():
        asked = {**DEFAULTS, **conninfo_to_dict(dsn)}
        db = psycopg.connect(**cast("dict[str, Any]", asked))
    try:
        with _translated():
            mode = "on" if full else "off"
            db.execute(f"SET synchronous_commit = {mode}".encode())
            db.commit()
            found = _prepare(db)
        _refuse_other_version(found)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: Connection) -> object:
    """Make what is missing; the version of what is there."""
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        db.execute(_SCHEMA.encode())
        found = db.execute("SELECT max(version) FROM callboard_format").fetchone()
    return found and found[0]


def _refuse_other_version(version: object) -> None:
    if version != FORMAT:
        raise StoreDamaged(
            f"the tables have format {version!r}, and this version reads {FORMAT}: "
            f"open them with the version that wrote them"
        )


@contextmanager
def _translated() -> Generator[None]:
    """Raise what PostgreSQL reports as what a store raises."""
    try:
        yield
    except psycopg.errors.DiskFull as fault:
        raise OSError(errno.ENOSPC, str(fault)) from fault
    except psycopg.OperationalError as fault:
        raise ConnectionError(f"PostgreSQL cannot be reached: {fault}") from fault
    except psycopg.Error as fault:
        raise OSError(errno.EIO, str(fault)) from fault


class _Raced(Exception):
    """Another process has just made one of the States."""


class PostgresCommitter(Committer):
    """Commits to the server."""

    def __init__(self, dsn: str, *, full: bool) -> None:
        self._dsn = dsn
        self._full = full
        self._db: Connection | None = None

    @contextmanager
    def transaction(self) -> Generator[Connection]:
        """A transaction that is committed at the end of the block."""
        if self._db is None or not _answers(self._db):
            self.disconnect()
            self._db = connect(self._dsn, full=self._full)
        db = self._db
        try:
            with _translated():
                yield db
        except BaseException:
            self._take_back(db)
            raise
        try:
            db.commit()
        except psycopg.Error as fault:
            self.disconnect()
            raise StoreUnknown(
                f"PostgreSQL did not confirm a commit ({fault}); the next save finds "
                f"out what became of it"
            ) from fault

    def _take_back(self, db: Connection) -> None:
        try:
            db.rollback()
        except psycopg.Error:
            self.disconnect()

    def disconnect(self) -> None:
        """Close the connection; the next transaction makes another one."""
        if self._db is not None:
            with suppress(psycopg.Error):
                self._db.close()
            self._db = None

    def put(self, db: Connection, jobs: list[Job]) -> None:
        """Write what these jobs bring, but for those that conflict."""
        while True:
            try:
                self._put(db, jobs)
                return
            except _Raced:
                db.rollback()

    def _put(self, db: Connection, jobs: list[Job]) -> None:
        rows: dict[str, Row] = {}
        for name, *known in db.execute(_SELECT.encode(), (names_of(jobs),)).fetchall():
            entries, records, checksum, epoch, writer = known
            rows[name] = Row(name, entries, records, checksum, epoch, writer, False)
        group = admitted(rows, jobs)
        lines = {True: list[tuple[Any, ...]](), False: list[tuple[Any, ...]]()}
        for name, info in group.infos.items():
            row = rows[name]
            lines[row.new].append(columns_of(row, info))
        if lines[True]:
            made = db.execute(_INSERT.encode(), _turned(lines[True]))
            if made.rowcount < len(lines[True]):
                raise _Raced
        if lines[False]:
            db.execute(_UPDATE.encode(), _turned(lines[False]))
        if group.records:
            db.execute(_ADD.encode(), _turned(group.records))


def _answers(db: Connection) -> bool:
    """Whether an idle connection still leads to a server; costs a round trip."""
    try:
        db.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def _turned(lines: "list[Any]") -> list[list[Any]]:
    """Columns instead of lines."""
    return [list(column) for column in zip(*lines, strict=True)]


_left_behind: list[object] = []
"""Connections of the process that this one was forked from."""


class PostgresTables:
    """The connection for reading; it is used by one thread at a time."""

    def __init__(self, dsn: str, *, full: bool) -> None:
        self._dsn = dsn
        self._full = full
        self._lock = Lock()
        self._process = os.getpid()
        self._db: Connection | None = None

    def _ask(self, query: str, values: "list[Any]") -> "list[tuple[Any, ...]]":
        """Ask once more when the connection turns out to be gone."""
        with self._lock:
            if self._process != os.getpid():
                # Closing it in a forked process would end the other's session.
                _left_behind.append(self._db)
                self._db, self._process = None, os.getpid()
            if self._db is not None:
                with suppress(ConnectionError), _translated():
                    return _rows_of(self._db, query, values)
                self._drop()
            self._db = connect(self._dsn, full=self._full)
            with _translated():
                return _rows_of(self._db, query, values)

    def read(self, state_id: str) -> Record | None:
        """The State's record; see `Store.read`."""
        found = self._ask(_READ, [state_id])
        if not found:
            return None
        entries, count, checksum, info, records = found[0]
        return record_of(state_id, (entries, count, checksum, info), records)

    def remains(self, state_id: str) -> Remains | None:
        """What is left of a damaged State; see `salvage`."""
        found = self._ask(_READ, [state_id])
        return remains_of_rows(state_id, found[0][3], found[0][4]) if found else None

    def list(
        self, limit: int, after: Saved | None, filters: dict[str, Any]
    ) -> list[Saved]:
        """A page of the list; see `Store.list`."""
        query, values = list_query(_STATES, "%s", limit, after, filters)
        return listed(cast("Any", self._ask(query, values)))

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._db is not None:
            with suppress(psycopg.Error):
                self._db.close()
            self._db = None


def _rows_of(
    db: Connection, query: str, values: "list[Any]"
) -> "list[tuple[Any, ...]]":
    with db.transaction():
        return db.cursor(binary=True).execute(query.encode(), values).fetchall()


def delete(state_id: str, db: Connection) -> None:
    """Remove everything of a State."""
    db.execute("DELETE FROM callboard_states WHERE id = %s", (state_id,))
    db.execute("DELETE FROM callboard_records WHERE state_id = %s", (state_id,))
