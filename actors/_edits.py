"""Edits at editing extra data: one block at a time for each State.

1. A plain thread waits for the blocks before it; a task waits with ``async with``.
   Who waits gets the turn in the order of coming.
2. On a trio thread a plain ``with`` never waits, for the block it would wait for may
   need that very thread: while another block is open it raises at entry.
3. A block inside a block of the same State raises, instead of losing an edit.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from threading import Event, RLock
from typing import Any

import trio
from trio.lowlevel import enable_ki_protection

from protocol._json import freeze, same

from ._mailbox import Waiter


class Block:
    """One edit block, from the moment it asks for its turn."""

    __slots__ = ()


_open_here: ContextVar[tuple[Block, ...]] = ContextVar("open_here", default=())
"""The blocks that this thread or task, or what started it, is in or was in."""


class Edits:
    """Who may edit now, and who is next."""

    __slots__ = ("_holder", "_lock", "_waiting")

    def __init__(self) -> None:
        self._lock = RLock()
        self._holder: Block | None = None
        self._waiting: OrderedDict[Block, Callable[[], None]] = OrderedDict()

    def take(self, block: Block) -> None:
        """Take the turn; a plain thread waits for it.

        Raises:
            ValueError: a block of this State is open around this one, or on a trio
                thread any block of it is open anywhere.
        """
        waiter = Event()
        may_wait = not trio.lowlevel.in_trio_run()
        if not self._take_or_stand(block, waiter.set if may_wait else None):
            waiter.wait()
        _mark(block)

    async def atake(self, block: Block) -> None:
        """Take the turn, waiting for the blocks before it.

        Raises:
            ValueError: a block of this State is open around this one.
        """
        waiter = Waiter()
        if not self._take_or_stand(block, waiter.wake):
            await waiter.woken()
        _mark(block)

    def _take_or_stand(self, block: Block, wake: Callable[[], None] | None) -> bool:
        """Take the turn if it is free, else stand in line, to be woken."""
        around = _open_here.get()
        with self._lock:
            if self._holder is None:
                self._holder = block
                return True
            if self._holder in around:
                raise ValueError(
                    "this edit_extra_data block is inside another one of the same "
                    "State: its edits would be lost; make them in the outer block"
                )
            if wake is None:
                raise ValueError(
                    "another edit_extra_data block of this State is open, and a plain "
                    "'with' on a trio thread cannot wait for it: write "
                    "'async with state.aedit_extra_data() as data:'"
                )
            self._waiting[block] = wake
            return False

    @enable_ki_protection  # Ctrl+C leaves no turn with a block that is gone
    def give_back(self, block: Block) -> None:
        """End the turn and give it to the next; or leave the line, without a turn.

        Doing it again changes nothing.
        """
        with self._lock:
            self._waiting.pop(block, None)
            if self._holder is block:
                self._holder = None
            if self._holder is None and self._waiting:
                self._holder = next(iter(self._waiting))
            holder = self._holder
            if holder is not None and holder in self._waiting:  # it was not told yet
                self._waiting[holder]()
                del self._waiting[holder]
        _unmark(block)


def _mark(block: Block) -> None:
    _open_here.set((*_open_here.get(), block))


def _unmark(block: Block) -> None:
    # Not by a token of `set`: whoever ends a block may do so in another context.
    _open_here.set(tuple([each for each in _open_here.get() if each is not block]))


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
