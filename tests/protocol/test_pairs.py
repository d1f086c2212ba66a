from collections.abc import Callable

import pytest

from protocol import Message, TextBlock, ToolCallBlock, ToolResultBlock
from protocol._pairs import NEVER_RAN, close_open_calls, first_open_call
from tests.effort import instructions

USER = Message.user("x")


def asking(*call_ids: str) -> Message:
    calls = [ToolCallBlock(id=call_id, name="search") for call_id in call_ids]
    return Message(role="assistant", content=[TextBlock(text="let me see"), *calls])


def results(*call_ids: str) -> Message:
    return Message.tool_message(
        [ToolResultBlock(call_id=call_id, output="ok") for call_id in call_ids]
    )


WHOLE: dict[str, list[Message]] = {
    "nothing": [],
    "no calls": [USER, Message.assistant("hi"), USER],
    "a call and its result": [USER, asking("a"), results("a"), USER],
    "results in another order": [asking("a", "b"), results("b", "a")],
    "results in two messages": [asking("a", "b"), results("a"), results("b"), USER],
    "results nobody asked for": [results("z"), USER, asking("a"), results("a", "y")],
    "text beside a result": [
        asking("a"),
        Message.tool_message(
            [TextBlock(text="see"), ToolResultBlock(call_id="a", output="ok")]
        ),
    ],
    "an id used twice": [asking("a"), results("a"), asking("a"), results("a")],
}

OPEN: dict[str, tuple[str, list[Message], list[str]]] = {
    "at the end": ("a", [USER, asking("a")], ["a"]),
    "before a user": ("a", [asking("a"), USER, results("a")], ["a"]),
    "one of two": ("b", [asking("a", "b"), results("a"), USER], ["b"]),
    "before another reply": ("a", [asking("a"), asking("b"), results("b")], ["a"]),
    "twice": ("a", [asking("a"), USER, asking("b"), results("x")], ["a", "b"]),
    "an id answered before": ("a", [asking("a"), results("a"), asking("a")], ["a"]),
}


@pytest.mark.parametrize("case", WHOLE)
def test_messages_in_which_each_call_has_its_result_are_whole(case: str) -> None:
    messages = WHOLE[case]
    assert first_open_call(messages) is None
    assert close_open_calls(messages) == (tuple(messages), ())


@pytest.mark.parametrize("case", OPEN)
def test_the_first_open_call_is_found(case: str) -> None:
    wanted, messages, _ = OPEN[case]
    call = first_open_call(messages)
    assert call is not None
    assert call.id == wanted


@pytest.mark.parametrize("case", OPEN)
def test_open_calls_are_closed_right_behind_their_turn(case: str) -> None:
    _, messages, ids = OPEN[case]
    repaired, closed = close_open_calls(messages)
    assert [call.id for call in closed] == ids
    assert first_open_call(repaired) is None
    added = [message for message in repaired if message not in messages]
    for message in added:
        for block in message.content:
            assert (block.output, block.is_error) == (NEVER_RAN, True)
            assert (block.name, block.status) == ("search", "failed")
    assert [message for message in repaired if message not in added] == messages


def turns(count: int) -> list[Message]:
    return [m for n in range(count) for m in (USER, asking(f"{n}"), results(f"{n}"))]


def many_calls(count: int) -> list[Message]:
    ids = [str(number) for number in range(count)]
    return [asking(*ids), *(results(call_id) for call_id in ids)]


@pytest.mark.parametrize("make", [turns, many_calls])
@pytest.mark.parametrize("look", [first_open_call, close_open_calls])
def test_looking_takes_time_in_proportion(
    make: Callable[[int], list[Message]], look: Callable[[list[Message]], object]
) -> None:
    short, long = make(50), make(100)
    assert instructions(lambda: look(long)) < 2.2 * instructions(lambda: look(short))
