"""Save points: what was recorded becomes durable before anybody builds on it."""

import logging
from typing import TYPE_CHECKING

import trio

from ._inside import library_of
from ._state import State

if TYPE_CHECKING:
    from ._supervisor import Supervisor

_log = logging.getLogger("actors")


def is_stored(state: State) -> bool:
    """Whether there is a store: asked first where every microsecond counts."""
    return library_of(state) is not None


async def save(state: State) -> None:
    """Make everything recorded so far durable; nothing to do without a store."""
    library = library_of(state)
    if library is not None:
        await library.asave(state)


async def save_at_last(state: State, bound_s: float) -> None:
    """The same while the task is being cancelled, for at most ``bound_s`` seconds.

    What is not saved then is saved at the next save point.
    """
    library = library_of(state)
    if library is not None:
        with trio.move_on_after(bound_s, shield=True):
            await library.asave(state)


def save_soon(supervisor: "Supervisor", state: State) -> None:
    """Have what was recorded beside any run saved, in a task of its own.

    Leaving the supervisor waits for it. What cannot be saved is logged, and saved at
    the next save point.
    """
    if is_stored(state):
        supervisor._background(_save_beside, state, supervisor._grace_s)


async def _save_beside(state: State, bound_s: float) -> None:
    try:
        await save_at_last(state, bound_s)
    except Exception:  # noqa: BLE001 - nobody is there to be told
        _log.warning("State %r is not saved yet", state.id, exc_info=True)
