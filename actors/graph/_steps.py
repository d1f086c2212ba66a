"""The steps of a run: nodes side by side, then their updates, then where to go.

1. Every node of a step sees the values from before it. A step takes effect whole: the
   way on is found on the values that it would lead to, and then all is recorded at
   once, or nothing.
2. A node that fails leaves its siblings alone; the first failure, in declared order,
   is raised when all have ended. What they returned stays recorded.
3. A step's only node runs in the run's own task: it needs no other.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import trio

from actors._inside import mailbox, send
from actors._node import Stop, current
from actors._run_node import RunNode
from actors._saving import save
from protocol import AgentState, GraphRecursionError, Message, RunCancelled
from protocol._commands import EndGraph, EndStep, Pause
from protocol._entry import NO_DATA
from protocol._graph_entries import (
    GraphEnd,
    GraphUpdate,
    Interrupt,
    NodeTask,
    StepEnd,
)
from protocol._graph_fold import updates_in_order
from protocol._graph_state import ContextIndex, changed_json, read_update
from protocol._graph_value import GraphThread
from protocol._state_updates import Merged, copy_with, merge_step, merge_update

from ._events import MessageAdded, MessageDelta, NodeUpdate, StateChanged
from ._execute import execute
from ._returns import Returned
from ._routing import Routing
from ._work import GraphNode

if TYPE_CHECKING:
    from ._run import GraphRun

_NOTHING = Merged(NO_DATA)

Updates: TypeAlias = Sequence[tuple[str, tuple[GraphUpdate, ...]]]
"""Nodes with their updates, in the order in which they are merged."""


class Steps:
    """The steps of one run."""

    def __init__(self, run: "GraphRun", node: RunNode) -> None:
        self.run = run
        self.node = node
        self.plan = run.plan
        self._box = mailbox(node.state)

    @property
    def thread(self) -> GraphThread:
        """Where the thread is now."""
        thread = self._box.value.open
        assert type(thread) is GraphThread, "the run has begun"
        return thread

    async def take(self) -> None:
        """Take steps until the graph ends, or pauses.

        Raises:
            GraphRecursionError: it took as many as the config allows.
            BaseException: what left a node, a reducer or a condition.
        """
        if self.run.listener is not None:
            await self._show_state()
        while tasks := self.thread.tasks:
            if self._pauses_before(tasks):
                return
            if self.thread.step >= self.run.config.recursion_limit:
                raise GraphRecursionError(self.run.config.recursion_limit)
            if not await self._step(tasks):
                return
        if self.thread.status == "running":
            send(self.node.state, EndGraph(GraphEnd(status="completed")))

    def _pauses_before(self, tasks: Sequence[NodeTask]) -> bool:
        if self.thread.passed or not self.plan.interrupt_before:
            return False
        held = [task for task in tasks if task.node in self.plan.interrupt_before]
        if held:
            self._pause([Interrupt(t.id, t.node) for t in held], "interrupted_before")
        return bool(held)

    def _pause(self, interrupts: Sequence[Interrupt], status: Any) -> None:
        send(self.node.state, Pause(tuple(interrupts), status))

    async def _step(self, tasks: Sequence[NodeTask]) -> bool:
        """Take one step; False when the run pauses."""
        questions = await self._run_nodes(tasks)
        if questions:
            self._pause(questions, "interrupted_before")
            return False
        await self._take_effect(tasks)
        after = [task for task in tasks if task.node in self.plan.interrupt_after]
        if after:
            asked = [Interrupt(task.id, task.node) for task in after]
            self._pause(asked, "interrupted_after")
        if after or self.thread.tasks or self.run.listener is not None:
            await save(self.node.state)
        if self.run.listener is not None:
            await self._show_state()
        return not after

    async def _run_nodes(self, tasks: Sequence[NodeTask]) -> list[Interrupt]:
        """Run what has not ended yet; give what is asked.

        The nodes are let go of with their states before the step takes effect.
        """
        done = {end.task_id for end in self.thread.done}
        nodes = [self._node_of(task) for task in tasks if task.id not in done]
        if len(nodes) == 1:
            await self._alone(nodes[0])
        elif nodes:
            await self._together(nodes)
        _raise_first(nodes)
        return [asked for node in nodes for asked in node.questions]

    def _node_of(self, task: NodeTask) -> GraphNode:
        run, typed = self.run, self.run.typed()
        added: Sequence[Message] = ()
        if task.input is not None:
            index = ContextIndex(run.live.value) if self.plan.appends else None
            update = read_update(self.plan.kind, task.input)
            merged = merge_update(run.whole(typed), update, "node", index)
            typed, added = copy_with(typed, merged.values), merged.added
        node = GraphNode(
            self.node,
            self.plan.nodes[task.node],
            task,
            config=run.config,
            copy=run.shown(typed, added),
        )
        node.listener = run.listener
        return node

    # Running nodes

    async def _alone(self, node: GraphNode) -> None:
        """Run one node in this task; who cancels it cancels the run."""
        node.is_alone = True
        token = current.set(node)
        try:
            await (execute(node) if self.run.listener is None else self._shown(node))
        finally:
            current.reset(token)
            node.end()

    async def _together(self, nodes: Sequence[GraphNode]) -> None:
        """Run nodes side by side; cancelled, they are stopped and joined first."""
        for node in nodes:
            self.node.supervisor._spawn(node, self._run_beside, node)
        try:
            for node in nodes:
                await node.wait_ended()
        except trio.Cancelled:
            stop = Stop("the graph was cancelled", "interrupted", self.run.grace_s)
            for node in nodes:
                node.stop_tree(stop)
            with trio.CancelScope(shield=True):
                for node in nodes:
                    await node.wait_ended()
            raise

    async def _run_beside(self, node: GraphNode) -> None:
        """Run a node that has siblings: what it returned is saved before they end."""
        await self._shown(node)
        try:
            await save(node.state)
        except Exception as error:  # noqa: BLE001 - raised when all have ended
            node.failure = node.failure or error

    async def _shown(self, node: GraphNode) -> None:
        """Run a node, and show what came of it to whoever reads along."""
        returned = await execute(node)
        if returned is not None and self.run.listener is not None:
            await self._show_node(node, returned)

    # Taking effect

    async def _take_effect(self, tasks: Sequence[NodeTask]) -> None:
        run, plan, thread = self.run, self.plan, self.thread
        typed = run.typed()
        updates = updates_in_order(thread)
        merged = self._merged(typed, updates)
        values = {n: held for n, held in merged.values.items() if n != "context"}
        after = copy_with(typed, values) if values else typed

        def look() -> AgentState:
            return run.shown(after, self._added(updates), is_ahead=True)

        routing = Routing(plan, look, run.config, thread.joins)
        next_tasks: tuple[NodeTask, ...] = ()
        if not any(end.completes for end in thread.done):
            ends = {end.task_id: end for end in thread.done}
            await routing.follow([(t.node, ends[t.id].goto) for t in tasks])
            next_tasks = routing.tasks(str(run.live.value.size))
        fields, context = changed_json(plan.kind, merged)
        end = StepEnd(
            fields=fields, context=context, tasks=next_tasks, joins=routing.joins
        )
        send(self.node.state, EndStep(end))
        run.live.keep(after)

    def _merged(self, typed: AgentState, updates: Updates) -> Merged:
        """What the updates come to; a context that only grows is the fold's matter."""
        kind, appends = self.plan.kind, self.plan.appends
        read = [
            (node, [read_update(kind, update, fields_only=appends) for update in given])
            for node, given in updates
            if any(update.fields or not appends for update in given)
        ]
        return merge_step(self.run.whole(typed), read) if read else _NOTHING

    def _added(self, updates: Updates) -> Sequence[Message]:
        """The messages that the updates add to a context that only grows."""
        if not self.plan.appends:
            return ()
        given = [update for _, several in updates for update in several]
        messages = [message for each in given for message in each.messages or ()]
        return ContextIndex(self.run.live.value).fresh(messages)

    # Showing

    async def _show_state(self) -> None:
        listener = self.run.listener
        assert listener is not None, "asked before"
        listener.give(StateChanged(state=self.run.outside()))
        await listener.wait_room()

    async def _show_node(self, node: GraphNode, returned: Returned) -> None:
        listener, name = self.run.listener, node.task.node
        assert listener is not None, "asked before"
        for piece in returned.deltas:
            listener.give(MessageDelta(node=name, message=piece))
        for update in returned.updates:
            for message in update.messages or ():
                if not message.delta:
                    listener.give(MessageAdded(node=name, message=message))
        updates = [read_update(self.plan.kind, each) for each in returned.updates]
        listener.give(NodeUpdate(node=name, updates=tuple(updates)))
        await listener.wait_room()


def _raise_first(nodes: Sequence[GraphNode]) -> None:
    """Raise the first failure, in declared order; further ones are its notes."""
    failures = [node.failure for node in nodes if node.failure is not None]
    if not failures:
        return
    first = failures[0]
    for other in failures[1:]:
        first.add_note(f"another node failed too: {other!r}")
    if isinstance(first, trio.Cancelled):
        # Its own scope was cancelled, and not the run.
        raise RunCancelled("a node of the graph was stopped")
    raise first
