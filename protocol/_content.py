"""What a message is made of: one frozen class for each kind of content.

1. ``block.type`` is of a Literal type: comparing it tells type checkers the class.
2. JSON given to a block is frozen as the block is made, so that a block is a value.
   What is not JSON stays until the block is recorded, where the error names its path.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, TypeAlias, cast

import msgspec
from msgspec.structs import force_setattr

from ._json import EMPTY_DICT, FrozenDict, freeze
from ._media import AnnotationRef, MediaRef, shortened


class Block(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    tag_field="type",
    # A block holds text, numbers and frozen JSON, which cannot form a cycle.
    gc=False,
):
    """What all kinds of content share: nothing but how they are written."""


class TextBlock(Block, frozen=True, kw_only=True, tag="text"):
    """Text."""

    type: ClassVar[Literal["text"]] = "text"
    text: str
    """The text itself."""
    annotations: tuple[AnnotationRef, ...] = ()
    """Sources that the text refers to."""


class ImageBlock(Block, frozen=True, kw_only=True, tag="image"):
    """An image."""

    type: ClassVar[Literal["image"]] = "image"
    media: MediaRef
    """Where the image is."""
    alt_text: str | None = None
    """What it shows, in words."""
    bbox: tuple[float, float, float, float] | None = None
    """The part meant: left, top, right, bottom in pixels."""


class AudioBlock(Block, frozen=True, kw_only=True, tag="audio"):
    """A sound recording."""

    type: ClassVar[Literal["audio"]] = "audio"
    media: MediaRef
    """Where the recording is."""
    transcript: str | None = None
    """What is said in it."""
    sample_rate: int | None = None
    """Samples a second."""
    channels: int | None = None
    """Number of channels."""


class VideoBlock(Block, frozen=True, kw_only=True, tag="video"):
    """A film."""

    type: ClassVar[Literal["video"]] = "video"
    media: MediaRef
    """Where the film is."""
    thumbnail: MediaRef | None = None
    """A still image of it."""


class DocumentBlock(Block, frozen=True, kw_only=True, tag="document"):
    """A document, such as a PDF."""

    type: ClassVar[Literal["document"]] = "document"
    media: MediaRef | None = None
    """Where the document is; None when only its text is here."""
    text: str | None = None
    """Its text."""
    pages: tuple[int, ...] | None = None
    """The pages meant, counted from 1; None means all."""
    excerpt: str | None = None
    """The passage meant."""


class DataBlock(Block, frozen=True, kw_only=True, tag="data"):
    """Bytes of any other kind."""

    type: ClassVar[Literal["data"]] = "data"
    mime_type: str
    """What the bytes are."""
    data_base64: str | None = None
    """The bytes in base64, when they are in here."""
    media: MediaRef | None = None
    """Where the bytes are otherwise."""

    def __repr__(self) -> str:
        return msgspec.Struct.__repr__(shortened(self))


class ToolCallBlock(Block, frozen=True, kw_only=True, tag="tool_call"):
    """A call the model asks for; exactly one result answers it."""

    type: ClassVar[Literal["tool_call"]] = "tool_call"
    id: str
    """Names the call; unique in a State once the reply is recorded."""
    name: str
    """The tool."""
    args: Mapping[str, Any] = EMPTY_DICT
    """Arguments by name: a read-only dict, ``dict(call.args)`` is an editable copy."""
    tool_type: str | None = None
    """A provider's kind of tool, when it has several."""
    model_id: str | None = None
    """The id the model gave, when it was empty or taken and ``id`` replaced it."""

    def __post_init__(self) -> None:
        if type(self.args) is not FrozenDict:
            force_setattr(self, "args", frozen_if_json(self.args))


class RemoteToolCallBlock(Block, frozen=True, kw_only=True, tag="remote_tool_call"):
    """A call that the provider runs itself; nobody here answers it."""

    type: ClassVar[Literal["remote_tool_call"]] = "remote_tool_call"
    id: str
    """Names the call."""
    name: str
    """The provider's tool."""
    args: Mapping[str, Any] = EMPTY_DICT
    """Arguments by name, read-only."""
    tool_type: str | None = None
    """The provider's kind of tool."""

    def __post_init__(self) -> None:
        if type(self.args) is not FrozenDict:
            force_setattr(self, "args", frozen_if_json(self.args))


class ToolResultBlock(Block, frozen=True, kw_only=True, tag="tool_result"):
    """What came of a call."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    call_id: str
    """The ``id`` of the call it answers."""
    output: Any = None
    """Text, a tuple of blocks, or other JSON (read-only)."""
    name: str | None = None
    """The tool."""
    is_error: bool = False
    """Whether the output says what went wrong."""
    status: str | None = None
    """How the call ended, in a word such as ``completed``."""
    has_blocks: bool = False
    """Whether ``output`` is a tuple of blocks. Found from ``output``: on the wire a
    block looks like any other dict, and this tells them apart again."""

    def __post_init__(self) -> None:
        if type(self.output) is not str or self.has_blocks:
            _settle_output(self)


class ReasoningBlock(Block, frozen=True, kw_only=True, tag="reasoning"):
    """What the model thought before it spoke."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    summary: str = ""
    """The thought, as far as the provider shows it."""
    details: Any = None
    """The provider's own form of it (JSON), for sending it back."""

    def __post_init__(self) -> None:
        if self.details is not None:
            force_setattr(self, "details", frozen_if_json(self.details))


class AnnotationBlock(Block, frozen=True, kw_only=True, tag="annotation"):
    """Sources of the text before it."""

    type: ClassVar[Literal["annotation"]] = "annotation"
    kind: str = "citation"
    """What the sources are to the text."""
    refs: tuple[AnnotationRef, ...] = ()
    """The sources."""
    spans: tuple[tuple[int, int], ...] = ()
    """Start and end of the passages they belong to, in characters."""


class ErrorBlock(Block, frozen=True, kw_only=True, tag="error"):
    """Something that went wrong, said in the conversation."""

    type: ClassVar[Literal["error"]] = "error"
    message: str
    """What went wrong."""
    code: str | None = None
    """A word for programs."""
    data: Any = None
    """More about it (JSON)."""

    def __post_init__(self) -> None:
        if self.data is not None:
            force_setattr(self, "data", frozen_if_json(self.data))


class RawBlock(Block, frozen=True, kw_only=True, tag="raw"):
    """A provider's own content, sent back to that provider and to no other."""

    type: ClassVar[Literal["raw"]] = "raw"
    provider: str
    """The provider that understands it."""
    data: Any = None
    """Its content (JSON)."""

    def __post_init__(self) -> None:
        if self.data is not None:
            force_setattr(self, "data", frozen_if_json(self.data))


ContentBlock: TypeAlias = (
    TextBlock
    | ImageBlock
    | AudioBlock
    | VideoBlock
    | DocumentBlock
    | DataBlock
    | ToolCallBlock
    | RemoteToolCallBlock
    | ToolResultBlock
    | ReasoningBlock
    | AnnotationBlock
    | ErrorBlock
    | RawBlock
)
"""Any kind of content."""

ToolCall: TypeAlias = ToolCallBlock
"""A call the model asks for."""


def frozen_if_json(value: Any) -> Any:
    """Give ``value`` frozen, or as it is when it is not JSON.

    What is not JSON is refused when it is recorded: there the path to it is known.
    """
    try:
        return freeze(value)
    except TypeError:
        return value


def _settle_output(block: ToolResultBlock) -> None:
    """Bring ``output`` to its one form, and ``has_blocks`` in line with it."""
    output = block.output
    if isinstance(output, Block):
        output = (output,)
    items: tuple[Any, ...] = ()
    if isinstance(output, list | tuple):
        items = tuple(cast("Iterable[Any]", output))
    has_blocks = any(isinstance(item, Block) for item in items)
    if has_blocks:
        output = items
    elif block.has_blocks and items:
        output = msgspec.convert(items, tuple[ContentBlock, ...])
        has_blocks = True
    else:
        output = frozen_if_json(block.output)
    force_setattr(block, "output", output)
    force_setattr(block, "has_blocks", has_blocks)
