"""Where a run of a graph takes place: joined, below a call, or on its own."""

from typing import Any

import trio

from actors._node import current
from actors._run_node import RunNode
from actors._supervisor import Supervisor, around, open_supervisor

from ._run import GraphRun


async def run_where_asked(run: GraphRun) -> Any:
    """Run a graph here, and give its result.

    Inside `open_supervisor` the run joins it; inside a node or a tool call it is a
    child of that; elsewhere it opens a supervisor for itself.

    Raises:
        RunCancelled: somebody stopped the run.
        BaseException: what left the run, the very exception.
    """
    supervisor = around.get()
    if supervisor is None:
        async with open_supervisor(grace_s=run.grace_s) as supervisor:
            return await _run_here(supervisor, run)
    if current.get() is None:
        return await _run_here(supervisor, run)
    node = RunNode.root(supervisor, run, run.live.state)
    supervisor._spawn(node, run._drive, node)
    await node.wait_or_stop(run.grace_s)
    return node.result()


async def _run_here(supervisor: Supervisor, run: GraphRun) -> Any:
    """Run in this very task."""
    node = RunNode.root(supervisor, run, run.live.state)
    token = current.set(node)
    try:
        with node.scope:
            await run._drive(node)
    finally:
        current.reset(token)
        supervisor._forget(node)
    if isinstance(node.error, trio.Cancelled):
        await trio.lowlevel.checkpoint_if_cancelled()
    return node.result()
