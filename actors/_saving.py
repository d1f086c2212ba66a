"""Save points: what was recorded becomes durable before anybody builds on it."""

import trio

from ._inside import library_of
from ._state import State


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
