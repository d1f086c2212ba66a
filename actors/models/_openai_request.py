"""A request in the form of OpenAI's chat completions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from protocol import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MediaRef,
    RawBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from protocol._message import text_of

from ._model import Request
from ._turns import Results, Said, turns_of
from ._words import data_url, in_words, own_details, wire_id

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
"""Where compatible providers put what the model thought, and expect it back."""


def body_of(request: Request, provider: str) -> dict[str, Any]:
    """Return the fields of a body that come from the request."""
    body: dict[str, Any] = {"messages": [*_messages(request, provider)]}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in request.tools
        ]
        if request.tool_choice is not None:
            body["tool_choice"] = _tool_choice(request.tool_choice)
    if request.output_schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": request.output_schema},
        }
    return body


def _tool_choice(choice: str) -> str | dict[str, Any]:
    if choice in {"auto", "none", "required"}:
        return choice
    return {"type": "function", "function": {"name": choice}}


def _messages(request: Request, provider: str) -> Iterator[dict[str, Any]]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for turn in turns_of(request.messages):
        if isinstance(turn, Results):
            yield from _results(turn)
        elif turn.role == "assistant":
            yield _assistant(turn, provider)
        else:
            yield {"role": turn.role, "content": _content(turn.blocks)}


def _results(turn: Results) -> Iterator[dict[str, Any]]:
    """A tool message has text only, so what is more follows as a user message."""
    more: list[ContentBlock] = []
    for result in turn.blocks:
        call_id = wire_id(result.call_id)
        text, media = _output(result)
        yield {"role": "tool", "tool_call_id": call_id, "content": text}
        if media:
            more += [TextBlock(text=f"From the result of {call_id}:"), *media]
    if more:
        yield {"role": "user", "content": _content(more)}


def _output(result: ToolResultBlock) -> tuple[str, list[ContentBlock]]:
    if not result.has_blocks:
        return text_of((result,)), []
    media = [b for b in result.output if not isinstance(b, TextBlock) and _part(b)]
    return text_of(result.output) or ("(see below)" if media else ""), media


def _assistant(turn: Said, provider: str) -> dict[str, Any]:
    text = text_of(turn.blocks)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    calls = [_call(b) for b in turn.blocks if isinstance(b, ToolCallBlock)]
    if calls:
        message["content"] = text or None
        message["tool_calls"] = calls
    for block in turn.blocks:
        if isinstance(block, ReasoningBlock):
            _put_reasoning(message, block, provider)
        elif isinstance(block, RawBlock) and block.provider == provider:
            _put_extra_content(calls, block.data)
    return message


def _call(call: ToolCallBlock) -> dict[str, Any]:
    arguments = msgspec.json.encode(call.args).decode()
    function = {"name": call.name, "arguments": arguments}
    return {"id": wire_id(call.id), "type": "function", "function": function}


def _put_reasoning(
    message: dict[str, Any], block: ReasoningBlock, provider: str
) -> None:
    details = own_details(block, provider)
    for field in REASONING_FIELDS:
        if field in details:
            message[field] = details[field]


def _put_extra_content(calls: list[dict[str, Any]], data: Any) -> None:
    """Give each call back what came with it, such as Google's thought signatures."""
    for number, extra in data.get("extra_content", {}).items():
        calls[int(number)]["extra_content"] = extra


def _content(blocks: Sequence[ContentBlock]) -> str | list[dict[str, Any]]:
    parts = [*_parts(blocks)]
    if all(part["type"] == "text" for part in parts):
        # Plain text wherever possible: many local servers know nothing else.
        return "\n\n".join(part["text"] for part in parts)
    return parts


def _parts(blocks: Iterable[ContentBlock]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        part = _part(block)
        if part is not None:
            yield part


def _part(block: ContentBlock) -> dict[str, Any] | None:
    if isinstance(block, ImageBlock):
        url = data_url(block.media, "image/png")
        if url is not None:
            return {"type": "image_url", "image_url": {"url": url}}
    elif isinstance(block, AudioBlock) and block.media.data_base64 is not None:
        kind = "mp3" if block.media.mime_type in {"audio/mpeg", "audio/mp3"} else "wav"
        audio = {"data": block.media.data_base64, "format": kind}
        return {"type": "input_audio", "input_audio": audio}
    elif isinstance(block, DocumentBlock) and block.media is not None:
        file = _file(block.media)
        if file is not None:
            return {"type": "file", "file": file}
    text = in_words(block)
    return {"type": "text", "text": text} if text else None


def _file(media: MediaRef) -> dict[str, Any] | None:
    if media.file_id is not None:
        return {"file_id": media.file_id}
    if media.data_base64 is None:
        return None
    file_data = data_url(media, "application/pdf")
    return {"filename": media.filename or "document.pdf", "file_data": file_data}
