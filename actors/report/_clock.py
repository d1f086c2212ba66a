"""One axis for all times: breaks between runs are cut out of it.

A fleet that went on after a night has hours in which nothing happened; drawn to scale,
everything that did would be a line at either edge.
"""

from collections.abc import Iterable

import attrs

BREAK_S_MIN = 5.0
"""Shorter ones are pauses that a person wants to see."""

BREAK_PART_MIN = 0.1
"""And so are those that are a small part of the whole."""

GAP_PART = 0.01
"""What is left of a break: a part of the time that is drawn."""


@attrs.frozen
class Piece:
    """A stretch of time in which something ran."""

    start: float
    """POSIX seconds."""
    end: float
    at: float
    """Where it begins on the axis, in seconds."""


class Clock:
    """Times as places on the axis.

    Args:
        busy: Begin and end of everything that ran, POSIX seconds, in any order.
    """

    def __init__(self, busy: Iterable[tuple[float, float]]) -> None:
        joined = _joined(sorted(busy))
        whole = sum(end - start for start, end in joined)
        least = max(BREAK_S_MIN, BREAK_PART_MIN * whole)
        gap = GAP_PART * whole
        self.pieces: list[Piece] = []
        at = 0.0
        for start, end in joined:
            last = self.pieces[-1] if self.pieces else None
            if last is not None and start - last.end < least:
                self.pieces[-1] = Piece(last.start, end, last.at)
            else:
                at += gap if last is not None else 0.0
                self.pieces.append(Piece(start, end, at))
            last = self.pieces[-1]
            at = last.at + last.end - last.start
        self.length = at

    def place(self, time: float) -> float:
        """Where a time is on the axis, in seconds; a break is where it begins."""
        place = 0.0
        for piece in self.pieces:
            if time < piece.start:
                break
            place = piece.at + min(time, piece.end) - piece.start
        return place


def _joined(stretches: list[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for start, end in stretches:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined
