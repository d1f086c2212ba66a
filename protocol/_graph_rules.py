"""The rule of each command of a graph's thread: the entry it comes to, or a refusal.

The table has allowed it before any of these is asked; see `protocol._decide`.
"""

from datetime import datetime

from msgspec import structs

from ._commands import (
    Command,
    EndGraph,
    EndNode,
    EndStep,
    Pause,
    StartGraph,
    StartNode,
    TrimContext,
)
from ._entries import HistoryEntry
from ._graph_entries import (
    GraphEndEntry,
    GraphStartEntry,
    GraphUpdate,
    InterruptEntry,
    NodeEndEntry,
    NodeStartEntry,
    StepEndEntry,
    TrimEntry,
)
from ._graph_fold import can_start, running, task_left, thread_of
from ._message import Message
from ._recorded import recorded
from ._turn_rules import Clock, Rule, refuse_finished
from ._value import Value


def _recorded(messages: tuple[Message, ...], at: datetime) -> tuple[Message, ...]:
    """The messages as history keeps them; pieces of one are shown and never kept."""
    time = at.timestamp()
    return tuple([recorded(each, time) for each in messages if not each.delta])


def _start_graph(value: Value, command: StartGraph, now: Clock) -> HistoryEntry:
    refuse_finished(value, "run")
    start = command.start
    can_start(thread_of(value), start)
    at = now()
    if start.messages:
        start = structs.replace(start, messages=_recorded(start.messages, at))
    return GraphStartEntry(content=start, turn=value.turn, at=at)


def _start_node(value: Value, command: StartNode, now: Clock) -> HistoryEntry:
    task_left(running(value), command.task.id)
    return NodeStartEntry(
        content=command.task, child_id=command.child_id, turn=value.turn, at=now()
    )


def _end_node(value: Value, command: EndNode, now: Clock) -> HistoryEntry:
    end = command.end
    task_left(running(value), end.task_id)
    at = now()
    if any(update.messages for update in end.updates):
        updates = [_recorded_update(update, at) for update in end.updates]
        end = structs.replace(end, updates=tuple(updates))
    return NodeEndEntry(
        content=end,
        usage=command.usage,
        child_ids=command.child_ids,
        turn=value.turn,
        at=at,
    )


def _recorded_update(update: GraphUpdate, at: datetime) -> GraphUpdate:
    if update.messages is None:
        return update
    return structs.replace(update, messages=_recorded(update.messages, at))


def _end_step(value: Value, command: EndStep, now: Clock) -> HistoryEntry:
    thread = running(value)
    if len(thread.done) != len(thread.tasks):
        raise ValueError("cannot end the step: a node of it has not ended yet")
    return StepEndEntry(content=command.end, turn=value.turn, at=now())


def _pause(value: Value, command: Pause, now: Clock) -> HistoryEntry:
    running(value)
    return InterruptEntry(
        content=command.interrupts, status=command.status, turn=value.turn, at=now()
    )


def _end_graph(value: Value, command: EndGraph, now: Clock) -> HistoryEntry:
    running(value)
    return GraphEndEntry(content=command.end, turn=value.turn, at=now())


def _trim(value: Value, command: TrimContext, now: Clock) -> HistoryEntry:
    running(value)
    trim = command.trim
    if not 0 <= trim.upto <= value.count or any(i >= trim.upto for i in trim.kept):
        raise ValueError(f"cannot trim: there is no view up to message {trim.upto}")
    return TrimEntry(content=trim, usage=command.usage, turn=value.turn, at=now())


GRAPH_RULES: dict[type[Command], Rule] = {
    StartGraph: _start_graph,
    StartNode: _start_node,
    EndNode: _end_node,
    EndStep: _end_step,
    Pause: _pause,
    EndGraph: _end_graph,
    TrimContext: _trim,
}
