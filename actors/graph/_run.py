"""One run of a graph: what it began with, and how it ends.

1. A run is a run of a State like any other: it joins the tree around it, waits for its
   turn on the thread, has its limits, and leaves nothing behind.
2. What is wrong with its input is found before anything is recorded.
3. However it ends, the thread is as it was after the last whole step.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import trio
from msgspec.structs import replace

from actors._drive import (
    claim,
    deadline,
    give_back,
    report_end,
    stop_below,
    wait_for_background,
)
from actors._inside import bind, library_of, send
from actors._limits import Limits
from actors._node import Stop
from actors._run_node import RunNode
from actors._saving import save
from actors._tracing import traced_run
from protocol import AgentInfo, AgentState, Message, RunCancelled
from protocol._commands import EndGraph, SetStop, StartGraph, StartRun
from protocol._entry import NO_DATA
from protocol._graph_entries import GraphEnd, GraphStart
from protocol._graph_fold import can_start
from protocol._graph_state import (
    ContextIndex,
    changed_json,
    fields_json,
    meta_of,
    read_update,
)
from protocol._graph_value import NEW_THREAD
from protocol._json import FrozenDict
from protocol._rules import told
from protocol._state_updates import Merged, copy_for_node, copy_with, merge_step

from ._config import Config, Given, answers_for
from ._plan import Plan
from ._routing import Routing, entry
from ._threads import Live

if TYPE_CHECKING:
    from ._stream import InnerListener, Listener


class GraphRun:
    """One run; the tree knows it as it knows an agent."""

    def __init__(
        self,
        plan: Plan,
        settings: Any,
        live: Live,
        *,
        given: Given,
        config: Config,
        listener: "Listener | InnerListener | None" = None,
    ) -> None:
        self.plan = plan
        self.settings = settings
        self.live = live
        self.given = given
        self.config = config
        self.listener = listener
        self.has_begun = False
        """Whether something of it is in the store."""
        self.was_refused = False
        """Whether the thread, as it is known here, did not let it begin."""
        self.on_claim: Callable[[str, RunNode], None] | None = None
        """Told when the run has the thread."""
        self.info = AgentInfo(name=settings.name)

    # What the tree needs

    @property
    def name(self) -> str | None:
        """The graph's name."""
        name: str | None = self.settings.name
        return name

    @property
    def limits(self) -> Limits | None:
        """What the run, and everything below it, may use."""
        limits: Limits | None = self.settings.limits
        return limits

    @property
    def grace_s(self) -> float:
        """Seconds that clean-up may take."""
        grace_s: float = self.settings.grace_s
        return grace_s

    @property
    def permissions(self) -> None:
        """A graph judges no calls: its nodes do."""

    @property
    def busy(self) -> str:
        """What the run does when another one has the thread."""
        busy: str = self.settings.busy
        return busy

    def _inherited(self, name: str, above: RunNode | None) -> Any:
        """Who looks on, or is asked: as in the run above. A graph has interrupts."""
        return None if above is None else getattr(above, name)

    def _dispatch_to(self, supervisor: Any, reporter: Any) -> Any:
        """A graph has no reporter of its own to carry events to."""
        raise AssertionError(f"{reporter!r} was inherited, and is heard of above")

    async def fan_out(self, prompts: Iterable[str], **options: Any) -> tuple[Any, ...]:
        """A graph has no prompts to fan out over.

        Raises:
            TypeError: always.
        """
        raise TypeError("a graph takes no prompts: start app.ainvoke in a nursery")

    async def _drive(self, node: RunNode) -> None:
        """Run the graph in this task; what comes of it ends up in the node."""
        place = node.supervisor._places if node.parent is None else None
        as_agent: Any = self  # of an agent only what both have is asked
        try:
            if place is not None:
                await place.acquire_on_behalf_of(node)
            await claim(as_agent, node)
        except BaseException as error:  # noqa: BLE001 - kept for whoever waits
            node.error = error
            give_back(node)
            return
        run = traced_run(self._claimed)
        try:
            await run(node)
        finally:
            node.release()
            give_back(node)

    async def _claimed(self, node: RunNode) -> None:
        as_agent: Any = self
        node.task = trio.lowlevel.current_task()
        node.before = node.state.usage
        if self.listener is not None:
            self.listener.listen_to(node)
        if self.on_claim is not None:
            self.on_claim(node.state.id, node)
        try:
            await self._begin(node)
        except BaseException as error:  # noqa: BLE001 - kept for whoever waits
            node.error = error
            self.was_refused = True
            return
        try:
            # Nobody else can know of a fresh thread: its first step is soon enough.
            if not self.config.is_fresh:
                await save(node.state)
            self.has_begun = True
            with deadline(node):
                await self.take_steps(node)
                if node.children:
                    await wait_for_background(node)
        except BaseException as error:  # noqa: BLE001 - kept for whoever waits
            await self._failed(node, error)
        await report_end(as_agent, node)
        if node.error is None:
            node.answer = self.result()

    def take_steps(self, node: RunNode) -> Awaitable[None]:
        """Run the graph's steps; see `actors.graph._steps`."""
        from ._steps import Steps

        return Steps(self, node).take()

    async def _begin(self, node: RunNode) -> None:
        """Check what was given against the thread, and record the start.

        Raises:
            ValueError, TypeError, GraphError: it cannot begin; nothing was recorded.
        """
        start, typed = await self._start()
        call = node.call
        parent = (None, None) if call is None else (call.state.id, call.call.id)
        send(node.state, StartRun(self.info, *parent))
        send(node.state, StartGraph(start))
        self.live.keep(typed)
        if library_of(node.state) is None and (store := node.store_above()) is not None:
            bind(node.state, store)

    async def _start(self) -> tuple[GraphStart, AgentState]:
        given, live, plan = self.given, self.live, self.plan
        thread = live.thread or NEW_THREAD
        typed = copy_with(live.typed(plan.initial), given.preset)
        merged = self._merged_input(typed)
        after = copy_with(typed, _without_context(merged))
        fields, context = changed_json(plan.kind, merged)
        if context is None and live.thread is None and not plan.appends:
            context = tuple(plan.initial.context)
        if given.preset:
            fields = FrozenDict({**fields_json(after, given.preset), **fields})
        if live.thread is None:
            first = plan.first_fields
            fields = FrozenDict({**first, **fields}) if fields else first
        start = GraphStart(
            messages=() if context is not None else self._first_messages(),
            context=context,
            fields=fields,
            answers=answers_for(given, thread.interrupts),
            goes_on=given.goes_on,
        )
        can_start(thread, start)
        if given.goes_on:
            return start, after

        def look() -> AgentState:
            return self.shown(after, ContextIndex(live.value).fresh(start.messages))

        routing = Routing(plan, look, self.config, NO_DATA)
        await routing.follow(entry(plan))
        tasks = routing.tasks(str(live.value.size))
        return replace(start, tasks=tasks), after

    def _first_messages(self) -> tuple[Message, ...]:
        """The messages of the input; a new thread begins with those of the graph."""
        if self.live.thread is not None:
            return self.given.messages
        return (*self.plan.initial.context, *self.given.messages)

    def _merged_input(self, typed: AgentState) -> Merged:
        given, plan = self.given, self.plan
        if plan.appends and not given.update.fields:
            return Merged(NO_DATA, given.messages)  # the fold leaves known ones out
        update: dict[str, Any] = read_update(plan.kind, given.update)
        if given.messages:
            update["context"] = list(given.messages)
        index = ContextIndex(self.live.value) if plan.appends else None
        whole = self.whole(typed)
        return merge_step(whole, [("the input", update)] if update else (), index)

    # What the steps need

    def whole(self, typed: AgentState) -> AgentState:
        """The state with the whole context, for reducers."""
        value, initial = self.live.value, self.plan.initial
        if not value.count:
            return copy_for_node(typed, initial.execution_meta)
        return copy_for_node(
            typed,
            typed.execution_meta,
            lambda: value.messages.iterate(value.count),
        )

    def shown(
        self,
        typed: AgentState,
        added: Sequence[Message] = (),
        *,
        is_ahead: bool = False,
    ) -> AgentState:
        """A copy for a node or a condition, with the view of the context.

        Args:
            typed: Its fields.
            added: Messages that it sees behind the others.
            is_ahead: Whether they are what the step's end puts into the context.
        """
        live = self.live
        meta = meta_of(live.thread or NEW_THREAD, live.state.id)
        value = live.value

        def view() -> Iterable[Message]:
            if is_ahead and added:
                return live.context_ahead(value, added)
            seen = live.context(value)
            return [*seen, *added] if added else seen

        return copy_for_node(typed, meta, view)

    def typed(self) -> AgentState:
        """The fields of the thread, as of the last whole step."""
        return self.live.typed(self.plan.initial)

    def result(self) -> dict[str, Any]:
        """What ``invoke`` returns."""
        value, thread = self.live.value, self.live.thread
        assert thread is not None, "the run has begun"
        return {
            "messages": list(value.messages.iterate(value.count, thread.begin)),
            "state": self.outside(),
            "usage": value.usage.since(thread.spent),
            "interrupts": thread.interrupts,
        }

    def outside(self) -> AgentState:
        """The state as callers see it: with the whole context."""
        value, thread = self.live.value, self.live.thread or NEW_THREAD
        meta = meta_of(thread, self.live.state.id)
        return copy_for_node(
            self.typed(), meta, lambda: value.messages.iterate(value.count)
        )

    async def _failed(self, node: RunNode, error: BaseException) -> None:
        """The run failed or was stopped: end what is below, and say so."""
        stopped = isinstance(error, trio.Cancelled | KeyboardInterrupt | RunCancelled)
        reason = told(error) if node.stop is None else node.stop.reason
        grace_s = self.grace_s if node.stop is None else node.stop.grace_s
        await stop_below(node, Stop(reason, "interrupted", grace_s))
        self.live.forget_view()
        node.error = error
        thread = self.live.thread
        if thread is None or thread.status != "running" or node.state.closed:
            return
        text = reason if stopped and reason is not None else told(error)
        end = GraphEnd(status="stopped" if stopped else "error", text=text)
        send(node.state, EndGraph(end))
        if node.state.stopped is not None:
            send(node.state, SetStop(None))


def _without_context(merged: Merged) -> dict[str, Any]:
    return {name: held for name, held in merged.values.items() if name != "context"}
