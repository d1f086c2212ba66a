"""How much may be on its way at once, and how much may start in a minute."""

from __future__ import annotations

TOLERATED = 0.1
"""Share of refusals up to which more requests are tried. Providers refuse a few
requests at random; shrinking at each would starve a fleet (at 5 % of random refusals,
halving at each one settles near 5 requests, however many the provider could take)."""

WINDOW_MIN = 10
"""Outcomes after which the share is looked at, at least: it is noise for fewer."""

FIRST_LIMIT_MIN = 16
"""What the first limit is at least: one request that is refused while it is alone says
little about how many are too many, and growing from one takes long."""

BURST = 0.1
"""Share of a minute's allowance that may start at once; the rest is spread evenly, so
that no minute, wherever it begins, holds more than the allowance."""


class Slots:
    """Sliding concurrency: no limit until the first refusal, then what is taken.

    A limit stands for a window of as many outcomes. Then it shrinks by half the share
    of refusals in the window (the rule of DCTCP, RFC 8257), or grows if few were
    refused and it was reached: twofold until it shrank once, for the first limit was
    found by accident; later by a quarter after no refusal and by a tenth after few.
    """

    __slots__ = ("_answered", "_reached", "_refused", "_shrank", "limit", "running")

    def __init__(self) -> None:
        self.limit: int | None = None
        self.running = 0
        self._answered = 0
        self._refused = 0
        self._reached = False
        self._shrank = False

    @property
    def full(self) -> bool:
        """Whether no request may start."""
        if self.limit is None or self.running < self.limit:
            return False
        self._reached = True
        return True

    def answered(self) -> None:
        """Count an outcome that is no refusal; its slot is still taken."""
        if self.limit is not None:
            self._answered += 1
            self._slide(self.limit)

    def refused(self) -> None:
        """Count a refusal; its slot is still taken."""
        if self.limit is None:
            self.limit = max(FIRST_LIMIT_MIN, self.running)
        self._refused += 1
        self._slide(self.limit)

    def _slide(self, limit: int) -> None:
        seen = self._answered + self._refused
        if seen < max(limit, WINDOW_MIN):
            return
        share = self._refused / seen
        if self._refused > 1 + TOLERATED * seen:  # one alone is always chance
            self.limit = max(1, int(limit * (1 - share / 2)))
            self._shrank = True
        elif self._reached:
            part = 1 if not self._shrank else 4 if not self._refused else 10
            self.limit = limit + max(1, limit // part)
        self._answered = self._refused = 0
        self._reached = False


class Pace:
    """An allowance for each minute, as a bucket that refills steadily.

    Args:
        per_minute: The allowance.
        now: Seconds on the clock that all times here are of.
    """

    __slots__ = ("_at", "_level", "_size", "_per_s")

    def __init__(self, per_minute: float, now: float) -> None:
        self._size = max(1.0, per_minute * BURST)
        # Starts one by one need no part of the minute kept back for a burst.
        self._per_s = (per_minute - self._size if self._size > 1 else per_minute) / 60
        self._level = self._size
        self._at = now

    def ready_at(self, need: float, now: float) -> float:
        """Return when `need` can be taken; a full bucket is enough for any need."""
        self._refill(now)
        missing = min(need, self._size) - self._level
        return now if missing <= 0 else now + missing / self._per_s

    def take(self, amount: float, now: float) -> None:
        """Take, or give back what is below zero; the level may fall below zero."""
        self._refill(now)
        self._level = min(self._size, self._level - amount)

    def _refill(self, now: float) -> None:
        self._level = min(self._size, self._level + (now - self._at) * self._per_s)
        self._at = now
