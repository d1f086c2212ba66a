"""A turn: a request to the model and all that it leads to, entry by entry."""

from datetime import datetime
from typing import assert_never

from msgspec.structs import replace

from ._content import ContentBlock, TextBlock, ToolResultBlock
from ._context import put, put_all, release_held, take_out
from ._entries import (
    ErrorEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    ToolResultEntry,
)
from ._entry import NO_USAGE, Content
from ._graph_value import GraphThread
from ._log import NOTHING
from ._message import Message
from ._value import Calling, OpenCalls, Thinking, Value
from ._work_entries import (
    AnswerEntry,
    CallStartEntry,
    ChildEndEntry,
    ChildStartEntry,
    QuestionEntry,
)


def request(value: Value, entry: ModelRequestEntry) -> None:
    refuse_open(value, "ask the model")
    notices = value.late
    value.open = Thinking(notices, value.count, value.size)
    if notices.size:
        put_all(value, notices.read())
        value.late = NOTHING
    value.turn += 1


def refuse_open(value: Value, what: str) -> None:
    match value.open:
        case None:
            return
        case Thinking():
            raise ValueError(f"cannot {what} while a request waits on the model")
        case Calling():
            raise ValueError(f"cannot {what} while calls have no result yet")
        case GraphThread():
            raise ValueError(f"cannot {what} on the thread of a graph")
        case _ as never:
            assert_never(never)


def reply(value: Value, entry: ModelReplyEntry) -> None:
    if type(value.open) is not Thinking:
        raise ValueError("a reply needs a request that waits on the model")
    reply = entry.content
    message = reply.message
    calls = message.tool_calls
    if calls:
        opened = OpenCalls(message.message_id, calls)
        if not opened.are_different:
            raise ValueError("two calls of one reply have the same id")
        value.open = Calling(opened, 0)
        put(value, message)
    else:
        value.open = None
        put(value, message)
        text = message.text()
        if text or not reply.cut_off:
            value.reply_answer = text
        release_held(value)
    value.usage += reply.usage


def error(value: Value, entry: ErrorEntry) -> None:
    now = value.open
    if type(now) is not Thinking or entry.call is not None:
        return
    value.turn -= 1
    value.open = None
    if now.notices.size:
        _take_back(value, now)
    release_held(value)


def _take_back(value: Value, request: Thinking) -> None:
    """Late notices that went in with a failed request wait again, before later ones."""
    notices = request.notices.read()
    take_out(value, request.start, notices)
    view = request.notices.branch()
    for message in value.late.read():
        view = view.append(message)
    value.late = view


def tool_result(value: Value, entry: ToolResultEntry) -> None:
    if entry.late:
        late_result(value, entry)
        return
    now = value.open
    if type(now) is not Calling or not now.calls.is_open(now.answered, entry.call.id):
        raise ValueError(f"call {entry.call.id!r} is not open")
    calls, answered = now.calls, now.answered
    if entry.usage is not NO_USAGE:
        value.usage = value.usage + entry.usage
    if answered + 1 < len(calls.calls):
        value.open = Calling(calls.answer(answered, entry), answered + 1)
        if value.facts.questions:
            _close_questions_of(value, entry.call.id)
        return
    value.open = None
    _forget_answers(value)
    put(value, _tool_message(calls, answered, entry))
    release_held(value)


def _tool_message(calls: OpenCalls, answered: int, last: ToolResultEntry) -> Message:
    """All results of a turn as one message, in request order."""
    blocks: list[ContentBlock] = [
        ToolResultBlock(
            call_id=entry.call.id,
            output=entry.content,
            name=entry.call.name,
            is_error=entry.is_error,
            status="failed" if entry.is_error else "completed",
        )
        for entry in calls.in_order(answered, last)
    ]
    made = last.message_id
    return Message(
        role="tool",
        content=tuple(blocks),
        message_id=f"{calls.reply_id}-results" if made is None else made,
        timestamp=last.at.timestamp(),
    )


def late_result(value: Value, entry: ToolResultEntry) -> None:
    made = entry.message_id
    notice = make_notice(
        f"interrupted {entry.call.name} finished later: {as_text(entry.content)}",
        f"{entry.call.id}-late-{value.size}" if made is None else made,
        entry.at,
    )
    value.usage = value.usage + entry.usage
    value.late = value.late.append(notice)


def make_notice(text: str, message_id: str | int, at: datetime) -> Message:
    return replace(
        Message.notice(text), message_id=message_id, timestamp=at.timestamp()
    )


def as_text(content: Content) -> str:
    """A result's content as text: other blocks are named, not shown."""
    if isinstance(content, str):
        return content
    return "".join(
        block.text if isinstance(block, TextBlock) else f"[{block.type}]"
        for block in content
    )


def call_start(value: Value, entry: CallStartEntry) -> None:
    """The call is marked as started, for whoever goes on after a crash."""
    now = value.open
    if type(now) is not Calling or not now.calls.is_open(now.answered, entry.call.id):
        raise ValueError(f"call {entry.call.id!r} is not open")
    now.calls.start(value.size, entry.call.id, entry.content)


def child_start(value: Value, entry: ChildStartEntry) -> None:
    """One background child more has not ended; a repeated start counts once."""
    if not value.history.has_begun(value.size, entry.content):
        value.facts = replace(value.facts, children=value.facts.children + 1)


def child_end(value: Value, entry: ChildEndEntry) -> None:
    """A background child's usage is added, and a notice waits; only the first time."""
    end = entry.content
    if value.history.has_ended(value.size, end):
        return
    if value.history.has_begun(value.size, end):
        value.facts = replace(value.facts, children=value.facts.children - 1)
    made = entry.message_id
    notice = make_notice(
        f"{end.name} ({end.child_id}) ended, {end.outcome}: {as_text(end.text)}",
        f"{end.child_id}-end-{value.size}" if made is None else made,
        entry.at,
    )
    value.usage = value.usage + entry.usage
    value.late = value.late.append(notice)


def question(value: Value, entry: QuestionEntry) -> None:
    """The question is open until it is answered, closed, or its turn ends."""
    facts = value.facts
    if any(open_.id == entry.content.id for open_ in facts.questions):
        raise ValueError(f"question {entry.content.id!r} is open already")
    value.facts = replace(facts, questions=(*facts.questions, entry.content))


def answer(value: Value, entry: AnswerEntry) -> None:
    """The question is closed; a call's answer is kept until its turn ends."""
    facts, said = value.facts, entry.content
    rest = tuple(q for q in facts.questions if q.id != said.question_id)
    if len(rest) == len(facts.questions):
        raise ValueError(f"no question {said.question_id!r} is open")
    answers = facts.answers
    if said.answered:
        asked = next(q for q in facts.questions if q.id == said.question_id)
        answers = (*answers, (asked, said.value))
    value.facts = replace(facts, questions=rest, answers=answers)


def _close_questions_of(value: Value, call_id: str) -> None:
    """A call has its result: nobody needs to be asked about it any more."""
    left = tuple(
        question
        for question in value.facts.questions
        if question.call is None or question.call.id != call_id
    )
    value.facts = replace(value.facts, questions=left)


def _forget_answers(value: Value) -> None:
    """A turn ended: what its calls asked is settled."""
    facts = value.facts
    if facts.questions or facts.answers:
        value.facts = replace(facts, questions=(), answers=())
