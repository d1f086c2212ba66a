"""Background children that a process left without an end when it died.

1. The next run of the State that a store gave back sees to each: its end is told, or it
   goes on where it was saved.
2. What it used in the earlier process is counted with its end: nobody did before.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from protocol import BudgetExceeded, ChildStartEntry, ToolOutcomeKind, Usage
from protocol._commands import EndChild
from protocol._entry import NO_USAGE, Content
from protocol._fold import replay
from protocol._work_entries import ChildEnd, ChildStart

from ._background import background_of, end_as, outcome_of
from ._inside import adopt_child, send, value_of_state
from ._run_node import RunNode
from ._state import State
from .tools._subagent import RunAgent, has_ended, saved_child

if TYPE_CHECKING:
    from ._agent import Agent


async def resume_children(run: RunNode) -> None:
    """Go on with the background children that another process left under way.

    One that had ended is told now. Another goes on where it was saved, if an agent of
    its name is among the tools of the run's agent; if none is, it ends as interrupted.
    """
    if run.above is None and value_of_state(run.state).facts.parent is not None:
        return  # its run had ended, and what it left was handed further up
    for begun in _unended(run.state):
        agent = _agent_named(run, begun.name)
        state = await saved_child(run.state, agent, begun.child_id)
        if state is None:
            state = State(id=begun.child_id)  # it was never saved: it did nothing
        if has_ended(state) or not _runs_again(run, begun, agent, state):
            usage = state.usage.since(_used_before(begun, state))
            send(run.state, EndChild(_end_of_lost(begun, state), usage))
            run.has_news = True


def _used_before(begun: ChildStart, state: State) -> Usage:
    """What the child's State had used when it began."""
    if not begun.since:
        return NO_USAGE
    return replay(value_of_state(state).history.read(begun.since)).usage


def _unended(state: State) -> Iterator[ChildStart]:
    value = value_of_state(state)
    history, size = value.history, value.size
    for entry in history.read(size):
        if type(entry) is ChildStartEntry and not history.has_ended(
            size, entry.content
        ):
            yield entry.content


def _agent_named(run: RunNode, name: str) -> "Agent | None":
    agent: Any = run.agent
    for tool in agent.tool_map.values():
        if isinstance(tool.fn, RunAgent) and tool.fn.agent.name == name:
            found: Agent = tool.fn.agent
            return found
    return None


def _runs_again(
    run: RunNode, begun: ChildStart, agent: "Agent | None", state: State
) -> bool:
    """Run a child again; False when nobody can, it did nothing, or a limit forbids."""
    if agent is None or not state.messages:
        return False
    background = background_of(run)
    try:
        child = RunNode(run.supervisor, background, agent, state, above=run)
    except BudgetExceeded:
        background.end_if_empty()
        return False
    # What the earlier process used for it was counted by nobody.
    child.before = _used_before(begun, state)
    adopt_child(run.state, state)
    background.own(begun)
    child.on_end = partial(background.child_ended, begun)
    run.supervisor._spawn(child, agent._drive, child)
    return True


def _end_of_lost(begun: ChildStart, state: State) -> ChildEnd:
    outcome: ToolOutcomeKind = "interrupted"
    text: Content = "the process that ran it is gone; its State keeps what it has done"
    if has_ended(state):
        outcome, text = outcome_of(state, state.answer)
    return end_as(begun, outcome, text)
