"""The codec and the records beside plain msgspec: `python -m benchmarks.codec`.

What is beside them knows no versions, unknown kinds, big integers and checksums. A
plain row holds the same data in tagged Structs that freeze nothing, and the promises
are made beside it. "Same classes" is plain msgspec with our own classes: it is only
shown, to tell what frozen values cost from what the codec costs.

The rows are one turn of an agent: a question, a reply with a call, its result, a
reply, with texts of a sentence or two. A checksum adds half a microsecond for each
thousand bytes. Ours and plain are timed in turns, so a busy machine slows both.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import attrs
import msgspec

from benchmarks._measure import Row, show
from protocol import HistoryEntry, Message, TextBlock, ToolCallBlock, Usage
from protocol._codec import decode_entry, encode_entry
from protocol._entries import (
    MessageEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    Reply,
    ToolResultEntry,
)
from protocol._json import decode_hook
from protocol._records import CHAIN_START, checksum_of, scan, seal

ROUNDS = 200
TURNS = 20
AT = datetime(2025, 1, 2, 3, 4, 5, 678, UTC)
TEXT = "Where is the bug? Look at the tests first, then at the module. "
CALL = ToolCallBlock(id="call_8kXz", name="search", args={"query": "bug", "limit": 3})


def reply(*content: TextBlock | ToolCallBlock, why: str) -> ModelReplyEntry:
    message = Message(role="assistant", content=content, tokens=900, stop_reason=why)
    usage = Usage(input_tokens=800, output_tokens=100, requests=1, cost=0.0031)
    return ModelReplyEntry(
        turn=1,
        at=AT,
        content=Reply(
            message=message,
            usage=usage.for_model("openai/large"),
            context_tokens=900,
            stop_reason=why,
            model="openai/large",
        ),
    )


def one_turn() -> list[HistoryEntry]:
    request = ModelRequestEntry(turn=1, at=AT, content="openai/large")
    return [
        MessageEntry(turn=1, at=AT, message=Message.user(TEXT)),
        request,
        reply(TextBlock(text=TEXT), CALL, why="tool_calls"),
        ToolResultEntry(
            turn=1, at=AT, content=TEXT * 2, call=CALL, outcome="done", message_id="1"
        ),
        request,
        reply(TextBlock(text=TEXT * 2), why="stop"),
    ]


class Plain(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the plain rows are made of."""


class PlainText(Plain, frozen=True, tag_field="type", tag="text"):
    text: str
    annotations: tuple[Any, ...] = ()


class PlainCall(Plain, frozen=True, kw_only=True, tag_field="type", tag="tool_call"):
    id: str
    name: str
    args: dict[str, Any] = {}
    tool_type: str | None = None
    model_id: str | None = None


class PlainMessage(Plain, frozen=True, kw_only=True):
    role: str
    content: tuple[PlainText | PlainCall, ...]
    message_id: str | int = ""
    delta: bool = False
    tools_calls: list[dict[str, Any]] | None = None
    reasoning: str | None = None
    timestamp: float | None = None
    metadata: dict[str, Any] = {}
    usages: dict[str, int] | None = None
    raw: dict[str, Any] | None = None
    parsed_content: Any = None
    tokens: int | None = None
    stop_reason: str | None = None


class PlainUsage(Plain, frozen=True, kw_only=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    requests: int = 0
    cost: float | None = None
    by_model: str | dict[str, Any] | None = None


NOTHING = PlainUsage()


class PlainReply(Plain, frozen=True, kw_only=True):
    message: PlainMessage
    usage: PlainUsage = NOTHING
    context_tokens: int | None = None
    stop_reason: str | None = None
    model: str | None = None


class PlainEntry(Plain, frozen=True, kw_only=True, tag_field="entry"):
    turn: int = 0
    at: datetime = AT


class PlainMessageEntry(PlainEntry, frozen=True, kw_only=True, tag="message"):
    message: PlainMessage


class PlainRequest(PlainEntry, frozen=True, kw_only=True, tag="model_request"):
    content: str


class PlainReplyEntry(PlainEntry, frozen=True, kw_only=True, tag="model_reply"):
    content: PlainReply


class PlainResult(PlainEntry, frozen=True, kw_only=True, tag="tool_result"):
    content: str | tuple[PlainText | PlainCall, ...]
    call: PlainCall
    outcome: str
    late: bool = False
    error: None = None
    child_ids: tuple[str, ...] = ()
    usage: PlainUsage = NOTHING
    message_id: str | int | None = None


PlainRow = PlainMessageEntry | PlainRequest | PlainReplyEntry | PlainResult


@attrs.frozen
class Contest:
    """Two ways to do the same with the same number of entries."""

    figure: str
    least: float | None
    """The promised ratio, or None for what is only shown."""
    beside: str
    plain: Callable[[], object]
    ours: Callable[[], object]


def log_of(bodies: Sequence[bytes]) -> bytes:
    records: list[bytes] = []
    checksum = CHAIN_START
    for body in bodies:
        record = seal(checksum, body)
        checksum = checksum_of(record)
        records.append(record)
    return b"".join(records)


def contests() -> tuple[int, list[Contest]]:
    entries = one_turn() * TURNS
    bodies = [encode_entry(entry) for entry in entries]
    encode = msgspec.msgpack.Encoder().encode
    decode = msgspec.msgpack.Decoder(PlainRow).decode
    rows = [decode(body) for body in bodies]
    assert [encode(row) for row in rows] == bodies
    log = log_of(bodies)

    own = msgspec.msgpack.Decoder(HistoryEntry, dec_hook=decode_hook).decode

    def plain_write() -> object:
        return [encode(row) for row in rows]

    def plain_read() -> object:
        return [decode(body) for body in bodies]

    def own_read() -> object:
        return [own(body) for body in bodies]

    def write() -> object:
        return [encode_entry(entry) for entry in entries]

    def read() -> object:
        return [decode_entry(body) for body in bodies]

    def write_log() -> object:
        return log_of([encode_entry(entry) for entry in entries])

    def read_log() -> object:
        return [decode_entry(body) for body in scan(log).records]

    return len(entries), [
        Contest("encode an entry", 0.9, "plain rows", plain_write, write),
        Contest("decode an entry", None, "same classes", own_read, read),
        Contest("decode an entry", 0.9, "plain rows", plain_read, read),
        Contest("write a record", 0.25, "plain rows", plain_write, write_log),
        Contest("read a record", None, "same classes", own_read, read_log),
        Contest("read a record", 0.6, "plain rows", plain_read, read_log),
    ]


def codec_rows(rounds: int = ROUNDS) -> Iterator[Row]:
    count, pairs = contests()
    for pair in pairs:
        plain, ours = best_of(pair.plain, pair.ours, rounds)
        least = 0 if pair.least is None else pair.least
        yield Row(
            figure=f"{pair.figure}, beside {pair.beside}",
            target="(shown)" if pair.least is None else f">= {least} x",
            measured=f"{plain / ours:.2f} x, {count / ours:,.0f}/s",
            holds=plain / ours >= least,
            bare=f"{plain / count * 1e6:.2f} us",
        )


def best_of(
    first: Callable[[], object], second: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """The shortest time of each, taken in turns: noise only ever adds."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for place, call in enumerate((first, second)):
            begin = perf_counter()
            call()
            best[place] = min(best[place], perf_counter() - begin)
    return best[0], best[1]


if __name__ == "__main__":
    sys.exit(0 if show("The codec beside plain msgspec", codec_rows()) else 1)
