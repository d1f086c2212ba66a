"""How much longer replies take than they need to.

1. Replies are compared with replies of about the same size, tokens read and tokens
   written each within a factor of two: a long one is no slow one.
2. What a size needs is the least middle that a batch of its replies ever had: a middle,
   for one quick reply proves nothing; the least, for a queue only ever adds time.
3. A size whose first batch is not yet whole says nothing.

The least delay as the measure of a queue is TCP Vegas' idea (Brakmo, O'Malley, Peterson
1994), brought to requests by Netflix's concurrency-limits (2018).
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protocol import Reply

BATCH_FIRST = 16
BATCH_MAX = 128
"""Replies in a batch: few at first, to know something soon; then twice as many each
time, because the least of many middles is the more an accident the fewer are in each.
Where the times of like replies vary by half (a standard deviation of 0.5 in their
logarithm), the middle of 128 varies by 5 %."""

RECENT = 64
"""Replies that `stretch` is the middle of, at least; so it varies by 8 % there."""

_WRITTEN_BITS = 6
"""A size is the bit length of the tokens read, and in so many bits behind it that of
the tokens written: no reply has 2**63 of them."""


def size_of(reply: Reply) -> int:
    """Return the size of a reply; 0 when nothing tells it.

    Tokens read from the provider's cache are left out: they take next to no time.
    """
    usage = reply.usage
    written = usage.output_tokens or len(reply.text)
    if not written:
        return 0
    read = usage.input_tokens + usage.cache_write_tokens
    return read.bit_length() << _WRITTEN_BITS | written.bit_length()


def middle_of(times: list[float]) -> float:
    """Return the mean of the middle half.

    Like a median it minds no stray values; but in a provider that works in rounds,
    where times are multiples of one, it is not one of them.
    """
    quarter = len(times) // 4
    return fmean(sorted(times)[quarter : len(times) - quarter])


class _Size:
    """What is known of replies of one size."""

    __slots__ = ("batch", "batch_size", "least")

    def __init__(self) -> None:
        self.least: float | None = None
        self.batch: list[float] = []
        self.batch_size = BATCH_FIRST

    def learn(self) -> None:
        """Take in a whole batch, and begin a new one."""
        middle = middle_of(self.batch)
        self.least = middle if self.least is None else min(self.least, middle)
        self.batch = []
        self.batch_size = min(2 * self.batch_size, BATCH_MAX)


class Delay:
    """What replies of each size need, and how the latest ones compare to it."""

    __slots__ = ("_sizes", "_stretches")

    def __init__(self) -> None:
        self._sizes: dict[int, _Size] = {}
        self._stretches: list[float] = []

    def add(self, size: int, took_s: float, *, counts: bool) -> None:
        """Learn from a reply; only one that counts has a part in `stretch`."""
        known = self._sizes.get(size)
        if known is None:
            known = self._sizes[size] = _Size()
        if counts and known.least:
            self._stretches.append(took_s / known.least)
        known.batch.append(took_s)
        if len(known.batch) == known.batch_size:
            known.learn()

    def stretch(self) -> float | None:
        """Return how many times as long as they need the middle ones took.

        None while there are too few replies to tell.
        """
        if len(self._stretches) < RECENT:
            return None
        return middle_of(self._stretches)

    def begin(self) -> None:
        """Compare anew, from replies that come from now on."""
        self._stretches.clear()

    def forget(self) -> None:
        """Learn anew what replies need."""
        self._sizes.clear()
        self._stretches.clear()
