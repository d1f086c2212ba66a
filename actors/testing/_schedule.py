"""Which task steps next: decided by a seed, or choice by choice.

1. trio shuffles the tasks that may step before it steps them. Whoever controls that
   shuffle controls the order of everything that happens on one thread.
2. A task that is put back steps later, however often: only so are races found in which
   one task is much slower than the others.

All private names of trio that `actors.testing` needs stand in this file.
"""

import random
import threading
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import trio
import trio._core._run as trio_run

T = TypeVar("T")

# What a checker believes of a private module changes with each release of trio.
_trio: Any = trio_run


class Chooser(random.Random):
    """Stands where trio has its own random numbers; other threads keep theirs."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self._thread = threading.get_ident()
        self._others = random.Random()

    def shuffle(self, x: Any) -> None:
        """Decide which of these tasks step now; trio steps the last one first."""
        if threading.get_ident() != self._thread:
            self._others.shuffle(x)
        elif len(x) > 1:
            self.choose(x)

    def choose(self, batch: list[Any]) -> None:
        """Order two tasks or more, or put some of them back with `put_back`."""
        super().shuffle(batch)


class Delaying(Chooser):
    """Lets some of the tasks wait, so that a few get far ahead of others."""

    def choose(self, batch: list[Any]) -> None:
        """Keep some of the tasks, at least one, in any order."""
        super().choose(batch)
        put_back(batch, self.randrange(1, len(batch) + 1))


def put_back(batch: list[Any], kept: int) -> None:
    """Keep the first ``kept`` tasks of a batch; the others may step next time."""
    _trio.GLOBAL_RUN_CONTEXT.runner.runq.extend(batch[kept:])
    del batch[kept:]


def take_shields(tasks: Iterable[trio.lowlevel.Task]) -> None:
    """Let every cancel reach these tasks, however they are shielded."""
    for task in tasks:
        status: Any = getattr(task, "_cancel_status", None)
        while status is not None:
            if status._scope.shield:
                status._scope.shield = False
            status = status._parent


def chooser_of(seed: int) -> Chooser:
    """The chooser of a seed: tasks step in turns with even ones, as it comes with odd.

    Turns find what goes wrong when all are equally fast, and half of the seeds should
    not be spent on finding it again.
    """
    return Delaying(seed) if seed % 2 else Chooser(seed)


@contextmanager
def controlled(chooser: Chooser) -> Generator[None, None, None]:
    """Have ``chooser`` decide in the trio runs that this thread starts in the block."""
    before = _trio._r, _trio._ALLOW_DETERMINISTIC_SCHEDULING
    _trio._r, _trio._ALLOW_DETERMINISTIC_SCHEDULING = chooser, True
    try:
        yield
    finally:
        _trio._r, _trio._ALLOW_DETERMINISTIC_SCHEDULING = before


def seeded(run: Callable[[], Awaitable[T]], seed: int) -> T:
    """Run an async function in a trio run of its own whose order the seed decides.

    The same seed steps the same tasks in the same order, as far as the program itself
    does the same: worker threads, sockets and the real clock have an order of their
    own. ``random`` is seeded too, and goes on as before afterwards.

    Args:
        run: An async function without arguments.
        seed: Odd seeds also let tasks fall behind the others.

    Returns:
        What ``run`` returns.

    Raises:
        RuntimeError: Called on a thread where trio runs already.
        BaseException: What ``run`` raises.
    """
    return run_with(chooser_of(seed), run, seed=seed)


def run_with(
    chooser: Chooser,
    run: Callable[[], Awaitable[T]],
    *,
    seed: int = 0,
    instruments: Sequence[trio.abc.Instrument] = (),
) -> T:
    """Run an async function while ``chooser`` decides who steps."""
    before = random.getstate()
    random.seed(seed)
    try:
        with controlled(chooser):
            return trio.run(run, instruments=instruments)
    finally:
        random.setstate(before)
