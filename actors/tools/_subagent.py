"""An agent as a tool: a fresh State for each call, a child of that call.

1. Whatever becomes of the child becomes a result in words; only a limit further up,
   and a cancel, go on through it.
"""

from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from trio import Cancelled

from actors._inside import keep_waiting, library_of, waiting_child
from actors._limits import IN_THE_WAY
from actors._run_node import RunNode
from actors._state import State
from actors._supervisor import Lane
from actors._tracing import traced_child
from protocol import (
    BudgetExceeded,
    Message,
    RunCancelled,
    StoppedByBudget,
    StoppedByQuestion,
    ToolError,
    ToolOutcomeKind,
)
from protocol._entry import NO_USAGE
from protocol._rules import told

from ._results import to_content
from ._tool import Tool, tool

if TYPE_CHECKING:
    from actors._calls import CallNode

    from ._runner import Turn

CAUSE_CHARACTERS = 500
"""Of a child's failure, as much is told: enough for a cause, not a whole trace."""


def is_agent(item: object) -> bool:
    """Whether this is an agent, known by what it can do."""
    return hasattr(item, "arun") and hasattr(item, "info")


def subagent_tool(agent: Any) -> Tool:
    """The tool that runs ``agent`` on a prompt.

    Raises:
        ValueError: the agent has no name: the model could not call it.
    """
    if agent.name is None:
        raise ValueError(
            "an agent in tools= needs a name that the model can call: "
            "Agent(..., name='researcher', description='...')"
        )

    made: Tool = tool(
        name=agent.name,
        description=agent.description or f"Ask the agent {agent.name!r}.",
    )(RunAgent(agent))
    return made


class RunAgent:
    """The function of an agent's tool; the runtime starts the child without calling it.

    A call of an agent is nothing but a child run: it needs no task beside the child's.
    """

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    async def __call__(self, prompt: str) -> Any:
        """Run the agent on a fresh State; give its answer."""
        return await self.agent.arun(prompt)


def start_subagent(
    turn: "Turn", node: "CallNode", agent: Any, prompt: str, lane: Lane
) -> None:
    """Start the child of a call; its end records the call's result."""
    waiting = waiting_child(node.state, node.id)
    state = waiting or State(messages=[Message.user(prompt)])
    run_child(turn, node, agent, state, lane)


def run_child(
    turn: "Turn", node: "CallNode", agent: Any, state: State, lane: Lane
) -> None:
    """Run a State as the child of a call; its end records the call's result."""
    try:
        child = RunNode(node.supervisor, node, agent, state)
    except BudgetExceeded as error:
        if error.limit in IN_THE_WAY:
            turn.close(node, f"not started: {error}", "error", error)
        else:
            turn.close(node, f"(aborted: {error})", "aborted", error)
            turn.failed(node, error)
        return
    except RunCancelled as error:
        turn.close(node, f"({error})", "cancelled", error)
        return
    node.has_begun = True
    child.before = NO_USAGE  # what an earlier process used was counted by nobody
    ended = partial(_child_ended, turn, node)
    child.on_end = traced_child(node, child, lane.context, ended)
    node.supervisor._spawn(child, agent._drive, child, lane=lane)


async def announce_and_start(
    turn: "Turn", node: "CallNode", agent: Any, prompt: str, lane: Lane
) -> None:
    """The same where somebody has to hear of the call first: a store, a reporter.

    The child's id follows from the call: a run in another process finds the child that
    this call has started, and goes on with it.
    """
    state_id = child_id(node)
    try:
        with node.scope:
            known = node.was_started()
            await turn.start(node)
            state = None
            if known:
                state = await _earlier_child(turn, node, agent, state_id)
            if state is None:
                state = State(id=state_id, messages=[Message.user(prompt)])
            if has_ended(state):
                adopt_ended(node, state)
                answered(turn, node, in_words(state, state.answer))
                node.end()
            else:
                run_child(turn, node, agent, state, lane)
        if node.outcome is None and node.scope.cancelled_caught:
            how = "interrupted" if node.stop is None else node.stop.kind
            turn.close(node, f"({how} before it started)", how)
    except BaseException as error:
        turn.close(node, f"(aborted: {type(error).__name__})", "aborted", error)
        if isinstance(error, Cancelled):
            raise
        turn.failed(node, error)


def child_id(node: "CallNode") -> str:
    """The id of the child that a call starts: the same in every process."""
    return blake2b(node.key.encode(), digest_size=16).hexdigest()


async def _earlier_child(
    turn: "Turn", node: "CallNode", agent: Any, state_id: str
) -> State | None:
    """The child that an earlier process has started for the call, if it got so far."""
    waiting = waiting_child(turn.run.state, node.id)
    if waiting is not None:
        return waiting
    return await saved_child(turn.run.state, agent, state_id)


async def saved_child(owner: State, agent: Any, state_id: str) -> State | None:
    """A child as it was saved: in its agent's own store, or else in its owner's."""
    own = None if agent is None else agent.store
    store = library_of(owner) if own is None else own
    if store is None:
        return None
    try:
        saved: State = await store.aload(state_id)
    except LookupError:
        return None
    return saved


def has_ended(state: State) -> bool:
    """Whether a child's run had ended before the process did."""
    return state.stopped is not None and not state.pending_calls


def adopt_ended(node: "CallNode", state: State) -> None:
    """Count a child that has ended already as the call's own."""
    node.add_child(state.id, state)
    node.spent(state.usage)


def _child_ended(turn: "Turn", node: "CallNode", child: Any) -> None:
    """The child has ended: its call gets its one result.

    Unless it waits for somebody's answer: then its call waits too, and stays open.
    """
    error = child.error
    stopped = child.state.stopped
    if error is None and isinstance(stopped, StoppedByQuestion):
        keep_waiting(node.state, node.id, child.state)
        turn.left_open(node, stopped.questions)
    elif error is None:
        answered(turn, node, in_words(child.state, child.answer))
    elif isinstance(error, RunCancelled | Cancelled):
        how, why = _how_stopped(node, child)
        turn.close(node, why, how, error)
    elif isinstance(error, BudgetExceeded) or not isinstance(error, Exception):
        kind = "interrupted" if isinstance(error, KeyboardInterrupt) else "aborted"
        turn.close(node, f"({kind}: {type(error).__name__})", kind, error)
        turn.failed(node, error)
    else:
        cause = told(error)[:CAUSE_CHARACTERS]
        turn.close(node, f"{child.agent.name} failed: {cause}", "error", error)


def _how_stopped(node: "CallNode", child: Any) -> tuple[ToolOutcomeKind, str]:
    """The outcome of a call whose child was cancelled, and its result in words.

    Who cancels the child alone cancels the call; all else ends what is around it too.
    """
    how: ToolOutcomeKind = "interrupted" if child.stop is None else "cancelled"
    if node.stop is not None:
        how = node.stop.kind
    reason = child.cancelled().reason
    return how, f"({how}: {reason})" if reason else f"({how})"


def answered(turn: "Turn", node: "CallNode", value: Any) -> None:
    """A call returned: its value becomes its result."""
    try:
        given = to_content(turn.unwrap(node, value))
        if given.state:
            turn.merge(node, given.state)
    except ToolError as error:
        turn.close(node, str(error), "error", error)
        return
    turn.close(node, given.content, "error" if given.is_error else "done")


def in_words(child: State, answer: Any) -> Any:
    """The answer; or, when the child was stopped short of one, why."""
    stopped = child.stopped
    if stopped is None or stopped.kind in ("finish", "until"):
        return answer
    text = "" if answer is None else f" Its last words: {answer}"
    if isinstance(stopped, StoppedByBudget):
        return f"(stopped by its limit on {stopped.limit}).{text}"
    return f"(stopped: {_reason(stopped)}).{text}"


def _reason(stopped: Any) -> str:
    match stopped.kind:
        case "limit":
            return f"it used all of its {stopped.turns} turns"
        case "permission":
            return f"its call of {stopped.call.name!r} was denied"
        case "question":
            return "it waits for somebody to answer"
        case _:
            return str(stopped.kind)
