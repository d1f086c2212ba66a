"""What each entry does to a value.

1. A fold takes a published value and an entry and returns a new value; it never
   changes what it was given, and when it raises nothing has happened.
2. It needs nothing but the two, so a history always means the same value, live,
   loaded or replayed.
3. It refuses what cannot follow; how a command is refused is decided before.
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from ._context import (
    clear_results,
    compact,
    put,
    put_all,
    remember_first,
)
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
    RunStartEntry,
    StopEntry,
    ToolResultEntry,
    UnknownEntry,
)
from ._graph_entries import (
    GraphEndEntry,
    GraphStartEntry,
    InterruptEntry,
    NodeEndEntry,
    NodeStartEntry,
    StepEndEntry,
    TrimEntry,
)
from ._graph_fold import (
    context_trim,
    graph_end,
    graph_start,
    interrupt,
    node_end,
    node_start,
    step_end,
)
from ._graph_value import GraphThread
from ._history import IDS_OF
from ._json import FrozenDict
from ._not_json import a_kind
from ._turns import (
    answer,
    call_start,
    child_end,
    child_start,
    error,
    make_notice,
    question,
    refuse_open,
    reply,
    request,
    tool_result,
)
from ._value import (
    NOTHING_RECORDED,
    Calling,
    Value,
    branch_messages,
)
from ._work_entries import (
    AnswerEntry,
    CallStartEntry,
    ChildEndEntry,
    ChildStartEntry,
    QuestionEntry,
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
    kind, size = type(entry), value.size
    rule = _RULES.get(kind)
    if rule is None:
        raise _not_an_entry(size, entry)
    change, ids_of = rule
    new = value.__copy__()
    try:
        if type(entry) is ContextChangeEntry and entry.content.kind == "restore":
            _restore(new, entry.content, past or _replayer(value))
        else:
            change(new, entry)
    except ValueError as refusal:
        raise ValueError(
            f"entry {size} ({entry.kind}) cannot follow the ones before it: {refusal}"
        ) from None
    new.history = history = value.history.append(size, entry)
    new.size = size + 1
    if ids_of is not None and (ids := ids_of(entry)):
        history.note(size, ids)
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
    told = f"item {index} of a history is {a_kind(entry)}, not a history entry"
    return TypeError(told)


def _message(value: Value, entry: MessageEntry) -> None:
    message = entry.message
    if value.facts.first_user is None:
        remember_first(value, (message,))
    if value.open is None:
        put(value, message)
    else:
        value.held = value.held.append(message)


def _exchange(value: Value, entry: ExchangeEntry) -> None:
    value.usage = value.usage + entry.usage


def _context_change(value: Value, entry: ContextChangeEntry) -> None:
    change = _KINDS.get(entry.content.kind)
    if change is None:
        raise ValueError(f"{entry.content.kind!r} is no kind of context change")
    change(value, entry)


def _import(value: Value, entry: ContextChangeEntry) -> None:
    if value.open is not None:
        refuse_open(value, "import messages")
    put_all(value, entry.content.messages)
    remember_first(value, entry.content.messages)


def _clear_tool_results(value: Value, entry: ContextChangeEntry) -> None:
    clear_results(value, entry.content.cleared)


def _compact(value: Value, entry: ContextChangeEntry) -> None:
    change = entry.content
    if type(value.open) is Calling:
        raise ValueError("cannot compact while calls have no result yet")
    if not change.summary or change.summary.isspace():
        raise ValueError("a compaction needs a summary")
    made = change.message_id
    message_id = f"summary-{value.size}" if made is None else made
    notice = make_notice(change.summary, message_id, entry.at)
    compact(value, notice, change.kept)
    value.usage = value.usage + change.usage


_KINDS: dict[str, Callable[[Value, ContextChangeEntry], None]] = {
    "import": _import,
    "compact": _compact,
    "clear_tool_results": _clear_tool_results,
}
"""By kind; a restore needs the past besides, so `fold` takes it to `_restore`."""


def _restore(value: Value, change: ContextChange, past: Past) -> None:
    if type(value.open) is not GraphThread:
        refuse_open(value, "go back")
    elif value.open.status == "running":
        raise ValueError("cannot go back while a run of the graph is under way")
    size = change.restored_to
    if size is None or not 0 <= size <= value.size:
        raise ValueError(f"there is no moment after {size!r} entries to go back to")
    then = past(size)
    if then.open is not None and type(then.open) is not GraphThread:
        raise ValueError(f"after {size} entries the State was not between turns")
    for name in ("messages", "count", "results", "open", "held", "late", "turn"):
        setattr(value, name, getattr(then, name))
    value.reply_answer = then.reply_answer
    now = value.facts
    value.facts = replace(
        then.facts, parent=now.parent, ran=now.ran, children=now.children
    )
    branch_messages(value)


def _run_start(value: Value, entry: RunStartEntry) -> None:
    facts = replace(value.facts, stopped=None, ran=(value.size, entry.content))
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
    ModelRequestEntry: request,
    ModelReplyEntry: reply,
    ModelEventEntry: _nothing,
    ToolResultEntry: tool_result,
    ExchangeEntry: _exchange,
    ContextChangeEntry: _context_change,
    RunStartEntry: _run_start,
    StopEntry: _stop,
    ExtraDataEntry: _extra_data,
    ErrorEntry: error,
    CallStartEntry: call_start,
    ChildStartEntry: child_start,
    ChildEndEntry: child_end,
    QuestionEntry: question,
    AnswerEntry: answer,
    GraphStartEntry: graph_start,
    NodeStartEntry: node_start,
    NodeEndEntry: node_end,
    StepEndEntry: step_end,
    InterruptEntry: interrupt,
    GraphEndEntry: graph_end,
    TrimEntry: context_trim,
}

_RULES = {kind: (change, IDS_OF.get(kind)) for kind, change in _CHANGES.items()}
"""What each entry does, and how to find the ids that it brings."""
