"""One run from its first entry to its last.

1. A run leaves nothing behind: everything below it has ended and been summed, every
   call has its result, before the run is reported as ended.
2. Nothing is raised into the nursery: what left the run is kept with its node.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
    suppress,
)
from math import inf
from typing import TYPE_CHECKING

import trio

from protocol import (
    ActorClosed,
    BudgetExceeded,
    RunCancelled,
    StoppedByBudget,
    StoppedByQuestion,
    ToolCall,
    ToolOutcomeKind,
)
from protocol._commands import CloseCall, Fail, SetStop, StartRun
from protocol._rules import told
from protocol._value import Thinking

from ._asking import QuestionsLeftOpen
from ._background import run_again
from ._changes import goes_on, warn_of_changes
from ._deadline import Deadline
from ._events import ChildEnd, ChildStart, RunEnd, RunStart
from ._inside import run_of, send, set_run, value_of_state
from ._limits import Account
from ._node import Stop, waiting_for
from ._resuming import resume_children
from ._run_node import RunNode
from ._saving import is_stored, save, save_at_last
from ._starting import check_can_run
from ._telling import room, tell
from ._tracing import traced_run

if TYPE_CHECKING:
    from ._agent import Agent


async def drive(agent: "Agent", node: RunNode) -> None:
    """Run the State of ``node``; its answer, or what left the run, ends up there."""
    place = node.supervisor._places if node.parent is None else None
    try:
        if place is not None:
            await place.acquire_on_behalf_of(node)
        if node.audience:
            await room(node)
        await claim(agent, node)
    except BaseException as error:  # noqa: BLE001 - kept for whoever waits
        node.error = error
        give_back(node)
        return
    run = traced_run(_whole_run)
    try:
        await run(agent, node)
        while node.restarts is not None and await _begins_again(node):
            await run(agent, node)
    finally:
        node.release()
        give_back(node)
        if node.unread and node.error is None and node.parent is None:
            run_again(node)


async def _begins_again(node: RunNode) -> bool:
    """Whether the run that failed is to begin again, after its back-off.

    Where its time is over before that, it begins again at once, and meets its limit.
    """
    assert node.restarts is not None, "asked only where there is a policy"
    again = True
    over_at = min((since + seconds for _, since, seconds in _timed(node)), default=inf)
    try:
        with trio.move_on_at(over_at):
            again = await node.restarts.again(node.error)
    except trio.Cancelled as error:
        node.error = error
        return False
    if again:
        node.error = None
    return again


def give_back(node: RunNode) -> None:
    """Give back the place of a run, if it has one."""
    places = node.supervisor._places
    if places is not None:
        # Asking first would copy the list of all that have one.
        with suppress(RuntimeError):
            places.release_on_behalf_of(node)


async def claim(agent: "Agent", node: RunNode) -> None:
    """Become the one run of the State; an earlier one is met as the agent says."""
    while (other := run_of(node.state)) is not None:
        with waiting_for(other):
            if agent.busy == "interrupt":
                reason, grace_s = "another run took over", agent.grace_s
                other.stop_tree(Stop(reason, "interrupted", grace_s, background=False))
            await other.wait_ended()
    check_can_run(agent, node.state)
    set_run(node.state, node)


async def _whole_run(agent: "Agent", node: RunNode) -> None:
    node.task = trio.lowlevel.current_task()
    try:
        await _begin(agent, node)
        if node.accounts or agent.tools:
            with deadline(node), _calm(agent, node):
                await _loop(agent, node)
        else:
            await _loop(agent, node)
    except QuestionsLeftOpen as left:
        await leave_open(node, left)
    except BudgetExceeded as spent:
        own = node.own_account
        if own is not None and spent.owner == node.id and not node.ended:
            await stop_below(node, Stop(str(spent), "cancelled", agent.grace_s))
            _close_pending(node, "cancelled")
            _stop_by_budget(node, spent.limit)
        else:
            await _failed(node, spent)
    except BaseException as error:  # noqa: BLE001 - kept for whoever waits
        await _failed(node, error)
    await report_end(agent, node)


async def _loop(agent: "Agent", node: RunNode) -> None:
    node.answer = await agent._run_loop(node)
    if node.children:
        await wait_for_background(node)


async def _begin(agent: "Agent", node: RunNode) -> None:
    state = node.state
    if type(value_of_state(state).open) is Thinking:
        send(state, Fail(RunCancelled("the process that asked the model is gone")))
    if value_of_state(state).facts.children and goes_on(state):
        await resume_children(node)
    warn_of_changes(state, agent.info)
    call = node.origin
    send(
        state,
        StartRun(
            agent.info,
            None if call is None else call.state.id,
            None if call is None else call.call.id,
        ),
    )
    # Told at once, not when saved: the end of what has begun is told in any case.
    if node.audience:
        if call is not None:
            child = ChildStart(path=node.path, child_id=node.id, call_id=call.call.id)
            tell(node, child)
        snapshot = state.snapshot()
        tell(node, RunStart(path=node.path, snapshot=snapshot, agent=agent.name))
    agent._bind_store(node)
    # The first request saves the start with itself: nothing has been done before it.
    if value_of_state(state).open is not None:
        if is_stored(state):
            await save(state)
        await agent._settle_calls(node)


def deadline(node: RunNode) -> AbstractContextManager[None]:
    """End the run when its time is over: its own, or that of the tree whose root it is.

    Raises:
        BudgetExceeded: the time is over; what ran has been cancelled.
    """
    return _deadlines(node) if node.accounts else _NOTHING


_NOTHING = nullcontext()


def _calm(agent: "Agent", node: RunNode) -> AbstractContextManager[object]:
    """A scope in which calls of the run's own task have their grace.

    One for the whole run: opened for each call it would cost more than the call.
    """
    if not agent.tools:
        return _NOTHING
    node.calm = trio.CancelScope()
    return node.calm


@contextmanager
def _deadlines(node: RunNode) -> Generator[None]:
    with ExitStack() as stack:
        for account, since, seconds in _timed(node):
            stack.enter_context(_until(node, account, since + seconds))
        yield


def _timed(node: RunNode) -> Iterator[tuple[Account, float, float]]:
    """The limits on time that this run watches: when each began, and its seconds."""
    supervisor = node.supervisor
    if node.parent is None or node.parent.supervisor is not supervisor:
        for account in supervisor._accounts:
            if account.limits.seconds is not None:
                yield account, supervisor._started_at, account.limits.seconds
    own = node.own_account
    if own is not None and own.limits.seconds is not None:
        since = supervisor._time()
        if node.restarts is not None and own.limits.count_waiting:
            since = node.restarts.since(since)  # a restart gives it no more time
        yield own, since, own.limits.seconds


@contextmanager
def _until(node: RunNode, account: Account, over_at: float) -> Generator[None]:
    with trio.move_on_at(over_at) as scope:
        if not account.limits.count_waiting:
            node.deadlines = (*node.deadlines, Deadline(scope))
        yield
    if scope.cancelled_caught:
        raise account.exceeded("seconds")


async def wait_for_background(node: RunNode) -> None:
    """A run on its own waits for the children that it left in the background."""
    await node.wait_childless()


async def stop_below(node: RunNode, stop: Stop) -> None:
    """Stop what runs below, as far as the stop goes, and wait until it has ended."""
    node.stop_children(stop)
    await node.join_children()
    if stop.background and node.background is not None:
        node.background.stop_tree(stop)
        with trio.CancelScope(shield=True):
            await node.background.wait_ended()


async def _failed(node: RunNode, error: BaseException) -> None:
    """Something left the run: stop what is below, close what is open, keep it."""
    if node.ended:
        return  # it was given up, and the State may be another run's by now
    # Asked of the class: isinstance takes 6 us, as it goes through an ABC.
    by_cancel = type(error) in (trio.Cancelled, KeyboardInterrupt)
    if node.children or node.background is not None:
        await stop_below(node, _stop_after(node, error))
    _close_pending(node, "interrupted" if by_cancel else "aborted")
    stopped = value_of_state(node.state).facts.stopped
    if stopped is not None and not node.state.closed:
        send(node.state, SetStop(None))
    # Whoever closes the State stops the run: what it meets then is only how it hears.
    closed = isinstance(error, ActorClosed) and node.stop is not None
    if type(error) is trio.Cancelled:
        # It goes no further, and the history keeps it: with every frame of the run.
        error.__traceback__ = None
    node.error = node.cancelled() if closed else error


def _stop_after(node: RunNode, error: BaseException) -> Stop:
    """How what is below a run stops when something left the run."""
    stop = node.stop
    if stop is None:
        reason = f"the run ended: {told(error).removesuffix(': ')}"
        return Stop(reason, "interrupted", node.agent.grace_s)
    return Stop(stop.reason, "interrupted", stop.grace_s, stop.background)


def _close_pending(node: RunNode, outcome: ToolOutcomeKind) -> None:
    """Give every call that is still open its result."""
    calls: Sequence[ToolCall] = value_of_state(node.state).pending
    if not calls or node.state.closed:
        return
    for call in calls:
        send(node.state, CloseCall(call, f"({outcome}: the run ended)", outcome))


def _stop_by_budget(node: RunNode, limit: str) -> None:
    if not node.state.closed:
        send(node.state, SetStop(StoppedByBudget(limit=limit, owner=node.id)))
    node.answer = node.state.answer


async def leave_open(node: RunNode, left: QuestionsLeftOpen) -> None:
    """Calls wait for answers: they stay pending, and the next run goes on from them."""
    reason = "the run stops and waits for answers"
    stop = Stop(reason, "cancelled", node.agent.grace_s, background=False)
    await stop_below(node, stop)
    send(node.state, SetStop(StoppedByQuestion(questions=left.questions)))
    node.answer = node.state.answer


async def report_end(agent: "Agent", node: RunNode) -> None:
    """Save what the run came to, sum it, and tell who looks on."""
    state = node.state
    try:
        if is_stored(state):
            await _save_end(agent, node)
    except BaseException as error:  # noqa: BLE001 - kept for whoever waits
        if node.error is None:
            node.error = error
        elif told(error) != told(node.error):
            node.error.add_note(f"saving the end of the run failed too: {told(error)}")
    node.settle()
    if node.audience:
        snapshot = state.snapshot()
        tell(node, RunEnd(path=node.path, snapshot=snapshot, error=node.error))
        if node.origin is not None:
            tell(
                node,
                ChildEnd(
                    path=node.path,
                    child_id=node.id,
                    outcome=_outcome(node),
                    usage=node.usage,
                ),
            )


async def _save_end(agent: "Agent", node: RunNode) -> None:
    """Save the end; a cancel that comes meanwhile ends the run, and it is saved too."""
    if node.error is None:
        try:
            await save(node.state)
        except trio.Cancelled as cancelled:
            node.error = cancelled
    if node.error is not None:
        await save_at_last(node.state, agent.grace_s)


def _outcome(node: RunNode) -> ToolOutcomeKind:
    if node.error is None:
        return "done"
    by_cancel = isinstance(node.error, RunCancelled | trio.Cancelled)
    return node.outcome if by_cancel else "error"
