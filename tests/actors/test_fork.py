"""A fork is the same State at that point, and nothing is shared with it."""

import gc
import threading
from typing import Any

import pytest

from actors import Message, Origin, State, StateSnapshot
from protocol._commands import NoteStart
from tests.effort import instructions
from tests.turns import (
    ask,
    call,
    close,
    kinds,
    receive,
    send,
    texts,
    think,
    turn_with_calls,
)


def conversation() -> State:
    state = State(messages=[Message.user("x")], extra_data={"n": 1})
    turn_with_calls(state, ["a", "b"])
    think(state, text="answer")
    return state


def calling() -> State:
    state = conversation()
    think(state, call("c"), call("d"))
    close(state, call("d"), "of d")
    return state


def test_a_fork_equals_its_original_and_has_an_id_of_its_own() -> None:
    state = conversation()
    copy = state.fork()
    assert copy.snapshot() == state.snapshot()
    assert copy.history == state.history
    assert copy.id != state.id


def test_a_fork_knows_where_it_came_from() -> None:
    state = conversation()
    copy = state.fork()
    assert copy.forked_from == Origin(state.id, len(state.history))
    assert copy.fork().forked_from == Origin(copy.id, len(copy.history))
    assert state.forked_from is None


def test_a_fork_and_its_original_go_their_own_ways() -> None:
    state = conversation()
    before = state.snapshot()
    copy = state.fork()
    copy.add_message(Message.user("in the copy"))
    copy.clear_tool_results(0)
    with copy.edit_extra_data() as data:
        data["n"] = 2
    assert state.snapshot() == before
    state.add_message(Message.user("in the original"))
    state.finish(1)
    assert texts(copy)[-1] == "in the copy"
    assert (copy.finished, copy.extra_data) == (False, {"n": 2})
    for each in (state, copy):
        assert State(history=each.history).snapshot() == each.snapshot()


def test_a_fork_of_a_finished_state_is_finished_too() -> None:
    state = conversation()
    state.finish(7)
    copy = state.fork()
    assert (copy.finished, copy.answer) == (True, 7)
    with pytest.raises(ValueError, match="finished"):
        ask(copy)


def test_a_fork_of_nothing_is_nothing() -> None:
    copy = State().fork()
    assert copy.snapshot() == StateSnapshot()
    copy.add_message(Message.user("x"))
    assert texts(copy) == ["x"]


def test_a_state_that_waits_on_the_model_cannot_be_forked() -> None:
    state = conversation()
    ask(state)
    before = state.snapshot()
    with pytest.raises(ValueError, match="waited on"):
        state.fork()
    assert state.snapshot() == before
    again = State(history=before.history)  # a plain replay is still allowed
    assert again.phase == "thinking"


def test_calls_that_are_pending_are_closed_as_cancelled_in_the_copy_alone() -> None:
    state = calling()
    before = state.snapshot()
    copy = state.fork()
    assert state.snapshot() == before
    assert [each.id for each in state.pending_calls] == ["c"]
    assert (copy.pending_calls, copy.phase) == ((), "idle")
    entry = copy.history[-1]
    assert (entry.kind, entry.call.id, entry.outcome) == (
        "tool_result",
        "c",
        "cancelled",
    )
    results = copy.messages[-1].content
    assert [block.call_id for block in results] == ["c", "d"]
    assert [block.is_error for block in results] == [True, False]
    close(state, call("c"), "of c")
    assert state.messages[-1].content[0].output == "of c"
    assert copy.messages[-1].content[0].output != "of c"


def test_messages_held_in_the_original_go_in_behind_the_cancelled_calls() -> None:
    state = calling()
    state.add_message(Message.user("held"))
    copy = state.fork()
    assert texts(copy)[-1] == "held"
    assert [m.text() for m in state.held_messages] == ["held"]


def test_a_call_that_was_started_stays_started_in_the_original_alone() -> None:
    state = calling()
    copy = state.fork()
    send(state, NoteStart(call("c"), "key"))
    turn = state._mailbox.value.open
    assert turn.calls.started(len(state.history), "c") == "key"
    with pytest.raises(ValueError, match="no call is open"):
        send(copy, NoteStart(call("c"), "key"))


def test_a_fork_takes_no_call_id_that_its_original_used() -> None:
    state = conversation()
    copy = state.fork()
    think(state, call("later"))
    think(copy, call("a"), call("later"))
    first, second = copy.pending_calls
    assert (first.id != "a", first.model_id) == (True, "a")
    assert (second.id, second.model_id) == ("later", None)


def test_forks_are_made_while_other_threads_write() -> None:
    state, stop = State(), threading.Event()

    def write() -> None:
        while not stop.is_set():
            state.add_message(Message.user("x"))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            copy = state.fork()
            size = len(copy.history)
            copy.add_message(Message.user("in the copy"))
            assert len(copy.messages) == size + 1
            assert copy.messages[-1].text() == "in the copy"
    finally:
        stop.set()
        writer.join()
    assert set(texts(state)) <= {"x"}


# Forks of forks.


def chain(length: int) -> State:
    state = State(messages=[Message.user("first")])
    for number in range(length):
        state = state.fork()
        state.add_message(Message.user(str(number)))
    return state


@pytest.mark.parametrize(
    "length", [1_000, pytest.param(10_000, marks=pytest.mark.slow)]
)
def test_forks_of_forks_read_whole_and_die_quietly(length: int) -> None:
    state = chain(length)
    assert texts(state) == ["first", *map(str, range(length))]
    assert len(state.history) == length + 1
    assert State(history=state.history).snapshot() == state.snapshot()
    del state
    gc.collect()


def test_reading_forks_of_forks_takes_time_in_proportion() -> None:
    short, long = chain(500), chain(1_000)
    first, second = (instructions(lambda s=s: s.history) for s in (short, long))
    assert second < 2.2 * first


def cost_of(state: State, act: Any) -> int:
    return instructions(lambda: act(state))


@pytest.mark.parametrize(
    "act",
    [
        lambda state: state.fork(),
        lambda state: state.created_at,
        lambda state: state.restore(state.snapshot()),
        lambda state: state.add_message(Message.user("x")),
    ],
    ids=["fork", "created_at", "restore", "add_message"],
)
def test_what_a_fork_of_forks_does_hardly_grows_with_their_number(act: Any) -> None:
    assert cost_of(chain(4_000), act) < 3 * cost_of(chain(40), act)


def test_new_call_ids_are_compared_with_those_of_all_forks_below_in_few_steps() -> None:
    state = State(messages=[Message.user("x")])
    for number in range(2_000):
        state = state.fork()
        turn_with_calls(state, [f"call-{number}"])
    cost = cost_of(state.fork(), lambda copy: think(copy, call("new"), call("call-5")))
    early = State(messages=[Message.user("x")])
    assert cost < 3 * cost_of(early, lambda s: think(s, call("new"), call("call-5")))
    think(state, call("call-0"), call("call-1999"), call("new"))
    assert [each.model_id for each in state.pending_calls] == [
        "call-0",
        "call-1999",
        None,
    ]


def test_many_forks_of_one_state_cost_the_same_each() -> None:
    state = conversation()
    for _ in range(500):
        copy = state.fork()
        think(copy, call("a"), call("new"))
        assert copy.pending_calls[1].id == "new"
    assert kinds(state) == kinds(conversation())


def test_a_fork_of_a_long_state_costs_what_one_of_a_short_state_costs() -> None:
    short, long = State(), State()
    for state, number in ((short, 10), (long, 5_000)):
        for _ in range(number):
            state.add_message(Message.user("x"))
    assert cost_of(short, State.fork) == cost_of(long, State.fork)


def test_replies_of_a_fork_do_not_reach_the_original() -> None:
    state = conversation()
    ask(state)
    receive(state, call("c"))
    copy = state.fork()
    think(copy, text="in the copy")
    assert state.phase == "calling"
    assert state.answer == "answer"
    assert copy.answer == "in the copy"
