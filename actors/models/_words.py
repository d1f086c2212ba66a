"""Content as every provider can take it: in words, and under names that all accept."""

import re
from hashlib import sha256
from typing import Any, cast

from protocol import (
    AudioBlock,
    ContentBlock,
    DataBlock,
    DocumentBlock,
    ErrorBlock,
    ImageBlock,
    MediaRef,
    ReasoningBlock,
    TextBlock,
    VideoBlock,
)

# What both formats accept: Anthropic refuses other characters, OpenAI more than 40.
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")


def wire_id(call_id: str) -> str:
    """Return the id of a call as providers accept it, always the same for the same."""
    if _CALL_ID.fullmatch(call_id):
        return call_id
    return "call_" + sha256(call_id.encode("utf-8", "replace")).hexdigest()[:32]


def in_words(block: ContentBlock) -> str:
    """Return what a block says when it cannot be sent as what it is.

    Empty for what is no content for another model: reasoning, calls, raw content.
    """
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ErrorBlock):
        return f"error: {block.message}"
    if isinstance(block, DocumentBlock) and (block.text or block.excerpt):
        return block.text or block.excerpt or ""
    if isinstance(block, AudioBlock) and block.transcript:
        return block.transcript
    if isinstance(block, ImageBlock) and block.alt_text:
        return f"[image: {block.alt_text}]"
    if isinstance(block, ImageBlock | AudioBlock | VideoBlock | DocumentBlock):
        return f"[{block.type}{_place(block.media)} that cannot be shown here]"
    if isinstance(block, DataBlock):
        return f"[data of type {block.mime_type} that cannot be shown here]"
    return ""


def _place(media: MediaRef | None) -> str:
    named = media and (media.filename or media.url)
    return f" {named}" if named and not named.startswith("data:") else ""


def own_details(block: ReasoningBlock, provider: str) -> dict[str, Any]:
    """Return the provider's own form of reasoning; empty when another one wrote it."""
    details: Any = block.details
    if not isinstance(details, dict):
        return {}
    given = cast("dict[str, Any]", details)
    return given if given.get("provider") == provider else {}


def data_url(media: MediaRef, mime_type: str) -> str | None:
    """Return an address that a provider can read, or None when there is none.

    Args:
        media: Where the bytes are.
        mime_type: What they are when `media` does not say.
    """
    if media.url is not None:
        return media.url
    if media.data_base64 is not None:
        return f"data:{media.mime_type or mime_type};base64,{media.data_base64}"
    return None


def split_data_url(url: str) -> tuple[str, str] | None:
    """Return media type and base64 of a `data:` address, or None for another one."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    return head[len("data:") : -len(";base64")], data
