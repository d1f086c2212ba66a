"""The rules of commands that belong to no turn: an entry, nothing, or a refusal.

The phase has allowed it before any of these is asked; see `protocol._decide`.
"""

from datetime import datetime

from ._commands import (
    AddMessage,
    ClearToolResults,
    Command,
    Compact,
    EditExtraData,
    Fail,
    Finish,
    Fork,
    Import,
    Restore,
    SetStop,
    StartRun,
)
from ._context import results_to_clear
from ._entries import (
    ContextChange,
    ContextChangeEntry,
    ErrorEntry,
    ExtraDataEntry,
    HistoryEntry,
    MessageEntry,
    RunStartEntry,
    StopEntry,
)
from ._graph_value import GraphThread
from ._ids import new_message_id
from ._message import Message
from ._recorded import recorded
from ._stops import StoppedByFinish
from ._turn_rules import Clock, Rule, check_text, refuse_finished
from ._value import Value


def _add_message(value: Value, command: AddMessage, now: Clock) -> HistoryEntry:
    at = now()
    message = recorded(command.message, at.timestamp())
    return MessageEntry(message=message, turn=value.turn, at=at)


def _import(value: Value, command: Import, now: Clock) -> HistoryEntry | None:
    if not command.messages:
        return None
    at = now()
    time = at.timestamp()
    kept: list[Message] = []
    for message in command.messages:
        kept.append(recorded(message, time))  # noqa: PERF401 - one is the common case
    change = ContextChange(kind="import", messages=tuple(kept))
    return ContextChangeEntry(content=change, turn=value.turn, at=at)


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
    check_text(summary, "summary")
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
    Fail: _fail,
}
