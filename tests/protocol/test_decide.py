"""What a command comes to: one entry, nothing, or a refusal that changes nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest

from actors import (
    AgentInfo,
    DataBlock,
    Exchange,
    Message,
    Question,
    Reply,
    State,
    StoppedByLimit,
    TextBlock,
    Usage,
    set_message_ids,
)
from protocol._commands import (
    AddMessage,
    AnswerQuestion,
    AnyCommand,
    Ask,
    ClearToolResults,
    CloseCall,
    Compact,
    EditExtraData,
    EndChild,
    EndGraph,
    Fail,
    Finish,
    Fork,
    Import,
    NoteExchange,
    NoteStart,
    Receive,
    ReportLate,
    Request,
    Restore,
    SetStop,
    StartChild,
    StartGraph,
    StartRun,
)
from protocol._decide import decide, step
from protocol._graph_entries import GraphEnd, GraphStart, NodeTask
from protocol._rules import told
from protocol._turn_rules import check_reply
from protocol._value import NOTHING_RECORDED, Value
from protocol._work_entries import Answer, ChildEnd, ChildStart
from tests.turns import call, reply_of

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LONE = "half \ud83d of a pair"
A, B = call("a"), call("b")


def clock() -> datetime:
    return NOW


def after(*commands: AnyCommand) -> Value:
    value = NOTHING_RECORDED
    for command in commands:
        value = step(value, command, clock)
    return value


IDLE = after(AddMessage(Message.user("x")))
THINKING = after(AddMessage(Message.user("x")), Request("fake/one"))
CALLING = step(THINKING, Receive(reply_of(A, B)), clock)
TURN = (Request("fake/one"), Receive(reply_of(A)), CloseCall(A, "found", "done"))
FINISHED = after(Finish(7))

NOTHING: dict[str, tuple[Value, AnyCommand]] = {
    "an import of nothing": (IDLE, Import(())),
    "clearing no stop": (IDLE, SetStop(None)),
    "clearing no results": (IDLE, ClearToolResults(0)),
    "an edit of nothing": (IDLE, EditExtraData({}, ())),
    "a fork": (IDLE, Fork()),
    "a child that began before": (
        after(StartChild(ChildStart(child_id="c", name="n", call_id="a"))),
        StartChild(ChildStart(child_id="c", name="other", call_id="b")),
    ),
    "a child that ended before": (
        after(EndChild(ChildEnd(child_id="c", name="n", outcome="done"))),
        EndChild(ChildEnd(child_id="c", name="n", outcome="error")),
    ),
}


@pytest.mark.parametrize("case", NOTHING)
def test_a_command_that_changes_nothing_records_nothing(case: str) -> None:
    value, command = NOTHING[case]
    assert decide(value, command, clock) is None
    assert step(value, command, clock) is value


REFUSED: dict[str, tuple[type[Exception], str, Value, AnyCommand]] = {
    "a reply to nothing": (ValueError, "nowhere to go", IDLE, Receive(reply_of())),
    "a reply in a turn": (ValueError, "nowhere to go", CALLING, Receive(reply_of())),
    "a reply of a user": (
        ValueError,
        "role 'user'",
        THINKING,
        Receive(reply_of().__class__(message=Message.user("x"))),
    ),
    "a result of nothing": (
        ValueError,
        "no call is open",
        IDLE,
        CloseCall(A, "", "done"),
    ),
    "an approval that is neither yes nor no": (
        ValueError,
        "'yes', 'always', 'no' or the reason",
        step(CALLING, Ask(Question(id="q", state_id="s", call=A, prompt="?")), clock),
        AnswerQuestion(Answer(question_id="q", value=5)),
    ),
    "a start of nothing": (ValueError, "none to start", THINKING, NoteStart(A, "k")),
    "a result of another call": (
        ValueError,
        "'z' of 'search' is not open",
        CALLING,
        CloseCall(call("z"), "", "done"),
    ),
    "a start of another call": (
        ValueError,
        "'z' is not open",
        CALLING,
        NoteStart(call("z"), "k"),
    ),
    "a late result in time": (
        ValueError,
        "close it, it is not late",
        CALLING,
        ReportLate(A, "", "done"),
    ),
    "a think when finished": (ValueError, "finished", FINISHED, Request("fake/one")),
    "a run when finished": (ValueError, "finished", FINISHED, StartRun(AgentInfo())),
    "a fork in a think": (ValueError, "waited on", THINKING, Fork()),
    "an import in a think": (
        ValueError,
        "cannot import messages while the model",
        THINKING,
        Import((Message.user("x"),)),
    ),
    "a compaction in a turn": (
        ValueError,
        r"search \(a\), search \(b\)",
        CALLING,
        Compact("so far"),
    ),
    "a summary of blanks": (ValueError, "empty", IDLE, Compact(" ")),
    "a restore of a turn": (ValueError, "middle of a turn", IDLE, Restore(CALLING)),
    "a restore while a graph runs": (
        ValueError,
        "run of the graph is under way",
        after(StartGraph(GraphStart(tasks=(NodeTask("1", "plan"),)))),
        Restore(NOTHING_RECORDED),
    ),
    "a message on the thread of a graph": (
        ValueError,
        r"app\.invoke",
        after(StartGraph(GraphStart(tasks=(NodeTask("1", "plan"),)))),
        AddMessage(Message.user("x")),
    ),
    "a graph in a turn": (
        ValueError,
        "cannot run a graph while tool calls",
        CALLING,
        StartGraph(GraphStart()),
    ),
    "the end of no graph": (
        ValueError,
        "no run of a graph",
        IDLE,
        EndGraph(GraphEnd(status="completed")),
    ),
    "an answer to nothing": (
        ValueError,
        r"open now: \[\]",
        IDLE,
        AnswerQuestion(Answer(question_id="q")),
    ),
    "half a pair in a result": (
        TypeError,
        "result has half of a surrogate pair",
        CALLING,
        CloseCall(A, LONE, "done"),
    ),
    "half a pair in a block": (
        TypeError,
        r"result\[1\]",
        CALLING,
        CloseCall(A, (TextBlock(text="x"), TextBlock(text=LONE)), "done"),
    ),
    "half a pair in a late result": (
        TypeError,
        "result has half",
        IDLE,
        ReportLate(A, LONE, "done"),
    ),
    "half a pair in a question": (
        TypeError,
        "question has half",
        IDLE,
        NoteExchange("ask", Exchange(question=LONE)),
    ),
    "half a pair in a reply": (
        TypeError,
        r"content\[0\]",
        THINKING,
        Receive(reply_of(text=LONE)),
    ),
    "an import of what is no message": (
        TypeError,
        "expected a Message",
        IDLE,
        Import(("x",)),  # type: ignore[arg-type]  # what is tested
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_why_and_nothing_has_happened(case: str) -> None:
    error, text, value, command = REFUSED[case]
    entries, messages = value.size, value.messages.read(value.count)
    with pytest.raises(error, match=text):
        step(value, command, clock)
    assert value.size == entries
    assert value.messages.read(value.count) == messages


def test_a_refusal_names_three_of_many_open_calls() -> None:
    calls = after(Request("fake/one"), Receive(reply_of(*map(call, "abcde"))))
    with pytest.raises(ValueError, match=r"\(a\), search \(b\), search \(c\); run"):
        step(calls, Compact("so far"), clock)


def test_the_clock_is_asked_once_for_each_entry() -> None:
    asked: list[int] = []

    def counting_clock() -> datetime:
        asked.append(1)
        return NOW

    value = NOTHING_RECORDED
    for command in (*TURN, AddMessage(Message.user("x")), Finish(None), Fork()):
        value = step(value, command, counting_clock)
    assert len(asked) == value.size == 5
    assert all(value.history.at(index).at is NOW for index in range(5))


def test_an_entry_knows_the_turn_it_belongs_to() -> None:
    value = after(AddMessage(Message.user("x")), *TURN, Request("fake/one"))
    value = step(value, Receive(reply_of(B)), clock)
    value = step(value, CloseCall(B, "found", "done"), clock)
    turns = [value.history.at(index).turn for index in range(value.size)]
    assert turns == [0, 1, 1, 1, 2, 2, 2]


def test_a_reply_brings_its_context_size_and_stop_reason_to_its_message() -> None:
    reply = reply_of(text="x", context_tokens=9, stop_reason="stop")
    value = step(THINKING, Receive(reply), clock)
    message = value.messages.at(1)
    assert (message.tokens, message.stop_reason) == (9, "stop")
    assert value.history.at(2).content.message is message
    assert reply.message.tokens is None


def test_what_a_message_says_itself_is_not_overwritten() -> None:
    own = Message(role="assistant", content=[], tokens=1, stop_reason="length")
    reply = reply_of().__class__(message=own, context_tokens=9, stop_reason="stop")
    value = step(THINKING, Receive(reply), clock)
    assert (value.messages.at(1).tokens, value.messages.at(1).stop_reason) == (
        1,
        "length",
    )


def test_a_reply_in_its_recorded_form_is_kept_as_it_is() -> None:
    message = Message(role="assistant", content=[TextBlock(text="x"), A], timestamp=5.0)
    reply = reply_of().__class__(message=message)
    value = step(THINKING, Receive(reply), clock)
    assert value.history.at(2).content is reply


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"usage": None}, "reply.usage must be a Usage, not None"),
        (
            {"usage": {"input_tokens": 1.5}},
            "input_tokens must be an int, not 1.5",
        ),
        ({"usage": {"output_tokens": "3"}}, "usage.output_tokens must be an int"),
        ({"usage": {"requests": True}}, "usage.requests must be an int, not True"),
        ({"usage": {"cost": float("nan")}}, "usage.cost must be a number or None"),
        ({"usage": {"cost": "1"}}, "usage.cost must be a number or None, not '1'"),
        ({"stop_reason": 3}, "reply.stop_reason must be a str, not int"),
        ({"model": "\ud800"}, "reply.model has half of a surrogate pair"),
        ({"context_tokens": 2.5}, "reply.context_tokens must be an int, not 2.5"),
        ({"message": "hello"}, "reply.message must be a Message, not 'hello'"),
    ],
)
def test_a_reply_that_could_not_be_read_again_is_refused_by_its_field(
    settings: dict[str, Any], words: str
) -> None:
    if isinstance(settings.get("usage"), dict):
        settings = {"usage": Usage(**settings["usage"])}
    reply = Reply(**{"message": Message.assistant("x"), **settings})
    with pytest.raises(TypeError, match=words):
        check_reply(reply)
    with pytest.raises(TypeError, match="answers with a Reply, not 'hello'"):
        check_reply("hello")


def test_the_usage_of_a_reply_counts_for_its_model() -> None:
    reply = reply_of(text="x", usage=Usage(requests=1), model="fake/one")
    value = step(THINKING, Receive(reply), clock)
    assert value.usage.by_model == {"fake/one": Usage(requests=1)}


def test_ids_of_calls_that_came_with_imported_messages_count_as_used() -> None:
    asking = Message(role="assistant", content=[A])
    value = after(Import((Message.user("x"), asking)), Request("fake/one"))
    value = step(value, Receive(reply_of(A)), clock)
    assert value.pending[0].model_id == "a"


def test_only_the_result_that_causes_a_message_carries_its_id() -> None:
    value = step(CALLING, CloseCall(B, "of b", "done"), clock)
    assert value.history.at(value.size - 1).message_id is None
    value = step(value, CloseCall(A, "of a", "done"), clock)
    entry = value.history.at(value.size - 1)
    assert entry.message_id == value.messages.at(value.count - 1).message_id


def test_a_users_generator_names_what_the_fold_makes_too() -> None:
    numbers = iter(range(100))
    set_message_ids(lambda: next(numbers))
    try:
        value = step(IDLE, Compact("so far"), clock)
    finally:
        set_message_ids(None)
    assert value.messages.at(1).message_id == 0


def test_an_error_is_told_in_words_and_kept_as_an_object() -> None:
    error = ValueError("no luck")
    value = step(THINKING, Fail(error), clock)
    entry = value.history.at(value.size - 1)
    assert (entry.content, entry.error) == ("ValueError: no luck", error)


class Untold(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not telling")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no"), "ValueError: no"),
        (KeyError("k"), "KeyError: 'k'"),
        (ValueError(LONE), "ValueError: half \\ud83d of a pair"),
        (Untold(), "Untold: (its text raised RuntimeError)"),
    ],
    ids=repr,
)
def test_any_exception_can_be_told(error: Exception, text: str) -> None:
    assert told(error) == text


def test_a_stop_that_was_set_is_cleared_by_none() -> None:
    value = after(SetStop(StoppedByLimit(3)), SetStop(None), SetStop(None))
    assert (value.size, value.facts.stopped) == (2, None)


def test_a_question_is_asked_and_answered() -> None:
    question = Question(id="q", state_id="s", prompt="may I?")
    value = after(Ask(question))
    assert value.facts.questions == (question,)
    value = step(value, AnswerQuestion(Answer(question_id="q", value="yes")), clock)
    assert value.facts.questions == ()
    with pytest.raises(ValueError, match="answered or closed before"):
        step(value, AnswerQuestion(Answer(question_id="q")), clock)


def test_a_call_that_ends_takes_its_question_with_it_and_no_other() -> None:
    asked = [
        Question(id=f"q-{each.id}", state_id="s", path=("s",), call=each, prompt="ok?")
        for each in (A, B)
    ]
    value = step(step(CALLING, Ask(asked[0]), clock), Ask(asked[1]), clock)
    value = step(value, CloseCall(A, "found", "done"), clock)
    assert value.facts.questions == (asked[1],)
    assert step(value, CloseCall(B, "found", "done"), clock).facts.questions == ()


def test_results_may_hold_any_blocks() -> None:
    data = DataBlock(mime_type="text/csv", data_base64="YQ==")
    value = step(CALLING, CloseCall(A, (data,), "done"), clock)
    assert value.history.at(value.size - 1).content == (data,)


def test_going_back_takes_the_past_as_it_was_where_it_is_shared() -> None:
    first = after(AddMessage(Message.user("x")))
    value = first
    for command in TURN:
        value = step(value, command, clock)
    went = step(value, Restore(first), clock)
    assert went.facts.first_user is first.facts.first_user
    assert (went.count, went.turn, went.size) == (1, 0, 5)


def test_a_value_that_is_not_shared_is_compared_entry_by_entry() -> None:
    state = State(messages=[Message.user("x")])
    again: Any = State(history=state.history)._mailbox.value
    value = state._mailbox.value
    assert step(value, Restore(again), clock).size == value.size + 1
    other: Any = State(messages=[Message.user("y")])._mailbox.value
    with pytest.raises(ValueError, match="another State"):
        step(value, Restore(other), clock)
