from typing import Any

import pytest

from protocol import FrozenDict, FrozenList, Message, TextBlock, ToolCallBlock

PLAIN = {"id": "c1", "name": "add", "args": {"a": 1}}
OPENAI = {
    "id": "c2",
    "type": "function",
    "function": {"name": "search", "arguments": '{"q": "cats", "n": [1, 2.0]}'},
}


def message_of(*tools_calls: Any) -> Message:
    return Message(role="assistant", content=[], tools_calls=list(tools_calls))


def test_raw_calls_without_call_blocks_make_the_blocks_in_order() -> None:
    message = Message(
        role="assistant", content=[TextBlock(text="hm")], tools_calls=[OPENAI, PLAIN]
    )
    assert message.content == (
        TextBlock(text="hm"),
        ToolCallBlock(id="c2", name="search", args={"q": "cats", "n": [1, 2.0]}),
        ToolCallBlock(id="c1", name="add", args={"a": 1}),
    )
    assert message.tool_calls == message.content[1:]


def test_the_raw_calls_are_kept_beside_the_blocks_frozen() -> None:
    message = message_of(OPENAI)
    assert message.tools_calls == [OPENAI]
    assert type(message.tools_calls) is FrozenList
    assert type(message.tools_calls[0]) is FrozenDict


def test_raw_calls_beside_call_blocks_make_none() -> None:
    call = ToolCallBlock(id="own", name="add")
    message = Message(role="assistant", content=[call], tools_calls=[OPENAI])
    assert message.content == (call,)


@pytest.mark.parametrize("arguments", ["", None, "{}", {}])
def test_no_arguments_are_an_empty_dict(arguments: object) -> None:
    raw = {"id": "c", "function": {"name": "now", "arguments": arguments}}
    assert message_of(raw).tool_calls == (ToolCallBlock(id="c", name="now"),)


def test_arguments_may_be_a_dict_or_json_text_in_either_form() -> None:
    first = message_of({"name": "f", "args": '{"a": 1}'})
    second = message_of({"function": {"name": "f", "arguments": {"a": 1}}})
    assert first.tool_calls == second.tool_calls
    assert first.tool_calls == (ToolCallBlock(id="", name="f", args={"a": 1}),)


def test_a_large_integer_in_arguments_survives() -> None:
    call = message_of({"name": "f", "args": f'{{"n": {10**40}}}'}).tool_calls[0]
    assert call.args == {"n": 10**40}


@pytest.mark.parametrize("arguments", ["{", "[1]", "3", '{"a": NaN}', 5, ["a"]])
def test_arguments_that_are_no_json_object_are_refused(arguments: object) -> None:
    with pytest.raises(ValueError, match=r"tools_calls\[1\] has arguments"):
        message_of(PLAIN, {"name": "f", "args": arguments})


@pytest.mark.parametrize("raw", [{}, {"id": "c"}, {"function": {}}, {"name": 5}])
def test_a_raw_call_without_a_name_is_refused(raw: object) -> None:
    with pytest.raises(ValueError, match=r"tools_calls\[0\] names no tool"):
        message_of(raw)


@pytest.mark.parametrize("raw", ["add", None, {"function": "add"}])
def test_a_raw_call_that_is_no_dict_is_refused(raw: object) -> None:
    with pytest.raises(TypeError, match=r"tools_calls\[0\].* must be a dict"):
        message_of(raw)


def test_raw_calls_that_are_no_list_are_refused() -> None:
    wrong: Any = {"id": "c"}
    with pytest.raises(TypeError, match="tools_calls must be a list of dicts"):
        Message(role="assistant", content=[], tools_calls=wrong)
