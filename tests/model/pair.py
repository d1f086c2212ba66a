"""One State and its oracle, driven together and compared after every command.

1. Both get each command; the outcome and every public field must be the same.
2. A real history only grows: each read is a beginning of each later read.
3. What is compared is read through public names only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, cast

import msgspec

from actors import ActorClosed, State
from protocol import HistoryEntry, Message, MessageEntry, StateSnapshot, UnknownEntry
from protocol._codec import decode_entry, encode_entry
from protocol._snapshot import value_of, waits_for_user

from .expected import Expected, Outcome, same
from .oracle import IDLE, CannotFollow, Value, fold

FIELDS = (
    "messages",
    "held_messages",
    "pending_calls",
    "phase",
    "turn",
    "usage",
    "finished",
    "stopped",
)
JSON_FIELDS = ("answer", "extra_data")


@dataclass
class Kept:
    """A snapshot, and what it read as when it was taken."""

    snapshot: StateSnapshot
    history: list[Any]
    value: Value

    def made_again(self) -> StateSnapshot:
        """An equal snapshot of another State: its ids and numbers are others."""
        return State(history=map(_twin, self.snapshot.history)).snapshot()


class Pair:
    """A State beside its oracle."""

    def __init__(self, state: State, expected: Expected) -> None:
        self.state = state
        self.expected = expected
        self.kept: list[Kept] = []
        self._last_read: tuple[Any, ...] = ()
        self.compare()

    @classmethod
    def start(cls, messages: list[Message], extra_data: dict[str, Any]) -> "Pair":
        """A new State: what it starts from is an import and an edit."""
        state = State(messages=messages, extra_data=extra_data)
        expected = Expected()
        wanted: list[dict[str, Any]] = []
        if messages:
            wanted.extend(expected.import_messages(tuple(messages)).entries)
        if extra_data:
            wanted.extend(expected.edit_extra_data(extra_data).entries)
        expected.accept(Outcome(entries=tuple(wanted)), list(state.history))
        return cls(state, expected)

    def do(self, outcome: Outcome, act: Callable[[], object]) -> None:
        """Do it to the State, and check that it did what `outcome` says."""
        before = len(self.expected.history)
        if self.expected.closed and (outcome.errors or outcome.entries):
            # On a closed State what is wrong in itself may be refused as that.
            outcome = Outcome(errors=(*outcome.errors, ActorClosed))
        raised: Exception | None = None
        try:
            act()
        except Exception as error:
            raised = error
        if outcome.errors:
            assert raised is not None, f"no error, expected {outcome.errors}"
            assert type(raised) in outcome.errors, (
                f"raised {raised!r}, expected {outcome.errors}"
            )
            assert len(self.state.history) == before, "refused, and yet recorded"
        else:
            if raised is not None:
                raise AssertionError(f"raised {raised!r}") from raised
            self.expected.accept(outcome, list(self.state.history[before:]))
        self.compare()

    def compare(self) -> None:
        """Compare every public field of the State with the oracle."""
        state, expected = self.state, self.expected
        history = state.history
        assert len(history) == len(expected.history), "entries came or went"
        ours = expected.history
        assert all(a is b for a, b in zip(history, ours, strict=True)), (
            "an entry was exchanged"
        )
        assert history[: len(self._last_read)] == self._last_read
        self._last_read = history
        compare_value(state, expected.value)
        parent = expected.value.parent or (None, None)
        assert (state.parent_id, state.parent_call_id) == parent, "parent"
        if expected.value.phase == IDLE:
            waits = waits_for_user(value_of(state.snapshot()))
            assert waits == expected.value.waiting_for_user, "waiting for the user"
        first, last = (history[0].at, history[-1].at) if history else (None, None)
        assert (state.created_at, state.updated_at) == (first, last), "times"

    def replay(self) -> None:
        """A State made from the history has the same value, mid-turn too."""
        self._compare_with(State(history=self.state.history))

    def reload(self) -> None:
        """So has one whose history was written down and read again."""
        history = [decode_entry(encode_entry(e)) for e in self.state.history]
        assert tuple(history) == self.state.history, "the codec changed an entry"
        self._compare_with(State(history=cast("list[HistoryEntry]", history)))

    def _compare_with(self, copy: State) -> None:
        snapshot = self.state.snapshot()
        assert copy.snapshot() == snapshot, "a replay differs"
        ids = [message.message_id for message in copy.messages]
        assert ids == [m.message_id for m in snapshot.messages], "ids of a replay"
        compare_value(copy, self.expected.value)

    def check_children(self) -> None:
        """A child is known by the results that name it; here none can be opened."""
        known = {
            child_id
            for entry in self.expected.history
            if entry.kind == "tool_result"
            for child_id in entry.child_ids
        }
        for child_id, error in {
            **dict.fromkeys(known, ValueError),
            "-": KeyError,
        }.items():
            try:
                self.state.child(child_id)
            except (KeyError, ValueError) as raised:
                assert type(raised) is error, f"child {child_id!r}: {raised!r}"
            else:
                raise AssertionError(f"{child_id!r} was opened")

    def keep_snapshot(self) -> None:
        snapshot = self.state.snapshot()
        compare_value(snapshot, self.expected.value)
        value = self.expected.value.copy()
        self.kept.append(Kept(snapshot, list(self.expected.history), value))

    def check_kept(self) -> None:
        """Every snapshot still reads as it did when it was taken."""
        for kept in self.kept:
            compare_value(kept.snapshot, kept.value)
            assert list(kept.snapshot.history) == kept.history, "a snapshot changed"

    def close(self) -> None:
        """End the actor; whatever records is refused from now on."""
        self.state.close()
        self.expected.close()
        self.compare()

    def fork(self) -> "Pair | None":
        """Fork the State; the pair of the copy, or None when that was refused."""
        outcome = self.expected.fork()
        if outcome.errors:
            self.do(outcome, self.state.fork)
            return None
        origin = (self.state.id, len(self.expected.history))
        copy = self.state.fork()
        self.compare()
        expected = Expected(self.expected.history)
        shared = len(expected.history)
        assert copy.history[:shared] == self.state.history, "a fork's beginning"
        expected.accept(outcome, list(copy.history[shared:]))
        if not outcome.entries:
            assert copy.snapshot() == self.state.snapshot(), "a fork differs"
        assert copy.id != self.state.id, "a fork has an id of its own"
        assert copy.forked_from is not None, "a fork knows where it came from"
        assert (copy.forked_from.id, copy.forked_from.entries) == origin
        pair = Pair(copy, expected)
        pair.kept = list(self.kept)
        return pair


def _twin(entry: HistoryEntry) -> HistoryEntry:
    """An entry that is `==`, and yet not the same: another id, 1.0 in place of 1."""
    if entry.kind == "extra_data":
        other = {
            key: float(value) if type(value) is int and abs(value) < 9 else value
            for key, value in entry.content.items()
        }
        return msgspec.structs.replace(entry, content=other)
    if isinstance(entry, MessageEntry):
        message = msgspec.structs.replace(entry.message, message_id="another")
        return msgspec.structs.replace(entry, message=message)
    return entry


def compare_value(real: Any, value: Value) -> None:
    """Compare a State or a snapshot with a value of the oracle."""
    for name in FIELDS:
        ours, theirs = field_of(value, name), getattr(real, name)
        assert theirs == ours, f"{name}: expected {ours!r}, got {theirs!r}"
        assert type(theirs) is type(ours), f"{name}: {type(theirs)}"
    for name in JSON_FIELDS:
        ours, theirs = field_of(value, name), getattr(real, name)
        assert same(theirs, ours), f"{name}: expected {ours!r}, got {theirs!r}"


def field_of(value: Value, name: str) -> Any:
    match name:
        case "messages":
            return tuple(value.messages)
        case "held_messages":
            return tuple(value.held)
        case "pending_calls":
            return value.pending
        case "extra_data":
            return value.extra
        case _:
            return getattr(value, name)


def altered(history: list[Any], random: Random) -> list[Any]:
    """A history that nobody recorded: entries go, come twice or change places."""
    entries = list(history)
    if not entries:
        return entries
    at = random.randrange(len(entries))
    match random.randrange(5):
        case 0:
            del entries[at]
        case 1:
            entries.insert(at, random.choice(entries))
        case 2:
            other = random.randrange(len(entries))
            entries[at], entries[other] = entries[other], entries[at]
        case 3:
            entries.insert(at, UnknownEntry(kind="of_2031", raw=b"\x80"))
        case _:
            del entries[at:]
    return entries


def compare_histories(entries: list[Any]) -> None:
    """A history that may be impossible: both refuse it, or both give one value."""
    refusal: CannotFollow | None = None
    values: list[Value] = []
    try:
        values = fold(entries)
    except CannotFollow as error:
        refusal = error
    try:
        state = State(history=entries)
    except ValueError as error:
        # An error at the first entry that cannot follow, and not at a later one.
        assert refusal is not None, f"refused: {error}"
        for part in (str(refusal.index), refusal.kind):
            assert part in str(error), f"{error} does not say {part}"
        return
    assert refusal is None, f"not refused: {refusal}"
    compare_value(state, values[-1])
