"""The figures of the models: `python -m benchmarks.wire [--smoke]`.

What a streamed event and the gate cost in CPU, beside bare Python: decoding the event's
JSON with the standard library, and awaiting the model itself. The exit code is 1 when a
target is missed; with `--smoke` the counts are too small for speed to decide it.
"""

import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import TypeAlias

import httpx2
import trio

from actors import (
    Anthropic,
    Message,
    Model,
    OpenAICompatible,
    Reply,
    Request,
    Usage,
)
from actors._gate import respond
from actors.models._model import OnEvent, OnText
from actors.models._wire import Events
from actors.models._wire_model import WireModel
from benchmarks._measure import Row, duration, show

EVENT_MOST_US = 8.0
GATE_MOST_US = 2.0
ROUNDS = 5

HELLO = Request(messages=(Message.user("hello"),))

CHUNK = (
    b'data: {"id":"chatcmpl-9","object":"chat.completion.chunk","created":1760000000,'
    b'"model":"gpt-4o-mini","choices":[{"index":0,"delta":{"content":" word"},'
    b'"logprobs":null,"finish_reason":null}]}\n\n'
)
CHUNK_END = (
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)
DELTA_START = (
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    b'"content_block":{"type":"text","text":""}}\n\n'
)
DELTA = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":" word"}}\n\n'
)
DELTA_END = (
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":'
    b'"end_turn"},"usage":{"output_tokens":5}}\n\n'
)

Kind: TypeAlias = type[OpenAICompatible] | type[Anthropic]

FORMATS: tuple[tuple[str, Kind, bytes, bytes, bytes], ...] = (
    ("chat completions", OpenAICompatible, b"", CHUNK, CHUNK_END),
    ("Anthropic messages", Anthropic, DELTA_START, DELTA, DELTA_END),
)


class Body(httpx2.AsyncByteStream):
    """A stream that never waits, so that all time is spent by who reads it."""

    def __init__(self, begin: bytes, event: bytes, count: int, end: bytes) -> None:
        self._edges = begin, end
        self._event = event
        self._count = count

    async def __aiter__(self) -> AsyncIterator[bytes]:
        begin, end = self._edges
        yield begin
        for _ in range(self._count):
            yield self._event
        yield end


class Instant(Model):
    """Answers at once."""

    name = "bench/instant"

    def __init__(self) -> None:
        usage = Usage(input_tokens=90, output_tokens=10, requests=1)
        self._reply = Reply(message=Message.assistant("hi"), usage=usage)

    async def arespond(
        self, request: Request, on_text: OnText | None, on_event: OnEvent
    ) -> Reply:
        return self._reply


def best(run: Callable[[], float]) -> float:
    return min(run() for _ in range(ROUNDS))


def ignore(_told: object) -> None:
    pass


def bare(event: bytes, count: int) -> float:
    data = event[event.index(b"data: ") + 6 :]
    begin = time.perf_counter()
    for _ in range(count):
        json.loads(data)
    return (time.perf_counter() - begin) / count


def parsed(model: WireModel, start: bytes, event: bytes, count: int) -> float:
    """Seconds for an event that comes in a read of its own: bytes to shown text."""
    pieces, events = model.pieces(), Events()
    for data in events.feed(start):
        pieces.add(data)
    begin = time.perf_counter()
    for _ in range(count):
        for data in events.feed(event):
            ignore(pieces.add(data))
    return (time.perf_counter() - begin) / count


def streamed(kind: Kind, stream: Callable[[int], Body], count: int) -> float:
    """Seconds for an event of a whole request, the HTTP client's part included."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=stream(count))

    async def ask() -> float:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
            model = kind("m", api_key="k", client=client)
            begin = time.process_time()
            await model.arespond(HELLO, ignore, ignore)
            return (time.process_time() - begin) / count

    return trio.run(ask)


def gated(count: int, *, through: bool) -> float:
    """Seconds for asking a model that answers at once, through its gate or directly."""
    model = Instant()

    async def ask() -> float:
        begin = time.perf_counter()
        if through:
            for _ in range(count):
                await respond(model, HELLO, None, ignore)
        else:
            for _ in range(count):
                await model.arespond(HELLO, None, ignore)
        return (time.perf_counter() - begin) / count

    return trio.run(ask)


def rows(count: int) -> Iterator[Row]:
    for name, kind, start, event, end in FORMATS:
        plain = best(partial(bare, event, count))
        model = kind("m", api_key="k")
        seconds = best(partial(parsed, model, start, event, count))
        yield duration(f"{name}: an event, parsed", seconds, EVENT_MOST_US, plain)

        def stream(
            number: int, start: bytes = start, event: bytes = event, end: bytes = end
        ) -> Body:
            return Body(start, event, number, end)

        seconds = best(partial(streamed, kind, stream, count))
        yield duration(f"{name}: an event, streamed", seconds, EVENT_MOST_US, plain)
    direct = best(partial(gated, count, through=False))
    through = best(partial(gated, count, through=True))
    yield duration("the gate, nobody waits", through - direct, GATE_MOST_US, direct)


def main() -> int:
    smoke = "--smoke" in sys.argv
    held = show("Models", rows(200 if smoke else 20_000))
    return 0 if held or smoke else 1


if __name__ == "__main__":
    sys.exit(main())
