"""States as rows of a database: what SQLite and PostgreSQL stores share.

1. A row of ``states`` has what a write must know: how many entries and records there
   are, the checksum of the last record, and who the writer is; and the info.
2. Each write is one row of ``records``: a record chained to the one before, the first
   one to the State's id. So rows that were changed, lost or mixed up are found.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from zlib import crc32

import attrs
import msgspec

from protocol import StoreDamaged
from protocol._records import checksum_of, scan, seal

from ._binding import Write
from ._body import pack, unpack
from ._info import EQUAL_FILTERS, TIME_FILTERS, check_page
from ._lease import refuse_conflict
from ._record import Record, Saved
from ._salvage import Remains, remains_of
from ._writer import Job

FORMAT = 1
"""The version of the tables and of the records in them."""

_encode_json = msgspec.json.Encoder().encode


class Row(msgspec.Struct, frozen=True):
    """A State's row, as far as a write must know it."""

    id: str
    entries: int = 0
    records: int = 0
    checksum: int = 0
    epoch: int | None = None
    writer: str | None = None
    new: bool = True
    """Whether the database does not have it yet."""


@attrs.define
class Group:
    """What a group of writes comes to: rows to set and records to add."""

    rows: dict[str, Row]
    """The rows that there are; a write changes its own."""
    infos: dict[str, Mapping[str, Any]] = attrs.field(
        factory=dict[str, Mapping[str, Any]]
    )
    """The latest info of each row that changed."""
    records: list[tuple[str, int, bytes]] = attrs.field(
        factory=list[tuple[str, int, bytes]]
    )
    """Id, number and content of each new record."""

    def admit(self, job: Job) -> None:
        """Take a write in, or give its job the reason why not."""
        write = job.write
        assert write is not None, "only writes are grouped"
        job.error = None
        row = self.rows.get(write.state_id)
        try:
            self._admit(write, row)
        except Exception as error:  # noqa: BLE001 - it is this job's alone
            job.error = error

    def _admit(self, write: Write, row: Row | None) -> None:
        name, info = write.state_id, write.info
        held = None if row is None else {"epoch": row.epoch, "writer": row.writer}
        count = 0 if row is None else row.entries
        refuse_conflict(name, held, count, info, write.expected)
        row = row or Row(name, checksum=first_checksum(name))
        record = seal(row.checksum, pack(write.entries, info, info))
        self.records.append((name, row.records, record))
        self.infos[name] = info
        self.rows[name] = Row(
            name,
            row.entries + len(write.entries),
            row.records + 1,
            checksum_of(record),
            info.get("epoch"),
            info.get("writer"),
            new=row.new,
        )


def names_of(jobs: list[Job]) -> list[str]:
    """The States that these writes are for, each once, in the order of their names."""
    return sorted({job.write.state_id for job in jobs if job.write is not None})


def admitted(rows: dict[str, Row], jobs: list[Job]) -> Group:
    """What these writes come to; those that conflict get their error."""
    group = Group(rows)
    for job in jobs:
        group.admit(job)
    return group


def first_checksum(state_id: str) -> int:
    """What the first record of a State is chained to."""
    return crc32(state_id.encode())


def columns_of(row: Row, info: Mapping[str, Any]) -> tuple[Any, ...]:
    """The columns of ``states``, in the order of `COLUMNS`."""
    return (
        row.id,
        row.entries,
        row.records,
        row.checksum,
        row.epoch,
        row.writer,
        info.get("updated") or 0.0,
        *(column(info.get(name)) for name in EQUAL_FILTERS),
        _encode_json(info).decode(),
    )


COLUMNS = (
    "id", "entries", "records", "checksum", "epoch", "writer", "updated",
    *EQUAL_FILTERS, "info",
)  # fmt: skip


def column(value: object) -> object:
    """A value of a filter as its column has it; PostgreSQL has no text with NUL."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def record_of(
    state_id: str, row: tuple[int, int, int, str], records: Sequence[bytes]
) -> Record:
    """The record that these rows make up.

    Args:
        state_id: The State.
        row: Its entries, records, checksum and info.
        records: Its records in order, or pieces of several.

    Raises:
        StoreDamaged: they are not what was written; the text says where.
    """
    entries, count, checksum, info = row
    found = scan(b"".join(records), first_checksum(state_id))
    whole = len(found.records)
    if found.verdict != "clean" or whole != count or found.checksum != checksum:
        raise StoreDamaged(
            f"State {state_id!r} is damaged at record {whole} of {count}: what is "
            f"stored there was not written so; 'callboard salvage' keeps what stands "
            f"before it"
        )
    _, bodies = unpack(found.records)
    if len(bodies) != entries:
        raise StoreDamaged(
            f"State {state_id!r} has {len(bodies)} entries where {entries} were written"
        )
    return Record(bodies, info_from(state_id, info))


def remains_of_rows(state_id: str, info: str, records: Sequence[bytes]) -> Remains:
    """What is left of a State whose rows are damaged, for `salvage`."""
    readable: dict[str, Any] = {}
    with suppress(StoreDamaged):
        readable = info_from(state_id, info)
    return remains_of(b"".join(records), first_checksum(state_id), readable)


def info_from(state_id: str, text: str) -> dict[str, Any]:
    """The info that a row holds.

    Raises:
        StoreDamaged: it is none.
    """
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, TypeError) as fault:
        raise StoreDamaged(
            f"the info of State {state_id!r} is damaged: {fault}"
        ) from fault


def listed(rows: Iterable[tuple[str, float, str]]) -> list[Saved]:
    """The lines of a list, from id, updated and info."""
    found: list[Saved] = []
    for state_id, updated, text in rows:
        try:
            found.append(Saved(state_id, info_from(state_id, text)))
        except StoreDamaged as damage:
            found.append(Saved(state_id, {"updated": updated}, str(damage)))
    return found


def list_query(
    table: str, mark: str, limit: int, after: Saved | None, filters: Mapping[str, Any]
) -> tuple[str, list[Any]]:
    """The query for a page of a list, and its parameters.

    Args:
        table: Where the States are.
        mark: How a parameter is written.
        limit: How many rows at most.
        after: The last one of the page before.
        filters: As `Store.list` takes them.

    Raises:
        TypeError: there is no such filter.
        ValueError: ``limit`` is no int >= 0.
    """
    check_page(limit, filters)
    conditions: list[str] = []
    values: list[Any] = []
    for name, wanted in filters.items():
        if name in TIME_FILTERS:
            sign = ">" if name == "updated_after" else "<"
            conditions.append(f"updated {sign} {mark}")
        elif wanted is None:
            conditions.append(f"{name} IS NULL")
            continue
        else:
            conditions.append(f"{name} = {mark}")
        values.append(column(wanted))
    if after is not None:
        conditions.append(f"(updated, id) < ({mark}, {mark})")
        values += [after.updated, after.id]
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    query = (
        f"SELECT id, updated, info FROM {table} {where}"
        f"ORDER BY updated DESC, id DESC LIMIT {mark}"
    )
    return query, [*values, limit]
