"""Calls and their results in a list of messages: every provider wants them paired."""

from collections.abc import Iterable
from typing import TypeAlias

from ._content import ToolCallBlock, ToolResultBlock
from ._message import Message

NEVER_RAN = "(cancelled: no result was recorded)"
"""The result of a call that was closed because nothing would ever answer it."""

Calls: TypeAlias = dict[str, ToolCallBlock]
"""Calls that wait for a result, by id, in request order."""


def first_open_call(messages: Iterable[Message]) -> ToolCallBlock | None:
    """The first call that no result answers before the conversation goes on."""
    waiting: Calls = {}
    for message in messages:
        if message.role == "tool":
            _take_results(waiting, message)
        elif waiting:
            break
        elif message.role == "assistant":
            waiting = _calls_of(message)
    return next(iter(waiting.values())) if waiting else None


def close_open_calls(
    messages: Iterable[Message],
) -> tuple[tuple[Message, ...], tuple[ToolCallBlock, ...]]:
    """The messages with every open call answered, and the calls that were open."""
    repaired: list[Message] = []
    closed: list[ToolCallBlock] = []
    waiting: Calls = {}
    for message in messages:
        if message.role == "tool":
            _take_results(waiting, message)
        elif waiting:
            repaired.append(_cancelled(waiting.values()))
            closed += waiting.values()
            waiting = {}
        if message.role == "assistant":
            waiting = _calls_of(message)
        repaired.append(message)
    if waiting:
        repaired.append(_cancelled(waiting.values()))
        closed += waiting.values()
    return tuple(repaired), tuple(closed)


def _calls_of(message: Message) -> Calls:
    return {b.id: b for b in message.content if type(b) is ToolCallBlock}


def _take_results(waiting: Calls, message: Message) -> None:
    for block in message.content:
        if type(block) is ToolResultBlock:
            waiting.pop(block.call_id, None)


def _cancelled(calls: Iterable[ToolCallBlock]) -> Message:
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
