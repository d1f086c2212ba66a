"""A step that somebody takes by hand: in the run of its State, or outside of any.

1. Steps outside of any run do not belong to one another: each has a node of its own
   and ends alone, whatever becomes of the others.
2. The first of them stands for all as what drives the State; when it has ended, the
   next one does.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from protocol import ActorClosed

from ._inside import run_of
from ._node import current
from ._run_node import RunNode
from ._state import State
from ._supervisor import around, open_supervisor

if TYPE_CHECKING:
    from ._agent import Agent


@asynccontextmanager
async def step_of(agent: "Agent", state: State) -> AsyncGenerator[RunNode, None]:
    """The run that a step belongs to; a step outside of any gets a node of its own.

    Such a node records no start: it is this one step and nothing else.

    Raises:
        RunCancelled: what the step belongs to is being stopped.
        ActorClosed: its State was closed, and it belongs to no run.
    """
    node = run_of(state)
    if node is not None and node.beside is None:
        with node.step():
            yield node
        return
    supervisor = around.get()
    if supervisor is None:
        async with open_supervisor(grace_s=agent.grace_s), step_of(agent, state) as own:
            yield own
        return
    own = RunNode(supervisor, current.get(), agent, state)
    token = current.set(own)
    try:
        own.stand_beside(node)
        agent._bind_store(own)
        with own.scope:
            yield own
    finally:
        current.reset(token)
        own.release()
        supervisor._forget(own)
    if own.scope.cancelled_caught:
        raise _stopped(own)


def _stopped(own: RunNode) -> Exception:
    """What a step that was stopped raises: why, and whether another try is of use."""
    stopped = own.cancelled()
    return ActorClosed(str(stopped)) if own.state.closed else stopped
