"""Calls and their results in a list of messages: every provider wants them paired."""

from collections.abc import Sequence

from ._content import ToolCallBlock, ToolResultBlock
from ._message import Message

NEVER_RAN = "(cancelled: no result was recorded)"
"""The result of a call that was closed because nothing would ever answer it."""


def first_open_call(messages: Sequence[Message]) -> ToolCallBlock | None:
    """The first call that no result answers before the conversation goes on."""
    for index, message in enumerate(messages):
        for call in message.tool_calls if message.role == "assistant" else ():
            if call.id not in _results_after(messages, index):
                return call
    return None


def _results_after(messages: Sequence[Message], index: int) -> set[str]:
    """The call ids answered by the tool messages right behind ``index``."""
    answered: set[str] = set()
    for message in messages[index + 1 :]:
        if message.role != "tool":
            break
        answered |= {b.call_id for b in message.content if type(b) is ToolResultBlock}
    return answered


def close_open_calls(
    messages: Sequence[Message],
) -> tuple[tuple[Message, ...], tuple[ToolCallBlock, ...]]:
    """The messages with every open call answered, and the calls that were open."""
    repaired: list[Message] = []
    closed: list[ToolCallBlock] = []
    waiting: list[ToolCallBlock] = []
    for index, message in enumerate(messages):
        if waiting and message.role != "tool":
            repaired.append(_cancelled(waiting))
            waiting = []
        repaired.append(message)
        if message.tool_calls:
            answered = _results_after(messages, index)
            waiting = [call for call in message.tool_calls if call.id not in answered]
            closed += waiting
    if waiting:
        repaired.append(_cancelled(waiting))
    return tuple(repaired), tuple(closed)


def _cancelled(calls: Sequence[ToolCallBlock]) -> Message:
    return Message.tool_message(
        [
            ToolResultBlock(
                call_id=call.id,
                output=NEVER_RAN,
                name=call.name,
                is_error=True,
                status="failed",
            )
            for call in calls
        ]
    )
