"""A request in the form of Anthropic's messages."""

from collections.abc import Iterable, Iterator
from typing import Any

from protocol import (
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MediaRef,
    Message,
    RawBlock,
    ReasoningBlock,
    ToolCallBlock,
    ToolResultBlock,
)

from ._model import NO_PARAMETERS, Request
from ._turns import Results, Said, Turn, calls_in, turns_of
from ._words import in_words, own_details, split_data_url, wire_id

CACHED = {"type": "ephemeral"}
"""The mark that asks to cache everything up to it."""

CACHE_MARKS_MAX = 4
"""The most marks that a request may have."""

NOTHING_SAID = "(nothing)"
"""Stands for a turn that holds no content, which the format forbids."""

GO_ON = "(go on)"
"""Stands for the user where the assistant would speak first, or twice in a row."""

PROVIDER = "anthropic"
"""Who understands the reasoning and raw blocks that come from here."""


def body_of(request: Request, marks: tuple[int, ...]) -> dict[str, Any]:
    """Return the fields of a body that come from the request.

    Args:
        request: What to ask.
        marks: Indexes of messages after which the context is cached.
    """
    turns = turns_of(request.messages)
    system = [request.system] if request.system else []
    if turns and isinstance(turns[0], Said) and turns[0].role == "system":
        system += [text for block in turns.pop(0).blocks if (text := in_words(block))]
    body: dict[str, Any] = {"messages": _messages(turns, marks)}
    if system:
        parts = [{"type": "text", "text": text} for text in system if text.strip()]
        body["system"] = parts
    _put_tools(body, request, turns)
    if marks and (prefix := body.get("system") or body.get("tools")):
        # Shared by all conversations with the same instructions and tools.
        prefix[-1]["cache_control"] = CACHED
    if request.output_schema is not None:
        form = {"type": "json_schema", "schema": request.output_schema}
        body["output_config"] = {"format": form}
    return body


def _put_tools(body: dict[str, Any], request: Request, turns: list[Turn]) -> None:
    choice = request.tool_choice
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.parameters,
        }
        for tool in request.tools
    ]
    if not tools:
        # Calls in the conversation must be of declared tools, even if none is offered.
        names = dict.fromkeys(call.name for call in calls_in(turns))
        tools = [{"name": name, "input_schema": NO_PARAMETERS} for name in names]
        choice = "none"
    if tools:
        body["tools"] = tools
    if tools and choice is not None:
        body["tool_choice"] = _tool_choice(choice)


def _tool_choice(choice: str) -> dict[str, Any]:
    if choice == "required":
        return {"type": "any"}
    if choice in {"auto", "none"}:
        return {"type": choice}
    return {"type": "tool", "name": choice}


def _messages(turns: list[Turn], marks: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return messages of alternating roles that begin and end with the user."""
    messages: list[dict[str, Any]] = []
    waiting = sorted(marks)[1 - CACHE_MARKS_MAX :]  # one mark is for the instructions
    for turn in turns:
        role = "assistant" if _is_assistant(turn) else "user"
        content = [*_content(turn)] or [{"type": "text", "text": NOTHING_SAID}]
        if not messages and role == "assistant":
            messages.append(_user_text(GO_ON))
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        else:
            messages.append({"role": role, "content": content})
        if waiting and waiting[0] <= turn.last:
            waiting = [mark for mark in waiting if mark > turn.last]
            _mark(content)
    if not messages or messages[-1]["role"] == "assistant":
        messages.append(_user_text(GO_ON))
    return messages


def _is_assistant(turn: Turn) -> bool:
    return isinstance(turn, Said) and turn.role == "assistant"


def _user_text(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _mark(content: list[dict[str, Any]]) -> None:
    """Mark the last block that may carry a mark: one of thinking may not."""
    for block in reversed(content):
        if block["type"] not in {"thinking", "redacted_thinking"}:
            block["cache_control"] = CACHED
            return


def _content(turn: Turn) -> Iterator[dict[str, Any]]:
    if isinstance(turn, Results):
        yield from (_result(block) for block in turn.blocks)
    elif turn.role == "assistant":
        yield from _assistant(turn.blocks)
    else:
        yield from _shown(turn.blocks)


def _assistant(blocks: Iterable[ContentBlock]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if isinstance(block, ToolCallBlock):
            yield {
                "type": "tool_use",
                "id": wire_id(block.id),
                "name": block.name,
                "input": block.args,
            }
        elif isinstance(block, ReasoningBlock):
            yield from _thinking(block)
        elif isinstance(block, RawBlock):
            if block.provider == PROVIDER:
                yield dict(block.data)
        elif (text := in_words(block)).strip():
            yield {"type": "text", "text": text}


def _thinking(block: ReasoningBlock) -> Iterator[dict[str, Any]]:
    """Send reasoning back as it came; without its signature it is refused."""
    details = own_details(block, PROVIDER)
    if "data" in details:
        yield {"type": "redacted_thinking", "data": details["data"]}
    elif details.get("signature"):
        signature = details["signature"]
        yield {"type": "thinking", "thinking": block.summary, "signature": signature}


def _result(result: ToolResultBlock) -> dict[str, Any]:
    sent: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": wire_id(result.call_id),
    }
    if result.has_blocks:
        content = [*_shown(result.output)]
    else:
        text = Message.tool_message([result]).text()
        content = [{"type": "text", "text": text}] if text.strip() else []
    if content:
        sent["content"] = content
    if result.is_error:
        sent["is_error"] = True
    return sent


def _shown(blocks: Iterable[ContentBlock]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        source = None
        if isinstance(block, ImageBlock | DocumentBlock) and block.media is not None:
            source = _source(block.media, block.type)
        if source is not None:
            yield {"type": block.type, "source": source}
        elif (text := in_words(block)).strip():
            yield {"type": "text", "text": text}


def _source(media: MediaRef, kind: str) -> dict[str, Any] | None:
    mime_type = media.mime_type or (
        "image/png" if kind == "image" else "application/pdf"
    )
    if kind == "document" and mime_type != "application/pdf" and media.file_id is None:
        return None
    if media.file_id is not None:
        return {"type": "file", "file_id": media.file_id}
    if media.data_base64 is not None:
        return {"type": "base64", "media_type": mime_type, "data": media.data_base64}
    if media.url is None:
        return None
    inside = split_data_url(media.url)
    if inside is not None:
        return {"type": "base64", "media_type": inside[0], "data": inside[1]}
    return {"type": "url", "url": media.url}
