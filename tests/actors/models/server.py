"""A provider made of a script, behind the same client that reaches real ones."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import httpx2

from actors import Anthropic, Message, OpenAICompatible, Request

Handler = Callable[[httpx2.Request], httpx2.Response | Awaitable[httpx2.Response]]

HELLO = Request(messages=(Message.user("hello"),))


class Server:
    """Answers each request with the next item of a script, the last one for ever."""

    def __init__(self, *script: httpx2.Response | Exception | Handler) -> None:
        self._script = list(script)
        self.requests: list[httpx2.Request] = []

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        item = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(item, Exception):
            raise item
        if callable(item):
            given = item(request)
            return given if isinstance(given, httpx2.Response) else await given
        return item

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.requests]

    @property
    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self))

    def openai(self, model: str = "gpt-4o-mini", **settings: Any) -> OpenAICompatible:
        settings = {"api_key": "k", "client": self.client, **settings}
        return OpenAICompatible(model, **settings)

    def anthropic(self, model: str = "claude-opus-4-1", **settings: Any) -> Anthropic:
        settings = {"api_key": "k", "client": self.client, **settings}
        return Anthropic(model, **settings)


class Stream(httpx2.AsyncByteStream):
    """A body that comes in these pieces; an exception among them breaks it off."""

    def __init__(self, *pieces: bytes | Exception | Callable[[], Awaitable[Any]]):
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, bytes):
                yield piece
            else:
                await piece()


def event(data: Any) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    kind = (
        f"event: {data['type']}\n" if isinstance(data, dict) and "type" in data else ""
    )
    return f"{kind}data: {text}\n\n".encode()


def stream(*pieces: Any) -> httpx2.Response:
    """A streamed response; what is no bytes, error or function is an event's data."""
    ready = [
        piece
        if isinstance(piece, bytes | Exception) or callable(piece)
        else event(piece)
        for piece in pieces
    ]
    headers = {"content-type": "text/event-stream"}
    return httpx2.Response(200, headers=headers, stream=Stream(*ready))


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None) -> Any:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}


def tokens(prompt: int, completion: int, cached: int = 0) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def completion(
    message: dict[str, Any] | None = None,
    *,
    text: str = "hi",
    finish: str = "stop",
    usage: dict[str, Any] | None = None,
) -> httpx2.Response:
    said = {"role": "assistant", "content": text} if message is None else message
    choice = {"index": 0, "message": said, "finish_reason": finish}
    body = {"id": "c", "choices": [choice], "usage": usage or tokens(10, 5)}
    return httpx2.Response(200, json=body)


def message(
    *content: dict[str, Any], stop: str = "end_turn", **usage: int
) -> httpx2.Response:
    counts = {"input_tokens": 10, "output_tokens": 5, **usage}
    blocks = content or ({"type": "text", "text": "hi"},)
    body = {
        "type": "message",
        "role": "assistant",
        "content": [*blocks],
        "stop_reason": stop,
        "usage": counts,
    }
    return httpx2.Response(200, json=body)


def spoken(
    blocks: Iterable[tuple[dict[str, Any], list[dict[str, Any]]]],
    stop: str | None = "end_turn",
    **usage: int,
) -> list[dict[str, Any]]:
    """The events of a streamed message: each block with its deltas."""
    counts = {"input_tokens": 10, "output_tokens": 1, **usage}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"content": [], "usage": counts}},
        {"type": "ping"},
    ]
    for index, (start, deltas) in enumerate(blocks):
        events.append(
            {"type": "content_block_start", "index": index, "content_block": start}
        )
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta}
            for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    if stop is not None:
        end = {"stop_reason": stop, "stop_sequence": None}
        events.append(
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}}
        )
        events.append({"type": "message_stop"})
    return events


def text_block(*pieces: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return {"type": "text", "text": ""}, deltas


async def ask(model: Any, request: Request = HELLO, on_text: Any = None) -> Any:
    """Ask without a gate."""
    return await model.arespond(request, on_text, lambda _event: None)
