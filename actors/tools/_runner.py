"""The calls of one turn: each becomes a node of the tree and gets one result.

1. Unknown tools and unusable arguments get their result first; then permissions are
   asked for all that is left; then the parallel calls run together, in a window; then
   the serial ones, one by one.
2. A call that fails leaves its siblings alone, unless the agent says otherwise. The
   first failure, in request order, is raised once every call has its result.
3. A turn's only call runs in the run's own task: it needs no other.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import trio

from actors._asking import QuestionsLeftOpen
from actors._calls import CallNode
from actors._events import ToolEnd, ToolStart
from actors._inside import library_of, send, value_of_state
from actors._limits import calls_allowed
from actors._node import Stop, current
from actors._saving import save
from actors._supervisor import Lane
from actors._telling import room, tell
from actors._tracing import traced_call
from protocol import FrozenDict, Question, ToolCall, ToolError, ToolInputError
from protocol._commands import EditExtraData, NoteStart
from protocol._json import freeze

from ._execute import execute
from ._gatekeeper import judge_calls
from ._ledger import any_started, may_run_again, settle_unknown
from ._subagent import RunAgent, announce_and_start, start_subagent

if TYPE_CHECKING:
    from actors._run_node import RunNode

    from ._tool import Tool

    Row = tuple[CallNode, Tool, dict[str, Any]]


_NONE_WAITS: "deque[Row]" = deque()
"""What waits in a turn without a window; nothing is ever put in."""


class Turn:
    """Everything that one `use_tools` does."""

    _waiting: "deque[Row]" = _NONE_WAITS
    _over: trio.Event | None = None
    _filling = False

    def __init__(self, run: "RunNode", tools: "Mapping[str, Tool]") -> None:
        self.run = run
        self.tools = tools
        self.agent: Any = run.agent
        self.errors: list[tuple[int, BaseException]] = []
        self.questions: list[Question] = []
        self.announced = bool(run.audience) or library_of(run.state) is not None
        self._running: dict[CallNode, None] = {}

    async def use(self, calls: Sequence[ToolCall]) -> None:
        """Give every one of these open calls its result.

        Cancelled: calls that run are stopped and joined, each closed as interrupted;
        then the cancel goes on.

        Raises:
            QuestionsLeftOpen: calls wait for answers, and stay open.
            BaseException: the first failure in request order, others as its notes.
        """
        run = self.run
        ready = self._usable(calls)
        run.calls = self
        try:
            if any_started(run.state):
                ready = await settle_unknown(self, ready)
            if run.is_judged:
                ready = await judge_calls(self, ready)
            if len(ready) == 1:
                await self._alone(*ready[0])
            else:
                await self._run_all(ready)
        except trio.Cancelled:
            for node, _, _ in ready:
                self.close(node, "(interrupted before it ran)", "interrupted")
            raise
        finally:
            run.calls = None
            for node, _, _ in ready:
                node.end()
        if self.errors:
            self._raise_first()
        if self.questions:
            raise QuestionsLeftOpen(tuple(self.questions))

    async def _run_all(self, ready: "Sequence[Row]") -> None:
        await self._together([row for row in ready if row[1].parallel])
        for row in ready:
            if row[1].parallel:
                continue
            if self.errors and self.agent.siblings == "cancel":
                self._never_run(row[0])
            else:
                await self._alone(*row)

    def _usable(self, calls: Sequence[ToolCall]) -> "list[Row]":
        """The calls whose tool and arguments are usable; the others get a result."""
        run = self.run
        allowed = len(calls)
        if run.accounts:
            allowed = calls_allowed(run.accounts, allowed)
        rows: list[Row] = []
        for place, call in enumerate(calls):
            node = CallNode(run.supervisor, run, run.state, call, place)
            tool = self.tools.get(call.name)
            if place >= allowed:
                self.close(
                    node,
                    f"not run: at most {allowed} calls a turn are allowed here; "
                    f"ask again in the next turn",
                    "error",
                )
            elif tool is None:
                known = ", ".join(sorted(self.tools)) or "none"
                text = f"there is no tool named {call.name!r}; there are: {known}"
                self.close(node, text, "input_error")
            else:
                try:
                    rows.append((node, tool, tool.bind(call.args)))
                except ToolInputError as error:
                    self.close(node, str(error), "input_error", error)
        return rows

    def close(
        self,
        node: CallNode,
        content: Any,
        outcome: Any,
        error: BaseException | None = None,
    ) -> None:
        """Record the call's result and end its node."""
        if node.close(content, outcome, error) and self.run.audience:
            value = value_of_state(self.run.state)
            # What close() has just recorded: nothing came between.
            entry: Any = value.history.at(value.size - 1)
            snapshot = self.run.state.snapshot()
            tell(self.run, ToolEnd(path=node.path, snapshot=snapshot, result=entry))
        node.end()

    def failed(self, node: CallNode, error: BaseException) -> None:
        """A call's failure is to leave the run, once every call has its result."""
        self.errors.append((node.place, error))
        if self.agent.siblings == "cancel":
            stop = Stop("a sibling failed", "cancelled", self.agent.grace_s)
            for sibling in tuple(self._running):
                sibling.stop_tree(stop)
            while self._waiting:
                self._never_run(self._waiting.popleft()[0])

    def on_error(self, tool: "Tool") -> str:
        """What an exception of this tool does."""
        said: str = tool.on_error or self.agent.on_error
        return said

    def may_run_again(self, node: CallNode, tool: "Tool") -> bool:
        """Whether a call that was started, and has no result, may be run once more."""
        return may_run_again(tool)

    def state_for(self, node: CallNode) -> Any:
        """What a tool that takes ``state`` gets."""
        return self.run.state

    def unwrap(self, node: CallNode, value: Any) -> Any:
        """What a tool returned, once what is not meant for the model is taken out."""
        return value

    def merge(self, node: CallNode, update: Mapping[str, Any]) -> None:
        """Take over what a tool wants changed beside its result.

        Raises:
            ToolError: it cannot be recorded; nothing changed.
        """
        try:
            changes = cast("FrozenDict[str, Any]", freeze(dict(update), "state"))
        except TypeError as error:
            raise ToolError(str(error)) from error
        send(self.run.state, EditExtraData(changes, ()))

    def left_open(self, node: CallNode, questions: Sequence[Question]) -> None:
        """A call's child waits for answers: the call stays open, and the run stops."""
        self.questions += questions
        node.end()

    def _never_run(self, node: CallNode) -> None:
        self.close(node, "(cancelled before it ran: another call failed)", "cancelled")

    async def start(self, node: CallNode) -> None:
        """Say that the call begins: durably where there is a store, then to reporters.

        What begins after this may have had effects, whatever happens next.
        """
        if library_of(self.run.state) is not None:
            send(self.run.state, NoteStart(node.call, node.key))
            await save(self.run.state)
        if self.run.audience:
            snapshot = self.run.state.snapshot()
            await room(self.run)
            tell(self.run, ToolStart(path=node.path, snapshot=snapshot, call=node.call))

    async def _alone(
        self, node: CallNode, tool: "Tool", arguments: dict[str, Any]
    ) -> None:
        """Run one call in this task.

        It needs no scope of its own: nobody cancels it but who cancels the run. A call
        with a time-out has a task even so: should it be deaf, the run goes on.
        """
        if isinstance(tool.fn, RunAgent) or tool.timeout_s is not None:
            await self._together([(node, tool, arguments)])
            return
        run = traced_call(execute)
        token = current.set(node)
        try:
            await run(self, node, tool, arguments)
        finally:
            current.reset(token)
            node.end()

    async def _together(self, rows: "Sequence[Row]") -> None:
        """Run calls side by side, at most ``max_parallel`` at once, in order."""
        if not rows:
            return
        self._over = trio.Event()
        self._lane = Lane()
        self._waiting = deque(rows)
        self._fill()
        try:
            await self._over.wait()
        except trio.Cancelled:
            self._waiting.clear()
            stop = Stop(
                "the run above was cancelled", "interrupted", self.agent.grace_s
            )
            for node in tuple(self._running):
                node.stop_tree(stop)
            with trio.CancelScope(shield=True):
                await self._over.wait()
            raise

    def _fill(self) -> None:
        """Start what the window has room for; told by each that ends.

        What ends at once, while this starts it, is met by the loop and not by another
        call of this: a thousand refusals in a row nest no frames.
        """
        if self._filling:
            return
        self._filling = True
        while self._waiting and len(self._running) < self.agent.max_parallel:
            row = self._waiting.popleft()
            # A call given up in a cancel ends before this run's task hears of it: what
            # waits is cancelled too, and must not begin.
            if row[0].stop is None:
                self._start(*row)
        self._filling = False
        if not self._running and self._over is not None:
            self._over.set()

    def _start(self, node: CallNode, tool: "Tool", arguments: dict[str, Any]) -> None:
        self._running[node] = None
        node.on_end = self._ended
        if isinstance(tool.fn, RunAgent):
            self._start_child(node, tool.fn.agent, arguments["prompt"])
            return
        run = traced_call(execute)
        self.run.supervisor._spawn(
            node, run, self, node, tool, arguments, lane=self._lane
        )

    def _start_child(self, node: CallNode, agent: Any, prompt: str) -> None:
        if not self.announced:
            start_subagent(self, node, agent, prompt, self._lane)
            return
        self.run.supervisor._background_in(
            self._lane, announce_and_start, self, node, agent, prompt, self._lane
        )

    def _ended(self, node: Any) -> None:
        self._running.pop(node, None)
        self._fill()

    def _raise_first(self) -> None:
        self.errors.sort(key=lambda row: row[0])
        first = self.errors[0][1]
        for _, other in self.errors[1:]:
            first.add_note(f"another call failed too: {other!r}")
        raise first
