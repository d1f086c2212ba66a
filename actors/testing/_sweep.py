"""`cancel_sweep`: cancel a program at every one of its steps, and look what is left.

1. A scenario is run once for each seed to count its steps, then once for each step,
   in the same order, and cancelled there.
2. Whatever is found comes with the line that does that run again.
"""

from collections.abc import Iterable, Iterator, Sequence

import attrs

from ._schedule import chooser_of
from ._trial import Bench, Broken, Invariant, Scenario, Trial, Violation
from ._watch import Watch
from ._where import Scene

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
    chosen = None if steps is None else tuple(steps)
    runs = most = 0
    violations: list[Violation] = []
    for seed in seeds:
        for tried in tries(bench, seed, chosen):
            runs += 1
            violations += _violations(bench, tried)
            if not tried.trial.cancelled:
                most = max(most, tried.trial.steps)
        if len(violations) >= VIOLATIONS_MAX:
            break
    return SweepReport(runs=runs, steps=most, violations=tuple(violations))


@attrs.frozen
class Tried:
    """One run of a sweep."""

    trial: Trial
    broken: Broken
    """What broke in it."""
    scene: Scene | None
    """Where it stood when it was cancelled; None: it was not, or nobody looked."""


def tries(
    bench: Bench,
    seed: int,
    steps: Sequence[int | None] | None = None,
    *,
    within_s: float | None = None,
) -> Iterator[Tried]:
    """Do the runs of a sweep that belong to one seed, each when it is asked for.

    Args:
        bench: What is run.
        seed: The order of its tasks.
        steps: As in `cancel_sweep`.
        within_s: Seconds that each run may take; what the runtime promises is checked
            then, too. None: it is only run.
    """
    if steps is None:
        whole = _try(bench, Trial(seed=seed), within_s)
        yield whole
        steps = range(whole.trial.steps + 1)
    for step in steps:
        yield _try(bench, Trial(seed=seed, step=step), within_s)


def _try(bench: Bench, trial: Trial, within_s: float | None) -> Tried:
    watch = None if within_s is None else Watch(within_s)
    broken = bench.run(trial, chooser_of(trial.seed), watch)
    return Tried(trial, broken, None if watch is None else watch.scene)


def _violations(bench: Bench, tried: Tried) -> Iterator[Violation]:
    seed, step = tried.trial.seed, tried.trial.step
    repeat = (
        f"cancel_sweep({bench.name}, seeds=[{seed}], steps=[{step}], "
        f"invariants={bench.invariant_names})"
    )
    for invariant, error in tried.broken:
        yield Violation(
            invariant=invariant, error=error, seed=seed, step=step, repeat=repeat
        )
