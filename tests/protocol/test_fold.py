"""What each entry does, and which one cannot follow; see also tests/model."""

from typing import Any

import pytest
from msgspec import structs

from actors import (
    AgentInfo,
    ContextChange,
    ContextChangeEntry,
    ErrorEntry,
    Exchange,
    ExchangeEntry,
    HistoryEntry,
    ImageBlock,
    MediaRef,
    Message,
    MessageEntry,
    ModelEvent,
    ModelEventEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    Question,
    RunStartEntry,
    State,
    StopEntry,
    StoppedByFinish,
    StoppedByLimit,
    TextBlock,
    ToolResultEntry,
    UnknownEntry,
)
from protocol._commands import EndChild, NoteEvent, NoteExchange, StartChild
from protocol._fold import fold, replay
from protocol._graph_entries import GraphStart, GraphStartEntry, NodeTask
from protocol._value import NOTHING_RECORDED
from protocol._work_entries import (
    Answer,
    AnswerEntry,
    CallStartEntry,
    ChildEnd,
    ChildEndEntry,
    ChildStart,
    ChildStartEntry,
    QuestionEntry,
)
from tests.effort import instructions
from tests.turns import (
    SPENT,
    ask,
    call,
    close,
    receive,
    reply_of,
    report_late,
    send,
    texts,
    think,
    turn_with_calls,
)

A, B = call("a"), call("b")
USER = MessageEntry(message=Message.user("x"))
REQUEST = ModelRequestEntry(content="fake/one")
ANSWER = ModelReplyEntry(content=reply_of(text="answer"))
ASKS_A = ModelReplyEntry(content=reply_of(A))
RESULT = ToolResultEntry(content="found", call=A, outcome="done")
QUESTION = QuestionEntry(content=Question(id="q", state_id="s", prompt="may I?"))


def change(kind: Any, **fields: Any) -> ContextChangeEntry:
    return ContextChangeEntry(content=ContextChange(kind=kind, **fields))


GRAPH = GraphStartEntry(content=GraphStart(tasks=(NodeTask("1", "plan"),)))
IMPORT = change("import", messages=(Message.user("y"),))

IMPOSSIBLE: dict[str, tuple[str, list[HistoryEntry]]] = {
    "a reply without a request": ("waits on the model", [USER, ANSWER]),
    "a second reply": ("waits on the model", [REQUEST, ANSWER, ANSWER]),
    "a reply while calls are open": ("waits on the model", [REQUEST, ASKS_A, ANSWER]),
    "a request while one waits": ("a request waits", [REQUEST, REQUEST]),
    "a request while calls are open": ("no result yet", [REQUEST, ASKS_A, REQUEST]),
    "a result without a call": ("'a' is not open", [USER, RESULT]),
    "a second result": ("'a' is not open", [REQUEST, ASKS_A, RESULT, RESULT]),
    "a result for another call": (
        "'b' is not open",
        [REQUEST, ASKS_A, ToolResultEntry(content="", call=B, outcome="done")],
    ),
    "two calls with one id": (
        "the same id",
        [REQUEST, ModelReplyEntry(content=reply_of(A, A))],
    ),
    "an import in a turn": ("a request waits", [REQUEST, IMPORT]),
    "an import while calls are open": ("no result yet", [REQUEST, ASKS_A, IMPORT]),
    "a compaction with open calls": (
        "no result yet",
        [REQUEST, ASKS_A, change("compact", summary="so far")],
    ),
    "a compaction without summary": ("needs a summary", [change("compact")]),
    "a compaction with blanks": ("needs a summary", [change("compact", summary=" ")]),
    "clearing what is not there": (
        "no uncleared result",
        [change("clear_tool_results", cleared=("a",))],
    ),
    "another context change": ("'shuffle' is no kind", [change("shuffle")]),
    "going back in a turn": (
        "a request waits",
        [REQUEST, change("restore", restored_to=0)],
    ),
    "going back to the future": ("no moment", [USER, change("restore", restored_to=2)]),
    "going back to before it all": ("no moment", [change("restore", restored_to=-1)]),
    "going back to nowhere": ("no moment", [change("restore")]),
    "going back to a turn": (
        "not between turns",
        [REQUEST, ANSWER, change("restore", restored_to=1)],
    ),
    "an import on the thread of a graph": ("thread of a graph", [GRAPH, IMPORT]),
    "going back while a graph runs": (
        "run of the graph",
        [GRAPH, change("restore", restored_to=0)],
    ),
    "a start without a call": ("not open", [CallStartEntry(content="k", call=A)]),
    "a question asked twice": ("open already", [QUESTION, QUESTION]),
    "an answer to nothing": (
        "no question 'q'",
        [AnswerEntry(content=Answer(question_id="q"))],
    ),
    "a kind of a newer version": (
        "'of_2031', which this version does not know",
        [USER, UnknownEntry(kind="of_2031", raw=b"")],
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_entry_that_cannot_follow_is_refused_by_its_index_and_kind(
    case: str,
) -> None:
    text, entries = IMPOSSIBLE[case]
    value = replay(entries[:-1])
    with pytest.raises(ValueError, match=text) as caught:
        fold(value, entries[-1])
    assert f"entry {len(entries) - 1} " in str(caught.value)
    assert repr(entries[-1].kind).strip("'") in str(caught.value)
    assert value.history.read(value.size) == tuple(entries[:-1])
    with pytest.raises(ValueError, match=text):
        State(history=entries)


def test_a_handler_that_answers_a_call_inside_a_step_is_not_forgotten() -> None:
    value = replay([USER, REQUEST, ModelReplyEntry(content=reply_of(A, B))])
    of_b = ToolResultEntry(content="of b", call=B, outcome="done")

    class Sly(list[Any]):
        """A list into which a signal handler puts the result of b first."""

        def append(self, item: Any) -> None:
            super().append(of_b)
            super().append(item)

    value.open.calls.answers = Sly()
    of_a = fold(value, RESULT)
    assert [each.id for each in of_a.pending] == ["b"]
    assert fold(of_a, of_b).pending == ()


@pytest.mark.parametrize("wrong", ["text", None, 3, Message.user("x")], ids=repr)
def test_what_is_no_entry_is_refused_by_its_index(wrong: Any) -> None:
    with pytest.raises(TypeError, match="item 1 of a history"):
        State(history=[USER, wrong])


def test_a_fold_leaves_the_value_before_as_it_was() -> None:
    value = replay([USER, REQUEST, ASKS_A])
    after = fold(value, RESULT)
    assert (value.phase, after.phase) == ("calling", "idle")
    assert [each.id for each in value.pending] == ["a"]
    assert (value.size, after.size) == (3, 4)
    again = fold(value, ToolResultEntry(content="other", call=A, outcome="error"))
    assert again.messages.at(again.count - 1).text() == "other"
    assert after.messages.at(after.count - 1).text() == "found"


def test_of_two_results_that_follow_one_value_neither_is_seen_by_the_other() -> None:
    value = replay([USER, REQUEST, ModelReplyEntry(content=reply_of(A, B))])
    of_a = fold(value, RESULT)
    of_b = fold(value, ToolResultEntry(content="of b", call=B, outcome="done"))
    assert [each.id for each in of_a.pending] == ["b"]
    assert [each.id for each in of_b.pending] == ["a"]
    assert fold(of_b, RESULT).pending == ()


def test_nothing_recorded_stays_nothing() -> None:
    fold(NOTHING_RECORDED, USER)
    assert NOTHING_RECORDED.size == NOTHING_RECORDED.count == 0
    assert NOTHING_RECORDED.history.items == []


# Entry by entry.


def test_an_error_about_a_call_takes_no_request_back() -> None:
    value = replay([REQUEST, ErrorEntry(content="E: x", call=A)])
    assert (value.phase, value.turn) == ("thinking", 1)
    assert fold(value, ErrorEntry(content="E: x")).turn == 0


@pytest.mark.parametrize("entries", [[], [REQUEST, ASKS_A]], ids=["idle", "calling"])
def test_an_error_outside_a_request_changes_nothing(entries: Any) -> None:
    value = replay(entries)
    after = fold(value, ErrorEntry(content="E: x"))
    assert (after.phase, after.turn, after.pending) == (
        value.phase,
        value.turn,
        value.pending,
    )


def test_the_turn_that_an_entry_says_is_for_readers_only() -> None:
    value = replay([ModelRequestEntry(content="fake/one", turn=40), ANSWER])
    assert value.turn == 1


def test_side_questions_and_events_cost_and_change_nothing_else() -> None:
    state = State(messages=[Message.user("x")])
    before = state.messages
    for kind in ("ask", "human"):
        send(state, NoteExchange(kind, Exchange(question="?", answer=[1]), SPENT))
    send(state, NoteEvent(ModelEvent(kind="retry", data={"after": 1})))
    entries: list[Any] = [
        ExchangeEntry(kind="ask", content=Exchange(question="?", answer=[1])),
        ModelEventEntry(content=ModelEvent(kind="retry")),
    ]
    assert state.usage == SPENT + SPENT
    assert (state.messages, state.turn, state.answer) == (before, 0, None)
    assert replay(entries).count == 0


def test_a_stop_is_set_and_cleared_and_a_finish_stays() -> None:
    value = replay([StopEntry(content=StoppedByLimit(3))])
    assert (value.facts.stopped, value.facts.finished) == (StoppedByLimit(3), False)
    value = fold(value, StopEntry(content=StoppedByFinish([1])))
    assert (value.facts.finished, value.answer) == (True, [1])
    value = fold(value, StopEntry(content=StoppedByFinish()))
    assert value.answer == [1]
    value = fold(value, StopEntry(content=None))
    assert (value.facts.stopped, value.facts.finished) == (None, True)
    value = fold(value, RunStartEntry(content=AgentInfo()))
    assert value.facts.finished


def test_results_go_in_in_the_order_of_the_calls_with_their_status() -> None:
    state = State(messages=[Message.user("x")])
    think(state, call("a"), call("b", "fetch"), text="let me see")
    image = ImageBlock(media=MediaRef(kind="url", url="https://example.org"))
    close(state, call("b", "fetch"), "no luck", outcome="error")
    close(state, call("a"), (TextBlock(text="see"), image))
    first, second = state.messages[-1].content
    assert (first.call_id, first.name, first.status) == ("a", "search", "completed")
    assert first.output == (TextBlock(text="see"), image)
    assert (second.call_id, second.name, second.status) == ("b", "fetch", "failed")
    assert (first.is_error, second.is_error) == (False, True)


def test_messages_that_the_fold_makes_have_the_same_ids_in_a_replay() -> None:
    state = State(messages=[Message.user("x")])
    turn_with_calls(state, ["a"])
    report_late(state, call("a"), "late")
    send(state, EndChild(ChildEnd(child_id="c", name="n", outcome="done", text="ok")))
    ask(state)
    state.compact("so far")
    receive(state, text="answer")
    ids = [message.message_id for message in state.messages]
    again = State(history=state.history)
    assert [message.message_id for message in again.messages] == ids
    assert len(set(ids)) == len(ids)


def test_entries_without_an_id_for_their_message_give_one_all_the_same() -> None:
    late = ToolResultEntry(content="late", call=A, outcome="done", late=True)
    end = ChildEndEntry(content=ChildEnd(child_id="c", name="n", outcome="done"))
    entries: list[HistoryEntry] = [
        USER, REQUEST, ASKS_A, RESULT, late, late, end, REQUEST, ANSWER,
        change("compact", summary="so far", kept=10),
    ]  # fmt: skip
    state = State(history=entries)
    ids = [message.message_id for message in state.messages]
    assert len(set(ids)) == len(ids)
    assert [m.message_id for m in State(history=entries).messages] == ids


def test_a_late_result_that_is_not_text_is_named_block_by_block() -> None:
    image = ImageBlock(media=MediaRef(kind="url", url="https://example.org"))
    content = (TextBlock(text="see "), image)
    late = ToolResultEntry(content=content, call=A, outcome="done", late=True)
    state = State(history=[late, REQUEST])
    assert texts(state) == ["[notice] interrupted search finished later: see [image]"]


def test_a_child_ends_once() -> None:
    end = ChildEndEntry(
        content=ChildEnd(child_id="c", name="helper", outcome="done", text="ok"),
        usage=SPENT,
    )
    state = State(history=[end, end, REQUEST])
    assert state.usage == SPENT
    assert texts(state) == ["[notice] helper (c) ended, done: ok"]
    before = state.history
    send(state, EndChild(end.content, SPENT))
    assert state.history == before


def test_a_child_that_began_and_has_not_ended_is_counted() -> None:
    begun = [
        ChildStartEntry(
            content=ChildStart(child_id=name, name="n", call_id="a", since=since)
        )
        for name, since in [("c", 0), ("c", 0), ("d", 0), ("c", 7)]
    ]
    ends = [
        ChildEndEntry(
            content=ChildEnd(child_id=name, name="n", outcome="done", since=since)
        )
        for name, since in [("c", 0), ("c", 0), ("never begun", 0), ("c", 7)]
    ]
    history: list[HistoryEntry] = [*begun, *ends]
    counts = [replay(history[:size]).facts.children for size in range(9)]
    assert counts == [0, 1, 1, 2, 3, 2, 2, 2, 1]
    back = [*history[:4], change("restore", restored_to=0)]
    assert replay(back).facts.children == 3


def test_a_child_that_was_started_again_ends_again() -> None:
    state = State()
    for since in (0, 7):
        begun = ChildStart(child_id="c", name="n", call_id="a", since=since)
        send(state, StartChild(begun))
        send(state, StartChild(begun))
        end = ChildEnd(child_id="c", name="n", outcome="done", since=since)
        send(state, EndChild(end, SPENT))
        send(state, EndChild(end, SPENT))
    kinds = [entry.kind for entry in state.history]
    assert kinds == ["child_start", "child_end"] * 2
    assert state.usage == SPENT + SPENT


def test_a_call_keeps_the_key_it_was_started_with_first() -> None:
    starts: list[HistoryEntry] = [
        CallStartEntry(content="one", call=A),
        CallStartEntry(content="two", call=A),
    ]
    value = replay([REQUEST, ASKS_A, *starts])
    assert replay([REQUEST, ASKS_A]).open.calls.started(2, "a") is None
    keys = [value.open.calls.started(size, "a") for size in range(5)]
    assert keys == [None, None, None, "one", "one"]
    assert value.open.calls.started(4, "b") is None
    assert value.open.calls.copy(0).started(4, "a") == "one"


def test_the_only_call_of_a_reply_is_answered_once() -> None:
    value = replay([REQUEST, ASKS_A])
    calls = value.open.calls
    assert calls.pending(0) == (A,)
    answered = calls.answer(0, RESULT)
    assert (answered.pending(1), answered.is_open(1, "a")) == ((), False)
    assert (calls.is_open(0, "a"), calls.is_open(0, "b")) == (True, False)
    assert calls.in_order(0, RESULT) == [RESULT]
    other = ToolResultEntry(content="other", call=A, outcome="error")
    assert calls.answer(0, other).answers == [other]


def test_an_answer_is_kept_until_its_turn_ends() -> None:
    question = QuestionEntry(content=Question(id="q", state_id="s", call=A, prompt="?"))
    other = QuestionEntry(content=Question(id="r", state_id="s", call=A, prompt="?"))
    value = replay([REQUEST, ASKS_A, question, other])
    assert [each.id for each in value.facts.questions] == ["q", "r"]
    value = fold(value, AnswerEntry(content=Answer(question_id="q", value=[1])))
    assert [each.id for each in value.facts.questions] == ["r"]
    assert value.facts.answers == ((question.content, [1]),)
    value = fold(value, AnswerEntry(content=Answer(question_id="r", answered=False)))
    assert value.facts.questions == ()
    value = fold(value, RESULT)
    assert value.facts.answers == ()


# Going back.


def test_a_fold_finds_the_past_by_itself() -> None:
    entries = [USER, REQUEST, ANSWER]
    value = replay(entries)
    after = fold(value, change("restore", restored_to=1))
    assert (after.count, after.turn, after.size) == (1, 0, 4)
    assert replay([*entries, change("restore", restored_to=1)]).count == 1


def test_replaying_takes_time_in_proportion_whatever_went_back() -> None:
    costs: list[int] = []
    for length in (100, 200):
        entries: list[HistoryEntry] = [USER] * length
        entries += [change("restore", restored_to=n) for n in range(length)]
        costs.append(instructions(lambda e=entries: replay(e)))
    assert costs[1] < 2.2 * costs[0]


def test_many_calls_of_one_reply_cost_the_same_each() -> None:
    costs: list[int] = []
    for number in (100, 200):
        calls = [call(str(each)) for each in range(number)]
        entries: list[HistoryEntry] = [
            REQUEST,
            ModelReplyEntry(content=reply_of(*calls)),
            *(ToolResultEntry(content="", call=c, outcome="done") for c in calls),
        ]
        costs.append(instructions(lambda e=entries: replay(e)))
    assert costs[1] < 2.2 * costs[0]


def test_messages_of_entries_that_name_none_have_ids_of_their_place() -> None:
    state = State(messages=[Message.user("x")])
    turn_with_calls(state, ["a"])
    report_late(state, call("a"), "one")
    send(state, EndChild(ChildEnd(child_id="c", name="child", outcome="done")))
    state.compact("so far")
    unnamed = [_without_message_id(entry) for entry in state.history]
    again = State(history=unnamed)
    ask(again)
    ids = [message.message_id for message in again.messages]
    late, end, compaction = range(len(unnamed) - 3, len(unnamed))
    assert ids[1:] == [f"summary-{compaction}", f"a-late-{late}", f"c-end-{end}"]
    turn = State(history=unnamed[:late])
    assert turn.messages[-1].message_id == f"{turn.messages[-2].message_id}-results"


def _without_message_id(entry: HistoryEntry) -> HistoryEntry:
    if isinstance(entry, ToolResultEntry | ChildEndEntry):
        return structs.replace(entry, message_id=None)
    if isinstance(entry, ContextChangeEntry):
        content = structs.replace(entry.content, message_id=None)
        return structs.replace(entry, content=content)
    return entry
