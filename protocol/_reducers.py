"""How an update merges into a field: callables of (left, right), all of them pure.

1. ``left`` is what the field holds, ``right`` the update; neither is changed.
2. A message enters a list once, and only when it is whole: no repeats, no deltas.
3. A message that asks for calls leaves only together with all of their results.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

from ._content import ToolResultBlock
from ._message import Message

T = TypeVar("T")

Reducer: TypeAlias = Callable[[Any, Any], Any]
"""What `Annotated[T, reducer]` names: (left, right) to the field's new value."""

_NO_ID = object()


class MessageIndex:
    """The ids of a list of messages: `add_messages` at the cost of the update alone.

    Keep one beside a list that only grows. `fresh` changes nothing, so that a step
    may fail after it; `add` follows once its messages are in the list.
    """

    __slots__ = ("_ids",)

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._ids: set[str | int] = {message.message_id for message in messages}

    def __contains__(self, message_id: str | int) -> bool:
        return message_id in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def fresh(self, right: Iterable[Message]) -> list[Message]:
        """Those of ``right`` that `add_messages` would append, in order.

        Raises:
            TypeError: An item is not a Message.
        """
        added: dict[str | int, Message] = {}
        for message in _messages(right):
            if not message.delta and message.message_id not in self:
                added.setdefault(message.message_id, message)
        return list(added.values())

    def add(self, messages: Iterable[Message]) -> None:
        """Remember that these messages are in the list now."""
        self._ids.update(message.message_id for message in messages)


def add_messages(left: Iterable[Message], right: Iterable[Message]) -> list[Message]:
    """Append the messages whose id is not there yet.

    Skipped are deltas, ids that ``left`` has, and repeats inside ``right``, of which
    the first counts. The ids 1 and "1" differ.

    Raises:
        TypeError: An item of either is not a Message.
    """
    kept = list(_messages(left))
    return kept + MessageIndex(kept).fresh(right)


def replace_messages(
    left: Iterable[Message],
    right: Iterable[Message],
) -> list[Message]:
    """Keep only the update: its messages without deltas and repeats.

    Raises:
        TypeError: An item of ``right`` is not a Message.
    """
    return MessageIndex().fresh(right)


def append_items(left: Iterable[T], right: Iterable[T]) -> list[T]:
    """Append the items whose id is not there yet.

    An item's id is its attribute ``id``, or the value of its key ``id``. Items without
    one (or with None) are always appended. The ids 1, 1.0, True and "1" differ.
    """
    merged = list(left)
    known = {_item_id(item) for item in merged}
    known.discard(_NO_ID)
    for item in right:
        key = _item_id(item)
        if key not in known:
            merged.append(item)
            if key is not _NO_ID:
                known.add(key)
    return merged


def replace_value(left: object, right: T) -> T:
    """Keep only the update, whatever it is."""
    return right


def remove_tool_messages(
    left: Iterable[Message], right: Iterable[Message] = ()
) -> list[Message]:
    """Add ``right`` as `add_messages` does, then take out finished tool work.

    Finished is a message with calls that all have results and were followed by an
    answer, an assistant message without calls. It goes with its results; a chain of
    several such messages goes whole once it is answered. The answer stays, and so do
    calls that lack a result or an answer, and results of no call in the list.

    Raises:
        TypeError: An item of either is not a Message.
    """
    messages = add_messages(left, right)
    gone = set(_finished_places(messages))
    return [m for place, m in enumerate(messages) if place not in gone]


class _Work:
    """Calls that stand or fall together: their messages' places, the open calls."""

    __slots__ = ("open_ids", "places", "stuck")

    def __init__(self, place: int, call_ids: set[str]) -> None:
        self.places = [place]
        self.open_ids = call_ids
        self.stuck = False
        """Whether a message of it also holds a result of some other call."""

    def join(self, other: "_Work") -> None:
        self.places += other.places
        self.open_ids |= other.open_ids
        self.stuck |= other.stuck


def _finished_places(messages: list[Message]) -> Iterator[int]:
    unanswered: list[_Work] = []
    for place, message in enumerate(messages):
        if call_ids := {call.id for call in message.tool_calls}:
            unanswered.append(_Work(place, call_ids))
        elif message.role == "tool":
            _take_results(unanswered, place, message)
        elif message.role == "assistant":
            done = [work for work in unanswered if not work.open_ids]
            unanswered = [work for work in unanswered if work.open_ids]
            yield from (p for work in done if not work.stuck for p in work.places)


def _take_results(unanswered: list[_Work], place: int, message: Message) -> None:
    """Close the calls that a tool message answers; what it joins is one work now."""
    joined: _Work | None = None
    stuck = False
    for block in message.content:
        if not isinstance(block, ToolResultBlock):
            continue
        work = _asking(unanswered, block.call_id)
        if work is None:
            stuck = True
            continue
        work.open_ids.discard(block.call_id)
        if joined is None:
            joined = work
        elif joined is not work:
            joined.join(work)
            unanswered.remove(work)
    if joined is not None:
        joined.places.append(place)
        joined.stuck |= stuck


def _asking(unanswered: list[_Work], call_id: str) -> _Work | None:
    """The newest work that has this call open: ids may come again in a later turn."""
    return next((w for w in reversed(unanswered) if call_id in w.open_ids), None)


def _messages(items: Any) -> Iterator[Message]:
    if not issubclass(type(items), Iterable):
        raise TypeError(f"messages must be a list, got {items!r}: write [message]")
    for item in items:
        if not isinstance(item, Message):
            raise TypeError(
                f"messages must be Message objects, got {item!r}:"
                " write [Message.text_message(text)]"
            )
        yield item


def _item_id(item: Any) -> object:
    is_dict = issubclass(type(item), Mapping)
    found = item.get("id") if is_dict else getattr(item, "id", None)
    return _NO_ID if found is None else (found.__class__, found)
