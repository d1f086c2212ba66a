"""A conversation in the order that every provider accepts.

1. Neighbours of one role are one turn, so that roles alternate.
2. Each assistant turn with calls is followed by exactly one result for each call, in
   request order; a call without a result gets one that says so.
3. A result without its call (its turn was compacted away) is told as user text.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from protocol import (
    ContentBlock,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)

NO_RESULT = "(no result yet)"
"""What a call reads as whose result is not there: it is still running."""


class Said(msgspec.Struct):
    """One turn of the user, the assistant, or the system."""

    role: Literal["user", "assistant", "system"]
    blocks: list[ContentBlock]
    last: int
    """Index of the last message that is part of it."""


class Results(msgspec.Struct, frozen=True):
    """The results of the assistant turn before it, one for each call, in order."""

    blocks: tuple[ToolResultBlock, ...]
    last: int
    """Index of the last message that is part of it."""


Turn: TypeAlias = Said | Results


def turns_of(messages: Iterable[Message]) -> list[Turn]:
    """Return the conversation as turns, by the rules at the top of this file."""
    turns = _Turns()
    last = -1
    for last, message in enumerate(messages):
        if message.role == "tool":
            turns.take(message.content)
        else:
            turns.settle(last - 1)
            turns.say(message.role, message.content, last)
    turns.settle(last)
    return turns.done


class _Turns:
    """The turns so far, and what belongs to the results that are being gathered."""

    def __init__(self) -> None:
        self.done: list[Turn] = []
        self._results: dict[str, ToolResultBlock | None] = {}
        self._spare: list[ContentBlock] = []

    def take(self, content: Iterable[ContentBlock]) -> None:
        """Put each result where its call waits, and all else aside as user content."""
        for block in content:
            if type(block) is not ToolResultBlock:
                self._spare.append(block)
            elif self._results.get(block.call_id, block) is None:
                self._results[block.call_id] = block
            else:
                self._spare += _told(block)

    def settle(self, last: int) -> None:
        """End the gathering of results; a call that has none gets one that says so."""
        if self._results:
            blocks = tuple(
                result or ToolResultBlock(call_id=call_id, output=NO_RESULT)
                for call_id, result in self._results.items()
            )
            self.done.append(Results(blocks, last))
        self.say("user", self._spare, last)
        self._results, self._spare = {}, []

    def say(
        self,
        role: Literal["user", "assistant", "system"],
        blocks: Sequence[ContentBlock],
        last: int,
    ) -> None:
        """Add a turn, or join it to the one before when the role is the same."""
        before = self.done[-1] if self.done else None
        if isinstance(before, Said) and before.role == role:
            before.blocks += blocks
            before.last = last
        elif blocks:
            self.done.append(Said(role, [*blocks], last))
        if role == "assistant":
            calls = (block.id for block in blocks if type(block) is ToolCallBlock)
            self._results.update(dict.fromkeys(calls))


def _told(result: ToolResultBlock) -> Iterator[ContentBlock]:
    """Yield a result as user content."""
    said = f"result of an earlier call of {result.name or result.call_id}: "
    output = result.output if result.has_blocks else ()
    yield TextBlock(text=said + Message.tool_message([result]).text())
    yield from (block for block in output if type(block) is not TextBlock)


def calls_in(turns: Iterable[Turn]) -> Iterator[ToolCallBlock]:
    """Yield all calls of the conversation, in order."""
    for turn in turns:
        if isinstance(turn, Said):
            yield from (b for b in turn.blocks if type(b) is ToolCallBlock)
