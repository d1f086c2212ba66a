"""A reply in the form of OpenAI's chat completions, whole or in pieces.

Compatible servers take liberties that are read as they are meant: calls without index
or id, arguments that are a dict, content in parts, reasoning in one of three fields.
"""

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

from ._arguments import arguments
from ._failures import refusal_in_stream, unreadable


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Call(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: Any = None


class _Part(msgspec.Struct, gc=False):
    text: str | None = None


class _Said(msgspec.Struct, gc=False):
    """What the two forms share: a message, and a delta of one."""

    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Any] | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Said | None = None
    message: _Said | None = None
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct, gc=False):
    cached_tokens: int | None = None
    audio_tokens: int | None = None


class _CompletionDetails(msgspec.Struct, gc=False):
    reasoning_tokens: int | None = None


class _Tokens(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None


class _Answer(msgspec.Struct, gc=False):
    """A chunk of a stream, or the whole."""

    choices: list[_Choice] | None = None
    usage: _Tokens | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Answer).decode


class OpenAIPieces:
    """What a stream of chunks said so far; also reads a whole answer as one piece."""

    def __init__(self, provider: str, name: str) -> None:
        self.ended = False
        self._provider = provider
        self._name = name
        self._stop_reason: str | None = None
        self._text: list[str] = []
        self._reasoning: dict[str, list[Any]] = {}
        self._calls: list[_CallPieces] = []
        self._tokens: _Tokens | None = None

    def add(self, data: bytes) -> str:
        """Take one chunk in; see `Pieces.add`."""
        if data == b"[DONE]":
            return ""
        answer = _decode(data)
        if answer.error is not None:
            raise refusal_in_stream(self._provider, answer.error)
        if answer.usage is not None:
            self._tokens = answer.usage
        if not answer.choices:
            return ""
        choice = answer.choices[0]
        if choice.finish_reason:
            self._stop_reason = choice.finish_reason
            self.ended = True
        said = choice.delta or choice.message
        return "" if said is None else self._add(said)

    def read(self, data: bytes) -> Reply:
        """Return the reply that a whole body holds; see `WireModel.read`."""
        self.add(data)
        if not self.ended and not self._text and not self._calls:
            error = ValueError("it holds no choice")
            raise unreadable(self._provider, data, error)
        return self.reply()

    def _add(self, said: _Said) -> str:
        content = said.content
        text = content if isinstance(content, str) else _text_of_parts(content)
        if said.refusal:
            text += said.refusal
        if text:
            self._text.append(text)
        for call in said.tool_calls or ():
            self._add_call(call)
        if said.reasoning_content:
            self._think("reasoning_content", said.reasoning_content)
        if said.reasoning:
            self._think("reasoning", said.reasoning)
        for detail in said.reasoning_details or ():
            self._think("reasoning_details", detail)
        return text

    def _think(self, field: str, piece: Any) -> None:
        self._reasoning.setdefault(field, []).append(piece)

    def _add_call(self, piece: _Call) -> None:
        for call in reversed(self._calls):
            if call.goes_on_with(piece):
                call.add(piece)
                return
        self._calls.append(_CallPieces(piece))

    def reply(self) -> Reply:
        """Return the whole."""
        text = "".join(self._text)
        thought = self._thought()
        content: list[ContentBlock] = []
        if self._reasoning:
            content.append(self._reasoning_block(thought))
        if text:
            content.append(TextBlock(text=text))
        content += [call.block() for call in self._calls]
        content += self._extra_content()
        usages = _usages(self._tokens)
        message = Message(
            role="assistant",
            content=content,
            reasoning=thought or None,
            usages=usages,
            tokens=None if usages is None else usages.total_tokens,
            stop_reason=self._stop_reason,
        )
        return Reply(
            message=message,
            usage=_usage(usages),
            context_tokens=message.tokens,
            stop_reason=self._stop_reason,
            model=self._name,
        )

    def _thought(self) -> str:
        pieces = self._reasoning
        return "".join(pieces.get("reasoning_content") or pieces.get("reasoning") or ())

    def _reasoning_block(self, thought: str) -> ReasoningBlock:
        details: dict[str, Any] = {"provider": self._provider}
        for field, pieces in self._reasoning.items():
            whole = pieces if field == "reasoning_details" else "".join(pieces)
            details[field] = whole
        return ReasoningBlock(summary=thought, details=details)

    def _extra_content(self) -> list[ContentBlock]:
        """Keep what came with a call, such as Google's signatures of its thoughts."""
        extra = {
            str(number): call.extra_content
            for number, call in enumerate(self._calls)
            if call.extra_content is not None
        }
        if not extra:
            return []
        return [RawBlock(provider=self._provider, data={"extra_content": extra})]


class _CallPieces:
    """One call, as far as it has come."""

    def __init__(self, piece: _Call) -> None:
        self.extra_content: Any = None
        self._index = piece.index
        self._id = piece.id or ""
        self._name = ""
        self._arguments: list[str] = []
        self._whole: dict[str, Any] | None = None
        self.add(piece)

    def goes_on_with(self, piece: _Call) -> bool:
        """Whether the piece is more of this call: Google gives every call index 0."""
        if piece.id and self._id and piece.id != self._id:
            return False
        if piece.index is not None:
            return piece.index == self._index
        return not piece.id or piece.id == self._id

    def add(self, piece: _Call) -> None:
        if piece.extra_content is not None:
            self.extra_content = piece.extra_content
        function = piece.function
        if function is None:
            return
        self._name = self._name or function.name or ""
        if isinstance(function.arguments, str):
            self._arguments.append(function.arguments)
        elif function.arguments is not None:
            self._whole = function.arguments

    def block(self) -> ToolCallBlock:
        args = arguments(self._whole or "".join(self._arguments))
        return ToolCallBlock(id=self._id, name=self._name, args=args)


def _text_of_parts(content: list[_Part] | None) -> str:
    return "".join(part.text or "" for part in content or ())


def _usages(tokens: _Tokens | None) -> TokenUsages | None:
    if tokens is None:
        return None
    # Some servers say -1 for what they do not know: no reason to drop an answer.
    prompt = max(tokens.prompt_tokens or 0, 0)
    completion = max(tokens.completion_tokens or 0, 0)
    read = tokens.prompt_tokens_details
    written = tokens.completion_tokens_details
    return TokenUsages(
        completion_tokens=completion,
        prompt_tokens=prompt,
        total_tokens=max(tokens.total_tokens or 0, 0) or prompt + completion,
        reasoning_tokens=(written and written.reasoning_tokens) or 0,
        cache_read_input_tokens=max((read and read.cached_tokens) or 0, 0),
        audio_tokens=None if read is None else read.audio_tokens,
    )


def _usage(usages: TokenUsages | None) -> Usage:
    if usages is None:
        return Usage(requests=1)
    # The provider counts cached tokens among those of the prompt; a Usage does not.
    cached = min(usages.cache_read_input_tokens, usages.prompt_tokens)
    return Usage(
        input_tokens=usages.prompt_tokens - cached,
        output_tokens=usages.completion_tokens,
        cache_read_tokens=cached,
        requests=1,
    )
