"""What goes in, what is blanked, and what a compaction leaves."""

from typing import Any

import pytest

from actors import (
    ContextChange,
    ContextChangeEntry,
    Image,
    Message,
    State,
    TextBlock,
    ToolCall,
    ToolResultBlock,
)
from protocol._commands import CloseCall, Compact
from protocol._context import CLEARED
from tests.effort import instructions
from tests.turns import (
    ask,
    call,
    close,
    fail,
    receive,
    report_late,
    send,
    texts,
    think,
    turn_with_calls,
)

IMAGE = Image(b"\x89PNG\r\n\x1a\n")


def results(state: State) -> list[Any]:
    """What each tool result reads now, oldest first."""
    return [
        block.output
        for message in state.messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]


def tool_message(*outputs: Any, call_id: str = "a", **fields: Any) -> list[Message]:
    """A reply with one call, and results for it that came in from elsewhere."""
    blocks = [ToolResultBlock(call_id=call_id, output=output) for output in outputs]
    asking = Message(role="assistant", content=[ToolCall(id=call_id, name="search")])
    return [asking, Message(role="tool", content=blocks, **fields)]


def clearing(*names: str) -> ContextChangeEntry:
    change = ContextChange(kind="clear_tool_results", cleared=names)
    return ContextChangeEntry(content=change)


def with_entry(state: State, entry: Any) -> State:
    return State(history=[*state.history, entry])


def same_again(state: State) -> None:
    assert State(history=state.history).snapshot() == state.snapshot()
    assert State(history=state.history).messages == state.messages


# Clearing.


def test_images_of_a_result_are_cleared_with_its_text() -> None:
    state = State(messages=[Message.user("x")])
    think(state, call("a"))
    content = (TextBlock(text="see"), IMAGE)
    send(state, CloseCall(call("a"), content, "done"))
    assert results(state) == [content]
    state.clear_tool_results(0)
    assert results(state) == [CLEARED]
    assert state.history[-2].content == content
    same_again(state)


def test_an_error_stays_one_when_its_text_is_cleared() -> None:
    state = State(messages=[Message.user("x")])
    think(state, call("a"))
    close(state, call("a"), "it broke", outcome="error")
    state.clear_tool_results(0)
    block = state.messages[-1].content[0]
    assert (block.output, block.is_error, block.status) == (CLEARED, True, "failed")
    assert (block.call_id, block.name) == ("a", "search")


def test_results_of_one_message_are_cleared_one_after_the_other() -> None:
    state = State(messages=[Message.user("x")])
    turn_with_calls(state, ["a", "b", "c"])
    whole = results(state)
    for left in (2, 1, 0):
        state.clear_tool_results(left)
        assert results(state) == [CLEARED] * (3 - left) + whole[3 - left :]
    same_again(state)


def test_a_call_id_used_twice_clears_only_the_results_meant() -> None:
    state = State(messages=[*tool_message("first"), *tool_message("second")])
    state.clear_tool_results(1)
    assert results(state) == [CLEARED, "second"]
    state.clear_tool_results(0)
    assert results(state) == [CLEARED, CLEARED]
    assert [e.content.cleared for e in state.history[1:]] == [("a",), ("a",)]
    same_again(state)


def test_results_that_came_in_cleared_count_and_are_not_named() -> None:
    state = State(messages=[*tool_message(CLEARED, "one"), *tool_message("two")])
    before = state.history
    state.clear_tool_results(2)
    assert state.history is before
    state.clear_tool_results(1)
    assert results(state) == [CLEARED, CLEARED, "two"]
    assert state.history[-1].content.cleared == ("a",)


def test_text_beside_a_result_is_left_as_it_is() -> None:
    asking, told = tool_message("one")
    beside = [TextBlock(text="see"), *told.content]
    state = State(messages=[asking, Message(role="tool", content=beside)])
    state.clear_tool_results(0)
    assert state.messages[-1].content[0] == TextBlock(text="see")
    assert results(state) == [CLEARED]


def test_cleared_results_between_others_are_passed_over() -> None:
    state = State(messages=[*tool_message("one", CLEARED, "two", call_id="a")])
    state.clear_tool_results(0)
    assert state.history[-1].content.cleared == ("a", "a")
    assert results(state) == [CLEARED] * 3
    same_again(state)


def test_a_history_made_by_hand_may_clear_in_any_order() -> None:
    state = State(messages=[Message.user("x")])
    for each in "abcd":
        turn_with_calls(state, [each])
    state = with_entry(state, clearing("c", "b"))
    assert results(state) == ["result of a", CLEARED, CLEARED, "result of d"]
    state = with_entry(state, clearing("a"))
    assert results(state) == [CLEARED, CLEARED, CLEARED, "result of d"]
    state.clear_tool_results(0)
    assert state.history[-1].content.cleared == ("d",)
    same_again(state)


def test_a_result_between_cleared_ones_is_still_found() -> None:
    state = State(messages=[Message.user("x")])
    turn_with_calls(state, ["a", "b", "c"])
    state = with_entry(state, clearing("b"))
    state.clear_tool_results(0)
    assert state.history[-1].content.cleared == ("a", "c")
    assert results(state) == [CLEARED] * 3


@pytest.mark.parametrize("names", [("z",), ("a", "a"), ("b", "a", "b")])
def test_a_history_cannot_clear_what_is_not_there(names: tuple[str, ...]) -> None:
    state = State(messages=[Message.user("x")])
    turn_with_calls(state, ["a", "b"])
    with pytest.raises(ValueError, match="no uncleared result"):
        with_entry(state, clearing(*names))
    assert results(state) == ["result of a", "result of b"]


def test_clearing_drops_the_token_counts_of_all_messages() -> None:
    state = State(messages=[Message.user("x")])
    think(state, call("a"), context_tokens=100)
    close(state, call("a"))
    think(state, text="one", context_tokens=200)
    assert [m.tokens for m in state.messages] == [None, 100, None, 200]
    state.clear_tool_results(0)
    assert [m.tokens for m in state.messages] == [None] * 4
    think(state, call("b"), context_tokens=300)
    close(state, call("b"))
    assert [m.tokens for m in state.messages][-2:] == [300, None]
    state.clear_tool_results(0)
    assert [m.tokens for m in state.messages] == [None] * 6
    assert results(state) == [CLEARED, CLEARED]
    same_again(state)


def test_results_with_a_token_count_of_their_own_are_cleared_all_the_same() -> None:
    state = State(messages=tool_message("one", tokens=50))
    state.clear_tool_results(0)
    assert results(state) == [CLEARED]
    assert state.messages[-1].tokens is None
    same_again(state)


def test_token_counts_after_a_failed_think_are_dropped_too() -> None:
    state = State(messages=[Message.user("x")])
    turn_with_calls(state, ["a"])
    report_late(state, call("a"), "one")
    ask(state)
    state.clear_tool_results(0)  # while the late notice stands among the messages
    fail(state)
    think(state, call("b"), context_tokens=300)
    close(state, call("b"))
    state.clear_tool_results(0)
    assert [m.tokens for m in state.messages] == [None] * len(state.messages)
    same_again(state)


@pytest.mark.parametrize("turns", [1_000, pytest.param(5_000, marks=pytest.mark.slow)])
def test_clearing_each_turn_costs_the_same_after_thousands(turns: int) -> None:
    state = State(messages=[Message.user("x")])

    def turn(number: int) -> None:
        turn_with_calls(state, [f"call-{number}"])
        state.clear_tool_results(5)

    for number in range(20):
        turn(number)
    early = instructions(lambda: turn(20))
    for number in range(21, turns):
        turn(number)
    assert instructions(lambda: turn(turns)) <= 1.1 * early
    assert results(state).count(CLEARED) == turns + 1 - 5


def test_clearing_in_vain_costs_the_same_at_any_number_of_cleared_results() -> None:
    costs: list[int] = []
    for count in (10, 1_000):
        state = State(messages=tool_message(*[CLEARED] * count, "one"))
        costs.append(instructions(lambda s=state: s.clear_tool_results(1)))
    assert costs[0] == costs[1]


# Compacting.


def test_a_compaction_keeps_the_last_messages_as_they_read() -> None:
    state = State(messages=[Message.user("x")])
    turn_with_calls(state, ["a"])
    state.clear_tool_results(0)
    think(state, text="answer")
    send(state, Compact("so far", kept=3))
    assert texts(state) == ["x", "[notice] so far", "", CLEARED, "answer"]
    same_again(state)


@pytest.mark.parametrize(("kept", "last"), [(1, ["z"]), (2, ["y", "z"])])
def test_the_first_user_message_does_not_stand_there_twice(
    kept: int, last: list[str]
) -> None:
    state = State(messages=[Message.user("x"), Message.user("y"), Message.user("z")])
    send(state, Compact("so far", kept=kept))
    assert texts(state) == ["x", "[notice] so far", *last]
    send(state, Compact("all", kept=100))
    assert texts(state) == ["x", "[notice] all", "[notice] so far", *last]


def test_results_that_a_compaction_kept_can_be_cleared() -> None:
    state = State(messages=[Message.user("x")])
    for each in "abc":
        turn_with_calls(state, [each])
    state.clear_tool_results(2)
    send(state, Compact("so far", kept=6))
    assert results(state) == [CLEARED, "result of b", "result of c"]
    state.clear_tool_results(1)
    assert state.history[-1].content.cleared == ("b",)
    assert results(state) == [CLEARED, CLEARED, "result of c"]
    same_again(state)


def test_the_first_user_message_may_still_be_held_when_it_is_compacted() -> None:
    state = State()
    ask(state)
    state.add_message(Message.user("first"))
    state.compact("so far")
    assert texts(state) == ["[notice] so far"]
    receive(state, text="answer")
    assert texts(state) == ["[notice] so far", "answer", "first"]
    state.compact("and on")
    assert texts(state) == ["first", "[notice] and on"]
    same_again(state)


# Late notices of a request that fails.


def late_and_asked() -> State:
    state = State(messages=[Message.user("x")])
    turn_with_calls(state, ["a"])
    report_late(state, call("a"), "one")
    ask(state)
    assert "finished later: one" in texts(state)[-1]
    return state


def test_late_notices_wait_again_when_their_request_fails() -> None:
    state = late_and_asked()
    report_late(state, call("a"), "two")
    fail(state)
    assert texts(state) == ["x", "", "result of a"]
    same_again(state)
    ask(state)
    assert [text[-3:] for text in texts(state)[3:]] == ["one", "two"]


def test_a_compaction_in_between_stays() -> None:
    state = late_and_asked()
    send(state, Compact("so far", kept=0))
    fail(state)
    assert texts(state) == ["x", "[notice] so far"]
    ask(state)
    assert "finished later: one" in texts(state)[-1]
    same_again(state)


def test_notices_that_a_compaction_moved_are_taken_out_where_they_stand() -> None:
    state = late_and_asked()
    send(state, Compact("so far", kept=2))
    state.clear_tool_results(0)
    state.add_message(Message.user("held"))
    fail(state)
    assert texts(state) == ["x", "[notice] so far", CLEARED, "held"]
    ask(state)
    assert "finished later: one" in texts(state)[-1]
    receive(state, text="answer", context_tokens=10)
    turn_with_calls(state, ["b"])
    state.clear_tool_results(0)
    assert results(state) == [CLEARED, CLEARED]
    assert {message.tokens for message in state.messages} == {None}
    same_again(state)


def test_what_a_compaction_kept_was_counted_with_what_it_took_out() -> None:
    state = State(messages=[Message.user("x")])
    think(state, text="answer", context_tokens=10)
    send(state, Compact("so far", kept=1))
    state.add_message(Message.user("y"))
    assert counted(state) == ["x", "[notice] so far", "answer"]
    same_again(state)


def test_a_notice_that_is_taken_out_again_was_not_counted_either() -> None:
    state = late_and_asked()
    send(state, Compact("so far", kept=2))
    before = counted(state)
    fail(state)
    assert "finished later: one" in before[-1]
    assert counted(state) == before[:-1] == texts(state)


def counted(state: State) -> list[str]:
    """The messages whose token counts are of a context that is no more."""
    return texts(state)[: state._mailbox.value.results.counted]
