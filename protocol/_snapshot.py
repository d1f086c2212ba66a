"""`StateSnapshot`: the frozen value of a State at one moment."""

from typing import Never, Self

from ._context import read_messages
from ._entries import HistoryEntry
from ._message import Message
from ._reading import Reading
from ._value import NOTHING_RECORDED, Calling, Value


class StateSnapshot(Reading):
    """The value of a State at one moment: what ``state.snapshot()`` returns.

    Every field is a pure function of ``history``, so equal histories give equal
    snapshots. Two snapshots are equal when their public fields are, times left out.
    It never changes while you hold it; ``state.restore(snapshot)`` goes back to it.
    It lives in memory: to keep one across processes keep its history.

    ``history``, ``messages`` and ``pending_calls`` are tuples that are built at the
    first read (about 8 ns an entry) and kept with the snapshot.
    """

    __slots__ = ("_history", "_messages", "_value")

    _value: Value
    _history: tuple[HistoryEntry, ...] | None
    _messages: tuple[Message, ...] | None

    def __init__(self) -> None:
        _fill(self, NOTHING_RECORDED)

    @property
    def history(self) -> tuple[HistoryEntry, ...]:
        """Everything that happened, oldest first."""
        history = self._history
        if history is None:
            history = self._value.history.read(self._value.size)
            _set(self, "_history", history)
        return history

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model will see at the next think."""
        messages = self._messages
        if messages is None:
            messages = read_messages(self._value)
            _set(self, "_messages", messages)
        return messages

    def _now(self) -> Value:
        return self._value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateSnapshot):
            return NotImplemented
        mine, theirs = self._value, other._value
        if mine.size != theirs.size:
            return False
        if mine.history.begins_with(mine.size, theirs.history, theirs.size):
            return True
        return self.history == other.history and _fields(self) == _fields(other)

    def __hash__(self) -> int:
        return hash((self._value.size, self._value.turn))

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(
            f"a snapshot never changes: cannot set {name!r}; change the State and "
            f"take a new one"
        )

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(f"a snapshot never changes: cannot delete {name!r}")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> Never:
        raise TypeError(
            "a snapshot lives in memory and cannot be pickled: keep its history, and "
            "State(history=snapshot.history) rebuilds the same value"
        )

    def __repr__(self) -> str:
        value = self._value
        return (
            f"StateSnapshot({value.size} entries, {value.count} messages, "
            f"turn {value.turn}, {value.phase})"
        )


_set = object.__setattr__


def _fields(snapshot: StateSnapshot) -> tuple[object, ...]:
    return (
        snapshot.messages,
        snapshot.pending_calls,
        snapshot.turn,
        snapshot.usage,
        snapshot.extra_data,
        snapshot.finished,
        snapshot.answer,
        snapshot.stopped,
    )


def _fill(snapshot: StateSnapshot, value: Value) -> None:
    _set(snapshot, "_value", value)
    _set(snapshot, "_history", None)
    _set(snapshot, "_messages", None)


def snapshot_of(value: Value) -> StateSnapshot:
    """A published value as users see it."""
    snapshot = StateSnapshot.__new__(StateSnapshot)
    _fill(snapshot, value)
    return snapshot


def value_of(snapshot: StateSnapshot) -> Value:
    """The published value behind a snapshot."""
    return snapshot._value


def waits_for_user(value: Value) -> bool:
    """Whether no call is pending and the last message is a reply without calls.

    A message added in the meantime counts as the last one, held or not.
    """
    if type(value.open) is Calling or value.held.size or not value.count:
        return False
    last = value.messages.at(value.count - 1)
    return last.role == "assistant" and not last.tool_calls
