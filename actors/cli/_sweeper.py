"""An experiment at work with a person beside it: who looks on, and presses Ctrl+C.

1. Ctrl+C once ends the experiment with the run that is under way; twice now.
2. It is shown between two runs: a picture at a terminal, plain lines elsewhere.
"""

import os
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType

import attrs
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from actors.report._sheet import UNHANDLED, Sheet
from actors.testing._promised import PROMISES
from actors.testing._sweep import Tried, tries
from actors.testing._trial import IN_TIME, LEAKS, Bench, name_of

from ._progress import LINE_EVERY_S, PAINTS_PER_S, in_time
from ._shift import STOPPED

INTERRUPTED = "stopped: Ctrl+C was pressed"


@attrs.frozen(kw_only=True)
class Wanted:
    """What an experiment is to run."""

    seeds: Sequence[int]
    steps: Sequence[int | None] | None
    """Steps after which it cancels, as far as a run gets; None: every one."""
    timeout_s: float
    """Seconds that a run may take."""

    @property
    def single(self) -> bool:
        """Whether this is one run."""
        return len(self.seeds) == 1 and self.steps is not None and len(self.steps) == 1


class Sweeper:
    """Runs an experiment and shows how it is getting on.

    Args:
        bench: What is run.
        wanted: How often.
        console: Where it is shown; a quiet one shows nothing.
    """

    def __init__(self, bench: Bench, wanted: Wanted, console: Console) -> None:
        self.sheet = Sheet(bench.name)
        self.left: str | None = None
        """Why runs are left that were to be done; None: none are."""
        self._cancelled = 0
        self._bench = bench
        self._wanted = wanted
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._began = time.monotonic()
        self._presses = 0
        self._seeds_done = 0
        self._done_of_seed = self._of_seed = 0

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began

    @property
    def in_vain(self) -> bool:
        """Whether steps were asked for, and every run ended before them."""
        steps = self._wanted.steps
        return steps not in (None, (None,)) and not self._cancelled

    @property
    def checked(self) -> list[str]:
        """Names of all invariants."""
        own = [name_of(each.fn) for each in self._bench.invariants]
        return [UNHANDLED, LEAKS, IN_TIME, *PROMISES, *own]

    def work(self, write: Callable[[], None]) -> None:
        """Do all runs, or those until Ctrl+C.

        Args:
            write: Writes the page; called here only when a run has to be left behind.
        """
        with self._listening(write), self._showing() as show:
            for tried in self._all():
                self.sheet.take(tried)
                self._note(tried)
                show()
                if self._presses and self._has_more(tried):
                    self.left = INTERRUPTED
                    return

    def _all(self) -> Iterator[Tried]:
        for seed in self._wanted.seeds:
            yield from self._runs_of(seed)
            self._seeds_done += 1

    def _runs_of(self, seed: int) -> Iterator[Tried]:
        wanted = self._wanted
        for tried in tries(self._bench, seed, wanted.steps, within_s=wanted.timeout_s):
            yield tried
            step = tried.trial.step
            if step is None:
                continue
            if tried.trial.steps < step:
                return  # it ended before this step, and so before those that follow
            self._cancelled += 1

    def _note(self, tried: Tried) -> None:
        trial, steps = tried.trial, self._wanted.steps
        first = trial.step is None or not self._done_of_seed
        self._done_of_seed = 1 if first else self._done_of_seed + 1
        if first:
            self._of_seed = trial.steps + 2 if steps is None else len(steps)

    def _has_more(self, tried: Tried) -> bool:
        """Whether runs are left behind this one."""
        last_seed = tried.trial.seed == self._wanted.seeds[-1]
        return not last_seed or self._done_of_seed < self._of_seed

    # Ctrl+C

    @contextmanager
    def _listening(self, write: Callable[[], None]) -> Generator[None]:
        def pressed(number: int, frame: FrameType | None) -> None:
            self._presses += 1
            if self._presses == 1:
                self.say("stopping after this run; Ctrl+C again stops now")
                return
            # In the middle of a run that does not stop: no way leads out of it.
            self.left = "stopped: Ctrl+C was pressed twice"
            self._live.stop()
            self.say(f"left behind: the run after {self._at()}")
            write()
            os._exit(STOPPED)

        before = signal.signal(signal.SIGINT, pressed)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _at(self) -> str:
        """The run that was done last."""
        if not self.sheet.rows:
            return "the beginning"
        row = self.sheet.rows[-1]
        if not row.outcomes:
            return f"the whole one of seed {row.seed}"
        return f"seed {row.seed}, step {row.first + len(row.outcomes) - 1}"

    def say(self, *lines: str) -> None:
        """Tell the person."""
        for line in lines:
            self._console.print(line, soft_wrap=True)

    # Showing

    @contextmanager
    def _showing(self) -> Generator[Callable[[], None]]:
        console = self._console
        moves = console.is_terminal and not console.quiet
        every = 1 / PAINTS_PER_S if moves else LINE_EVERY_S
        due = self.seconds + (0 if moves else every)

        def show() -> None:
            nonlocal due
            if self.seconds < due:
                return
            due = self.seconds + every
            if moves:
                self._live.update(self._painted(), refresh=True)
            else:
                self.say(self._line())

        with self._live if moves else nullcontext():
            yield show

    def _part(self) -> float:
        """How much of the whole is done, 0 to 1; the seeds are thought to be alike."""
        of_this = self._done_of_seed / max(1, self._of_seed)
        return min(1.0, (self._seeds_done + of_this) / len(self._wanted.seeds))

    def _facts(self) -> list[tuple[str, str]]:
        sheet, part = self.sheet, self._part()
        left_s = self.seconds * (1 - part) / part if part else None
        seeds = f"{min(self._seeds_done + 1, len(self._wanted.seeds)):,}"
        return [
            ("order", f"{seeds} of {len(self._wanted.seeds):,}"),
            ("step", f"{self._done_of_seed:,} of {self._of_seed:,}"),
            ("runs", f"{sheet.runs:,}"),
            ("broken", f"{sheet.broken:,}"),
            ("runs/s", f"{sheet.runs / max(self.seconds, 1e-3):,.0f}"),
            ("ETA", "-" if left_s is None else in_time(left_s)),
        ]

    def _line(self) -> str:
        return "  ".join(f"{label} {value}" for label, value in self._facts())

    def _painted(self) -> Group:
        bar = ProgressBar(total=1.0, completed=self._part(), width=40)
        top = Table.grid(padding=(0, 1))
        top.add_row(bar, Text(f"{self._part():.0%}"))
        parts = [
            Text.assemble((f"{label} ", "dim"), (value, self._style(label)))
            for label, value in self._facts()
        ]
        return Group(top, Text("  ").join(parts))

    def _style(self, label: str) -> str:
        return "bold red" if label == "broken" and self.sheet.broken else "bold"
