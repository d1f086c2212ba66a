import copy
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import (
    AnnotationBlock,
    AnnotationRef,
    AudioBlock,
    ContentBlock,
    DataBlock,
    DocumentBlock,
    ErrorBlock,
    FrozenDict,
    FrozenList,
    ImageBlock,
    MediaRef,
    RawBlock,
    ReasoningBlock,
    RemoteToolCallBlock,
    TextBlock,
    ToolCall,
    ToolCallBlock,
    ToolResultBlock,
    VideoBlock,
)

MEDIA = MediaRef(url="https://example.com/a.png", mime_type="image/png")

BLOCKS: tuple[ContentBlock, ...] = (
    TextBlock(text="hi", annotations=(AnnotationRef(title="source", index=0),)),
    ImageBlock(media=MEDIA, alt_text="a cat", bbox=(0.0, 0.5, 10.0, 20.0)),
    AudioBlock(media=MEDIA, transcript="hello", sample_rate=48_000, channels=2),
    VideoBlock(media=MEDIA, thumbnail=MEDIA),
    DocumentBlock(media=MEDIA, text="a b c", pages=(1, 2), excerpt="b"),
    DataBlock(mime_type="text/csv", data_base64="YSxi", media=MEDIA),
    ToolCallBlock(id="c1", name="add", args={"a": [1, 2.0, None]}, tool_type="x"),
    RemoteToolCallBlock(id="c2", name="search", args={"q": "cats"}),
    ToolResultBlock(call_id="c1", output="3", name="add", status="completed"),
    ReasoningBlock(summary="think", details=[{"signature": "s"}]),
    AnnotationBlock(refs=(AnnotationRef(url="u"),), spans=((0, 4),)),
    ErrorBlock(message="no", code="E1", data={"at": 3}),
    RawBlock(provider="anthropic", data={"type": "text", "text": "hi"}),
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def there_and_back(block: ContentBlock) -> list[ContentBlock]:
    kind: Any = ContentBlock
    return [
        msgspec.json.decode(msgspec.json.encode(block), type=kind),
        msgspec.msgpack.decode(msgspec.msgpack.encode(block), type=kind),
    ]


def test_there_is_an_example_of_every_block() -> None:
    assert {type(block) for block in BLOCKS} == set(get_args(ContentBlock))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.type)
def test_a_block_comes_back_equal_from_both_wires(block: ContentBlock) -> None:
    for back in there_and_back(block):
        assert back == block
        assert type(back) is type(block)
        assert hash(back) == hash(block)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.type)
def test_a_block_is_tagged_by_the_type_that_it_shows(block: ContentBlock) -> None:
    assert msgspec.to_builtins(block)["type"] == block.type


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.type)
def test_a_block_is_frozen_and_can_be_copied_and_pickled(block: ContentBlock) -> None:
    name = type(block).__struct_fields__[0]
    before = getattr(block, name)
    with pytest.raises(AttributeError):
        setattr(block, name, "other")
    assert getattr(block, name) is before
    assert copy.deepcopy(block) == block
    assert pickle.loads(pickle.dumps(block)) == block


def test_what_has_its_default_value_is_left_off_the_wire_and_the_repr() -> None:
    block = TextBlock(text="hi")
    assert msgspec.json.encode(block) == b'{"type":"text","text":"hi"}'
    assert repr(block) == "TextBlock(text='hi')"
    error = ErrorBlock(message="no")
    assert msgspec.json.encode(error) == b'{"type":"error","message":"no"}'
    assert repr(ToolCallBlock(id="c", name="n", args={})) == (
        "ToolCallBlock(id='c', name='n')"
    )


def test_the_repr_of_a_block_cuts_the_bytes_that_nobody_can_read() -> None:
    media = MediaRef(kind="data", data_base64="A" * 5000, mime_type="image/png")
    assert len(repr(ImageBlock(media=media))) < 200
    assert "5000 characters" in repr(media)
    assert "5000 characters" in repr(DataBlock(mime_type="a/b", data_base64="B" * 5000))
    assert media.data_base64 == "A" * 5000
    assert repr(MediaRef(url="u")) == "MediaRef(url='u')"


def test_a_tool_call_is_the_tool_call_block() -> None:
    assert ToolCall is ToolCallBlock


def test_arguments_are_frozen_from_the_moment_the_call_is_made() -> None:
    args: dict[str, Any] = {"lines": [1, 2]}
    call = ToolCallBlock(id="c", name="n", args=args)
    args["lines"].append(3)
    assert call.args == {"lines": [1, 2]}
    assert type(call.args) is FrozenDict
    with pytest.raises(TypeError, match="read-only"):
        call.args["lines"].append(3)
    assert call.args == {"lines": [1, 2]}
    assert dict(call.args) == {"lines": [1, 2]}


def test_what_is_not_json_stays_in_the_block_until_it_is_recorded() -> None:
    made = object()
    assert ToolCallBlock(id="c", name="n", args={"x": made}).args["x"] is made
    assert ToolResultBlock(call_id="c", output=made).output is made
    assert ReasoningBlock(details=made).details is made
    assert ErrorBlock(message="m", data=made).data is made
    assert RawBlock(provider="p", data=made).data is made


@given(value=JSON)
def test_any_json_in_a_block_comes_back_equal_and_frozen(value: Any) -> None:
    blocks: list[ContentBlock] = [
        ToolCallBlock(id="c", name="n", args={"value": value}),
        ToolResultBlock(call_id="c", output=value),
        RawBlock(provider="p", data=value),
    ]
    for block in blocks:
        for back in there_and_back(block):
            assert back == block
            assert hash(back) == hash(block)


def test_an_output_of_blocks_stays_blocks_on_the_wire() -> None:
    block = ToolResultBlock(
        call_id="c", output=[TextBlock(text="see"), ImageBlock(media=MEDIA)]
    )
    assert block.output == (TextBlock(text="see"), ImageBlock(media=MEDIA))
    assert block.has_blocks
    for back in there_and_back(block):
        assert back == block


def test_a_single_block_as_output_is_an_output_of_one_block() -> None:
    block = ToolResultBlock(call_id="c", output=TextBlock(text="see"))
    assert block.output == (TextBlock(text="see"),)
    assert block.has_blocks


def test_json_that_looks_like_a_block_stays_json() -> None:
    output = [{"type": "text", "text": "not a block"}]
    block = ToolResultBlock(call_id="c", output=output)
    assert not block.has_blocks
    for back in there_and_back(block):
        assert isinstance(back, ToolResultBlock)
        assert back.output == output
        assert type(back.output) is FrozenList


def test_replacing_an_output_of_blocks_forgets_that_it_was_one() -> None:
    block = ToolResultBlock(call_id="c", output=[TextBlock(text="see")])
    text = msgspec.structs.replace(block, output="(cleared)")
    assert text == ToolResultBlock(call_id="c", output="(cleared)")
    empty = msgspec.structs.replace(block, output=[])
    assert empty == ToolResultBlock(call_id="c", output=[])


def test_a_wire_that_promises_blocks_and_holds_others_is_refused() -> None:
    wire = b'{"type":"tool_result","call_id":"c","output":[{"x":1}],"has_blocks":true}'
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(wire, type=ToolResultBlock)


def test_an_output_of_a_users_class_becomes_a_dict() -> None:
    @dataclass
    class Weather:
        city: str
        high: int

    block = ToolResultBlock(call_id="c", output=Weather("Oslo", 7))
    assert block.output == {"city": "Oslo", "high": 7}
    assert isinstance(block.output, Mapping)
