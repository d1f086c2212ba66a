"""A reply in the form of Anthropic's messages, whole or in pieces."""

from __future__ import annotations

from typing import Any

import msgspec

from protocol import (
    ContentBlock,
    Message,
    RawBlock,
    ReasoningBlock,
    Reply,
    TextBlock,
    TokenUsages,
    ToolCallBlock,
    Usage,
)

from ._anthropic_request import PROVIDER
from ._arguments import arguments
from ._failures import refusal_in_stream, unreadable


class _OutputDetails(msgspec.Struct, gc=False):
    thinking_tokens: int | None = None


class _Tokens(msgspec.Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens_details: _OutputDetails | None = None


class _Delta(msgspec.Struct, gc=False):
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    stop_reason: str | None = None


class _Start(msgspec.Struct, gc=False):
    usage: _Tokens | None = None


class _Event(msgspec.Struct, gc=False):
    """Any event of a stream; one class, so that unknown kinds pass by unharmed."""

    type: str
    index: int = 0
    delta: _Delta | None = None
    content_block: dict[str, Any] | None = None
    message: _Start | None = None
    usage: _Tokens | None = None
    error: Any = None


class _Whole(msgspec.Struct, gc=False):
    """A whole answer."""

    content: list[dict[str, Any]] | None = None
    stop_reason: str | None = None
    usage: _Tokens | None = None
    error: Any = None


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_whole = msgspec.json.Decoder(_Whole).decode


class _BlockPieces:
    """One content block, as far as it has come."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.pieces: list[str] = []
        self.signature = ""

    def whole(self) -> dict[str, Any]:
        """Return the block as a whole answer would hold it."""
        block = dict(self.start)
        said = "".join(self.pieces)
        kind = block.get("type")
        if kind in {"text", "thinking"}:
            block[kind] = block.get(kind, "") + said
        elif said:
            block["input"] = arguments(said)
        if self.signature:
            block["signature"] = self.signature
        return block


class AnthropicPieces:
    """What a stream of events said so far."""

    def __init__(self, provider: str, name: str) -> None:
        self.ended = False
        self._provider = provider
        self._name = name
        self._stop_reason: str | None = None
        self._blocks: dict[int, _BlockPieces] = {}
        self._tokens = _Tokens()

    def add(self, data: bytes) -> str:
        """Take one event in; see `Pieces.add`."""
        event = _decode_event(data)
        if event.type == "content_block_delta":
            return self._add_delta(event)
        if event.type == "content_block_start":
            return self._start_block(event)
        if event.type == "error":
            raise refusal_in_stream(self._provider, event.error)
        if event.message is not None and event.message.usage is not None:
            self._count(event.message.usage)
        if event.usage is not None:
            self._count(event.usage)
        if event.delta is not None and event.delta.stop_reason:
            self._stop_reason = event.delta.stop_reason
            self.ended = True
        return ""

    def _start_block(self, event: _Event) -> str:
        start = event.content_block or {}
        self._blocks[event.index] = _BlockPieces(start)
        text = start.get("text") if start.get("type") == "text" else ""
        return text if isinstance(text, str) else ""

    def _add_delta(self, event: _Event) -> str:
        delta, block = event.delta, self._blocks.get(event.index)
        if delta is None or block is None:
            raise msgspec.ValidationError(
                f"a delta of block {event.index}, which never started"
            )
        if delta.text is not None:
            block.pieces.append(delta.text)
            return delta.text
        if delta.partial_json is not None:
            block.pieces.append(delta.partial_json)
        elif delta.thinking is not None:
            block.pieces.append(delta.thinking)
        elif delta.signature is not None:
            block.signature += delta.signature
        return ""

    def _count(self, tokens: _Tokens) -> None:
        """Take over the counts that are given: later ones are totals, not additions."""
        for field in _Tokens.__struct_fields__:
            count = getattr(tokens, field)
            if count is not None:
                setattr(self._tokens, field, count)

    def reply(self) -> Reply:
        """Return the whole."""
        blocks = [self._blocks[index].whole() for index in sorted(self._blocks)]
        return _reply(blocks, self._tokens, self._stop_reason, self._name)


def read_whole(data: bytes, provider: str, name: str) -> Reply:
    """Return the reply that a whole body holds; see `WireModel.read`."""
    whole = _decode_whole(data)
    if whole.error is not None:
        raise refusal_in_stream(provider, whole.error)
    if whole.content is None:
        raise unreadable(provider, data, ValueError("it holds no content"))
    return _reply(whole.content, whole.usage or _Tokens(), whole.stop_reason, name)


def _reply(
    blocks: list[dict[str, Any]], tokens: _Tokens, stop_reason: str | None, name: str
) -> Reply:
    content = [_block(block) for block in blocks]
    thought = "".join(b.summary for b in content if isinstance(b, ReasoningBlock))
    # Below 0 is what a server says that does not know: no reason to drop an answer.
    usage = Usage(
        input_tokens=max(tokens.input_tokens or 0, 0),
        output_tokens=max(tokens.output_tokens or 0, 0),
        cache_read_tokens=max(tokens.cache_read_input_tokens or 0, 0),
        cache_write_tokens=max(tokens.cache_creation_input_tokens or 0, 0),
        requests=1,
    )
    context_tokens = usage.total_tokens or None
    message = Message(
        role="assistant",
        content=content,
        reasoning=thought or None,
        usages=_usages(usage, tokens.output_tokens_details),
        tokens=context_tokens,
        stop_reason=stop_reason,
    )
    return Reply(
        message=message,
        usage=usage,
        context_tokens=context_tokens,
        stop_reason=stop_reason,
        model=name,
    )


def _usages(usage: Usage, details: _OutputDetails | None) -> TokenUsages:
    return TokenUsages(
        completion_tokens=usage.output_tokens,
        prompt_tokens=usage.total_tokens - usage.output_tokens,
        total_tokens=usage.total_tokens,
        reasoning_tokens=(details and details.thinking_tokens) or 0,
        cache_creation_input_tokens=usage.cache_write_tokens,
        cache_read_input_tokens=usage.cache_read_tokens,
    )


def _block(block: dict[str, Any]) -> ContentBlock:
    kind = block.get("type")
    if kind == "text":
        return TextBlock(text=block.get("text", ""))
    if kind == "tool_use":
        args = arguments(block.get("input"))
        return ToolCallBlock(id=block.get("id", ""), name=block["name"], args=args)
    if kind == "thinking":
        details = {"provider": PROVIDER, "signature": block.get("signature", "")}
        return ReasoningBlock(summary=block.get("thinking", ""), details=details)
    if kind == "redacted_thinking":
        details = {"provider": PROVIDER, "data": block.get("data", "")}
        return ReasoningBlock(details=details)
    return RawBlock(provider=PROVIDER, data=block)
