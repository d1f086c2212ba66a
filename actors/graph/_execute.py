"""One node, from its start to its one end.

1. Whatever the node does, its end is recorded here in synchronous code, or by the
   supervisor when it does not stop.
2. A cancelled node may await in its clean-up until its grace is over, as a tool may.
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from inspect import isawaitable
from typing import Any

import trio
from outcome import Error, Outcome

from actors._grace import with_grace
from protocol._rules import told

from ._interrupts import Interrupted
from ._returns import Returned
from ._work import GraphNode


async def execute(node: GraphNode) -> Returned | None:
    """Run a node and record what came of it; raises only a cancel.

    Returns:
        What it wants, or None when it ended otherwise than by returning.
    """
    node.has_begun = True
    try:
        returned: Returned
        if node.config.node_timeout_s is None:
            returned = await node.plan.work.run(node)
        else:
            returned = await _in_time(node, node.config.node_timeout_s)
    except trio.Cancelled as error:
        how, why = node.how_stopped()
        node.close(f"({why})", how, error)
        raise
    except Interrupted as asked:
        node.wait_for(asked.questions)
    except BaseException as error:  # noqa: BLE001 - raised when the step has ended
        node.close(told(error), "error", error)
    else:
        node.finish(returned.as_end(node.task))
        return returned
    return None


async def _in_time(node: GraphNode, seconds: float) -> Returned:
    with trio.move_on_after(seconds) as scope:
        returned: Returned = await node.plan.work.run(node)
        return returned
    assert scope.cancelled_caught, "the block returns otherwise"
    raise TimeoutError(
        f"node {node.task.node!r} did not end within {seconds:g} s (node_timeout_s)"
    )


def call_async(node: GraphNode, work: Coroutine[Any, Any, Any]) -> Awaitable[Any]:
    """Await what an async function gave, with time for its clean-up."""

    def until() -> float:
        stop = node.stop
        grace_s = node.supervisor._grace_s if stop is None else stop.grace_s
        return node.end_within(grace_s)

    own = node.parent if node.is_alone else node
    assert own is not None, "a node runs below its run"
    return with_grace(work, until, _nothing, own.scope)


def _nothing() -> None:
    """Whether clean-up was cut is not told of nodes."""


async def call_in_thread(node: GraphNode, work: Callable[[], Any]) -> Any:
    """Run a plain function in a worker thread.

    Cancelled while it waits for a thread, it never runs. Cancelled later, this returns
    at once; the thread keeps its slot until it ends, is named among what did not stop,
    and what it gives then is noted and changes nothing.
    """
    threads = node.supervisor._threads
    await threads.take(node)
    done = trio.Event()
    came: list[Outcome[Any]] = []

    async def in_thread() -> None:
        try:
            came.append(await threads.run(work))
        finally:
            threads.give_back(node)
        done.set()
        if node.outcome is not None:
            _late(node, came[0])

    node.supervisor._background(in_thread)
    try:
        await done.wait()
    except trio.Cancelled:
        if not came:
            node.leave_thread()
        raise
    value = came[0].unwrap()
    return await value if isawaitable(value) else value


def _late(node: GraphNode, came: Outcome[Any]) -> None:
    if isinstance(came, Error):
        node.report_late(told(came.error), "error")
    else:
        node.report_late("what it returned is dropped", "done")


def call_of(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[], Any]:
    """A call to be made later."""
    return partial(fn, *args, **kwargs)
