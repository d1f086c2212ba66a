"""A cancel sweep as one HTML file: every step in every order, and what broke where.

1. Every word, line, task and scene stands in the file once; a run is two numbers.
2. Of the user's files the lines around each place are in the page, and nothing else.
"""

import linecache
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

import actors
from actors.testing._where import Frame, Scene, Spot, is_users

from ._once import Once
from ._page import encode, packed, write_page
from ._sheet import NOWHERE, Fault, Row, Sheet

LINES_AROUND = 2
"""Lines of source in front of a place and behind it."""


@attrs.frozen(kw_only=True)
class About:
    """What the page says of the sweep as a whole."""

    title: str
    """What was swept."""
    command: str
    """The command that did it, without its seeds and steps."""
    checked: Sequence[str]
    """Names of the invariants."""
    seconds: float
    """How long it took."""
    left: str | None
    """Why it ended before all runs were done; None: it did not."""


def write_experiment(sheet: Sheet, about: About, path: Path) -> None:
    """Write what a sweep found; a file that is there is replaced whole.

    Raises:
        OSError: the file cannot be written.
    """
    data = encode(attrs.asdict(about))
    chunks = [packed(_Tables(sheet).data())]
    write_page(path, "experiment", about.title, data, chunks)


class _Tables:
    """The tables of a sheet, with words and lines by number."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._words: Once[str] = Once()
        self._frames: Once[Frame] = Once()
        self._spots: Once[Spot] = Once()

    def data(self) -> dict[str, Any]:
        """Everything, in an order in which what is named has its number."""
        sheet, word = self._sheet, self._words.number
        scenes = [self._scene(each) for each in sheet.scenes.values]
        faults = [self._fault(each) for each in sheet.faults.values]
        spots = [self._spot(each) for each in self._spots.values]
        frames = self._frames.values
        ends = sheet.outcomes.values
        return {
            "runs": sheet.runs,
            "broken": sheet.broken,
            "steps": sheet.steps,
            "rows": [_row(each) for each in sheet.rows],
            "outcomes": [[word(each.ending), each.faults] for each in ends],
            "faults": faults,
            "scenes": scenes,
            "spots": spots,
            "frames": [self._line(frame) for frame in frames],
            "sources": [_source(frame) for frame in frames],
            "words": self._words.values,
        }

    def _frame(self, frame: Frame | None) -> int:
        return NOWHERE if frame is None else self._frames.number(frame)

    def _line(self, frame: Frame) -> list[int]:
        word = self._words.number
        return [word(_shown(frame.file)), frame.line, word(frame.function)]

    def _scene(self, scene: Scene) -> list[Any]:
        spot = NOWHERE if scene.spot is None else self._spots.number(scene.spot)
        others = [self._spots.number(each) for each in scene.others]
        return [spot, others, [self._words.number(each) for each in scene.open]]

    def _spot(self, spot: Spot) -> list[Any]:
        word = self._words.number
        stack = [self._frame(each) for each in spot.stack]
        runtime = self._frame(spot.runtime)
        return [word(spot.kind), word(spot.who), stack, runtime, word(spot.waits_in)]

    def _fault(self, fault: Fault) -> list[int]:
        word = self._words.number
        return [word(fault.invariant), word(fault.text), self._frame(fault.frame)]


def _row(row: Row) -> list[Any]:
    return [row.seed, row.whole, row.first, row.scenes, row.outcomes]


def _shown(file: str) -> str:
    """A file as the terminal would name it, one of the runtime by its package."""
    path = Path(file)
    home = Path.cwd() if is_users(file) else Path(actors.__file__).parent.parent
    return str(path.relative_to(home) if path.is_relative_to(home) else path)


def _source(frame: Frame) -> list[str]:
    """The lines around a place of the user's; none for code that is not his."""
    if not is_users(frame.file):
        return []
    first = max(1, frame.line - LINES_AROUND)
    last = frame.line + LINES_AROUND
    lines = [linecache.getline(frame.file, n).rstrip() for n in range(first, last + 1)]
    return [str(first), *lines]
