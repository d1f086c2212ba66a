"""The plain side: every ``a`` method without the ``a``, from code that knows no trio.

1. Plain code at the top uses one background trio thread of the process, started at the
   first use. Plain code in a tool's worker thread uses the trio run of that tool, and
   what it starts is part of the tool's own tree.
2. The caller's thread waits; Ctrl+C there cancels what it waits for, waits for its end
   as long as its grace allows, and is raised.
3. A plain loop's body runs in the caller's thread.
"""

import atexit
import os
import threading
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar, cast

import trio
from outcome import Error, Outcome, acapture, capture

from protocol import RunCancelled

from ._node import Node, current
from ._state import State
from ._supervisor import GRACE_S
from ._tracebacks import shorten

if TYPE_CHECKING:
    from ._agent import Agent

T = TypeVar("T")

BEYOND_S = 1.0
"""Seconds that Ctrl+C waits beyond the grace of what it cancelled: joining what was
given up, and saving, take some."""

EXIT_S = 10.0
"""Seconds that the end of the process waits for what it cancelled: twice the usual
grace, as nobody knows here which one holds."""


class _Background:
    """The process's trio thread for plain code."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._nursery: trio.Nursery | None = None
        self._stop: Callable[[], None] | None = None
        self.why_ended = "the trio run that it waited for has ended"
        """What is told to a thread that waits for what was cut off."""

    def spawn(
        self, context: Context, work: Callable[[], Awaitable[None]]
    ) -> trio.lowlevel.TrioToken:
        """Run ``work`` as a task there, in this context; give the way there."""
        token, nursery = self._running()
        token.run_sync_soon(lambda: context.run(nursery.start_soon, work))
        return token

    def _running(self) -> tuple[trio.lowlevel.TrioToken, trio.Nursery]:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                ready = threading.Event()
                self._thread = threading.Thread(
                    target=trio.run,
                    args=(self._main, ready),
                    name="callboard",
                    daemon=True,
                )
                self._thread.start()
                ready.wait()
            assert self._token is not None, "the thread has said that it is ready"
            assert self._nursery is not None, "the thread has said that it is ready"
            return self._token, self._nursery

    async def _main(self, ready: threading.Event) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._token = trio.lowlevel.current_trio_token()
            self._stop = nursery.cancel_scope.cancel
            ready.set()
            await trio.sleep_forever()

    def close(self) -> None:
        """End the thread at the end of the process, so that nothing is cut in two."""
        thread, token, stop = self._thread, self._token, self._stop
        if thread is None or token is None or stop is None or not thread.is_alive():
            return
        self.why_ended = (
            "the process is ending, and this daemon thread still waited for its run: "
            "join the thread first, or cancel the run"
        )
        try:
            token.run_sync_soon(stop)
        except trio.RunFinishedError:
            return
        thread.join(EXIT_S)


_background = _Background()


def _forget_after_fork() -> None:
    """A forked child has the object and not the thread."""
    global _background  # noqa: PLW0603 - there is one for each process
    _background = _Background()


os.register_at_fork(after_in_child=_forget_after_fork)
atexit.register(lambda: _background.close())  # noqa: PLW0108 - a fork replaces it


class _Reply:
    """Where the caller's thread waits, and works when it is asked to."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[Callable[[], None] | Outcome[Any]] = SimpleQueue()

    def wait(self) -> Outcome[Any]:
        """Do what is put into the queue until the outcome comes."""
        while True:
            item: Any = self.queue.get()
            if not callable(item):
                return cast("Outcome[Any]", item)
            item()


def from_plain(
    fn: Callable[..., Awaitable[T]], *args: Any, grace_s: float = GRACE_S
) -> T:
    """Run ``await fn(*args)`` in the right trio run, and wait for it here.

    Args:
        fn: what to run there.
        args: what to call it with.
        grace_s: seconds that its clean-up may take after Ctrl+C.

    Raises:
        TypeError: on a trio thread, naming the ``a`` twin.
        BaseException: what ``fn`` raised.
    """
    _refuse_on_trio(fn)
    result: T = _wait_for(partial(fn, *args), _Reply(), grace_s)
    return result


def _refuse_on_trio(fn: Callable[..., Any]) -> None:
    if trio.lowlevel.in_trio_run():
        named: Any = fn.func if isinstance(fn, partial) else fn
        name = named.__name__
        owner = "agent." if named.__qualname__.startswith("Agent.") else ""
        raise TypeError(
            f"{name[1:]}() waits, and a trio thread must not: write "
            f"'await {owner}{name}(...)'"
        )


def _wait_for(work: Callable[[], Awaitable[Any]], reply: _Reply, grace_s: float) -> Any:
    node = current.get()
    scope = trio.CancelScope()
    slots = None if node is None else node.supervisor._threads

    async def task() -> None:
        lent = slots is not None and slots.lend(node)
        outcomes: list[Outcome[Any]] = []
        with scope:
            outcomes.append(await acapture(work))
        if lent and slots is not None:
            with trio.CancelScope(shield=True):
                await slots.take(node)
        reply.queue.put(outcomes[0])

    if node is None:
        token = _background.spawn(copy_context(), task)
    else:
        token = _spawn_below(node, copy_context(), task, reply)
    try:
        outcome = reply.wait()
    except KeyboardInterrupt:
        token.run_sync_soon(scope.cancel)
        _drain(reply, grace_s + BEYOND_S)
        raise
    if isinstance(outcome, Error):
        shorten(outcome.error)
    try:
        return outcome.unwrap()
    except trio.Cancelled:
        # Where it was cut says nothing: it was waiting, like everything else there.
        raise RunCancelled(_background.why_ended) from None


def _spawn_below(
    node: Node, context: Context, work: Callable[[], Awaitable[None]], reply: _Reply
) -> trio.lowlevel.TrioToken:
    """Run ``work`` in the tree of the call; give the way there.

    A thread that a tool has started itself may ask when the whole tree is over: then
    the reply says so.

    Raises:
        RunCancelled: the trio run is over too.
    """
    supervisor = node.supervisor
    ended = RunCancelled(f"{node.id!r} has ended: it takes no more runs")

    def begin() -> None:
        if supervisor._closed and not supervisor._tasks:
            reply.queue.put(Error(ended))
        else:
            context.run(supervisor._background, work)

    try:
        supervisor._token.run_sync_soon(begin)
    except trio.RunFinishedError:
        raise ended from None
    return supervisor._token


def _drain(reply: _Reply, bound_s: float) -> None:
    """After Ctrl+C: wait for the end of what was cancelled, for a bounded time."""
    ended = threading.Event()

    def wait() -> None:
        reply.wait()
        ended.set()

    threading.Thread(target=wait, daemon=True, name="callboard-cancel").start()
    ended.wait(bound_s)


def run_from_plain(
    agent: "Agent", state: State, loop: Callable[["Agent", State], Any]
) -> Any:
    """Run a State with a plain loop whose body runs in this thread.

    Raises:
        TypeError: on a trio thread.
        BaseException: what left the run.
    """
    _refuse_on_trio(agent.arun)
    reply = _Reply()

    async def body(agent: "Agent", state: State) -> Any:
        """On the trio side: have the loop run over there, and wait for it here."""
        done = trio.Event()
        token = trio.lowlevel.current_trio_token()
        came: list[Outcome[Any]] = []
        context = copy_context()

        def work() -> None:
            came.append(capture(lambda: context.run(loop, agent, state)))
            token.run_sync_soon(done.set)
            error = getattr(came[0], "error", None)
            if isinstance(error, KeyboardInterrupt):
                raise error  # whoever waits for the run must not wait for ever

        reply.queue.put(work)
        try:
            await done.wait()
        except trio.Cancelled:
            with trio.CancelScope(shield=True):
                await done.wait()  # its steps raise: the body ends soon
            raise
        return came[0].unwrap()

    work = partial(agent._run_as_asked, state, body)
    return _wait_for(work, reply, agent.grace_s)
