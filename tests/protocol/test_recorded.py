from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any

import msgspec
import pytest

from protocol import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    FrozenDict,
    Image,
    ImageBlock,
    MediaRef,
    Message,
    ReasoningBlock,
    TextBlock,
    TokenUsages,
    ToolCallBlock,
    ToolResultBlock,
)
from protocol._recorded import check_user_message, recorded, recorded_block

from .test_content import BLOCKS

IMAGE = Image(b"\x89PNG\r\n\x1a\n")
WRONG: Any = object()
NUMBER: Any = 5
BYTES: Any = b"x"
LIST: Any = [1]
NAME: Any = "ftp"
NAMES: Any = ("y",)
LONE = "half \ud83d of a pair"


class Colour(Enum):
    RED = 1


class Word(StrEnum):
    HI = "hi"


class MyText(str):
    __slots__ = ()


class MyBlock(TextBlock, frozen=True, kw_only=True, tag="mine"):
    pass


def assistant(**fields: Any) -> Message:
    return Message(**{"role": "assistant", "content": [], **fields})


def test_a_message_gets_its_time_when_it_is_recorded() -> None:
    message = Message.user("hi")
    kept = recorded(message, 5.0)
    assert kept.timestamp == 5.0
    assert message.timestamp is None
    assert kept == message
    assert kept.message_id == message.message_id


@pytest.mark.parametrize(
    "message",
    [
        Message.user("hi", IMAGE),
        Message.user("süß 🙂"),
        Message.assistant(""),
        assistant(message_id=5),
        assistant(content=BLOCKS, stop_reason="stop", metadata={"a": [1]}),
        assistant(
            usages=TokenUsages(completion_tokens=1, prompt_tokens=1, total_tokens=2),
            raw={"a": {}},
            tokens=3,
            reasoning="r",
            tools_calls=[{"name": "n"}],
            parsed_content=[1],
            delta=True,
        ),
    ],
)
def test_a_recorded_message_is_recorded_as_it_is(message: Message) -> None:
    kept = recorded(message, 5.0)
    assert kept == message
    assert recorded(kept, 6.0) is kept
    back = msgspec.msgpack.decode(msgspec.msgpack.encode(kept), type=Message)
    assert back == kept
    assert (back.message_id, back.timestamp) == (message.message_id, 5.0)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.type)
def test_a_block_in_its_recorded_form_comes_back_itself(block: ContentBlock) -> None:
    assert recorded_block(block) is block


def test_lists_in_place_of_tuples_are_recorded_as_tuples() -> None:
    pages: Any = [1, 2]
    block = DocumentBlock(text="x", pages=pages)
    kept = recorded(Message(role="user", content=[block]), 1.0)
    assert kept.content == (DocumentBlock(text="x", pages=(1, 2)),)
    nested = ToolResultBlock(call_id="c", output=[block, TextBlock(text="y")])
    (result,) = recorded(Message.tool_message([nested]), 1.0).content
    assert result == ToolResultBlock(
        call_id="c",
        output=(DocumentBlock(text="x", pages=(1, 2)), TextBlock(text="y")),
    )


def test_an_output_of_blocks_in_recorded_form_comes_back_itself() -> None:
    block = ToolResultBlock(call_id="c", output=[TextBlock(text="x"), IMAGE])
    assert recorded_block(block) is block


def test_a_users_object_is_recorded_as_a_dict() -> None:
    @dataclass
    class Answer:
        value: tuple[int, ...]

    kept = recorded(assistant(parsed_content=Answer((1, 2))), 1.0)
    assert kept.parsed_content == {"value": [1, 2]}
    assert type(kept.parsed_content) is FrozenDict


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"metadata": {"a": [WRONG]}}, r"metadata\.a\[0\]"),
        ({"metadata": None}, "metadata must be a dict, got None"),
        ({"metadata": [1]}, "metadata must be a dict"),
        ({"raw": {"a": b"x"}}, r"raw\.a"),
        ({"raw": "text"}, "raw must be None or a dict"),
        ({"parsed_content": {"n": float("nan")}}, r"parsed_content\.n"),
        ({"parsed_content": Path("x")}, "parsed_content"),
        ({"reasoning": 5}, "reasoning must be None or str, got 5"),
        ({"reasoning": LONE}, "reasoning"),
        ({"delta": 0}, "delta must be bool, got 0"),
        ({"message_id": True}, "message_id must be int or str, got True"),
        ({"message_id": None}, "message_id must be int or str"),
        ({"message_id": LONE}, "message_id"),
        ({"timestamp": 5}, "timestamp must be None or float"),
        ({"timestamp": float("inf")}, "timestamp"),
        ({"tokens": True}, "tokens must be None or int"),
        ({"stop_reason": Word.HI}, "stop_reason"),
        ({"stop_reason": LONE}, "stop_reason"),
        ({"usages": {"total_tokens": 3}}, "usages must be TokenUsages or None"),
        (
            {"content": [ToolCallBlock(id="c", name="n")], "tools_calls": ["x"]},
            r"tools_calls\[0\] must be a dict, got 'x'",
        ),
        (
            {"content": [ToolCallBlock(id="c", name="n")], "tools_calls": {"x": 1}},
            "tools_calls must be None or a list",
        ),
    ],
)
def test_a_field_of_a_wrong_type_is_named_when_the_message_is_recorded(
    fields: dict[str, Any], problem: str
) -> None:
    message = assistant(**fields)
    with pytest.raises(TypeError, match=problem):
        recorded(message, 1.0)
    assert recorded(assistant(), 1.0).timestamp == 1.0


def test_a_value_that_became_json_since_is_frozen_as_it_is_recorded() -> None:
    tags: list[Any] = [WRONG]
    message = assistant(metadata={"tags": tags}, content=[])
    tags[:] = ["a"]
    kept = recorded(message, 1.0)
    tags.append("b")
    assert kept.metadata == {"tags": ["a"]}
    assert type(kept.metadata) is FrozenDict


def test_a_field_of_the_usages_of_a_wrong_type_is_named() -> None:
    usages = TokenUsages(completion_tokens=WRONG, prompt_tokens=1, total_tokens=2)
    with pytest.raises(TypeError, match=r"usages\.completion_tokens"):
        recorded(assistant(usages=usages), 1.0)


@pytest.mark.parametrize("role", ["robot", "", None, 5, ["user"]])
def test_an_unknown_role_is_refused(role: Any) -> None:
    message = Message(role=role, content=[])
    with pytest.raises(ValueError, match="role must be one of"):
        recorded(message, 1.0)


@pytest.mark.parametrize("value", ["hi", None, TextBlock(text="hi"), Message])
def test_what_is_no_message_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="expected a Message, got"):
        recorded(value, 1.0)
    with pytest.raises(TypeError, match="expected a Message, got"):
        check_user_message(value)


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("hi", r"content\[1\] must be a block, got 'hi'"),
        ({"type": "text", "text": "hi"}, r"content\[1\] must be a block"),
        (TextBlock, r"content\[1\] must be a block"),
        (MyBlock(text="x"), r"content\[1\] must be a block"),
        (TextBlock(text=WRONG), r"content\[1\]\.text"),
        (TextBlock(text=NUMBER), r"content\[1\] .*TextBlock.*\$\.text"),
        (TextBlock(text=MyText("x")), r"content\[1\]\.text"),
        (TextBlock(text=LONE), r"content\[1\]\.text"),
        (TextBlock(text="x", annotations=NAMES), r"\$\.annotations\[0\]"),
        (ImageBlock(media=WRONG), r"content\[1\]\.media"),
        (ImageBlock(media=MediaRef(url=NUMBER)), r"\$\.media\.url"),
        (ImageBlock(media=MediaRef(kind=NAME)), r"\$\.media\.kind"),
        (AudioBlock(media=MediaRef(data_base64=BYTES)), r"media\.data_base64"),
        (ToolCallBlock(id="c", name="n", args={"a": {"b": {1}}}), r"\]\.args\.a\.b"),
        (ToolCallBlock(id="c", name="n", args=LIST), r"\$\.args"),
        (ToolCallBlock(id=NUMBER, name="n"), r"\$\.id"),
        (ToolResultBlock(call_id="c", output={"k": Colour.RED}), r"\]\.output\.k"),
        (ToolResultBlock(call_id="c", output=LONE), r"content\[1\]\.output"),
        (ToolResultBlock(call_id="c", is_error=NUMBER), r"\$\.is_error"),
        (
            ToolResultBlock(call_id="c", output=[IMAGE, "text"]),
            r"content\[1\]\.output\[1\] must be a block, got 'text'",
        ),
        (
            ToolResultBlock(call_id=NUMBER, output=[IMAGE]),
            r"\$\.call_id",
        ),
        (ReasoningBlock(details={"a": ...}), r"content\[1\]\.details\.a"),
    ],
)
def test_a_block_that_cannot_be_saved_is_refused_with_its_path(
    block: Any, problem: str
) -> None:
    message = Message(role="assistant", content=[TextBlock(text="hi"), block])
    with pytest.raises(TypeError, match=problem):
        recorded(message, 1.0)
    assert message.timestamp is None


def test_text_and_images_may_be_added_to_a_conversation() -> None:
    check_user_message(Message.user("hi"))
    check_user_message(Message.user("hi", IMAGE))
    check_user_message(Message.user("", IMAGE))
    check_user_message(Message(role="user", content=[IMAGE, TextBlock(text="")]))
    check_user_message(Message.notice("hi"))


@pytest.mark.parametrize(
    "message", [Message.user(""), Message(role="user", content=[])]
)
def test_a_message_without_text_and_image_cannot_be_added(message: Message) -> None:
    with pytest.raises(ValueError, match="without text and image"):
        check_user_message(message)


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_a_message_of_another_role_cannot_be_added(role: Any) -> None:
    with pytest.raises(ValueError, match=f"role '{role}' cannot be added"):
        check_user_message(Message.text_message("hi", role))


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if block.type not in {"text", "image"}],
    ids=lambda block: block.type,
)
def test_a_message_with_another_block_cannot_be_added(block: ContentBlock) -> None:
    message = Message(role="user", content=[TextBlock(text="hi"), block])
    with pytest.raises(ValueError, match=rf"content\[1\] of {type(block).__name__}"):
        check_user_message(message)
