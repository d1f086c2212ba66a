"""Ours against the same by hand: run in turns, told as the median of the ratios."""

import gc
from collections.abc import Awaitable, Callable
from statistics import median
from typing import TypeAlias

import trio

from benchmarks._measure import Row

Timed: TypeAlias = Callable[[], Awaitable[float]]
"""Does the work inside a trio run, and gives the seconds of CPU that it took."""


def contest(ours: Timed, by_hand: Timed, rounds: int) -> tuple[float, float, float]:
    """Seconds of both and their ratio, the medians of runs in turns."""
    pairs: list[tuple[float, float]] = []
    for _ in range(rounds):
        bare = trio.run(by_hand)
        gc.collect()
        pairs.append((trio.run(ours), bare))
        gc.collect()
    mine, bare = (median(side) for side in zip(*pairs, strict=True))
    return mine, bare, median(a / b for a, b in pairs)


def beside(
    figure: str, most: float, each: int, times: tuple[float, float, float]
) -> Row:
    """A row for a figure that is promised as a ratio to the bare program."""
    ours, bare, ratio = times
    return Row(
        figure=figure,
        target=f"<= {most:g} x",
        measured=f"{ratio:.2f} x, {ours / each * 1e6:,.1f} us",
        holds=ratio <= most,
        bare=f"{bare / each * 1e6:,.1f} us",
    )


def exact(figure: str, wanted: object, found: object) -> Row:
    """A row for what must come out to the last digit."""
    return Row(
        figure=figure, target=str(wanted), measured=str(found), holds=wanted == found
    )
