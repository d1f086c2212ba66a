"""All rows with all peers, in turns, several times over.

1. Within a round the peers do a row right after one another; a ratio is taken within
   its round, and the median of the rounds is told. A figure is that ratio times bare
   trio's median: what was measured while the machine was busy counts as the rest does.
2. A cell that took long is measured once: noise is short, and the run has to end.
3. What is missing in one round is not tried again, nor is more of the same work.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from statistics import median
from time import perf_counter

import attrs

from ._cells import Measured, Missing, Outcome
from ._peers import BASE, Peer
from ._rows import Row

ONCE_OVER_S = 4.0


@attrs.frozen(kw_only=True)
class Cell:
    """What a peer came to in a row."""

    missing: Missing | None = None
    each: float = 0.0
    """What a unit of work costs."""
    ratio: float | None = None
    """Times what bare trio takes, or None when that was not measured."""
    count: int = 0
    note: str = ""


class Results:
    """The outcomes of all rounds."""

    def __init__(self) -> None:
        self._rounds: dict[tuple[str, str], dict[int, Measured]] = {}
        self._missing: dict[tuple[str, str], Missing] = {}
        self._took: dict[tuple[str, str], float] = {}

    def add(
        self, row: Row, peer: str, turn: int, outcome: Outcome, took_s: float
    ) -> None:
        """Keep what a peer came to in a round, and how long its process took."""
        if isinstance(outcome, Missing):
            self._missing[row.id, peer] = outcome
        else:
            self._rounds.setdefault((row.id, peer), {})[turn] = outcome
        self._took[row.id, peer] = took_s

    def settled(self, row: Row, peer: str) -> bool:
        """Whether another round would tell nothing more, or take too long."""
        place = row.id, peer
        return place in self._missing or self._took.get(place, 0) > ONCE_OVER_S

    def inherited(self, row: Row, peer: str) -> Missing | None:
        """Why less of the same work could not be done."""
        return self._missing.get((row.harder_than, peer))

    def cell(self, row: Row, peer: str) -> Cell:
        """What is told of it."""
        place = row.id, peer
        if place in self._missing:
            return Cell(missing=self._missing[place])
        rounds = self._rounds[place]
        ratio, last = self._ratio(row, peer), rounds[max(rounds)]
        if ratio is None:
            each = _median(rounds)
        else:
            each = ratio * _median(self._rounds[row.id, BASE])
        return Cell(each=each, ratio=ratio, count=last.count, note=last.note)

    def _ratio(self, row: Row, peer: str) -> float | None:
        rounds = self._rounds[row.id, peer]
        base = self._rounds.get((row.id, BASE), {})
        ratios = [
            rounds[turn].each / base[turn].each
            for turn in rounds.keys() & base.keys()
            if base[turn].each > 0  # a tiny process may not grow at all
        ]
        return median(ratios) if ratios else None


def _median(rounds: Mapping[int, Measured]) -> float:
    return median(outcome.each for outcome in rounds.values())


def contest(
    rows: Sequence[Row],
    peers: Sequence[Peer],
    rounds: int,
    run: Callable[[Row, Peer], Outcome],
    tell: Callable[[str], None] = lambda line: None,
) -> Results:
    """Have all peers do all rows."""
    results = Results()
    for turn, row, peer in product(range(rounds), rows, peers):
        if results.settled(row, peer.name):
            continue
        tell(f"round {turn + 1} of {rounds}: {row.title}, {peer.name}")
        begin = perf_counter()
        outcome = results.inherited(row, peer.name) or run(row, peer)
        took_s = perf_counter() - begin
        results.add(row, peer.name, turn, outcome, took_s)
    return results


Cells = Mapping[str, Mapping[str, Cell]]
"""For each row's id and each peer's name."""


def cells_of(results: Results, rows: Sequence[Row], peers: Sequence[Peer]) -> Cells:
    """What is told of every row and peer."""
    return {
        row.id: {peer.name: results.cell(row, peer.name) for peer in peers}
        for row in rows
    }
