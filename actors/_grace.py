"""Time for clean-up: a tool that was cancelled may await until its grace is over.

trio cancels level by level: once a scope is cancelled every await in it raises. A tool
runs in an inner scope that is shielded once the Cancelled has reached the tool, and
that has the end of the grace as its deadline. Shielding earlier would keep the cancel
from arriving at all, so the tool's own steps are watched for it.
"""

from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import coroutine
from typing import Any, Never, TypeVar

import trio
from trio.lowlevel import Abort

T = TypeVar("T")


def cancelled_from_outside(scope: trio.CancelScope) -> bool:
    """Whether a scope around this one has been cancelled.

    trio does not say this in public; `tests/actors/test_grace.py` fails when the
    private names used in this file are gone.
    """
    status: Any = scope._cancel_status
    return status is not None and bool(status.parent.effectively_cancelled)


class _Delivery:
    """Whether a cancel from outside a scope has been given to the code inside.

    Whoever waits has handed trio a function that ends the wait. Either it does, and the
    wait raises Cancelled; or it takes the Cancelled from trio and raises it later, as
    nurseries do; or it does nothing, and the cancel comes at the next wait.
    """

    __slots__ = ("_scope", "done")

    def __init__(self, scope: trio.CancelScope) -> None:
        self._scope = scope
        self.done = False

    def _note(self) -> None:
        self.done = self.done or cancelled_from_outside(self._scope)

    def watch(self, trap: Any) -> Any:
        """The same trap, with a function that takes note."""
        abort = getattr(trap, "abort_func", None)
        if abort is None or self.done:
            return trap

        def noting(raise_cancel: Callable[[], Never]) -> Abort:
            def note_and_raise() -> Never:
                self._note()
                raise_cancel()

            said: Abort = abort(note_and_raise)
            if said is Abort.SUCCEEDED:
                self._note()
            return said

        return type(trap)(noting)


def with_grace(
    work: Coroutine[Any, Any, T],
    until: Callable[[], float],
    on_cut: Callable[[], None],
    scope: trio.CancelScope | None = None,
) -> Awaitable[T]:
    """Await ``work``; when it is cancelled from outside it may clean up for a while.

    Cancelled: ``work`` sees one Cancelled, may then await as usual, and is cancelled
    for good when its time is over.

    Args:
        work: what to run.
        until: asked, once, when the cancel has reached the work: the time, on trio's
            clock, at which clean-up is cut.
        on_cut: told when clean-up was cut.
        scope: one to use, if it is the innermost around the caller; opening one for
            each call costs as much as a switch between tasks.
    """
    if scope is not None and _is_innermost(scope):
        return _watched(work, scope, until, on_cut)
    return _in_own_scope(work, until, on_cut)


def _is_innermost(scope: trio.CancelScope) -> bool:
    """Whether this is the scope that this task has entered last."""
    task: Any = trio.lowlevel.current_task()
    mine: Any = scope
    return task._cancel_status is mine._cancel_status


async def _in_own_scope(
    work: Coroutine[Any, Any, T],
    until: Callable[[], float],
    on_cut: Callable[[], None],
) -> T:
    with trio.CancelScope() as scope:
        return await _watched(work, scope, until, on_cut)
    raise AssertionError("a scope that is open to a cancel from outside passes it on")


@coroutine
def _watched(
    work: Coroutine[Any, Any, T],
    scope: trio.CancelScope,
    until: Callable[[], float],
    on_cut: Callable[[], None],
) -> Generator[Any, Any, T]:
    """Run ``work`` step by step; shield it when it goes on awaiting after a Cancelled.

    Only at its next await has the Cancelled left the scopes that trio's own functions
    open, and which would keep it once it is shielded. At the end the scope lets the
    cancel through again.
    """
    delivery = _Delivery(scope)
    step: Callable[[Any], Any] = work.send
    value: Any = None
    try:
        while True:
            trap = step(value)
            if delivery.done and not scope.shield:
                scope.shield = True
                scope.deadline = until()
            try:
                value = yield delivery.watch(trap)
                step = work.send
            except BaseException as error:  # noqa: BLE001 - it is the work's own
                step, value = work.throw, error
    except StopIteration as done:
        result: T = done.value
        return result
    except trio.Cancelled:
        if scope.cancel_called:
            on_cut()
        raise
    finally:
        if scope.shield:
            scope.shield = False
