"""A compiled graph: what it can be asked.

1. A thread id is a State id, and a checkpointer is a store: there is nothing else.
2. Nothing is shared between two compiled graphs, unless they were given one store.
3. A thread that another process went on with is loaded again before a run begins.
"""

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import attrs
import trio

from actors._checks import check_text
from actors._limits import Limits
from actors._node import Stop
from actors._run_node import RunNode
from actors._supervisor import GRACE_S
from actors._sync import from_plain
from actors.stores import MemoryStore, Store
from protocol import AgentState, StoreConflict

from ._config import Config, Given, read_config, read_input
from ._picture import Picture, draw
from ._plan import Plan
from ._run import GraphRun
from ._start import run_where_asked
from ._stream import GraphStream, InnerListener, Listener, stream_from_plain
from ._threads import Live, Threads

TRIES = 3
"""How often a run begins that finds its thread taken over by another process: once
for a copy that is out of date, once more for bad luck."""

_BUSY = ("queue", "reject", "interrupt")


@attrs.frozen(kw_only=True)
class Settings:
    """What a compiled graph was given beside its plan."""

    store: Store
    limits: Limits | None
    busy: str
    name: str | None
    grace_s: float = GRACE_S


def checked_settings(store: Any, limits: Any, busy: Any, name: Any) -> Settings:
    """The settings of a compiled graph.

    Raises:
        TypeError, ValueError: one is wrong; the text says what to write instead.
    """
    if store is not None and not isinstance(store, Store):
        raise TypeError(f"checkpointer= takes a Store, such as SQLiteStore: {store!r}")
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"limits= takes Limits(requests=...), not {limits!r}")
    if busy not in _BUSY:
        raise ValueError(f"busy= is one of {_BUSY}, not {busy!r}")
    if name is not None:
        check_text("name", name)
    kept = MemoryStore() if store is None else store
    return Settings(store=kept, limits=limits, busy=busy, name=name)


class CompiledGraph:
    """A graph that runs; made by `StateGraph.compile`."""

    def __init__(self, plan: Plan, settings: Settings) -> None:
        self.plan = plan
        self._settings = settings
        self._threads: WeakKeyDictionary[trio.lowlevel.TrioToken, Threads]
        self._threads = WeakKeyDictionary()
        self._lock = Lock()
        self._running: dict[str, RunNode] = {}

    @property
    def name(self) -> str | None:
        """What histories call it."""
        return self._settings.name

    @property
    def checkpointer(self) -> Store:
        """The store that keeps its threads."""
        return self._settings.store

    # Runs

    async def ainvoke(
        self, input: Mapping[str, Any] | None, config: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the graph on a thread, until it ends or pauses.

        Args:
            input: ``messages`` that go into the context; ``state``, fields to update;
                ``resume``, the answer when one interrupt is open, else a dict of
                interrupt ids to answers. None goes on after a failure or a pause:
                only nodes that have not ended run again. Without ``resume`` an input
                begins at the entry point, and drops what an earlier run left.
            config: ``thread_id`` (without one a fresh one), ``recursion_limit`` in
                steps, ``node_timeout_s``, ``tool_timeout_s``, and keys of your own,
                which nodes see.

        Returns:
            ``messages`` that this run added to the context, the input's included;
            ``state``; ``usage`` of this run; ``interrupts`` that wait.

        Raises:
            TypeError, ValueError: the input or the config is wrong: nothing happened.
            GraphError: it cannot go on, or led to a node that there is not.
            GraphRecursionError: it did not end within its steps.
            NodeError: what a node returned cannot be merged.
            RunCancelled: somebody stopped the run.
            BudgetExceeded: a limit is reached.
            BaseException: what left a node, the very exception. The thread is then as
                after the last whole step.
        """
        given = read_input(self.plan.kind, input)
        result: dict[str, Any] = await self._ainvoke(given, read_config(config), None)
        return result

    def invoke(
        self, input: Mapping[str, Any] | None, config: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The same as `ainvoke`, from plain code.

        Raises:
            TypeError: on a trio thread; use `ainvoke`.
            BaseException: as `ainvoke`.
        """
        return from_plain(self.ainvoke, input, config)

    def astream(
        self, input: Mapping[str, Any] | None, config: Mapping[str, Any] | None = None
    ) -> GraphStream:
        """Run the graph and give its events as they come; see `GraphEvent`.

        ``async with app.astream(...) as events: async for event in events: ...`` stops
        and joins the run when the block is left. A plain ``async for`` over it works
        too; left early, the run is stopped and ends by itself.

        Raises:
            TypeError, ValueError: as `ainvoke`.
        """
        given, settings = read_input(self.plan.kind, input), read_config(config)

        async def run(listener: Listener) -> Any:
            return await self._ainvoke(given, settings, listener)

        return GraphStream(run)

    def stream(
        self, input: Mapping[str, Any] | None, config: Mapping[str, Any] | None = None
    ) -> Iterator[Any]:
        """The same as `astream`, from plain code: an iterator over the events.

        Raises:
            TypeError: on a trio thread; use `astream`.
            BaseException: as `ainvoke`.
        """
        return stream_from_plain(self.astream, input, config)

    async def astop(self, config: Mapping[str, Any]) -> bool:
        """Stop the run on a thread, and wait for its end; False when none runs.

        The run is cancelled wherever it is, within its grace; whoever waits for it gets
        RunCancelled. What was committed stays, and `ainvoke(None, config)` goes on.
        """
        node = self._running.get(read_config(config).thread_id)
        if node is None or node.ended:
            return False
        self.stop(config)
        await node.wait_ended()
        return True

    def stop(self, config: Mapping[str, Any]) -> bool:
        """Stop the run on a thread, from any thread; False when none runs.

        It asks, and does not wait for the run's end.
        """
        node = self._running.get(read_config(config).thread_id)
        if node is None or node.ended:
            return False
        stop = Stop(
            "it was stopped from outside", "interrupted", self._settings.grace_s
        )
        try:
            node.supervisor._token.run_sync_soon(node.stop_tree, stop)
        except trio.RunFinishedError:
            return False
        return True

    # Looking

    async def aget_state(self, config: Mapping[str, Any]) -> AgentState:
        """The state of a thread as of its last whole step, with its whole context.

        Raises:
            LookupError: the store has no such thread.
        """
        live = Live(await self.checkpointer.aload(read_config(config).thread_id))
        return self.run_on(live, Given(), read_config(config)).outside()

    def get_state(self, config: Mapping[str, Any]) -> AgentState:
        """The same as `aget_state`, from plain code."""
        live = Live(self.checkpointer.load(read_config(config).thread_id))
        return self.run_on(live, Given(), read_config(config)).outside()

    def picture(self) -> Picture:
        """The graph as a picture: ``.mermaid`` and ``.svg`` are texts."""
        return draw(self.plan)

    # For the runtime

    def run_on(
        self,
        live: Live,
        given: Given,
        config: Config,
        listener: Listener | InnerListener | None = None,
    ) -> GraphRun:
        """A run of this graph on a thread, ready to be driven."""
        return GraphRun(
            self.plan,
            self._settings,
            live,
            given=given,
            config=config,
            listener=listener,
        )

    async def _ainvoke(
        self, given: Given, config: Config, listener: Listener | None
    ) -> Any:
        """Run on the thread as it is known here; if that is out of date, once more."""
        threads = self._here()
        for left in reversed(range(TRIES)):
            live = await threads.take(config.thread_id, is_fresh=config.is_fresh)
            run = self.run_on(live, given, config, listener)
            run.on_claim = self._running.__setitem__
            try:
                return await run_where_asked(run)
            except Exception as error:
                conflict = isinstance(error, StoreConflict)
                is_old = run.was_refused and live.users == 1 and not live.is_loaded
                if conflict or is_old:
                    threads.forget(live)
                if not left or run.has_begun or not (conflict or is_old):
                    raise
            finally:
                threads.give_back(live)
                node = self._running.get(config.thread_id)
                if node is not None and node.ended:
                    del self._running[config.thread_id]
        raise AssertionError("the last try returns or raises")

    def _here(self) -> Threads:
        """The live threads of this run of trio."""
        token = trio.lowlevel.current_trio_token()
        with self._lock:
            threads = self._threads.get(token)
            if threads is None:
                threads = self._threads[token] = Threads(self._settings.store)
            return threads
