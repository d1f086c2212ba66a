"""What a history says of time: requests, tools and children, each with two ends.

1. A span lies between two entries of one history; nothing is guessed between States.
2. What was never closed ends with the last entry, and is named ``open``.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from protocol import ErrorEntry, HistoryEntry, ModelEvent, ToolResultEntry
from protocol._work_entries import AnswerEntry, QuestionEntry

SpanKind: TypeAlias = Literal["request", "tool", "child", "node", "human", "wait"]

CANCELS = ("Cancelled", "RunCancelled", "KeyboardInterrupt")
"""How the text of an error begins that was a cancel."""


class Span(NamedTuple):
    """Something that took time."""

    kind: SpanKind
    start: float
    """POSIX seconds."""
    end: float
    label: str
    """The model, the tool, the agent, the node, or who was waited for."""
    outcome: str
    """How it ended; ``open`` when nothing says so."""
    child_ids: tuple[str, ...] = ()
    """The States that it started."""


def spans_of(history: Iterable[HistoryEntry]) -> list[Span]:
    """Everything in a history that took time, in order of its end."""
    reading = _Reading()
    for entry in history:
        reading.take(entry)
    return reading.all()


def cancelled_by(error: str) -> bool:
    """Whether the text of an error says that it was a cancel."""
    return error.partition(":")[0] in CANCELS


class _Reading:
    """Goes through a history and pairs beginnings with ends."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._last = 0.0
        self._request: tuple[float, str] | None = None
        self._calls: dict[str, tuple[float, str]] = {}
        self._nodes: dict[str, tuple[float, str]] = {}
        self._questions: dict[str, float] = {}

    def take(self, entry: HistoryEntry) -> None:
        at = self._last = entry.at.timestamp()
        match entry.kind:
            case "model_request":
                self._request = at, entry.content
            case "model_reply":
                self._end_request(at, "done")
            case "model_event":
                self._wait(at, entry.content)
            case "error":
                self._error(at, entry)
            case "call_start":
                self._calls.setdefault(entry.call.id, (at, entry.call.name))
            case "tool_result":
                self._end_call(at, entry)
            case "node_start":
                self._nodes[entry.content.id] = at, entry.content.node
            case "node_end":
                end, name = entry.content, entry.content.node
                start, _ = self._nodes.pop(end.task_id, (at, name))
                span = Span("node", start, at, name, end.outcome, entry.child_ids)
                self._spans.append(span)
            case "question" | "answer":
                self._asked(at, entry)
            case "ask" | "human":
                kind: SpanKind = "request" if entry.kind == "ask" else "human"
                self._spans.append(Span(kind, at, at, entry.kind, "done"))
            case _:
                pass

    def _end_request(self, at: float, outcome: str) -> None:
        if self._request is not None:
            start, model = self._request
            self._spans.append(Span("request", start, at, model, outcome))
            self._request = None

    def _wait(self, at: float, event: ModelEvent) -> None:
        wait_s = event.data.get("wait_s")
        if isinstance(wait_s, int | float):
            span = Span("wait", at, at + wait_s, event.message, event.kind)
            self._spans.append(span)

    def _error(self, at: float, entry: ErrorEntry) -> None:
        if entry.call is None:
            how = "cancelled" if cancelled_by(entry.content) else "error"
            self._end_request(at, how)

    def _end_call(self, at: float, entry: ToolResultEntry) -> None:
        if entry.late:
            return
        start, name = self._calls.pop(entry.call.id, (at, entry.call.name))
        kind: SpanKind = "child" if entry.child_ids else "tool"
        self._spans.append(Span(kind, start, at, name, entry.outcome, entry.child_ids))

    def _asked(self, at: float, entry: QuestionEntry | AnswerEntry) -> None:
        if isinstance(entry, QuestionEntry):
            self._questions[entry.content.id] = at
            return
        start = self._questions.pop(entry.content.question_id, at)
        outcome = "done" if entry.content.answered else "closed"
        self._spans.append(Span("human", start, at, "a person", outcome))

    def all(self) -> list[Span]:
        last, spans = self._last, self._spans
        self._end_request(last, "open")
        for start, name in self._calls.values():
            spans.append(Span("tool", start, last, name, "open"))
        for start, name in self._nodes.values():
            spans.append(Span("node", start, last, name, "open"))
        for start in self._questions.values():
            spans.append(Span("human", start, last, "a person", "open"))
        return spans
