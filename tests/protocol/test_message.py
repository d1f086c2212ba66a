import copy
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import msgspec
import pytest

from protocol import (
    ContentBlock,
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
    set_message_ids,
)

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def _numbered_ids() -> Iterator[None]:
    numbers = count(1)
    set_message_ids(lambda: next(numbers))
    yield
    set_message_ids(None)


def test_a_user_message_holds_its_text_and_then_its_images() -> None:
    image = Image(PNG)
    message = Message.user("look", image, image)
    assert message.role == "user"
    assert message.content == (TextBlock(text="look"), image, image)


def test_content_given_as_a_list_is_a_tuple() -> None:
    blocks = [TextBlock(text="a"), TextBlock(text="b")]
    message = Message(role="user", content=blocks)
    blocks.clear()
    assert message.content == (TextBlock(text="a"), TextBlock(text="b"))
    assert Message(role="user", content=(b for b in message.content)) == message


@pytest.mark.parametrize(
    "content", ["hello", b"hello", 5, None, {"type": "text"}, TextBlock(text="hello")]
)
def test_content_that_is_no_list_of_blocks_is_refused(content: Any) -> None:
    with pytest.raises(TypeError, match="content must be a list of blocks"):
        Message(role="user", content=content)


def test_a_notice_starts_with_its_mark_once() -> None:
    notice = Message.notice("tests failed")
    assert notice.text() == "[notice] tests failed"
    assert notice.role == "user"
    assert Message.notice(notice.text()) == notice
    assert notice.is_notice


def test_a_notice_of_something_else_than_text_is_refused() -> None:
    wrong: Any = 5
    with pytest.raises(TypeError, match="a notice is made of a text, got 5"):
        Message.notice(wrong)


def test_only_a_user_message_that_starts_with_the_mark_is_a_notice() -> None:
    assert not Message.user("tests failed").is_notice
    assert not Message.user("see [notice] x").is_notice
    assert not Message.assistant("[notice] x").is_notice
    assert not Message(role="user", content=[Image(PNG)]).is_notice
    assert Message.text_message("[notice] x").is_notice


def test_makers_of_text() -> None:
    assert Message.assistant("hi") == Message(
        role="assistant", content=[TextBlock(text="hi")]
    )
    message = Message.text_message("hi", "system", "m1")
    assert (message.role, message.text(), message.message_id) == ("system", "hi", "m1")
    assert Message.text_message("hi") == Message.user("hi")


def test_a_tool_message_holds_results_and_its_meta() -> None:
    result = ToolResultBlock(call_id="c1", output="3")
    message = Message.tool_message([result], message_id=5, meta={"took_s": 0.5})
    assert message.role == "tool"
    assert message.content == (result,)
    assert message.message_id == 5
    assert message.metadata == {"took_s": 0.5}
    assert Message.tool_message(content=[result]).metadata == {}


def test_an_image_message_points_at_a_url() -> None:
    message = Message.image_message(image_url="u", mime_type="image/gif", text="look")
    media = MediaRef(kind="url", url="u", mime_type="image/gif")
    assert message.content == (TextBlock(text="look"), ImageBlock(media=media))
    assert message.role == "user"


def test_an_image_message_carries_base64() -> None:
    message = Message.image_message(
        image_base64="aGk=", role="assistant", message_id="m"
    )
    media = MediaRef(kind="data", data_base64="aGk=", mime_type="image/png")
    assert message.content == (ImageBlock(media=media),)
    assert (message.role, message.message_id) == ("assistant", "m")


@pytest.mark.parametrize("given", [{}, {"image_url": "u", "image_base64": "aGk="}])
def test_an_image_message_takes_exactly_one_source(given: Any) -> None:
    with pytest.raises(ValueError, match="give exactly one"):
        Message.image_message(**given)


def test_a_multimodal_message_holds_the_blocks_given() -> None:
    blocks: list[ContentBlock] = [TextBlock(text="a"), Image(PNG)]
    message = Message.multimodal_message(blocks, "user", 3)
    assert message.content == tuple(blocks)
    assert message.message_id == 3


def test_text_joins_text_and_results_without_separator() -> None:
    message = Message(
        role="tool",
        content=[
            TextBlock(text="a"),
            ReasoningBlock(summary="hidden"),
            ToolResultBlock(call_id="1", output="b"),
            Image(PNG),
            ToolResultBlock(call_id="2", output={"é": [1, 2.0, None, True]}),
            ToolResultBlock(call_id="3", output=[TextBlock(text="c"), Image(PNG)]),
            ToolResultBlock(call_id="4"),
        ],
    )
    assert message.text() == 'ab{"é": [1, 2.0, null, true]}cnull'
    assert Message(role="user", content=[]).text() == ""


def test_tool_calls_are_the_call_blocks_in_order() -> None:
    first, second = (ToolCallBlock(id=i, name="n") for i in "ab")
    message = Message(role="assistant", content=[first, TextBlock(text="and"), second])
    assert message.tool_calls == (first, second)
    assert Message.assistant("hi").tool_calls == ()


@pytest.mark.parametrize(
    ("stop_reason", "cut_off"),
    [
        ("length", True),
        ("max_tokens", True),
        ("MAX_TOKENS", True),
        ("max_output_tokens", True),
        ("model_context_window_exceeded", True),
        ("stop", False),
        ("tool_use", False),
        ("end_turn", False),
        (None, False),
    ],
)
def test_a_reply_is_cut_off_when_its_stop_reason_says_so(
    stop_reason: str | None, cut_off: bool
) -> None:
    message = Message(role="assistant", content=[], stop_reason=stop_reason)
    assert message.cut_off is cut_off


def test_messages_compare_what_they_say_and_not_id_or_time() -> None:
    message = Message(role="user", content=[], message_id="a", timestamp=1.0)
    other = Message(role="user", content=[], message_id="b", timestamp=2.0)
    assert message == other
    assert (message != other) is False
    assert hash(message) == hash(other)
    assert len({message, other}) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"role": "assistant"},
        {"content": [TextBlock(text="x")]},
        {"delta": True},
        {"reasoning": "r"},
        {"metadata": {"a": 1}},
        {"usages": TokenUsages(completion_tokens=1, prompt_tokens=1, total_tokens=2)},
        {"raw": {"a": 1}},
        {"parsed_content": {"a": 1}},
        {"tokens": 5},
        {"stop_reason": "stop"},
        {"tools_calls": []},
    ],
)
def test_messages_that_say_different_things_differ(change: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"role": "user", "content": []}
    assert Message(**plain) != Message(**plain | change)


def test_a_message_equals_no_other_kind_of_thing() -> None:
    assert Message.user("hi") != "hi"
    assert Message.user("hi") != TextBlock(text="hi")
    assert [Message.user("hi")] != ["hi"]


def test_a_message_with_calls_and_metadata_has_a_hash() -> None:
    call = ToolCallBlock(id="c", name="n", args={"a": [1, {"b": 2}]})
    message = Message(role="assistant", content=[call], metadata={"m": [1]})
    assert hash(message) == hash(copy.deepcopy(message))


def test_ids_are_unique_and_an_explicit_id_wins() -> None:
    ids = {Message.user("hi").message_id for _ in range(100)}
    assert len(ids) == 100
    assert Message(role="user", content=[], message_id="mine").message_id == "mine"


@pytest.mark.usefixtures("_numbered_ids")
def test_a_users_generator_names_every_message_without_an_id() -> None:
    made = [
        Message.user("a"),
        Message.notice("b"),
        Message.text_message("c", message_id="mine"),
        Message.tool_message([]),
    ]
    assert [message.message_id for message in made] == [1, 2, "mine", 3]


def test_a_message_is_frozen_with_all_the_json_in_it() -> None:
    metadata: dict[str, Any] = {"tags": ["a"]}
    raw: dict[str, Any] = {"choices": [{}]}
    message = Message(role="user", content=[], metadata=metadata, raw=raw)
    metadata["tags"].append("b")
    raw["choices"].clear()
    assert message.metadata == {"tags": ["a"]}
    assert message.raw == {"choices": [{}]}
    with pytest.raises(TypeError, match="read-only"):
        message.metadata["x"] = 1  # type: ignore[index] # it is what is tested
    with pytest.raises(AttributeError):
        message.role = "tool"  # type: ignore[misc] # it is what is tested
    assert message == Message(role="user", content=[], metadata={"tags": ["a"]},
                              raw={"choices": [{}]})  # fmt: skip


def test_parsed_content_stays_the_users_object_until_it_is_recorded() -> None:
    @dataclass
    class Answer:
        value: int

    answer = Answer(42)
    message = Message(role="assistant", content=[], parsed_content=answer)
    assert message.parsed_content is answer
    plain = Message(role="assistant", content=[], parsed_content={"value": 42})
    assert type(plain.parsed_content) is FrozenDict


def test_a_plain_message_is_small_on_the_wire() -> None:
    message = Message(role="user", content=[TextBlock(text="hi")], message_id="m")
    assert msgspec.json.encode(message) == (
        b'{"role":"user","content":[{"type":"text","text":"hi"}],"message_id":"m"}'
    )


def test_a_message_comes_back_equal_from_wire_copy_and_pickle() -> None:
    message = Message(
        role="assistant",
        content=[
            TextBlock(text="hm"),
            ToolResultBlock(call_id="c", output=[TextBlock(text="x")]),
        ],
        message_id=7,
        delta=True,
        tools_calls=[{"id": "c", "name": "f", "args": {"a": [1]}}],
        reasoning="because",
        timestamp=1.5,
        metadata={"a": {"b": [1, 2.0]}},
        usages=TokenUsages(completion_tokens=1, prompt_tokens=2, total_tokens=3),
        raw={"id": "r"},
        parsed_content={"value": [1]},
        tokens=99,
        stop_reason="tool_use",
    )
    for back in (
        msgspec.json.decode(msgspec.json.encode(message), type=Message),
        msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=Message),
        copy.deepcopy(message),
        pickle.loads(pickle.dumps(message)),
    ):
        assert back == message
        assert (back.message_id, back.timestamp) == (7, 1.5)
        assert type(back.metadata["a"]) is FrozenDict
        assert type(back.parsed_content) is FrozenDict


def test_the_repr_leaves_out_what_a_message_does_not_say() -> None:
    message = Message(role="user", content=[TextBlock(text="hi")], message_id="m")
    assert repr(message) == (
        "Message(role='user', content=(TextBlock(text='hi'),), message_id='m')"
    )
