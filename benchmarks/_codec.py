"""The codec and the records beside plain msgspec rows of the same content."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from actors import Message, State
from protocol._codec import decode_entry, encode_entry
from protocol._records import CHAIN_START, checksum_of, scan, seal

from ._measure import Row, seconds_each

TEXT = "Where is the bug? Look at the tests first, then at the module."


class PlainText(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A block of a row that somebody would write without us."""

    text: str


class PlainMessage(msgspec.Struct, frozen=True):
    """The message of such a row."""

    role: str
    content: tuple[PlainText, ...]
    message_id: str
    timestamp: float


class PlainRow(msgspec.Struct, frozen=True, tag_field="kind", tag="user"):
    """The row itself."""

    turn: int
    at: datetime
    message: PlainMessage


def codec_rows(count: int) -> Iterator[Row]:
    state = State()
    state.add_message(Message.user(TEXT))
    entry = state.history[0]
    encoded = encode_entry(entry)
    message = PlainMessage(
        "user", (PlainText(TEXT),), state.messages[0].message_id, 0.0
    )
    plain = PlainRow(0, datetime.now(UTC), message)
    encode: Callable[[Any], bytes] = msgspec.msgpack.Encoder().encode
    decode: Callable[[bytes], Any] = msgspec.msgpack.Decoder(PlainRow).decode
    plain_bytes = encode(plain)
    write = seconds_each(lambda: encode(plain), count)
    read = seconds_each(lambda: decode(plain_bytes), count)

    took = seconds_each(lambda: encode_entry(entry), count)
    yield _ratio("encode an entry", 0.9, took, write)
    took = seconds_each(lambda: decode_entry(encoded), count)
    yield _ratio("decode an entry", 0.9, took, read)

    def append() -> bytes:
        record = seal(CHAIN_START, encode_entry(entry))
        checksum_of(record)
        return record

    took = seconds_each(append, count)
    yield _ratio("write a checksummed record", 0.25, took, write)
    log = _log_of(encoded, count)
    took = seconds_each(lambda: list(map(decode_entry, scan(log).records)), 1) / count
    yield _ratio("read a checksummed record", 0.6, took, read)


def _log_of(body: bytes, count: int) -> bytes:
    records: list[bytes] = []
    checksum = CHAIN_START
    for _ in range(count):
        records.append(seal(checksum, body))
        checksum = checksum_of(records[-1])
    return b"".join(records)


def _ratio(figure: str, least: float, seconds: float, plain_s: float) -> Row:
    return Row(
        figure=figure,
        target=f">= {least} x a plain msgspec row",
        measured=f"{plain_s / seconds:.2f} x, {1 / seconds:,.0f}/s",
        holds=plain_s / seconds >= least,
        bare=f"{plain_s * 1e6:,.2f} us",
    )
