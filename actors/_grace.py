"""Time for clean-up: a tool that was cancelled may await until its grace is over.

trio cancels level by level: once a scope is cancelled every await in it raises. A tool
runs in an inner scope that is shielded the moment the Cancelled reaches the tool, and
that has the end of the grace as its deadline. Shielding earlier would keep the cancel
from arriving at all, so the tool's own steps are watched for it.
"""

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

import trio

T = TypeVar("T")


def cancelled_from_outside(scope: trio.CancelScope) -> bool:
    """Whether a scope around this one has been cancelled.

    trio does not say this in public; `tests/actors/test_grace.py` fails when the
    private name is gone.
    """
    status: Any = scope._cancel_status
    return status is not None and bool(status.parent.effectively_cancelled)


@coroutine
def _watched(
    work: Coroutine[Any, Any, T], on_cancel: Callable[[], None]
) -> Generator[Any, Any, T]:
    """Run ``work`` step by step; tell when a Cancelled is about to reach it."""
    step: Callable[[Any], Any] = work.send
    value: Any = None
    while True:
        try:
            trap = step(value)
        except StopIteration as done:
            result: T = done.value
            return result
        try:
            value = yield trap
            step = work.send
        except trio.Cancelled as error:
            on_cancel()
            step, value = work.throw, error
        except BaseException as error:  # noqa: BLE001 - all of it belongs to the work
            step, value = work.throw, error


async def with_grace(
    work: Coroutine[Any, Any, T],
    grace_s: Callable[[], float],
    on_cancel: Callable[[], None],
) -> T:
    """Await ``work``; when it is cancelled from outside it may clean up for a while.

    Cancelled: ``work`` sees one Cancelled, may then await as usual, and is cancelled
    for good ``grace_s()`` seconds later.

    Args:
        work: what to run.
        grace_s: asked, once, for the length of the grace in seconds.
        on_cancel: told, once, that the cancel has reached the work.
    """
    with trio.CancelScope() as inner:

        def reached() -> None:
            if not inner.shield and cancelled_from_outside(inner):
                inner.shield = True
                inner.deadline = trio.current_time() + grace_s()
                on_cancel()

        return await _watched(work, reached)
    # The grace ran out and the work gave in: the cancel around it goes on from here.
    await trio.lowlevel.checkpoint()
    raise AssertionError("a scope around this one is cancelled")
