"""Records: bodies of bytes, chained by checksums, in one growing log.

1. A record is `marker, length, link, checksum, body`. The link is the length XOR
   the checksum of the record before, and the checksum of the body starts from it:
   a record can be checked alone, and is only valid behind its own predecessor.
2. What does not verify at the very end is a torn tail: cut it and report it.
   What does not verify in front of a whole record is damage: refuse the log.
3. One write is one record. A disk may keep a later block of a write and lose an
   earlier one, and only inside one record is that still a torn tail.

A store that keeps its own bytes on a medium that can tear or rot needs `seal`,
`scan`, `checksum_of` and `CHAIN_START`, so these are public; what an entry's bytes
mean is no store's business, so the codec is not.

A log cut exactly between two records is a valid shorter log; only somebody who
knows how many records were acknowledged can tell.
"""

from struct import Struct as _Layout
from typing import Literal, TypeAlias
from zlib import crc32

import msgspec

CHAIN_START = 0
"""The checksum that the first record of a log is chained to. A store may begin
with another, such as the checksum of its file header and the State's id."""

BODY_BYTES_MAX = 2**32 - 1
"""The longest body that one record holds: its length is stored in 32 bits."""

Verdict: TypeAlias = Literal["clean", "torn", "damaged"]
"""What `scan` says of the end of a log."""

# 0xC1 is the one byte that MessagePack never uses and UTF-8 never contains, so in
# a log of entries `find` stops at little but records.
_MARKER = 0xC1
_MARKER_BYTE = bytes([_MARKER])
_HEADER = _Layout("<BIII")


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """What `scan` found."""

    records: list[bytes]
    """The bodies of all valid records from the beginning, in order."""
    end: int
    """The offset in the log behind the last of `records`: where to go on, where
    to cut a torn tail, or where the damage is."""
    checksum: int
    """The running checksum at `end`: what the next record is chained to."""
    verdict: Verdict
    """`clean`: nothing follows `end`. `torn`: bytes follow, and no whole record is
    among them. `damaged`: one is."""
    follows: int | None
    """The offset of the first whole record behind the damage; equal to `end` when
    that record itself is whole but in the wrong place. None without damage."""


def seal(previous: int, body: bytes) -> bytes:
    """The record that holds `body` behind the record with checksum `previous`.

    Costs one pass over the body.

    Args:
        previous: `checksum_of` the record before, or `CHAIN_START`.
        body: what to keep, up to `BODY_BYTES_MAX` bytes; may be empty.

    Raises:
        ValueError: the body is longer than `BODY_BYTES_MAX`.
    """
    length = len(body)
    if length > BODY_BYTES_MAX:
        raise ValueError(
            f"cannot seal a body of {length!r} bytes: a record holds at most "
            f"{BODY_BYTES_MAX!r}, split it"
        )
    link = length ^ previous
    return _HEADER.pack(_MARKER, length, link, crc32(body, link)) + body


def checksum_of(record: bytes) -> int:
    """The checksum of a record that `seal` made: `previous` of the next one."""
    checksum: int = _HEADER.unpack_from(record)[3]
    return checksum


def scan(data: bytes, checksum: int = CHAIN_START, offset: int = 0) -> Scan:
    """Read the whole records at the beginning of `data` and judge what follows.

    Linear in `len(data)`. A reader goes on where it stopped: it passes the bytes
    from `end` on with `checksum=scan.checksum, offset=scan.end`. A reader of
    pieces takes a torn tail of any piece but the last as the beginning of a
    record that the next piece completes.

    Every single flipped bit is found for certain, in a body every burst of up to
    32 bits, and any other change but with a chance of 2**-32.

    Args:
        data: the log, or the part of it that begins at `offset`.
        checksum: the running checksum before `data`.
        offset: where `data` begins in the log; only shifts the offsets reported.
    """
    header, header_size, size = _HEADER.unpack_from, _HEADER.size, len(data)
    last = size - header_size
    records: list[bytes] = []
    keep = records.append
    end = 0
    while end <= last:
        marker, length, link, stored = header(data, end)
        begin = end + header_size
        after = begin + length
        if marker != _MARKER or length ^ link != checksum or after > size:
            break
        body = data[begin:after]
        if crc32(body, link) != stored:
            break
        keep(body)
        checksum = stored
        end = after
    verdict, follows = _judge(data, end)
    return Scan(
        records=records,
        end=offset + end,
        checksum=checksum,
        verdict=verdict,
        follows=None if follows is None else offset + follows,
    )


def _judge(data: bytes, end: int) -> tuple[Verdict, int | None]:
    """Whether what begins at `end` is nothing, a torn tail, or damage."""
    size = len(data)
    if end == size:
        return "clean", None
    view = memoryview(data)
    # Bytes may be full of headers that claim long bodies, each a pass over what it
    # claims. Past this bound, linear in what is left, call it damage: refusing a
    # log loses nothing, cutting one might.
    budget = 8 * (size - end)
    at = data.find(_MARKER_BYTE, end)
    while at != -1 and at + _HEADER.size <= size:
        _, length, link, stored = _HEADER.unpack_from(data, at)
        begin = at + _HEADER.size
        if begin + length <= size:
            budget -= length
            if budget < 0 or crc32(view[begin : begin + length], link) == stored:
                return "damaged", at
        at = data.find(_MARKER_BYTE, at + 1)
    return "torn", None
