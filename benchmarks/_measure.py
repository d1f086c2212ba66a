"""How time and memory are measured, and how a figure is shown."""

import gc
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import repeat
from time import perf_counter

import attrs
from rich import box
from rich.console import Console
from rich.table import Table

ROUNDS = 5


@attrs.frozen(kw_only=True)
class Row:
    """One figure beside its target."""

    figure: str
    """What was measured."""

    target: str
    """The promise."""

    measured: str
    """What it came to here."""

    holds: bool
    """Whether the promise was kept."""

    bare: str = ""
    """The same in bare Python in this process, and the ratio to it."""


def seconds_each(call: Callable[[], object], count: int, rounds: int = ROUNDS) -> float:
    """Seconds for one call, the best of some rounds: noise only ever adds.

    The garbage collector runs as it does for a user.
    """
    gc.collect()
    best = float("inf")
    for _ in range(rounds):
        begin = perf_counter()
        for _ in repeat(None, count):
            call()
        best = min(best, perf_counter() - begin)
    return best / count


def bytes_each(make: Callable[[], object], count: int) -> float:
    """Bytes that one made object keeps, the list that holds it left out."""
    made: list[object] = [None] * count
    make()  # what the first one alone needs is nobody's size
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for place in range(count):
        made[place] = make()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / count


def rate(figure: str, seconds: float, least: float, bare_s: float) -> Row:
    """A row for a figure that is promised as so many a second."""
    return Row(
        figure=figure,
        target=f">= {least:,.0f}/s",
        measured=f"{1 / seconds:,.0f}/s",
        holds=1 / seconds >= least,
        bare=beside(seconds, bare_s),
    )


def duration(figure: str, seconds: float, most_us: float, bare_s: float) -> Row:
    """A row for a figure that is promised as microseconds at most."""
    return Row(
        figure=figure,
        target=f"<= {most_us:g} us",
        measured=f"{seconds * 1e6:,.2f} us",
        holds=seconds * 1e6 <= most_us,
        bare=beside(seconds, bare_s),
    )


def size(figure: str, measured: float, most: float) -> Row:
    """A row for a figure that is promised as bytes at most."""
    return Row(
        figure=figure,
        target=f"<= {most:,.0f} bytes",
        measured=f"{measured:,.0f} bytes",
        holds=measured <= most,
    )


def beside(seconds: float, bare_s: float) -> str:
    """The bare program's time and how many times as long ours takes."""
    return f"{bare_s * 1e6:,.2f} us, x {seconds / bare_s:,.2f}"


def show(title: str, rows: Iterable[Row]) -> bool:
    """Print the table; whether every figure holds."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for heading in ("figure", "target", "measured", "bare Python, ratio", "holds"):
        table.add_column(heading, overflow="fold")
    shown = list(rows)
    for row in shown:
        holds = "yes" if row.holds else "NO"
        table.add_row(row.figure, row.target, row.measured, row.bare, holds)
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    console.print(table)
    return all(row.holds for row in shown)
