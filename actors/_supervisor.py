"""One flat nursery for a whole tree of runs; the tree itself is data.

1. Everything that runs below a supervisor is a task in its nursery, however deep the
   tree is; parents and children know each other as `Node`s.
2. Nothing that a task raises reaches the nursery: it is kept with its node, and whoever
   waits for that node gets it.
3. A node that does not stop within its grace is given up: its owner goes on, the
   supervisor names it, and leaving the supervisor still waits for it.
"""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import trio

from protocol import Question
from protocol._ids import new_id
from protocol._rules import told

from ._checks import check_count, check_grace
from ._limits import Account, Limits, check_limits
from ._node import Audience, Node, Stop, current, subtree
from ._restart import Restart, Restarts
from ._run import Run, TreeNode, picture
from ._run_node import RunNode
from ._state import State
from ._statistics import SupervisorStatistics, Unstopped
from ._threads import ThreadSlots
from .models._clients import close_clients, hold_clients

if TYPE_CHECKING:
    from ._run_node import Runner

GRACE_S = 5.0
"""Seconds that clean-up may take: long enough for a request to be closed properly."""

THREADS = 40
"""Worker threads at once: trio's own default."""

STEPS_TO_END = 5
"""Turns of the scheduler in which a clean-up that is cut at this moment may end: one
until its own deadline is seen, three for the Cancelled to come out, one to end."""

AGAIN_S = 0.05
"""Seconds a node may take to end once everything below it has been given up."""


Job: TypeAlias = tuple[Node | None, Callable[..., Awaitable[None]], tuple[Any, ...]]
"""The node whose task it is, if any; what to run, and what to call it with."""


class Lane:
    """Work that begins in the order in which it is spawned.

    trio runs the tasks of a batch forwards or backwards, as a coin falls. So tasks are
    not tied to their work: whichever task runs first takes what is first.
    """

    __slots__ = ("context", "waiting")

    def __init__(self) -> None:
        self.context = copy_context()
        self.waiting: deque[Job] = deque()


class Supervisor:
    """Starts, cancels, joins and sums what runs below it; see `open_supervisor`."""

    def __init__(
        self,
        nursery: trio.Nursery,
        limits: Limits | None,
        max_running: int | None,
        grace_s: float,
        threads: int,
    ) -> None:
        self._id = new_id()
        self._nursery = nursery
        self._grace_s = grace_s
        self._started_at = trio.current_time()
        self._token = trio.lowlevel.current_trio_token()
        self._threads = ThreadSlots(threads)
        self._places = (
            None if max_running is None else trio.CapacityLimiter(max_running)
        )
        self._roots: dict[Node, None] = {}
        self._audience: Audience = ()
        self._accounts = () if limits is None else (Account(limits, self._id, 0),)
        self._unstopped: list[Unstopped] = []
        self._at_close: list[Callable[[], Awaitable[None]]] = []
        self._closed = False
        self._dispatches: dict[int, Any] = {}
        self._tasks = 0
        self._all_done: trio.Event | None = None
        self._late: list[tuple[float, int, Node]] = []
        self._order = count()
        self._started = 0
        self._watcher: trio.CancelScope | None = None
        self._earlier = trio.Event()

    # For users

    def start(
        self,
        agent: "Runner",
        prompt_or_state: str | State,
        *,
        restart: Restart | None = None,
    ) -> Run:
        """Start a run as a child of this supervisor, and return at once.

        The run begins when it gets a place (``max_running``), in order of starting.

        Args:
            agent: who runs it.
            prompt_or_state: a text for a fresh State, or a State.
            restart: how often it begins again, from its own history, when it fails;
                never when left out.

        Raises:
            ValueError: the State runs already, or is finished.
            RuntimeError: the supervisor is closed.
        """
        node = RunNode.root(self, agent, prompt_or_state)
        if restart is not None:
            node.restarts = Restarts(restart)
        self._spawn(node, agent._drive, node)
        return Run(node)

    async def map(
        self, agent: "Runner", prompts: Iterable[str], **options: Any
    ) -> tuple[Any, ...]:
        """Run every prompt on an agent; the same as `afan_out`, under this one."""
        token = around.set(self)
        try:
            return await agent.fan_out(prompts, **options)
        finally:
            around.reset(token)

    def tree(self) -> tuple[TreeNode, ...]:
        """A frozen picture of every run, roots first, in order of starting."""
        return picture(self._roots)

    def questions(self) -> tuple[Question, ...]:
        """Every question that waits for an answer, anywhere in the tree."""
        found: list[Question] = []
        for root in self._roots:
            for node in subtree(root):
                if isinstance(node, RunNode):
                    found += node.state.questions
        return tuple(found)

    def statistics(self) -> SupervisorStatistics:
        """A frozen picture of what runs now."""
        nodes = [node for root in self._roots for node in subtree(root)]
        runs = sum(1 for node in nodes if isinstance(node, RunNode))
        calls = sum(1 for node in nodes if node.call_id is not None)
        waiting = 0 if self._places is None else self._places.statistics().tasks_waiting
        return SupervisorStatistics(
            runs=runs,
            calls=calls,
            waiting=waiting,
            started=self._started,
            threads=self._threads.in_use,
            unstopped=tuple(self._unstopped),
        )

    # For the runtime

    def _time(self) -> float:
        """The trio clock, in seconds."""
        return trio.current_time()

    def _check_open(self) -> None:
        """Refuse a new run once the block of this has been left.

        Raises:
            RuntimeError: it has.
        """
        if self._closed:
            raise RuntimeError("this supervisor is closed and takes no new runs")

    def _adopt(self, node: Node) -> None:
        """Take a node into the tree; one without a parent becomes a root."""
        self._started += 1
        if node.parent is None or node.parent.supervisor is not self:
            node.accounts = (*node.accounts, *self._accounts)
            node.audience = (*node.audience, *self._audience)
            self._roots[node] = None

    def _spawn(
        self,
        node: Node,
        work: Callable[..., Awaitable[None]],
        *args: object,
        lane: "Lane | None" = None,
    ) -> None:
        """Run ``work`` for a node, in a task of its own. It must not raise.

        Args:
            node: whose task it is.
            work: what to run.
            args: what to call it with.
            lane: where it must not overtake what was spawned before it; its task has
                the context variables of the lane. Without one it has this task's.
        """
        self._start((node, work, args), lane)

    def _background(self, work: Callable[..., Awaitable[None]], *args: Any) -> None:
        """Run ``work`` as a task that leaving the supervisor waits for."""
        self._start((None, work, args), None)

    def _background_in(
        self, lane: "Lane", work: Callable[..., Awaitable[None]], *args: Any
    ) -> None:
        """The same as `_background`, in the order of a lane and with its context."""
        self._start((None, work, args), lane)

    def _start(self, job: "Job", lane: "Lane | None") -> None:
        self._tasks += 1
        if lane is None:
            self._nursery.start_soon(self._task, job, lane)
        else:
            lane.waiting.append(job)
            lane.context.run(self._nursery.start_soon, self._task, job, lane)

    async def _task(self, job: "Job", lane: "Lane | None") -> None:
        """All of a task in one frame: every await of the work goes through it."""
        node, work, args = job if lane is None else lane.waiting.popleft()
        if around.get() is not self:  # who started it may stand in another's block
            around.set(self)
        try:
            begun = work(*args)
            del job, work, args  # thousands wait, and the collector looks at all
            if node is None:
                await begun
            else:
                current.set(node)
                with node.scope:
                    await begun
        finally:
            if node is not None:
                self._forget(node)
            self._tasks -= 1
            if not self._tasks and self._all_done is not None:
                self._all_done.set()

    def _forget(self, node: Node) -> None:
        """Nothing of the node runs any more: it has ended, whatever happened."""
        node.end()
        self._roots.pop(node, None)

    def _watch(self, node: Node, until: float) -> None:
        """Give the node up when it has not ended at this time."""
        row = (until, next(self._order), node)
        heappush(self._late, row)
        if self._watcher is None:
            self._watcher = trio.CancelScope(shield=True)
            self._nursery.start_soon(self._watch_late, self._watcher)
        elif self._late[0] is row:
            self._earlier.set()

    async def _watch_late(self, scope: trio.CancelScope) -> None:
        with scope:
            while self._late:
                self._earlier = trio.Event()
                with trio.move_on_at(self._late[0][0]):
                    await self._earlier.wait()
                now = self._time()  # whose time is over later has steps of its own
                for _ in range(STEPS_TO_END):
                    await trio.lowlevel.checkpoint()
                self._give_up_late(now)
                while self._late and self._late[0][2].ended:
                    heappop(self._late)
        if self._watcher is scope:
            self._watcher = None

    def _give_up_late(self, now: float) -> None:
        while self._late and self._late[0][0] <= now:
            until, _, node = heappop(self._late)
            if node.ended or node.until != until:
                continue
            if node.children:
                node.until = now + AGAIN_S
                heappush(self._late, (node.until, next(self._order), node))
                continue
            self._name(node)
            node.give_up()

    def _name(self, node: Node) -> None:
        """Report what did not stop; not who waited for it, or had not begun."""
        if node.has_begun and not node.has_deaf:
            reason = None if node.stop is None else node.stop.reason
            self._unstopped.append(
                Unstopped(path=node.path, call_id=node.call_id, reason=reason)
            )
        if node.parent is not None and node.has_begun:
            node.parent.has_deaf = True

    async def _stop_all(self, stop: Stop) -> None:
        """Stop every root, the last started first, and wait until all have ended."""
        for root in reversed(tuple(self._roots)):
            root.stop_tree(stop)
        with trio.CancelScope(shield=True):
            await self._wait_idle()

    async def _wait_idle(self) -> None:
        """Wait until nothing runs below any more."""
        while self._roots:
            # Not the first of the dict each time: what was deleted before it costs.
            todo = deque(self._roots)
            while todo:
                root = todo.popleft()
                await root.wait_ended()
                self._roots.pop(root, None)

    async def _close(self) -> None:
        """Take no more runs, wait for the last task, close what was opened here."""
        with trio.CancelScope(shield=True):
            self._closed = True
            if self._tasks:
                self._all_done = trio.Event()
                await self._all_done.wait()
            if self._watcher is not None:
                self._watcher.cancel()
            for close in reversed(self._at_close):
                await close()


around: ContextVar[Supervisor | None] = ContextVar("around", default=None)
"""The supervisor whose block this task is in."""


@asynccontextmanager
async def open_supervisor(
    *,
    limits: Limits | None = None,
    max_running: int | None = None,
    grace_s: float = GRACE_S,
    threads: int = THREADS,
) -> AsyncGenerator[Supervisor, None]:
    """Open a supervisor; runs started in the block join it.

    The end of the block waits for what still runs. An error or a cancel in the block
    stops everything first, the last started first, each within its grace; then it goes
    on as the one exception it was. What did not stop in time is waited for even so,
    and stands in ``supervisor.statistics().unstopped``.

    Args:
        limits: what everything below may use together.
        max_running: how many runs at once; others wait in order of starting. A run
            that waits for a child keeps its place, and a child needs none.
        grace_s: seconds that clean-up may take when something is stopped.
        threads: plain functions that may compute at once.

    Raises:
        TypeError: this is no trio task, and the text names the ways into one.
        TypeError, ValueError: an argument is wrong; nothing was opened.
    """
    if not trio.lowlevel.in_trio_task():
        raise TypeError(
            "this is no trio task: write 'agent.run(...)' in plain code, "
            "'await actors.aio.run(agent, ...)' in asyncio, or "
            "'trio.run(agent.arun, ...)'"
        )
    check_limits(limits)
    check_count("max_running", max_running, or_none=True)
    check_grace(grace_s)
    check_count("threads", threads)
    token = None
    caught: BaseException | None = None
    async with trio.open_nursery() as nursery:
        supervisor = Supervisor(nursery, limits, max_running, grace_s, threads)
        token = around.set(supervisor)
        hold_clients()
        supervisor._at_close.append(close_clients)
        try:
            yield supervisor
            await supervisor._wait_idle()
        except BaseException as error:  # noqa: BLE001 - it goes on below, ungrouped
            caught = error
            await supervisor._stop_all(_stop_for(error, grace_s))
        finally:
            around.reset(token)
            await supervisor._close()
    if caught is not None:
        raise caught


def _stop_for(error: BaseException, grace_s: float) -> Stop:
    if isinstance(error, trio.Cancelled):
        return Stop("the supervisor was cancelled", "interrupted", grace_s)
    return Stop(f"the supervisor's block raised {told(error)}", "interrupted", grace_s)
