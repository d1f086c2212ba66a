"""Append-only logs that many views share.

1. A view is (log, size): the first ``size`` items. Items below a view's size never
   change, so a view is a value, and taking one costs nothing.
2. A log has one writer. Whoever takes over somebody else's view starts a segment of
   its own on top of it (`Log.branch`) and writes there.
3. Items behind a view's size are left over from something that was taken back; an
   append to such a view starts a segment too.
4. A key is noted with the index of the first item that brought it: one that something
   taken back has noted is never seen, because no view is that long.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, ClassVar, Generic, Self, TypeVar

import msgspec

Item = TypeVar("Item")


TAKEN_OVER_MAX = 64
"""A segment with more keys than this is looked through instead of copied: copying
costs a fork's first reply about 2 us, and looking 0.05 us for each segment."""


class Keys:
    """Which item brought each key first, in one segment of a log and below it."""

    __slots__ = ("_below", "_index_of")

    def __init__(self, below: "Keys | None", base: int) -> None:
        self._index_of: dict[Hashable, int] = {}
        self._below: tuple[Keys, int] | None = None
        if below is not None:
            own = bool(below._index_of)
            self._below = (below, base) if own else below._below

    def note(self, index: int, keys: Iterable[Hashable]) -> None:
        """Remember that the item at ``index`` brought these keys."""
        if not self._index_of:
            self._take_over()
        index_of = self._index_of
        for key in keys:
            if index_of.get(key, index) >= index:
                index_of[key] = index

    def _take_over(self) -> None:
        if self._below is None or len(self._below[0]._index_of) > TAKEN_OVER_MAX:
            return
        below, base = self._below
        # The copy is one step: another thread may note in the segment below.
        seen = below._index_of.copy()
        self._index_of = {key: index for key, index in seen.items() if index < base}
        self._below = below._below

    def has(self, size: int, key: Hashable) -> bool:
        """Whether one of the first ``size`` items brought this key."""
        found = self
        while found._index_of.get(key, size) >= size:
            if found._below is None:
                return False
            found, base = found._below
            size = min(size, base)
        return True

    def find(self, size: int, key: Hashable) -> int | None:
        """Which of the first ``size`` items brought this key first."""
        found = self
        while (index := found._index_of.get(key, size)) >= size:
            if found._below is None:
                return None
            found, base = found._below
            size = min(size, base)
        return index


class Log(msgspec.Struct, Generic[Item], eq=False):
    """A list that is only appended to, on top of a part of an earlier log.

    Each segment knows its parent and, in `_jump`, an ancestor further down, chosen as
    in a skew-binary list (Myers, "An applicative random-access stack", 1983): finding
    the segment of an item takes logarithmic time in forks of forks.
    """

    SEALED: ClassVar[int] = -1
    """The base of a log that nobody may write: no size ever matches its end."""

    items: list[Item] = []
    """The items of this segment."""
    parent: Self | None = None
    """The segment that this one stands on."""
    base: int = 0
    """How many items are below this segment."""
    _depth: int = 0
    _jump: Self | None = None
    _keys: Keys | None = None

    __repr__ = object.__repr__  # all items, and those of all parents, say too much

    def _jump_above(self) -> Self:
        """Where a segment on top of this one jumps to."""
        near = self._jump
        if near is None or near._jump is None:
            return self
        far = near._jump
        even = self._depth - near._depth == near._depth - far._depth
        return far if even else self

    def append(self, size: int, item: Item) -> Self:
        """Put ``item`` behind the first ``size`` items; return the log that has it.

        The view (returned log, ``size + 1``) is the new one. Constant time.
        """
        items, place = self.items, size - self.base
        if len(items) == place:
            items.append(item)
            # A signal handler or a finalizer may have appended since the question.
            if items[place] is item:
                return self
        log = self.branch(size) if size else type(self)()
        log.items.append(item)
        return log

    def branch(self, size: int) -> Self:
        """A segment with a writer of its own, on top of the first ``size`` items."""
        if not size:
            return type(self)()
        parent = self.home(size)
        log = type(self)(parent=parent, base=size)
        log._depth = parent._depth + 1
        log._jump = parent._jump_above()
        if parent._keys is not None:
            log._keys = Keys(parent._keys, size)
        return log

    def home(self, size: int) -> Self:
        """The segment that holds item ``size - 1``."""
        log = self
        while log.parent is not None and size <= log.base:
            far = log._jump
            log = log.parent if far is None or size > far.base else far
        return log

    def at(self, index: int) -> Item:
        """The item at ``index``, counted from the very first."""
        log = self if index >= self.base else self.home(index + 1)
        return log.items[index - log.base]

    def parts(self, size: int, start: int = 0) -> list[list[Item]]:
        """The items from ``start`` up to ``size``, as slices in order."""
        parts: list[list[Item]] = []
        log: Log[Item] | None = self
        while log is not None and size > start:
            base = log.base
            if base < size:
                parts.append(log.items[max(start - base, 0) : size - base])
                size = base
            log = log.parent
        parts.reverse()
        return parts

    def read(self, size: int, start: int = 0) -> tuple[Item, ...]:
        """The items from ``start`` up to ``size``, as a tuple of their own."""
        if start >= self.base:
            return tuple(self.items[start - self.base : size - self.base])
        return tuple(self.iterate(size, start))

    def iterate(self, size: int, start: int = 0) -> Iterator[Item]:
        """The items from ``start`` up to ``size``, one by one."""
        for part in self.parts(size, start):
            yield from part

    def note(self, index: int, keys: Iterable[Hashable]) -> None:
        """Remember that the item at ``index`` brought these keys."""
        if self._keys is None:
            self._keys = Keys(None, self.base)
        self._keys.note(index, keys)

    def has(self, size: int, key: Hashable) -> bool:
        """Whether one of the first ``size`` items brought this key."""
        return self._keys is not None and self._keys.has(size, key)

    def find(self, size: int, key: Hashable) -> int | None:
        """The index of the first item, of ``size``, that brought this key."""
        return None if self._keys is None else self._keys.find(size, key)

    def begins_with(self, size: int, other: "Log[Item]", start: int) -> bool:
        """Whether the view (other, start) is known to be the beginning of (self, size).

        True only where they share segments; compares no item.
        """
        return start == 0 or (start <= size and self.home(start) is other.home(start))


class View(Generic[Item]):
    """The first ``size`` items of a log, as one value."""

    __slots__ = ("log", "size")

    def __init__(self, log: Log[Item], size: int) -> None:
        self.log = log
        self.size = size

    def append(self, item: Item) -> "View[Item]":
        """The view with one item more. Constant time."""
        return View(self.log.append(self.size, item), self.size + 1)

    def branch(self) -> "View[Item]":
        """The same items with a writer of their own."""
        if not self.size:
            return NOTHING
        return View(self.log.branch(self.size), self.size)

    def read(self) -> tuple[Item, ...]:
        """The items as a tuple."""
        return self.log.read(self.size)


EMPTY: Log[Any] = Log(base=Log.SEALED)
"""What is still empty shares this one log; the first append makes a log of its own."""

NOTHING: View[Any] = View(EMPTY, 0)
"""The view of what is still empty."""
