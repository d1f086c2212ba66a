"""What each entry does to a value.

1. A fold takes a published value and an entry and returns a new value; it never
   changes what it was given, and when it raises nothing has happened.
2. It needs nothing but the two, so a history always means the same value, live,
   loaded or replayed.
3. It refuses what cannot follow; how a command is refused is decided before.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, assert_never

from msgspec.structs import replace

from ._content import ContentBlock, TextBlock, ToolResultBlock
from ._context import (
    clear_results,
    compact,
    put,
    put_all,
    release_held,
    remember_first,
)
from ._entries import (
    Content,
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
    RunStartEntry,
    StopEntry,
    ToolResultEntry,
    UnknownEntry,
)
from ._json import FrozenDict
from ._log import NOTHING
from ._message import Message
from ._value import (
    NOTHING_RECORDED,
    Calling,
    OpenCalls,
    Thinking,
    Value,
    branch_messages,
)

Past = Callable[[int], Value]
"""Gives the value as it was after so many entries of the same history."""


def fold(value: Value, entry: HistoryEntry, past: Past | None = None) -> Value:
    """The value after ``entry``: a new one, built on ``value``.

    Args:
        value: what the entries so far mean; it is not changed.
        entry: what happened next.
        past: where a ``restore`` finds the value it goes back to; without it that
            beginning of the history is folded again.

    Raises:
        ValueError: the entry cannot follow; the text gives its index, kind and why.
        TypeError: it is not a history entry.
    """
    new = value.__copy__()
    change = _CHANGES.get(type(entry))
    if change is None:
        raise _not_an_entry(value.size, entry)
    try:
        if change is _context_change and entry.content.kind == "restore":
            _restore(new, entry.content, past or _replayer(value))
        else:
            change(new, entry)
    except ValueError as error:
        raise ValueError(
            f"entry {value.size} ({entry.kind}) cannot follow the ones before it: "
            f"{error}"
        ) from None
    new.history = value.history.append(value.size, entry)
    new.size = value.size + 1
    _note_ids(new, entry)
    return new


def replay(entries: Iterable[HistoryEntry]) -> Value:
    """The value that a whole history means, in one pass.

    Values that a later ``restore`` goes back to are kept on the way, so replaying is
    linear whatever the history holds.

    Raises:
        ValueError, TypeError: as `fold`, for the first entry that cannot follow.
    """
    history = tuple(entries)
    wanted = {
        entry.content.restored_to
        for entry in history
        if type(entry) is ContextChangeEntry and entry.content.kind == "restore"
    }
    kept: dict[int, Value] = {}
    value = NOTHING_RECORDED
    for index, entry in enumerate(history):
        if index in wanted:
            kept[index] = value
        value = fold(value, entry, kept.__getitem__)
    return value


def _replayer(value: Value) -> Past:
    return lambda size: replay(value.history.read(size))


def _not_an_entry(index: int, entry: object) -> Exception:
    if isinstance(entry, UnknownEntry):
        return ValueError(
            f"entry {index} is of kind {entry.kind!r}, which this version does not "
            f"know: read this history with the version that wrote it, or a newer one"
        )
    return TypeError(
        f"item {index} of a history is a {type(entry).__name__}, not a history entry"
    )


def _note_ids(value: Value, entry: HistoryEntry) -> None:
    kind = type(entry)
    if kind is ModelReplyEntry:
        value.history.note_calls(value.size - 1, entry.content.message.tool_calls)
    elif kind is ToolResultEntry:
        if entry.child_ids:
            value.history.note_children(value.size - 1, entry.child_ids)
    elif kind is ContextChangeEntry:
        for message in entry.content.messages:
            if message.role == "assistant":
                value.history.note_calls(value.size - 1, message.tool_calls)


def _message(value: Value, entry: MessageEntry) -> None:
    message = entry.message
    if value.facts.first_user is None:
        remember_first(value, (message,))
    if value.open is None:
        put(value, message)
    else:
        value.held = value.held.append(message)


def _request(value: Value, entry: ModelRequestEntry) -> None:
    _only_idle(value, "ask the model")
    notices = value.late
    value.open = Thinking(notices, value.count, value.size)
    if notices.size:
        put_all(value, notices.read())
        value.late = NOTHING
    value.turn += 1


def _only_idle(value: Value, what: str) -> None:
    match value.open:
        case None:
            return
        case Thinking():
            raise ValueError(f"cannot {what} while a request waits on the model")
        case Calling():
            raise ValueError(f"cannot {what} while calls have no result yet")
        case _ as never:
            assert_never(never)


def _reply(value: Value, entry: ModelReplyEntry) -> None:
    if type(value.open) is not Thinking:
        raise ValueError("a reply needs a request that waits on the model")
    reply = entry.content
    message = reply.message
    calls = message.tool_calls
    if calls:
        opened = OpenCalls(message.message_id, calls)
        if len(opened.order) != len(calls):
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
    value.usage = value.usage + reply.usage


def _error(value: Value, entry: ErrorEntry) -> None:
    now = value.open
    if type(now) is not Thinking or entry.call is not None:
        return
    value.turn -= 1
    value.open = None
    if now.notices.size:
        _take_back(value, now)
    release_held(value)


def _take_back(value: Value, request: Thinking) -> None:
    """Late notices that went in with a failed request wait again."""
    notices = request.notices
    if request.start is not None:
        # Nothing else goes in while thinking: they are the last messages.
        value.count = request.start
    else:
        _drop_messages(value, {message.message_id for message in notices.read()})
    later = value.late.read()
    view = notices.branch()
    for message in later:
        view = view.append(message)
    value.late = view


def _drop_messages(value: Value, ids: set[str | int]) -> None:
    """A compaction moved the notices: those it kept are taken out where they stand."""
    rest = [m for m in value.messages.read(value.count) if m.message_id not in ids]
    if len(rest) != value.count:
        value.messages = value.messages.branch(0)
        value.count = 0
        value.results = replace(value.results, places=NOTHING, changed=NOTHING)
        put_all(value, rest)


def _tool_result(value: Value, entry: ToolResultEntry) -> None:
    if entry.late:
        _late_result(value, entry)
        return
    now = value.open
    if type(now) is not Calling or not now.calls.is_open(now.answered, entry.call.id):
        raise ValueError(f"call {entry.call.id!r} is not open")
    calls = now.calls.answer(now.answered, entry)
    answered = now.answered + 1
    value.usage = value.usage + entry.usage
    if answered < len(calls.calls):
        value.open = Calling(calls, answered)
        return
    value.open = None
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
        for entry in calls.in_order(answered)
    ]
    made = last.message_id
    return Message(
        role="tool",
        content=tuple(blocks),
        message_id=f"{calls.reply_id}-results" if made is None else made,
        timestamp=last.at.timestamp(),
    )


def _late_result(value: Value, entry: ToolResultEntry) -> None:
    made = entry.message_id
    notice = _notice(
        f"interrupted {entry.call.name} finished later: {as_text(entry.content)}",
        f"{entry.call.id}-late-{value.size}" if made is None else made,
        entry.at,
    )
    value.usage = value.usage + entry.usage
    value.late = value.late.append(notice)


def _notice(text: str, message_id: str | int, at: datetime) -> Message:
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


def _exchange(value: Value, entry: ExchangeEntry) -> None:
    value.usage = value.usage + entry.usage


def _context_change(value: Value, entry: ContextChangeEntry) -> None:
    change = entry.content
    match change.kind:
        case "import":
            _only_idle(value, "import messages")
            put_all(value, change.messages)
            remember_first(value, change.messages)
        case "compact":
            _compact(value, entry)
        case "clear_tool_results":
            clear_results(value, change.cleared)
        case "restore":
            raise AssertionError("fold takes restores to _restore, which needs a past")
        case _ as never:
            assert_never(never)


def _compact(value: Value, entry: ContextChangeEntry) -> None:
    change = entry.content
    if type(value.open) is Calling:
        raise ValueError("cannot compact while calls have no result yet")
    if not change.summary or change.summary.isspace():
        raise ValueError("a compaction needs a summary")
    made = change.message_id
    message_id = f"summary-{value.size}" if made is None else made
    notice = _notice(change.summary, message_id, entry.at)
    compact(value, notice, change.kept)
    value.usage = value.usage + change.usage


def _restore(value: Value, change: ContextChange, past: Past) -> None:
    _only_idle(value, "go back")
    size = change.restored_to
    if size is None or not 0 <= size <= value.size:
        raise ValueError(f"there is no moment after {size!r} entries to go back to")
    then = past(size)
    if then.open is not None:
        raise ValueError(f"after {size} entries the State was not between turns")
    for name in ("messages", "count", "results", "open", "held", "late", "turn"):
        setattr(value, name, getattr(then, name))
    value.reply_answer = then.reply_answer
    value.facts = replace(then.facts, parent=value.facts.parent)
    branch_messages(value)


def _run_start(value: Value, entry: RunStartEntry) -> None:
    facts = replace(value.facts, stopped=None)
    if facts.parent is None and entry.parent_id is not None:
        facts = replace(facts, parent=(entry.parent_id, entry.parent_call_id))
    value.facts = facts


def _stop(value: Value, entry: StopEntry) -> None:
    stop = entry.content
    facts = replace(value.facts, stopped=stop)
    if stop is not None and stop.kind == "finish":
        facts = replace(facts, finished=True)
        if stop.answer is not None:
            facts = replace(facts, finish_answer=stop.answer)
    value.facts = facts


def _extra_data(value: Value, entry: ExtraDataEntry) -> None:
    data = {k: v for k, v in value.facts.extra_data.items() if k not in entry.removed}
    data.update(entry.content)
    value.facts = replace(value.facts, extra_data=FrozenDict(data))


def _nothing(value: Value, entry: Any) -> None:
    """A retry or the like: for readers, no value changes."""


_CHANGES: dict[type, Callable[[Value, Any], None]] = {
    MessageEntry: _message,
    ModelRequestEntry: _request,
    ModelReplyEntry: _reply,
    ModelEventEntry: _nothing,
    ToolResultEntry: _tool_result,
    ExchangeEntry: _exchange,
    ContextChangeEntry: _context_change,
    RunStartEntry: _run_start,
    StopEntry: _stop,
    ExtraDataEntry: _extra_data,
    ErrorEntry: _error,
}
