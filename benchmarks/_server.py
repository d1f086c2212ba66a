"""A provider on this machine, in a process of its own: `python -m benchmarks._server`.

It speaks just enough HTTP for chat completions, on bare asyncio, so that it takes as
little as it can of the cores that the measured side needs. It prints its port, answers
until its standard input ends, and then prints what it saw as JSON.
"""

import asyncio
import json
import random
import sys
from typing import Any

import attrs

TURNS = 3
USAGE = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}


def _response(status: str, body: dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def _said(message: dict[str, Any], finish: str) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return _response("200 OK", {"id": "c", "choices": [choice], "usage": USAGE})


def _call(turn: int) -> bytes:
    function = {"name": "look", "arguments": f'{{"place": "p{turn}"}}'}
    call = {"id": f"c{turn}", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return _said(message, "tool_calls")


REFUSAL = _response("429 Too Many Requests", {"error": {"message": "slow down"}})
ANSWER = _said({"role": "assistant", "content": "Nothing anywhere."}, "stop")
ANSWERS = [*(_call(turn) for turn in range(TURNS - 1)), ANSWER]


@attrs.define
class Provider:
    """How it answers, and what it saw."""

    latency_s: float
    """Until it answers, on average; each time up to a tenth more or less."""
    refused: float
    """Share of the requests that are refused, as late as others are answered."""
    room: int
    """Requests at once beyond which each is refused right away."""
    draw: random.Random = attrs.field(factory=lambda: random.Random(7))
    running: int = 0
    most: int = 0
    answers: int = 0
    refusals: int = 0


class Connection(asyncio.Protocol):
    """One client; it sends its next request after it has the answer."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._heard = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head, blank, body = self._heard.partition(b"\r\n\r\n")
        if not blank:
            return
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if len(body) >= int(length):
            self._heard = b""
            self._ask(body)

    def _ask(self, body: bytes) -> None:
        provider = self._provider
        if provider.running >= provider.room:
            provider.refusals += 1
            self._transport.write(REFUSAL)
            return
        provider.running += 1
        provider.most = max(provider.most, provider.running)
        # All at exactly one latency would go on in step with each other for ever.
        after_s = provider.latency_s * provider.draw.uniform(0.9, 1.1)
        asyncio.get_running_loop().call_later(after_s, self._answer, body)

    def _answer(self, body: bytes) -> None:
        provider = self._provider
        provider.running -= 1
        if provider.draw.random() < provider.refused:
            provider.refusals += 1
            self._transport.write(REFUSAL)
            return
        provider.answers += 1
        self._transport.write(ANSWERS[body.count(b'"role":"assistant"')])


async def serve(provider: Provider) -> None:
    """Serve until the standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(provider), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    seen = attrs.asdict(provider, filter=lambda field, _: field.name != "draw")
    print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    latency, share, most = sys.argv[1:]
    asyncio.run(serve(Provider(float(latency), float(share), int(most))))
