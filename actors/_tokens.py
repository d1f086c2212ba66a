"""How full a context is: as the provider counted it, and an estimate of the rest.

1. A provider's count stands for all that came before it; what came since is estimated.
2. Where nobody counts, the estimate so far is kept for each State: no message is looked
   at twice, and asking before every turn costs the same at any length.
"""

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from protocol import Message
from protocol._log import EMPTY, NOTHING, Log, View
from protocol._value import Value

from ._inside import value_of_state
from ._state import State

if TYPE_CHECKING:
    from ._agent import Agent

CHARACTERS_PER_TOKEN = 4
"""A common estimate for text of natural languages."""

TOKENS_PER_IMAGE = 1_000
"""About what providers count for an image of usual size."""


class _Estimate:
    """What the first messages of a State come to, as they read by now."""

    __slots__ = ("_changed", "_count", "_messages", "_now", "tokens")

    def __init__(self) -> None:
        self.tokens = 0
        self._messages: Log[Message] = EMPTY
        self._count = 0
        self._changed: View[tuple[int, Message]] = NOTHING
        self._now: dict[int, int] = {}

    def length_in(self, value: Value) -> int:
        """How many of the value's messages this has counted; 0 for other messages."""
        mine, theirs = self._changed, value.results.changed
        known = value.messages.begins_with(
            value.count, self._messages, self._count
        ) and theirs.log.begins_with(theirs.size, mine.log, mine.size)
        return self._count if known else 0

    def follow(self, value: Value) -> None:
        """Count what came since, and what reads differently since."""
        messages, changed = value.messages, value.results.changed
        for message in messages.iterate(value.count, self._count):
            self.tokens += _estimate(message)
        for index, message in changed.log.iterate(changed.size, self._changed.size):
            before = self._now.get(index)
            if before is None:
                before = _estimate(messages.at(index))
            now = self._now[index] = _estimate(message)
            self.tokens += now - before
        self._messages, self._count, self._changed = messages, value.count, changed


_kept: WeakKeyDictionary[State, _Estimate] = WeakKeyDictionary()


def context_tokens(agent: "Agent", state: State) -> int:
    """Tokens in the context: the last count of a provider, and an estimate of the rest.

    Looks at the messages since that count, or since it was last asked.
    """
    value = value_of_state(state)
    # Taken out while it is changed: whoever asks from another thread counts anew.
    kept = _kept.pop(state, None)
    length = 0 if kept is None else kept.length_in(value)
    since = 0
    results = value.results
    for index in range(
        value.count - 1, max(results.anchors, results.counted, length) - 1, -1
    ):
        message = value.messages.at(index)
        if message.tokens is not None:
            return message.tokens + since
        since += _estimate(message)
    if kept is None or not length:
        kept = _Estimate()
    kept.follow(value)
    _kept[state] = kept
    return kept.tokens + len(agent.system or "") // CHARACTERS_PER_TOKEN


def _estimate(message: Message) -> int:
    images = sum(1 for block in message.content if block.type == "image")
    characters = len(message.text()) + sum(
        len(call.name) + len(str(dict(call.args))) for call in message.tool_calls
    )
    return characters // CHARACTERS_PER_TOKEN + images * TOKENS_PER_IMAGE
