"""Tool calls in a graph: the runtime's own turn, on a State that holds nothing else.

1. The calls of a task are recorded in a State of their own, so that each has exactly
   one result, and a run in another process goes on where this one stopped.
2. What a tool wants changed is kept there too, call by call, until the node ends.
3. A call that asks (`interrupt`) stays open: only it runs again with the answer.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import attrs

from actors._asking import QuestionsLeftOpen
from actors._calls import CallNode
from actors._inside import bind, send, set_run, value_of_state
from actors._node import current
from actors._run_node import RunNode
from actors._saving import save, save_at_last
from actors._state import State
from actors.tools._runner import Turn
from actors.tools._tool import Tool, _made
from protocol import (
    ActorClosed,
    AgentState,
    Message,
    Reply,
    ToolCall,
    ToolError,
    ToolResult,
    ToolResultBlock,
    ToolResultEntry,
)
from protocol._commands import CloseCall, EditExtraData, Receive, Request
from protocol._entry import NO_DATA
from protocol._graph_entries import Goto, GraphUpdate, Interrupt
from protocol._graph_state import read_update, record_update
from protocol._json import FrozenDict, FrozenList
from protocol._state_updates import merge_update, writes_of

from ._children import begin, child_of, left_open, pass_answers_on
from ._interrupts import Interrupted
from ._returns import Returned, as_goto
from ._routes import Command
from ._tries import FINAL, carry_usage, counted_of
from ._work import GraphNode, PartNode

if TYPE_CHECKING:
    from ._toolnode import ToolNode

CONTEXT = "graph/context"
"""What stands as the model of calls that were found in the context."""


class GraphTurn(Turn):
    """The calls of a node: their updates go to the graph."""

    def __init__(
        self, run: RunNode, tools: Mapping[str, Tool], node: GraphNode
    ) -> None:
        seconds = node.config.tool_timeout_s
        if seconds is not None:
            tools = {name: _in_time(tool, seconds) for name, tool in tools.items()}
        super().__init__(run, tools)
        self.node = node
        self._asked: list[tuple[int, tuple[Interrupt, ...]]] = []
        self._copies: dict[str, AgentState] = {}

    def close(
        self,
        node: CallNode,
        content: Any,
        outcome: Any,
        error: BaseException | None = None,
    ) -> None:
        """Record the call's result; one that asks has none yet."""
        if isinstance(error, Interrupted):
            node.end()
            return
        super().close(node, content, outcome, error)

    def failed(self, node: CallNode, error: BaseException) -> None:
        """Keep what is asked; anything else fails the node when all have ended."""
        if isinstance(error, Interrupted):
            self._note(node, {"asked": True})
            self._asked.append((node.place, error.questions))
        else:
            super().failed(node, error)

    def may_run_again(self, node: CallNode, tool: Tool) -> bool:
        """Whether a call that was started runs once more: one that asked does."""
        noted = value_of_state(self.run.state).facts.extra_data.get(node.id, {})
        return "asked" in noted or super().may_run_again(node, tool)

    def state_for(self, node: CallNode) -> Any:
        """What a tool that takes ``state`` gets: a copy of the graph's state."""
        copy = self._copies[node.id] = self.node.copy_for_tool()
        return copy

    def unwrap(self, node: CallNode, value: Any) -> Any:
        """A `Command` as a result, once its way on is noted.

        Raises:
            ToolError: where it leads, or what it updates, cannot be recorded.
        """
        self._take_writes(node)
        if not isinstance(value, Command):
            return value
        names = [getattr(target, "node", target) for target in value.targets]
        goto = [
            as_goto(self.node.task.node, self.node.copy, target)
            for target in value.targets
        ]
        if goto:
            self._note(node, {"goto": FrozenList([_goto_json(each) for each in goto])})
        update: Any = value.update or {}
        if not isinstance(update, Mapping):
            raise ToolError(
                f"a tool's Command updates a dict of fields, not {update!r}"
            )
        text = f"(goes on at {', '.join(map(str, names))})" if names else None
        return ToolResult(text, cast("Mapping[str, Any]", update))

    def merge(self, node: CallNode, update: Mapping[str, Any]) -> None:
        """Keep what a tool wants changed.

        Raises:
            ToolError: it is none of the tool's to change, or cannot be merged.
        """
        kind = type(self.node.copy)
        try:
            recorded = record_update(kind, update, "outside")
            merge_update(self.node.copy, read_update(kind, recorded), "outside")
        except (TypeError, ValueError) as error:
            raise ToolError(f"state: {error}") from error
        self._note(node, {"update": recorded.fields})

    def _take_writes(self, node: CallNode) -> None:
        """Take over what the tool assigned on its copy of the state."""
        copy = self._copies.get(node.id)
        if copy is not None and (writes := writes_of(copy)):
            self.merge(node, writes)

    def _note(self, node: CallNode, what: Mapping[str, Any]) -> None:
        held = value_of_state(self.run.state).facts.extra_data.get(node.id, {})
        both = FrozenDict({**held, **what})
        if "update" in held and "update" in what:
            both = FrozenDict(
                {**both, "update": FrozenDict({**held["update"], **what["update"]})}
            )
        send(self.run.state, EditExtraData(FrozenDict({node.id: both}), ()))

    async def use_or_ask(self) -> None:
        """Give every pending call its result.

        Raises:
            Interrupted: what the calls ask, in request order, and what a permission
                asks and nobody answers now; those calls stay open.
            BaseException: the first failure of a call.
        """
        asked: list[Interrupt] = []
        try:
            await self.use(value_of_state(self.run.state).pending)
        except QuestionsLeftOpen as left:
            asked += left_open(self.node, left.questions)
        self._asked.sort(key=lambda row: row[0])
        asked += [each for _, questions in self._asked for each in questions]
        if asked:
            raise Interrupted(*asked)


def _in_time(tool: Tool, seconds: float) -> Tool:
    """The tool with this time-out, unless it has its own."""
    if tool.timeout_s is not None:
        return tool
    fields = {each.alias: getattr(tool, each.name) for each in attrs.fields(type(tool))}
    return _made(**fields | {"timeout_s": seconds})


def _goto_json(goto: Goto) -> FrozenDict[str, Any]:
    fields: Mapping[str, Any] = NO_DATA if goto.input is None else goto.input.fields
    return FrozenDict(
        {"node": goto.node, "send": goto.input is not None, "fields": fields}
    )


def wanted_by(child: State, calls: Sequence[ToolCall]) -> Returned:
    """What the tools of these calls want changed, in call order."""
    noted = [child.extra_data.get(call.id, {}) for call in calls]
    updates = [GraphUpdate(fields=each["update"]) for each in noted if "update" in each]
    goto = [
        Goto(to["node"], GraphUpdate(fields=to["fields"]) if to["send"] else None)
        for each in noted
        for to in each.get("goto", ())
    ]
    return Returned(updates=tuple(updates), goto=tuple(goto) or None)


async def run_tools(node: GraphNode, settings: "ToolNode") -> Returned:
    """Run the calls of the last message that have no result yet.

    Raises:
        Interrupted: calls wait for answers; the others have their results.
        BaseException: the first failure of a call, once all have their result.
    """
    asking = open_calls(node.copy.context)
    if asking is None:
        await begin(node, None)
        return Returned()
    child = await _child_with(node, asking)
    await begin(node, child)
    as_agent: Any = settings  # of an agent only what both have is asked
    run = PartNode(node.supervisor, node, as_agent, child)
    run.before = counted_of(node, child)
    await _run_turn(node, run, settings)
    calls = asking.tool_calls
    wanted = wanted_by(child, calls)
    results = GraphUpdate(messages=(child.messages[-1],))
    return attrs.evolve(wanted, updates=(*wanted.updates, results))


async def _run_turn(node: GraphNode, run: PartNode, settings: "ToolNode") -> None:
    child = run.state
    store = run.store_above()
    if store is not None:
        bind(child, store)
    set_run(child, run)
    token = current.set(run)
    try:
        await save(child)
        pass_answers_on(node, child)
        await GraphTurn(run, settings.tools, node).use_or_ask()
    except Interrupted:
        raise
    except BaseException:
        _close_pending(child)
        raise
    finally:
        current.reset(token)
        set_run(child, None)
        await save_at_last(child, node.supervisor._grace_s)
        node.supervisor._forget(run)


def _close_pending(child: State) -> None:
    """Give calls that the turn never came to their result; they run another time."""
    for pending in child.pending_calls:
        closed = CloseCall(pending, "(interrupted before it ran)", "interrupted")
        with suppress(ActorClosed):
            send(child, closed)


def open_calls(messages: Sequence[Message]) -> Message | None:
    """The last message that asks for calls, with those calls that have no result."""
    answered: set[str] = set()
    for message in reversed(messages):
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                answered.add(block.call_id)
        if message.role == "assistant":
            left = [call for call in message.tool_calls if call.id not in answered]
            return Message(role="assistant", content=left) if left else None
    return None


async def _child_with(node: GraphNode, asking: Message) -> State:
    """The State of these calls: a new one, or the one of an earlier try."""
    earlier = await child_of(node)
    if earlier is not None and earlier.pending_calls:
        return earlier
    child = State()
    send(child, Request(CONTEXT))
    send(child, Receive(Reply(message=asking)))
    if earlier is not None:
        _carry_over(earlier, child)
        carry_usage(node, earlier, child)
    return child


def _carry_over(earlier: State, child: State) -> None:
    """Calls that an earlier try brought to an end are not run again."""
    noted = earlier.extra_data
    open_ids = {call.id for call in child.pending_calls}
    for entry in earlier.history:
        if not isinstance(entry, ToolResultEntry) or entry.late:
            continue
        call_id = entry.call.id
        if call_id not in open_ids or entry.outcome not in FINAL:
            continue
        open_ids.discard(call_id)
        if call_id in noted:
            send(child, EditExtraData(FrozenDict({call_id: noted[call_id]}), ()))
        send(child, CloseCall(entry.call, entry.content, entry.outcome))
