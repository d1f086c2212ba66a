"""The agents of a fleet at work: one State for each task, a window sliding over them.

1. A task's State is saved under the task's id. One whose run has ended is done; one
   that was cut off goes on from where it stands; one that is not there begins.
2. Whatever becomes of a task is its result; nothing that one does stops the others.
3. Only what runs is kept: a State is let go of as soon as its result is written down.
4. The limits of the fleet count what its tasks have used in earlier processes, too.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import trio

from actors import (
    Agent,
    Limits,
    Message,
    Run,
    Saved,
    State,
    Store,
    Supervisor,
    open_supervisor,
)
from protocol import BudgetExceeded, RunCancelled, Usage
from protocol._entry import NO_USAGE
from protocol._rules import told

from ._results import Result, Spool, Status, note_end, read_result, unfinished
from ._tasks import Task

GRACE_S = 5.0
"""Seconds that running tasks get to end by themselves once the fleet is to stop: a
turn that is nearly over need not be paid twice."""

PAGE = 1_000
"""States asked for at once when the store is looked through."""


@attrs.frozen(kw_only=True)
class Plan:
    """What a fleet is to do."""

    agent: Agent
    store: Store
    tasks: Sequence[Task]
    max_running: int
    limits: Limits | None = None
    """What all tasks may use together."""
    deadline_s: float | None = None
    """Seconds after which what runs is cancelled."""
    retry_failed: bool = False
    """Whether what failed or was stopped short runs again, from where it stands."""


@attrs.define
class Counts:
    """What has happened so far."""

    ended: dict[Status, int] = attrs.field(
        factory=lambda: {"done": 0, "failed": 0, "stopped": 0, "cancelled": 0}
    )
    """Tasks by what became of them."""
    final: int = 0
    """Tasks that the same fleet, run again, leaves as they are."""
    found: int = 0
    """Tasks that had ended before this process began."""
    turns: int = 0
    """Turns made here by tasks that have ended."""
    usage: Usage = NO_USAGE
    """What the tasks that have ended have used, here and earlier."""
    faults: Counter[str] = attrs.field(factory=Counter[str])
    """How many tasks failed with each error."""
    first: dict[str, str] = attrs.field(factory=dict[str, str])
    """The task that failed first with each error."""


@attrs.frozen
class Work:
    """A task that runs."""

    run: Run
    began: float
    """When, on trio's clock."""
    turns_before: int
    """Turns that its State had by then."""

    @property
    def turns(self) -> int:
        """Turns that it has made since."""
        return self.run.state.turn - self.turns_before


class Fleet:
    """One fleet at work."""

    def __init__(self, plan: Plan, spool: Spool) -> None:
        self.plan = plan
        self.counts = Counts()
        self.running: dict[str, Work] = {}
        """What runs, by task, the longest first."""
        self.stopping: str | None = None
        """Why no more tasks are begun; None: they are."""
        self.over = trio.Event()
        """Set once every task that began has its result."""
        self._spool = spool
        self._known: set[str] = set()
        self._next = 0
        self._stop = trio.Event()
        self._supervisor: Supervisor

    async def work(self, write_results: Callable[[], None]) -> None:
        """Do all tasks; returns when nothing of them runs any more.

        Args:
            write_results: Called once every task that began has its result.

        Raises:
            OSError: the store cannot be read, or what `write_results` raises.
        """
        plan = self.plan
        async with open_supervisor(limits=plan.limits) as self._supervisor:
            await self._look_through()
            async with trio.open_nursery() as nursery:
                if plan.deadline_s is not None:
                    nursery.start_soon(self._end_at_deadline, plan.deadline_s)
                nursery.start_soon(self._end_after_grace)
                await self._do_all()
                nursery.cancel_scope.cancel()
            write_results()
            self.over.set()

    async def _do_all(self) -> None:
        async with trio.open_nursery() as window:
            for _ in range(min(self.plan.max_running, len(self.plan.tasks))):
                window.start_soon(self._go_on)

    def stop(self, reason: str) -> None:
        """Begin no more tasks; what runs has `GRACE_S` to end, then it is cancelled."""
        if self.stopping is None:
            self.stopping = reason
            self._stop.set()

    def stop_now(self, reason: str) -> None:
        """Cancel what runs, without a grace. Its States can be continued later."""
        self.stop(reason)
        self._cancel(reason, grace_s=0.0)

    @property
    def unfinished(self) -> int:
        """Tasks that have not come to an end: the next run of the fleet goes on."""
        return len(self.plan.tasks) - self.counts.final

    def threads(self) -> int:
        """Tools in worker threads that go on although nobody waits for them."""
        return self._supervisor.statistics().threads

    def turns_now(self) -> int:
        """Turns made here, those of running tasks included."""
        return self.counts.turns + sum(work.turns for work in self.running.values())

    def usage_now(self) -> Usage:
        """What the tasks have used so far, earlier processes included."""
        total = self.counts.usage
        for work in self.running.values():
            total += work.run.state.usage
        return total

    async def _end_at_deadline(self, seconds: float) -> None:
        await trio.sleep(seconds)
        reason = f"the deadline of {seconds:g} s is over"
        self.stop(reason)
        self._cancel(reason, grace_s=None)

    async def _end_after_grace(self) -> None:
        await self._stop.wait()
        await trio.sleep(GRACE_S)
        self._cancel(self.stopping or "", grace_s=None)

    def _cancel(self, reason: str, grace_s: float | None) -> None:
        for work in self.running.values():
            work.run.cancel_nowait(reason, grace_s=grace_s)

    async def _look_through(self) -> None:
        """Find the tasks that the store knows, and count what they have used."""
        wanted = {task.id for task in self.plan.tasks}
        after: Saved | None = None
        while page := await self.plan.store.alist(limit=PAGE, after=after):
            for saved in page:
                if saved.id in wanted:
                    self._known.add(saved.id)
                    self._count(saved)
            after = page[-1]

    def _count(self, saved: Saved) -> None:
        info = saved.info
        for account in self._supervisor._accounts:
            account.requests += info.get("requests", 0)
            account.tokens += info.get("input_tokens", 0) + info.get("output_tokens", 0)
            account.cost += info.get("cost") or 0.0

    async def _go_on(self) -> None:
        """Do the next task, and the next, until there is none left."""
        tasks = self.plan.tasks
        while self.stopping is None and self._next < len(tasks):
            task = tasks[self._next]
            self._next += 1
            try:
                result = await self._do(task)
            except trio.Cancelled:
                raise
            except BaseException as error:  # noqa: BLE001 - becomes its result
                result = Result(id=task.id, status="failed", error=told(error))
            self._ended(result)

    async def _do(self, task: Task) -> Result:
        if task.id not in self._known:
            message = Message.user(task.prompt)
            return await self._run(
                State(id=task.id, messages=[message], extra_data=task.extra_data)
            )
        state = await self.plan.store.aload(task.id)
        _check_same(state, task)
        result = read_result(state)
        again = self.plan.retry_failed and not state.finished
        if result is None or (again and result.status != "done"):
            return await self._run(state)
        self.counts.found += 1
        return result

    async def _run(self, state: State) -> Result:
        run = self._supervisor.start(self.plan.agent, state)
        work = Work(run, trio.current_time(), state.turn)
        self.running[state.id] = work
        answer: Any = None
        failure: BaseException | None = None
        try:
            answer = await run.wait()
        except trio.Cancelled:
            raise
        except RunCancelled as cancelled:
            return unfinished(state, error=str(cancelled))
        except BudgetExceeded as spent:
            if spent.owner == self._supervisor._id:
                self.stop(f"the limit on {spent.limit} is reached")
                return unfinished(state, "stopped", str(spent), "budget")
            failure = spent
        except BaseException as error:  # noqa: BLE001 - becomes its result
            failure = error
        finally:
            del self.running[state.id]
            self.counts.turns += work.turns
        return await note_end(self.plan.store, state, answer, failure)

    def _ended(self, result: Result) -> None:
        counts = self.counts
        counts.ended[result.status] += 1
        counts.final += result.is_final
        counts.usage += result.usage
        if result.status == "failed" and result.error:
            counts.faults[result.error] += 1
            counts.first.setdefault(result.error, result.id)
        self._spool.put(result)


def _check_same(state: State, task: Task) -> None:
    """Refuse a State that began with something else.

    Raises:
        ValueError: it did.
    """
    first = state.messages[0].text() if state.messages else ""
    if first != task.prompt:
        raise ValueError(
            f"the store has another conversation under the id {task.id!r}, which "
            f"begins {first!r:.60}: name another file with --store"
        )
