"""Children that outlive the turn that started them.

1. They hang below a node of their State, beside its runs: a turn that ends, or is
   interrupted, leaves them alone; cancelling a run of the State stops them too.
2. Each ends with one entry in its owner: the State that started it, or the nearest one
   above that has not ended. When an owner's run ends, what it leaves begins anew in the
   owner above, so that this can be read from the histories alone.
3. An owner that runs nothing is run again by its agent, so that the model hears of it.
4. A start is durable before the child does anything; see `_resuming` for what was left
   without an end.
"""

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import trio
from trio.lowlevel import in_trio_run

from protocol import ActorClosed, RunCancelled, ToolError, ToolOutcomeKind
from protocol._commands import EndChild, StartChild
from protocol._entry import Content
from protocol._rules import told
from protocol._work_entries import ChildEnd, ChildStart

from ._calls import CallNode
from ._inside import run_of, send, value_of_state
from ._node import Node, Stop, current
from ._run import Run
from ._run_node import RunNode
from ._saving import is_stored, save, save_soon
from ._starting import as_state, check_can_run
from ._state import State
from .tools._results import to_content
from .tools._subagent import CAUSE_CHARACTERS, in_words, is_agent

if TYPE_CHECKING:
    from ._agent import Agent


NAMELESS = "background child"
"""What a child is called whose agent has no name."""


def start_child(agent: "Agent", prompt_or_state: str | State) -> Run:
    """Start a run in the background of the call that this is called in; do not wait.

    The start is recorded at once, and is durable before the child does anything; a
    start that cannot be saved ends the child with that error.

    The child goes on when the call, and the turn, have ended. Its end is one entry in
    the State whose call this is, and a notice that its model reads with the next
    request; under a supervisor the agent runs that State again for it. Cancelling the
    run stops the child, `Run.interrupt` does not.

    Raises:
        ValueError: this is no tool call; or the State is finished, or runs already.
        RunCancelled: the call is being stopped.
        ActorClosed: the State whose call this is was closed; nothing was started.
        BudgetExceeded: a limit above allows no more children.
    """
    call = current.get()
    if not isinstance(call, CallNode):
        raise ValueError(  # noqa: TRY004 - no type is wrong, the place is
            "start_child starts a child of a tool call, and this is none: use "
            "supervisor.start(agent, prompt) in 'async with open_supervisor()'"
        )
    if in_trio_run():
        return _start(call, agent, prompt_or_state)
    return trio.from_thread.run_sync(
        _start, call, agent, prompt_or_state, trio_token=call.supervisor._token
    )


def _start(call: CallNode, agent: "Agent", prompt_or_state: str | State) -> Run:
    run = call.parent
    assert isinstance(run, RunNode), "a call is made by a run"
    for node in (call, run):
        if node.stop is not None or node.ended:
            raise RunCancelled(f"{node.id!r} is being stopped and takes no children")
    state = as_state(prompt_or_state)
    check_can_run(agent, state)
    begun = ChildStart(
        child_id=state.id,
        name=agent.name or NAMELESS,
        call_id=call.id,
        since=value_of_state(state).size,
    )
    background = background_of(run)
    try:
        child = RunNode(run.supervisor, background, agent, state, above=run)
    except BaseException:
        background.end_if_empty()
        raise
    try:
        background.own(begun)
    except BaseException:
        child.end()  # nobody waits for it, and it would keep its background
        background.end_if_empty()
        raise
    child.origin = call
    call.add_child(child.id, state)
    child.on_end = partial(background.child_ended, begun)
    run.supervisor._spawn(child, _begin, run.state, agent, child)
    return Run(child)


async def _begin(owner: State, agent: "Agent", child: RunNode) -> None:
    """Run a child once its start is durable."""
    try:
        if is_stored(owner):
            await save(owner)
    except BaseException as error:  # noqa: BLE001 - kept for whoever waits
        child.error = error
    else:
        await agent._drive(child)


def background_of(run: RunNode) -> "Background":
    """Where the background children of a run's State hang; made at the first need."""
    known = run.background
    if not isinstance(known, Background) or known.ended or known.stop is not None:
        above = None if run.above is None else background_of(run.above)
        known = run.background = Background(run, above)
    known.follow(run)
    return known


class Background(Node):
    """The background children of one State, as a node beside its runs.

    It has no task: it ends with the last of its children.
    """

    __slots__ = ("owned", "run")

    def __init__(self, run: RunNode, above: "Background | None") -> None:
        super().__init__(run.supervisor, above, run.id)
        self.run = run
        self.owned: dict[str, ChildStart] = {}
        """Children whose end belongs into this State."""
        if above is None:
            run.supervisor._roots[self] = None

    def follow(self, run: RunNode) -> None:
        """Children take after this run, the latest of the State."""
        self.run = run
        self.depth, self.accounts, self.audience = run.depth, run.accounts, run.audience

    def own(self, begun: ChildStart) -> None:
        """Record that the end of a child belongs into this State, unless it has that.

        Raises:
            ActorClosed: the State was closed; nothing was recorded.
        """
        send(self.run.state, StartChild(begun))
        self.owned[begun.child_id] = begun

    def hand_up(self) -> None:
        """The State's run has ended: what goes on is the nearest owner's above."""
        owner = self._owner()
        if owner is None or owner is self or not self.owned:
            return
        with suppress(ActorClosed):  # from another thread, in this very moment
            for begun in self.owned.values():
                owner.own(begun)
        self.owned.clear()
        save_soon(self.supervisor, owner.run.state)

    def cancel(self, stop: Stop) -> None:
        """Nothing runs for this very node."""

    def child_ended(self, begun: ChildStart, child: Node) -> None:
        """Record the end of a child with its owner, and see to it that it is read."""
        assert isinstance(child, RunNode), "the background holds runs"
        owner = self._owner()
        if owner is not None:
            owner.owned.pop(begun.child_id, None)
            with suppress(ActorClosed):  # from another thread, in this very moment
                send(owner.run.state, EndChild(end_of(begun, child), child.usage))
            save_soon(self.supervisor, owner.run.state)
            owner._have_it_read()
        self.end_if_empty()

    def _owner(self) -> "Background | None":
        """The nearest one whose State can still hear of it."""
        owner: Background | None = self
        while owner is not None:
            above = owner.parent
            assert above is None or isinstance(above, Background), "see __init__"
            if not owner.run.state.closed and (above is None or not owner.run.ended):
                return owner
            owner = above
        return None

    def _have_it_read(self) -> None:
        running = run_of(self.run.state)
        if running is None and not self.run.ended:
            running = self.run  # it ends, or begins, in this very moment
        if running is not None:
            running.unread = True
        elif self.parent is None and self.stop is None:
            run_again(self.run)

    def end_if_empty(self) -> None:
        """End with the last child, and so those above that wait for nothing else."""
        node: Node | None = self
        while isinstance(node, Background) and not node.children:
            above = node.parent
            node.supervisor._forget(node)
            node = above


def run_again(run: RunNode) -> None:
    """Run the State of a run that has ended once more, for what it has not read.

    A run on its own is not run again, and neither is a graph, which has no model.
    """
    state = run.state
    if run.is_alone or run.supervisor._closed or not is_agent(run.agent):
        return
    if state.finished or state.closed:
        return
    again = RunNode(run.supervisor, None, run.agent, state)
    again.background = run.background
    again.has_news = True
    again.carried = run.carried
    if isinstance(run.background, Background):
        run.background.run = again
    run.supervisor._spawn(again, run.agent._drive, again)


def end_of(begun: ChildStart, child: RunNode) -> ChildEnd:
    """How a child ended, in words for its owner."""
    error = child.error
    if error is None:
        return end_as(begun, *outcome_of(child.state, child.answer))
    if isinstance(error, RunCancelled | trio.Cancelled):
        return end_as(begun, child.outcome, str(child.cancelled()))
    return end_as(begun, "error", told(error)[:CAUSE_CHARACTERS])


def outcome_of(state: State, answer: Any) -> tuple[ToolOutcomeKind, Content]:
    """How a child ended that came to an answer."""
    try:
        return "done", to_content(in_words(state, answer)).content
    except ToolError as fault:
        return "error", str(fault)


def end_as(begun: ChildStart, outcome: ToolOutcomeKind, text: Content) -> ChildEnd:
    """The end of what began so."""
    return ChildEnd(
        child_id=begun.child_id,
        name=begun.name,
        outcome=outcome,
        text=text,
        since=begun.since,
    )
