"""The rule of each command: the entry it comes to, nothing, or a refusal.

The phase has allowed it before any of these is asked; see `protocol._decide`.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from msgspec import structs

from ._commands import (
    AddMessage,
    AnswerQuestion,
    Ask,
    ClearToolResults,
    CloseCall,
    Command,
    Compact,
    EditExtraData,
    EndChild,
    Fail,
    Finish,
    Fork,
    Import,
    NoteEvent,
    NoteExchange,
    NoteStart,
    Receive,
    ReportLate,
    Request,
    Restore,
    SetStop,
    StartRun,
)
from ._content import ContentBlock, ToolCallBlock
from ._context import results_to_clear
from ._entries import (
    ContextChange,
    ContextChangeEntry,
    ErrorEntry,
    ExchangeEntry,
    ExtraDataEntry,
    HistoryEntry,
    MessageEntry,
    ModelEventEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    Reply,
    RunStartEntry,
    StopEntry,
    ToolResultEntry,
)
from ._entry import Content
from ._graph_value import GraphThread
from ._ids import new_id, new_message_id
from ._message import Message
from ._recorded import is_clean, recorded, recorded_block
from ._stops import StoppedByFinish
from ._value import Calling, Value
from ._work_entries import AnswerEntry, CallStartEntry, ChildEndEntry, QuestionEntry

Clock: TypeAlias = Callable[[], datetime]
"""Tells the time, in UTC."""


def refuse_finished(value: Value, what: str) -> None:
    if value.facts.finished:
        raise ValueError(
            f"cannot {what}: the State is finished; start a new one from its messages "
            f"(State(messages=state.messages)) or restore a snapshot from before"
        )


def _add_message(value: Value, command: AddMessage, now: Clock) -> HistoryEntry:
    at = now()
    message = recorded(command.message, at.timestamp())
    return MessageEntry(message=message, turn=value.turn, at=at)


def _import(value: Value, command: Import, now: Clock) -> HistoryEntry | None:
    if not command.messages:
        return None
    at = now()
    time = at.timestamp()
    messages = tuple([recorded(message, time) for message in command.messages])
    return _context_change(value, at, ContextChange(kind="import", messages=messages))


def _context_change(value: Value, at: datetime, change: ContextChange) -> HistoryEntry:
    return ContextChangeEntry(content=change, turn=value.turn, at=at)


def _finish(value: Value, command: Finish, now: Clock) -> HistoryEntry:
    stopped = StoppedByFinish(answer=command.answer)
    return StopEntry(content=stopped, turn=value.turn, at=now())


def _set_stop(value: Value, command: SetStop, now: Clock) -> HistoryEntry | None:
    if command.stopped is None and value.facts.stopped is None:
        return None
    return StopEntry(content=command.stopped, turn=value.turn, at=now())


def _compact(value: Value, command: Compact, now: Clock) -> HistoryEntry:
    summary = command.summary
    _check_text(summary, "summary")
    if not summary or summary.isspace():
        raise ValueError("a summary must say something: the text given is empty")
    change = ContextChange(
        kind="compact",
        summary=summary,
        kept=command.kept,
        before_tokens=command.before_tokens,
        after_tokens=command.after_tokens,
        usage=command.usage,
        message_id=new_message_id(),
    )
    return _context_change(value, now(), change)


def _clear(value: Value, command: ClearToolResults, now: Clock) -> HistoryEntry | None:
    results = value.results
    if results.places.size - command.keep_last <= results.cleared:
        return None
    names = results_to_clear(value, command.keep_last)
    assert names, "the first result that `cleared` does not count is never blank"
    change = ContextChange(kind="clear_tool_results", cleared=names)
    return _context_change(value, now(), change)


def _edit(value: Value, command: EditExtraData, now: Clock) -> HistoryEntry | None:
    if not command.set and not command.removed:
        return None
    return ExtraDataEntry(
        content=command.set, removed=command.removed, turn=value.turn, at=now()
    )


def _restore(value: Value, command: Restore, now: Clock) -> HistoryEntry:
    then = command.then
    if type(value.open) is GraphThread and value.open.status == "running":
        raise ValueError(
            "cannot restore while a run of the graph is under way, or was cut off by a "
            "crash: wait for its end, or start another one"
        )
    if then.open is not None and type(then.open) is not GraphThread:
        raise ValueError(
            "cannot restore a snapshot that was taken in the middle of a turn (the "
            "model was being waited on, or calls had no result): going back must "
            "never run a tool twice; take snapshots between turns"
        )
    if not _is_beginning(value, then):
        raise ValueError(
            "cannot restore a snapshot of another State: its history is not the "
            "beginning of this one's"
        )
    return _context_change(
        value, now(), ContextChange(kind="restore", restored_to=then.size)
    )


def _is_beginning(value: Value, then: Value) -> bool:
    """Whether ``then``'s history begins this one; compares items only if unshared."""
    if then.size > value.size:
        return False
    if value.history.begins_with(value.size, then.history, then.size):
        return True
    return value.history.read(then.size) == then.history.read(then.size)


def _fork(value: Value, command: Fork, now: Clock) -> None:
    """Nothing is recorded: the copy is made from the published value."""


def _start_run(value: Value, command: StartRun, now: Clock) -> HistoryEntry:
    refuse_finished(value, "run")
    return RunStartEntry(
        content=command.info,
        parent_id=command.parent_id,
        parent_call_id=command.parent_call_id,
        turn=value.turn,
        at=now(),
    )


def _request(value: Value, command: Request, now: Clock) -> HistoryEntry:
    refuse_finished(value, "think")
    return ModelRequestEntry(content=command.model, turn=value.turn + 1, at=now())


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
    for index, block in enumerate(content):
        if type(block) is not ToolCallBlock:
            continue
        call_id = block.id
        if (
            not call_id
            or call_id in seen
            or value.history.has_call(value.size, call_id)
        ):
            call_id = new_id()
            blocks = list(content) if blocks is None else blocks
            blocks[index] = structs.replace(block, id=call_id, model_id=block.id)
        seen.add(call_id)
    return content if blocks is None else tuple(blocks)


def _note_event(value: Value, command: NoteEvent, now: Clock) -> HistoryEntry:
    return ModelEventEntry(content=command.event, turn=value.turn, at=now())


def _fail(value: Value, command: Fail, now: Clock) -> HistoryEntry:
    error = command.error
    return ErrorEntry(
        content=told(error),
        error=error,
        call=command.call,
        turn=value.turn,
        at=now(),
    )


def told(error: BaseException) -> str:
    """``Type: message``, whatever the exception's own ``str`` does."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception as broken:  # noqa: BLE001 - a user's __str__ may raise anything
        text = f"{type(error).__name__}: (its text raised {type(broken).__name__})"
    return text.encode("utf-8", "backslashreplace").decode()


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
        _check_text(content, "result")
        return content
    return tuple(
        [recorded_block(block, f"result[{i}]") for i, block in enumerate(content)]
    )


def _check_text(text: object, path: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{path} must be a str, not {type(text).__name__}")
    if not is_clean(text):
        raise TypeError(
            f"{path} has half of a surrogate pair, which no file can hold; decode it "
            f"with errors='replace'"
        )


def _note_exchange(value: Value, command: NoteExchange, now: Clock) -> HistoryEntry:
    _check_text(command.exchange.question, "question")
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


def _end_child(value: Value, command: EndChild, now: Clock) -> HistoryEntry | None:
    if value.history.has_end(value.size, command.end.child_id):
        return None
    return ChildEndEntry(
        content=command.end,
        usage=command.usage,
        message_id=new_message_id(),
        turn=value.turn,
        at=now(),
    )


def _ask(value: Value, command: Ask, now: Clock) -> HistoryEntry:
    return QuestionEntry(content=command.question, turn=value.turn, at=now())


def _answer_question(value: Value, command: AnswerQuestion, now: Clock) -> HistoryEntry:
    asked = command.answer.question_id
    if all(question.id != asked for question in value.facts.questions):
        raise ValueError(
            f"no question {asked!r} is open: it was answered or closed before, or "
            f"never asked (open now: {[q.id for q in value.facts.questions]})"
        )
    return AnswerEntry(content=command.answer, turn=value.turn, at=now())


Rule: TypeAlias = Callable[[Value, Any, Clock], HistoryEntry | None]

RULES: dict[type[Command], Rule] = {
    AddMessage: _add_message,
    Import: _import,
    Finish: _finish,
    SetStop: _set_stop,
    Compact: _compact,
    ClearToolResults: _clear,
    EditExtraData: _edit,
    Restore: _restore,
    Fork: _fork,
    StartRun: _start_run,
    Request: _request,
    Receive: _receive,
    NoteEvent: _note_event,
    Fail: _fail,
    CloseCall: _close_call,
    ReportLate: _report_late,
    NoteExchange: _note_exchange,
    NoteStart: _note_start,
    EndChild: _end_child,
    Ask: _ask,
    AnswerQuestion: _answer_question,
}
