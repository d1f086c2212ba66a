"""The rules of the commands of a turn: the entries they come to, or a refusal.

The phase has allowed it before any of these is asked; see `protocol._decide`.
"""

from collections.abc import Callable
from datetime import datetime
from math import isfinite
from typing import Any, TypeAlias

from msgspec import structs

from ._commands import (
    AnswerQuestion,
    Ask,
    CloseCall,
    Command,
    EndChild,
    NoteEvent,
    NoteExchange,
    NoteStart,
    Receive,
    ReportLate,
    Request,
    StartChild,
)
from ._content import ContentBlock, ToolCallBlock
from ._entries import (
    ExchangeEntry,
    HistoryEntry,
    ModelEventEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    Reply,
    ToolResultEntry,
)
from ._entry import Content
from ._ids import new_id, new_message_id
from ._message import Message
from ._recorded import is_clean, recorded, recorded_block
from ._usage import Usage
from ._value import Calling, Value
from ._work_entries import (
    AnswerEntry,
    CallStartEntry,
    ChildEndEntry,
    ChildStartEntry,
    QuestionEntry,
)

Clock: TypeAlias = Callable[[], datetime]
"""Tells the time, in UTC."""

Rule: TypeAlias = Callable[[Value, Any, Clock], HistoryEntry | None]
"""What a command comes to: an entry, nothing, or an exception."""


def refuse_finished(value: Value, what: str) -> None:
    """Refuse what only a State that is not finished can do."""
    if value.facts.finished:
        raise ValueError(
            f"cannot {what}: the State is finished; start a new one from its messages "
            f"(State(messages=state.messages)) or restore a snapshot from before"
        )


def check_text(text: object, path: str) -> None:
    """Check that this is text which a file can hold."""
    if is_clean(text):
        return
    if not isinstance(text, str):
        raise TypeError(f"{path} must be a str, not {type(text).__name__}")
    raise TypeError(
        f"{path} has half of a surrogate pair, which no file can hold; decode it "
        f"with errors='replace'"
    )


def _request(value: Value, command: Request, now: Clock) -> HistoryEntry:
    refuse_finished(value, "think")
    return ModelRequestEntry(content=command.model, turn=value.turn + 1, at=now())


def check_reply(reply: object) -> None:
    """Refuse a reply that could be recorded and not be read again.

    Models are written by users too, and no constructor checks its numbers. The blocks
    of the message are checked when they are recorded.

    Raises:
        TypeError: it is no Reply, or a field of it, or of its usage, is of another
            type; the error names it.
    """
    if not isinstance(reply, Reply):
        raise TypeError(f"a model answers with a Reply, not {reply!r}")
    message: Any = reply.message
    if not isinstance(message, Message):
        raise TypeError(f"reply.message must be a Message, not {message!r}")
    why, model = reply.stop_reason, reply.model
    if why is not None:
        check_text(why, "reply.stop_reason")
    if model is not None:
        check_text(model, "reply.model")
    if reply.context_tokens is not None:
        _check_count(reply.context_tokens, "reply.context_tokens")
    _check_usage(reply.usage)


_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "requests",
)


def _check_usage(usage: object) -> None:
    if type(usage) is not Usage:
        raise TypeError(f"reply.usage must be a Usage, not {usage!r}")
    if not (
        type(usage.input_tokens) is type(usage.output_tokens) is int
        and type(usage.cache_read_tokens) is type(usage.cache_write_tokens) is int
        and type(usage.requests) is int
    ):
        for name in _COUNTS:
            _check_count(getattr(usage, name), f"reply.usage.{name}")
    cost: Any = usage.cost
    if cost is not None and not (type(cost) in (int, float) and isfinite(cost)):
        raise TypeError(f"reply.usage.cost must be a number or None, not {cost!r}")


def _check_count(count: object, path: str) -> None:
    if type(count) is not int:
        raise TypeError(f"{path} must be an int, not {count!r}; round an estimate")


def _receive(value: Value, command: Receive, now: Clock) -> HistoryEntry:
    reply = command.reply
    if reply.message.role != "assistant":
        raise ValueError(
            f"a reply is an assistant message, not one of role {reply.message.role!r}"
        )
    at = now()
    message = recorded(_completed(value, reply), at.timestamp())
    usage = reply.usage
    if reply.model is not None:
        usage = usage.for_model(reply.model)
    if message is not reply.message or usage is not reply.usage:
        reply = structs.replace(reply, message=message, usage=usage)
    return ModelReplyEntry(content=reply, turn=value.turn, at=at)


def _completed(value: Value, reply: Reply) -> Message:
    """The reply's message with what stands beside it, and ids of this State's own."""
    message = reply.message
    fields: dict[str, Any] = {}
    content = _own_ids(value, message.content)
    if content is not message.content:
        fields["content"] = content
    if message.tokens is None and reply.context_tokens is not None:
        fields["tokens"] = reply.context_tokens
    if message.stop_reason is None and reply.stop_reason is not None:
        fields["stop_reason"] = reply.stop_reason
    return structs.replace(message, **fields) if fields else message


def _own_ids(
    value: Value, content: tuple[ContentBlock, ...]
) -> tuple[ContentBlock, ...]:
    """The blocks with call ids that are unique in this State; the same if they are.

    A replaced id is kept as ``ToolCall.model_id``.
    """
    seen: set[str] = set()
    blocks: list[ContentBlock] | None = None
    history, size = value.history, value.size
    for index, block in enumerate(content):
        if type(block) is not ToolCallBlock:
            continue
        call_id = block.id
        if not call_id or call_id in seen or history.has_call(size, call_id):
            call_id = new_id()
            blocks = list(content) if blocks is None else blocks
            blocks[index] = structs.replace(block, id=call_id, model_id=block.id)
        seen.add(call_id)
    return content if blocks is None else tuple(blocks)


def _note_event(value: Value, command: NoteEvent, now: Clock) -> HistoryEntry:
    return ModelEventEntry(content=command.event, turn=value.turn, at=now())


def _close_call(value: Value, command: CloseCall, now: Clock) -> HistoryEntry:
    turn = value.open
    assert type(turn) is Calling, "the table refuses it in every other phase"
    if not turn.calls.is_open(turn.answered, command.call.id):
        raise ValueError(
            f"call {command.call.id!r} of {command.call.name!r} is not open: it has "
            f"its result, or it belongs to another turn"
        )
    last = turn.answered + 1 == len(turn.calls.calls)
    return _result(value, command, now, late=False, causes_message=last)


def _report_late(value: Value, command: ReportLate, now: Clock) -> HistoryEntry:
    turn = value.open
    if type(turn) is Calling and turn.calls.is_open(turn.answered, command.call.id):
        raise ValueError(
            f"call {command.call.id!r} is still open: close it, it is not late"
        )
    return _result(value, command, now, late=True, causes_message=True)


def _result(
    value: Value,
    command: CloseCall | ReportLate,
    now: Clock,
    *,
    late: bool,
    causes_message: bool,
) -> HistoryEntry:
    return ToolResultEntry(
        content=_recorded_content(command.content),
        call=command.call,
        outcome=command.outcome,
        late=late,
        error=command.error,
        child_ids=command.child_ids,
        usage=command.usage,
        message_id=new_message_id() if causes_message else None,
        turn=value.turn,
        at=now(),
    )


def _recorded_content(content: Content) -> Content:
    if isinstance(content, str):
        check_text(content, "result")
        return content
    return tuple(
        [recorded_block(block, f"result[{i}]") for i, block in enumerate(content)]
    )


def _note_exchange(value: Value, command: NoteExchange, now: Clock) -> HistoryEntry:
    check_text(command.exchange.question, "question")
    return ExchangeEntry(
        kind=command.kind,
        content=command.exchange,
        usage=command.usage,
        turn=value.turn,
        at=now(),
    )


def _note_start(value: Value, command: NoteStart, now: Clock) -> HistoryEntry:
    turn = value.open
    assert type(turn) is Calling, "the table refuses it in every other phase"
    if not turn.calls.is_open(turn.answered, command.call.id):
        raise ValueError(f"call {command.call.id!r} is not open: it cannot start")
    return CallStartEntry(
        content=command.key, call=command.call, turn=value.turn, at=now()
    )


def _start_child(value: Value, command: StartChild, now: Clock) -> HistoryEntry | None:
    if value.history.has_begun(value.size, command.child):
        return None
    return ChildStartEntry(content=command.child, turn=value.turn, at=now())


def _end_child(value: Value, command: EndChild, now: Clock) -> HistoryEntry | None:
    if value.history.has_ended(value.size, command.end):
        return None
    return ChildEndEntry(
        content=command.end,
        usage=command.usage,
        message_id=new_message_id(),
        turn=value.turn,
        at=now(),
    )


def check_approval(answer: object) -> None:
    """Refuse what says neither that a call may run nor that it may not.

    Raises:
        ValueError: it is neither text nor a bool.
    """
    if not isinstance(answer, str | bool):
        raise ValueError(  # noqa: TRY004 - a wrong answer to a known question
            f"an approval is answered with 'yes', 'always', 'no' or the reason "
            f"against it, not {answer!r}"
        )


def _ask(value: Value, command: Ask, now: Clock) -> HistoryEntry:
    return QuestionEntry(content=command.question, turn=value.turn, at=now())


def _answer_question(value: Value, command: AnswerQuestion, now: Clock) -> HistoryEntry:
    answer, questions = command.answer, value.facts.questions
    asked = next((each for each in questions if each.id == answer.question_id), None)
    if asked is None:
        raise ValueError(
            f"no question {answer.question_id!r} is open: it was answered or closed "
            f"before, or never asked (open now: {[each.id for each in questions]})"
        )
    if asked.call is not None and answer.answered:
        check_approval(answer.value)
    return AnswerEntry(content=command.answer, turn=value.turn, at=now())


TURN_RULES: dict[type[Command], Rule] = {
    Request: _request,
    Receive: _receive,
    NoteEvent: _note_event,
    CloseCall: _close_call,
    ReportLate: _report_late,
    NoteExchange: _note_exchange,
    NoteStart: _note_start,
    StartChild: _start_child,
    EndChild: _end_child,
    Ask: _ask,
    AnswerQuestion: _answer_question,
}
