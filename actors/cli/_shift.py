"""A fleet at work with a person beside it: who looks on, and who presses Ctrl+C."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import trio
from rich.console import Console

from ._crew import GRACE_S, Counts, Fleet
from ._progress import Progress, in_time, unpriced, used

STOPPED = 130
"""The exit code of a program that Ctrl+C ended, as shells have it."""

FAULTS_SHOWN = 3
"""Errors that are told of a fleet; the results have that of each task."""

_FAULT_CHARACTERS_MAX = 200

_REASONS: dict[int, str] = {
    signal.SIGINT: "Ctrl+C was pressed",
    signal.SIGTERM: "the process was told to end",
}


class Shift:
    """Runs a fleet, shows how it is getting on, and stops it when asked to.

    Args:
        fleet: What works.
        console: Where it is shown; a quiet one shows nothing.
    """

    def __init__(self, fleet: Fleet, console: Console) -> None:
        self._fleet = fleet
        self._console = console
        self._progress: Progress
        self._presses = 0
        self._seconds = 0.0

    async def work(self, write_results: Callable[[], None]) -> None:
        """Do all tasks.

        Args:
            write_results: Called once every task has its result, before anything is
                waited for that does not stop.

        Raises:
            OSError: the store cannot be read, or the results cannot be written.
        """
        self._progress = Progress(self._fleet)
        caught: Exception | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._listen)
            self._show(nursery)
            try:
                await self._fleet.work(write_results)
            except Exception as error:  # noqa: BLE001 - it goes on below, ungrouped
                caught = error
            self._seconds = self._progress.seconds
            nursery.cancel_scope.cancel()
        if caught is not None:
            raise caught

    def _show(self, nursery: trio.Nursery) -> None:
        if self._console.quiet:
            return
        moves = self._console.is_terminal
        show = self._progress.paint if moves else self._progress.write_lines
        nursery.start_soon(show, self._console)

    async def _listen(self) -> None:
        with trio.open_signal_receiver(*_REASONS) as pressed:
            async for number in pressed:
                self._presses += 1
                if self._presses == 2:
                    break
                self._fleet.stop(_REASONS[number])
                self._say(
                    f"stopping: {len(self._fleet.running):,} running tasks have "
                    f"{GRACE_S:g} s to end; Ctrl+C again stops now"
                )
            self._fleet.stop_now("Ctrl+C was pressed twice")
            await self._fleet.over.wait()
            if self._fleet.threads():
                self._leave()

    def _leave(self) -> None:
        """Leave tools behind that do not stop: they are in threads nobody can end."""
        self._say("left behind: tools that did not stop", self.how_to_go_on())
        os._exit(STOPPED)

    def _say(self, *lines: str) -> None:
        for line in lines:
            self._console.print(line, soft_wrap=True)

    def how_to_go_on(self) -> str:
        """What a person reads who wants the rest done, too."""
        left = self._fleet.unfinished
        return f"{left:,} tasks are left: run the same command again to go on"

    def sum_up(self, out: Path) -> None:
        """Say what it came to."""
        fleet = self._fleet
        counts = fleet.counts
        ended = ", ".join(f"{n:,} {name}" for name, n in counts.ended.items() if n)
        before, now, in_all = "", "", ""
        if counts.found:
            before, now, in_all = f" ({counts.found:,} before)", " now", " in all"
        self._say(
            f"{ended or 'nothing done'}{before} in {in_time(self._seconds)}: "
            f"{counts.turns:,} turns{now}, {used(counts.usage)}{in_all}",
            f"results: {out}",
        )
        if counts.usage.cost is None and (fault := unpriced(fleet.plan.agent)):
            self._say(fault)
        if fleet.stopping is not None:
            self._say(f"stopped: {fleet.stopping}")
        if fleet.unfinished:
            self._say(self.how_to_go_on())
        if counts.ended["failed"]:
            self._say(*_faults(counts))
            self._say("run it with --retry-failed to try again what failed")

    def exit_code(self, *, faults: bool) -> int:
        """What the command ends with.

        Args:
            faults: Whether there were lines that are no tasks.
        """
        if self._presses and self._fleet.unfinished:
            return STOPPED
        well = self._fleet.counts.ended["done"] == len(self._fleet.plan.tasks)
        return 0 if well and not faults else 1


def _faults(counts: Counts) -> Iterator[str]:
    """The errors that most tasks failed with, and a task of each."""
    for error, number in counts.faults.most_common(FAULTS_SHOWN):
        text = " ".join(error.split())
        if len(text) > _FAULT_CHARACTERS_MAX:
            text = text[: _FAULT_CHARACTERS_MAX - 1] + "…"
        yield f"  {number:,} × {text} (first {counts.first[error]})"
    if (more := len(counts.faults) - FAULTS_SHOWN) > 0:
        yield f"  and {more:,} other errors"
