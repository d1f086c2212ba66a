"""Going back: every value as it was, but nothing that happened is taken away."""

from typing import Any

import pytest

from actors import AgentInfo, Message, State, StateSnapshot, Usage
from protocol._commands import StartRun
from tests.effort import instructions
from tests.turns import (
    SPENT,
    ask,
    call,
    close,
    kinds,
    receive,
    report_late,
    send,
    texts,
    think,
    turn_with_calls,
)


def conversation() -> State:
    state = State(messages=[Message.user("x")], extra_data={"n": 1})
    turn_with_calls(state, ["a", "b"])
    think(state, text="answer", usage=SPENT)
    return state


def test_every_value_goes_back_but_usage_history_and_times() -> None:
    state = conversation()
    before, messages = state.snapshot(), state.messages
    think(state, text="another", usage=SPENT)
    state.clear_tool_results(0)
    state.finish(7)
    with state.edit_extra_data() as data:
        data["n"] = 2
    grown = state.history
    state.restore(before)
    assert state.messages == messages
    assert (state.turn, state.answer, state.extra_data) == (2, "answer", {"n": 1})
    assert (state.finished, state.stopped) == (False, None)
    assert state.usage == SPENT + SPENT
    assert state.history[:-1] == grown
    entry = state.history[-1]
    assert (entry.kind, entry.content.kind) == ("context_change", "restore")
    assert entry.content.restored_to == len(before.history)
    assert state.updated_at == entry.at
    assert State(history=state.history).snapshot() == state.snapshot()


def test_only_a_restore_takes_a_finish_back() -> None:
    state = conversation()
    before = state.snapshot()
    state.finish()
    state.restore(before)
    think(state, text="it goes on")
    assert state.answer == "it goes on"


def test_the_link_to_the_parent_stays() -> None:
    state = State()
    before = state.snapshot()
    send(state, StartRun(AgentInfo(), parent_id="p", parent_call_id="c"))
    state.restore(before)
    assert (state.parent_id, state.parent_call_id) == ("p", "c")


def test_late_notices_wait_as_they_did_then() -> None:
    state = conversation()
    report_late(state, call("a"), "one")
    before = state.snapshot()
    ask(state)
    receive(state, text="done")
    report_late(state, call("b"), "two")
    state.restore(before)
    ask(state)
    assert texts(state)[-1] == "[notice] interrupted search finished later: one"
    assert State(history=state.history).snapshot() == state.snapshot()


def test_a_state_goes_back_and_forth() -> None:
    state = State()
    empty = state.snapshot()
    state.add_message(Message.user("a"))
    one = state.snapshot()
    state.restore(empty)
    assert state.messages == ()
    state.add_message(Message.user("b"))
    other = state.snapshot()
    state.restore(one)
    assert texts(state) == ["a"]
    state.restore(other)
    assert texts(state) == ["b"]
    assert State(history=state.history).snapshot() == state.snapshot()
    assert [each.messages for each in (empty, one)] == [(), one.messages]


def test_what_is_added_after_going_back_does_not_change_kept_snapshots() -> None:
    state = conversation()
    before = state.snapshot()
    state.add_message(Message.user("first try"))
    tried = state.snapshot()
    state.restore(before)
    state.add_message(Message.user("second try"))
    turn_with_calls(state, ["c"])
    state.clear_tool_results(0)
    assert tried.messages[-1].text() == "first try"
    assert tried.messages[2].content[0].output == "result of a"
    assert before.messages == tried.messages[:-1]


def test_a_snapshot_of_a_state_rebuilt_from_the_same_history_is_taken() -> None:
    state = conversation()
    before = State(history=state.history).snapshot()
    state.add_message(Message.user("more"))
    state.restore(before)
    assert state.messages == before.messages
    turn_with_calls(state, ["c"])
    assert len(before.messages) + 2 == len(state.messages)


def test_a_fork_goes_back_to_a_snapshot_of_its_original() -> None:
    state = conversation()
    before = state.snapshot()
    state.add_message(Message.user("more"))
    copy = state.fork()
    copy.add_message(Message.user("and more"))
    copy.restore(before)
    assert copy.messages == before.messages
    state.add_message(Message.user("in the original"))
    with pytest.raises(ValueError, match="another State"):
        copy.restore(state.snapshot())


def calling_snapshot() -> tuple[State, StateSnapshot]:
    state = conversation()
    think(state, call("c"))
    taken = state.snapshot()
    close(state, call("c"))
    return state, taken


def thinking_snapshot() -> tuple[State, StateSnapshot]:
    state = conversation()
    ask(state)
    taken = state.snapshot()
    receive(state, text="done")
    return state, taken


def longer_snapshot() -> tuple[State, StateSnapshot]:
    state = conversation()
    copy = state.fork()
    copy.add_message(Message.user("more"))
    return state, copy.snapshot()


def other_snapshot() -> tuple[State, StateSnapshot]:
    return conversation(), State(messages=[Message.user("another")]).snapshot()


REFUSED: dict[str, tuple[str, Any]] = {
    "taken while calls were pending": ("middle of a turn", calling_snapshot),
    "taken while the model was asked": ("middle of a turn", thinking_snapshot),
    "longer than the history": ("another State", longer_snapshot),
    "of another State": ("another State", other_snapshot),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_state_does_not_go_back_to_a_snapshot(case: str) -> None:
    text, make = REFUSED[case]
    state, snapshot = make()
    before = state.snapshot()
    with pytest.raises(ValueError, match=text):
        state.restore(snapshot)
    assert state.history == before.history
    assert state.snapshot() == before


@pytest.mark.parametrize("wrong", [None, 3, "snapshot", State()], ids=repr)
def test_only_a_snapshot_can_be_gone_back_to(wrong: Any) -> None:
    state = conversation()
    before = state.snapshot()
    with pytest.raises(TypeError, match=r"state\.snapshot\(\)"):
        state.restore(wrong)
    assert state.snapshot() == before


@pytest.mark.parametrize("calls", [(), (call("c"),)], ids=["thinking", "calling"])
def test_a_state_in_the_middle_of_a_turn_does_not_go_back(calls: Any) -> None:
    state = conversation()
    snapshot = state.snapshot()
    ask(state)
    if calls:
        receive(state, *calls)
    before = state.snapshot()
    with pytest.raises(ValueError, match="cannot restore"):
        state.restore(snapshot)
    assert state.snapshot() == before


def test_a_state_does_not_go_back_while_a_compaction_is_under_way() -> None:
    state = conversation()
    before = state.snapshot()
    with state._mailbox.compacting():
        with pytest.raises(ValueError, match="compaction is under way"):
            state.restore(before)
        assert state.history == before.history
    state.restore(before)
    assert kinds(state)[-1] == "context_change"


def test_usage_never_goes_down() -> None:
    state = State()
    before = state.snapshot()
    assert before.usage == Usage()
    for count in range(1, 4):
        think(state, text="x", usage=SPENT)
        state.restore(before)
        assert state.usage.requests == count


def test_going_back_ten_thousand_times_costs_the_same_each_time() -> None:
    state = conversation()
    before = state.snapshot()
    state.restore(before)
    first = instructions(lambda: state.restore(before))
    for _ in range(10_000):
        state.restore(before)
    assert instructions(lambda: state.restore(before)) == first
    assert state.messages == before.messages
    assert len(state.history) == len(before.history) + 10_003


def test_going_back_a_step_at_a_time_costs_the_same_each_time() -> None:
    state = conversation()
    costs: list[int] = []
    for number in range(2_000):
        before = state.snapshot()
        state.add_message(Message.user(str(number)))
        costs.append(
            instructions(lambda b=before: state.restore(b)) if number % 500 == 10 else 0
        )
        if not costs[-1]:
            state.restore(before)
        state.add_message(Message.user(str(number)))
    assert len(state.messages) == len(conversation().messages) + 2_000
    paid = [cost for cost in costs if cost]
    assert max(paid) < min(paid) + 100


def test_a_restore_of_a_long_state_costs_what_one_of_a_short_state_costs() -> None:
    costs: list[int] = []
    for number in (10, 5_000):
        state = State()
        for _ in range(number):
            state.add_message(Message.user("x"))
        before = state.snapshot()
        costs.append(instructions(lambda s=state, b=before: s.restore(b)))
    assert costs[0] == costs[1]
