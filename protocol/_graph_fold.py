"""What each entry of a graph's thread does to a value."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from ._context import put, remember_first, start_again
from ._graph_entries import (
    GraphEndEntry,
    GraphStart,
    GraphStartEntry,
    GraphUpdate,
    InterruptEntry,
    NodeEndEntry,
    NodeStartEntry,
    StepEndEntry,
    TrimEntry,
)
from ._graph_value import NEW_THREAD, NO_FIELDS, NONE, GraphThread
from ._json import FrozenDict
from ._message import Message
from ._value import Value


def thread_of(value: Value) -> GraphThread:
    """The thread, or one that never ran.

    Raises:
        ValueError: this State is in the middle of a conversation's turn.
    """
    now = value.open
    if now is None:
        return NEW_THREAD
    if type(now) is GraphThread:
        return now
    raise ValueError("a turn of a conversation is open")


def running(value: Value) -> GraphThread:
    """The thread, which a run is driving.

    Raises:
        ValueError: no run of a graph has begun, or the last one has ended.
    """
    thread = value.open
    if type(thread) is not GraphThread or thread.status != "running":
        raise ValueError("no run of a graph is under way on this State")
    return thread


def task_left(thread: GraphThread, task_id: str) -> None:
    """Check that a task is one of the step, and has not ended with an update.

    Raises:
        ValueError: it is not, or it has.
    """
    if task_id not in thread.task_ids:
        raise ValueError(f"task {task_id!r} is not one of this step")
    if task_id in thread.done:
        raise ValueError(f"task {task_id!r} of this step has ended already")


def can_start(thread: GraphThread, start: GraphStart) -> None:
    """Check that a run may begin like this.

    Raises:
        ValueError: it goes on, and nothing is left to go on from; or it answers what
            does not wait.
    """
    if start.goes_on and not thread.can_go_on:
        raise ValueError(
            "there is nothing to go on from: the last run of this thread "
            f"{'completed' if thread.status == 'completed' else 'never began'}"
        )
    open_ids = {interrupt.id for interrupt in thread.interrupts}
    if unknown := [name for name in start.answers if name not in open_ids]:
        raise ValueError(f"no interrupt {unknown[0]!r} waits for an answer")


def add(value: Value, messages: Iterable[Message]) -> None:
    """Put those messages behind the others whose id is not there yet."""
    for message in messages:
        log_id = message.message_id
        if not value.messages.has(value.count, log_id):
            put(value, message)
            value.messages.note(value.count - 1, (log_id,))
            _remember_answer(value, message)


def _remember_answer(value: Value, message: Message) -> None:
    if message.role == "assistant" and not message.tool_calls:
        value.reply_answer = message.text()


def _replace(value: Value, messages: Iterable[Message]) -> None:
    start_again(value, ())
    add(value, messages)


def _with(fields: FrozenDict[str, Any], new: Mapping[str, Any]) -> Any:
    return FrozenDict({**fields, **new}) if new else fields


def graph_start(value: Value, entry: GraphStartEntry) -> None:
    """A run begins: at the entry point, or where the last one stopped."""
    thread, start = thread_of(value), entry.content
    can_start(thread, start)
    if thread is NEW_THREAD:
        for index, message in enumerate(value.messages.iterate(value.count)):
            value.messages.note(index, (message.message_id,))
    changes: dict[str, Any] = {
        "status": "running",
        "step": 0,
        "interrupts": (),
        "stopped": False,
        "text": "",
        "passed": False,
        "fields": _with(thread.fields, start.fields),
        "begin": value.count,
        "spent": value.usage,
    }
    if start.goes_on:
        changes["answers"] = _with(thread.answers, start.answers)
        changes["passed"] = thread.status == "interrupted_before"
    else:
        changes |= {
            "tasks": start.tasks,
            "task_ids": frozenset(task.id for task in start.tasks),
            "done": NONE,
            "joins": NO_FIELDS,
            "children": NONE,
            "answers": NO_FIELDS,
        }
    value.open = replace(thread, **changes)
    _take_in(value, start.messages, start.context)
    remember_first(value, start.messages)


def _take_in(
    value: Value, messages: Iterable[Message], context: tuple[Message, ...] | None
) -> None:
    if context is None:
        add(value, messages)
        return
    thread = value.open
    assert type(thread) is GraphThread, "the caller has put it there"
    _replace(value, context)
    value.open = replace(thread, trim=None, begin=min(thread.begin, value.count))


def node_start(value: Value, entry: NodeStartEntry) -> None:
    """The node shows as the current one."""
    thread, task = running(value), entry.content
    task_left(thread, task.id)
    changes: dict[str, Any] = {"node": task.node}
    if entry.child_id is not None:
        changes["children"] = thread.children.plus(task.id, entry.child_id)
    value.open = replace(thread, **changes)


def node_end(value: Value, entry: NodeEndEntry) -> None:
    """What the node spent counts; an update waits for the end of the step."""
    thread, end = running(value), entry.content
    task_left(thread, end.task_id)
    value.usage = value.usage + entry.usage
    if end.outcome == "done":
        value.open = replace(
            thread, node=end.node, done=thread.done.plus(end.task_id, end)
        )


def updates_in_order(thread: GraphThread) -> list[tuple[str, tuple[GraphUpdate, ...]]]:
    """The updates of the step's nodes that have ended, in the order of its tasks."""
    ends = dict(thread.done.items())
    return [
        (task.node, ends[task.id].updates) for task in thread.tasks if task.id in ends
    ]


def step_end(value: Value, entry: StepEndEntry) -> None:
    """The updates of all nodes take effect, and the next step is known."""
    thread, end = running(value), entry.content
    if len(thread.done) != len(thread.tasks):
        raise ValueError("a node of this step has not ended yet")
    updates = updates_in_order(thread)
    value.open = replace(
        thread,
        fields=_with(thread.fields, end.fields),
        step=thread.step + 1,
        tasks=end.tasks,
        task_ids=frozenset(task.id for task in end.tasks),
        done=NONE,
        children=NONE,
        joins=end.joins,
        answers=NO_FIELDS,
        passed=False,
    )
    given = [update for _, several in updates for update in several]
    messages = [message for each in given for message in each.messages or ()]
    _take_in(value, messages, end.context)


def interrupt(value: Value, entry: InterruptEntry) -> None:
    """The run pauses: somebody is to answer."""
    thread = running(value)
    value.open = replace(thread, status=entry.status, interrupts=entry.content)


def graph_end(value: Value, entry: GraphEndEntry) -> None:
    """The run is over, or has failed and can be gone on with."""
    thread, end = running(value), entry.content
    stopped = end.status == "stopped"
    status = "error" if stopped else end.status
    value.open = replace(thread, status=status, stopped=stopped, text=end.text)


def context_trim(value: Value, entry: TrimEntry) -> None:
    """What nodes see is another view of the same context."""
    thread, trim = running(value), entry.content
    if not 0 <= trim.upto <= value.count or any(i >= trim.upto for i in trim.kept):
        raise ValueError(f"there is no view up to message {trim.upto}")
    fields = thread.fields
    if trim.summary is not None:
        fields = _with(fields, {"context_summary": trim.summary})
    value.usage = value.usage + entry.usage
    value.open = replace(thread, trim=trim, fields=fields)


def view_of(value: Value) -> list[tuple[int, Message]]:
    """What nodes see of the context: index and message, in order."""
    thread = value.open
    trim = thread.trim if type(thread) is GraphThread else None
    if trim is None:
        return list(enumerate(value.messages.iterate(value.count)))
    seen = [(index, value.messages.at(index)) for index in trim.kept]
    rest = value.messages.iterate(value.count, trim.upto)
    return [*seen, *enumerate(rest, trim.upto)]
