"""The codec and the records beside plain msgspec.

A plain row is the same entry without version, hooks, upcasts, unknown kinds and
checksum: what somebody would write who needs none of these.
"""

from collections.abc import Iterator

import msgspec

from actors import HistoryEntry, Message, State
from protocol._codec import decode_entry, encode_entry
from protocol._records import CHAIN_START, checksum_of, scan, seal

from ._measure import Row, seconds_each

TEXT = "Where is the bug? Look at the tests first, then at the module."


def codec_rows(count: int) -> Iterator[Row]:
    state = State()
    state.add_message(Message.user(TEXT))
    entry = state.history[0]
    encoded = encode_entry(entry)
    encode = msgspec.msgpack.Encoder().encode
    decode = msgspec.msgpack.Decoder(HistoryEntry).decode
    plain = encode(entry)
    write = seconds_each(lambda: encode(entry), count)
    read = seconds_each(lambda: decode(plain), count)

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
