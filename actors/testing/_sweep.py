"""`cancel_sweep`: cancel a program at every one of its steps, and look what is left.

1. A scenario is run once for each seed to count its steps, then once for each step,
   in the same order, and cancelled there.
2. Whatever is found comes with the line that does that run again.
"""

from collections.abc import Iterable, Sequence

import attrs

from ._schedule import chooser_of
from ._trial import Bench, Invariant, Scenario, Trial, Violation

VIOLATIONS_MAX = 100
"""A sweep that has found so much stops: more of the same helps nobody."""


@attrs.frozen(kw_only=True)
class SweepReport:
    """What a sweep came to."""

    runs: int
    """How often the scenario was run."""
    steps: int
    """The most steps that a run took which the cancel did not end."""
    violations: tuple[Violation, ...]
    """What was found, in the order of the runs."""

    def __str__(self) -> str:
        head = f"{self.runs} runs of up to {self.steps} steps"
        found = len(self.violations)
        return "\n".join([f"{head}, {found} violations", *map(str, self.violations)])


def cancel_sweep(
    scenario: Scenario,
    *,
    seeds: Iterable[int] = range(20),
    steps: Iterable[int | None] | None = None,
    invariants: Sequence[Invariant] = (),
) -> SweepReport:
    """Cancel a trio program at every one of its steps, and check what must be true.

    For each seed the scenario is run to its end, and then, called afresh in a trio run
    of its own, cancelled before its first step, after its first, its second, and so on.
    After each run, in the same trio run, the invariants are checked in order; that no
    task and no deadline is left is always checked. An exception that leaves the
    scenario is a violation too, unless it is the cancel: a scenario catches the errors
    that it expects.

    A step is what one task does from one wait to the next. trio delivers a cancel
    where a task waits next, so several steps may lead to the same place; and a
    scenario that uses threads takes other steps each time. Nothing ends a run that
    hangs: give the test a time-out.

    Args:
        scenario: An async function. It takes the `Trial`, to leave notes for the
            invariants, or nothing.
        seeds: Each gives an order in which tasks step; see `seeded`.
        steps: Cancel after these only (0: before the first, None: not at all); every
            step when left out.
        invariants: Plain or async functions of the `Trial`, or of nothing, that raise
            or return False when something is wrong.

    Raises:
        TypeError: The scenario, or an invariant, is no such function.
        RuntimeError: Called on a thread where trio runs.
    """
    bench = Bench(scenario, invariants)
    sweep = _Sweep(bench)
    chosen: tuple[int | None, ...] = () if steps is None else tuple(steps)
    for seed in seeds:
        if steps is None:
            chosen = tuple(range(sweep.run(seed, None).steps + 1))
        for step in chosen:
            sweep.run(seed, step)
        if len(sweep.violations) >= VIOLATIONS_MAX:
            break
    return sweep.report()


class _Sweep:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._runs = 0
        self._steps = 0
        self.violations: list[Violation] = []

    def run(self, seed: int, step: int | None) -> Trial:
        """One run; keeps what was found."""
        trial = Trial(seed=seed, step=step)
        self._runs += 1
        for invariant, error in self._bench.run(trial, chooser_of(seed)):
            self.violations.append(
                Violation(
                    invariant=invariant,
                    error=error,
                    seed=seed,
                    step=step,
                    repeat=self._repeat(seed, step),
                )
            )
        if not trial.cancelled:
            self._steps = max(self._steps, trial.steps)
        return trial

    def _repeat(self, seed: int, step: int | None) -> str:
        return (
            f"cancel_sweep({self._bench.name}, seeds=[{seed}], steps=[{step}], "
            f"invariants={self._bench.invariant_names})"
        )

    def report(self) -> SweepReport:
        return SweepReport(
            runs=self._runs, steps=self._steps, violations=tuple(self.violations)
        )
