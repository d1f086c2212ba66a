import copy
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from actors import Message, State, StateSnapshot
from protocol._context import Messages
from protocol._snapshot import value_of, waits_for_user
from tests.effort import instructions, peak_bytes
from tests.turns import ask, call, close, fail, receive, think, turn_with_calls

READ = (
    "history", "messages", "pending_calls", "held_messages", "questions", "phase",
    "turn", "usage", "extra_data", "finished", "answer", "stopped", "parent_id",
    "parent_call_id", "created_at", "updated_at",
)  # fmt: skip


def conversation() -> State:
    state = State(messages=[Message.user("x")], extra_data={"n": 1})
    turn_with_calls(state, ["a"])
    think(state, text="answer")
    return state


def test_a_fresh_snapshot_is_that_of_a_new_state() -> None:
    assert StateSnapshot() == State().snapshot()
    assert StateSnapshot().history == ()


@pytest.mark.parametrize("name", READ)
def test_a_snapshot_reads_as_its_state_does(name: str) -> None:
    state = conversation()
    ask(state)
    state.add_message(Message.user("held"))
    assert getattr(state.snapshot(), name) == getattr(state, name)


@pytest.mark.parametrize("name", [*READ, "_value", "anything"])
def test_a_snapshot_never_changes(name: str) -> None:
    snapshot = conversation().snapshot()
    history = snapshot.history
    with pytest.raises(AttributeError, match="never changes"):
        setattr(snapshot, name, None)
    with pytest.raises(AttributeError, match="never changes"):
        delattr(snapshot, name)
    assert snapshot.history is history


def test_equal_histories_give_equal_snapshots() -> None:
    state = conversation()
    first, second = state.snapshot(), State(history=state.history).snapshot()
    assert first == second
    assert hash(first) == hash(second)
    assert first == state.snapshot()


def test_times_and_ids_are_not_compared() -> None:
    state = conversation()
    later = datetime(2031, 1, 1, tzinfo=UTC)
    moved = [structs.replace(entry, at=later) for entry in state.history]
    assert State(history=moved).snapshot() == state.snapshot()
    assert State(history=moved).created_at != state.created_at
    assert State(messages=[Message.user("x")]).snapshot() == (
        State(messages=[Message.user("x")]).snapshot()
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.add_message(Message.user("more")),
        lambda state: state.finish(),
        lambda state: state.compact("so far"),
        ask,
    ],
)
def test_another_history_is_another_snapshot(change: Any) -> None:
    state = conversation()
    before = state.snapshot()
    change(state)
    assert state.snapshot() != before
    assert State(messages=[Message.user("y")]).snapshot() != (
        State(messages=[Message.user("z")]).snapshot()
    )


def test_a_snapshot_is_compared_with_snapshots_only() -> None:
    assert conversation().snapshot() != conversation()
    assert (State().snapshot() == ()) is False


def test_a_snapshot_lives_in_memory() -> None:
    snapshot = conversation().snapshot()
    assert copy.copy(snapshot) is snapshot
    assert copy.deepcopy({"kept": snapshot})["kept"] is snapshot
    with pytest.raises(TypeError, match="keep its history"):
        pickle.dumps(snapshot)


def test_repr_has_the_counts() -> None:
    text = "StateSnapshot(7 entries, 4 messages, turn 2, idle)"
    assert repr(conversation().snapshot()) == text


def test_tuples_are_built_once_for_each_snapshot() -> None:
    snapshot = conversation().snapshot()
    assert snapshot.history is snapshot.history
    assert snapshot.messages is snapshot.messages


@pytest.mark.parametrize("name", READ)
def test_a_property_costs_the_same_at_any_length(name: str) -> None:
    costs: list[int] = []
    for length in (10, 2_000):
        state = State(messages=[Message.user("x")])
        for _ in range(length):
            state.add_message(Message.user("x"))
        costs.append(instructions(lambda s=state: getattr(s, name)))
    assert costs[0] == costs[1]


def test_a_snapshot_and_a_commit_need_the_same_memory_at_any_length() -> None:
    needed: list[int] = []
    for length in (16, 4_096):
        state = State(messages=[Message.user("x")])
        for _ in range(length + 8):  # the logs' lists have room for the next ones
            state.add_message(Message.user("x"))
        message = Message.user("y")
        needed.append(peak_bytes(lambda s=state, m=message: s.add_message(m)))
        needed.append(peak_bytes(state.snapshot))
    assert max(needed) < 4_000


# Whose turn it is.


def test_a_state_waits_for_the_user_after_a_reply_without_calls() -> None:
    state = State()
    assert not waits_for_user(value_of(state.snapshot()))
    state.add_message(Message.user("x"))
    assert not waits_for_user(value_of(state.snapshot()))
    think(state, call("a"), text="let me see")
    assert not waits_for_user(value_of(state.snapshot()))
    close(state, call("a"))
    assert not waits_for_user(value_of(state.snapshot()))
    think(state, text="answer")
    assert waits_for_user(value_of(state.snapshot()))


def test_a_message_that_is_held_counts_as_the_last_one() -> None:
    state = conversation()
    ask(state)
    state.add_message(Message.user("more"))
    assert not waits_for_user(value_of(state.snapshot()))
    fail(state)
    assert not waits_for_user(value_of(state.snapshot()))


# What the model sees, as a view.


def test_a_view_of_the_messages_reads_as_the_tuple_does() -> None:
    state = conversation()
    state.clear_tool_results(0)
    state.add_message(Message.user("more"))
    view, whole = Messages(value_of(state.snapshot())), state.messages
    assert len(view) == len(whole)
    assert tuple(view) == whole
    assert [view[i] for i in range(-len(whole), len(whole))] == [*whole, *whole]
    for part in (slice(None), slice(1, 3), slice(-2, None), slice(None, None, -1)):
        assert view[part] == whole[part]
    assert list(reversed(view)) == list(reversed(whole))
    assert whole[2] in view
    assert repr(view) == f"Messages({list(whole)!r})"


@pytest.mark.parametrize("index", [5, -6, 100])
def test_a_view_has_no_message_beyond_its_ends(index: int) -> None:
    state = conversation()
    state.add_message(Message.user("more"))
    with pytest.raises(IndexError, match="there are 5"):
        Messages(value_of(state.snapshot()))[index]


def test_a_view_stays_as_it_was() -> None:
    state = conversation()
    view = Messages(value_of(state.snapshot()))
    before = tuple(view)
    ask(state)
    state.clear_tool_results(0)
    receive(state, text="more")
    assert tuple(view) == before


def test_a_view_of_a_long_conversation_costs_nothing_to_take() -> None:
    costs: list[int] = []
    for turns in (3, 300):
        state = State(messages=[Message.user("x")])
        for turn in range(turns):
            turn_with_calls(state, [f"call-{turn}"])
            state.clear_tool_results(1)
        value = value_of(state.snapshot())
        costs.append(instructions(lambda v=value: Messages(v)))
    assert costs[0] == costs[1]
