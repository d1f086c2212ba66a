"""`search_schedules`: every order in which tasks may step, one after the other.

1. Wherever two tasks or more may step, one is chosen and steps alone; the others wait.
   So every order of the steps can come about.
2. The choices of a run are a list of numbers; the next run changes the last of them
   that has another value left, and goes on with zeros.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from ._schedule import Chooser, put_back
from ._trial import Bench, Invariant, Scenario, Trial, Violation

RUNS_MAX = 10_000
"""Ten seconds or so: enough for three tasks of a few steps each."""


class _Path(Chooser):
    """Follows a list of choices, then takes the first task each time."""

    def __init__(self, choices: Sequence[int]) -> None:
        super().__init__()
        self._given = choices
        self.taken: list[int] = []
        self.options: list[int] = []

    def choose(self, batch: list[Any]) -> None:
        """Keep one task."""
        depth = len(self.taken)
        index = self._given[depth] if depth < len(self._given) else 0
        self.taken.append(index)
        self.options.append(len(batch))
        batch.insert(0, batch.pop(index % len(batch)))
        put_back(batch, 1)

    def following(self) -> list[int] | None:
        """The choices of the next run, or None when this was the last one."""
        for depth in range(len(self.taken) - 1, -1, -1):
            if self.taken[depth] + 1 < self.options[depth]:
                return [*self.taken[:depth], self.taken[depth] + 1]
        return None


@attrs.frozen(kw_only=True)
class SearchReport:
    """What a search came to."""

    runs: int
    """How many orders were tried."""
    complete: bool
    """Whether these were all there are."""
    violations: tuple[Violation, ...]
    """What was found, in the order of the runs."""


def search_schedules(
    scenario: Scenario,
    *,
    invariants: Sequence[Invariant] = (),
    runs_max: int = RUNS_MAX,
    choices: Iterable[int] | None = None,
) -> SearchReport:
    """Run a trio program in every order of its tasks' steps until something breaks.

    The number of orders grows exponentially with tasks and steps: keep the scenario
    small, or bound the runs and see in the report that it is not complete. It ends at
    the first order in which something is wrong.

    Args:
        scenario: An async function of the `Trial`, or of nothing, called afresh for
            each run. It must do the same each time that its tasks step in the same
            order: no threads, no clock.
        invariants: What must be true after each run; see `cancel_sweep`.
        runs_max: How many orders to try at most.
        choices: Run this one order only.

    Raises:
        TypeError: The scenario, or an invariant, is no such function.
        RuntimeError: Called on a thread where trio runs.
    """
    bench = Bench(scenario, invariants)
    given: list[int] | None = list(choices or ())
    runs = 0
    broken: list[tuple[str, BaseException]] = []
    path = _Path(())
    while given is not None and runs < runs_max and not broken:
        path = _Path(given)
        broken = bench.run(Trial(seed=0), path)
        runs += 1
        given = None if choices is not None else path.following()
    repeat = (
        f"search_schedules({bench.name}, choices={path.taken}, "
        f"invariants={bench.invariant_names})"
    )
    return SearchReport(
        runs=runs,
        complete=given is None and choices is None,
        violations=tuple(
            Violation(invariant=name, error=error, seed=0, step=None, repeat=repeat)
            for name, error in broken
        ),
    )
