"""A graph as a node of another: it runs on a thread of its own, below the node.

1. It begins with the messages that the node sees, and with the values of the fields
   that both states have.
2. What its nodes wanted changed goes up update by update, through the reducers of the
   graph around it; the messages it added go up with them.
3. What it waits for, the graph around it waits for; it goes on from there.
"""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from actors._inside import value_of_state
from actors._node import current
from actors._state import State
from protocol import NodeError
from protocol._declared import fields_of
from protocol._graph_entries import (
    GraphStartEntry,
    GraphUpdate,
    NodeEnd,
    NodeEndEntry,
    NodeTask,
    StepEndEntry,
)
from protocol._graph_state import ContextIndex
from protocol._graph_value import GraphThread
from protocol._json import FrozenDict

from ._children import begin, child_of
from ._config import Given
from ._interrupts import Interrupted
from ._returns import Returned
from ._stream import InnerListener
from ._threads import Live
from ._tries import counted_of, last_outcome
from ._work import GraphNode, PartNode


def is_compiled(item: object) -> bool:
    """Whether this is a compiled graph, known by what it can do."""
    return hasattr(item, "ainvoke") and hasattr(item, "run_on")


async def run_subgraph(node: GraphNode, app: Any) -> Returned:
    """Run a compiled graph as the work of a node.

    Raises:
        Interrupted: nodes of it wait for answers.
        BaseException: what left its run.
    """
    child = await child_of(node)
    thread = None if child is None else value_of_state(child).open
    given: Given | None = None
    if child is None or not isinstance(thread, GraphThread):
        child, given = State(), _first_input(node, app)
    elif thread.can_go_on:
        given = _going_on(node, thread)
    node.add_child(child.id, child)
    if last_outcome(node) is None:  # what its process ended with, nobody has counted
        node.spent(child.usage.since(counted_of(node, child)))
    await begin(node, child)
    if given is not None:  # an earlier try has not come to its end
        await _run(node, app, child, given)
    thread = value_of_state(child).open
    assert isinstance(thread, GraphThread), "it has run"
    if thread.interrupts:
        raise Interrupted(*thread.interrupts)
    return _wanted(node, app, child)


def _shared(node: GraphNode, app: Any) -> list[str]:
    """The fields that both graphs have, those of every state left out."""
    mine, yours = fields_of(type(node.copy)), fields_of(app.plan.kind)
    return [name for name in mine if name in yours and not mine[name].core]


def _first_input(node: GraphNode, app: Any) -> Given:
    preset: dict[str, Any] = {}
    for name in _shared(node, app):
        field = fields_of(app.plan.kind)[name]
        try:
            preset[name] = field.check(getattr(node.copy, name))
        except (TypeError, ValueError) as error:
            problem = f"the graph in it cannot take this value: {error}"
            raise NodeError(node.task.node, problem, name) from error
    messages = tuple(node.copy.context)
    return Given(messages=messages, preset=MappingProxyType(preset))


def _going_on(node: GraphNode, thread: GraphThread) -> Given:
    mine = node.answers
    answers = {each.id: mine[each.id] for each in thread.interrupts if each.id in mine}
    return Given(goes_on=True, answers=bool(answers), resume=FrozenDict(answers))


async def _run(node: GraphNode, app: Any, child: State, given: Given) -> None:
    config = node.config.for_child(child.id)
    heard = None if node.listener is None else InnerListener(node.listener)
    run = app.run_on(Live(child), given, config, heard)
    part = PartNode(node.supervisor, node, run, child)
    token = current.set(part)
    try:
        await run._drive(part)
    finally:
        current.reset(token)
        node.supervisor._forget(part)
    if part.error is not None:
        raise part.error


def _wanted(node: GraphNode, app: Any, child: State) -> Returned:
    shared = frozenset(_shared(node, app))
    updates = [
        GraphUpdate(fields=fields)
        for fields in (_only(update, shared) for update in _updates(child))
        if fields
    ]
    index = ContextIndex(value_of_state(node.state))
    added = [message for message in child.messages if message.message_id not in index]
    if added:
        updates.append(GraphUpdate(messages=tuple(added)))
    return Returned(updates=tuple(updates))


def _only(update: GraphUpdate, names: frozenset[str]) -> FrozenDict[str, Any]:
    return FrozenDict({n: v for n, v in update.fields.items() if n in names})


def _updates(child: State) -> Iterator[GraphUpdate]:
    """The updates of all steps that took effect, in the order they were merged in."""
    tasks: tuple[NodeTask, ...] = ()
    done: dict[str, NodeEnd] = {}
    for entry in child.history:
        if isinstance(entry, GraphStartEntry) and not entry.content.goes_on:
            tasks, done = entry.content.tasks, {}
        elif isinstance(entry, NodeEndEntry) and entry.content.outcome == "done":
            done[entry.content.task_id] = entry.content
        elif isinstance(entry, StepEndEntry):
            for task in tasks:
                yield from done[task.id].updates
            tasks, done = entry.content.tasks, {}
