"""The State of the reference, line by line: what it gives, and what it refuses."""

import copy
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest

from actors import (
    AgentInfo,
    FrozenDict,
    Image,
    ImageBlock,
    MediaRef,
    Message,
    Question,
    State,
    StateStatistics,
    StoppedByFinish,
    StoppedByLimit,
    TextBlock,
    ToolCallBlock,
    Usage,
)
from protocol._commands import Ask, Import, SetStop, StartRun
from tests.turns import (
    SPENT,
    ask,
    call,
    close,
    fail,
    kinds,
    receive,
    report_late,
    send,
    texts,
    think,
    turn_with_calls,
)

LONE = "half \ud83d of a pair"
MAKE: Any = State


@dataclass
class Review:
    score: int
    notes: tuple[str, ...] = ()


def working_state() -> State:
    """A State with some of everything, between turns."""
    state = State(messages=[Message.user("find the bug")], extra_data={"repo": "api"})
    turn_with_calls(state, ["a", "b"])
    think(state, text="It is in b.py.", usage=SPENT)
    return state


# Making one.


def test_a_new_state_is_empty() -> None:
    state = State()
    assert (state.history, state.messages, state.pending_calls) == ((), (), ())
    assert (state.turn, state.usage, state.extra_data) == (0, Usage(), {})
    assert (state.finished, state.answer, state.stopped) == (False, None, None)
    assert (state.created_at, state.updated_at) == (None, None)
    assert (state.parent_id, state.parent_call_id, state.forked_from) == (None,) * 3
    assert (state.phase, state.closed, state.held_messages) == ("idle", False, ())


def test_messages_and_extra_data_are_recorded_as_one_entry_each() -> None:
    first, second = Message.user("one"), Message.user("two")
    state = State(messages=[first, second], extra_data={"n": 1})
    assert kinds(state) == ["context_change", "extra_data"]
    assert state.messages == (first, second)
    assert state.history[0].content.messages == (first, second)
    assert state.extra_data == {"n": 1}


def test_nothing_is_recorded_for_no_messages_and_no_data() -> None:
    assert State(messages=[], extra_data={}).history == ()


def test_messages_may_come_from_a_generator() -> None:
    state = State(messages=(Message.user(text) for text in "ab"))
    assert texts(state) == ["a", "b"]


def test_ids_are_unique_unless_given() -> None:
    assert State().id != State().id
    assert State(id="bug-hunt_1").id == "bug-hunt_1"


OPEN_CALL = Message(role="assistant", content=[call("a")])

ILLEGAL_STATES: dict[str, tuple[type[Exception], str, dict[str, Any]]] = {
    "an unknown keyword": (TypeError, "not color=", {"color": 1}),
    "task=": (TypeError, r"messages=\[", {"task": "x"}),
    "context=": (TypeError, r"messages=\[", {"context": []}),
    "data=": (TypeError, "extra_data=", {"data": {}}),
    "messages as text": (TypeError, "a list of messages", {"messages": "hi"}),
    "messages as bytes": (TypeError, "a list of messages", {"messages": b"hi"}),
    "messages as a dict": (TypeError, "a list of messages", {"messages": {"a": 1}}),
    "one message": (TypeError, "list of mess", {"messages": Message.user("x")}),
    "messages as a number": (TypeError, "a list of messages", {"messages": 3}),
    "no message in it": (TypeError, r"messages\[0\] is a str", {"messages": ["hi"]}),
    "data as a list": (TypeError, "a dict of JSON", {"extra_data": [1]}),
    "data with a set": (TypeError, r"extra_data\.tags", {"extra_data": {"tags": {1}}}),
    "data with NaN": (TypeError, r"extra_data\.n", {"extra_data": {"n": float("nan")}}),
    "data with a number key": (TypeError, "extra_data", {"extra_data": {1: 2}}),
    "no entry in history": (TypeError, "item 0 of a history", {"history": ["hi"]}),
    "history and messages": (TypeError, "history=", {"history": [], "messages": [1]}),
    "history and data": (TypeError, "history=", {"history": [], "extra_data": {}}),
    "an id with a space": (ValueError, "State id", {"id": "a b"}),
    "an id that is too long": (ValueError, "State id", {"id": "a" * 129}),
    "an empty id": (ValueError, "State id", {"id": ""}),
    "a call without result": (ValueError, "'a' of tool", {"messages": [OPEN_CALL]}),
}


@pytest.mark.parametrize("case", ILLEGAL_STATES)
def test_a_state_is_not_made_of(case: str) -> None:
    error, text, arguments = ILLEGAL_STATES[case]
    with pytest.raises(error, match=text):
        MAKE(**arguments)


def test_a_state_takes_no_position() -> None:
    with pytest.raises(TypeError, match="keywords only"):
        MAKE("find the bug")


def test_an_inconsistent_history_is_refused_with_the_index_of_its_first_fault() -> None:
    history = working_state().history
    with pytest.raises(ValueError, match=r"entry 2 \(model_reply\) cannot follow"):
        State(history=[*history[:2], history[3]])


def test_calls_without_a_result_are_closed_as_cancelled_on_request() -> None:
    given = [Message.user("go"), OPEN_CALL, Message.user("well?")]
    state = State(messages=given, repair=True)
    roles = [message.role for message in state.messages]
    assert roles == ["user", "assistant", "tool", "user"]
    block = state.messages[2].content[0]
    assert (block.call_id, block.is_error) == ("a", True)
    assert state.history[1].content.kind == "repair"
    assert "search (a)" in state.history[1].content.message
    assert State(history=state.history).snapshot() == state.snapshot()


def test_repair_of_messages_that_are_whole_says_nothing() -> None:
    assert kinds(State(messages=[Message.user("x")], repair=True)) == ["context_change"]


# Reading it.


@pytest.mark.parametrize("at", range(8))
def test_a_state_rebuilt_from_a_history_has_an_equal_snapshot(at: int) -> None:
    history = working_state().history[:at]
    state, again = State(history=history), State(history=history)
    assert again.snapshot() == state.snapshot()
    assert again.history == history


def test_values_in_the_history_are_read_only_and_json() -> None:
    state = State(messages=[Message.user("x")])
    think(state, call("a", where=["x", "y"]))
    args = state.pending_calls[0].args
    assert args == {"where": ["x", "y"]}
    with pytest.raises(TypeError):
        args["where"] = []
    with pytest.raises(TypeError):
        args["where"].append("z")
    state.finish(Review(3, ("a",)))
    assert state.answer == {"score": 3, "notes": ["a"]}
    assert type(state.answer) is FrozenDict
    assert Review(**state.answer) == Review(3, ["a"])


def test_extra_data_cannot_be_changed_in_place() -> None:
    state = State(extra_data={"n": 1})
    with pytest.raises(TypeError):
        state.extra_data["n"] = 2
    assert state.extra_data == {"n": 1}


def test_the_times_are_those_of_the_first_and_the_latest_entry_in_utc() -> None:
    before = datetime.now(UTC)
    state = working_state()
    state.finish()
    assert state.created_at == state.history[0].at
    assert state.updated_at == state.history[-1].at
    assert before <= state.created_at <= state.updated_at
    assert state.created_at.tzinfo is UTC


def test_a_think_adds_a_turn_while_it_waits_and_takes_it_back_when_it_fails() -> None:
    state = State(messages=[Message.user("x")])
    ask(state)
    assert (state.turn, state.phase) == (1, "thinking")
    fail(state)
    assert (state.turn, state.phase) == (0, "idle")
    think(state, text="answer")
    fail(state)  # after the reply: nothing is taken back
    assert (state.turn, state.answer) == (1, "answer")


def test_results_go_in_together_once_the_last_call_has_one() -> None:
    state = State(messages=[Message.user("x")])
    a, b = call("a"), call("b")
    think(state, a, b)
    close(state, b, "second")
    assert state.pending_calls == (a,)
    assert [message.role for message in state.messages] == ["user", "assistant"]
    close(state, a, "first")
    assert state.pending_calls == ()
    results = state.messages[-1]
    assert results.role == "tool"
    assert [block.output for block in results.content] == ["first", "second"]


def test_usage_counts_thinks_and_children_and_is_not_given_back() -> None:
    state = State(messages=[Message.user("x")])
    before = state.snapshot()
    think(state, call("a"), usage=SPENT)
    close(state, state.pending_calls[0], usage=SPENT, child_ids=("child",))
    state.restore(before)
    assert state.usage == SPENT + SPENT


def test_the_answer_is_the_last_one_given_else_the_last_text() -> None:
    state = State(messages=[Message.user("x")])
    think(state, text="first")
    assert state.answer == "first"
    think(state, call("a"), text="on my way")
    assert state.answer == "first"
    close(state, call("a"))
    state.finish()
    assert state.answer == "first"
    state.finish(7)
    state.finish(None)
    assert state.answer == 7


def test_a_reply_that_was_cut_off_before_any_text_leaves_the_earlier_answer() -> None:
    state = State(messages=[Message.user("x")])
    think(state, text="first")
    think(state, stop_reason="length")
    assert state.answer == "first"
    assert state.history[-1].content.cut_off


def test_a_run_clears_the_stop_of_the_run_before() -> None:
    state = State(messages=[Message.user("x")])
    send(state, SetStop(StoppedByLimit(3)))
    assert state.stopped == StoppedByLimit(3)
    send(state, StartRun(AgentInfo(name="one")))
    assert state.stopped is None


def test_the_first_link_to_a_parent_stays() -> None:
    state = State()
    send(state, StartRun(AgentInfo(), parent_id="p", parent_call_id="c"))
    send(state, StartRun(AgentInfo(), parent_id="q", parent_call_id="d"))
    assert (state.parent_id, state.parent_call_id) == ("p", "c")
    assert State(history=state.history).parent_id == "p"


def test_a_snapshot_stays_as_it_was() -> None:
    state = working_state()
    before = state.snapshot()
    history, messages = before.history, before.messages
    state.add_message(Message.user("more"))
    state.clear_tool_results(0)
    state.compact("all of it")
    assert before.history == history
    assert before.messages == messages
    assert len(state.history) == len(history) + 3


def test_published_values_belong_together_while_others_write() -> None:
    state, stop = State(), threading.Event()

    def write() -> None:
        while not stop.is_set():
            state.add_message(Message.user("x"))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            snapshot = state.snapshot()
            assert len(snapshot.messages) == len(snapshot.history)
            assert snapshot.updated_at == (
                snapshot.history[-1].at if snapshot.history else None
            )
    finally:
        stop.set()
        writer.join()


def test_a_tuple_is_built_once_for_each_change() -> None:
    state = working_state()
    assert state.history is state.history
    assert state.messages is state.messages
    before = state.history
    state.add_message(Message.user("x"))
    assert state.history[: len(before)] == before


def test_statistics_are_a_frozen_picture() -> None:
    state = State(messages=[Message.user("x")])
    ask(state)
    state.add_message(Message.user("later"))
    state.close()
    assert state.statistics() == StateStatistics(
        entries=3,
        messages=1,
        held=1,
        waiting=0,
        outside=0,
        phase="thinking",
        compacting=False,
        closed=True,
    )
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        state.statistics().entries = 0


# Changing it.


def untouched(
    state: State, change: Callable[[], object], error: Any, text: str
) -> None:
    """The change raises, and nothing is recorded or reads differently."""
    before, messages = state.snapshot(), state.messages
    with pytest.raises(error, match=text):
        change()
    assert state.history == before.history
    assert state.snapshot() == before
    assert state.messages == messages


WRONG_MESSAGES: dict[str, tuple[type[Exception], str, Any]] = {
    "text": (TypeError, "expected a Message", "hi"),
    "None": (TypeError, "expected a Message", None),
    "an assistant message": (ValueError, "assistant", Message.assistant("x")),
    "a tool message": (ValueError, "tool", Message.tool_message([])),
    "another block": (
        ValueError,
        r"content\[0\]",
        Message(role="user", content=[ToolCallBlock(id="a", name="b")]),
    ),
    "no text": (ValueError, "without text", Message.user("")),
    "no block": (ValueError, "without text", Message(role="user", content=[])),
    "half a pair": (TypeError, "content", Message.user(LONE)),
    "a set in metadata": (
        TypeError,
        "metadata",
        Message(role="user", content=[TextBlock(text="x")], metadata={"a": {1}}),
    ),
}


@pytest.mark.parametrize("case", WRONG_MESSAGES)
@pytest.mark.parametrize("phase", ["idle", "thinking", "calling"])
def test_a_message_that_is_not_the_users_is_refused(case: str, phase: str) -> None:
    error, text, message = WRONG_MESSAGES[case]
    state = state_in(phase)
    untouched(state, lambda: state.add_message(message), error, text)


def state_in(phase: str) -> State:
    state = working_state()
    if phase != "idle":
        ask(state)
    if phase == "calling":
        receive(state, call("open"), call("open too"))
    assert state.phase == phase
    return state


def test_a_message_of_images_alone_is_a_message() -> None:
    image = ImageBlock(media=MediaRef(kind="url", url="https://example.org/a.png"))
    state = State()
    state.add_message(Message(role="user", content=[image]))
    state.add_message(Message.user("look", Image(b"\x89PNG\r\n\x1a\n")))
    assert kinds(state) == ["user", "user"]


def test_a_message_gets_the_time_of_its_entry() -> None:
    state = State()
    state.add_message(Message.user("x"))
    assert state.messages[0].timestamp == state.history[0].at.timestamp()


def test_a_notice_is_a_user_message_marked_as_such() -> None:
    state = State()
    state.add_message(Message.notice("The tests failed"))
    assert kinds(state) == ["notice"]
    assert texts(state) == ["[notice] The tests failed"]


def test_messages_added_while_the_model_is_asked_go_in_after_the_reply() -> None:
    state = State(messages=[Message.user("x")])
    ask(state)
    state.add_message(Message.user("one"))
    state.add_message(Message.notice("two"))
    assert texts(state) == ["x"]
    assert [m.text() for m in state.held_messages] == ["one", "[notice] two"]
    receive(state, text="answer")
    assert texts(state) == ["x", "answer", "one", "[notice] two"]
    assert state.held_messages == ()


def test_messages_held_during_a_turn_go_in_after_the_results() -> None:
    state = State(messages=[Message.user("x")])
    ask(state)
    state.add_message(Message.user("one"))
    receive(state, call("a"), call("b"))
    state.add_message(Message.user("two"))
    close(state, call("b"), "of b")
    assert [m.text() for m in state.held_messages] == ["one", "two"]
    close(state, call("a"), "of a")
    assert texts(state) == ["x", "", "of aof b", "one", "two"]


def test_messages_held_when_a_think_fails_go_in_once() -> None:
    state = State(messages=[Message.user("x")])
    ask(state)
    state.add_message(Message.user("one"))
    fail(state)
    assert texts(state) == ["x", "one"]
    think(state, text="answer")
    assert texts(state) == ["x", "one", "answer"]


def test_held_messages_survive_a_rebuild() -> None:
    state = State(messages=[Message.user("x")])
    think(state, call("a"))
    state.add_message(Message.user("one"))
    again = State(history=state.history)
    assert again.held_messages == state.held_messages
    close(again, call("a"))
    assert texts(again)[-1] == "one"


def test_finish_stops_at_once_even_with_calls_pending() -> None:
    state = state_in("calling")
    state.finish({"ok": True})
    assert state.finished
    assert state.stopped == StoppedByFinish({"ok": True})
    state.finish("again")
    assert state.answer == "again"
    close(state, call("open"))
    assert [each.id for each in state.pending_calls] == ["open too"]


NOT_JSON: dict[str, Any] = {
    "a set": {1},
    "a path": Path("x"),
    "a date": datetime.now(UTC),
    "bytes": b"x",
    "an object": object(),
    "half a pair": LONE,
}


@pytest.mark.parametrize("case", NOT_JSON)
def test_an_answer_that_is_not_json_is_refused(case: str) -> None:
    state = working_state()
    answer = {"items": [1, NOT_JSON[case]]}
    untouched(state, lambda: state.finish(answer), TypeError, r"answer\.items\[1\]")
    assert not state.finished


def test_a_finished_state_takes_messages_but_no_think_and_no_run() -> None:
    state = working_state()
    state.finish()
    untouched(state, lambda: ask(state), ValueError, "finished")
    start = StartRun(AgentInfo())
    untouched(state, lambda: send(state, start), ValueError, "finished")
    state.add_message(Message.user("more"))
    state.compact("so far")
    state.clear_tool_results(0)
    with state.edit_extra_data() as data:
        data["n"] = 1
    assert state.finished
    assert kinds(state)[-3:] == ["user", "context_change", "extra_data"]


def test_compaction_leaves_the_first_user_message_and_the_summary() -> None:
    state = working_state()
    before = state.history
    state.compact("The bug is in b.py.")
    assert texts(state) == ["find the bug", "[notice] The bug is in b.py."]
    assert state.history[:-1] == before
    state.add_message(Message.user("fix it"))
    state.compact("Nearly done.")
    assert texts(state) == ["find the bug", "[notice] Nearly done."]


def test_a_notice_is_not_taken_for_the_first_user_message() -> None:
    state = State(messages=[Message.notice("by the way")])
    state.compact("so far")
    assert texts(state) == ["[notice] so far"]


def test_compaction_is_allowed_while_the_model_is_asked() -> None:
    state = State(messages=[Message.user("x"), Message.user("y")])
    ask(state)
    state.compact("so far")
    receive(state, text="answer")
    assert texts(state) == ["x", "[notice] so far", "answer"]


WRONG_SUMMARIES: dict[str, tuple[type[Exception], str, Any]] = {
    "None": (TypeError, "summary must be a str", None),
    "a number": (TypeError, "summary must be a str", 3),
    "half a pair": (TypeError, "summary", LONE),
    "nothing": (ValueError, "empty", ""),
    "blanks": (ValueError, "empty", " \n\t"),
}


@pytest.mark.parametrize("case", WRONG_SUMMARIES)
def test_a_summary_that_says_nothing_is_refused(case: str) -> None:
    error, text, summary = WRONG_SUMMARIES[case]
    state = working_state()
    untouched(state, lambda: state.compact(summary), error, text)


@pytest.mark.parametrize(
    "command",
    [
        lambda state: state.compact("so far"),
        lambda state: state.clear_tool_results(),
        lambda state: state.restore(State().snapshot()),
        ask,
        lambda state: send(state, Import((Message.user("x"),))),
    ],
    ids=["compact", "clear_tool_results", "restore", "think", "import"],
)
def test_while_calls_are_pending_nothing_else_goes_on(command: Any) -> None:
    state = state_in("calling")
    text = r"no result yet: search \(open\), search \(open too\)"
    untouched(state, lambda: command(state), ValueError, text)


def test_clearing_blanks_all_results_but_the_last_ones() -> None:
    state = State(messages=[Message.user("x")])
    turn_with_calls(state, ["a", "b", "c"])
    before = state.history
    state.clear_tool_results(keep_last=1)
    outputs = [block.output for block in state.messages[-1].content]
    cleared = "(cleared: kept in history)"
    assert outputs == [cleared, cleared, "result of c"]
    assert state.history[:-1] == before
    assert state.history[-1].content.cleared == ("a", "b")


def test_results_that_are_cleared_already_count() -> None:
    state = State(messages=[Message.user("x")])
    turn_with_calls(state, ["a", "b", "c"])
    state.clear_tool_results(keep_last=2)
    state.clear_tool_results(keep_last=2)
    assert state.history[-1].content.cleared == ("a",)
    turn_with_calls(state, ["d"])
    state.clear_tool_results(keep_last=2)
    assert state.history[-1].content.cleared == ("b",)


def test_clearing_records_nothing_when_nothing_changes() -> None:
    state = working_state()
    before = state.history
    state.clear_tool_results()
    state.clear_tool_results(keep_last=2)
    assert state.history is before
    state.clear_tool_results(0)
    once = state.history
    state.clear_tool_results(0)
    assert state.history is once


@pytest.mark.parametrize("keep_last", [-1, True, False, 1.0, "1", None])
def test_keep_last_is_a_whole_number(keep_last: Any) -> None:
    state = working_state()
    untouched(
        state, lambda: state.clear_tool_results(keep_last), ValueError, "keep_last"
    )


def test_the_result_of_a_call_that_was_closed_is_a_notice_for_the_next_think() -> None:
    state = State(messages=[Message.user("x")])
    think(state, call("a"))
    close(state, call("a"), "cancelled", outcome="interrupted")
    report_late(state, call("a"), "the page")
    assert "the page" not in "".join(texts(state))
    ask(state)
    assert texts(state)[-1] == "[notice] interrupted search finished later: the page"


def test_call_ids_are_unique_in_a_state_and_the_models_own_are_kept() -> None:
    state = State(messages=[Message.user("x")])
    turn_with_calls(state, ["a"])
    think(state, call("a"), call(""), call("b"), call("b"))
    first, second, third, fourth = state.pending_calls
    assert len({"a", "", first.id, second.id, third.id, fourth.id}) == 6
    assert [each.model_id for each in state.pending_calls] == ["a", "", None, "b"]
    for each in state.pending_calls:
        close(state, each, f"for {each.model_id}")
    outputs = [block.output for block in state.messages[-1].content]
    assert outputs == ["for a", "for ", "for None", "for b"]


def test_a_question_is_answered_once() -> None:
    state = state_in("calling")
    question = Question(id="q", state_id=state.id, call=call("open"), prompt="may it?")
    send(state, Ask(question))
    assert state.questions == state.snapshot().questions == (question,)
    untouched(
        state, lambda: state.answer_question("q", {1}), TypeError, "answer is a set"
    )
    untouched(
        state, lambda: state.answer_question("q", ("yes",)), ValueError, "'always'"
    )
    state.answer_question("q", "yes")
    assert state.questions == ()
    assert state.history[-1].content.value == "yes"
    for name in ("q", "another"):
        untouched(state, lambda n=name: state.answer_question(n, 1), ValueError, name)


# What it is not.


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("answer", "state.finish"),
        ("finished", "state.finish"),
        ("stopped", "state.finish"),
        ("messages", "state.add_message"),
        ("extra_data", "state.edit_extra_data"),
        ("history", "history="),
        ("id", "id="),
        ("turn", "its methods"),
        ("anything", "its methods"),
    ],
)
def test_no_attribute_can_be_assigned_or_deleted(name: str, instead: str) -> None:
    state = working_state()
    untouched(state, lambda: setattr(state, name, 1), AttributeError, instead)
    untouched(state, lambda: delattr(state, name), AttributeError, instead)


@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_state_is_not_pickled_or_copied(way: Callable[[object], object]) -> None:
    state = working_state()
    untouched(state, lambda: way(state), TypeError, r"state\.fork\(\)")


def test_str_is_a_line_an_entry_and_repr_has_the_counts() -> None:
    state = State(id="one", messages=[Message.user("find\nthe bug")])
    think(state, call("a"))
    lines = str(state).splitlines()
    assert len(lines) == len(state.history)
    assert "import" in lines[0]
    assert "search(a)" in lines[2]
    assert repr(state) == "<State 'one': turn 1, 2 messages, 3 entries, calling>"
