"""How much may start in a minute."""

from __future__ import annotations

BURST = 0.1
"""Share of a minute's allowance that may start at once; the rest is spread evenly, so
that no minute, wherever it begins, holds more than the allowance."""


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
