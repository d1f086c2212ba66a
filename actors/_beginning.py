"""What a State starts from: messages and extra data, or a history."""

from collections.abc import Iterable, Mapping
from typing import Any

from protocol._commands import EditExtraData, Import, NoteEvent
from protocol._decide import step
from protocol._entries import HistoryEntry, ModelEvent
from protocol._fold import replay
from protocol._json import FrozenDict, freeze
from protocol._message import Message
from protocol._not_json import a_kind
from protocol._pairs import close_open_calls, first_open_call
from protocol._value import NOTHING_RECORDED, Value

from ._mailbox import now


def first_value(
    messages: Iterable[Message],
    extra_data: Mapping[str, Any] | None,
    history: Iterable[HistoryEntry] | None,
    repair: bool,
) -> Value:
    """The value a new State starts with; see `State` for what is refused."""
    if history is not None:
        if extra_data is not None or messages != ():
            raise TypeError(
                "history= cannot go with messages= or extra_data=: the history "
                "already holds them"
            )
        return replay(history)
    value = NOTHING_RECORDED
    if messages != ():
        value = _import(value, _checked(messages), repair)
    if extra_data is not None:
        value = _first_data(value, extra_data)
    return value


def _checked(messages: Iterable[Message]) -> tuple[Message, ...]:
    kind: type = type(messages)
    if not issubclass(kind, (list, tuple)) and (
        issubclass(kind, _NO_LISTS) or not issubclass(kind, Iterable)
    ):
        raise TypeError(
            f"messages= takes a list of messages, not {a_kind(messages)}: "
            f"write messages=[Message.user('...')]"
        )
    found = tuple(messages)
    for message in found:
        if type(message) is not Message:
            raise TypeError(
                f"messages[{found.index(message)}] is {a_kind(message)}, not a "
                f"Message: write Message.user('...')"
            )
    return found


_NO_LISTS = (str, bytes, Mapping, Message)
"""What can be iterated over, or nearly so, and is no list of messages."""


def _import(value: Value, messages: tuple[Message, ...], repair: bool) -> Value:
    call = first_open_call(messages)
    if call is None:
        return step(value, Import(messages), now)
    if not repair:
        raise ValueError(
            f"the call {call.id!r} of tool {call.name!r} in messages= has no result: "
            f"add the tool message with it, or close such calls with "
            f"State(messages=..., repair=True)"
        )
    repaired, closed = close_open_calls(messages)
    event = ModelEvent(
        kind="repair",
        message="closed as cancelled, without a result in the imported messages: "
        + ", ".join(f"{call.name} ({call.id})" for call in closed),
        data={"call_ids": [call.id for call in closed]},
    )
    value = step(value, Import(repaired), now)
    return step(value, NoteEvent(event), now)


def _first_data(value: Value, extra_data: Mapping[str, Any]) -> Value:
    given: Any = extra_data  # not every caller has a type checker
    if not isinstance(given, Mapping):
        raise TypeError(f"extra_data= takes a dict of JSON values, not {a_kind(given)}")
    frozen: FrozenDict[str, Any] = freeze(dict(extra_data), "extra_data")
    return step(value, EditExtraData(frozen, ()), now)
