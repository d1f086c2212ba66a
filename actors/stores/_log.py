"""One State's log in a file: how it is read, and how a write gets to its end.

1. A write is one record, written in one piece behind the last and then synced; what
   ends in the middle of it is a torn tail.
2. What this process knows of a log's end is tried against the file before it is
   built on, under the file's lock: other processes write too.
3. A sync that failed is not tried again: the kernel may have dropped what it could
   not write. The log is cut back to what was durable before.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import attrs

from protocol import StoreDamaged, StoreUnknown
from protocol._records import CHAIN_START, checksum_of, scan, seal

from ._body import pack, unpack
from ._disk import DiskFile

FORMAT = 1
"""The version of the log's form; stands in its first record."""

HEADER_BYTES = len(seal(CHAIN_START, b""))
"""How much of a record stands before its body."""


@attrs.frozen
class Log:
    """What a log holds, as far as it was read."""

    end: int = 0
    """Where the next record goes."""
    last: int = 0
    """Where the last record begins."""
    checksum: int = CHAIN_START
    """What the next record is chained to."""
    entries: int = 0
    """How many entries there are."""
    info: Mapping[str, Any] | None = None
    """The info of the last write; None when there was no write."""
    torn: int = 0
    """How many bytes of an unfinished write stand behind the end."""
    sure: bool = False
    """Whether this process knows all of it, and the file's name, to be durable: whoever
    wrote a part may have died before its sync."""


def is_part_of(log: Log, file: DiskFile) -> bool:
    """Whether the file still begins with this log.

    The checksum of its last record covers all that stands before it.
    """
    if not log.end or file.size() < log.end:
        return not log.end
    return checksum_of(file.read(log.last, HEADER_BYTES)) == log.checksum


def go_on(
    state_id: str, file: DiskFile, log: Log, size: int
) -> tuple[Log, list[bytes]]:
    """Read what stands between a log and ``size``; the longer log, and the entries.

    Raises:
        StoreDamaged: it is not what was written; the text says where.
    """
    data = file.read(log.end, size - log.end)
    found = scan(data, log.checksum, log.end)
    if found.verdict == "damaged":
        raise StoreDamaged(
            f"the log of State {state_id!r} is damaged at byte {found.end}: what "
            f"stands there was not written so, and a whole record follows at byte "
            f"{found.follows}; 'callboard salvage' keeps what stands before it"
        )
    try:
        changed, entries = unpack(found.records)
    except StoreDamaged as damage:
        raise StoreDamaged(f"the log of State {state_id!r}: {damage}") from damage
    torn = log.end + len(data) - found.end
    if not found.records:
        return attrs.evolve(log, torn=torn), entries
    info = {**(log.info or {}), **changed}
    _refuse_stranger(state_id, info)
    last = found.end - HEADER_BYTES - len(found.records[-1])
    longer = Log(
        end=found.end,
        last=last,
        checksum=found.checksum,
        entries=log.entries + len(entries),
        info=info,
        torn=torn,
        sure=False,
    )
    return longer, entries


def _refuse_stranger(state_id: str, info: Mapping[str, Any]) -> None:
    if info.get("format") != FORMAT:
        raise StoreDamaged(
            f"the log of State {state_id!r} has format {info.get('format')!r}, and "
            f"this version reads {FORMAT}: open it with the version that wrote it"
        )
    if info.get("id") != state_id:
        raise StoreDamaged(
            f"the log of State {state_id!r} is that of {info.get('id')!r}: its file "
            f"was renamed"
        )


def record_of(
    state_id: str, log: Log, entries: Sequence[bytes], info: Mapping[str, Any]
) -> tuple[bytes, dict[str, Any]]:
    """The record that brings these behind a log, and the info it leads to."""
    full = {**info, "format": FORMAT, "id": state_id}
    return seal(log.checksum, pack(entries, full, log.info or {})), full


def append(
    state_id: str,
    file: DiskFile,
    log: Log,
    entries: Sequence[bytes],
    info: Mapping[str, Any],
    *,
    sync: bool,
) -> Log:
    """Write one record behind a log that is sure, and has no torn tail.

    Raises:
        OSError: nothing was stored.
        StoreUnknown: it may or may not have been stored.
    """
    record, full = record_of(state_id, log, entries, info)
    try:
        _write(file, log.end, record)
    except OSError:
        # Should this fail too, the next writer finds and cuts a torn tail.
        with suppress(OSError):
            file.cut(log.end)
        raise
    if sync:
        try:
            file.sync()
        except OSError as fault:
            # Nobody may build on what is perhaps in memory only.
            with suppress(OSError):
                file.cut(log.end)
            raise StoreUnknown(
                f"State {state_id!r}: the disk did not confirm a write ({fault}); the "
                f"next save finds out what became of it"
            ) from fault
    return Log(
        end=log.end + len(record),
        last=log.end,
        checksum=checksum_of(record),
        entries=log.entries + len(entries),
        info=full,
        sure=True,
    )


def _write(file: DiskFile, start: int, data: bytes) -> None:
    """Write all of it; a disk may take less at a time."""
    done = 0
    while done < len(data):
        count = file.write(start + done, data[done:] if done else data)
        if not count:
            raise OSError("the disk took no byte of a write")
        done += count
