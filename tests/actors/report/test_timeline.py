from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from actors.report._timeline import Span, spans_of
from protocol import (
    HistoryEntry,
    Message,
    ModelEvent,
    ModelEventEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    Reply,
    ToolCallBlock,
    ToolResultEntry,
)
from protocol._entries import ErrorEntry, Exchange, ExchangeEntry
from protocol._graph_entries import NodeEnd, NodeEndEntry, NodeStartEntry, NodeTask
from protocol._stops import Question
from protocol._work_entries import Answer, AnswerEntry, CallStartEntry, QuestionEntry

CALL = ToolCallBlock(id="c1", name="look", args={})


def at(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def request(second: float) -> HistoryEntry:
    return ModelRequestEntry(content="fake/m", at=at(second))


def reply(second: float) -> HistoryEntry:
    said = Reply(message=Message(role="assistant", content=()))
    return ModelReplyEntry(content=said, at=at(second))


def start(second: float) -> HistoryEntry:
    return CallStartEntry(content="key", call=CALL, at=at(second))


def result(second: float, outcome: Any = "done", *, late: bool = False) -> HistoryEntry:
    return ToolResultEntry(
        content="",
        call=CALL,
        outcome=outcome,
        late=late,
        at=at(second),
    )


def read(entries: Sequence[HistoryEntry]) -> list[tuple[str, float, float, str]]:
    return [(s.kind, s.start, s.end, s.outcome) for s in spans_of(entries)]


def test_a_request_lasts_until_its_reply_and_a_call_until_its_result() -> None:
    entries = [request(1), reply(3), start(4), result(7)]
    assert read(entries) == [("request", 1, 3, "done"), ("tool", 4, 7, "done")]


def test_a_call_that_never_began_takes_no_time() -> None:
    assert read([result(7, "denied")]) == [("tool", 7, 7, "denied")]


def test_what_comes_late_is_no_second_span() -> None:
    entries = [start(1), result(2, "cancelled"), result(9, late=True)]
    assert read(entries) == [("tool", 1, 2, "cancelled")]


def test_what_was_never_closed_ends_with_the_last_entry() -> None:
    assert read([request(1), reply(2), start(3), request(5)]) == [
        ("request", 1, 2, "done"),
        ("request", 5, 5, "open"),
        ("tool", 3, 5, "open"),
    ]


def test_a_request_that_was_taken_back_says_why() -> None:
    failed = ErrorEntry(content="ProviderError: no", at=at(2))
    gone = ErrorEntry(content="RunCancelled: enough", at=at(4))
    assert read([request(1), failed, request(3), gone]) == [
        ("request", 1, 2, "error"),
        ("request", 3, 4, "cancelled"),
    ]


def test_a_wait_before_another_try_is_a_span_of_its_own() -> None:
    event = ModelEvent(kind="retry", message="again in 2 s", data={"wait_s": 2.0})
    entry = ModelEventEntry(content=event, at=at(5))
    assert spans_of([entry]) == [Span("wait", 5.0, 7.0, "again in 2 s", "retry")]


def test_a_node_lasts_from_its_start_to_its_end() -> None:
    task = NodeTask("n1", "plan")
    start = NodeStartEntry(content=task, at=at(1))
    end = NodeEnd(task_id="n1", node="plan", outcome="error")
    assert read([start, NodeEndEntry(content=end, at=at(4))]) == [
        ("node", 1, 4, "error")
    ]
    assert read([start, request(3)])[-1] == ("node", 1, 3, "open")


def test_a_question_lasts_until_its_answer() -> None:
    asked = QuestionEntry(
        content=Question(id="q", state_id="a", prompt="May I?"), at=at(1)
    )
    yes = AnswerEntry(content=Answer(question_id="q", value="yes"), at=at(60))
    gone = AnswerEntry(content=Answer(question_id="q", answered=False), at=at(60))
    assert read([asked, yes]) == [("human", 1, 60, "done")]
    assert read([asked, gone]) == [("human", 1, 60, "closed")]
    assert read([asked, request(9)])[-1] == ("human", 1, 9, "open")


def test_a_side_question_is_a_moment() -> None:
    said = Exchange(question="How many?", answer=3)
    assert read([ExchangeEntry(kind="ask", content=said, at=at(2))]) == [
        ("request", 2, 2, "done")
    ]
