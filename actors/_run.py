"""The handle that the starter of a run holds, and pictures of the tree.

1. A handle stays valid after the end of its run.
"""

from collections.abc import Generator, Iterable
from typing import Any, get_args

import attrs
import trio

from protocol import ToolOutcomeKind, Usage

from ._checks import check_grace, check_reason
from ._node import Node, Stop, waiting_for
from ._run_node import RunNode
from ._state import State


@attrs.frozen(kw_only=True)
class CancelReport:
    """What cancelling a run came to."""

    reason: str | None
    """Why it was cancelled."""
    unstopped: tuple[tuple[str, ...], ...]
    """Paths of what did not stop within the grace, and of calls that left a thread at
    work; empty when all has stopped."""


class Run:
    """A run that was started; the handle stays valid after its end."""

    __slots__ = ("_node",)

    def __init__(self, node: RunNode) -> None:
        self._node = node

    @property
    def id(self) -> str:
        """The State's id."""
        return self._node.id

    @property
    def path(self) -> tuple[str, ...]:
        """Ids from the root's State down to this one."""
        return self._node.path

    @property
    def state(self) -> State:
        """The State that runs."""
        return self._node.state

    @property
    def status(self) -> str:
        """idle, thinking, calling, waiting for a human, or ended."""
        return self._node.status

    @property
    def usage(self) -> Usage:
        """What this run has used, its closed children included."""
        node = self._node
        return node.usage if node.settled else node.state.usage.since(node.before)

    async def wait(self) -> Any:
        """Wait for the end and return what the loop returned.

        Cancelled, it stops waiting and leaves the run as it is.

        Raises:
            RunCancelled: the run was cancelled; ``reason`` says why.
            ValueError: this is called in a call that the run itself waits for.
            BaseException: what left the run, the very exception.
        """
        with waiting_for(self._node):
            await self._node.wait_ended()
        # What cancelled the run may cancel who waits for it: then that comes first.
        await trio.lowlevel.checkpoint_if_cancelled()
        return self._node.result()

    def cancel_nowait(
        self,
        reason: str | None = None,
        *,
        grace_s: float | None = None,
    ) -> None:
        """Ask the run and everything below it to stop; returns at once.

        Args:
            reason: Why; whoever waits for the run reads it.
            grace_s: Seconds that clean-up may take; the agent's when left out.

        Raises:
            TypeError: ``reason`` is no text; nothing was stopped.
            ValueError: ``grace_s`` is no number >= 0; nothing was stopped.
        """
        check_reason(reason)
        if grace_s is not None:
            check_grace(grace_s)
        node = self._node
        grace = node.agent.grace_s if grace_s is None else grace_s
        stop = Stop(reason, "interrupted", grace)
        node.stop_tree(stop)
        if node.background is not None:
            node.background.stop_tree(stop)

    def interrupt(self, reason: str | None = None) -> "Interrupted":
        """End the turn at once, and keep the children in the background.

        The run ends as a cancelled one does. Awaiting what this returns waits for that,
        within the agent's grace.

        Raises:
            TypeError: ``reason`` is no text; nothing was stopped.
        """
        check_reason(reason)
        node = self._node
        stop = Stop(reason, "interrupted", node.agent.grace_s, background=False)
        node.stop_tree(stop)
        return Interrupted(node)

    async def cancel(
        self,
        reason: str | None = None,
        *,
        outcome: ToolOutcomeKind = "cancelled",
        grace_s: float | None = None,
    ) -> CancelReport:
        """Stop the run and everything below it, and join it bottom up.

        Returns when all have ended, or the grace is over: what did not stop in time is
        named in the report, its call is closed, and the supervisor still waits for it.
        Cancelling a run that has ended stops what it left in the background.

        Args:
            reason: Why; whoever waits for the run reads it.
            outcome: How the run is said to have ended, to the State that started it as
                a child in the background and to who looks on.
            grace_s: Seconds that clean-up may take; the agent's when left out.

        Raises:
            TypeError: ``reason`` is no text; nothing was stopped.
            ValueError: ``outcome`` is none that there is, or ``grace_s`` no number
                >= 0; nothing was stopped.
        """
        check_reason(reason)
        if outcome not in get_args(ToolOutcomeKind):
            kinds = ", ".join(get_args(ToolOutcomeKind))
            raise ValueError(f"outcome= is one of {kinds}, not {outcome!r}")
        if grace_s is not None:
            check_grace(grace_s)
        node = self._node
        seen = len(node.supervisor._unstopped)
        if not node.ended:
            node.outcome = outcome
        self.cancel_nowait(reason, grace_s=grace_s)
        await node.wait_ended()
        if node.background is not None:
            await node.background.wait_ended()
        depth = len(node.path) - 1
        deaf = [u.path for u in node.supervisor._unstopped[seen:]]
        return CancelReport(
            reason=reason,
            unstopped=tuple(p for p in deaf if len(p) > depth and p[depth] == node.id),
        )

    def __repr__(self) -> str:
        return f"<Run {self.id!r}: {self.status}>"


class Interrupted:
    """An interrupt that was sent: await it to wait until the turn has ended."""

    __slots__ = ("_node",)

    def __init__(self, node: RunNode) -> None:
        self._node = node

    def __await__(self) -> Generator[Any, Any, None]:
        return self._node.wait_ended().__await__()


@attrs.frozen(kw_only=True)
class TreeNode:
    """A frozen picture of one State in the tree."""

    id: str
    path: tuple[str, ...]
    status: str
    """``idle``, ``thinking``, ``calling``, ``waiting for a human`` or ``ended``."""
    usage: Usage
    """What it has used since it joined, closed children included."""
    age_s: float
    """Seconds since it joined."""


def picture(nodes: Iterable[Node]) -> tuple[TreeNode, ...]:
    """Every run at and below these nodes, parents first; no recursion."""
    found: list[TreeNode] = []
    todo: list[tuple[Node, tuple[str, ...]]] = [(node, ()) for node in nodes]
    todo.reverse()
    while todo:
        node, above = todo.pop()
        path = (*above, node.id)
        if isinstance(node, RunNode):
            usage = node.state.usage.since(node.before)
            age = node.supervisor._time() - node.started_at
            found.append(
                TreeNode(
                    id=node.id,
                    path=path,
                    status=node.status,
                    usage=usage,
                    age_s=age,
                )
            )
        todo.extend((child, path) for child in reversed(tuple(node.children)))
    return tuple(found)
