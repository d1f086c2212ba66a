"""An agent as a node: it thinks on the context, in a State that holds its own work.

1. The State has the agent's requests, replies and results of this task, and nothing
   else: what came before stands in the thread, and is shown in front of it.
2. All of it goes into the context when the node ends: each call with its result.
3. An agent with ``tool_node`` thinks once, and leaves its calls to that node.
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
from protocol import Message, NodeError, ToolCall, ToolResultBlock
from protocol._commands import CloseCall
from protocol._graph_entries import GraphUpdate
from protocol._value import Calling

from ._children import begin, child_of, pass_answers_on
from ._context import trimmed
from ._interrupts import Interrupted
from ._returns import Returned
from ._tools import GraphTurn, wanted_by
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
        """The State of the task: one that an earlier try left in the middle, or new."""
        earlier = await child_of(self.node)
        in_the_middle = earlier is not None and value_of_state(earlier).open is not None
        return earlier if earlier is not None and in_the_middle else State()

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
        token = current.set(run)
        try:
            await drive(part, run)
        finally:
            current.reset(token)
            node.supervisor.forget(run)
        if run.error is not None:
            raise run.error

    async def settle(self, run: RunNode) -> None:
        """Give the pending calls their results; keep what they ask."""
        if not value_of_state(run.state).pending:
            return
        pass_answers_on(self.node, run.state)
        try:
            await GraphTurn(run, self.agent.tool_map, self.node).use_or_ask()
        except Interrupted as asked:
            self._asked = asked

    async def turns(self, run: RunNode, system: str | None) -> None:
        """Think, and use tools, until a reply without calls."""
        state, specs = run.state, self._specs()
        for _ in range(TURNS):
            if self._is_over(state):
                break
            reply = await think(run, self.agent.model, system, specs, self._before)
            if not reply.tool_calls:
                break
            if self.agent.tool_node is not None:
                self._leave_calls(state, reply.tool_calls)
                return
            await self.settle(run)
        else:
            name = self.node.task.node
            raise NodeError(name, f"the agent asked for tools in {TURNS} turns on end")
        self._messages = state.messages

    def _is_over(self, state: State) -> bool:
        """Whether a call asks, or has handed over."""
        if self._asked is not None:
            return True
        return any("goto" in noted for noted in state.extra_data.values())

    def _specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model gets to know them, those of ``tool_node`` included."""
        more: tuple[ToolSpec, ...] = self.node.plan.work.more_specs
        return (*self.agent.specs, *more)

    def _leave_calls(self, state: State, calls: Sequence[ToolCall]) -> None:
        """The calls go into the context; here they are closed."""
        assert type(value_of_state(state).open) is Calling, "the reply has calls"
        self._messages = state.messages
        text = f"(left to the node {self.agent.tool_node!r})"
        for call in calls:
            send(state, CloseCall(call, text, "cancelled"))


class _Part:
    """The agent, with the parts of a run that are the node's matter."""

    def __init__(self, turns: AgentTurns, system: str | None) -> None:
        self._turns = turns
        self._system = system

    def __getattr__(self, name: str) -> Any:
        return getattr(self._turns.agent, name)

    async def settle_calls(self, run: RunNode) -> None:
        """Give the calls that an earlier try left their results."""
        await self._turns.settle(run)

    async def run_loop(self, run: RunNode) -> None:
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
