"""The tree of what runs, as data: runs of States, and the calls they make.

1. A node ends exactly once, in synchronous code, and tells its owner so. Until then
   its owner waits for it.
2. A cancel goes down first: every node of the subtree is told at once. Ends come up:
   a node ends when everything below it has ended.
3. A node that is being stopped takes no new children.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs
import trio

from protocol import RunCancelled

from ._limits import Accounts

if TYPE_CHECKING:
    from ._supervisor import Supervisor

StopKind: TypeAlias = Literal["cancelled", "interrupted"]


@attrs.frozen
class Stop:
    """Why a subtree is being stopped, and how its calls will read."""

    reason: str | None
    kind: StopKind
    grace_s: float
    """Seconds that clean-up may take, from the moment of the cancel."""
    background: bool = True
    """Whether children in the background stop too."""


class Node:
    """One thing that runs, under one supervisor."""

    # What few nodes need stands in the class until a node has its own: making one is on
    # the path of every call.
    depth = 0
    accounts: Accounts = ()
    audience: "Audience" = ()
    stop: Stop | None = None
    until: float | None = None
    """When the supervisor gives it up, on trio's clock."""
    waits_for: tuple["Node", ...] = ()
    has_begun = True
    has_deaf = False
    """Whether something below did not stop, and was named."""
    ended = False
    on_end: Callable[[Any], None] | None = None
    """Told once, at the end."""
    _scope: trio.CancelScope | None = None
    _done: trio.Event | None = None
    _childless: trio.Event | None = None
    children: Mapping["Node", None] = MappingProxyType({})

    def __init__(
        self, supervisor: "Supervisor", parent: "Node | None", node_id: str
    ) -> None:
        self.id = node_id
        self.supervisor = supervisor
        self.parent = parent
        if parent is not None:
            parent._take(self)
            self.depth = parent.depth
            self.accounts = parent.accounts
            self.audience = parent.audience

    def _take(self, child: "Node") -> None:
        if self.stop is not None or self.ended:
            raise RunCancelled(
                f"{self.id!r} is being stopped and takes no new children"
            )
        children = self.children
        if type(children) is not dict:
            children = self.children = {}
        children[child] = None

    def _drop(self, child: "Node") -> None:
        children = self.children
        if type(children) is dict and child in children:
            del children[child]
            if not children and self._childless is not None:
                self._childless.set()

    @property
    def scope(self) -> trio.CancelScope:
        """What a task of its own runs in; made at the first need."""
        if self._scope is None:
            self._scope = trio.CancelScope()
        return self._scope

    @property
    def path(self) -> tuple[str, ...]:
        """Ids from the root down to here."""
        ids: list[str] = []
        node: Node | None = self
        while node is not None:
            ids.append(node.id)
            node = node.parent
        return tuple(reversed(ids))

    def end(self) -> None:
        """Mark the end; wakes who waits and tells the owner. Only the first counts."""
        if self.ended:
            return
        self.ended = True
        if self.parent is not None:
            self.parent._drop(self)
        if self._done is not None:
            self._done.set()
        # Told once, and not kept: it knows this node, and would keep it in a circle.
        on_end, self.on_end = self.on_end, None
        if on_end is not None:
            on_end(self)

    async def wait_ended(self) -> None:
        """Wait until this has ended. Cancelled, it leaves the node as it is."""
        if self.ended:
            return
        if self._done is None:
            self._done = trio.Event()
        await self._done.wait()

    def stop_tree(self, stop: Stop) -> None:
        """Cancel this and everything below it, at once. Does not wait.

        A node that is being stopped already keeps its first reason, and has no more
        time than this stop gives. What has not ended when the grace is over is given
        up by the supervisor, which names it.
        """
        latest = self.supervisor._time() + stop.grace_s
        todo: list[Node] = [self]
        while todo:
            node = todo.pop()
            if node.stop is not None:
                # All below was told with it, and it took no new children.
                if node.until is None or node.until <= latest:
                    continue
                node.end_within(stop.grace_s)
            elif not node.ended:
                node.stop = stop
                node.cancel(stop)
                node.end_within(stop.grace_s)
            todo.extend(node.children)

    def end_within(self, grace_s: float) -> float:
        """Have this given up unless it ends in time; gives the time, on trio's clock.

        The earliest of the times that a node was given counts.
        """
        until = self.supervisor._time() + grace_s
        if self.until is None or until < self.until:
            self.until = until
            self.supervisor._watch(self, until)
        return self.until

    def cancel(self, stop: Stop) -> None:
        """Cancel what runs for this very node."""
        self.scope.cancel(reason=stop.reason)

    def stop_children(self, stop: Stop) -> None:
        """Cancel everything below this, at once."""
        for child in tuple(self.children):
            child.stop_tree(stop)

    async def wait_childless(self) -> None:
        """Wait until everything below has ended; one wake-up, however much it is."""
        while self.children:
            if self._childless is None or self._childless.is_set():
                self._childless = trio.Event()
            await self._childless.wait()

    async def join_children(self) -> None:
        """Wait until everything below has ended, whatever cancels this task.

        It ends: each of them is being stopped, and the supervisor gives up on those
        that do not stop within their grace.
        """
        if self.children:
            with trio.CancelScope(shield=True):
                await self.wait_childless()

    async def wait_or_stop(self, grace_s: float) -> None:
        """Wait for the end; a cancel here stops the subtree and joins it first."""
        try:
            await self.wait_ended()
        except trio.Cancelled:
            self.stop_tree(
                Stop("who waited for it was cancelled", "interrupted", grace_s)
            )
            with trio.CancelScope(shield=True):
                await self.wait_ended()
            raise

    @property
    def call_id(self) -> str | None:
        """The id of the call that this is, or None when it is a run."""
        return None

    def hand_up(self) -> None:
        """The run that this stands beside has ended; a background minds."""

    def give_up(self) -> None:
        """This did not stop within its grace: end it as it stands."""
        self.end()


def subtree(node: Node) -> Iterator[Node]:
    """The node and everything below it, parents first; no recursion."""
    todo = [node]
    while todo:
        now = todo.pop()
        yield now
        todo.extend(now.children)


@contextmanager
def waiting_for(awaited: Node) -> Generator[None]:
    """This task's node waits in the block for the end of another one.

    Raises:
        ValueError: as `check_can_wait` does.
    """
    waiting = current.get()
    if waiting is None:
        yield
        return
    check_can_wait(awaited)
    waiting.waits_for = (*waiting.waits_for, awaited)
    try:
        yield
    finally:
        waits = list(waiting.waits_for)
        waits.remove(awaited)
        waiting.waits_for = tuple(waits)


def check_can_wait(awaited: Node) -> None:
    """Refuse to wait here for what itself waits for this call.

    Raises:
        ValueError: they would wait for each other until somebody cancels them.
    """
    waiting = current.get()
    if waiting is not None and _needs(awaited, waiting):
        raise ValueError(
            f"cannot wait for the run of {awaited.id!r} here: it waits for "
            f"{waiting.id!r}, and neither would ever end; let the call return first"
        )


def _needs(awaited: Node, node: Node) -> bool:
    """Whether ``awaited`` ends only after ``node``: it stands below, or is awaited."""
    todo, seen = [awaited], {awaited}
    while todo:
        for below in subtree(todo.pop()):
            if below is node:
                return True
            new = [each for each in below.waits_for if each not in seen]
            seen.update(new)
            todo += new
    return False


Audience: TypeAlias = tuple[Any, ...]
"""The sinks (`actors._telling.Sink`) that hear of what happens in a subtree."""

current: ContextVar[Node | None] = ContextVar("current", default=None)
"""The call, or the run, that this task or thread works for."""
