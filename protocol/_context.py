"""The messages part of a value: what goes in, what is blanked, what is compacted.

1. A message that went in is never replaced in its log. One that reads differently now
   stands in ``results.changed`` beside it, so that clearing costs what it changes.
2. Results are counted in the order they stand in; blanking goes from the oldest on, and
   the one that ``results.cleared`` counts up to is never blank: there is always
   something to clear behind it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from msgspec import structs

from ._content import ToolResultBlock
from ._log import EMPTY, NOTHING
from ._message import Message
from ._value import NO_RESULTS, Thinking, Value

CLEARED = "(cleared: kept in history)"
"""What a blanked result reads."""


def put(value: Value, message: Message) -> None:
    """Put a message behind the others; remember where its tool results stand."""
    index = value.count
    value.messages = value.messages.append(index, message)
    value.count = index + 1
    if message.role == "tool":
        _put_results(value, index, message)


def _put_results(value: Value, index: int, message: Message) -> None:
    places, cleared = value.results.places, value.results.cleared
    for number, block in enumerate(message.content):
        if type(block) is ToolResultBlock:
            if cleared == places.size and _is_blank(block):
                cleared += 1
            places = places.append((index, number))
    value.results = structs.replace(value.results, places=places, cleared=cleared)


def put_all(value: Value, messages: Iterable[Message]) -> None:
    """Put messages behind the others, in order."""
    for message in messages:
        put(value, message)


def remember_first(value: Value, messages: Iterable[Message]) -> None:
    """Keep the first user message that is no notice, if none is kept yet."""
    if value.facts.first_user is None:
        for message in messages:
            if message.role == "user" and not message.is_notice:
                value.facts = structs.replace(value.facts, first_user=message)
                return


def release_held(value: Value) -> None:
    """The phase ended: held messages go in, once, in order."""
    held = value.held
    if held.size:
        value.held = NOTHING
        put_all(value, held.read())


class Messages(Sequence[Message]):
    """What the model sees, as a view: nothing is copied, and it never changes."""

    __slots__ = ("_changed", "_value")

    def __init__(self, value: Value) -> None:
        self._value = value
        self._changed: dict[int, Message] | None = None

    def __len__(self) -> int:
        return self._value.count

    def __iter__(self) -> Iterator[Message]:
        return self._from(0)

    def _from(self, start: int, stop: int | None = None) -> Iterator[Message]:
        count = self._value.count if stop is None else stop
        messages = self._value.messages.iterate(count, start)
        changed = self._replaced()
        if not changed:
            return messages
        return (changed.get(i, message) for i, message in enumerate(messages, start))

    def _replaced(self) -> dict[int, Message]:
        """The messages that read differently now, by index."""
        changed = self._changed
        if changed is None:
            changed = self._changed = dict(self._value.results.changed.read())
        return changed

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        count = self._value.count
        if isinstance(index, slice):
            start, stop, step = index.indices(count)
            if step == 1:
                return tuple(self._from(start, stop))
            return tuple(self._at(i) for i in range(start, stop, step))
        place = index + count if index < 0 else index
        if not 0 <= place < count:
            raise IndexError(f"no message at index {index}: there are {count}")
        return self._at(place)

    def _at(self, index: int) -> Message:
        message = self._replaced().get(index)
        return self._value.messages.at(index) if message is None else message

    def __repr__(self) -> str:
        return f"Messages({list(self)!r})"


def read_messages(value: Value) -> tuple[Message, ...]:
    """What the model sees, as a tuple of its own: about 8 ns a message."""
    messages = value.messages.read(value.count)
    changed = value.results.changed
    if not changed.size:
        return messages
    now = list(messages)
    for index, message in changed.read():
        now[index] = message
    return tuple(now)


def _is_blank(block: object) -> bool:
    return isinstance(block, ToolResultBlock) and block.output == CLEARED


def _result(value: Value, number: int) -> tuple[str, bool]:
    """The call id of a result, and whether it reads blanked as it came in."""
    index, place = value.results.places.log.at(number)
    block = value.messages.at(index).content[place]
    assert isinstance(block, ToolResultBlock), "places point at results only"
    return block.call_id, _is_blank(block)


def results_to_clear(value: Value, keep_last: int) -> tuple[str, ...]:
    """The call ids, oldest first, of the results that clearing would change."""
    results = value.results
    names: list[str] = []
    for number in range(results.cleared, results.places.size - keep_last):
        if number not in results.more:
            name, blank = _result(value, number)
            if not blank:
                names.append(name)
    return tuple(names)


def clear_results(value: Value, names: Sequence[str]) -> None:
    """Blank, for each name, the oldest result of that call that is not blank yet.

    Drops the token counts of all messages: they counted what is gone.

    Raises:
        ValueError: there is no such result.
    """
    numbers, cleared, more = _numbers(value, names)
    value.results = structs.replace(value.results, cleared=cleared, more=more)
    places = value.results.places.log
    view = value.results.changed
    blanked = {places.at(number)[0]: number for number in reversed(numbers)}
    for index, number in sorted(blanked.items()):
        view = view.append((index, _blanked(value, index, number)))
    for index, message in _with_anchor(value):
        if index not in blanked:
            view = view.append((index, structs.replace(message, tokens=None)))
    value.results = structs.replace(value.results, changed=view, anchors=value.count)


def _numbers(
    value: Value, names: Sequence[str]
) -> tuple[list[int], int, frozenset[int]]:
    """The results that names mean; the blanked beginning and further ones after it."""
    results = value.results
    size, first = results.places.size, results.cleared
    more = set(results.more)
    numbers: list[int] = []
    for name in names:
        number = first
        while number < size:
            found, blank = _result(value, number)
            if number not in more and not blank and found == name:
                break
            number += 1
        else:
            raise ValueError(f"there is no uncleared result of a call {name!r}")
        numbers.append(number)
        more.add(number)
        first = _end_of_blank(value, first, more)
    more = {number for number in more if number >= first}
    return numbers, first, frozenset(more)


def _end_of_blank(value: Value, first: int, more: set[int]) -> int:
    """Where the beginning that is wholly blanked ends."""
    size = value.results.places.size
    while first < size and (first in more or _result(value, first)[1]):
        first += 1
    return first


def _blanked(value: Value, index: int, number: int) -> Message:
    """The message at ``index``, which holds this result, with all due ones blank."""
    results, log = value.results, value.results.places.log
    while number and log.at(number - 1)[0] == index:
        number -= 1
    message = value.messages.at(index)
    content = list(message.content)
    while number < results.places.size and log.at(number)[0] == index:
        if number < results.cleared or number in results.more:
            place = log.at(number)[1]
            content[place] = structs.replace(content[place], output=CLEARED)
        number += 1
    return structs.replace(message, content=tuple(content), tokens=None)


def _with_anchor(value: Value) -> list[tuple[int, Message]]:
    """The messages since the last clearing that still carry a token count."""
    start = value.results.anchors
    messages = value.messages.iterate(value.count, start)
    return [(i, m) for i, m in enumerate(messages, start) if m.tokens is not None]


def _is_same(message: Message, first: Message | None) -> bool:
    """Whether this is that very message: two may share an id, or their words."""
    return message is first or (
        first is not None
        and message.message_id == first.message_id
        and message.timestamp == first.timestamp
        and message == first
    )


def compact(value: Value, notice: Message, kept: int) -> None:
    """Messages become the first user message, the notice, and the last ``kept``.

    A first message that is among the kept ones does not stand there twice; one that is
    held goes in when the phase ends, and only then.
    """
    view = Messages(value)
    first = value.facts.first_user
    held = any(_is_same(message, first) for message in value.held.read())
    rest = [m for m in view[max(len(view) - kept, 0) :] if not _is_same(m, first)]
    start_again(value, [notice] if first is None or held else [first, notice])
    put_all(value, rest)
    value.results = structs.replace(value.results, counted=value.count)
    if type(value.open) is Thinking:
        value.open = structs.replace(value.open, start=None)


def take_out(value: Value, start: int | None, messages: Sequence[Message]) -> None:
    """Take out messages that went in last, at ``start`` or, if None, anywhere by now.

    What was blanked or lost its token count stays so.
    """
    results = value.results
    if start is not None:
        value.count = start
        if results.anchors > start:
            value.results = structs.replace(results, anchors=start)
        return
    gone = {message.message_id for message in messages}
    now = read_messages(value)
    rest = [message for message in now if message.message_id not in gone]
    if len(rest) != len(now):
        early = now[: results.counted]
        lost = sum(message.message_id in gone for message in early)
        start_again(value, rest)
        counted = results.counted - lost
        value.results = structs.replace(value.results, counted=counted)


def start_again(value: Value, messages: Sequence[Message]) -> None:
    """Put these messages in the place of all others."""
    value.messages, value.count, value.results = EMPTY, 0, NO_RESULTS
    put_all(value, messages)
