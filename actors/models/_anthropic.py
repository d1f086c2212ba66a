"""Anthropic's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from ._anthropic_reply import AnthropicPieces, read_whole
from ._anthropic_request import PROVIDER, body_of
from ._wire_model import WireModel

if TYPE_CHECKING:
    from protocol import Reply

    from ._model import Request

ANTHROPIC_URL = "https://api.anthropic.com"

API_VERSION = "2026-10-21"
"""The format that is written and read here."""

OUTPUT_TOKENS_MAX = 16_384
"""The format demands a bound for each reply, thinking included. Every model that is
offered can write this many; ask for more with `params={"max_tokens": ...}`."""


@attrs.frozen(eq=False, repr=False)
class Anthropic(WireModel):
    """A model behind Anthropic's messages.

    Building one touches no network and needs no key. Streams only when somebody
    listens. Thinking is sent back with its signatures, and the context is cached: the
    instructions with the tools, and the conversation up to its last two user turns
    (see `mark_cache`).

    Args:
        model: Anthropic's name of the model.
        base_url: The address without `/v1`.
        provider: The first part of the model's `name`.
        api_key: The key; left out, it comes from `ANTHROPIC_API_KEY` when a request is
            sent to Anthropic, and any other address is asked without a key.
        client: An `anthropic.AsyncAnthropic` (or a relative of it), whose keys and
            address then count, or an `httpx2.AsyncClient`.

    Raises:
        TypeError: A setting is of the wrong type.
        ValueError: A setting cannot work; the text says what does.
    """

    base_url: str = attrs.field(
        default=ANTHROPIC_URL,
        kw_only=True,
        validator=attrs.fields(WireModel).base_url.validator,
    )
    provider: str = attrs.field(
        default=PROVIDER,
        kw_only=True,
        validator=attrs.fields(WireModel).provider.validator,
    )

    sdk: ClassVar[str] = "anthropic"
    sdk_method: ClassVar[str] = "messages"
    sdk_fields: ClassVar[frozenset[str]] = frozenset(
        {"max_tokens", "messages", "model", "stream"}
    )
    path: ClassVar[str] = "/v1/messages"

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The environment variable of Anthropic's own address, none for another."""
        own = self.base_url.rstrip("/") == ANTHROPIC_URL
        return ("ANTHROPIC_API_KEY",) if own else ()

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the version of the format, and the key if there is one."""
        headers = {"anthropic-version": API_VERSION}
        return headers if key is None else {**headers, "authorization": f"Bearer {key}"}

    def mark_cache(self, request: Request) -> tuple[int, ...]:
        """Mark the last message, and the one before the last reply.

        The next request reads what the first mark wrote; the second finds it again
        when many results came between. Override it to return () for no caching.
        """
        last = len(request.messages) - 1
        before = last
        while before > 0 and request.messages[before].role != "assistant":
            before -= 1
        return (last,) if before <= 0 else (before - 1, last)

    def body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """Return the body of a request for a message."""
        body = {
            "model": self.model,
            "max_tokens": OUTPUT_TOKENS_MAX,
            **body_of(request, self.mark_cache(request)),
        }
        if stream:
            body["stream"] = True
        return {**body, **self.params}

    def read(self, data: bytes) -> Reply:
        """Return the reply of a whole answer."""
        return read_whole(data, self.provider, self.name)

    def pieces(self) -> AnthropicPieces:
        """Return a new, empty stream of events."""
        return AnthropicPieces(self.provider, self.name)
