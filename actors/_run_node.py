"""A run of a State as a node of the tree.

1. A run ends in synchronous code: what it used is summed, and its owner told, before
   anything can be cancelled again.
2. One run of a State at a time.
"""

from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import trio

from protocol import (
    ActorClosed,
    Exchange,
    RunCancelled,
    ToolOutcomeKind,
    Usage,
)
from protocol._commands import NoteExchange
from protocol._entry import NO_USAGE

from ._calls import DEAF, CallNode
from ._closing import close_driven, close_open, take_back
from ._deadline import Deadline
from ._inside import library_of, run_of, send, set_run
from ._limits import Account, Limits, reserve_child
from ._node import Node, Stop, current
from ._restart import Restarts
from ._starting import as_state, check_can_run
from ._state import State

if TYPE_CHECKING:
    from ._supervisor import Supervisor


PlainBody: TypeAlias = Callable[[Any, State], Awaitable[Any]]
"""Runs a plain loop in the thread that asked for the run, and waits for it here."""


class Runner(Protocol):
    """What the tree needs of an agent."""

    @property
    def name(self) -> str | None: ...
    @property
    def limits(self) -> Limits | None: ...
    @property
    def grace_s(self) -> float: ...
    @property
    def permissions(self) -> Any: ...
    @property
    def busy(self) -> str: ...
    def _inherited(self, name: str, above: "RunNode | None") -> Any: ...
    def _dispatch_to(self, supervisor: "Supervisor", reporter: Any) -> Any: ...
    async def fan_out(
        self, prompts: Iterable[str], **options: Any
    ) -> tuple[Any, ...]: ...
    def _drive(self, node: "RunNode") -> Awaitable[None]: ...


def run_above(node: Node | None) -> "RunNode | None":
    """The nearest run at or above a node."""
    while node is not None and not isinstance(node, RunNode):
        node = node.parent
    return node


class RunNode(Node):
    """One run: a State, the agent that runs it, and what it has used so far."""

    counted: ClassVar[bool] = True
    """Whether it takes from the limits on children and depth, as subagents do."""

    usage = NO_USAGE
    """What it has used, once it is settled."""
    settled = False
    answer: Any = None
    error: BaseException | None = None
    outcome: ToolOutcomeKind = "cancelled"
    human_waits = 0
    background: Node | None = None
    unread = has_news = is_alone = False
    plain: PlainBody | None = None
    restarts: Restarts | None = None
    task: trio.lowlevel.Task | None = None
    """The task that drives it, while it does."""
    calls: object = None
    """The turn whose calls run now."""
    calm: trio.CancelScope | None = None
    """The scope in which calls of its own task have their grace."""
    steps: dict[trio.CancelScope, None] | None = None
    """Its steps in other tasks."""
    beside: "list[RunNode] | None" = None
    """Of a step outside of any run: those that are under way in its State."""
    asked: int | None = None
    """Where its last request to the model stands in the history."""
    carried: Any = None
    """What a tracer keeps with it: where its span belongs."""

    def __init__(
        self,
        supervisor: "Supervisor",
        parent: Node | None,
        agent: "Runner",
        state: State,
        above: "RunNode | None" = None,
    ) -> None:
        supervisor._check_open()  # before the parent takes what would never end
        owner = parent if isinstance(parent, CallNode) else None
        if parent is not None and self.counted:
            reserve_child(parent.accounts, parent.depth + 1)
        super().__init__(supervisor, parent, state.id)
        if parent is not None and self.counted:
            self.depth = parent.depth + 1
        supervisor._adopt(self)
        if agent.limits is not None:
            account = Account(agent.limits, state.id, self.depth)
            self.accounts = (*self.accounts, account)
        self.agent = agent
        self.state = state
        self.call = owner
        self.origin = owner
        self.started_at = supervisor._time()
        self.before = state.usage
        self.total = self.before
        self._inherit(run_above(parent) if above is None else above)
        if owner is not None:
            owner.add_child(self.id, state)

    def _inherit(self, above: "RunNode | None") -> None:
        """Take over what goes down the tree: rights, people, deadlines."""
        agent = self.agent
        self.above = above
        self.levels: tuple[Any, ...]
        self.store_further_up = self.store_above()
        self.deadlines: tuple[Deadline, ...] = ()
        if above is None:
            self.levels = (agent.permissions,)
            self.granted: set[str] = set()
        else:
            self.levels = above.levels
            if agent.permissions is not None:
                self.levels = (*self.levels, agent.permissions)
            self.granted = above.granted
            self.deadlines = above.deadlines
        self.human = agent._inherited("human", above)
        self.reporter = agent._inherited("reporter", above)
        self._hear(above)
        self.is_judged = self.levels != (None,)

    def _hear(self, above: "RunNode | None") -> None:
        """Have the own reporter hear of this run, in the place of the one above."""
        self.dispatch: Any = None if above is None else above.dispatch
        if above is not None and self.reporter is above.reporter:
            return
        sinks = [sink for sink in self.audience if sink is not self.dispatch]
        self.dispatch = None
        if self.reporter is not None:
            self.dispatch = self.agent._dispatch_to(self.supervisor, self.reporter)
            sinks.append(self.dispatch)
        self.audience = tuple(sinks)

    @classmethod
    def root(
        cls, supervisor: "Supervisor", agent: "Runner", prompt: str | State
    ) -> "RunNode":
        """A node for a run that starts here: below the call around, if there is one."""
        state = as_state(prompt)
        check_can_run(agent, state)
        return cls(supervisor, current.get(), agent, state)

    @property
    def own_account(self) -> Account | None:
        """The account of the limits that this very run owns."""
        last = self.accounts[-1] if self.accounts else None
        return last if last is not None and last.owner == self.id else None

    def store_above(self) -> Any:
        """The store of the nearest run above that has one, or None."""
        above = self.above
        if above is None:
            return None
        library = library_of(above.state)
        return above.store_further_up if library is None else library

    def settle(self) -> None:
        """Sum what the run used and tell the call above.

        A run that was given up is settled again when it has really ended: what it used
        since goes up as a late result, through every run that was settled meanwhile.
        """
        run: RunNode | None = self
        while run is not None:
            run = run._settle_one()

    def _tell_loop(self, grown: Usage) -> None:
        """A run that a loop's body started is a side question of that loop's State."""
        owner = self.parent
        if (
            type(owner) is not RunNode
            or owner.state is self.state
            or not grown.requests
        ):
            return
        name = self.agent.name or "an agent"
        exchange = Exchange(
            question=f"run of {name} ({self.id})", answer=self.answer_told
        )
        with suppress(ActorClosed):
            send(owner.state, NoteExchange("ask", exchange, grown))

    @property
    def answer_told(self) -> Any:
        """The answer in JSON form, as the State has it; None when the run failed."""
        return None if self.error is not None else self.state.answer

    def _settle_one(self) -> "RunNode | None":
        """Settle this run; give the one above when that must be settled again."""
        total = self.state.usage
        if self.settled and total is self.total:
            return None
        usage = total.since(self.before)
        grown = usage.since(self.usage) if self.settled else usage
        self.settled, self.total, self.usage = True, total, usage
        call = self.call
        if call is None and self.ended:
            call = self.origin  # the end of this background child is told already
        if call is None:
            self._tell_loop(grown)
            return None
        call.spent(grown)
        if call.outcome is None or call.has_thread or not grown.requests:
            return None  # its result counts it, or what its thread delivers
        call.report_late("(stopped)", "cancelled")
        above = run_above(call)
        return above if above is not None and above.settled else None

    def end(self) -> None:
        """The run has ended: settle it, then tell whoever waits."""
        self.settle()
        self.task = None  # it knows this node, and would keep it in a circle
        super().end()
        if self.background is not None:
            self.background.hand_up()

    def give_up(self) -> None:
        """The run's own code did not stop: its owner goes on without it.

        What it left open is closed, and the State is free for another run; its calls
        were given up before it.
        """
        self.error = self.cancelled()
        if not self.state.closed:
            if self.beside is None:
                close_open(self, f"(interrupted, {DEAF})", "interrupted", self.error)
            else:
                take_back(self, self.error)
        self.release()
        self.end()

    def stand_beside(self, first: "RunNode | None") -> None:
        """Be a step outside of any run, beside those that are under way already."""
        self.beside = [] if first is None else first.beside
        assert self.beside is not None, "it is asked for where no run drives the State"
        self.beside.append(self)
        if first is None:
            set_run(self.state, self)

    def release(self) -> None:
        """This drives the State no more; of steps outside of any run the next does."""
        others = self.beside
        if others is not None and self in others:
            others.remove(self)
            self.settle()
            for other in others:  # what is counted here they do not count again
                other.before = self.total
        if run_of(self.state) is self:
            set_run(self.state, others[0] if others else None)

    def close_state(self, reason: str | None) -> None:
        """Close the State that this drives, from any thread, and stop the run."""
        close_driven(self, reason)

    def result(self) -> Any:
        """What the loop returned.

        Raises:
            RunCancelled: the run was cancelled.
            BaseException: what left the run.
        """
        if isinstance(self.error, trio.Cancelled):
            raise self.cancelled()
        if self.error is not None:
            raise self.error
        return self.answer

    def cancelled(self) -> RunCancelled:
        """What waiting for this run raises once it was stopped."""
        return RunCancelled(None if self.stop is None else self.stop.reason)

    @contextmanager
    def step(self) -> Generator[None, None, None]:
        """A step of this run in the block; one in another task is stopped with it.

        Raises:
            RunCancelled: the run is being stopped, or what asks was given up.
        """
        asks = current.get()
        if self.stop is not None and not self.is_here():
            raise self.cancelled()
        if asks is not None and asks.ended:
            raise RunCancelled(f"{asks.id!r} has ended: it takes no more steps")
        if self.is_here():
            yield
            return
        with trio.CancelScope() as scope:
            steps = self.steps = {} if self.steps is None else self.steps
            steps[scope] = None
            try:
                yield
            finally:
                del steps[scope]
        if scope.cancelled_caught:
            raise self.cancelled()

    def is_here(self) -> bool:
        """Whether this task is the run's own."""
        return self.task is trio.lowlevel.current_task()

    def cancel(self, stop: Stop) -> None:
        """Cancel the run's own task, its steps in other tasks, and its background."""
        super().cancel(stop)
        if self.background is not None and stop.background:
            self.background.stop_tree(stop)
        for scope in self.steps or ():
            scope.cancel(reason=stop.reason)

    def wait_for_human(self) -> None:
        """A wait for a human begins: deadlines that leave it out stand still."""
        self.human_waits += 1
        for deadline in self.deadlines:
            deadline.pause()

    def human_is_done(self) -> None:
        """The wait is over."""
        self.human_waits -= 1
        for deadline in self.deadlines:
            deadline.go_on()

    @property
    def status(self) -> str:
        """idle, thinking, calling, waiting for a human, or ended."""
        if self.ended:
            return "ended"
        return "waiting for a human" if self.human_waits else self.state.phase
