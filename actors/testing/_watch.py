"""What is noted of one run of a scenario beside what the scenario notes itself.

1. Every run of a State that begins is noted, also one that ends within a single step:
   no task ever stands in it.
2. A run that does not end in time is made to: its shields are taken away.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import trio
import trio.testing

from actors._run_node import RunNode

from ._schedule import take_shields
from ._where import Scene, scene_of

AGAIN_S = 0.02
"""Seconds until shields that were put up meanwhile are taken away, too."""


class Watch:
    """Looks on at one run.

    Args:
        within_s: Seconds that it may take.
    """

    def __init__(self, within_s: float) -> None:
        self.within_s = within_s
        self.runs: list[RunNode] = []
        """Every run of a State that has begun, in order."""
        self.scene: Scene | None = None
        """Where the scenario stood when it was cancelled; None: it was not."""
        self.late: Scene | None = None
        """Where it stood when its time was over; None: it ended in time."""
        self._alarm = trio.CancelScope()
        self._alarm_ended = trio.Event()

    @contextmanager
    def noting(self) -> Generator[None]:
        """Note the runs that begin in the block."""
        made = RunNode.__init__

        def noted(node: RunNode, *args: Any, **settings: Any) -> None:
            made(node, *args, **settings)
            self.runs.append(node)

        # Put in its place, so that the runtime pays nothing when nobody looks on.
        kind: Any = RunNode
        kind.__init__ = noted
        try:
            yield
        finally:
            kind.__init__ = made

    def look(
        self, task: trio.lowlevel.Task | None, tasks: Iterable[trio.lowlevel.Task]
    ) -> None:
        """Note where the scenario stands, now that it is cancelled."""
        self.scene = scene_of(task, tasks, self.runs)

    async def set_alarm(self, scope: trio.CancelScope, others: set[Any]) -> None:
        """Have the scenario end when its time is over; returns when that is set.

        Args:
            scope: What it runs in.
            others: Tasks that are none of the scenario's; the alarm's own joins them.
        """
        others.add(trio.lowlevel.spawn_system_task(self._ring, scope, others))
        await trio.testing.wait_all_tasks_blocked()

    async def end_alarm(self) -> None:
        """Take the alarm away: the scenario has ended."""
        with trio.CancelScope(shield=True):
            self._alarm.cancel()
            await self._alarm_ended.wait()

    async def _ring(self, scope: trio.CancelScope, others: set[Any]) -> None:
        with self._alarm:
            await trio.sleep(self.within_s)
            self.late = scene_of(None, living() - others, self.runs)
            scope.cancel(reason="it did not end in time")
            while True:
                take_shields(living() - others)
                await trio.sleep(AGAIN_S)
        self._alarm_ended.set()


def living() -> set[trio.lowlevel.Task]:
    """Every task of this trio run."""
    found: set[trio.lowlevel.Task] = set()
    root = trio.lowlevel.current_root_task()
    todo = [] if root is None else [root]
    while todo:
        task = todo.pop()
        found.add(task)
        for nursery in task.child_nurseries:
            todo.extend(nursery.child_tasks)
    return found
