"""One turn of a conversation: who said it, and the blocks that hold what was said.

1. A message is a value: ``==`` compares what it says, not its id or its clock.
2. ``content`` is a tuple and JSON is frozen from the moment the message is made.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec
from msgspec.structs import force_setattr

from ._content import (
    Block,
    ContentBlock,
    ImageBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    frozen_if_json,
)
from ._files import file_block
from ._ids import new_message_id
from ._json import EMPTY_DICT
from ._media import MediaRef
from ._raw_calls import call_blocks
from ._usage import TokenUsages

Role: TypeAlias = Literal["user", "assistant", "system", "tool"]
"""Who said it."""

NOTICE_PREFIX = "[notice] "
"""What the text of a notice starts with, for the model to tell it from a person."""

_CUT_OFF = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"}
)
"""What providers call a reply that ended because there was no room for more."""


def is_cut_off(stop_reason: str | None) -> bool:
    """Whether a provider's stop reason says that the output limit was hit."""
    return stop_reason is not None and stop_reason.lower() in _CUT_OFF


class Message(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    # It holds blocks and frozen JSON, which cannot form a cycle.
    gc=False,
):
    """One turn of a conversation, frozen.

    ``==`` and ``hash`` leave out ``message_id`` and ``timestamp``. A wrong type in a
    field is found when the message is recorded, with the path of the field; only
    content that is no list of blocks, and raw calls that cannot be read, raise here.

    Raises:
        TypeError: ``content`` cannot be a tuple of blocks, or ``tools_calls`` is no
            list of dicts.
        ValueError: A raw call has no name or no usable arguments.
    """

    role: Role
    """Who said it."""
    content: tuple[ContentBlock, ...]
    """What was said, in order."""
    message_id: str | int = msgspec.field(default_factory=new_message_id)
    """Names this message; unique unless you give one."""
    delta: bool = False
    """Whether this is a part of a reply that is still being streamed."""
    tools_calls: Sequence[Mapping[str, Any]] | None = None
    """A provider's raw form of the calls; makes the call blocks if there are none."""
    reasoning: str | None = None
    """What the model thought, as text."""
    timestamp: float | None = None
    """Seconds since 1970 when it was recorded; None until then."""
    metadata: Mapping[str, Any] = EMPTY_DICT
    """Your own values (JSON), which the model never sees; read-only."""
    usages: TokenUsages | None = None
    """Tokens as the provider counted them."""
    raw: Mapping[str, Any] | None = None
    """The provider's whole answer (JSON), read-only."""
    parsed_content: Any = None
    """The content as your own class; JSON once it is recorded."""
    tokens: int | None = None
    """Size of the context after this reply in tokens, when it is known."""
    stop_reason: str | None = None
    """Why the model stopped, in the provider's word."""

    if TYPE_CHECKING:
        # The same arguments, but a list of blocks is as good as a tuple.
        def __init__(
            self,
            *,
            role: Role,
            content: Iterable[ContentBlock],
            message_id: str | int = ...,
            delta: bool = False,
            tools_calls: Sequence[Mapping[str, Any]] | None = None,
            reasoning: str | None = None,
            timestamp: float | None = None,
            metadata: Mapping[str, Any] = ...,
            usages: TokenUsages | None = None,
            raw: Mapping[str, Any] | None = None,
            parsed_content: Any = None,
            tokens: int | None = None,
            stop_reason: str | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if (
            type(self.content) is not tuple
            or self.metadata is not EMPTY_DICT
            or self.tools_calls is not None
            or self.raw is not None
            or self.parsed_content is not None
        ):
            _settle(self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Message:
            return NotImplemented
        return bool(_compared(self) == _compared(other))

    def __hash__(self) -> int:
        return hash((self.role, self.content))

    @classmethod
    def user(cls, text: str, *images: ImageBlock) -> "Message":
        """Make a user message of a text and the images that go with it."""
        return cls(role="user", content=(TextBlock(text=text), *images))

    @classmethod
    def notice(cls, text: str) -> "Message":
        """Make a user message that tells the model what no person said.

        Its text starts with ``[notice] ``, which is put in front unless it is there.

        Raises:
            TypeError: ``text`` is not a string.
        """
        return cls.user(_notice_text(text))

    @classmethod
    def assistant(cls, text: str) -> "Message":
        """Make a message of the assistant, of text."""
        return cls(role="assistant", content=(TextBlock(text=text),))

    @classmethod
    def text_message(
        cls, content: str, role: Role = "user", message_id: str | int | None = None
    ) -> "Message":
        """Make a message of one text."""
        return _make(role, (TextBlock(text=content),), message_id)

    @classmethod
    def tool_message(
        cls,
        content: Iterable[ContentBlock],
        message_id: str | int | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> "Message":
        """Make the message that answers calls: result blocks, in request order.

        Args:
            content: A result block for each call.
            message_id: Names the message; a new id when left out.
            meta: Becomes ``metadata``.
        """
        return _make("tool", content, message_id, meta)

    @classmethod
    def image_message(
        cls,
        *,
        image_url: str | None = None,
        image_base64: str | None = None,
        mime_type: str = "image/png",
        text: str | None = None,
        role: Role = "user",
        message_id: str | int | None = None,
    ) -> "Message":
        """Make a message of an image, with a text before it if one is given.

        Raises:
            ValueError: Not exactly one of ``image_url`` and ``image_base64`` is given.
        """
        if (image_url is None) == (image_base64 is None):
            given = "neither" if image_url is None else "both"
            raise ValueError(
                f"an image message takes image_url or image_base64, got {given}: "
                "give exactly one"
            )
        if image_url is not None:
            media = MediaRef(kind="url", url=image_url, mime_type=mime_type)
        else:
            media = MediaRef(kind="data", data_base64=image_base64, mime_type=mime_type)
        return _make(role, _with_text(text, ImageBlock(media=media)), message_id)

    @classmethod
    def multimodal_message(
        cls,
        content_blocks: Iterable[ContentBlock],
        role: Role = "user",
        message_id: str | int | None = None,
    ) -> "Message":
        """Make a message of blocks of any kinds."""
        return _make(role, content_blocks, message_id)

    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        mime_type: str | None = None,
        text: str | None = None,
        role: Role = "user",
        message_id: str | int | None = None,
    ) -> "Message":
        """Make a message that carries a file, with a text before it if one is given.

        Images, audio and video become blocks of their kind, all else a document.

        Args:
            path: The file; it is read here and now.
            mime_type: What it is; found from its first bytes and name when left out.
            text: What to say about it.
            role: Who says it.
            message_id: Names the message; a new id when left out.

        Raises:
            OSError: The file cannot be read.
        """
        return _make(role, _with_text(text, file_block(path, mime_type)), message_id)

    def text(self) -> str:
        """Give the text blocks and the output of result blocks, put together.

        There is no separator. An output of blocks counts as their text, another one
        that is not text as its JSON; all other blocks are left out.
        """
        return text_of(self.content)

    @property
    def tool_calls(self) -> tuple[ToolCallBlock, ...]:
        """The calls this message asks for, in order."""
        return tuple([b for b in self.content if type(b) is ToolCallBlock])

    @property
    def is_notice(self) -> bool:
        """Whether this is a user message whose first text starts with ``[notice] ``."""
        if self.role != "user":
            return False
        for block in self.content:
            if type(block) is TextBlock:
                return block.text.startswith(NOTICE_PREFIX)
        return False

    @property
    def cut_off(self) -> bool:
        """Whether the stop reason says that the output limit was hit."""
        return is_cut_off(self.stop_reason)


_compared = attrgetter(
    *(n for n in Message.__struct_fields__ if n not in {"message_id", "timestamp"})
)


def text_of(content: Iterable[ContentBlock]) -> str:
    """Give the text of blocks, as ``Message.text`` does."""
    parts: list[str] = []
    for block in content:
        if type(block) is TextBlock:
            parts.append(block.text)
        elif type(block) is ToolResultBlock:
            parts.append(_output_text(block))
    return "".join(parts)


def _output_text(block: ToolResultBlock) -> str:
    if isinstance(block.output, str):
        return block.output
    if block.has_blocks:
        return text_of(block.output)
    return json.dumps(block.output, ensure_ascii=False)


def _notice_text(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a notice is made of a text, got {text!r}")
    return text if text.startswith(NOTICE_PREFIX) else NOTICE_PREFIX + text


def _make(
    role: Role,
    content: Iterable[ContentBlock],
    message_id: str | int | None,
    metadata: Mapping[str, Any] | None = None,
) -> Message:
    return Message(
        role=role,
        content=content,
        message_id=new_message_id() if message_id is None else message_id,
        metadata=EMPTY_DICT if metadata is None else metadata,
    )


def _with_text(text: str | None, block: ContentBlock) -> tuple[ContentBlock, ...]:
    return (block,) if text is None else (TextBlock(text=text), block)


def _settle(message: Message) -> None:
    """Bring content to a tuple with its call blocks, and JSON to its frozen form."""
    blocks = _blocks_of(message.content)
    raw_calls = message.tools_calls
    if raw_calls is not None:
        if not any(type(block) is ToolCallBlock for block in blocks):
            blocks += call_blocks(raw_calls)
        force_setattr(message, "tools_calls", frozen_if_json(raw_calls))
    force_setattr(message, "content", blocks)
    if message.metadata is not EMPTY_DICT:
        force_setattr(message, "metadata", frozen_if_json(message.metadata))
    if message.raw is not None:
        force_setattr(message, "raw", frozen_if_json(message.raw))
    # An object of the user's own class stays itself until the message is recorded.
    if type(message.parsed_content) in {dict, list, tuple}:
        frozen = frozen_if_json(message.parsed_content)
        force_setattr(message, "parsed_content", frozen)


def _blocks_of(content: object) -> tuple[ContentBlock, ...]:
    if isinstance(content, str | bytes | Block | Mapping) or not isinstance(
        content, Iterable
    ):
        raise TypeError(
            f"content must be a list of blocks, got {content!r}: write "
            "Message.text_message(text) or content=[TextBlock(text=text)]"
        )
    return tuple(cast("Iterable[ContentBlock]", content))
