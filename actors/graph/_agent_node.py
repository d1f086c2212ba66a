"""An agent as a node: it thinks on the context, in a State that holds its own work.

1. The State has the agent's requests, replies and results of this task, and nothing
   else: what came before stands in the thread, and is shown in front of it.
2. All of it goes into the context when the node ends: each call with its result.
3. An agent with ``tool_node`` thinks once, and leaves its calls to that node.
4. A try that ended before its node did is gone on with: no call that has its result is
   run again.
"""

import warnings
from collections.abc import Sequence
from typing import Any, cast

import attrs

from actors._agent import Agent
from actors._drive import drive
from actors._inside import send, value_of_state
from actors._loop import TURNS
from actors._node import current
from actors._run_node import RunNode
from actors._state import State
from actors._think import think
from actors.models import ToolSpec
from protocol import Message, NodeError, ToolResultBlock
from protocol._commands import CloseCall
from protocol._graph_entries import GraphUpdate
from protocol._snapshot import waits_for_user

from ._children import begin, child_of, pass_answers_on
from ._context import trimmed
from ._interrupts import Interrupted
from ._returns import Returned
from ._tools import GraphTurn, wanted_by
from ._tries import counted_of, gone_on_with
from ._work import GraphNode, PartNode

NOT_RUN = "(not run yet)"
"""What a request shows as the result of a call that the context keeps open."""

_warned: set[int] = set()


class AgentTurns:
    """What an agent does in one task of a graph."""

    def __init__(self, node: GraphNode, agent: Agent, manager: Any) -> None:
        self.node = node
        self.agent = agent
        self._manager = manager
        self._before: Sequence[Message] = ()
        self._asked: Interrupted | None = None
        self._messages: tuple[Message, ...] = ()

    async def run(self) -> Returned:
        """Think until a reply without calls.

        Raises:
            Interrupted: a tool asks; the State of the task goes on with the answer.
            BaseException: what left the agent's run.
        """
        child = await self._child()
        await begin(self.node, child)
        system = await self._look()
        await self._drive(child, system)
        if self._asked is not None:
            raise self._asked
        messages = self._messages
        calls = [call for message in messages for call in message.tool_calls]
        wanted = wanted_by(child, calls)
        given = GraphUpdate(messages=messages)
        return attrs.evolve(wanted, updates=(*wanted.updates, given))

    async def _child(self) -> State:
        """The State of the task: the one that an earlier try has left, or a new one."""
        earlier = await child_of(self.node, self.agent.store)
        if earlier is None:
            return State()
        if self._leaves_calls and not earlier.closed:
            return earlier  # what it left to another node is closed here, and stays so
        return gone_on_with(self.node, earlier)

    async def _look(self) -> str | None:
        """Take in the context; returns the instructions that go with it."""
        node, agent = self.node, self.agent
        if agent.trim_context:
            if self._manager is None:
                _warn_once(node, agent)
            else:
                node.copy = await trimmed(node, self._manager)
        self._before = closed(node.copy.context)
        parts = [agent.system, _told_summary(node.copy.context_summary)]
        return "\n\n".join(part for part in parts if part) or None

    async def _drive(self, child: State, system: str | None) -> None:
        """Run the agent on the State of the task, in this very task."""
        node = self.node
        part = cast("Agent", _Part(self, system))  # the agent in all but two things
        run = PartNode(node.supervisor, node, part, child)
        run.before = counted_of(node, child)
        token = current.set(run)
        try:
            await drive(part, run)
        finally:
            current.reset(token)
            node.supervisor._forget(run)
        if run.error is not None:
            raise run.error

    async def settle(self, run: RunNode) -> None:
        """Give the pending calls their results; keep what they ask."""
        if not value_of_state(run.state).pending or self._leaves_calls:
            return
        pass_answers_on(self.node, run.state)
        try:
            await GraphTurn(run, self.agent.tool_map, self.node).use_or_ask()
        except Interrupted as asked:
            self._asked = asked

    async def turns(self, run: RunNode, system: str | None) -> None:
        """Think, and use tools, until a reply without calls."""
        state, specs = run.state, self._specs()
        if self._leaves_calls:
            if not state.messages:
                await think(run, self.agent.model, system, specs, self._before)
            self._messages = state.messages[:1]
            self._leave_calls(state)
            return
        for _ in range(TURNS):
            if self._is_over(state):
                break
            reply = await think(run, self.agent.model, system, specs, self._before)
            if not reply.tool_calls:
                break
            await self.settle(run)
        else:
            name = self.node.task.node
            raise NodeError(name, f"the agent asked for tools in {TURNS} turns on end")
        self._messages = state.messages

    @property
    def _leaves_calls(self) -> bool:
        """Whether another node runs the calls."""
        return self.agent.tool_node is not None

    def _is_over(self, state: State) -> bool:
        """Whether a call asks or has handed over, or an earlier try has the answer."""
        if self._asked is not None or waits_for_user(value_of_state(state)):
            return True
        return any("goto" in noted for noted in state.extra_data.values())

    def _specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model gets to know them, those of ``tool_node`` included."""
        more: tuple[ToolSpec, ...] = self.node.plan.work.more_specs
        return (*self.agent.specs, *more)

    def _leave_calls(self, state: State) -> None:
        """The calls go into the context; here they are closed."""
        text = f"(left to the node {self.agent.tool_node!r})"
        for call in state.pending_calls:
            send(state, CloseCall(call, text, "cancelled"))


class _Part:
    """The agent, with the parts of a run that are the node's matter."""

    def __init__(self, turns: AgentTurns, system: str | None) -> None:
        self._turns = turns
        self._system = system

    def __getattr__(self, name: str) -> Any:
        return getattr(self._turns.agent, name)

    async def _settle_calls(self, run: RunNode) -> None:
        """Give the calls that an earlier try left their results."""
        await self._turns.settle(run)

    async def _run_loop(self, run: RunNode) -> None:
        """Think on."""
        await self._turns.turns(run, self._system)


def _told_summary(summary: str | None) -> str | None:
    return None if summary is None else f"Summary of what came before:\n{summary}"


def _warn_once(node: GraphNode, agent: Agent) -> None:
    if id(agent) in _warned:
        return
    _warned.add(id(agent))
    warnings.warn(
        f"node {node.task.node!r}: trim_context=True does nothing without a context "
        f"manager: write StateGraph(..., context_manager=MessageContextManager())",
        UserWarning,
        stacklevel=2,
    )


def closed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages, with a result behind every call that has none.

    A request must pair each call with a result; the context itself keeps it open.
    """
    shown: list[Message] = []
    for place, message in enumerate(messages):
        shown.append(message)
        if message.role == "assistant" and message.tool_calls:
            left = _unanswered(message, messages[place + 1 :])
            if left:
                shown.append(Message.tool_message(content=left))
    return tuple(shown)


def _unanswered(message: Message, later: Sequence[Message]) -> list[ToolResultBlock]:
    """Stand-ins for the results that do not come before the next reply."""
    answered: set[str] = set()
    for other in later:
        if other.role == "assistant":
            break
        for block in other.content:
            if isinstance(block, ToolResultBlock):
                answered.add(block.call_id)
    return [
        ToolResultBlock(call_id=call.id, output=NOT_RUN, name=call.name)
        for call in message.tool_calls
        if call.id not in answered
    ]
