"""Edits at editing extra data: one block at a time for each State.

1. A plain thread waits for the block before it; a task waits with ``async with``.
2. On a trio thread a plain ``with`` never waits, for the block it would wait for may
   need that very thread: while another block is open it raises at entry.
3. A block inside a block of the same State raises, instead of losing an edit.
"""

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar, Token
from threading import Condition
from typing import Any, TypeAlias

import trio

from protocol._json import freeze, same

_open_here: ContextVar[tuple["Edits", ...]] = ContextVar("open_here", default=())
"""The blocks that this thread or task, or what started it, is in."""

Mark: TypeAlias = "Token[tuple[Edits, ...]]"


class Edits:
    """Who may edit now, and who is next."""

    __slots__ = ("_taken", "_waiting", "_way")

    def __init__(self) -> None:
        self._way = Condition()
        self._taken = False
        self._waiting: deque[Callable[[], None]] = deque()

    def take(self) -> Mark:
        """Take the turn; a plain thread waits for it.

        Raises:
            ValueError: a block of this State is open around this one, or on a trio
                thread any block of it is open anywhere.
        """
        self._refuse_nested()
        with self._way:
            if self._taken and trio.lowlevel.in_trio_run():
                raise ValueError(
                    "another edit_extra_data block of this State is open, and a plain "
                    "'with' on a trio thread cannot wait for it: write "
                    "'async with state.aedit_extra_data() as data:'"
                )
            self._way.wait_for(lambda: not self._taken)
            self._taken = True
        return self._mark()

    async def atake(self) -> Mark:
        """Take the turn, waiting for the block that is open.

        Cancelled while it waits, it leaves and holds nothing.

        Raises:
            ValueError: a block of this State is open around this one.
        """
        self._refuse_nested()
        while not self._try_take():
            await self._wait()
        return self._mark()

    def give_back(self, mark: Mark) -> None:
        """End the turn and wake whoever waits."""
        _open_here.reset(mark)
        with self._way:
            self._taken = False
            self._way.notify_all()
            waiting, self._waiting = self._waiting, deque()
        for wake in waiting:
            wake()

    def _refuse_nested(self) -> None:
        if self in _open_here.get():
            raise ValueError(
                "this edit_extra_data block is inside another one of the same State: "
                "its edits would be lost; make them in the outer block"
            )

    def _mark(self) -> Mark:
        return _open_here.set((*_open_here.get(), self))

    def _try_take(self) -> bool:
        with self._way:
            if self._taken:
                return False
            self._taken = True
            return True

    async def _wait(self) -> None:
        event = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def wake() -> None:
            try:
                token.run_sync_soon(event.set)
            except trio.RunFinishedError:
                pass  # The run that waited is over: nobody is left to wake.

        with self._way:
            if not self._taken:
                return
            self._waiting.append(wake)
        await event.wait()


def difference(
    before: dict[str, Any], after: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The top-level keys that changed, with their new values, and those that went.

    1, 1.0 and True differ; the order of keys does not matter.

    Raises:
        TypeError: a new value is not JSON; the text names the key.
    """
    frozen = freeze(after, "extra_data")
    changed = {
        key: value
        for key, value in frozen.items()
        if key not in before or not same(before[key], value)
    }
    removed = tuple(key for key in before if key not in frozen)
    return changed, removed
