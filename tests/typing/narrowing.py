"""What type checkers know about messages and blocks; they read it, nothing runs it."""

from collections.abc import Mapping
from typing import Any, Literal, assert_never, assert_type

from protocol import (
    AnnotationBlock,
    AudioBlock,
    ContentBlock,
    DataBlock,
    DocumentBlock,
    ErrorBlock,
    Image,
    ImageBlock,
    MediaRef,
    Message,
    RawBlock,
    ReasoningBlock,
    RemoteToolCallBlock,
    TextBlock,
    ToolCall,
    ToolCallBlock,
    ToolResultBlock,
    VideoBlock,
)


def the_type_of_a_block_tells_its_class(block: ContentBlock) -> None:
    if block.type == "text":
        assert_type(block, TextBlock)
        assert_type(block.text, str)
    elif block.type == "image":
        assert_type(block, ImageBlock)
        assert_type(block.media, MediaRef)
    elif block.type == "audio":
        assert_type(block, AudioBlock)
    elif block.type == "video":
        assert_type(block, VideoBlock)
    elif block.type == "document":
        assert_type(block, DocumentBlock)
    elif block.type == "data":
        assert_type(block, DataBlock)
    elif block.type == "tool_call":
        assert_type(block, ToolCallBlock)
        assert_type(block.args, Mapping[str, Any])
    elif block.type == "remote_tool_call":
        assert_type(block, RemoteToolCallBlock)
    elif block.type == "tool_result":
        assert_type(block, ToolResultBlock)
    elif block.type == "reasoning":
        assert_type(block, ReasoningBlock)
    elif block.type == "annotation":
        assert_type(block, AnnotationBlock)
    elif block.type == "error":
        assert_type(block, ErrorBlock)
    elif block.type == "raw":
        assert_type(block, RawBlock)
    else:
        assert_never(block)


def the_fields_of_a_message(message: Message) -> None:
    assert_type(message.role, Literal["user", "assistant", "system", "tool"])
    assert_type(message.content, tuple[ContentBlock, ...])
    assert_type(message.message_id, str | int)
    assert_type(message.timestamp, float | None)
    assert_type(message.text(), str)
    assert_type(message.tool_calls, tuple[ToolCall, ...])
    assert_type(message.is_notice, bool)


def content_may_be_a_list_or_a_tuple() -> None:
    Message(role="user", content=[TextBlock(text="hi"), Image(b"")])
    Message(role="user", content=(TextBlock(text="hi"),))
    Message.tool_message(content=[ToolResultBlock(call_id="c", output="x")])
    assert_type(Message.user("look", Image(b"")), Message)


def a_wrong_argument_is_an_error(message: Message) -> None:
    Message(role="robot", content=[])  # type: ignore[arg-type] # unknown role
    Message(role="user", content=["hi"])  # type: ignore[list-item] # text is no block
    Message(role="user", content=[], meta={})  # type: ignore[call-arg] # unknown name
    message.role = "tool"  # type: ignore[misc] # a message is frozen
