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
from protocol._entries import ErrorEntry
from protocol._work_entries import CallStartEntry

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
