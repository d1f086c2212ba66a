"""Any conversation in an order that providers accept."""

from actors import Image, Message, TextBlock, ToolCall, ToolResultBlock
from actors.models._turns import NO_RESULT, Results, Said, calls_in, turns_of

CALLS = Message(
    role="assistant",
    content=[ToolCall(id="a", name="read"), ToolCall(id="b", name="write")],
)


def result(call_id: str, output: object = "ok") -> ToolResultBlock:
    return ToolResultBlock(call_id=call_id, name="read", output=output)


def shape(*messages: Message) -> list[object]:
    return [
        [block.output for block in turn.blocks]
        if isinstance(turn, Results)
        else (turn.role, "".join(getattr(b, "text", b.type) for b in turn.blocks))
        for turn in turns_of(messages)
    ]


def test_neighbours_of_one_role_become_one_turn() -> None:
    said = shape(Message.user("a"), Message.notice("b"), Message.assistant("c"))
    assert said == [("user", "a[notice] b"), ("assistant", "c")]


def test_results_stand_in_the_order_of_their_calls() -> None:
    tool = Message.tool_message([result("b", "2"), result("a", "1")])
    assert shape(CALLS, tool)[1] == ["1", "2"]


def test_results_in_several_messages_are_one_turn() -> None:
    said = shape(
        CALLS,
        Message.tool_message([result("a", "1")]),
        Message.tool_message([result("b", "2")]),
        Message.user("go on"),
    )
    assert said[1:] == [["1", "2"], ("user", "go on")]


def test_a_call_without_result_gets_one_that_says_so() -> None:
    assert shape(CALLS)[1] == [NO_RESULT, NO_RESULT]
    some = shape(CALLS, Message.tool_message([result("a", "1")]), Message.user("and?"))
    assert some[1:] == [["1", NO_RESULT], ("user", "and?")]


def test_a_result_without_its_call_is_told_as_user_text() -> None:
    output = (TextBlock(text="seen"), Image(b"\x89PNG\r\n\x1a\n" + b"0" * 8))
    said = shape(Message.tool_message([result("x", output)]), Message.assistant("ok"))
    assert said == [
        ("user", "result of an earlier call of read: seenimage"),
        ("assistant", "ok"),
    ]


def test_a_second_result_of_one_call_is_told_after_the_first() -> None:
    said = shape(CALLS, Message.tool_message([result("a", "1"), result("a", "late")]))
    assert said[1:] == [
        ["1", NO_RESULT],
        ("user", "result of an earlier call of read: late"),
    ]


def test_what_is_said_among_results_follows_them() -> None:
    both = Message(
        role="tool", content=[TextBlock(text="by the way"), result("a"), result("b")]
    )
    said = shape(CALLS, both, Message.assistant("thanks"))
    assert said[1:] == [["ok", "ok"], ("user", "by the way"), ("assistant", "thanks")]


def test_a_turn_knows_the_last_message_that_is_part_of_it() -> None:
    messages = [
        Message.user("a"),
        Message.user("b"),
        CALLS,
        Message.tool_message([result("a")]),
        Message.tool_message([result("b")]),
        Message.user("c"),
    ]
    assert [turn.last for turn in turns_of(messages)] == [1, 2, 4, 5]


def test_messages_without_content_are_left_out() -> None:
    empty = Message(role="assistant", content=())
    assert shape(Message.user("a"), empty, Message.user("b")) == [("user", "ab")]
    assert turns_of([]) == []


def test_the_calls_of_a_conversation_are_found_in_order() -> None:
    assert [call.id for call in calls_in(turns_of([CALLS]))] == ["a", "b"]
    assert isinstance(turns_of([CALLS])[0], Said)
