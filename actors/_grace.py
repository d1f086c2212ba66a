"""Time for clean-up: a tool that was cancelled may await until its grace is over.

trio cancels level by level: once a scope is cancelled every await in it raises. A tool
runs in an inner scope that is shielded once the Cancelled has reached the tool, and
that has the end of the grace as its deadline. Shielding earlier would keep the cancel
from arriving at all, so the tool's own steps are watched for it.
"""

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

import trio
from outcome import Error

T = TypeVar("T")


def cancelled_from_outside(scope: trio.CancelScope) -> bool:
    """Whether a scope around this one has been cancelled.

    trio does not say this in public; `tests/actors/test_grace.py` fails when the
    private name is gone.
    """
    status: Any = scope._cancel_status
    return status is not None and bool(status.parent.effectively_cancelled)


def _is_cancelled(value: object) -> bool:
    return isinstance(value, Error) and isinstance(value.error, trio.Cancelled)


@coroutine
def _watched(
    work: Coroutine[Any, Any, T], scope: trio.CancelScope, until: Callable[[], float]
) -> Generator[Any, Any, T]:
    """Run ``work`` step by step; shield it when it goes on awaiting after a Cancelled.

    trio sends what came of an await as an outcome, so a Cancelled is seen as a value.
    Only at the next await has it left the scopes that trio's own functions open.
    """
    step: Callable[[Any], Any] = work.send
    value: Any = None
    cancelled = False
    while True:
        try:
            trap = step(value)
        except StopIteration as done:
            result: T = done.value
            return result
        if cancelled and not scope.shield:
            scope.shield = True
            scope.deadline = until()
        try:
            value = yield trap
            step = work.send
            cancelled = _is_cancelled(value) and cancelled_from_outside(scope)
        except BaseException as error:  # noqa: BLE001 - all of it belongs to the work
            step, value = work.throw, error


async def with_grace(
    work: Coroutine[Any, Any, T],
    until: Callable[[], float],
    on_cut: Callable[[], None],
) -> T:
    """Await ``work``; when it is cancelled from outside it may clean up for a while.

    Cancelled: ``work`` sees one Cancelled, may then await as usual, and is cancelled
    for good when its time is over.

    Args:
        work: what to run.
        until: asked, once, when the cancel has reached the work: the time, on trio's
            clock, at which clean-up is cut.
        on_cut: told when clean-up was cut.
    """
    with trio.CancelScope() as inner:
        try:
            return await _watched(work, inner, until)
        except trio.Cancelled:
            if inner.cancel_called:
                on_cut()
            raise
    # The grace ran out and the work gave in: the cancel around it goes on from here.
    await trio.lowlevel.checkpoint()
    raise AssertionError("a scope around this one is cancelled")
